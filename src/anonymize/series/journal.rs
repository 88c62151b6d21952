//! What an update has done so far, row by row, for its step.

use std::collections::BTreeMap;

use super::{ClassKey, CohortId, NodeKey, RowId, SeriesRow, Shown, Step};

#[derive(Debug, Default)]
pub(super) struct Journal {
    added: BTreeMap<RowId, Shown>,
    moved: BTreeMap<RowId, (ClassKey, Shown)>,
    pub(super) left: BTreeMap<RowId, Shown>,
    pub(super) stayed: BTreeMap<RowId, Shown>,
    pub(super) generalised: Vec<(usize, NodeKey)>,
    pub(super) specialised: Vec<(usize, NodeKey)>,
}

impl Journal {
    /// A row is shown for the first time.
    pub(super) fn publish(&mut self, shown: Shown) {
        self.added.insert(shown.row.id, shown);
    }

    /// A shown row stands in another class, and perhaps in another cohort.
    pub(super) fn place(
        &mut self,
        row: &SeriesRow,
        cohort: CohortId,
        from: &ClassKey,
        to: &ClassKey,
    ) {
        let shown = if let Some(shown) = self.added.get_mut(&row.id) {
            shown
        } else {
            let now = || Shown {
                row: row.clone(),
                class: to.clone(),
                cohort,
            };
            let entry = self.moved.entry(row.id);
            &mut entry.or_insert_with(|| (from.clone(), now())).1
        };
        shown.class = to.clone();
        shown.cohort = cohort;
    }

    /// A shown row is of another cohort.
    pub(super) fn renumber(&mut self, row: RowId, cohort: CohortId) {
        let moved = self.moved.get_mut(&row).map(|(_, shown)| shown);
        for shown in self.added.get_mut(&row).into_iter().chain(moved) {
            shown.cohort = cohort;
        }
    }

    /// The step; a row that came back to its class has not moved.
    pub(super) fn finish(self) -> Step {
        let moved = self.moved.into_values();
        let moved: Vec<_> = moved
            .filter(|(before, shown)| *before != shown.class)
            .collect();
        Step {
            is_release: !(self.added.is_empty() && moved.is_empty() && self.left.is_empty()),
            added: self.added.into_values().collect(),
            moved,
            withdrawn: self.left.keys().copied().collect(),
            left: self.left.into_values().collect(),
            stayed: self.stayed.into_values().collect(),
            generalised: self.generalised,
            specialised: self.specialised,
        }
    }
}
