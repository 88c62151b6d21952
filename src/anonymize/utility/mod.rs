//! Objectives: one file per measure of what a policy costs.
//!
//! Every objective gives a value for reports and an integer that orders it. Dominance compares the integers only, so no
//! rounding decides which policies stand in a front.

mod generalization_depth;
mod loss;
mod suppression;

use super::cells::Cells;
use super::classes::Evaluation;
use super::report::ObjectiveReport;
use super::rows::QuasiIdentifier;
use super::table::Schema;
use crate::declaration::{Demand, Objective};

/// The most objectives of a search.
pub const MOST_OBJECTIVES: usize = 4;

/// What one objective makes of a policy; less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Orders policies, exactly.
    pub key: u128,
    /// For reports.
    pub value: f64,
}

/// A measure of what a policy costs.
pub trait Measure: Send + Sync + std::fmt::Debug {
    /// The cost of an evaluated policy.
    fn cost(&self, evaluation: &Evaluation) -> Cost;
    /// Whether it needs the sums of leaves.
    fn needs_leaves(&self) -> bool {
        false
    }
    /// A key that no policy of these levels is below if it suppresses at least so many rows, whichever they are; 0
    /// where nothing is known. Never shrinks when the number of rows grows.
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128;
}

/// The objectives of a task, in the order asked.
#[derive(Debug)]
pub struct Objectives {
    measures: Vec<Box<dyn Measure>>,
}

impl Objectives {
    /// The objectives of a demand over the given cells.
    #[must_use]
    pub fn new(demand: &Demand, cells: &Cells) -> Self {
        let names = cells
            .quasi_identifiers
            .iter()
            .map(|attribute| &*attribute.name);
        let weights = weights(demand, names);
        let measures = demand.objectives.iter().take(MOST_OBJECTIVES);
        let measures = measures.map(|objective| -> Box<dyn Measure> {
            match objective {
                Objective::GeneralizationDepth => {
                    let attributes = cells.quasi_identifiers.iter();
                    let heights: Vec<usize> = attributes.map(QuasiIdentifier::height).collect();
                    Box::new(generalization_depth::GeneralizationDepth::new(
                        &heights, &weights,
                    ))
                }
                Objective::Suppression => Box::new(suppression::Suppression),
                Objective::Loss => Box::new(loss::Loss::new(demand.loss, &weights, cells)),
            }
        });
        Self {
            measures: measures.collect(),
        }
    }

    /// Number of objectives.
    #[must_use]
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// Whether any needs the sums of leaves.
    #[must_use]
    pub fn needs_leaves(&self) -> bool {
        self.measures.iter().any(|measure| measure.needs_leaves())
    }

    /// Keys that no policy of these levels is below if it suppresses at least so many rows; unused places hold zero.
    #[must_use]
    pub fn lower_bounds(&self, levels: &[u32], suppressed_rows: u64) -> [u128; MOST_OBJECTIVES] {
        let mut bounds = [0; MOST_OBJECTIVES];
        for (bound, measure) in bounds.iter_mut().zip(&self.measures) {
            *bound = measure.lower_bound(levels, suppressed_rows);
        }
        bounds
    }

    /// The costs of an evaluated policy; unused places hold zero.
    #[must_use]
    pub fn costs(&self, evaluation: &Evaluation) -> [Cost; MOST_OBJECTIVES] {
        let mut costs = [Cost { key: 0, value: 0.0 }; MOST_OBJECTIVES];
        for (cost, measure) in costs.iter_mut().zip(&self.measures) {
            *cost = measure.cost(evaluation);
        }
        costs
    }
}

/// What the objectives of a demand mean, for reports.
#[must_use]
pub fn describe(demand: &Demand, schema: &Schema) -> Vec<ObjectiveReport> {
    let positions = schema.quasi_identifiers();
    let names = positions
        .iter()
        .map(|&position| &*schema.attributes()[position].declaration.name);
    let weights = weights(demand, names);
    let weighted = if demand.weights.is_empty() {
        String::new()
    } else {
        let pairs = demand
            .weights
            .iter()
            .map(|(name, weight)| format!("{name} {weight}"));
        format!(
            "; weights: {}, others 1",
            pairs.collect::<Vec<_>>().join(", ")
        )
    };
    let describe = |objective: &Objective| {
        let (most, definition) = match objective {
            Objective::GeneralizationDepth => (
                1.0,
                format!("{}{weighted}", generalization_depth::DEFINITION),
            ),
            Objective::Suppression => (1.0, suppression::DEFINITION.to_owned()),
            Objective::Loss => {
                let (most, definition) = loss::describe(demand.loss, &weights);
                (most, format!("{definition}{weighted}"))
            }
        };
        ObjectiveReport {
            name: name(*objective).to_owned(),
            direction: "minimize".to_owned(),
            range: [0.0, most],
            definition,
        }
    };
    demand.objectives.iter().map(describe).collect()
}

/// The name of an objective in demands and reports.
#[must_use]
pub fn name(objective: Objective) -> &'static str {
    match objective {
        Objective::GeneralizationDepth => "generalization_depth",
        Objective::Suppression => "suppression",
        Objective::Loss => "loss",
    }
}

fn weights<'a>(demand: &Demand, names: impl Iterator<Item = &'a str>) -> Vec<f64> {
    names
        .map(|name| demand.weights.get(name).copied().unwrap_or(1.0))
        .collect()
}
