//! t-closeness: the distribution of a class is at most t away from a reference; missing is a value like others.
//!
//! Against the input it is a criterion of classes. Against what is released it is one of tables (user-cases D4): the
//! reference is measured on the classes still to be released, those too far away leave, and so on until none does.
//!
//! Source: N. Li, T. Li, S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", 2007.

use super::{Candidates, Criterion, Judging, TableCriterion};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::{Aligned, ClassCounts, Reference, ValueTree, at_most};

/// How far two values are apart.
#[derive(Debug, Clone)]
pub(crate) enum Ground {
    Equal,
    Ordered,
    Hierarchical(ValueTree),
}

impl Ground {
    /// The distance of a class.
    pub(crate) fn distance(
        &self,
        class: ClassCounts<'_>,
        reference: &Reference,
        aligned: &mut Aligned,
    ) -> f64 {
        match self {
            Self::Equal => reference.equal(class, aligned),
            Self::Ordered => reference.ordered(class),
            Self::Hierarchical(tree) => reference.hierarchical(class, tree, aligned),
        }
    }
}

/// The model without its reference.
#[derive(Debug)]
pub(super) struct Closeness {
    pub(super) slot: usize,
    pub(super) t: f64,
    pub(super) ground: Ground,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Closeness {
    pub(super) fn against_input(self, reference: Reference) -> InputCloseness {
        InputCloseness {
            closeness: self,
            reference,
        }
    }

    pub(super) fn against_released(self, ranks: usize) -> ReleasedCloseness {
        ReleasedCloseness {
            closeness: self,
            ranks,
        }
    }

    fn is_close(
        &self,
        class: &ClassView<'_>,
        reference: &Reference,
        judging: &mut Judging,
    ) -> bool {
        let counts = class.counts(self.slot, &mut judging.counts);
        let distance = self
            .ground
            .distance(counts, reference, &mut judging.aligned);
        at_most(distance, self.t)
    }
}

#[derive(Debug)]
pub(super) struct InputCloseness {
    closeness: Closeness,
    reference: Reference,
}

impl Criterion for InputCloseness {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        self.closeness.is_close(class, &self.reference, judging)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.closeness.additive
    }
}

#[derive(Debug)]
pub(super) struct ReleasedCloseness {
    closeness: Closeness,
    /// Number of values, missing included.
    ranks: usize,
}

impl TableCriterion for ReleasedCloseness {
    fn failing(&self, candidates: &Candidates<'_>, judging: &mut Judging) -> Vec<usize> {
        let Some(histograms) = &candidates.table.histograms[self.closeness.slot] else {
            return candidates.classes().collect();
        };
        let reference = Reference::new(histograms.total(candidates.released, self.ranks));
        let mut too_far = |&class: &usize| {
            let view = candidates.table.view(class);
            !self.closeness.is_close(&view, &reference, judging)
        };
        candidates
            .classes()
            .filter(|class| too_far(class))
            .collect()
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.closeness.additive
    }
}
