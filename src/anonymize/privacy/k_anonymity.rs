//! k-anonymity: a class holds at least k subjects (rows where no subject is declared).
//!
//! Source: L. Sweeney, "k-anonymity: a model for protecting privacy", 2002.

use super::Criterion;
use crate::anonymize::classes::ClassView;
use crate::anonymize::report::Reason;

#[derive(Debug)]
pub(super) struct KAnonymity {
    pub(super) k: u64,
}

impl Criterion for KAnonymity {
    fn ok(&self, class: &ClassView<'_>) -> bool {
        class.size() >= self.k
    }
    fn absorbing(&self) -> bool {
        true
    }
    fn merge_closed(&self) -> bool {
        true
    }
}

pub(super) fn impossible(k: u64, rows: u64, subjects: Option<u64>) -> Option<Reason> {
    let (count, code, what) = match subjects {
        Some(subjects) if subjects < k && k <= rows => (subjects, "k_exceeds_subjects", "subjects"),
        _ => (rows, "k_exceeds_rows", "rows"),
    };
    (k > count).then(|| Reason {
        code: code.to_owned(),
        detail: format!("k = {k} asks for more than the {count} {what} of the dataset"),
    })
}
