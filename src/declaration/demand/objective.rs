//! What is minimised and how it is computed; what is known for estimates; which solution is recommended.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

/// What a search optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Mean of level over height, `0..=1`.
    GeneralizationDepth,
    /// Suppressed rows over input rows, `0..=1`.
    Suppression,
    /// Granularity loss, `0..=1`.
    Loss,
    /// Squares of class sizes, and all rows per suppressed row.
    Discernibility,
    /// Rows over classes.
    AverageClassSize,
    /// Bits lost per value.
    NonUniformEntropy,
    /// Lost precision, `0..=1`.
    Precision,
    /// Combinations of values that a row may stand for.
    Ambiguity,
    /// Rows whose `target` value their class does not tell, `0..=1`.
    Classification,
    /// Released classes over released records, `0..=1`.
    AverageRisk,
    /// Bits that a row's class tells of its `target` value; maximised.
    InformationGain,
    /// Deviation of rows from the centres of their classes, over that from the centre of all; `0..=1`.
    InformationLoss,
    /// Least entropy of the sensitive values of any class; maximised.
    SensitiveEntropy,
}

/// What a step of a search of cuts is chosen by (algorithms.md C.2), over the anonymity that it costs or brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// Loss of the taxonomy: the leaves under released values.
    #[default]
    Loss,
    /// Information on the `target`. With a sensitive target, what is gained is disclosure too.
    Information,
}

/// A measure of utility that is reported only where it is asked for, because it takes longer (algorithms.md D.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportedMeasure {
    /// Median relative error of random counting queries, drawn by the search's seed (0 for a measurement).
    QueryError,
    /// Squared distances of numbers from the middles of their labels, over those from their mean.
    SumOfSquares,
}

/// How `loss` is computed (algorithms.md D.7).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LossDemand {
    /// How the attributes' losses are joined.
    #[serde(default)]
    pub aggregate: Aggregate,
    /// Weight of generalization against suppression, `0..=1`; 0.5 is neutral.
    #[serde(default = "LossDemand::neutral")]
    pub factor: f64,
}

impl LossDemand {
    fn neutral() -> f64 {
        0.5
    }
}

impl Default for LossDemand {
    fn default() -> Self {
        Self {
            aggregate: Aggregate::default(),
            factor: Self::neutral(),
        }
    }
}

/// How the attributes' losses are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Aggregate {
    #[default]
    Arithmetic,
    Geometric,
    Maximum,
    Sum,
}

/// How `classification` is computed (algorithms.md D.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
pub struct ClassificationDemand {
    /// Count all rows of a class with several equally frequent values, as ARX does, not all but those of one.
    #[serde(default)]
    pub arx_tie: bool,
}

/// What is known of the population that the rows come from; exactly one field. With `population` risks are counted,
/// with the others estimated.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
pub struct PopulationDemand {
    /// Its members, at least as many as the table has subjects (rows without a subject column).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population_size: Option<u64>,
    /// Subjects of the table over members of the population, above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_fraction: Option<f64>,
    /// The dataset that holds it: its quasi-identifiers cover those of the table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub population: Option<Uuid>,
}

impl PopulationDemand {
    /// Members of the population that a table of so many subjects comes from.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive quotient, converted by saturation"
    )]
    pub fn members(&self, subjects: u64) -> Option<u64> {
        let by_fraction = self
            .sampling_fraction
            .map(|fraction| (subjects as f64 / fraction).round() as u64);
        self.population_size.or(by_fraction)
    }
}

/// Which solution of a front is recommended (algorithms.md D.9). The knees are those of fronts of two objectives and at
/// least three points; of others the least first objective is recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recommend {
    /// Least first objective, then second, ..., then policy.
    #[default]
    FirstObjective,
    /// Farthest from the line between the two ends.
    Knee,
    /// Sharpest bend.
    KneeBendAngle,
    /// Greatest ratio of what is gained to what is lost by coming there from either neighbour.
    KneeMarginalRate,
    /// Least sum of the objectives, each scaled to its range on the front.
    KneeEqualWeights,
}
