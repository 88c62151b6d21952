//! One update of an m-invariant series: one transaction, from the first read to the end of the job.
//!
//! Such a series has no index: what it keeps is the signature of every released row, sealed as one piece per version.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::series_log::{Kind, insert_chunk};
use super::series_update::{apply, finish, is_applied, lock, parent, stop_before};
use super::statement::{Statement, small_stored, statement};
use super::{Error, SeriesAnswer, Store, aside, commit, datasets, maintenance};
use crate::anonymize::invariance::Signatures;
use crate::anonymize::series::SeriesRow;
use crate::anonymize::table::Schema;
use crate::job::{BatchRecord, Job, JobOutcome, Lease, Series};

const DELETE_SERIES_SIGNATURES: Statement = statement!("delete_series_signatures");

/// What an update is decided on.
#[derive(Debug)]
pub struct InvariantInput {
    /// The series, before.
    pub series: Series,
    /// Its declaration, compiled.
    pub schema: Schema,
    /// Signatures of the rows of its last release.
    pub signatures: Signatures,
    /// All rows that are there.
    pub rows: Vec<SeriesRow>,
    /// Batches whose rows these are.
    pub batches: Vec<BatchRecord>,
    /// Its last release.
    pub parent: Option<Uuid>,
    /// Database time.
    pub now: DateTime<Utc>,
}

/// What was decided: as for any series, and the signatures where there is a release.
#[derive(Debug)]
pub struct InvariantAnswer {
    /// State, outcome and release.
    pub answer: SeriesAnswer,
    /// Signatures of the rows of the release.
    pub signatures: Signatures,
}

impl Store {
    /// As [`Store::update_series`], for an m-invariant series: `decide` gets all rows, on a thread that may block.
    ///
    /// # Errors
    /// As there.
    pub async fn update_invariant_series<E, D>(
        &self,
        lease: &Lease,
        (series_id, through): (Uuid, (u32, u32)),
        decide: D,
    ) -> Result<Job, E>
    where
        E: From<Error> + Send + 'static,
        D: FnOnce(InvariantInput) -> Result<InvariantAnswer, E> + Send + 'static,
    {
        let keys = self.series_keys(lease.dataset_id, series_id).await?;
        let mut transaction = self.begin().await?;
        let (series, _) = lock(&mut transaction, lease, series_id).await?;
        if is_applied(&series, through) {
            let done = (JobOutcome::Unchanged, None, None);
            let job = finish(&mut transaction, lease, done, &[]).await?;
            commit(transaction).await?;
            return Ok(job);
        }
        let mut through = (
            through.0.max(series.through_batch),
            through.1.max(series.through_deletion),
        );
        let schema = datasets::compile(&series.declaration)?;
        let rows = self.series_rows(series.dataset_id, &schema, 0, through.0);
        let mut rows = rows.await?;
        let stopped = stop_before(&schema, &mut rows, &mut through);
        if let Some(stopped) = stopped.as_ref().filter(|_| is_applied(&series, through)) {
            drop(transaction);
            return Err(self.stop_series(series_id, stopped).await.into());
        }
        let signatures = if series.version == 0 {
            Signatures::default()
        } else {
            let place = (series.version, Kind::Signatures, 0);
            let plain = self.logged_bytes(&keys, place).await?;
            decoded(plain).await?
        };
        let input = InvariantInput {
            batches: self.batches(series.dataset_id, through.0).await?,
            parent: parent(&mut transaction, &series).await?,
            now: maintenance::now(&mut transaction).await?,
            series,
            schema,
            signatures,
            rows,
        };
        let decided = tokio::task::spawn_blocking(move || decide(input)).await;
        let decided =
            decided.map_err(|_| Error::Form("the update did not come to its end".to_owned()))??;
        let version = decided.answer.state.version;
        if decided.answer.release.is_some() {
            let plain = serde_json::to_vec(&decided.signatures)
                .map_err(|_| Error::Form("signatures have no JSON form".to_owned()))?;
            let place = (version, Kind::Signatures, 0);
            insert_chunk(&mut transaction, place, &plain, &keys).await?;
            sqlx::query(DELETE_SERIES_SIGNATURES.text)
                .bind(series_id)
                .bind(small_stored(version))
                .execute(&mut *transaction)
                .await
                .map_err(DELETE_SERIES_SIGNATURES.failed())?;
        }
        let through = (through, stopped);
        let job = apply(&mut transaction, lease, &keys, through, &decided.answer).await?;
        commit(transaction).await?;
        Ok(job)
    }
}

async fn decoded(plain: Vec<u8>) -> Result<Signatures, Error> {
    aside(move || {
        serde_json::from_slice(&plain)
            .map_err(|_| Error::Form("signatures of a series are malformed".to_owned()))
    })
    .await
}
