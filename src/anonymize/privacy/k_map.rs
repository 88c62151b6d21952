//! k-map: at least k members of a population could be whoever a row of a class is.
//!
//! Members are the population's distinct subjects (rows where it declares none). The rows of the table are taken to be
//! among them; a class with more rows than members is not refused for that alone, for a class that holds must hold
//! after any merge.
//!
//! Source: L. Sweeney, "Computational disclosure control", 2001, section on k-map; K. El Emam, F. Dankar, "Protecting
//! privacy using k-anonymity", 2008.

use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;

#[derive(Debug)]
pub(super) struct KMap {
    pub(super) slot: usize,
    pub(super) k: u64,
}

impl Criterion for KMap {
    fn ok(&self, class: &ClassView<'_>, _: &mut Judging) -> bool {
        class.members(self.slot) >= self.k
    }
    fn absorbing(&self) -> bool {
        true
    }
    fn merge_closed(&self) -> bool {
        true
    }
}
