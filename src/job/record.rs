//! The record of a release.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::anonymize::perturbation::DifferentialPrivacy;
use crate::anonymize::report::{Privacy, RecodingReport, Risk};
use crate::anonymize::verify::Verification;
use crate::declaration::{Demand, Identifiers, ReleaseDemand, SeriesDemand};
use crate::ingest::Warning;

/// A release: the record for the data-protection officer. Holds no cell value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReleaseRecord {
    /// Its id.
    pub release_id: Uuid,
    /// Dataset released from.
    pub dataset_id: Uuid,
    /// Name of the dataset when released.
    pub dataset_name: String,
    /// Job whose front holds the solution.
    pub job_id: Uuid,
    /// Which solution; null in a series.
    pub solution_id: Option<u32>,
    /// Where it stands in a series; null if in none.
    #[serde(default)]
    pub series: Option<SeriesPlace>,
    /// Batches that went in.
    pub batches: Vec<BatchRecord>,
    /// What was asked of the job and of the release.
    pub configuration: ReleaseConfiguration,
    /// SHA-256 of the configuration's canonical JSON, hexadecimal.
    pub configuration_sha256: String,
    /// Version of each quasi-identifier's hierarchy, by name.
    pub hierarchy_digests: std::collections::BTreeMap<String, String>,
    /// The policy applied.
    pub recoding: RecodingReport,
    /// Seeds of every random choice.
    pub seeds: std::collections::BTreeMap<String, u64>,
    /// Achieved privacy, as measured by the engine on the solution. Null, as are the other figures of the rows, in lists
    /// that show a release of a series that nobody has read yet.
    pub privacy: Option<Privacy>,
    /// Achieved risk.
    pub risk: Option<Risk>,
    /// Rows of the input: `released_rows + suppressed_rows + pending_rows`.
    pub rows_in: u64,
    /// Rows released.
    pub released_rows: u64,
    /// Rows withheld (or masked).
    pub suppressed_rows: u64,
    /// Rows that wait for a later release (series); 0 otherwise.
    pub pending_rows: u64,
    /// Released classes.
    pub classes: u64,
    /// Columns of the data, in order.
    pub columns: Vec<String>,
    /// What stands in the place of identifiers.
    #[serde(default)]
    pub identifiers: Identifiers,
    /// Who gets it; null if nobody was named.
    #[serde(default)]
    pub recipient: Option<String>,
    /// Whether tokens join its rows with those of other releases: of every linked release for the recipient, or of the series.
    #[serde(default)]
    pub linkage: bool,
    /// What is guaranteed of the rows; false unless they were perturbed.
    #[serde(default)]
    pub differential_privacy: DifferentialPrivacy,
    /// Whether every row of the data is one of the input; false where there are counterfeits or perturbed cells.
    #[serde(default = "yes")]
    pub truthful: bool,
    /// Of an m-invariant series: its counterfeits; null otherwise.
    #[serde(default)]
    pub invariance: Option<Invariance>,
    /// What whoever decides on the release should know.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// What the independent verifier measured.
    pub verification: Option<Verification>,
    /// SHA-256 of the CSV form, hexadecimal.
    pub csv_sha256: Option<String>,
    /// Bytes of the CSV form.
    pub csv_bytes: Option<u64>,
    /// Version of this software.
    pub software_version: String,
    /// When made (database time).
    pub created_at: DateTime<Utc>,
}

/// A batch in a release record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchRecord {
    /// Its id.
    pub batch_id: Uuid,
    /// Its sequence.
    pub sequence: u32,
    /// Its rows.
    pub rows: u64,
}

/// The counterfeits of a release of an m-invariant series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Invariance {
    /// Rows with different sensitive values that every class has at least.
    pub m: u64,
    /// The sensitive attribute.
    pub attribute: String,
    /// Counterfeit rows in the data, beside the released ones.
    pub counterfeits: u64,
    /// Counterfeit rows by `class_id`; classes without any are not listed.
    pub classes: std::collections::BTreeMap<u64, u64>,
}

fn yes() -> bool {
    true
}

/// Where a release stands in a series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SeriesPlace {
    /// The series.
    pub series_id: Uuid,
    /// Its version, from 1.
    pub version: u32,
    /// The release before; null in the first.
    pub parent_release_id: Option<Uuid>,
    /// Rows that are new in it.
    pub added_rows: u64,
}

/// What was asked.
#[expect(
    clippy::large_enum_variant,
    reason = "one value per release, moved a few times"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum ReleaseConfiguration {
    /// Of a solution.
    Solution {
        /// Of the job.
        demand: Demand,
        /// Of the release.
        release: ReleaseDemand,
    },
    /// Of a series.
    Series {
        /// Of the series.
        series: SeriesDemand,
    },
}
