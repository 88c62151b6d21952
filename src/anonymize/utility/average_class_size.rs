//! Average equivalence class size (algorithms.md D.7; ARX's AECS): rows over classes, the suppressed rows being one.

use super::{Cost, Measure, MostClasses};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::Evaluation;

pub(super) const DEFINITION: &str =
    "input rows / released classes, all suppressed rows counting as one class more";

#[derive(Debug)]
pub(super) struct AverageClassSize {
    rows: u64,
    most_classes: MostClasses,
}

impl AverageClassSize {
    pub(super) fn new(cells: &Cells) -> Self {
        Self {
            rows: cells.rows,
            most_classes: MostClasses::of(cells),
        }
    }
}

impl Measure for AverageClassSize {
    /// All policies divide the same rows, so more classes are better: the key is what they lack to one per row.
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let classes = evaluation.classes + u64::from(evaluation.suppressed_rows > 0);
        Cost {
            key: u128::from(self.rows.saturating_sub(classes)),
            value: self.rows as f64 / classes.max(1) as f64,
        }
    }
    /// The policy has at most M classes, of which at least one is suppressed if any row is; and no more released ones
    /// than released rows.
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        let rows = u128::from(self.rows);
        let by_rows = rows - u128::from(suppressed_rows.min(self.rows).saturating_sub(1));
        let classes = self.most_classes.at(levels).min(by_rows);
        rows.saturating_sub(classes)
    }
}
