//! Uploads and releases under way.
//!
//! A row of `staging` is their right to be: every chunk needs it, the commit removes it and so makes the chunks count,
//! giving up removes it together with the chunks. No transaction is open and no lock held while a client sends slowly.

use sqlx::PgConnection;
use uuid::Uuid;

use super::statement::{Statement, statement};
use super::{Error, Store, commit};

const INSERT_STAGING: Statement = statement!("insert_staging");
const END_STAGING: Statement = statement!("end_staging");
const DELETE_STAGED_BATCH_CHUNKS: Statement = statement!("delete_staged_batch_chunks");
const DELETE_STAGED_RELEASE_CHUNKS: Statement = statement!("delete_staged_release_chunks");

/// Ends a staging; gives its dataset, or nothing if it was given up or swept before.
pub(super) async fn end(
    connection: &mut PgConnection,
    staging_id: Uuid,
) -> Result<Option<Uuid>, Error> {
    sqlx::query_scalar(END_STAGING.text)
        .bind(staging_id)
        .fetch_optional(connection)
        .await
        .map_err(END_STAGING.failed())
}

impl Store {
    /// Begins a staging; [`Error::NotFound`] without the dataset.
    pub(super) async fn begin_staging(&self, dataset_id: Uuid) -> Result<Uuid, Error> {
        let staging_id = Uuid::now_v7();
        sqlx::query(INSERT_STAGING.text)
            .bind(staging_id)
            .bind(dataset_id)
            .execute(&self.pool)
            .await
            .map_err(INSERT_STAGING.failed())?;
        Ok(staging_id)
    }

    /// Gives a staging up; returns how many chunks went.
    ///
    /// Two statements on purpose: the first waits for a chunk that is just being staged, the second then sees it.
    pub(super) async fn abandon(&self, staging_id: Uuid) -> Result<u64, Error> {
        let mut transaction = self.begin().await?;
        let Some(dataset_id) = end(&mut transaction, staging_id).await? else {
            return Ok(0);
        };
        let mut removed = 0;
        for statement in [DELETE_STAGED_BATCH_CHUNKS, DELETE_STAGED_RELEASE_CHUNKS] {
            let done = sqlx::query(statement.text)
                .bind(dataset_id)
                .bind(staging_id)
                .execute(&mut *transaction)
                .await
                .map_err(statement.failed())?;
            removed += done.rows_affected();
        }
        commit(transaction).await?;
        Ok(removed)
    }
}
