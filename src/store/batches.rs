//! Batches: what an upload becomes, in one short transaction.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::partition::Layout;
use super::statement::{Statement, count, json, small_count, small_stored, statement, stored};
use super::{Error, Store, Upload, commit, datasets, once, series, staging};
use crate::ingest::Summary;
use crate::job::{Answer, Batch, BatchRecord, Once};

const FIND_BATCH_BY_CONTENT: Statement = statement!("find_batch_by_content");
const INSERT_BATCH: Statement = statement!("insert_batch");
const INSERT_DISTINCT_VALUES: Statement = statement!("insert_distinct_values");
const ADD_DISTINCT_VALUES: Statement = statement!("add_distinct_values");
const ADD_BATCH_TO_DATASET: Statement = statement!("add_batch_to_dataset");
const LIST_BATCHES: Statement = statement!("list_batches");

/// Tokens sent to the database at once.
const TOKENS_AT_ONCE: usize = 10_000;

#[derive(sqlx::FromRow)]
struct NewBatchRow {
    sequence: i32,
    created_at: DateTime<Utc>,
}

/// A committed batch, as it is to be read.
#[derive(sqlx::FromRow)]
pub(super) struct BatchRow {
    pub(super) batch_id: Uuid,
    pub(super) sequence: i32,
    pub(super) rows: i64,
    pub(super) identity_chunks: i32,
    pub(super) quasi_chunks: i32,
    pub(super) auxiliary_chunks: i32,
}

impl Store {
    /// Makes the upload a batch, in one transaction. Whatever goes wrong, the upload is given up.
    ///
    /// # Errors
    /// [`Error::DuplicateBatch`] if the same content is there already, [`Error::DatasetChanged`] if the declaration
    /// changed since the upload began or columns were to be added to a dataset that has batches, [`Error::NotFound`],
    /// [`Error::KeyReused`]; the database's.
    pub async fn commit_upload(
        &self,
        upload: Upload,
        summary: &Summary,
        allow_duplicate: bool,
        once: Option<&Once>,
        answer: impl FnOnce(&Batch) -> Answer,
    ) -> Result<Answer, Error> {
        let batch_id = upload.batch_id;
        let committed = self
            .try_commit_upload(&upload, summary, allow_duplicate, once, answer)
            .await;
        match committed {
            Ok((answer, true)) => Ok(answer),
            Ok((answer, false)) => self.abandon(batch_id).await.map(|_| answer),
            Err(error) => {
                // The first error is the one to tell; what cannot be removed now goes with the sweep.
                let _ = self.abandon(batch_id).await;
                Err(error)
            }
        }
    }

    /// The answer, and whether this upload is what it answers.
    async fn try_commit_upload(
        &self,
        upload: &Upload,
        summary: &Summary,
        allow_duplicate: bool,
        once: Option<&Once>,
        answer: impl FnOnce(&Batch) -> Answer,
    ) -> Result<(Answer, bool), Error> {
        let dataset_id = upload.dataset_id;
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok((earlier, false));
        }
        let locked = datasets::lock(&mut transaction, dataset_id).await?;
        let adds_late = !summary.added.is_empty() && locked.batches > 0;
        if locked.declaration != upload.declaration || adds_late {
            return Err(Error::DatasetChanged);
        }
        let content = upload.keys.token.content_token(&summary.digest);
        let repeats = earlier_batch(&mut transaction, dataset_id, &content).await?;
        if let (Some((batch_id, sequence)), false) = (repeats, allow_duplicate) {
            return Err(Error::DuplicateBatch { batch_id, sequence });
        }
        staging::end(&mut transaction, upload.batch_id)
            .await?
            .ok_or(Error::DatasetChanged)?;
        add_attributes(&mut transaction, upload, summary).await?;
        let repeats = repeats.is_some();
        let mut batch = insert_batch(&mut transaction, upload, summary, &content, repeats).await?;
        let through = (batch.sequence, locked.deletions);
        batch.updates = series::queue_updates(&mut transaction, dataset_id, through).await?;
        let answer = answer(&batch);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok((answer, true))
    }

    /// Batches up to a sequence, ascending.
    ///
    /// # Errors
    /// The database's.
    pub async fn batches(
        &self,
        dataset_id: Uuid,
        through_batch: u32,
    ) -> Result<Vec<BatchRecord>, Error> {
        let rows = self.batch_rows(dataset_id, through_batch).await?;
        let records = rows.into_iter().map(|row| BatchRecord {
            batch_id: row.batch_id,
            sequence: small_count(row.sequence),
            rows: count(row.rows),
        });
        Ok(records.collect())
    }

    pub(super) async fn batch_rows(
        &self,
        dataset_id: Uuid,
        through_batch: u32,
    ) -> Result<Vec<BatchRow>, Error> {
        sqlx::query_as(LIST_BATCHES.text)
            .bind(dataset_id)
            .bind(small_stored(through_batch))
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_BATCHES.failed())
    }
}

async fn earlier_batch(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    content: &[u8; 32],
) -> Result<Option<(Uuid, u32)>, Error> {
    let row: Option<(Uuid, i32)> = sqlx::query_as(FIND_BATCH_BY_CONTENT.text)
        .bind(dataset_id)
        .bind(&content[..])
        .fetch_optional(connection)
        .await
        .map_err(FIND_BATCH_BY_CONTENT.failed())?;
    Ok(row.map(|(batch_id, sequence)| (batch_id, small_count(sequence))))
}

/// Adds the attributes that the first batch brought to the declaration.
async fn add_attributes(
    connection: &mut PgConnection,
    upload: &Upload,
    summary: &Summary,
) -> Result<(), Error> {
    let declared = upload.declaration.attributes.len();
    let columns = declared + summary.added.len();
    if upload.rows != summary.rows || upload.columns.is_some_and(|staged| staged != columns) {
        return Err(Error::Form("an upload that its summary denies".to_owned()));
    }
    if summary.added.is_empty() {
        return Ok(());
    }
    let mut declaration = upload.declaration.clone();
    declaration.attributes.extend(summary.added.iter().cloned());
    let schema = datasets::compile(&declaration)?;
    datasets::insert_attributes(connection, upload.dataset_id, &schema, declared).await?;
    datasets::update_declaration(connection, upload.dataset_id, &declaration).await
}

/// Inserts the batch and brings the dataset's figures up to it.
async fn insert_batch(
    connection: &mut PgConnection,
    upload: &Upload,
    summary: &Summary,
    content: &[u8; 32],
    repeats: bool,
) -> Result<Batch, Error> {
    let dataset_id = upload.dataset_id;
    let row: NewBatchRow = sqlx::query_as(INSERT_BATCH.text)
        .bind(upload.batch_id)
        .bind(dataset_id)
        .bind(stored(summary.rows))
        .bind(stored(summary.trimmed_cells))
        .bind(json(&summary.warnings)?)
        .bind(&content[..])
        .bind(repeats)
        .bind(small_stored(upload.chunks.identity))
        .bind(small_stored(upload.chunks.quasi))
        .bind(small_stored(upload.chunks.auxiliary))
        .fetch_one(&mut *connection)
        .await
        .map_err(INSERT_BATCH.failed())?;
    let new_subjects = insert_tokens(connection, upload).await?;
    sqlx::query(ADD_BATCH_TO_DATASET.text)
        .bind(dataset_id)
        .bind(stored(summary.rows))
        .bind(stored(new_subjects.unwrap_or(summary.rows)))
        .execute(connection)
        .await
        .map_err(ADD_BATCH_TO_DATASET.failed())?;
    Ok(Batch {
        batch_id: upload.batch_id,
        dataset_id,
        sequence: small_count(row.sequence),
        rows: summary.rows,
        trimmed_cells: summary.trimmed_cells,
        warnings: summary.warnings.clone(),
        created_at: row.created_at,
        updates: Vec::new(),
    })
}

/// Adds the tokens of the values seen and counts the new ones; gives how many subjects are new, if one is declared.
async fn insert_tokens(
    connection: &mut PgConnection,
    upload: &Upload,
) -> Result<Option<u64>, Error> {
    let subject = Layout::of(&upload.declaration.attributes).subject;
    let mut new_subjects = subject.map(|_| 0);
    for (position, tokens) in upload.tokens.iter().enumerate() {
        let mut sorted: Vec<&[u8]> = tokens.iter().map(|token| &token[..]).collect();
        sorted.sort_unstable();
        let stored_position = datasets::stored_position(position)?;
        let mut new = 0;
        for some in sorted.chunks(TOKENS_AT_ONCE) {
            let inserted = sqlx::query(INSERT_DISTINCT_VALUES.text)
                .bind(upload.dataset_id)
                .bind(stored_position)
                .bind(some)
                .execute(&mut *connection)
                .await
                .map_err(INSERT_DISTINCT_VALUES.failed())?;
            new += inserted.rows_affected();
        }
        if subject == Some(position) {
            new_subjects = Some(new);
        } else if new > 0 {
            sqlx::query(ADD_DISTINCT_VALUES.text)
                .bind(upload.dataset_id)
                .bind(stored_position)
                .bind(stored(new))
                .execute(&mut *connection)
                .await
                .map_err(ADD_DISTINCT_VALUES.failed())?;
        }
    }
    Ok(new_subjects)
}
