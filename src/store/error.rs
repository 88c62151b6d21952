//! What the store refuses, and what breaks below it.

use crate::declaration::PrivacyLoss;

/// See the variants; `http` maps each to one problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No such thing (any more): `dataset`, `attribute`, `job`, `solution`, `release`.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The same content is already a batch of this dataset.
    #[error("the same content is already batch {sequence}")]
    DuplicateBatch {
        /// That batch.
        batch_id: uuid::Uuid,
        /// Its sequence.
        sequence: u32,
    },
    /// The key belongs to another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The dataset changed (a hierarchy, added columns) while an upload ran.
    #[error("the dataset changed while the upload ran")]
    DatasetChanged,
    /// Too many queued jobs.
    #[error("{queued} jobs are queued")]
    BacklogFull {
        /// How many.
        queued: u64,
    },
    /// The job would spend more than is left of the dataset's budget.
    #[error("the privacy budget leaves epsilon {} and delta {}", left.epsilon, left.delta)]
    BudgetExceeded {
        /// What is left.
        left: PrivacyLoss,
    },
    /// The job ended before.
    #[error("the job has ended")]
    JobFinished,
    /// The job has no front yet, or failed or was cancelled.
    #[error("the job has no front")]
    FrontNotReady,
    /// A batch has a value that the hierarchies of a series do not place.
    #[error("column `{column}` has values that the hierarchy of the series does not place")]
    Unplaced {
        /// Column.
        column: String,
    },
    /// The job has no report (yet), or is of another kind.
    #[error("the job has no such report")]
    ReportNotReady,
    /// The lease is not held (any more).
    #[error("the lease is lost")]
    LeaseLost,
    /// A cursor that no list gave.
    #[error("the cursor is not one of this list")]
    InvalidCursor,
    /// A chunk could not be opened: wrong key, or changed data.
    #[error("stored data could not be opened")]
    Sealed(#[source] crate::vault::Error),
    /// Stored data has a form that this program does not read.
    #[error("stored data has an unknown form: {0}")]
    Form(String),
    /// The pool is exhausted.
    #[error("no database connection became free in time")]
    Busy,
    /// The database.
    #[error("the database failed in {statement}")]
    Database {
        /// Name of the statement.
        statement: &'static str,
        /// The driver's error.
        #[source]
        source: sqlx::Error,
    },
}
