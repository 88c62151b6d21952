//! Erasures: what leaves and what stays of a cohort must each be empty or satisfy the models, else nothing of it stays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cohorts::{Bearer, History, Parts, Places, alike, of_bearers};
use super::update::Updating;
use super::{
    Cell, ClassKey, CohortId, Index, Member, RowId, SeriesRow, Shown, Standing, Subject, Value,
};

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
    /// What leaves may leave by itself; otherwise nothing of the cohort stays.
    leaves_alone: bool,
}

/// Where rows of a group stand, and whether they leave.
type Losses = Places<bool>;

impl<I: Index> Updating<'_, I> {
    /// Removes rows; unknown ones are passed over.
    pub(super) fn erase(&mut self, erased: Vec<(RowId, Arc<[Value]>)>) -> Result<(), I::Error> {
        if erased.is_empty() {
            return Ok(());
        }
        let (ids, tuples): (BTreeSet<RowId>, BTreeSet<Arc<[Value]>>) = erased.into_iter().unzip();
        let tuples: Vec<Arc<[Value]>> = tuples.into_iter().collect();
        let (mut cohorts, mut subjects) = (BTreeSet::new(), BTreeSet::new());
        let mut puts = Vec::new();
        let mut lost: BTreeMap<ClassKey, Lost> = BTreeMap::new();
        for mut cell in self.index.cells_at(&tuples)? {
            let before = cell.rows.len();
            let is_public = !matches!(cell.standing, Standing::Waiting { .. });
            let leaving = cell.rows.iter().filter(|row| ids.contains(&row.id));
            subjects.extend(leaving.filter(|_| is_public).filter_map(|row| row.subject));
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
        let (touched, parts, left_behind) = self.judge_parts(&cohorts, &ids)?;
        for touched in touched {
            self.part(touched, &ids, &mut puts, &mut lost);
        }
        self.index.put_cells(&puts)?;
        if self.rules.guards_subjects {
            self.take_apart(&parts)?;
            self.mark(&subjects, |member| member.closed = true)?;
            self.mark(&left_behind, |member| member.misses_someone = true)?;
        }
        self.shrink(lost)
    }

    /// Changes what is kept of subjects.
    fn mark(
        &mut self,
        subjects: &BTreeSet<Subject>,
        change: impl Fn(&mut Member),
    ) -> Result<(), I::Error> {
        let subjects: Vec<Subject> = subjects.iter().copied().collect();
        let members = self.index.members(&subjects)?;
        let members = subjects.into_iter().zip(members);
        let members = members.filter_map(|(subject, member)| Some((subject, member?)));
        let mut members: Vec<(Subject, Member)> = members.collect();
        for (_, member) in &mut members {
            change(member);
        }
        self.index.put_members(&members)
    }

    /// The cohorts, each with whether the erased rows may leave by themselves; how the groups come apart that lose rows in
    /// that way; the subjects of the others.
    fn judge_parts(
        &mut self,
        cohorts: &BTreeSet<CohortId>,
        ids: &BTreeSet<RowId>,
    ) -> Result<(Vec<Touched>, Parts, BTreeSet<Subject>), I::Error> {
        if cohorts.is_empty() {
            return Ok((Vec::new(), Parts::new(), BTreeSet::new()));
        }
        let numbers: Vec<CohortId> = cohorts.iter().copied().collect();
        let cells = self.index.cells_in(&numbers)?;
        let histories = self.histories(&cells)?;
        let (mut sound, mut left_behind) = (Parts::new(), BTreeSet::new());
        for (history, places) in self.losses(&histories, ids)? {
            let parts = if self.rules.guards_subjects {
                by_loss(&places)
            } else {
                let rows = places.values().flat_map(|rows| rows.keys().copied());
                vec![rows.collect()]
            };
            if self.may_leave_alone(&places, &parts) {
                sound.insert(history, parts);
            } else {
                left_behind.extend(parts.into_iter().flatten().filter_map(|one| one.0));
            }
        }
        let alone: BTreeSet<CohortId> = sound.keys().flatten().copied().collect();
        let mut of_cohort: BTreeMap<CohortId, Vec<Cell>> = BTreeMap::new();
        for cell in cells {
            if let Standing::Published(cohort) = cell.standing {
                of_cohort.entry(cohort).or_default().push(cell);
            }
        }
        let touched = of_cohort.into_iter().map(|(cohort, cells)| Touched {
            cohort,
            cells,
            leaves_alone: alone.contains(&cohort),
        });
        Ok((touched.collect(), sound, left_behind))
    }

    /// The rows of groups by place and by whether they leave.
    fn losses(
        &mut self,
        histories: &BTreeSet<History>,
        ids: &BTreeSet<RowId>,
    ) -> Result<BTreeMap<History, Losses>, I::Error> {
        let groups = self.places_of(histories, |_, _| false)?;
        let groups = groups.into_iter().map(|(history, places)| {
            let mut losses = Losses::new();
            for (place, rows) in places {
                let (is_published, cohort, class, _) = place;
                for (bearer, row) in rows
                    .into_iter()
                    .flat_map(|(bearer, rows)| rows.into_iter().map(move |row| (bearer, row)))
                {
                    let leaves = is_published && ids.contains(&row.id);
                    let rows = losses.entry((is_published, cohort, class, leaves));
                    let rows = rows.or_default().entry(bearer);
                    rows.or_default().push(row);
                }
            }
            (history, losses)
        });
        Ok(groups.collect())
    }

    /// Whether what leaves and what stays of every part satisfies the models wherever it stands.
    fn may_leave_alone(&self, places: &Losses, parts: &[BTreeSet<Bearer>]) -> bool {
        #[cfg(test)]
        if self.rules.broken == Some(super::rules::Broken::Erase) {
            return true;
        }
        let asked = parts
            .iter()
            .flat_map(|bearers| places.values().map(move |rows| of_bearers(rows, bearers)));
        let asked: Vec<Vec<&SeriesRow>> = asked.collect();
        self.rules
            .judge
            .holds(&asked)
            .into_iter()
            .all(|holds| holds)
    }

    /// Takes the erased rows out of a cohort, and all the others with them unless they may leave by themselves.
    fn part(
        &mut self,
        touched: Touched,
        ids: &BTreeSet<RowId>,
        puts: &mut Vec<Cell>,
        lost: &mut BTreeMap<ClassKey, Lost>,
    ) {
        let (cohort, leaves_alone) = (touched.cohort, touched.leaves_alone);
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

/// Bearers by the places in which they lose rows and those in which they keep some; those who lose nothing come first.
fn by_loss(places: &Losses) -> Vec<BTreeSet<Bearer>> {
    let leaving = places.iter().filter(|((_, _, _, leaves), _)| *leaves);
    let losing: BTreeSet<Bearer> = leaving.flat_map(|(_, rows)| rows.keys().copied()).collect();
    let all = places.values().flat_map(|rows| rows.keys().copied());
    // Whoever loses nothing stays in one part: they stood in the same places before.
    let mut parts = vec![all.filter(|one| !losing.contains(one)).collect()];
    let parted = alike(places).into_iter();
    parts.extend(parted.filter(|part| part.iter().any(|one| losing.contains(one))));
    parts
}
