//! The store: everything durable, in Postgres, through one type.
//!
//! One method is one transaction is one name. Statements live in `sql/`, one file each. Payloads (rows, released rows)
//! are blocks: encoded, compressed, sealed by the [`crate::vault`], about a megabyte each. All times are the database's.

//!
//! Locks are taken in one order, so that no two transactions wait for each other: idempotency key, dataset,
//! series, job or staging. Whoever inserts rows that refer to a dataset holds the dataset first.

mod batches;
mod budget;
mod chunk;
mod datasets;
mod deletions;
mod eraser;
mod erasure;
mod error;
mod front_partitions;
mod fronts;
mod jobs;
mod key_rotation;
mod keys;
mod leases;
mod load;
mod maintenance;
mod once;
mod page;
mod partition;
mod readers;
mod releases;
mod reports;
mod searched;
mod series;
mod series_codec;
mod series_index;
mod series_invariant;
mod series_log;
mod series_logged_rows;
mod series_rows;
mod series_sealed;
mod series_update;
mod staging;
mod statement;
mod uploads;

use std::sync::Arc;

use sqlx::pool::PoolConnection;
use sqlx::{PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::anonymize::report::{Front, Reason};
use crate::ingest::Warning;
use crate::job::{JobFailure, JobOutcome, JobSpec};
use crate::vault::Vault;
pub use budget::JobLoss;
pub use deletions::Selection;
pub use erasure::without as without_erased;
pub use error::Error;
pub use readers::{SealedPart, open_chunk, partition_columns};
pub use releases::ReleaseDraft;
pub use searched::SearchedRows;
pub use series_index::PgIndex;
pub use series_invariant::{InvariantAnswer, InvariantInput};
pub use series_log::{SeriesRelease, SeriesVersion};
pub use series_update::{SeriesAnswer, SeriesInput};
use statement::database_error;
pub use uploads::Upload;

/// Handle on the database; cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    pool: PgPool,
    vault: Arc<Vault>,
}

/// A new job, whole.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Dataset it works on.
    pub dataset_id: Uuid,
    /// What to do.
    pub spec: JobSpec,
    /// Size of the search space, in decimal.
    pub search_space: String,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Known at once to be infeasible: the job is stored as ended, with this empty front.
    pub infeasible: Option<(Reason, Front)>,
    /// Attempts before it fails for good.
    pub max_attempts: u32,
    /// Queued jobs beyond which the backlog is full.
    pub max_queued: u32,
}

/// How a worker ends a job.
#[expect(
    clippy::large_enum_variant,
    reason = "one value per job, moved a few times"
)]
#[derive(Debug, Clone)]
pub enum Finish {
    /// With an outcome and a front (which may be empty), and the release if one was asked for and made.
    Succeeded {
        /// What was found.
        outcome: JobOutcome,
        /// Why nothing.
        reason: Option<Reason>,
        /// The front.
        front: Front,
    },
    /// With a report, or with the reason why there is none.
    Measured {
        /// As it is served.
        report: Result<serde_json::Value, Reason>,
    },
    /// Without; retried if `retryable` and attempts remain.
    Failed {
        /// Why.
        failure: JobFailure,
        /// Whether another attempt may do better.
        retryable: bool,
    },
    /// The cancel request was obeyed.
    Cancelled,
    /// The process stops: the job goes back to the queue at once and the attempt does not count.
    Released,
}

/// What a heartbeat learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// Go on.
    Held,
    /// Go on only to stop: the caller wants it cancelled.
    CancelRequested,
    /// The lease is lost: whatever is computed will be refused.
    Lost,
}

/// A front with where it belongs.
#[derive(Debug, Clone)]
pub struct StoredFront {
    /// Job that found it.
    pub job_id: Uuid,
    /// Its dataset.
    pub dataset_id: Uuid,
    /// What the job was to do.
    pub spec: JobSpec,
    /// The front.
    pub front: Front,
}

impl Store {
    /// Connects to nothing yet; wraps a pool.
    #[must_use]
    pub fn new(pool: PgPool, vault: Arc<Vault>) -> Self {
        Self { pool, vault }
    }

    async fn connection(&self) -> Result<PoolConnection<Postgres>, Error> {
        let connection = self.pool.acquire().await;
        connection.map_err(|error| database_error("acquire", error))
    }

    async fn begin(&self) -> Result<Transaction<'static, Postgres>, Error> {
        let transaction = self.pool.begin().await;
        transaction.map_err(|error| database_error("begin", error))
    }
}

async fn commit(transaction: Transaction<'static, Postgres>) -> Result<(), Error> {
    let committed = transaction.commit().await;
    committed.map_err(|error| database_error("commit", error))
}

/// Runs work that would keep an async thread from its other tasks for milliseconds: sealing, opening, compressing.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Error::Form(
            "the work on a chunk did not come to its end".to_owned(),
        )),
    }
}
