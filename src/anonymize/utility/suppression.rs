//! Suppression: the share of input rows that are withheld.

use super::{Cost, Measure};
use crate::anonymize::classes::Evaluation;

pub(super) const DEFINITION: &str = "suppressed rows / input rows";

#[derive(Debug)]
pub(super) struct Suppression;

impl Measure for Suppression {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        Cost {
            key: u128::from(evaluation.suppressed_rows),
            value: evaluation.suppressed_rows as f64 / evaluation.rows.max(1) as f64,
        }
    }
    fn lower_bound(&self, _: &[u32], suppressed_rows: u64) -> u128 {
        u128::from(suppressed_rows)
    }
}
