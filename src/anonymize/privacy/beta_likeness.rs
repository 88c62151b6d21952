//! beta-likeness: no value's share of a class exceeds its share of the input by more than beta times the latter.
//!
//! Losses do not count. The enhanced form bounds the gain by the lesser of beta and -ln of the share in the input.
//!
//! Source: J. Cao, P. Karras, "Publishing microdata with a robust privacy guarantee", 2012, definitions 2 and 3.

use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::Reference;

#[derive(Debug)]
pub(super) struct BetaLikeness {
    pub(super) slot: usize,
    pub(super) beta: f64,
    pub(super) enhanced: bool,
    pub(super) reference: Reference,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Criterion for BetaLikeness {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        let counts = class.counts(self.slot, &mut judging.counts);
        self.reference
            .is_beta_like(counts, self.beta, self.enhanced, &mut judging.aligned)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.additive
    }
}
