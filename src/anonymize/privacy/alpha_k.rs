//! (alpha,k)-anonymity: a class holds at least k subjects, at most the share alpha of whom bears one protected value.
//!
//! The share is of the class's subjects (rows where no subject is declared), not of its values: a subject that bears
//! other values beside a protected one is known to bear it no less. The bound on the size is its absorbing core.
//!
//! Source: R. Wong et al., "(alpha,k)-anonymity", 2006, definition 3.

use super::k_anonymity::KAnonymity;
use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::is_alpha_bounded;

#[derive(Debug)]
pub(super) struct AlphaK {
    pub(super) slot: usize,
    pub(super) alpha: f64,
    pub(super) k: u64,
    /// By rank.
    pub(super) protected: Vec<bool>,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Criterion for AlphaK {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        let size = class.size();
        if size < self.k {
            return false;
        }
        let counts = class.counts(self.slot, &mut judging.counts).iter();
        let protected = counts.filter(|&&(rank, _)| self.protected[rank as usize]);
        let most = protected.map(|&(_, count)| count).max();
        is_alpha_bounded(most.as_slice(), size, self.alpha)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.additive
    }
    fn absorbing_core(&self) -> Option<Box<dyn Criterion>> {
        Some(Box::new(KAnonymity { k: self.k }))
    }
}
