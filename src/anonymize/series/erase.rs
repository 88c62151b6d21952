//! Erasures: what leaves and what stays of a cohort must each be empty or satisfy the models, else nothing of it stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::update::Updating;
use super::{Cell, ClassKey, CohortId, Index, RowId, SeriesRow, Shown, Standing, Value};

/// Rows that a class loses.
#[derive(Debug, Clone, Copy, Default)]
struct Lost {
    rows: u64,
    waiting: u64,
}

/// A cohort of which something leaves.
struct Touched {
    cohort: CohortId,
    cells: Vec<Cell>,
}

impl<I: Index> Updating<'_, I> {
    /// Removes rows; unknown ones are passed over.
    pub(super) fn erase(&mut self, erased: Vec<(RowId, Arc<[Value]>)>) -> Result<(), I::Error> {
        if erased.is_empty() {
            return Ok(());
        }
        let (ids, tuples): (BTreeSet<RowId>, BTreeSet<Arc<[Value]>>) = erased.into_iter().unzip();
        let tuples: Vec<Arc<[Value]>> = tuples.into_iter().collect();
        let mut cohorts = BTreeSet::new();
        let mut puts = Vec::new();
        let mut lost: BTreeMap<ClassKey, Lost> = BTreeMap::new();
        for mut cell in self.index.cells_at(&tuples)? {
            let before = cell.rows.len();
            cell.rows.retain(|row| !ids.contains(&row.id));
            let gone = (before - cell.rows.len()) as u64;
            if gone == 0 {
                continue;
            }
            self.state.counts.received -= gone;
            let key = self.places.key(&self.state.cuts, &cell.quasi);
            let lost = lost.entry(key).or_default();
            match cell.standing {
                Standing::Published(cohort) => {
                    cohorts.insert(cohort);
                    continue;
                }
                Standing::Waiting { since } => {
                    lost.waiting += gone;
                    self.unwait(since, gone);
                }
                Standing::Withheld(_) => self.withheld -= gone,
            }
            puts.push(cell);
        }
        for (touched, leaves_alone) in self.judge_parts(&cohorts, &ids)? {
            self.part(touched, leaves_alone, &ids, &mut puts, &mut lost);
        }
        self.index.put_cells(&puts)?;
        self.shrink(lost)
    }

    /// The cohorts, each with whether the erased rows may leave by themselves.
    fn judge_parts(
        &mut self,
        cohorts: &BTreeSet<CohortId>,
        ids: &BTreeSet<RowId>,
    ) -> Result<Vec<(Touched, bool)>, I::Error> {
        if cohorts.is_empty() {
            return Ok(Vec::new());
        }
        let mut of_cohort: BTreeMap<CohortId, Vec<Cell>> = BTreeMap::new();
        let cohorts: Vec<CohortId> = cohorts.iter().copied().collect();
        for cell in self.index.cells_in(&cohorts)? {
            if let Standing::Published(cohort) = cell.standing {
                of_cohort.entry(cohort).or_default().push(cell);
            }
        }
        let mut parts: Vec<Vec<&SeriesRow>> = Vec::new();
        for cells in of_cohort.values() {
            let rows = cells.iter().flat_map(|cell| &cell.rows);
            let (leaving, staying) = rows.partition(|row| ids.contains(&row.id));
            parts.push(leaving);
            parts.push(staying);
        }
        let verdicts = self.rules.judge.holds(&parts);
        let verdicts: Vec<bool> = verdicts.chunks(2).map(|pair| pair[0] && pair[1]).collect();
        #[cfg(test)]
        let verdicts = match self.rules.broken {
            Some(super::rules::Broken::Erase) => vec![true; verdicts.len()],
            _ => verdicts,
        };
        let touched = of_cohort
            .into_iter()
            .map(|(cohort, cells)| Touched { cohort, cells });
        Ok(touched.zip(verdicts).collect())
    }

    /// Takes the erased rows out of a cohort, and all the others with them unless they may leave by themselves.
    fn part(
        &mut self,
        touched: Touched,
        leaves_alone: bool,
        ids: &BTreeSet<RowId>,
        puts: &mut Vec<Cell>,
        lost: &mut BTreeMap<ClassKey, Lost>,
    ) {
        let cohort = touched.cohort;
        for cell in touched.cells {
            let key = self.places.key(&self.state.cuts, &cell.quasi);
            // Cohorts that shrink or go may be what stood in the way of a split.
            for (nodes, node) in self.state.nodes.iter_mut().zip(key.0.iter()) {
                if let Some(node) = nodes.get_mut(node) {
                    node.blocked = false;
                }
            }
            let before = cell.rows.len() as u64;
            let mut staying = Vec::new();
            for row in &cell.rows {
                let shown = Shown {
                    row: row.clone(),
                    class: key.clone(),
                    cohort,
                };
                let stays = !ids.contains(&row.id);
                if stays {
                    staying.push(row.clone());
                }
                if stays && leaves_alone {
                    self.journal.stayed.insert(row.id, shown);
                } else {
                    self.journal.left.insert(row.id, shown);
                }
            }
            let kept = staying.len() as u64;
            let gone = if leaves_alone { before - kept } else { before };
            self.state.counts.released -= gone;
            lost.entry(key).or_default().rows += gone;
            if leaves_alone {
                if gone > 0 {
                    puts.push(Cell {
                        rows: staying,
                        ..cell
                    });
                }
                continue;
            }
            self.withheld += kept;
            puts.push(Cell {
                rows: Vec::new(),
                ..cell.clone()
            });
            if kept > 0 {
                puts.push(Cell {
                    standing: Standing::Withheld(cohort),
                    rows: staying,
                    ..cell
                });
            }
        }
    }

    /// Takes the lost rows from the records of their classes; a class without a cell goes.
    fn shrink(&mut self, lost: BTreeMap<ClassKey, Lost>) -> Result<(), I::Error> {
        let keys: Vec<ClassKey> = lost.keys().cloned().collect();
        let found = self.index.classes(&keys)?;
        let (mut kept, mut empty) = (Vec::new(), Vec::new());
        for (class, lost) in found.into_iter().zip(lost.into_values()) {
            let Some(mut class) = class else { continue };
            let before = class.rows;
            class.rows -= lost.rows;
            class.waiting -= lost.waiting;
            if lost.waiting > 0 {
                let cells = self.index.waiting_cells_of(&[class.id])?;
                let since = cells.iter().filter_map(|cell| match cell.standing {
                    Standing::Waiting { since } => Some(since),
                    Standing::Published(_) | Standing::Withheld(_) => None,
                });
                class.waiting_since = since.min();
            }
            self.recount(&class.key, before, class.rows);
            let is_bare = class.rows == 0 && class.waiting == 0;
            if is_bare && self.index.cells_of(&[class.id])?.is_empty() {
                empty.push(class.id);
            } else {
                kept.push(class);
            }
        }
        if !kept.is_empty() {
            self.index.put_classes(&kept)?;
        }
        if !empty.is_empty() {
            self.index.remove_classes(&empty)?;
        }
        Ok(())
    }
}
