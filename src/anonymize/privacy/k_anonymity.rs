//! k-anonymity: a class holds at least k subjects (rows where no subject is declared).
//!
//! Source: L. Sweeney, "k-anonymity: a model for protecting privacy", 2002.

use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;

#[derive(Debug)]
pub(super) struct KAnonymity {
    pub(super) k: u64,
}

impl Criterion for KAnonymity {
    fn ok(&self, class: &ClassView<'_>, _: &mut Judging) -> bool {
        class.size() >= self.k
    }
    fn absorbing(&self) -> bool {
        true
    }
    fn merge_closed(&self) -> bool {
        true
    }
    fn least_size(&self) -> Option<u64> {
        Some(self.k)
    }
}
