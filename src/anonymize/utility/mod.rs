//! Objectives: one file per measure of what a policy costs.
//!
//! Every objective gives a value for reports and an integer that orders it. Dominance compares the integers only, so no
//! rounding decides which policies stand in a front. Reports state the same measures of every solution, asked for or not.

mod ambiguity;
mod average_class_size;
mod average_risk;
mod classification;
mod describe;
mod discernibility;
mod divergence;
mod generalization_depth;
mod information_gain;
mod loss;
mod non_uniform_entropy;
mod precision;
mod query_error;
mod reporter;
mod sum_of_squares;
mod suppression;

pub use describe::{describe, name};
pub(crate) use reporter::Reporter;

use super::cells::{Cells, Needs};
use super::classes::{Evaluation, Wanted};
use super::rows::QuasiIdentifier;
use crate::declaration::{Demand, Objective};

/// The most objectives of a search.
pub const MOST_OBJECTIVES: usize = 4;

/// What one objective makes of a policy; of keys less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Orders policies, exactly.
    pub key: u128,
    /// For reports.
    pub value: f64,
}

/// A measure of what a policy costs.
pub trait Measure: Send + Sync + std::fmt::Debug {
    /// The cost of an evaluated policy, whose evaluation has what is [wanted](Self::wanted).
    fn cost(&self, evaluation: &Evaluation) -> Cost;
    /// Which sums it reads.
    fn wanted(&self) -> Wanted {
        Wanted::default()
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
        let measures = demand.objectives.iter().take(MOST_OBJECTIVES);
        Self {
            measures: measures
                .filter_map(|&objective| measure(objective, demand, cells))
                .collect(),
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

    /// Which sums they read.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let wishes = self.measures.iter().map(|measure| measure.wanted());
        wishes.fold(Wanted::default(), Wanted::or)
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

/// The measure of an objective; none of those of classes, which no hierarchy describes.
fn measure(objective: Objective, demand: &Demand, cells: &Cells) -> Option<Box<dyn Measure>> {
    let attributes = cells.quasi_identifiers.iter();
    let weights = weights(demand, attributes.clone().map(|attribute| &*attribute.name));
    let heights: Vec<usize> = attributes.map(QuasiIdentifier::height).collect();
    Some(match objective {
        Objective::InformationLoss | Objective::SensitiveEntropy => return None,
        Objective::GeneralizationDepth => Box::new(generalization_depth::GeneralizationDepth::new(
            &heights, &weights,
        )),
        Objective::Suppression => Box::new(suppression::Suppression),
        Objective::Loss => Box::new(loss::Loss::new(demand.loss, &weights, cells)),
        Objective::Discernibility => Box::new(discernibility::Discernibility::new(cells)),
        Objective::AverageClassSize => Box::new(average_class_size::AverageClassSize::new(cells)),
        Objective::NonUniformEntropy => {
            Box::new(non_uniform_entropy::NonUniformEntropy::new(cells))
        }
        Objective::Precision => Box::new(precision::Precision::new(&heights, &weights, cells.rows)),
        Objective::Ambiguity => Box::new(ambiguity::Ambiguity::new(cells)),
        Objective::Classification => Box::new(classification::Classification::new(
            cells,
            demand.classification.arx_tie,
        )),
        Objective::InformationGain => Box::new(information_gain::InformationGain::new(cells)),
        Objective::AverageRisk => Box::new(average_risk::AverageRisk { rows: cells.rows }),
    })
}

/// Adds what the objectives of a demand need of every class to what its criteria need.
pub fn add_needs(demand: &Demand, needs: &mut Needs) {
    if demand.objectives.contains(&Objective::AverageRisk) {
        needs.subjects = u64::MAX;
    }
}

/// At most how many classes a policy has.
#[derive(Debug)]
struct MostClasses {
    cells: u128,
    /// By attribute and level: number of nodes.
    nodes: Vec<Vec<u128>>,
}

impl MostClasses {
    fn of(cells: &Cells) -> Self {
        let attributes = cells.quasi_identifiers.iter();
        let nodes = attributes.map(|attribute| {
            let levels = attribute.generalization.levels.iter();
            levels.map(|level| level.labels.len() as u128).collect()
        });
        Self {
            cells: cells.len() as u128,
            nodes: nodes.collect(),
        }
    }

    /// At the given levels: no more than there are cells or combinations of nodes.
    fn at(&self, levels: &[u32]) -> u128 {
        let nodes = self.nodes.iter().zip(levels);
        let product = nodes
            .map(|(nodes, &level)| nodes[level as usize])
            .fold(1_u128, u128::saturating_mul);
        product.min(self.cells)
    }
}

fn weights<'a>(demand: &Demand, names: impl Iterator<Item = &'a str>) -> Vec<f64> {
    names
        .map(|name| demand.weights.get(name).copied().unwrap_or(1.0))
        .collect()
}
