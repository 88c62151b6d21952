//! Entropy l-diversity: the entropy of a class's non-missing values is at least log2 l; l may be a fraction.
//!
//! At least l values are needed for that much entropy, which is its absorbing core.
//!
//! Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", 2006, definition 4.1.

use super::distinct_l_diversity::DistinctLDiversity;
use super::models::Missing;
use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::is_entropy_diverse;

#[derive(Debug)]
pub(super) struct EntropyLDiversity {
    pub(super) l: f64,
    pub(super) core: DistinctLDiversity,
    pub(super) missing: Missing,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Criterion for EntropyLDiversity {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        let counts = judging.non_missing(class, self.core.slot, self.missing.rank);
        (self.missing.exempt && counts.is_empty()) || is_entropy_diverse(counts, self.l)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.additive
    }
    fn absorbing_core(&self) -> Option<Box<dyn Criterion>> {
        self.core.core()
    }
}

/// The least number of distinct values that reaches an entropy l, equality being meant within rounding.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a demand's l lies between 1 and 2^32"
)]
pub(crate) fn least_distinct(l: f64) -> u64 {
    (l * (1.0 - 1e-9)).ceil() as u64
}
