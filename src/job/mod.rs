//! Plain types that the HTTP interface, the worker and the store share.

mod reader;
mod record;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::anonymize::report::Reason;
use crate::anonymize::series::Counts;
use crate::declaration::{
    CompareDemand, DatasetDeclaration, Demand, Perturbation, PrivacyLoss, SeriesDemand,
    UtilityDemand,
};
use crate::ingest::Warning;
pub use reader::{Partition, Reader};
pub use record::{BatchRecord, Invariance, ReleaseConfiguration, ReleaseRecord, SeriesPlace};

/// A dataset as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Its id.
    pub dataset_id: Uuid,
    /// As declared, with attributes that a batch added and the hierarchies now in force.
    pub declaration: DatasetDeclaration,
    /// Version (SHA-256, hexadecimal) of each attribute's hierarchy now in force, by attribute position.
    pub hierarchy_digests: Vec<Option<String>>,
    /// Rows over all batches.
    pub rows: u64,
    /// Distinct subjects over all batches; the rows where none is declared.
    pub subjects: u64,
    /// Batches; also the sequence of the last one.
    pub batches: u32,
    /// Distinct non-missing values per attribute (0 for identifying and insensitive ones), by attribute position.
    pub distinct_values: Vec<u64>,
    /// What its jobs have spent of its privacy budget.
    pub spent: PrivacyLoss,
    /// When declared.
    pub created_at: DateTime<Utc>,
    /// When a batch or a hierarchy last changed it.
    pub updated_at: DateTime<Utc>,
}

/// A batch as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Its id.
    pub batch_id: Uuid,
    /// Dataset it belongs to.
    pub dataset_id: Uuid,
    /// From 1.
    pub sequence: u32,
    /// Its rows.
    pub rows: u64,
    /// Cells that `trim` changed.
    pub trimmed_cells: u64,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// When committed.
    pub created_at: DateTime<Utc>,
    /// Update jobs that it queued.
    pub updates: Vec<QueuedUpdate>,
}

/// An update job that a batch or a deletion queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct QueuedUpdate {
    /// The series.
    pub series_id: Uuid,
    /// Its update job.
    pub job_id: Uuid,
}

/// What a job is to do. Pins what it works on: a retry finds the same input.
#[expect(
    clippy::large_enum_variant,
    reason = "one value per job, moved a few times"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum JobSpec {
    /// A search.
    Search {
        /// The demands.
        demand: Demand,
        /// Batches up to this sequence are the input.
        through_batch: u32,
        /// The declaration in force when the job was submitted, hierarchies included.
        declaration: DatasetDeclaration,
        /// The populations that the demands name, as they were when the job was submitted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        populations: Vec<PinnedPopulation>,
    },
    /// An update of a series: everything up to these that it has not applied yet.
    SeriesUpdate {
        /// The series.
        series_id: Uuid,
        /// Batches up to this sequence.
        through_batch: u32,
        /// Deletions up to this sequence.
        through_deletion: u32,
    },
    /// Models trained on the rows of a solution.
    Utility {
        /// The search that found it.
        job_id: Uuid,
        /// The demands.
        demand: UtilityDemand,
    },
    /// Methods side by side.
    Compare {
        /// The demands.
        demand: CompareDemand,
        /// Batches up to this sequence are the input.
        through_batch: u32,
        /// The declaration in force when the job was submitted, hierarchies included.
        declaration: DatasetDeclaration,
        /// The populations that the demands name, as they were when the job was submitted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        populations: Vec<PinnedPopulation>,
    },
}

/// A population that a job compares its rows with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PinnedPopulation {
    /// The dataset that holds it.
    pub dataset_id: Uuid,
    /// Batches up to this sequence are the population.
    pub through_batch: u32,
    /// The dataset's declaration in force then.
    pub declaration: DatasetDeclaration,
}

impl JobSpec {
    /// The `kind` of the HTTP contract.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Search { .. } => "search",
            Self::SeriesUpdate { .. } => "series_update",
            Self::Utility { .. } => "utility",
            Self::Compare { .. } => "compare",
        }
    }

    /// What it loses of privacy, if it perturbs rows.
    #[must_use]
    pub fn loss(&self) -> Option<PrivacyLoss> {
        match self {
            Self::Search { demand, .. } => demand.perturbation.as_ref().map(Perturbation::loss),
            Self::SeriesUpdate { .. } | Self::Utility { .. } | Self::Compare { .. } => None,
        }
    }

    /// The series that it updates.
    #[must_use]
    pub fn series_id(&self) -> Option<Uuid> {
        match self {
            Self::Search { .. } | Self::Utility { .. } | Self::Compare { .. } => None,
            Self::SeriesUpdate { series_id, .. } => Some(*series_id),
        }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "job_state", rename_all = "snake_case")]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// A worker holds its lease.
    Running,
    /// Ended with an outcome.
    Succeeded,
    /// Ended without.
    Failed,
    /// Ended on request.
    Cancelled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Queued,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Whether nothing changes any more.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }
}

/// What a succeeded job found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "job_outcome", rename_all = "snake_case")]
pub enum JobOutcome {
    /// A front with at least one solution.
    Front,
    /// No policy meets the demands.
    Infeasible,
    /// Out of time or evaluations; the front is the best so far.
    Stopped,
    /// A series has its next release.
    Released,
    /// Nothing could be added to a series safely, or nothing had come.
    Unchanged,
    /// A report was made.
    Measured,
}

/// How far a job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    /// Distinct policies evaluated.
    pub evaluations: u64,
    /// Number of policies, in decimal; empty for cuts, which only the rows count: the front says how many.
    pub search_space: String,
    /// Share of the work done, `0..=1`.
    pub fraction: f64,
    /// What is being done.
    pub phase: String,
    /// When this was noted (database time).
    pub updated_at: DateTime<Utc>,
}

/// Why a job failed: a stable code and words without any cell value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobFailure {
    /// `internal`, `attempts_exhausted`, `dataset_gone`, `hierarchy_missing_values`, `population_gone`, `several_rows_per_subject`, `search_space_too_large`, `verification_failed`.
    pub code: String,
    /// In words.
    pub detail: String,
}

/// A job as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Its id.
    pub job_id: Uuid,
    /// Dataset it works on.
    pub dataset_id: Uuid,
    /// `search`, `series_update`, `utility` or `compare`.
    pub kind: String,
    /// Where it stands.
    pub state: JobState,
    /// What it found.
    pub outcome: Option<JobOutcome>,
    /// Why nothing, where `infeasible`.
    pub reason: Option<Reason>,
    /// How far it is.
    pub progress: JobProgress,
    /// Attempts begun.
    pub attempt: u32,
    /// When submitted.
    pub created_at: DateTime<Utc>,
    /// When last claimed.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// Why it failed.
    pub failure: Option<JobFailure>,
    /// The release it made, where one was asked for.
    pub release_id: Option<Uuid>,
    /// The series it updates.
    pub series_id: Option<Uuid>,
    /// Counts every visible change: the `ETag`.
    pub version: i64,
}

/// A job that a worker holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Lease {
    /// The job.
    pub job_id: Uuid,
    /// Dataset it works on.
    pub dataset_id: Uuid,
    /// What to do.
    pub spec: JobSpec,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Proof of holding; every write must show it.
    pub token: Uuid,
}

/// A series as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its id.
    pub series_id: Uuid,
    /// Dataset it follows.
    pub dataset_id: Uuid,
    /// As named.
    pub name: String,
    /// As demanded.
    pub demand: SeriesDemand,
    /// Declaration in force when it began.
    pub declaration: DatasetDeclaration,
    /// Version of the last release; 0 before the first.
    pub version: u32,
    /// Sequence of the last batch applied.
    pub through_batch: u32,
    /// Sequence of the last deletion applied.
    pub through_deletion: u32,
    /// Figures after the last update.
    pub counts: Counts,
    /// Updates that the oldest waiting row has seen since it arrived.
    pub oldest_pending: Option<u32>,
    /// Of the suppressed rows, those withheld for good.
    pub withheld: u64,
    /// The batch that it cannot apply.
    pub stopped: Option<Stopped>,
    /// When begun.
    pub created_at: DateTime<Utc>,
    /// When last updated.
    pub updated_at: DateTime<Utc>,
}

/// A batch that a series cannot apply, with all later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Stopped {
    /// Its sequence.
    pub batch: u32,
    /// Column with a value that the hierarchies of the series do not place.
    pub column: String,
}

/// An erasure. Says how much, never whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Deletion {
    /// Its id; none if nothing matched.
    pub deletion_id: Option<Uuid>,
    /// Dataset.
    pub dataset_id: Uuid,
    /// Sequence, from 1.
    pub sequence: u32,
    /// Rows erased.
    pub rows: u64,
    /// Subjects that have no row left; the rows where none is declared.
    pub subjects: u64,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Update jobs that it queued.
    pub updates: Vec<QueuedUpdate>,
}

/// A repeatable request: the caller's `Idempotency-Key` and what the request was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// The caller's key, 1 to 255 characters.
    pub key: String,
    /// SHA-256 over method, path with query, and body (for an upload: the content's digest).
    pub fingerprint: [u8; 32],
}

/// An answer that can be given again word for word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Location`, where one is answered.
    pub location: Option<String>,
    /// JSON body.
    pub body: Value,
}

/// One page of a list, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where the next page begins; `None` at the end.
    pub next_cursor: Option<String>,
}

/// Which page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// 1 to 500.
    pub limit: u32,
    /// From an earlier page.
    pub cursor: Option<String>,
}
