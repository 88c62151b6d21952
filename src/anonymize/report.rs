//! What searches and measurements report: exact figures, ready for JSON. Field names are those of the HTTP contract.

mod recoding;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::certificate::Certificate;
use super::perturbation::DifferentialPrivacy;
use super::population::UniquenessEstimates;
use super::safe_harbor::Indicator;
use crate::declaration::{Levels, Score, SearchMethod};
pub use recoding::{BothLosses, ClassesReport, DistanceLinkageReport, RecodingReport};

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Front {
    /// Rows of the input.
    pub rows_in: u64,
    /// Distinct subjects of the input; the rows where none is declared.
    pub subjects_in: u64,
    /// How it was found.
    pub search: SearchReport,
    /// What each objective value means.
    pub objectives: Vec<ObjectiveReport>,
    /// Sorted by the first objective, then the second ..., then the policy.
    pub solutions: Vec<Solution>,
    /// Share of the objectives' space that the front covers; of two objectives only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervolume: Option<Hypervolume>,
    /// Where the front bends; of two objectives and at least three points only.
    #[serde(default)]
    pub knee: Knee,
    /// `solution_id` of the recommended one.
    pub recommended: Option<u32>,
    /// Why that one.
    pub recommendation_rule: String,
    /// What is guaranteed of the rows that it was found on, whatever is made of them; false unless they were perturbed.
    #[serde(default)]
    pub differential_privacy: DifferentialPrivacy,
    /// The proof, which is stored and served apart.
    #[serde(skip)]
    #[schema(ignore)]
    pub certificate: Option<Certificate>,
    /// By solution of a front of classes: the class of every row, from 0. Stored apart, sealed, and never served.
    #[serde(skip)]
    #[schema(ignore)]
    pub partitions: Vec<Arc<[u32]>>,
}

/// The area between a front and a reference point (algorithms.md D.9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Hypervolume {
    /// The area; more is better.
    pub value: f64,
    /// Per objective, in their order: the greatest possible value, for `suppression` the limit; of an objective that is
    /// maximised, points are what it lacks to its greatest value, and this is all of it.
    pub reference: [f64; 2],
}

/// `solution_id` of the knee of a front by each of four rules (algorithms.md D.9), over objectives scaled to their range
/// on the front.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knee {
    /// Fewer than three different points, or not two objectives.
    #[default]
    Undefined,
    /// By rule.
    Defined {
        /// Farthest from the line between the two ends.
        chord: u32,
        /// Sharpest bend between its neighbours.
        bend_angle: u32,
        /// Greatest ratio of what is gained to what is lost by coming there from either neighbour.
        marginal_rate: u32,
        /// Least sum of both objectives.
        equal_weights: u32,
    },
}

/// How a front was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchReport {
    /// The method that ran (`auto` says which it chose).
    pub method: SearchMethod,
    /// What steps of a search of cuts were chosen by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// Its seed.
    pub seed: u64,
    /// Distinct policies evaluated; of cuts, steps and cuts judged as a whole.
    pub evaluations: u64,
    /// Number of policies, in decimal.
    pub search_space: String,
    /// Every policy was evaluated or excluded by proof.
    pub complete: bool,
    /// A certificate is stored (`GET /v1/jobs/{job_id}/certificate`).
    pub certified: bool,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertified: Option<String>,
    /// Wall time; set by whoever holds a clock.
    pub elapsed_ms: u64,
}

/// What an objective value means (user-cases UC-60).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectiveReport {
    /// Its name, as asked for.
    pub name: String,
    /// `minimize` or `maximize`.
    pub direction: String,
    /// Least and greatest possible value.
    pub range: [f64; 2],
    /// Formula in words, with parameters.
    pub definition: String,
}

/// One policy of a front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Solution {
    /// Position in the front, from 0.
    pub solution_id: u32,
    /// The policy.
    pub recoding: RecodingReport,
    /// Value per objective.
    pub objectives: BTreeMap<String, f64>,
    /// Rows that stay.
    pub released_rows: u64,
    /// Rows that are withheld.
    pub suppressed_rows: u64,
    /// Classes released.
    pub classes: u64,
    /// Achieved privacy.
    pub privacy: Privacy,
    /// Re-identification risk.
    pub risk: Risk,
    /// What it costs by measures that were not asked for too; absent in fronts of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub utility: Option<Utility>,
    /// Number of released classes by size, ascending.
    #[serde(default)]
    pub class_size_histogram: Vec<ClassSizes>,
    /// Whether it is the recommended one.
    pub recommended: bool,
}

/// What a policy costs by several measures (algorithms.md D.7), unweighted, suppressed rows included.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Utility {
    /// Per quasi-identifier, 1 for unchanged data, 0 for withheld ones: 1 less its `loss`.
    pub granularity: BTreeMap<String, f64>,
    /// As the objective `discernibility`.
    pub discernibility: f64,
    /// The same as if no class were suppressed.
    pub discernibility_without_suppression: f64,
    /// As the objective `average_class_size`.
    pub average_class_size: f64,
    /// As the objective `non_uniform_entropy`, in bits.
    pub non_uniform_entropy: f64,
    /// As the objective `precision`: the share of precision lost.
    pub precision: f64,
    /// As the objective `ambiguity`.
    pub ambiguity: f64,
    /// As the objective `information_gain`, where the search reads a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub information_gain: Option<f64>,
    /// Bits per row by which the joint distribution of the input differs from the one that the release suggests, each
    /// class spread evenly over the values its labels stand for (Kullback-Leibler).
    pub kl_divergence: f64,
    /// Median relative error of 1,000 random counting queries over two or three quasi-identifiers that are answered from
    /// the release, where `query_error` is asked for; absent if no query counts a hundredth of all rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_error: Option<f64>,
    /// Per numeric quasi-identifier, squared distances of the input from the middles of the released labels over those
    /// from its mean (SSE / SST), where `sum_of_squares` is asked for; constant columns are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sum_of_squares: Option<BTreeMap<String, f64>>,
}

/// Privacy of a set of classes, counted in subjects where a subject is declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Privacy {
    /// Size of the smallest class; 0 where nothing is released.
    pub k: u64,
    /// Per sensitive attribute, the worst class.
    pub sensitive: BTreeMap<String, SensitivePrivacy>,
}

/// Privacy of one sensitive attribute: the worst class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SensitivePrivacy {
    /// Fewest distinct non-missing values.
    pub distinct_l: u64,
    /// Two to the power of the least entropy of non-missing values; 0 where a class has none.
    pub entropy_l: f64,
    /// What `c` of recursive (c,l)-diversity must exceed, for the largest `l` asked for; absent without such a model, or
    /// where a class has fewer than `l` values (classes without any left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive_c: Option<f64>,
    /// Greatest variational distance to the released rows' distribution.
    pub t_equal: f64,
    /// The same against the input's distribution.
    pub t_equal_input: f64,
    /// Greatest ordered distance to the released rows' distribution, where an order is declared or the type is numeric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_ordered: Option<f64>,
    /// The same against the input's distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_ordered_input: Option<f64>,
    /// Greatest hierarchical distance to the released rows' distribution, where a hierarchy is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_hierarchical: Option<f64>,
    /// The same against the input's distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_hierarchical_input: Option<f64>,
    /// Greatest relative gain of a value's share over the input's, where beta-likeness is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Greatest logarithm of a share over the input's, up or down, where delta-disclosure is asked for, in its mode;
    /// absent where a class lacks a value and the mode is strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Greatest share of one protected value, where (alpha,k)-anonymity is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Released classes without any non-missing value (user-cases D3).
    pub classes_without_value: u64,
}

/// Prosecutor risk over released subjects (user-cases D13).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Risk {
    /// One over the smallest class; 0 where nothing is released.
    pub maximum: f64,
    /// Classes over released records.
    pub average: f64,
    /// Released rows in classes whose risk is above each threshold.
    pub rows_above: BTreeMap<String, u64>,
    /// The same as a share of released rows.
    pub share_above: BTreeMap<String, f64>,
    /// Classes of size one.
    pub sample_uniques: u64,
    /// Against an attacker who knows that the target is in the release; counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prosecutor: Option<AttackerFigures>,
    /// Against an attacker who does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journalist: Option<AttackerFigures>,
    /// Against an attacker who is after as many as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marketer: Option<AttackerFigures>,
    /// Estimated unique members of the population, where its size is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population_uniqueness: Option<UniquenessEstimates>,
    /// Counted on the population, where its rows are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<PopulationRisk>,
}

/// Risk against attackers who know the population but not who of it is in the release (algorithms.md E.2).
///
/// Records and members are distinct subjects per class where the side declares them, else rows. The released records
/// are taken to be among the members.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PopulationRisk {
    /// Dataset that holds the population.
    pub dataset_id: Uuid,
    /// Its members.
    pub members: u64,
    /// Fewest members in a released class; 0 where nothing is released.
    pub k_map: u64,
    /// Released records in classes where one over the members is above each threshold.
    pub records_above: BTreeMap<String, u64>,
    /// The same as a share of released records.
    pub share_above: BTreeMap<String, f64>,
    /// Classes of one member, those of which nothing is released included.
    pub population_uniques: u64,
    /// Of them, those of one released record.
    pub unique_in_both: u64,
    /// Classes with more released records than members: 0, unless the records are not all among the members. Such a
    /// class is reckoned as having as many members as records.
    pub classes_beyond_population: u64,
}

/// What one kind of attacker achieves (algorithms.md E.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttackerFigures {
    /// What the figures are.
    pub basis: Basis,
    /// For the record worst off, `0..=1`; a marketer is after no single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// Mean over released records, `0..=1`.
    pub average: f64,
}

/// What a figure of risk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Counted on the release.
    Counted,
    /// Nothing is known of the population, whose classes are at least as large as those of the release.
    UpperBound,
    /// An estimate, from the size of the population, as if all its classes were sampled alike.
    Estimate,
}

/// Why no policy meets the demands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    /// `k_exceeds_rows`, `k_exceeds_subjects`, `l_exceeds_distinct_values`, `suppression_limit` or `not_found`.
    pub code: String,
    /// In words, with the numbers; no cell value.
    pub detail: String,
}

/// Answer of `measure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Measurement {
    /// Levels measured at.
    pub levels: Levels,
    /// Rows measured.
    pub rows: u64,
    /// Distinct subjects; the rows where none is declared.
    pub subjects: u64,
    /// Number of classes.
    pub classes: u64,
    /// Achieved privacy, nothing suppressed.
    pub privacy: Privacy,
    /// Risk, nothing suppressed.
    pub risk: Risk,
    /// Whether every class meets every model.
    pub satisfied: bool,
    /// Rows in classes that fail at least one model.
    pub violating_rows: u64,
    /// The same as a share of all rows: the suppression limit that these levels would need.
    pub violating_share: f64,
    /// Per model, in the order asked.
    pub models: Vec<ModelReport>,
    /// Number of classes by size, ascending.
    pub class_size_histogram: Vec<ClassSizes>,
    /// What these levels cost, nothing suppressed.
    pub utility: Utility,
    /// Columns that look like one of the 18 identifiers of HIPAA's Safe Harbor method, by name or values, identifying
    /// ones left out. Things to look at, never a verdict: a column that is not listed may identify all the same.
    pub identifier_indicators: Vec<Indicator>,
}

/// One model's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelReport {
    /// The model as asked.
    pub model: crate::declaration::PrivacyModel,
    /// Whether every class meets it.
    pub satisfied: bool,
    /// Classes that do not.
    pub violating_classes: u64,
    /// Rows in them.
    pub violating_rows: u64,
}

/// Classes of one size, or of a range of sizes: sizes up to 20 stand alone, larger ones in ranges that end at 50, 100,
/// 200, 500, 1,000 and so on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassSizes {
    /// Size in subjects (rows where none is declared); the least of a range.
    pub size: u64,
    /// The greatest of a range, inclusive.
    pub size_to: u64,
    /// Classes of it.
    pub classes: u64,
    /// Rows in them.
    pub rows: u64,
}
