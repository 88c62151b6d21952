//! Distinct l-diversity: a class holds at least l distinct non-missing values of a sensitive attribute.
//!
//! Missing cells never add diversity. A class without any value fails, or is exempt if the demand says so; an exempt
//! class may fail after a merge, so the criterion is then not absorbing if the column has missing cells.
//!
//! Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", 2006, section 4.

use super::models::Missing;
use super::{Criterion, Judging};
use crate::anonymize::classes::ClassView;

#[derive(Debug, Clone)]
pub(super) struct DistinctLDiversity {
    pub(super) slot: usize,
    pub(super) l: u64,
    pub(super) missing: Missing,
}

impl DistinctLDiversity {
    /// Itself, as the core of a stronger criterion, unless classes without values escape it.
    pub(super) fn core(&self) -> Option<Box<dyn Criterion>> {
        self.absorbing()
            .then(|| Box::new(self.clone()) as Box<dyn Criterion>)
    }
}

impl Criterion for DistinctLDiversity {
    fn ok(&self, class: &ClassView<'_>, _: &mut Judging) -> bool {
        let values = class.distinct_values(self.slot);
        values >= self.l || (self.missing.exempt && values == 0)
    }
    fn absorbing(&self) -> bool {
        !(self.missing.exempt && self.missing.occurs)
    }
    fn merge_closed(&self) -> bool {
        true
    }
}
