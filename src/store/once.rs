//! Repeated requests: one effect per idempotency key, and the same answer every time.
//!
//! The key is taken by the first statement of the effect's own transaction: whoever comes second waits on the unique
//! index until the first one commits (then it reads that answer) or fails (then it goes on itself).

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::statement::{Statement, json, statement};
use super::{Error, Store};
use crate::job::{Answer, Once};

const BEGIN_ONCE: Statement = statement!("begin_once");
const FIND_ANSWER: Statement = statement!("find_answer");
const FINISH_ONCE: Statement = statement!("finish_once");

#[derive(sqlx::FromRow)]
struct AnswerRow {
    fingerprint: Vec<u8>,
    answer: Option<Json<Answer>>,
}

/// Takes the key for this transaction; gives the answer if there was one before, and then nothing more must be done.
pub(super) async fn take(
    connection: &mut PgConnection,
    once: Option<&Once>,
) -> Result<Option<Answer>, Error> {
    let Some(once) = once else { return Ok(None) };
    // A second round is needed only if the key expired between the two statements.
    for _ in 0..3 {
        let taken = sqlx::query(BEGIN_ONCE.text)
            .bind(&once.key)
            .bind(&once.fingerprint[..])
            .execute(&mut *connection)
            .await
            .map_err(BEGIN_ONCE.failed())?;
        if taken.rows_affected() == 1 {
            return Ok(None);
        }
        if let Some(answer) = find(&mut *connection, once).await? {
            return Ok(Some(answer));
        }
    }
    Err(Error::Busy)
}

/// Stores the answer under the key that [`take`] has taken. It goes when the dataset goes.
pub(super) async fn answered(
    connection: &mut PgConnection,
    once: Option<&Once>,
    dataset_id: Option<Uuid>,
    answer: &Answer,
) -> Result<(), Error> {
    let Some(once) = once else { return Ok(()) };
    sqlx::query(FINISH_ONCE.text)
        .bind(&once.key)
        .bind(json(answer)?)
        .bind(dataset_id)
        .execute(connection)
        .await
        .map_err(FINISH_ONCE.failed())?;
    Ok(())
}

async fn find(connection: &mut PgConnection, once: &Once) -> Result<Option<Answer>, Error> {
    let row: Option<AnswerRow> = sqlx::query_as(FIND_ANSWER.text)
        .bind(&once.key)
        .fetch_optional(connection)
        .await
        .map_err(FIND_ANSWER.failed())?;
    match row {
        None => Ok(None),
        Some(row) if row.fingerprint != once.fingerprint => Err(Error::KeyReused),
        Some(row) => Ok(row.answer.map(|Json(answer)| answer)),
    }
}

impl Store {
    /// The stored answer of an earlier request with this key, if any.
    ///
    /// # Errors
    /// [`Error::KeyReused`] if that was another request; the database's.
    pub async fn earlier_answer(&self, once: &Once) -> Result<Option<Answer>, Error> {
        let mut connection = self.connection().await?;
        find(&mut connection, once).await
    }

    /// Stores an answer that had no other effect (measure); returns the one that stands. It goes with the dataset.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the dataset is gone, [`Error::KeyReused`] if the key belongs to another request; the database's.
    pub async fn remember_answer(
        &self,
        once: &Once,
        dataset_id: Uuid,
        answer: &Answer,
    ) -> Result<Answer, Error> {
        let mut transaction = self.begin().await?;
        if let Some(earlier) = take(&mut transaction, Some(once)).await? {
            return Ok(earlier);
        }
        if !super::datasets::hold(&mut transaction, dataset_id).await? {
            return Err(Error::NotFound("dataset"));
        }
        answered(&mut transaction, Some(once), Some(dataset_id), answer).await?;
        super::commit(transaction).await?;
        Ok(answer.clone())
    }
}
