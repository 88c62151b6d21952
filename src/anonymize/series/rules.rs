//! What a series keeps to: its schema, its models, its limits.

use std::sync::Arc;

use super::SeriesRow;
use super::judge::{Judge, carried_positions};
use super::nodes::Shares;
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::table::Schema;
use crate::declaration::{Fraction, PrivacyModel, Role};

/// How candidate steps of the cut are compared (algorithms.md C.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Score {
    /// Gain (loss) of information on the label per class size that it costs (brings). The label is the target, else
    /// the first sensitive attribute; without either, `Loss` applies.
    Information,
    /// The normalized certainty penalty that it saves (costs).
    #[default]
    Loss,
}

/// What a caller sets.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Largest share of the received rows that may be suppressed before the cut is made coarser for them.
    pub suppression_limit: Fraction,
    /// A cut node is specialised if all its classes have so many times the least rows of a class, at least 1.
    pub specialize_factor: u32,
    /// Releases that a row may miss before it counts as suppressed.
    pub max_pending: u32,
    /// How candidate steps are compared.
    pub score: Score,
    /// Attribute whose information counts; absent: the first sensitive one.
    pub target: Option<String>,
    /// Whether the rows of one subject over several updates are guarded as one history; otherwise each row by itself.
    pub guards_subjects: bool,
}

/// The settings over a schema, made ready for use.
#[derive(Debug)]
pub struct Rules {
    pub(super) hierarchies: Vec<Arc<Hierarchy>>,
    pub(super) shares: Vec<Shares>,
    pub(super) judge: Judge,
    pub(super) suppression_limit: Fraction,
    pub(super) max_pending: u32,
    pub(super) score: Score,
    pub(super) guards_subjects: bool,
    /// Place of the label among the carried cells, where there is one.
    label: Option<usize>,
    /// Rows that a class of a node that may be specialised has at least.
    pub(super) ample: u64,
    /// Switches off parts of the rule, to see that the checks notice.
    #[cfg(test)]
    pub(super) broken: Option<Broken>,
}

/// A part of the rule that a test breaks.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// New rows are published whatever they are.
    Publish,
    /// A node is split whatever becomes of its cohorts.
    Split,
    /// What is erased just leaves.
    Erase,
}

impl Rules {
    /// The rules of a series over a schema; models that [`super::unsuitable`] names must have been refused.
    #[must_use]
    pub fn new(schema: &Schema, models: &[PrivacyModel], settings: &Settings) -> Self {
        let attributes = schema.attributes();
        let quasi = schema.quasi_identifiers();
        let hierarchies: Vec<Arc<Hierarchy>> = quasi
            .iter()
            .filter_map(|&position| attributes[position].hierarchy.clone())
            .collect();
        let carried = carried_positions(schema);
        let label = carried.iter().position(|&position| {
            let declaration = &attributes[position].declaration;
            match &settings.target {
                Some(target) => *target == declaration.name,
                None => declaration.role == Role::Sensitive,
            }
        });
        let judge = Judge::new(schema, models);
        Self {
            shares: hierarchies.iter().map(|one| Shares::of(one)).collect(),
            hierarchies,
            suppression_limit: settings.suppression_limit,
            max_pending: settings.max_pending,
            guards_subjects: settings.guards_subjects && schema.subject().is_some(),
            score: match label {
                Some(_) => settings.score,
                None => Score::Loss,
            },
            label,
            ample: judge.least_rows() * u64::from(settings.specialize_factor.max(1)),
            judge,
            #[cfg(test)]
            broken: None,
        }
    }

    /// The label of a row.
    pub(super) fn label<'a>(&self, row: &'a SeriesRow) -> Option<&'a str> {
        row.carried.get(self.label?)?.as_deref()
    }

    /// Hierarchies of the quasi-identifiers in declared order.
    #[must_use]
    pub fn hierarchies(&self) -> &[Arc<Hierarchy>] {
        &self.hierarchies
    }

    /// Updates up to this one are too long ago for a row to be only pending; 0: none is.
    pub(super) fn overdue(&self, updates: u32) -> u32 {
        updates.saturating_sub(self.max_pending)
    }
}
