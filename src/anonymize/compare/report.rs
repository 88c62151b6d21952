//! What a comparison reports. Field names are those of the HTTP contract.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::anonymize::report::ObjectiveReport;
use crate::declaration::{PrivacyModel, Recoding, Search};

/// Methods side by side on the same rows, demands and budget. Figures that fronts show too: no policy, no cell value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparisonReport {
    /// Rows of the input.
    pub rows_in: u64,
    /// Distinct subjects of the input; the rows where none is declared.
    pub subjects_in: u64,
    /// The models that hold in every class that any method released.
    pub privacy: Vec<PrivacyModel>,
    /// Subjects that every released class holds at least by these models.
    pub demanded_k: u64,
    /// Largest share of rows that may be suppressed.
    #[schema(value_type = f64)]
    pub suppression_limit: crate::declaration::Fraction,
    /// What is minimised and compared, and how it is measured, the same for all methods.
    pub objectives: Vec<ObjectiveReport>,
    /// How `best_loss` is measured.
    pub loss_definition: String,
    /// Seeds asked for; each method that draws at random runs once with each.
    pub seeds: u32,
    /// The first of them.
    pub first_seed: u64,
    /// Seeds that all methods were run with; fewer than asked for if the time was used up.
    pub seeds_run: u32,
    /// Most evaluations of one run.
    pub max_evaluations: Option<u64>,
    /// Most seconds of one run.
    pub max_seconds: Option<f64>,
    /// Where the reference front comes from.
    pub reference: ReferenceKind,
    /// What fronts are measured by.
    pub reference_front: ReferenceFront,
    /// The loss at which risks are compared: the lower median, over the methods that found a solution, of each one's median
    /// best loss. Null if none did.
    pub common_loss: Option<f64>,
    /// By method, in the order asked.
    pub methods: Vec<MethodReport>,
    /// Whether the differences between methods are more than chance.
    pub tests: PairedTests,
}

/// Where a reference front comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceKind {
    /// It is the front of all policies, proven.
    Certified,
    /// It is what nothing beats of all that the methods found: no method can show more than all together.
    Union,
}

/// What fronts are measured by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReferenceFront {
    /// Its different points, by the first objective. As of all points here: both are costs; of an objective that is
    /// maximised, what a solution lacks to its greatest value.
    pub points: Vec<[f64; 2]>,
    /// The area that it covers within `corner`.
    pub hypervolume: f64,
    /// Per objective, the greatest cost that counts: for `suppression` the limit (1 where that is 0), else the greatest possible.
    pub corner: [f64; 2],
}

/// A figure over the runs of a method; null where most, or some, of the runs have none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MedianRange {
    /// Median: of an even number of runs the mean of the two in the middle.
    pub median: Option<f64>,
    /// Least.
    pub least: Option<f64>,
    /// Greatest.
    pub greatest: Option<f64>,
}

/// One method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MethodReport {
    /// What it is called here.
    pub label: String,
    /// What it recodes.
    pub recoding: Recoding,
    /// Its settings, with the first seed.
    pub search: Search,
    /// The earlier method whose number of evaluations, seed by seed, was its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations_of: Option<String>,
    /// Whether it does the same with every seed: then it ran once, and that run stands for every seed.
    pub deterministic: bool,
    /// Runs.
    pub runs: u32,
    /// Runs that ended with a front of what they looked for.
    pub ended: u32,
    /// Runs that ended because their evaluations or seconds were used up.
    pub stopped: u32,
    /// Runs that found no solution.
    pub without_solution: u32,
    /// Whether the solution that its first run recommends passes the check of releases: rendered, regrouped by what rows
    /// bear and measured by code of its own, with the counts that the search stated. Null if there is no such solution.
    pub verified: Option<bool>,
    /// Distinct policies evaluated.
    pub evaluations: MedianRange,
    /// Wall time of a run with the exact figures of its front, in milliseconds.
    pub elapsed_ms: MedianRange,
    /// Different points of a front.
    pub points: MedianRange,
    /// Points of the reference front that a front has.
    pub hits: MedianRange,
    /// The same as a share of the reference front's points.
    pub hit_rate: MedianRange,
    /// The area that a front covers within the corner over that of the reference front.
    pub hypervolume_ratio: MedianRange,
    /// How far a front lies behind the reference front, in the units of the objectives (IGD+).
    pub igd_plus: MedianRange,
    /// Least loss of a solution of at least `demanded_k` subjects per class within the suppression limit.
    pub best_loss: MedianRange,
    /// Least average risk of a solution whose loss is at most `common_loss`.
    pub average_risk: MedianRange,
    /// Least maximum risk of such a solution.
    pub maximum_risk: MedianRange,
    /// Run by run.
    pub by_run: Vec<RunReport>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It did all it meant to do.
    Front,
    /// Its evaluations or seconds were used up.
    Stopped,
    /// It found no solution.
    Infeasible,
}

/// One run of a method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunReport {
    /// Its seed.
    pub seed: u64,
    /// How it ended.
    pub end: RunEnd,
    /// Distinct policies evaluated.
    pub evaluations: u64,
    /// Wall time in milliseconds.
    pub elapsed_ms: f64,
    /// Different points of its front, by the first objective.
    pub points: Vec<[f64; 2]>,
    /// Points of the reference front among them.
    pub hits: u64,
    /// The area that they cover within the corner.
    pub hypervolume: f64,
    /// IGD+; null without a solution.
    pub igd_plus: Option<f64>,
    /// See [`MethodReport::best_loss`].
    pub best_loss: Option<f64>,
    /// See [`MethodReport::average_risk`].
    pub average_risk: Option<f64>,
    /// See [`MethodReport::maximum_risk`].
    pub maximum_risk: Option<f64>,
}

/// Tests of all pairs of methods, paired by seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairedTests {
    /// What is tested: `hypervolume`, to twelve decimals.
    pub of: String,
    /// The test.
    pub test: String,
    /// How chances are corrected for the number of pairs.
    pub correction: String,
    /// By pair, in the order of the methods.
    pub pairs: Vec<PairReport>,
}

/// Two methods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairReport {
    /// Label of the one.
    pub first: String,
    /// Label of the other.
    pub second: String,
    /// Seeds compared.
    pub seeds: u32,
    /// Seeds with which the areas differ.
    pub differing: u32,
    /// Seeds with which the first covers more.
    pub first_better: u32,
    /// Median, over the seeds, of the first's hypervolume ratio less the second's.
    pub median_difference: f64,
    /// Sum of the ranks of the differences in favour of the first.
    pub rank_sum_first: f64,
    /// Sum of the ranks of those in favour of the second.
    pub rank_sum_second: f64,
    /// Rank-biserial correlation: 1 where the first is always better, -1 where the second is.
    pub correlation: f64,
    /// Chance of rank sums as far apart if neither were better, two-sided. Null where both methods are deterministic: there
    /// is one difference then, and no chance in it.
    pub p: Option<f64>,
    /// The same, corrected by Holm's procedure over all pairs that have one.
    pub p_holm: Option<f64>,
    /// Whether the chance was counted out; else it is approximated by a normal distribution.
    pub exact: bool,
}
