//! What to compare: methods side by side on the same demands and the same budget.

mod entry;
mod shared;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::cursor::Cursor;
use super::{
    DatasetDeclaration, Demand, Fraction, LossDemand, Objective, PrivacyModel, Recoding,
    SearchMethod,
};
use crate::fault::{Fault, FaultCode, Faults};
use entry::entries;
use shared::Shared;

/// Most seeds of a comparison.
pub(crate) const MOST_SEEDS: u64 = 100;
/// Seeds where none are named: enough for a median and a test (algorithms.md A.8).
const USUAL_SEEDS: u64 = 30;
/// Most methods of a comparison.
const MOST_METHODS: usize = 16;

const FIELDS: [&str; 10] = [
    "privacy",
    "suppression_limit",
    "objectives",
    "loss",
    "weights",
    "methods",
    "seeds",
    "seed",
    "max_evaluations",
    "max_seconds",
];
/// What the searches of all methods have in common.
const SHARED: [&str; 3] = ["seed", "max_evaluations", "max_seconds"];

/// Demands of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompareDemand {
    /// The models that hold in every class that any method releases.
    pub privacy: Vec<PrivacyModel>,
    /// Largest share of all input rows that may be suppressed, inclusive.
    pub suppression_limit: Fraction,
    /// The two that are minimised and compared.
    pub objectives: Vec<Objective>,
    /// How `loss` is measured.
    pub loss: LossDemand,
    /// Weight per quasi-identifier.
    pub weights: std::collections::BTreeMap<String, f64>,
    /// The methods, 1 to 16, no two of one label.
    pub methods: Vec<ComparedMethod>,
    /// How many seeds, 1 to 100.
    pub seeds: u32,
    /// The first of them; the others follow by one.
    pub seed: u64,
    /// Most distinct policies that one run of a method evaluates.
    pub max_evaluations: Option<u64>,
    /// Most seconds of one run of a method.
    pub max_seconds: Option<f64>,
}

/// One method of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedMethod {
    /// What it is called in the report, 1 to 40 characters.
    pub label: String,
    /// Position of the earlier method whose number of evaluations, seed by seed, is this one's budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluations_of: Option<usize>,
    /// What it is asked for with the first seed.
    pub demand: Demand,
}

impl CompareDemand {
    /// Parses the job fields of a request body, without `kind` and `dataset_id`, collecting every fault.
    ///
    /// Every method is parsed as a search of its own with what is common to all. What only some of them refuse is told at
    /// the method.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value, dataset: &DatasetDeclaration) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        let demand = demand_of(body, dataset, &mut faults);
        faults.finish(demand)
    }

    /// The datasets of the populations that models name, each once, in order.
    #[must_use]
    pub fn populations(&self) -> Vec<Uuid> {
        let first = self.methods.first();
        first.map_or_else(Vec::new, |method| method.demand.populations())
    }

    /// The subjects that every class holds at least, by the models that bound its size; 1 without one that does.
    #[must_use]
    pub fn demanded_k(&self) -> u64 {
        let least = |model: &PrivacyModel| match model {
            PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => *k,
            PrivacyModel::MaximumRisk { max } => max.least_inverse().unwrap_or(1),
            _ => 1,
        };
        self.privacy.iter().map(least).max().unwrap_or(1).max(1)
    }

    /// Whether every method searches levels.
    #[must_use]
    pub fn is_of_levels(&self) -> bool {
        let mut methods = self.methods.iter();
        methods.all(|method| method.demand.recoding == Recoding::FullDomain)
    }

    /// Whether a method does the same whatever its seed: then it runs once.
    #[must_use]
    pub fn is_deterministic(&self, method: usize) -> bool {
        let ComparedMethod {
            evaluations_of,
            demand,
            ..
        } = &self.methods[method];
        // What is referred to stands before.
        let same_budget = evaluations_of.is_none_or(|other| self.is_deterministic(other));
        same_budget
            && match demand.search.method {
                SearchMethod::Exact
                | SearchMethod::Fixed
                | SearchMethod::Tds
                | SearchMethod::Bug
                | SearchMethod::Hybrid
                | SearchMethod::Datafly
                | SearchMethod::Mondrian
                | SearchMethod::Mdav => true,
                SearchMethod::Auto
                | SearchMethod::Nsga2
                | SearchMethod::LocalSearch
                | SearchMethod::Random
                | SearchMethod::GeneticCuts
                | SearchMethod::KMember
                | SearchMethod::Oka
                | SearchMethod::MoObam => false,
            }
    }
}

fn demand_of(
    body: &Value,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<CompareDemand> {
    let object = Cursor::root(body).object(faults)?;
    object.only(&FIELDS, faults);
    let seeds = match object.optional("seeds") {
        None => Some(USUAL_SEEDS),
        Some(cursor) => cursor.whole(&(1..=MOST_SEEDS), faults),
    };
    let seed = match object.optional("seed") {
        None => Some(0),
        Some(cursor) => cursor.whole(&(0..=u64::MAX - MOST_SEEDS), faults),
    };
    let entries = entries(&object, faults);
    let shared = Shared::new(&object, dataset, faults);
    let methods: Vec<Option<ComparedMethod>> = entries
        .iter()
        .flatten()
        .map(|entry| entry.parsed(&shared, dataset, faults))
        .collect();
    let methods = methods.into_iter().collect::<Option<Vec<_>>>();
    let mut methods = entries.and(methods)?;
    measure_alike(&methods, faults);
    name_apart(&mut methods);
    let first = &methods.first()?.demand;
    Some(CompareDemand {
        privacy: first.privacy.clone(),
        suppression_limit: first.suppression_limit,
        objectives: first.objectives.clone(),
        max_evaluations: first.search.max_evaluations,
        max_seconds: first.search.max_seconds,
        loss: shared.loss?,
        weights: shared.weights?,
        methods,
        seeds: u32::try_from(seeds?).ok()?,
        seed: seed?,
    })
}

/// Refuses methods that would measure an objective of classes in another form than the first.
fn measure_alike(methods: &[ComparedMethod], faults: &mut Faults) {
    let Some(first) = methods.first().map(|method| &method.demand) else {
        return;
    };
    let settings = |demand: &Demand| {
        let settings = &demand.search.clusters;
        (
            settings.loss.unwrap_or_default(),
            settings.entropy.unwrap_or_default(),
        )
    };
    let is_read = [Objective::InformationLoss, Objective::SensitiveEntropy]
        .iter()
        .any(|objective| first.objectives.contains(objective));
    for (position, method) in methods.iter().enumerate() {
        if is_read && settings(&method.demand) != settings(first) {
            let detail = "`loss` and `entropy` say how objectives are measured: they must be those of the first method";
            let place = format!("/methods/{position}");
            faults.push(Fault::at(place, FaultCode::NotSupported, detail));
        }
    }
}

/// Gives methods of one name labels of their own: `nsga2`, `nsga2 2`, ...
fn name_apart(methods: &mut [ComparedMethod]) {
    for position in 0..methods.len() {
        let (before, rest) = methods.split_at_mut(position);
        let method = &mut rest[0];
        let plain = method.label.clone();
        let mut number = 2;
        while before.iter().any(|other| other.label == method.label) {
            method.label = format!("{plain} {number}");
            number += 1;
        }
    }
}
