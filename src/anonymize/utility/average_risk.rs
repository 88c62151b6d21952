//! Average prosecutor risk (algorithms.md E.2): released classes over released records.
//!
//! Records are distinct subjects per class where a subject is declared, else rows: the number that a report calls
//! `risk.average`.

use super::{Cost, Measure};
use crate::anonymize::classes::{Evaluation, Wanted};

pub(super) const DEFINITION: &str = "released classes / released records (distinct subjects per class where a \
                                     subject is declared, else rows); 1 where nothing is released";

#[derive(Debug)]
pub(super) struct AverageRisk {
    pub(super) rows: u64,
}

/// Classes over records as a binary fraction of 64 digits.
///
/// Counts have at most 32 bits, so two different quotients differ by more than 2^-64: the order is exact.
fn ratio(classes: u64, records: u64) -> u128 {
    (u128::from(classes) << 64)
        .checked_div(u128::from(records))
        .unwrap_or(1 << 64)
}

impl Measure for AverageRisk {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let (classes, records) = (evaluation.classes, evaluation.totals.released_size);
        Cost {
            key: ratio(classes, records),
            value: match records {
                0 => 1.0,
                records => classes as f64 / records as f64,
            },
        }
    }
    fn wanted(&self) -> Wanted {
        Wanted {
            sizes: true,
            ..Wanted::default()
        }
    }
    /// At least one class over at most all rows that stay.
    fn lower_bound(&self, _: &[u32], suppressed_rows: u64) -> u128 {
        ratio(1, self.rows.saturating_sub(suppressed_rows))
    }
}
