//! Distinct l-diversity: a class holds at least l distinct non-missing values of a sensitive attribute.
//!
//! Missing cells never add diversity. A class without any value fails, or is exempt if the demand says so; an exempt
//! class may fail after a merge, so the criterion is then not absorbing if the column has missing cells.
//!
//! Source: A. Machanavajjhala et al., "l-diversity: privacy beyond k-anonymity", 2006, section 4.

use super::Criterion;
use crate::anonymize::classes::ClassView;
use crate::anonymize::report::Reason;

#[derive(Debug)]
pub(super) struct DistinctLDiversity {
    pub(super) slot: Option<usize>,
    pub(super) l: u64,
    pub(super) exempt: bool,
    pub(super) has_missing: bool,
}

impl Criterion for DistinctLDiversity {
    fn ok(&self, class: &ClassView<'_>) -> bool {
        self.slot.is_some_and(|slot| {
            let values = class.distinct_values(slot);
            values >= self.l || (self.exempt && values == 0)
        })
    }
    fn absorbing(&self) -> bool {
        !(self.exempt && self.has_missing)
    }
    fn merge_closed(&self) -> bool {
        true
    }
}

pub(super) fn impossible(attribute: &str, l: u64, distinct_values: u64) -> Option<Reason> {
    (l > distinct_values).then(|| Reason {
        code: "l_exceeds_distinct_values".to_owned(),
        detail: format!(
            "l = {l} asks for more than the {distinct_values} distinct values of `{attribute}` in the dataset"
        ),
    })
}
