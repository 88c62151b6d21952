//! delta-presence: of every class of a population, a share between min and max is in the release.
//!
//! Whoever knows the population, but not who of it is in the release, then believes of each member with a probability
//! within these limits that it is. Members, and those of them released, are distinct subjects where the side declares
//! them, else rows. A class with more of the latter than of the former exceeds every max: the two do not belong together.
//!
//! A class that is suppressed, or that the table lacks, has a share of 0. With min = 0 that is allowed, and classes are
//! judged one by one. With min > 0 it is not: one class of the population whose share is out of the limits, or of which
//! nothing is released, and nothing may be released at all. That never suppresses more on a policy that generalises
//! more, but it is not claimed to be absorbing: nothing is pruned by it.
//!
//! The share of a union lies between those of its parts, unless a subject is counted in both.
//!
//! Source: M. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases", 2007,
//! definition 2.

use super::{Candidates, Criterion, Judging, TableCriterion};
use crate::anonymize::classes::ClassView;
use crate::declaration::Fraction;

#[derive(Debug)]
pub(super) struct DeltaPresence {
    pub(super) slot: usize,
    pub(super) min: Fraction,
    pub(super) max: Fraction,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl DeltaPresence {
    fn within(&self, class: &ClassView<'_>) -> bool {
        let (size, members) = (class.size(), class.members(self.slot));
        (self.min.ceiling_of(members)..=self.max.floor_of(members)).contains(&size)
    }
}

/// With min = 0.
#[derive(Debug)]
pub(super) struct AtMost(pub(super) DeltaPresence);

impl Criterion for AtMost {
    fn ok(&self, class: &ClassView<'_>, _: &mut Judging) -> bool {
        self.0.within(class)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.0.additive
    }
}

/// With min > 0.
#[derive(Debug)]
pub(super) struct Everywhere(pub(super) DeltaPresence);

impl TableCriterion for Everywhere {
    fn failing(&self, candidates: &Candidates<'_>, _: &mut Judging) -> Vec<usize> {
        let Candidates {
            table, released, ..
        } = *candidates;
        let slot = self.0.slot;
        let fails = |class: usize| {
            let view = table.view(class);
            if released[class] {
                !self.0.within(&view)
            } else {
                view.members(slot) > 0
            }
        };
        let is_broken =
            (0..table.len()).any(fails) || table.absent_members(slot).any(|members| members > 0);
        if is_broken {
            candidates.classes().collect()
        } else {
            Vec::new()
        }
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.0.additive
    }
}
