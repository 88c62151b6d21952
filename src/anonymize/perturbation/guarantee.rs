//! What is said of perturbed rows: an epsilon only where one is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::local::{Answers, LocalColumn};
use super::sampling::Sampling;
use crate::declaration::Amount;

/// Whether and which differential privacy holds: `false`, or what is guaranteed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum DifferentialPrivacy {
    /// `false`: none.
    Absent(bool),
    /// What is guaranteed.
    Holds(Box<Guarantee>),
}

impl Default for DifferentialPrivacy {
    fn default() -> Self {
        Self::Absent(false)
    }
}

/// A guarantee of differential privacy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Guarantee {
    /// Local, for some columns: what is released of them tells by at most a factor of `e^epsilon` whether a row held
    /// some values of theirs or any others.
    Local {
        /// Sum over the attributes.
        #[schema(value_type = f64)]
        epsilon: Amount,
        /// By attribute.
        attributes: BTreeMap<String, AttributeGuarantee>,
        /// What it covers.
        #[schema(example = "perturbed columns only, per row")]
        scope: String,
    },
    /// For whole rows: the released rows are by at most a factor of `e^epsilon`, and `delta`, likelier or less likely
    /// with a row than without it.
    #[serde(rename = "safepub")]
    SafePub {
        /// As asked.
        #[schema(value_type = f64)]
        epsilon: Amount,
        /// As asked.
        #[schema(value_type = f64)]
        delta: Amount,
        /// Least size of classes that epsilon and delta need.
        k: u64,
        /// Probability of a row to be drawn.
        beta: f64,
        /// What it covers.
        #[schema(example = "released rows, per row")]
        scope: String,
    },
}

/// The guarantee of one column, with all that is needed to reckon with its noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttributeGuarantee {
    /// Loss of privacy.
    #[schema(value_type = f64)]
    pub epsilon: Amount,
    /// How cells were answered.
    #[serde(flatten)]
    pub mechanism: Mechanism,
}

/// How cells were answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "mechanism", rename_all = "snake_case")]
pub enum Mechanism {
    /// Of `n` rows, `f` answered with a value: about `n ((f / n - other) / (keep - other))` hold it.
    RandomizedResponse {
        /// Values of the domain, missing included where it is one.
        values: u64,
        /// Whether missing is one of them.
        missing: bool,
        /// Probability of the true value.
        keep: f64,
        /// Probability of each other value.
        other: f64,
    },
    /// Noise `z` with probability proportional to `e^(-|z| / scale)` on multiples of `step`; what falls beyond a bound
    /// stands at it.
    DiscreteLaplace {
        /// Least number.
        lower: f64,
        /// Greatest number.
        upper: f64,
        /// Distance of the numbers answered.
        step: f64,
        /// Of the noise, in units of the numbers.
        scale: f64,
    },
}

pub(super) fn of_columns(columns: &[LocalColumn]) -> Guarantee {
    let epsilons = columns.iter().map(|column| column.epsilon);
    let attributes = columns.iter().map(|column| {
        let mechanism = match &column.answers {
            Answers::Values {
                has_missing,
                response,
                ..
            } => {
                let (keep, other) = response.probabilities();
                Mechanism::RandomizedResponse {
                    values: response.values,
                    missing: *has_missing,
                    keep,
                    other,
                }
            }
            Answers::Numbers(grid) => {
                let [lower, upper, step] = grid.numbers();
                Mechanism::DiscreteLaplace {
                    lower,
                    upper,
                    step,
                    scale: (upper - lower) / column.epsilon.to_f64(),
                }
            }
        };
        let guarantee = AttributeGuarantee {
            epsilon: column.epsilon,
            mechanism,
        };
        (column.name.clone(), guarantee)
    });
    Guarantee::Local {
        epsilon: epsilons.fold(Amount::ZERO, Amount::plus),
        attributes: attributes.collect(),
        scope: "perturbed columns only, per row".to_owned(),
    }
}

pub(super) fn of_sample(epsilon: Amount, delta: Amount, sampling: Sampling) -> Guarantee {
    Guarantee::SafePub {
        epsilon,
        delta,
        k: sampling.k,
        beta: sampling.beta as f64 / 2.0_f64.powi(64),
        scope: "released rows, per row".to_owned(),
    }
}
