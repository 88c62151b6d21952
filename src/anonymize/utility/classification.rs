//! Classification metric (Iyengar 2002; algorithms.md D.7): rows whose target value a class does not tell.
//!
//! A suppressed row and a row without its class's most frequent target value cost 1. Where several values are equally
//! frequent, all rows but those of one of them cost 1; as ARX has it, all rows. A missing target value is a value.

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{Evaluation, Wanted};

/// In words.
pub(super) fn definition(target: Option<&str>, arx_tie: bool) -> String {
    let tie = if arx_tie {
        "; all rows of a class with several equally frequent ones"
    } else {
        ""
    };
    let target = target.unwrap_or_default();
    format!(
        "(suppressed rows + released rows without the most frequent `{target}` of their class{tie}) / input rows"
    )
}

#[derive(Debug)]
pub(super) struct Classification {
    rows: u64,
    arx_tie: bool,
    /// Rows beside the majority of their cell.
    finest: u64,
}

impl Classification {
    pub(super) fn new(cells: &Cells, arx_tie: bool) -> Self {
        let labels = cells.bottom.labels.as_ref();
        let beside = |(cell, &rows): (usize, &u32)| {
            let majority = labels.map_or(rows, |labels| labels.majority(cell).rows);
            u64::from(rows - majority)
        };
        Self {
            rows: cells.rows,
            arx_tie,
            finest: cells.bottom.rows.iter().enumerate().map(beside).sum(),
        }
    }
}

impl Measure for Classification {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let totals = &evaluation.totals;
        let tied = if self.arx_tie {
            totals.tied_majority_rows
        } else {
            0
        };
        let penalized = evaluation.suppressed_rows + totals.minority_rows + tied;
        Cost {
            key: u128::from(penalized),
            value: penalized as f64 / self.rows.max(1) as f64,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            labels: true,
            ..Wanted::default()
        }
    }
    /// A merged class has no larger majority than its parts have together, and a suppressed row has none.
    fn lower_bound(&self, _: &[u32], suppressed_rows: u64) -> u128 {
        u128::from(self.finest.max(suppressed_rows.min(self.rows)))
    }
}
