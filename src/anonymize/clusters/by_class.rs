//! Rows whose only quasi-identifier is the number of their class: any partition as a policy that the rest can judge.

use crate::anonymize::hierarchy::{Generalization, Level};
use crate::anonymize::rows::{QuasiIdentifier, Rows};

/// The value code of every row for a class numbered from 0.
pub(crate) fn codes(class_of: &[u32]) -> Vec<u32> {
    class_of.iter().map(|class| class + 1).collect()
}

/// The same rows with one quasi-identifier of one level, the class; `codes` are those of [`codes`].
pub(crate) fn rows<'a>(rows: &Rows<'a>, codes: &'a [u32]) -> Rows<'a> {
    let classes = codes.iter().max().copied().unwrap_or(0);
    let width = classes.to_string().len();
    let level = Level {
        node_of: [0].into_iter().chain(0..classes).collect(),
        parent: Vec::new(),
        labels: (0..classes)
            .map(|class| Some(format!("{class:0width$}").into()))
            .collect(),
        leaves: vec![1; classes as usize],
    };
    let generalization = Generalization {
        levels: vec![level],
        domain: u64::from(classes).max(2),
    };
    Rows {
        quasi_identifiers: vec![(QuasiIdentifier::new("class", generalization), codes)],
        ..rows.clone()
    }
}
