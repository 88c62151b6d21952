//! Ambiguity (Goldberger, Tassa 2010; algorithms.md D.7): of how many combinations of values a row could be.
//!
//! A released row costs the product of the leaves under its nodes, a suppressed row the product of all leaves.

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{Evaluation, Volumes, Wanted};

pub(super) const DEFINITION: &str = "sum over rows of the product, over quasi-identifiers, of the leaves under the \
                                     released value; of all leaves for a suppressed row";

#[derive(Debug)]
pub(super) struct Ambiguity {
    volumes: Volumes,
    rows: u64,
    domains: Vec<u64>,
    /// By attribute and level: sum of leaves over all rows, fewest and most leaves under one node.
    leaves: Vec<Vec<(u128, u64, u64)>>,
}

impl Ambiguity {
    pub(super) fn new(cells: &Cells) -> Self {
        let attributes = cells.quasi_identifiers.iter().zip(&cells.leaf_sums);
        let leaves = attributes.map(|(attribute, sums)| {
            let levels = attribute.generalization.levels.iter().zip(sums);
            let range = levels.map(|(level, &sum)| {
                let leaves = level.leaves.iter().copied();
                let (fewest, most) = (leaves.clone().min(), leaves.max());
                (sum, fewest.unwrap_or(1), most.unwrap_or(1))
            });
            range.collect()
        });
        Self {
            volumes: Volumes::of(cells),
            rows: cells.rows,
            leaves: leaves.collect(),
            domains: cells
                .quasi_identifiers
                .iter()
                .map(|attribute| attribute.generalization.domain)
                .collect(),
        }
    }

    fn of_suppressed(&self, rows: u64) -> u128 {
        self.volumes.times(rows, self.domains.iter().copied())
    }
}

/// Greatest possible value over domains that are not known beforehand (an open one has at most as many leaves as rows).
pub(super) fn most(rows: u64, domains: impl Iterator<Item = Option<u64>>) -> f64 {
    let rows = rows.max(1);
    let leaves = domains.map(|domain| domain.unwrap_or(rows).max(2) as f64);
    (rows as f64 * leaves.product::<f64>()).min(f64::MAX)
}

impl Measure for Ambiguity {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let suppressed = self.of_suppressed(evaluation.suppressed_rows);
        let key = evaluation.totals.released_volume + suppressed;
        Cost {
            key,
            value: key as f64 * self.volumes.unit,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            volumes: true,
            ..Wanted::default()
        }
    }
    /// Released, all rows would cost at least the leaves of one attribute times the fewest of the others; suppressing
    /// a row adds at least the whole domain less the most that a released row can cost.
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        if !self.volumes.are_exact() {
            return 0;
        }
        let at = |(leaves, &level): (&Vec<(u128, u64, u64)>, &u32)| leaves[level as usize];
        let leaves: Vec<_> = self.leaves.iter().zip(levels).map(at).collect();
        let fewest: u128 = leaves
            .iter()
            .map(|&(_, fewest, _)| u128::from(fewest))
            .product();
        let best = leaves
            .iter()
            .map(|&(sum, own, _)| sum * (fewest / u128::from(own.max(1))))
            .max()
            .unwrap_or(u128::from(self.rows));
        let suppressed_rows = suppressed_rows.min(self.rows);
        let most = self
            .volumes
            .times(suppressed_rows, leaves.iter().map(|&(_, _, most)| most));
        best + (self.of_suppressed(suppressed_rows) - most)
    }
}
