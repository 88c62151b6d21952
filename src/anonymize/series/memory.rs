//! An index in memory: for tests, comparisons and small series.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use super::{
    Cell, Class, ClassId, ClassKey, CohortId, Index, Member, NodeKey, Standing, Subject, Value,
};

/// What tells cells apart.
type CellKey = (Arc<[Value]>, Standing);

/// Reads and writes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// Calls of the index.
    pub calls: u64,
    /// Class records read.
    pub classes_read: u64,
    /// Rows in the cells read.
    pub rows_read: u64,
    /// Class records written or removed.
    pub classes_written: u64,
    /// Cells written, those emptied with them.
    pub cells_written: u64,
    /// Rows in the cells written.
    pub rows_written: u64,
}

/// Classes, postings and cells in ordered maps.
#[derive(Debug, Clone, Default)]
pub struct MemoryIndex {
    classes: BTreeMap<ClassId, Class>,
    by_key: BTreeMap<ClassKey, ClassId>,
    postings: BTreeMap<(usize, NodeKey), BTreeSet<ClassId>>,
    waiting: BTreeSet<(u32, ClassId)>,
    cells: BTreeMap<CellKey, Cell>,
    of_class: BTreeMap<ClassId, BTreeSet<CellKey>>,
    of_cohort: BTreeMap<CohortId, BTreeSet<CellKey>>,
    members: BTreeMap<Subject, Member>,
    calls: Calls,
}

impl MemoryIndex {
    /// Reads and writes so far.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// All classes, ascending by number.
    pub fn all_classes(&self) -> impl Iterator<Item = &Class> {
        self.classes.values()
    }

    /// All cells, ascending by tuple and standing.
    pub fn all_cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.values()
    }

    fn read<'a>(&mut self, keys: impl Iterator<Item = &'a CellKey>) -> Vec<Cell> {
        let mut found: Vec<Cell> = keys
            .filter_map(|key| self.cells.get(key))
            .cloned()
            .collect();
        found.sort_by(|left, right| {
            let place = |cell: &Cell| (cell.class, Arc::clone(&cell.quasi), cell.standing);
            place(left).cmp(&place(right))
        });
        self.calls.calls += 1;
        self.calls.rows_read += found.iter().map(|cell| cell.rows.len() as u64).sum::<u64>();
        found
    }

    fn records(&mut self, ids: &BTreeSet<ClassId>) -> Vec<Class> {
        self.calls.calls += 1;
        self.calls.classes_read += ids.len() as u64;
        ids.iter()
            .filter_map(|id| self.classes.get(id))
            .cloned()
            .collect()
    }

    fn forget_class(&mut self, id: ClassId) {
        let Some(class) = self.classes.remove(&id) else {
            return;
        };
        self.by_key.remove(&class.key);
        for posting in class.key.0.iter().cloned().enumerate() {
            if let Some(classes) = self.postings.get_mut(&posting) {
                classes.remove(&id);
                if classes.is_empty() {
                    self.postings.remove(&posting);
                }
            }
        }
        if let Some(since) = class.waiting_since {
            self.waiting.remove(&(since, id));
        }
    }

    fn forget_cell(&mut self, key: &CellKey) {
        if let Some(cell) = self.cells.remove(key) {
            remove_from(&mut self.of_class, &cell.class, key);
            if let Some(cohort) = cohort(cell.standing) {
                remove_from(&mut self.of_cohort, &cohort, key);
            }
        }
    }
}

fn cohort(standing: Standing) -> Option<CohortId> {
    match standing {
        Standing::Published(cohort) | Standing::Withheld(cohort) => Some(cohort),
        Standing::Waiting { .. } => None,
    }
}

fn remove_from<K: Ord>(map: &mut BTreeMap<K, BTreeSet<CellKey>>, place: &K, key: &CellKey) {
    if let Some(keys) = map.get_mut(place) {
        keys.remove(key);
        if keys.is_empty() {
            map.remove(place);
        }
    }
}

impl Index for MemoryIndex {
    type Error = Infallible;

    fn classes(&mut self, keys: &[ClassKey]) -> Result<Vec<Option<Class>>, Infallible> {
        self.calls.calls += 1;
        self.calls.classes_read += keys.len() as u64;
        let class = |key| Some(self.classes[self.by_key.get(key)?].clone());
        Ok(keys.iter().map(class).collect())
    }

    fn holding(&mut self, attribute: usize, nodes: &[NodeKey]) -> Result<Vec<Class>, Infallible> {
        let postings = nodes.iter().map(|node| (attribute, node.clone()));
        let ids = postings.filter_map(|posting| self.postings.get(&posting));
        let ids: BTreeSet<ClassId> = ids.flatten().copied().collect();
        Ok(self.records(&ids))
    }

    fn waiting(&mut self, oldest: u32, newest: u32) -> Result<Vec<Class>, Infallible> {
        let range = (oldest, ClassId(0))..=(newest, ClassId(u64::MAX));
        let ids = self.waiting.range(range).map(|&(_, id)| id).collect();
        Ok(self.records(&ids))
    }

    fn cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Infallible> {
        let ids: BTreeSet<&ClassId> = classes.iter().collect();
        let keys = ids.into_iter().filter_map(|id| self.of_class.get(id));
        let keys: Vec<CellKey> = keys.flatten().cloned().collect();
        Ok(self.read(keys.iter()))
    }

    fn waiting_cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Infallible> {
        let ids: BTreeSet<&ClassId> = classes.iter().collect();
        let keys = ids.into_iter().filter_map(|id| self.of_class.get(id));
        let keys = keys
            .flatten()
            .filter(|key| matches!(key.1, Standing::Waiting { .. }));
        let keys: Vec<CellKey> = keys.cloned().collect();
        Ok(self.read(keys.iter()))
    }

    fn cells_at(&mut self, tuples: &[Arc<[Value]>]) -> Result<Vec<Cell>, Infallible> {
        let tuples: BTreeSet<&Arc<[Value]>> = tuples.iter().collect();
        let keys = tuples.into_iter().flat_map(|tuple| {
            let first = (Arc::clone(tuple), Standing::Published(CohortId(0)));
            let last = (Arc::clone(tuple), Standing::Withheld(CohortId(u64::MAX)));
            self.cells.range(first..=last).map(|(key, _)| key.clone())
        });
        let keys: Vec<CellKey> = keys.collect();
        Ok(self.read(keys.iter()))
    }

    fn cells_in(&mut self, cohorts: &[CohortId]) -> Result<Vec<Cell>, Infallible> {
        let ids: BTreeSet<&CohortId> = cohorts.iter().collect();
        let keys = ids.into_iter().filter_map(|id| self.of_cohort.get(id));
        let keys: Vec<CellKey> = keys.flatten().cloned().collect();
        Ok(self.read(keys.iter()))
    }

    fn put_classes(&mut self, classes: &[Class]) -> Result<(), Infallible> {
        self.calls.calls += 1;
        self.calls.classes_written += classes.len() as u64;
        for class in classes {
            self.forget_class(class.id);
            self.by_key.insert(class.key.clone(), class.id);
            for posting in class.key.0.iter().cloned().enumerate() {
                self.postings.entry(posting).or_default().insert(class.id);
            }
            if let Some(since) = class.waiting_since {
                self.waiting.insert((since, class.id));
            }
            self.classes.insert(class.id, class.clone());
        }
        Ok(())
    }

    fn remove_classes(&mut self, classes: &[ClassId]) -> Result<(), Infallible> {
        self.calls.calls += 1;
        self.calls.classes_written += classes.len() as u64;
        for &id in classes {
            debug_assert!(!self.of_class.contains_key(&id), "{id:?} still has cells");
            self.forget_class(id);
        }
        Ok(())
    }

    fn put_cells(&mut self, cells: &[Cell]) -> Result<(), Infallible> {
        self.calls.calls += 1;
        self.calls.cells_written += cells.len() as u64;
        for cell in cells {
            self.calls.rows_written += cell.rows.len() as u64;
            let key = (Arc::clone(&cell.quasi), cell.standing);
            self.forget_cell(&key);
            if cell.rows.is_empty() {
                continue;
            }
            let of_class = self.of_class.entry(cell.class).or_default();
            of_class.insert(key.clone());
            if let Some(cohort) = cohort(cell.standing) {
                self.of_cohort
                    .entry(cohort)
                    .or_default()
                    .insert(key.clone());
            }
            self.cells.insert(key, cell.clone());
        }
        Ok(())
    }

    fn members(&mut self, subjects: &[Subject]) -> Result<Vec<Option<Member>>, Infallible> {
        self.calls.calls += 1;
        let members = subjects.iter().map(|one| self.members.get(one).cloned());
        Ok(members.collect())
    }

    fn put_members(&mut self, members: &[(Subject, Member)]) -> Result<(), Infallible> {
        self.calls.calls += 1;
        self.members.extend(members.iter().cloned());
        Ok(())
    }

    fn move_cells(&mut self, from: &[ClassId], to: ClassId) -> Result<(), Infallible> {
        self.calls.calls += 1;
        for id in from {
            for key in self.of_class.remove(id).unwrap_or_default() {
                self.calls.cells_written += 1;
                if let Some(cell) = self.cells.get_mut(&key) {
                    cell.class = to;
                }
                self.of_class.entry(to).or_default().insert(key);
            }
        }
        Ok(())
    }
}
