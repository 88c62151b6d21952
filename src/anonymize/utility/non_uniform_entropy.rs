//! Non-uniform entropy (Gionis, Tassa 2009; algorithms.md D.7; ARX's non-monotonic variant): the bits that
//! generalization takes from each value.
//!
//! Per quasi-identifier, a row whose value occurs c times, below a node that occurs C times, loses log2(C / c) bits;
//! this depends on the level only. Suppression adds, for the v rows among |X| suppressed ones with the same node,
//! v log2(|X| / v) bits. Every term is rounded to 2^-40 bits and added as an integer: the order of values decides nothing.

use super::{Cost, Measure};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{Evaluation, Wanted};

pub(super) const DEFINITION: &str = "sum over quasi-identifiers and rows of log2(rows with the released value / rows \
                                     with the input value), plus log2(suppressed rows / suppressed rows with the \
                                     generalized value) over suppressed rows; bits";

/// Units in one bit.
const UNITS: f64 = (1_u64 << 40) as f64;

#[derive(Debug)]
pub(super) struct NonUniformEntropy {
    /// By attribute and level: units lost by generalization.
    by_level: Vec<Vec<u128>>,
}

/// Bits that tell `part` of `whole` rows from the others, over those rows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "part is at most whole, so the logarithm is not negative"
)]
fn units(part: u64, whole: u64) -> u128 {
    if part == 0 {
        return 0;
    }
    let bits = part as f64 * (whole as f64 / part as f64).log2();
    (bits * UNITS).round() as u128
}

impl NonUniformEntropy {
    pub(super) fn new(cells: &Cells) -> Self {
        let attributes = 0..cells.quasi_identifiers.len();
        Self {
            by_level: attributes
                .map(|attribute| of_attribute(cells, attribute))
                .collect(),
        }
    }

    fn generalized(&self, levels: &[u32]) -> u128 {
        let terms = self.by_level.iter().zip(levels);
        terms.map(|(units, &level)| units[level as usize]).sum()
    }
}

/// Units lost on each level of one attribute.
fn of_attribute(cells: &Cells, position: usize) -> Vec<u128> {
    let attribute = &cells.quasi_identifiers[position];
    let rows_of = &cells.value_rows[position];
    let of_level = |nodes: &Vec<u32>| {
        let count = nodes.iter().max().map_or(0, |&node| node as usize + 1);
        let mut rows_at = vec![0_u64; count];
        for (&node, &rows) in nodes.iter().zip(rows_of) {
            rows_at[node as usize] += rows;
        }
        let values = nodes.iter().zip(rows_of);
        values
            .map(|(&node, &rows)| units(rows, rows_at[node as usize]))
            .sum()
    };
    attribute.from_bottom.iter().map(of_level).collect()
}

/// Greatest possible value.
pub(super) fn most(rows: u64, attributes: usize) -> f64 {
    2.0 * attributes as f64 * rows as f64 * (rows.max(1) as f64).log2()
}

impl Measure for NonUniformEntropy {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let suppressed = evaluation.totals.suppressed_nodes.iter().flatten();
        let suppressed = suppressed.map(|&rows| units(rows, evaluation.suppressed_rows));
        let key = self.generalized(&evaluation.levels) + suppressed.sum::<u128>();
        Cost {
            key,
            value: key as f64 / UNITS,
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            nodes: true,
            ..Wanted::default()
        }
    }
    /// Suppressed rows may all have one node, which costs nothing more.
    fn lower_bound(&self, levels: &[u32], _: u64) -> u128 {
        self.generalized(levels)
    }
}
