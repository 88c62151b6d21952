//! Granularity loss: how much of its hierarchy a released value covers (algorithms.md D.7; ARX's `Loss`).
//!
//! Per attribute with a domain of D leaves, a released row costs leaves / D, a suppressed row 1; the mean over rows is
//! scaled so that unchanged data cost 0. Totals are exact integers, so the loss does not depend on the order of anything.
//! A factor f below 0.5 makes suppression cheaper (by 2f), above 0.5 generalization (by 2 - 2f).

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{Evaluation, Wanted};
use crate::anonymize::hierarchy::Level;
use crate::declaration::{Aggregate, LossDemand};

#[derive(Debug)]
pub(super) struct Loss {
    aggregate: Aggregate,
    generalization: f64,
    suppression: f64,
    rows: u64,
    weights: Vec<f64>,
    domains: Vec<u64>,
    /// By attribute and level: sum of leaves over all rows.
    leaf_sums: Vec<Vec<u128>>,
    /// By attribute and level: the most leaves under one node.
    most_leaves: Vec<Vec<u64>>,
}

/// Costs are ordered to so many decimals.
const PRECISION: f64 = 1e12;

impl Loss {
    pub(super) fn new(demand: LossDemand, weights: &[f64], cells: &Cells) -> Self {
        let attributes = cells.quasi_identifiers.iter();
        let most = |level: &Level| level.leaves.iter().copied().max().unwrap_or(0);
        Self {
            most_leaves: attributes
                .clone()
                .map(|attribute| attribute.generalization.levels.iter().map(most).collect())
                .collect(),
            aggregate: demand.aggregate,
            generalization: (2.0 - 2.0 * demand.factor).min(1.0),
            suppression: (2.0 * demand.factor).min(1.0),
            rows: cells.rows,
            weights: weights.to_vec(),
            domains: attributes
                .map(|attribute| attribute.generalization.domain)
                .collect(),
            leaf_sums: cells.leaf_sums.clone(),
        }
    }

    /// The loss of one attribute, `0..=1`, where the suppressed rows have so many leaves in all.
    fn of_attribute(&self, attribute: usize, level: u32, suppressed: Suppressed) -> f64 {
        let domain = self.domains[attribute] as f64;
        if self.domains[attribute] <= 1 {
            return 0.0;
        }
        let released = self.leaf_sums[attribute][level as usize] as f64 - suppressed.leaves;
        let most = suppressed.rows as f64 * domain;
        let covered = self.generalization * released
            + suppressed.leaves
            + self.suppression * (most - suppressed.leaves);
        let rows = self.rows as f64;
        let least = self.generalization * rows;
        ((covered - least) / (rows * domain - least)).max(0.0)
    }

    /// The loss of each attribute by itself, `0..=1`.
    pub(super) fn by_attribute(&self, evaluation: &Evaluation) -> Vec<f64> {
        let levels = evaluation.levels.iter().enumerate();
        let loss = |(attribute, &level)| {
            let suppressed = Suppressed {
                rows: evaluation.suppressed_rows,
                leaves: evaluation.totals.suppressed_leaves[attribute] as f64,
            };
            self.of_attribute(attribute, level, suppressed)
        };
        levels.map(loss).collect()
    }

    fn joined(&self, levels: &[u32], leaves: impl Fn(usize) -> Suppressed) -> f64 {
        let attributes = levels.iter().zip(&self.weights).enumerate();
        let losses = attributes.map(|(attribute, (&level, &weight))| {
            (
                self.of_attribute(attribute, level, leaves(attribute)),
                weight,
            )
        });
        join(self.aggregate, losses)
    }
}

/// Suppressed rows and the leaves under their nodes of one attribute.
#[derive(Debug, Clone, Copy)]
struct Suppressed {
    rows: u64,
    leaves: f64,
}

impl Measure for Loss {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a loss is not negative, and a float is converted by saturation"
    )]
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let value = self.joined(&evaluation.levels, |attribute| Suppressed {
            rows: evaluation.suppressed_rows,
            leaves: evaluation.totals.suppressed_leaves[attribute] as f64,
        });
        Cost {
            key: (value * PRECISION).round() as u128,
            value,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            leaves: true,
            ..Wanted::default()
        }
    }
    /// A suppressed row costs more than a released one by a share of what its node leaves uncovered, so the cheapest
    /// rows to suppress are those under the largest node. Two units lower than computed, against rounding.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a loss is not negative, and a float is converted by saturation"
    )]
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        let value = self.joined(levels, |attribute| {
            let most = self.most_leaves[attribute][levels[attribute] as usize];
            Suppressed {
                rows: suppressed_rows,
                leaves: suppressed_rows as f64 * most as f64,
            }
        });
        ((value * PRECISION).round() as u128).saturating_sub(2)
    }
}

/// Joins (loss, weight) pairs.
fn join(aggregate: Aggregate, losses: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut count, mut weights, mut sum) = (0, 0.0, 0.0);
    let (mut product, mut most) = (1.0, 0.0_f64);
    for (loss, weight) in losses {
        count += 1;
        weights += weight;
        sum += loss * weight;
        product *= 1.0 + loss * weight;
        most = most.max(loss * weight);
    }
    match aggregate {
        _ if count == 0 => 0.0,
        Aggregate::Arithmetic => sum / weights,
        Aggregate::Geometric => f64::powf(product, 1.0 / f64::from(count)) - 1.0,
        Aggregate::Maximum => most,
        Aggregate::Sum => sum,
    }
}

/// Greatest possible value and definition.
pub(super) fn describe(demand: LossDemand, weights: &[f64]) -> (f64, String) {
    let most = join(
        demand.aggregate,
        weights.iter().map(|&weight| (1.0, weight)),
    );
    let joined = match demand.aggregate {
        Aggregate::Arithmetic => "arithmetic mean of the weighted losses",
        Aggregate::Geometric => "geometric mean of (1 + weight * loss), minus 1",
        Aggregate::Maximum => "greatest weighted loss",
        Aggregate::Sum => "sum of the weighted losses",
    };
    let definition = format!(
        "per quasi-identifier, the mean over rows of leaves under the released value / leaves of the hierarchy, a \
         suppressed row counting 1, scaled so that unchanged data cost 0 and withheld data 1; joined by the {joined}; \
         factor {}",
        demand.factor
    );
    (most, definition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::classes::Totals;

    // algorithms.md F 8: T8 at (2,2,1), domains 60, 8, 2, one of eight rows suppressed.
    // raw .41667 .51563 1 means sums over released rows of .41667 * 8 * 60 - 60 = 140, .51563 * 64 - 8 = 25, 14 leaves.
    fn example(aggregate: Aggregate, factor: f64) -> f64 {
        let loss = Loss {
            aggregate,
            generalization: f64::min(2.0 - 2.0 * factor, 1.0),
            suppression: f64::min(2.0 * factor, 1.0),
            rows: 8,
            weights: vec![1.0; 3],
            domains: vec![60, 8, 2],
            most_leaves: vec![vec![1, 10, 20], vec![1, 2, 4], vec![1, 2]],
            leaf_sums: vec![vec![0, 0, 160], vec![0, 0, 29], vec![0, 16]],
        };
        let evaluation = Evaluation {
            levels: vec![2, 2, 1],
            rows: 8,
            suppressed_rows: 1,
            core_suppressed_rows: 1,
            classes: 2,
            totals: Totals {
                suppressed_leaves: vec![20, 4, 2],
                ..Totals::default()
            },
        };
        loss.cost(&evaluation).value
    }

    #[test]
    fn worked_example_8_arithmetic_and_geometric() {
        assert!((example(Aggregate::Arithmetic, 0.5) - 0.617_74).abs() < 1e-5);
        assert!((example(Aggregate::Geometric, 0.5) - 0.596_56).abs() < 1e-5);
        assert!((example(Aggregate::Maximum, 0.5) - 1.0).abs() < 1e-12);
        assert!((example(Aggregate::Sum, 0.5) - 3.0 * 0.617_74).abs() < 1e-4);
    }

    // Factor 0: suppression is free beyond the generalization of the suppressed row: 160/480, 29/64, 16/16 raw,
    // losses (160 - 8) / (480 - 8), (29 - 8) / (64 - 8), 1. Factor 1: only the suppressed row counts, 1/8 each.
    #[test]
    fn the_factor_weighs_generalization_against_suppression() {
        let free = (152.0 / 472.0 + 21.0 / 56.0 + 1.0) / 3.0;
        assert!((example(Aggregate::Arithmetic, 0.0) - free).abs() < 1e-12);
        assert!((example(Aggregate::Arithmetic, 1.0) - 0.125).abs() < 1e-12);
    }
}
