//! Deletions: rows are found by what they hold, and every cell of them is erased from all partitions at once.
//!
//! A chunk that holds an erased row is rewritten with missing cells in its place, so that no other row moves. What
//! stays of an erased row is its place, the deletion that erased it, and a keyed token of its quasi-identifying values,
//! by which a series finds it. Releases that are stored stay as they are. Cost: every chunk of the quasi and auxiliary
//! partitions is opened, to learn which values no row has any more.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::eraser::{Erased, Eraser, Held};
use super::statement::{Statement, count, small_count, small_stored, statement, stored};
use super::{Error, Store, commit, datasets, once, series};
use crate::job::{Answer, Deletion, Once};
use crate::vault::{DataKey, Purpose};

const INSERT_DELETION: Statement = statement!("insert_deletion");
const LIST_DELETIONS: Statement = statement!("list_deletions");
const INSERT_ERASED_ROWS: Statement = statement!("insert_erased_rows");
const ERASE_FROM_DATASET: Statement = statement!("erase_from_dataset");
const DELETE_FRONT_PARTITIONS: Statement = statement!("delete_front_partitions");
const REMOVE_DISTINCT_VALUES: Statement = statement!("remove_distinct_values");
const ADD_DISTINCT_VALUES: Statement = statement!("add_distinct_values");

/// Which rows to erase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All rows of these subjects, in any spelling.
    Subjects(Vec<String>),
    /// Rows that hold, in each of these attributes (by position), one of these texts; `None` is missing.
    Cells(Vec<(usize, Vec<Option<String>>)>),
}

#[derive(sqlx::FromRow)]
struct DeletionRow {
    deletion_id: Uuid,
    sequence: i32,
    rows: i64,
    subjects: i64,
    created_at: DateTime<Utc>,
}

impl Store {
    /// Erases all rows that match, in one transaction, and queues an update of every series of the dataset. A deletion
    /// that matches nothing changes nothing and is not noted.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the dataset, [`Error::KeyReused`], [`Error::Sealed`]; the database's.
    pub async fn delete_rows(
        &self,
        dataset_id: Uuid,
        selection: &Selection,
        once: Option<&Once>,
        answer: impl FnOnce(&Deletion) -> Answer,
    ) -> Result<Answer, Error> {
        let key = async |purpose| self.data_key(dataset_id, purpose).await.map(Arc::new);
        let keys = [
            key(Purpose::Identity).await?,
            key(Purpose::Quasi).await?,
            key(Purpose::Auxiliary).await?,
        ];
        let tokens = key(Purpose::Token).await?;
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        let locked = datasets::lock(&mut transaction, dataset_id).await?;
        let declaration = &locked.declaration;
        let mut eraser = Eraser::new(
            &mut transaction,
            dataset_id,
            declaration,
            keys,
            Arc::clone(&tokens),
        );
        let erased = eraser.erase(selection).await?;
        let deletion = if erased.rows.is_empty() {
            Deletion {
                deletion_id: None,
                dataset_id,
                sequence: locked.deletions,
                rows: 0,
                subjects: 0,
                created_at: Utc::now(),
                updates: Vec::new(),
            }
        } else {
            let has_subject = declaration.attributes.iter().any(|found| found.subject);
            let mut deletion =
                note(&mut transaction, dataset_id, &erased, has_subject, &tokens).await?;
            let through = (locked.batches, deletion.sequence);
            deletion.updates = series::queue_updates(&mut transaction, dataset_id, through).await?;
            deletion
        };
        let answer = answer(&deletion);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }

    /// Tokens of subjects, in the form that [`Store::load_table`] gives them: whoever names a subject can find it, nobody
    /// can read it back.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the dataset; the database's.
    pub async fn subject_tokens(
        &self,
        dataset_id: Uuid,
        subjects: impl Iterator<Item = &str>,
    ) -> Result<Vec<String>, Error> {
        let key = self.data_key(dataset_id, Purpose::Token).await?;
        let tokens = subjects.map(|subject| hex::encode(key.subject_token(subject)));
        Ok(tokens.collect())
    }

    /// Deletions of a dataset, first to last.
    ///
    /// # Errors
    /// The database's.
    pub async fn deletions(&self, dataset_id: Uuid) -> Result<Vec<Deletion>, Error> {
        let rows: Vec<DeletionRow> = sqlx::query_as(LIST_DELETIONS.text)
            .bind(dataset_id)
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_DELETIONS.failed())?;
        let deletions = rows.into_iter().map(|row| Deletion {
            deletion_id: Some(row.deletion_id),
            dataset_id,
            sequence: small_count(row.sequence),
            rows: count(row.rows),
            subjects: count(row.subjects),
            created_at: row.created_at,
            updates: Vec::new(),
        });
        Ok(deletions.collect())
    }
}

/// Notes a deletion and brings the dataset's figures up to it.
async fn note(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    erased: &Erased,
    has_subject: bool,
    tokens: &DataKey,
) -> Result<Deletion, Error> {
    let rows = erased.rows.len() as u64;
    let gone = erased.values.iter();
    let gone = gone.filter(|(held, _)| matches!(held, Held::SubjectTokens(_)));
    let subjects = if has_subject {
        gone.map(|(_, subjects)| subjects.len() as u64).sum()
    } else {
        rows
    };
    let deletion_id = Uuid::now_v7();
    let (sequence, created_at): (i32, DateTime<Utc>) = sqlx::query_as(INSERT_DELETION.text)
        .bind(deletion_id)
        .bind(dataset_id)
        .bind(stored(rows))
        .bind(stored(subjects))
        .fetch_one(&mut *connection)
        .await
        .map_err(INSERT_DELETION.failed())?;
    let places = erased.rows.iter();
    let batches = places.clone().map(|&(batch, _, _)| small_stored(batch));
    let numbers = places.clone().map(|&(_, row, _)| stored(row));
    let tuples = places.map(|(_, _, tuple)| tuple.to_vec());
    sqlx::query(INSERT_ERASED_ROWS.text)
        .bind(dataset_id)
        .bind(sequence)
        .bind(batches.collect::<Vec<i32>>())
        .bind(numbers.collect::<Vec<i64>>())
        .bind(tuples.collect::<Vec<Vec<u8>>>())
        .execute(&mut *connection)
        .await
        .map_err(INSERT_ERASED_ROWS.failed())?;
    sqlx::query(ERASE_FROM_DATASET.text)
        .bind(dataset_id)
        .bind(stored(rows))
        .bind(stored(subjects))
        .execute(&mut *connection)
        .await
        .map_err(ERASE_FROM_DATASET.failed())?;
    // They tell of the erased rows as well, and nothing can be released by them any more.
    sqlx::query(DELETE_FRONT_PARTITIONS.text)
        .bind(dataset_id)
        .execute(&mut *connection)
        .await
        .map_err(DELETE_FRONT_PARTITIONS.failed())?;
    forget_values(connection, dataset_id, erased, tokens).await?;
    Ok(Deletion {
        deletion_id: Some(deletion_id),
        dataset_id,
        sequence: small_count(sequence),
        rows,
        subjects,
        created_at,
        updates: Vec::new(),
    })
}

/// Removes the tokens of values that no row has any more.
async fn forget_values(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    erased: &Erased,
    tokens: &DataKey,
) -> Result<(), Error> {
    for (held, values) in &erased.values {
        let (position, gone): (usize, Vec<Vec<u8>>) = match *held {
            Held::Attribute(position) => {
                let gone = values
                    .iter()
                    .map(|value| tokens.value_token(value).to_vec());
                (position, gone.collect())
            }
            Held::SubjectTokens(position) => {
                let gone = values.iter().filter_map(|token| hex::decode(token).ok());
                (position, gone.collect())
            }
        };
        if gone.is_empty() {
            continue;
        }
        let position_stored = datasets::stored_position(position)?;
        let removed = sqlx::query(REMOVE_DISTINCT_VALUES.text)
            .bind(dataset_id)
            .bind(position_stored)
            .bind(gone)
            .execute(&mut *connection)
            .await
            .map_err(REMOVE_DISTINCT_VALUES.failed())?;
        if matches!(held, Held::Attribute(_)) {
            sqlx::query(ADD_DISTINCT_VALUES.text)
                .bind(dataset_id)
                .bind(position_stored)
                .bind(-stored(removed.rows_affected()))
                .execute(&mut *connection)
                .await
                .map_err(ADD_DISTINCT_VALUES.failed())?;
        }
    }
    Ok(())
}
