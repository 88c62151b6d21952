//! Privacy criteria: one file per model, each judging one class by itself.
//!
//! A criterion declares two properties (algorithms.md D.2), which are all that licenses pruning. *Absorbing*: a class
//! that holds still holds after any other class is merged into it; then suppression never grows along the lattice.
//! *Merge-closed*: the union of two classes that hold, holds.

mod distinct_l_diversity;
mod k_anonymity;

use std::collections::BTreeMap;

use super::cells::Needs;
use super::classes::ClassView;
use super::report::Reason;
use super::rows::Rows;
use crate::declaration::{MissingSensitive, PrivacyModel};

/// A condition that every released class meets by itself.
pub trait Criterion: Send + Sync + std::fmt::Debug {
    /// Whether a class meets it.
    fn ok(&self, class: &ClassView<'_>) -> bool;
    /// Whether a class that meets it does so after any merge.
    fn absorbing(&self) -> bool;
    /// Whether the union of two classes that meet it meets it.
    fn merge_closed(&self) -> bool;
}

/// All criteria of a task, in the order asked.
#[derive(Debug)]
pub struct Criteria {
    list: Vec<Box<dyn Criterion>>,
}

impl Criteria {
    /// The criteria of the given models over the given rows, and what they need of every class.
    ///
    /// A model that names no sensitive attribute of the rows (a demand checked against its schema has none) holds of no
    /// class.
    #[must_use]
    pub fn new(privacy: &[PrivacyModel], rows: &Rows<'_>) -> (Self, Needs) {
        let mut needs = Needs {
            subjects: 0,
            values: vec![0; rows.sensitive.len()],
        };
        let list = privacy.iter().map(|model| -> Box<dyn Criterion> {
            match model {
                PrivacyModel::KAnonymity { k } => {
                    needs.subjects = needs.subjects.max(*k);
                    Box::new(k_anonymity::KAnonymity { k: *k })
                }
                PrivacyModel::DistinctLDiversity {
                    attribute,
                    l,
                    missing,
                } => {
                    let slot = rows.sensitive_slot(attribute);
                    if let Some(slot) = slot {
                        needs.values[slot] = needs.values[slot].max(*l);
                    }
                    let has_missing = slot.is_some_and(|slot| {
                        let codes = &rows.sensitive[slot].column.codes;
                        codes.contains(&super::table::MISSING)
                    });
                    Box::new(distinct_l_diversity::DistinctLDiversity {
                        slot,
                        l: *l,
                        exempt: *missing == MissingSensitive::Exempt,
                        has_missing,
                    })
                }
            }
        });
        let list = list.collect();
        (Self { list }, needs)
    }

    /// Whether a class meets every criterion.
    #[must_use]
    pub fn ok(&self, class: &ClassView<'_>) -> bool {
        self.list.iter().all(|criterion| criterion.ok(class))
    }

    /// The criteria one by one.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &dyn Criterion> {
        self.list.iter().map(|criterion| &**criterion)
    }

    /// Whether all are absorbing.
    #[must_use]
    pub fn absorbing(&self) -> bool {
        self.list.iter().all(|criterion| criterion.absorbing())
    }

    /// Whether all are merge-closed.
    #[must_use]
    pub fn merge_closed(&self) -> bool {
        self.list.iter().all(|criterion| criterion.merge_closed())
    }
}

/// Why no policy whatever can meet the models, known from counts alone and so before any search.
///
/// `subjects` is the number of distinct subjects where one is declared; `distinct_values` the number of distinct
/// non-missing values of each sensitive attribute. An attribute that is not named there decides nothing.
#[must_use]
pub fn impossible(
    privacy: &[PrivacyModel],
    rows: u64,
    subjects: Option<u64>,
    distinct_values: &BTreeMap<String, u64>,
) -> Option<Reason> {
    privacy.iter().find_map(|model| match model {
        PrivacyModel::KAnonymity { k } => k_anonymity::impossible(*k, rows, subjects),
        // A class without any value passes, so a table with missing cells may still have a policy.
        PrivacyModel::DistinctLDiversity {
            missing: MissingSensitive::Exempt,
            ..
        } => None,
        PrivacyModel::DistinctLDiversity { attribute, l, .. } => {
            distinct_l_diversity::impossible(attribute, *l, *distinct_values.get(attribute)?)
        }
    })
}
