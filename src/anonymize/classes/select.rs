//! Classes of some cells only, for searches that change a few classes at a time.
//!
//! What comes out is judged like any class table; it has no keys, so nothing may ask for its nodes.

use super::{ClassTable, Diversity, Scratch};
use crate::anonymize::privacy::{Criteria, Judging};

/// What a class is worth to criteria that judge classes one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) rows: u64,
    /// In subjects where one is declared, as far as criteria ask.
    pub(crate) size: u64,
    /// Whether it meets them.
    pub(crate) is_ok: bool,
}

impl ClassTable {
    /// Judges the `classes` classes that some of this table's classes make, `class_of` giving the number of each.
    ///
    /// Cost: the sets of those given.
    pub(crate) fn judge_merged(
        &self,
        items: &[u32],
        class_of: &[u32],
        classes: usize,
        criteria: &Criteria,
        scratch: &mut Scratch,
    ) -> Vec<Verdict> {
        scratch.class_of.clear();
        scratch.class_of.extend_from_slice(class_of);
        let chosen = self.select(items);
        let mut merged = self.select(&[]);
        chosen.merge_into(classes, scratch, &mut merged);
        let mut judging = Judging::default();
        let judge = |class: usize| {
            let view = merged.view(class);
            Verdict {
                rows: view.rows(),
                size: view.size(),
                is_ok: criteria.ok(&view, &mut judging),
            }
        };
        (0..classes).map(judge).collect()
    }

    /// Some classes, in the order given, without keys and labels.
    fn select(&self, items: &[u32]) -> Self {
        let select = |diversity: &Diversity| match diversity {
            Diversity::Unknown => Diversity::Unknown,
            Diversity::Mask(masks) => {
                Diversity::Mask(items.iter().map(|&item| masks[item as usize]).collect())
            }
            Diversity::Sets(sets) => Diversity::Sets(sets.select(items)),
        };
        let histograms = self.histograms.iter();
        Self {
            levels: Vec::new(),
            keys: super::Keys::Long(Vec::new()),
            rows: items.iter().map(|&item| self.rows[item as usize]).collect(),
            subjects: self.subjects.as_ref().map(|sets| sets.select(items)),
            diversity: self.diversity.iter().map(select).collect(),
            labels: None,
            members: Vec::new(),
            histograms: histograms
                .map(|histograms| histograms.as_ref().map(|own| own.select(items)))
                .collect(),
        }
    }
}
