//! One update: erasures, arrivals, rows that waited too long, cut nodes that have become too coarse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::journal::Journal;
use super::nodes::Places;
use super::rules::Rules;
use super::{
    Cell, Class, ClassId, ClassKey, CohortId, Events, Index, RowId, SeriesRow, Shown, Standing,
    State, Step, Value,
};

/// Brings a series up to date: gives the state after the events and what the next release changes.
///
/// In this order: what is erased leaves (its cohort as a whole, where a part would be too small); new rows go to the
/// classes of the cut, and the rows of a class that wait are published as one new cohort if they satisfy the models
/// together, or all wait (for models that are not absorbing, a part of them might do: which part is published would
/// then tell of the values, so it is all or none there as well); rows that waited too long may make the cut coarser;
/// nodes all of whose classes are large are specialised where every cohort allows it. Rows that wait are offered
/// again whenever their class changes.
///
/// The order of the events decides nothing. There is a release if a row is new, moved or gone.
///
/// Cost: the batch times the quasi-identifiers, the cells of the erased rows' cohorts, the waiting cells of the touched
/// classes, and all cells of the classes of a node that is merged or examined for a split; nothing depends on the
/// number of other rows.
///
/// # Errors
/// The index's; what it was told by then is to be rolled back.
pub fn update<I: Index>(
    index: &mut I,
    state: &State,
    rules: &Rules,
    events: Events,
) -> Result<(State, Step), I::Error> {
    let mut updating = Updating::new(index, state, rules);
    let erased: BTreeSet<RowId> = events.erased.iter().map(|(id, _)| *id).collect();
    let mut added = events.added;
    added.retain(|row| !erased.contains(&row.id));
    added.sort_by_key(|row| row.id);
    updating.erase(events.erased)?;
    if !added.is_empty() {
        updating.tick();
        let touched = updating.arrive(added)?;
        updating.relieve(&touched)?;
    }
    updating.refine()?;
    Ok(updating.finish())
}

/// Rows of a class that might be published: new ones, and those that wait in the index.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) class: Class,
    /// Whether the index does not know the class yet.
    pub(super) is_new: bool,
    pub(super) fresh: Vec<Cell>,
    pub(super) old: Vec<Cell>,
}

pub(super) struct Updating<'a, I> {
    pub(super) index: &'a mut I,
    pub(super) rules: &'a Rules,
    pub(super) places: Places<'a>,
    pub(super) state: State,
    pub(super) withheld: u64,
    pub(super) journal: Journal,
}

impl<'a, I: Index> Updating<'a, I> {
    fn new(index: &'a mut I, state: &State, rules: &'a Rules) -> Self {
        let mut state = state.clone();
        state
            .nodes
            .resize_with(rules.hierarchies.len(), BTreeMap::new);
        let cuts = &mut state.cuts.specialised;
        cuts.resize_with(rules.hierarchies.len(), BTreeSet::new);
        let overdue = state.waiting.get(&0).copied().unwrap_or(0);
        Self {
            withheld: state.counts.suppressed.saturating_sub(overdue),
            index,
            rules,
            places: Places::new(&rules.hierarchies),
            state,
            journal: Journal::default(),
        }
    }

    /// Rows that arrived up to this update are overdue.
    pub(super) fn horizon(&self) -> u32 {
        self.rules.overdue(self.state.updates)
    }

    fn tick(&mut self) {
        self.state.updates += 1;
        let later = self.state.waiting.split_off(&(self.horizon() + 1));
        let rows = self.state.waiting.values().sum();
        self.state.waiting = later;
        if rows > 0 {
            self.state.waiting.insert(0, rows);
        }
    }

    /// Rows that are overdue.
    pub(super) fn overdue_rows(&self) -> u64 {
        self.state.waiting.get(&0).copied().unwrap_or(0)
    }

    fn waiting_slot(&mut self, since: u32) -> u32 {
        if since <= self.horizon() { 0 } else { since }
    }

    /// Rows begin to wait.
    fn wait(&mut self, since: u32, rows: u64) {
        let slot = self.waiting_slot(since);
        *self.state.waiting.entry(slot).or_insert(0) += rows;
    }

    /// Rows wait no longer.
    pub(super) fn unwait(&mut self, since: u32, rows: u64) {
        let slot = self.waiting_slot(since);
        let count = self.state.waiting.entry(slot).or_insert(0);
        *count = count.saturating_sub(rows);
        if *count == 0 {
            self.state.waiting.remove(&slot);
        }
    }

    /// Notes that a class has so many released rows now.
    pub(super) fn recount(&mut self, key: &ClassKey, before: u64, after: u64) {
        let ample = self.rules.ample;
        let flags = |rows: u64| (u64::from(rows > 0), u64::from(rows > 0 && rows < ample));
        let (was, is) = (flags(before), flags(after));
        let counts = &mut self.state.counts;
        counts.classes = counts.classes + is.0 - was.0;
        for (nodes, node) in self.state.nodes.iter_mut().zip(key.0.iter()) {
            let node = nodes.entry(node.clone()).or_default();
            node.classes = node.classes + is.0 - was.0;
            node.small_classes = node.small_classes + is.1 - was.1;
            if node.classes == 0 {
                node.blocked = false;
            }
        }
    }

    pub(super) fn new_class(&mut self, key: ClassKey) -> Class {
        let id = ClassId(self.state.next_class);
        self.state.next_class += 1;
        Class {
            id,
            key,
            rows: 0,
            waiting: 0,
            waiting_since: None,
        }
    }

    pub(super) fn new_cohort(&mut self) -> CohortId {
        let id = CohortId(self.state.next_cohort);
        self.state.next_cohort += 1;
        id
    }

    /// Puts new rows into their classes; gives the touched classes.
    fn arrive(&mut self, rows: Vec<SeriesRow>) -> Result<Vec<Class>, I::Error> {
        self.state.counts.received += rows.len() as u64;
        let mut arrivals: BTreeMap<ClassKey, BTreeMap<Arc<[Value]>, Vec<SeriesRow>>> =
            BTreeMap::new();
        for row in rows {
            let key = self.places.key(&self.state.cuts, &row.quasi);
            let tuples = arrivals.entry(key).or_default();
            tuples.entry(Arc::clone(&row.quasi)).or_default().push(row);
        }
        let keys: Vec<ClassKey> = arrivals.keys().cloned().collect();
        let found = self.index.classes(&keys)?;
        let known = found.iter().flatten();
        let waiting: Vec<ClassId> = known
            .filter(|class| class.waiting > 0)
            .map(|class| class.id)
            .collect();
        let mut waiting = self.waiting_by_class(&waiting)?;
        let standing = Standing::Waiting {
            since: self.state.updates,
        };
        let mut candidates = Vec::with_capacity(keys.len());
        for ((key, tuples), known) in arrivals.into_iter().zip(found) {
            let is_new = known.is_none();
            let class = known.unwrap_or_else(|| self.new_class(key));
            let fresh = tuples.into_iter().map(|(quasi, rows)| Cell {
                class: class.id,
                standing,
                quasi,
                rows,
            });
            candidates.push(Candidate {
                fresh: fresh.collect(),
                old: waiting.remove(&class.id).unwrap_or_default(),
                is_new,
                class,
            });
        }
        self.decide(candidates)
    }

    /// The waiting cells of classes.
    pub(super) fn waiting_by_class(
        &mut self,
        classes: &[ClassId],
    ) -> Result<BTreeMap<ClassId, Vec<Cell>>, I::Error> {
        let mut cells: BTreeMap<ClassId, Vec<Cell>> = BTreeMap::new();
        if !classes.is_empty() {
            for cell in self.index.waiting_cells_of(classes)? {
                cells.entry(cell.class).or_default().push(cell);
            }
        }
        Ok(cells)
    }

    /// Publishes all that waits in a class as one cohort if it satisfies the models together; else all waits.
    pub(super) fn decide(&mut self, candidates: Vec<Candidate>) -> Result<Vec<Class>, I::Error> {
        let groups: Vec<Vec<&SeriesRow>> = candidates
            .iter()
            .map(|candidate| {
                let cells = candidate.fresh.iter().chain(&candidate.old);
                cells.flat_map(|cell| &cell.rows).collect()
            })
            .collect();
        let verdicts = self.verdicts(&groups);
        let (mut classes, mut changed, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for (candidate, publish) in candidates.into_iter().zip(verdicts) {
            let has_rows = !(candidate.fresh.is_empty() && candidate.old.is_empty());
            let is_changed =
                candidate.is_new || !candidate.fresh.is_empty() || (publish && has_rows);
            let class = if publish && has_rows {
                self.publish(candidate, &mut cells)
            } else {
                self.keep_waiting(candidate, &mut cells)
            };
            if is_changed {
                changed.push(class.clone());
            }
            classes.push(class);
        }
        if !changed.is_empty() {
            self.index.put_classes(&changed)?;
            self.index.put_cells(&cells)?;
        }
        Ok(classes)
    }

    fn verdicts(&self, groups: &[Vec<&SeriesRow>]) -> Vec<bool> {
        #[cfg(test)]
        if self.rules.broken == Some(super::rules::Broken::Publish) {
            return vec![true; groups.len()];
        }
        self.rules.judge.holds(groups)
    }

    fn publish(&mut self, candidate: Candidate, cells: &mut Vec<Cell>) -> Class {
        let mut class = candidate.class;
        let cohort = self.new_cohort();
        let mut tuples: BTreeMap<Arc<[Value]>, Vec<SeriesRow>> = BTreeMap::new();
        for cell in candidate.old {
            if let Standing::Waiting { since } = cell.standing {
                self.unwait(since, cell.rows.len() as u64);
            }
            let tuple = Arc::clone(&cell.quasi);
            tuples.entry(tuple).or_default().extend(cell.rows);
            cells.push(Cell {
                rows: Vec::new(),
                class: class.id,
                ..cell
            });
        }
        for cell in candidate.fresh {
            tuples.entry(cell.quasi).or_default().extend(cell.rows);
        }
        let before = class.rows;
        for (quasi, mut rows) in tuples {
            rows.sort_by_key(|row| row.id);
            for row in &rows {
                self.journal.publish(Shown {
                    row: row.clone(),
                    class: class.key.clone(),
                    cohort,
                });
            }
            class.rows += rows.len() as u64;
            cells.push(Cell {
                class: class.id,
                standing: Standing::Published(cohort),
                quasi,
                rows,
            });
        }
        class.waiting = 0;
        class.waiting_since = None;
        self.state.counts.released += class.rows - before;
        self.recount(&class.key, before, class.rows);
        class
    }

    fn keep_waiting(&mut self, candidate: Candidate, cells: &mut Vec<Cell>) -> Class {
        let mut class = candidate.class;
        let rows: u64 = candidate
            .fresh
            .iter()
            .map(|cell| cell.rows.len() as u64)
            .sum();
        if rows > 0 {
            let since = self.state.updates;
            self.wait(since, rows);
            class.waiting += rows;
            class.waiting_since.get_or_insert(since);
        }
        if candidate.is_new {
            self.recount(&class.key, 0, class.rows);
        }
        cells.extend(candidate.fresh);
        class
    }

    fn finish(mut self) -> (State, Step) {
        let overdue = self.overdue_rows();
        let waiting: u64 = self.state.waiting.values().sum();
        let counts = &mut self.state.counts;
        counts.pending = waiting - overdue;
        counts.suppressed = overdue + self.withheld;
        let step = self.journal.finish();
        if step.is_release {
            self.state.version += 1;
        }
        (self.state, step)
    }
}
