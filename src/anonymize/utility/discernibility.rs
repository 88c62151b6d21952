//! Discernibility (Bayardo, Agrawal 2005; algorithms.md D.7): every row costs the rows it cannot be told from.
//!
//! A released row costs its class's rows, a suppressed row all rows: sum of squares of class sizes plus n per
//! suppressed row. DM* is the sum of squares of all classes, as if nothing were suppressed; it grows along the lattice.

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{Evaluation, Wanted};

pub(super) const DEFINITION: &str = "sum over released classes of their rows squared, plus the input rows for every \
                                     suppressed row";

#[derive(Debug)]
pub(super) struct Discernibility {
    rows: u128,
    /// Sum of squares of the cells: what no merge goes below.
    finest: u128,
    largest_cell: u128,
    most_classes: super::MostClasses,
}

impl Discernibility {
    pub(super) fn new(cells: &Cells) -> Self {
        let weights = cells.bottom.rows.iter().map(|&rows| u128::from(rows));
        Self {
            rows: u128::from(cells.rows),
            finest: weights.clone().map(|rows| rows * rows).sum(),
            largest_cell: weights.max().unwrap_or(0),
            most_classes: super::MostClasses::of(cells),
        }
    }
}

/// Greatest possible value.
pub(super) fn most(rows: u64) -> f64 {
    (rows as f64).powi(2)
}

/// DM* of an evaluated policy.
pub(super) fn without_suppression(evaluation: &Evaluation) -> u128 {
    evaluation.totals.released_squares + evaluation.totals.suppressed_squares
}

impl Measure for Discernibility {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let suppressed = u128::from(evaluation.suppressed_rows) * self.rows;
        let key = evaluation.totals.released_squares + suppressed;
        Cost {
            key,
            value: key as f64,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            sizes: true,
            ..Wanted::default()
        }
    }
    /// Two bounds. A row costs at least its cell's rows, a suppressed one n, so suppressing it adds at least n less the
    /// largest cell. And the r released rows in at most M classes cost at least r^2 / M; with M of 2 or more,
    /// suppressing one more row adds more (n) than it saves, so the bound grows with the suppressed rows.
    fn lower_bound(&self, levels: &[u32], suppressed_rows: u64) -> u128 {
        let suppressed = u128::from(suppressed_rows);
        let by_cells = self.finest + suppressed * (self.rows - self.largest_cell);
        let classes = self.most_classes.at(levels);
        let by_classes = if classes < 2 {
            self.rows * self.rows
        } else {
            let released = self.rows.saturating_sub(suppressed);
            suppressed * self.rows + (released * released).div_ceil(classes)
        };
        by_cells.max(by_classes)
    }
}
