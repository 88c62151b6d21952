//! One update: erasures, arrivals, rows that waited too long, cut nodes that have become too coarse.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::admit::{Group, Share};
use super::cohorts::{History, Parts};
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

impl Candidate {
    fn rows(&self) -> Vec<&SeriesRow> {
        let cells = self.fresh.iter().chain(&self.old);
        cells.flat_map(|cell| &cell.rows).collect()
    }
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
        Self {
            withheld: state.withheld(),
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

    /// Publishes what may be published of the rows that wait in some classes; the rest waits.
    pub(super) fn decide(&mut self, candidates: Vec<Candidate>) -> Result<Vec<Class>, I::Error> {
        let sets: Vec<Vec<&SeriesRow>> = candidates.iter().map(Candidate::rows).collect();
        let admission = self.admit(&sets)?;
        let numbers = self.number(&admission.groups)?;
        let mut puts = Vec::new();
        let (mut classes, mut changed) = (Vec::new(), Vec::new());
        for (candidate, share) in candidates.into_iter().zip(&admission.shares) {
            let (is_new, before) = (candidate.is_new, candidate.class.clone());
            let class = self.publish(candidate, share, &numbers, &mut puts);
            if is_new || class != before {
                changed.push(class.clone());
            }
            classes.push(class);
        }
        if !changed.is_empty() {
            self.index.put_classes(&changed)?;
            self.index.put_cells(&puts)?;
        }
        Ok(classes)
    }

    /// Takes groups apart from others of their history; gives each the number of its new cohort.
    fn number(&mut self, groups: &[Group]) -> Result<Vec<CohortId>, I::Error> {
        let mut parts = Parts::new();
        for group in groups.iter().filter(|group| !group.from.is_empty()) {
            // What stays keeps the cohorts: the first part.
            let rest = || vec![BTreeSet::new()];
            let of_history = parts.entry(group.from.clone()).or_insert_with(rest);
            if !group.is_whole {
                of_history.push(group.bearers.clone());
            }
        }
        let mut own: BTreeMap<&History, std::vec::IntoIter<History>> = BTreeMap::new();
        for (history, histories) in parts.keys().zip(self.take_apart(&parts)?) {
            let mut histories = histories.into_iter();
            if histories.len() > 1 {
                histories.next();
            }
            own.insert(history, histories);
        }
        let mut numbers = Vec::with_capacity(groups.len());
        for group in groups {
            let number = self.new_cohort();
            let history = own.get_mut(&group.from).and_then(Iterator::next);
            let mut history = history.unwrap_or_default();
            history.push(number);
            self.enrol(&group.bearers, &history, !group.is_whole)?;
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Publishes the share of a candidate, and lets the rest wait.
    fn publish(
        &mut self,
        candidate: Candidate,
        share: &Share,
        numbers: &[CohortId],
        puts: &mut Vec<Cell>,
    ) -> Class {
        let mut class = candidate.class;
        let before = class.rows;
        class.waiting_since = None;
        let mut published: BTreeMap<(Arc<[Value]>, CohortId), Vec<SeriesRow>> = BTreeMap::new();
        let old = candidate.old.into_iter().map(|cell| (cell, false));
        let fresh = candidate.fresh.into_iter().map(|cell| (cell, true));
        for (cell, is_fresh) in old.chain(fresh) {
            let Standing::Waiting { since } = cell.standing else {
                continue;
            };
            let count = cell.rows.len() as u64;
            let mut stays = Vec::new();
            for row in cell.rows {
                if let Some(group) = share.group(row.id) {
                    let key = (Arc::clone(&cell.quasi), numbers[group]);
                    published.entry(key).or_default().push(row);
                } else {
                    stays.push(row);
                }
            }
            let staying = stays.len() as u64;
            if is_fresh {
                class.waiting += staying;
                if staying > 0 {
                    self.wait(since, staying);
                }
            } else if staying < count {
                class.waiting -= count - staying;
                self.unwait(since, count - staying);
            }
            if staying > 0 {
                let least = class.waiting_since.get_or_insert(since);
                *least = since.min(*least);
            }
            if is_fresh && staying > 0 || !is_fresh && staying < count {
                puts.push(Cell {
                    class: class.id,
                    standing: cell.standing,
                    quasi: cell.quasi,
                    rows: stays,
                });
            }
        }
        for ((quasi, cohort), mut rows) in published {
            for row in &rows {
                self.journal.publish(Shown {
                    row: row.clone(),
                    class: class.key.clone(),
                    cohort,
                });
            }
            class.rows += rows.len() as u64;
            let standing = Standing::Published(cohort);
            rows.sort_by_key(|row| row.id);
            puts.push(Cell {
                class: class.id,
                standing,
                quasi,
                rows,
            });
        }
        self.state.counts.released += class.rows - before;
        if candidate.is_new || class.rows != before {
            self.recount(&class.key, before, class.rows);
        }
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
