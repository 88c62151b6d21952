//! Lost precision (Sweeney 2002; algorithms.md D.7; ARX's `Precision`): depth, a suppressed row counting as fully
//! generalised.
//!
//! The mean over rows and quasi-identifiers of level over height, 1 for a suppressed row. Sweeney's Prec is 1 less this.

use super::{Cost, Measure, generalization_depth};
use crate::anonymize::classes::Evaluation;

pub(super) const DEFINITION: &str = "lost precision (1 less Sweeney's Prec): mean over rows and quasi-identifiers of \
                                     generalization level / greatest level, 1 for a suppressed row";

#[derive(Debug)]
pub(super) struct Precision {
    units: Vec<u128>,
    heights: Vec<u32>,
    rows: u64,
    whole: f64,
}

impl Precision {
    pub(super) fn new(heights: &[usize], weights: &[f64], rows: u64) -> Self {
        let (units, whole) = generalization_depth::units(heights, weights, rows.max(1));
        let heights = heights.iter();
        Self {
            units,
            heights: heights
                .map(|&height| u32::try_from(height).unwrap_or(u32::MAX))
                .collect(),
            rows,
            whole,
        }
    }

    fn key(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        let released = u128::from(self.rows.saturating_sub(suppressed_rows));
        let terms = self.units.iter().zip(levels).zip(&self.heights);
        let term = |((&unit, &level), &height): ((&u128, &u32), &u32)| {
            let levels =
                u128::from(level) * released + u128::from(height) * u128::from(suppressed_rows);
            unit * levels
        };
        terms.map(term).sum()
    }
}

impl Measure for Precision {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let key = self.key(&evaluation.levels, evaluation.suppressed_rows);
        Cost {
            key,
            value: key as f64 / (self.whole * self.rows.max(1) as f64),
        }
    }
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        self.key(levels, suppressed_rows.min(self.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Levels 1 of 2 and 0 of 1, one of four rows suppressed: (3 * 1/2 + 1 + 0 + 1) / 8.
    #[test]
    fn a_suppressed_row_counts_as_fully_generalised() {
        let precision = Precision::new(&[2, 1], &[1.0; 2], 4);
        let evaluation = Evaluation {
            levels: vec![1, 0],
            rows: 4,
            suppressed_rows: 1,
            ..Evaluation::default()
        };
        let cost = precision.cost(&evaluation);
        assert!((cost.value - 0.4375).abs() < 1e-12);
        assert_eq!(precision.lower_bound(&[1, 0], 1), cost.key);
    }
}
