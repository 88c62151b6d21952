//! Demands: what a job, a measurement or a release is asked for.

mod classes;
mod clusters;
mod invariance;
mod measures;
mod model;
mod models;
mod objective;
mod parse;
mod perturbation;
mod preset;
mod privacy;
mod release;
mod search;
mod series;

pub use clusters::{
    ClusterSettings, EntropyForm, Lambda, Lambdas, LossForm, Optimizer, Representation,
};
pub use objective::{
    Aggregate, ClassificationDemand, LossDemand, Objective, PopulationDemand, Recommend,
    ReportedMeasure, Score,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Fraction;
use crate::fault::Fault;
pub use invariance::CLASS_ID;
pub use model::{DisclosureMode, Distance, MissingSensitive, PrivacyModel, Reference};
pub use perturbation::{LocalPerturbation, Perturbation};
pub use preset::Preset;
pub use series::{ROW_TOKEN, SeriesDemand, SeriesGuard, SeriesMode, SeriesRecoding};

/// Generalization level per quasi-identifier, by name.
pub type Levels = std::collections::BTreeMap<String, usize>;

/// Demands on a job (`POST /v1/jobs` without `dataset_id`, or the job part of `POST /v1/anonymize`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Demand {
    /// At least one model, and one that bounds the size of a class; every one must hold in every released class.
    pub privacy: Vec<PrivacyModel>,
    /// Largest share of all input rows that may be suppressed, inclusive.
    #[schema(value_type = f64, required = false, minimum = 0, maximum = 1)]
    pub suppression_limit: Fraction,
    /// How values are recoded.
    #[schema(required = false)]
    pub recoding: Recoding,
    /// How policies are searched.
    #[schema(required = false)]
    pub search: Search,
    /// What is minimised, one to four names, no repetition.
    #[schema(required = false)]
    pub objectives: Vec<Objective>,
    /// How `loss` is computed.
    #[schema(required = false)]
    pub loss: LossDemand,
    /// Weight per quasi-identifier, above 0 and at most 1e9, default 1; used by `generalization_depth`,
    /// `loss` and `precision`, and by the score `loss`.
    #[serde(default)]
    pub weights: std::collections::BTreeMap<String, f64>,
    /// The attribute that `classification` predicts and `information_gain` and the score `information` tell of,
    /// sensitive or insensitive. Where one is read, the first sensitive attribute if absent (`classification` names its own).
    #[serde(default)]
    pub target: Option<String>,
    /// How `classification` is computed.
    #[serde(default)]
    pub classification: ClassificationDemand,
    /// What is known of the population that the rows come from, for estimates of risk.
    #[serde(default)]
    pub risk: Option<PopulationDemand>,
    /// Measures to report of every solution beside those that always are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub measures: Vec<ReportedMeasure>,
    /// Which solution of the front is recommended.
    #[serde(default)]
    pub recommend: Recommend,
    /// Release the recommended solution at once.
    #[serde(default)]
    pub release: Option<ReleaseChoice>,
    /// What released rows bear; absent: `sets` for `local`, `centroids` for `microaggregation`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub representation: Option<Representation>,
    /// What a release of classes is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// What chance does to the rows before anything else; absent: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturbation: Option<Perturbation>,
}

/// How values are recoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recoding {
    /// One level per attribute, applied to every row.
    #[default]
    FullDomain,
    /// One cut through the tree of each attribute, applied to every row: branches may end at different levels.
    Subtree,
    /// Class by class, truthfully: intervals, value sets and common ancestors.
    Local,
    /// Class by class, by what stands for the class: means, medians, modes and medoids.
    Microaggregation,
}

/// A search and its settings. Settings that a method does not use are refused, unless they are the defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Search {
    /// Which search.
    #[schema(required = false)]
    pub method: SearchMethod,
    /// What steps are chosen by (`tds`, `bug`, `hybrid`, `genetic_cuts`; `auto` with `subtree`).
    #[serde(default)]
    pub score: Score,
    /// Policies per generation (`nsga2`, `genetic_cuts`), 4 to 10,000.
    #[schema(required = false, minimum = 4, maximum = 10_000)]
    pub population: usize,
    /// Generations (`nsga2`, `genetic_cuts`), 1 to 100,000.
    #[schema(required = false, minimum = 1, maximum = 100_000)]
    pub generations: usize,
    /// Probability that a gene mutates; absent: `max(1/q, 0.05)` (`nsga2`), 1 over the inner nodes (`genetic_cuts`).
    pub mutation_probability: Option<f64>,
    /// Boxes by which a front is thinned out (`nsga2`); absent: it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<Epsilon>,
    /// Seed of every random choice, of the search and of the release's row order.
    #[schema(required = false)]
    pub seed: u64,
    /// Most distinct policies evaluated; of cuts, most steps and cuts judged as a whole. Where the greedy ways led is
    /// judged in any case.
    pub max_evaluations: Option<u64>,
    /// Most seconds searched, above 0 and at most 1e9.
    pub max_seconds: Option<f64>,
    /// The policy of `fixed`.
    pub levels: Option<Levels>,
    /// Settings of searches of classes.
    #[serde(flatten)]
    pub clusters: ClusterSettings,
}

/// Which search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchMethod {
    /// Up to the configured search space, `exact` with the policies of a short heuristic search to start from; beyond,
    /// `local_search` for one objective and `nsga2` for several. With `subtree`: `hybrid`; with `local`: `mondrian`; with
    /// `microaggregation`: `mo_obam`.
    Auto,
    /// Judges or excludes every policy, and proves it.
    Exact,
    /// Multi-objective genetic search.
    Nsga2,
    /// Iterated local search of one objective.
    LocalSearch,
    /// Distinct random policies.
    Random,
    /// One given policy, checked.
    Fixed,
    /// Cuts by top-down specialisation.
    Tds,
    /// Cuts by bottom-up generalisation, then specialisation.
    Bug,
    /// Cuts by both.
    Hybrid,
    /// Multi-objective genetic search over cuts, from what `hybrid` finds.
    GeneticCuts,
    /// Levels by Sweeney's greedy rule: the attribute with most values, until few enough rows are left over.
    Datafly,
    /// Classes by cutting the table in two again and again.
    Mondrian,
    /// Classes of k rows around the rows farthest from the mean.
    Mdav,
    /// Classes that grow by the row that widens them least.
    KMember,
    /// Classes by one pass of k-means, adjusted to k.
    Oka,
    /// Classes around centroids that a search moves, trading information loss for mixed sensitive values.
    MoObam,
}

/// Sides of the boxes of a front (algorithms.md D.9): of the policies in one box, at most the one nearest to the box's
/// lower corner is kept, and of boxes, those that no other is as low as in every objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Epsilon {
    /// The same for every objective, above 0.
    All(f64),
    /// By objective, each above 0; every objective of the demand has one.
    Each(std::collections::BTreeMap<String, f64>),
}

/// Which solution a job releases by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseChoice {
    /// The recommended one.
    Recommended,
}

/// Body of `POST /v1/releases`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReleaseDemand {
    /// Job whose front holds the solution.
    pub job_id: Uuid,
    /// Which solution.
    pub solution_id: u32,
    /// Order of the rows.
    #[schema(required = false)]
    pub row_order: RowOrder,
    /// Columns to release, a subset of the releasable ones; absent: all.
    pub columns: Option<Vec<String>>,
    /// What becomes of suppressed rows.
    #[schema(required = false)]
    pub suppressed_rows: SuppressedRows,
    /// What stands in the place of identifiers.
    #[serde(default)]
    #[schema(required = false)]
    pub identifiers: Identifiers,
    /// Who gets the release, 1 to 200 characters; tokens of two recipients have nothing in common.
    #[serde(default)]
    pub recipient: Option<String>,
    /// Whether all releases with this flag for the recipient share their tokens.
    #[serde(default)]
    #[schema(required = false)]
    pub linkage: bool,
}

/// What stands in a release in the place of identifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Identifiers {
    /// Nothing: their columns are left out.
    #[default]
    Omit,
    /// A keyed token for each, in its column.
    Token,
}

/// Order of released rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowOrder {
    /// Shuffled by the job's seed.
    #[default]
    Shuffled,
    /// As received.
    Input,
}

/// What becomes of suppressed rows in a release (user-cases D1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuppressedRows {
    /// Left out.
    #[default]
    Omit,
    /// Kept as rows of `*`, every cell masked.
    Mask,
}

/// Body of `POST /v1/datasets/{id}/measure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MeasureDemand {
    /// Models to check; may be empty.
    #[schema(required = false)]
    pub privacy: Vec<PrivacyModel>,
    /// Levels to measure at; absent attributes stay at level 0.
    #[serde(default)]
    pub levels: Levels,
    /// What is known of the population that the rows come from, for estimates of risk.
    #[serde(default)]
    pub risk: Option<PopulationDemand>,
    /// Measures to report beside those that always are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<ReportedMeasure>,
    /// Year in which ages are reckoned from years of birth, for `identifier_indicators`; the current one if absent.
    #[serde(default)]
    pub year_of_data: Option<u32>,
}

/// The datasets of the populations that models, or what is known for risks, name; each once, in order.
fn populations(privacy: &[PrivacyModel], risk: Option<PopulationDemand>) -> Vec<Uuid> {
    let mut populations = Vec::new();
    let named = privacy.iter().filter_map(PrivacyModel::population);
    for population in named.chain(risk.and_then(|known| known.population)) {
        if !populations.contains(&population) {
            populations.push(population);
        }
    }
    populations
}

impl Demand {
    /// The datasets of the populations that it names, each once, in order.
    #[must_use]
    pub fn populations(&self) -> Vec<Uuid> {
        populations(&self.privacy, self.risk)
    }

    /// Parses the job fields of a request body against the dataset's declaration, collecting every fault.
    ///
    /// `dataset_id` is not part of a demand: the caller takes it out of `body` first.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value, dataset: &super::DatasetDeclaration) -> Result<Self, Vec<Fault>> {
        parse::demand(body, dataset)
    }
}

impl MeasureDemand {
    /// The datasets of the populations that it names, each once, in order.
    #[must_use]
    pub fn populations(&self) -> Vec<Uuid> {
        populations(&self.privacy, self.risk)
    }

    /// Parses a request body against the dataset's declaration, collecting every fault.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value, dataset: &super::DatasetDeclaration) -> Result<Self, Vec<Fault>> {
        parse::measure(body, dataset)
    }
}

impl ReleaseDemand {
    /// Parses a request body, collecting every fault of its shape (whether the columns exist is checked later).
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value) -> Result<Self, Vec<Fault>> {
        release::release(body)
    }
}
