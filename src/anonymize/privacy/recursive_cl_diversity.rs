//! Recursive (c,l)-diversity: the most frequent value of a class occurs less than c times as often as all but the l - 1
//! most frequent ones together.
//!
//! A class of fewer than l values fails whatever c is, which is its absorbing core.
//!
//! Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", 2006, definition 4.2.

use super::distinct_l_diversity::DistinctLDiversity;
use super::models::Missing;
use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::is_recursively_diverse;

#[derive(Debug)]
pub(super) struct RecursiveClDiversity {
    pub(super) c: f64,
    pub(super) l: u64,
    pub(super) core: DistinctLDiversity,
    pub(super) missing: Missing,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Criterion for RecursiveClDiversity {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        let counts = judging.non_missing(class, self.core.slot, self.missing.rank);
        (self.missing.exempt && counts.is_empty()) || is_recursively_diverse(counts, self.c, self.l)
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
