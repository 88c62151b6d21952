//! Information gain: what a row's class tells of its label (algorithms.md C.2, D.8). More is better.
//!
//! The mutual information of class and label over all rows, in bits per row; suppressed rows make one class. Policies are
//! ordered by the entropy that is left, an integer in units of 2^-32 bits.

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::labels::units;
use crate::anonymize::classes::{Evaluation, Wanted};

/// In words.
pub(super) fn definition(label: Option<&str>) -> String {
    let label = label.unwrap_or_default();
    format!(
        "mutual information of a row's class and its `{label}`, suppressed rows being one class; bits per row"
    )
}

#[derive(Debug)]
pub(super) struct InformationGain {
    rows: u64,
    /// Rows times the entropy of the label, in units.
    whole: i128,
    /// What cells leave of it.
    finest: i128,
    cells: usize,
}

impl InformationGain {
    pub(super) fn new(cells: &Cells) -> Self {
        let Some(labels) = &cells.bottom.labels else {
            return Self {
                rows: cells.rows,
                whole: 0,
                finest: 0,
                cells: 0,
            };
        };
        let mut counts: Vec<u64> = Vec::new();
        for cell in 0..cells.len() {
            labels.add_to(cell, &mut counts);
        }
        Self {
            rows: cells.rows,
            whole: units::entropy(counts.into_iter()),
            finest: (0..cells.len()).map(|cell| labels.entropy(cell)).sum(),
            cells: cells.len(),
        }
    }
}

impl Measure for InformationGain {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let left = evaluation.totals.entropy_left.clamp(0, self.whole.max(0));
        let gained = (self.whole - left).max(0);
        Cost {
            key: left.unsigned_abs(),
            value: gained as f64 / units::IN_ONE_BIT / self.rows.max(1) as f64,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            information: true,
            ..Wanted::default()
        }
    }
    /// No merge tells more than the cells do; each sum is off by less than a unit per term.
    fn lower_bound(&self, _: &[u32], _: u64) -> u128 {
        let slack = i128::try_from(self.cells.saturating_mul(4) + 4).unwrap_or(i128::MAX);
        (self.finest - slack * 4).max(0).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::classes::Totals;

    // Labels a a a b: 4 * 0.811278 bits; classes {a a} {a b} leave 2 of them.
    #[test]
    fn what_classes_leave_is_what_they_do_not_tell() {
        let measure = InformationGain {
            rows: 4,
            whole: units::entropy([3, 1].into_iter()),
            finest: 0,
            cells: 4,
        };
        let left = units::entropy([2].into_iter()) + units::entropy([1, 1].into_iter());
        let evaluation = Evaluation {
            totals: Totals {
                entropy_left: left,
                ..Totals::default()
            },
            ..Evaluation::default()
        };
        let cost = measure.cost(&evaluation);
        assert!((cost.value - (0.811_278_124 - 0.5)).abs() < 1e-8);
        assert_eq!(cost.key, 2 << 32);
    }
}
