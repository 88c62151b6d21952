//! delta-disclosure privacy: no value's share of a class differs from its share of the input by a factor of e^delta or
//! more, up or down.
//!
//! As published, a value that a class lacks differs without bound, so every value of the input stands in every class:
//! that is its absorbing core. ARX skips such values and takes logarithms to base 2; then merging two classes that pass
//! may give one that fails.
//!
//! Source: J. Brickell, V. Shmatikov, "The cost of privacy", 2008, definition 2.

use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;
use crate::anonymize::distribution::{AbsentValues, Reference};

#[derive(Debug)]
pub(super) struct DeltaDisclosure {
    pub(super) slot: usize,
    pub(super) delta: f64,
    pub(super) absent: AbsentValues,
    pub(super) reference: Reference,
    /// Whether counts of a union are sums.
    pub(super) additive: bool,
}

impl Criterion for DeltaDisclosure {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        let counts = class.counts(self.slot, &mut judging.counts);
        self.reference
            .keeps_disclosure_below(counts, self.delta, self.absent, &mut judging.aligned)
    }
    fn absorbing(&self) -> bool {
        false
    }
    fn merge_closed(&self) -> bool {
        self.additive && self.absent == AbsentValues::Fail
    }
    fn absorbing_core(&self) -> Option<Box<dyn Criterion>> {
        let all_values = AllValues {
            slot: self.slot,
            values: self.reference.distinct(),
        };
        (self.absent == AbsentValues::Fail).then(|| Box::new(all_values) as Box<dyn Criterion>)
    }
}

/// Every value of the input stands in the class, missing too if it occurs.
#[derive(Debug)]
struct AllValues {
    slot: usize,
    values: u64,
}

impl Criterion for AllValues {
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        class.counts(self.slot, &mut judging.counts).len() as u64 >= self.values
    }
    fn absorbing(&self) -> bool {
        true
    }
    fn merge_closed(&self) -> bool {
        true
    }
}
