//! Groups of subjects with one history: the cohorts in which they have rows, and how they come apart.
//!
//! A cohort holds rows of one history. A subject's history is the list of the cohorts in which it has rows; all subjects
//! of a cohort have the same one. Where subjects are not guarded every cohort is a group by itself.

use std::collections::{BTreeMap, BTreeSet};

use super::update::Updating;
use super::{Cell, ClassId, CohortId, Index, Member, NodeKey, RowId, SeriesRow, Standing, Subject};

/// Whose a row is: its subject's, or its own where it has none.
pub(super) type Bearer = (Option<Subject>, Option<RowId>);

/// See [`Bearer`].
pub(super) fn bearer(row: &SeriesRow) -> Bearer {
    (row.subject, row.subject.is_none().then_some(row.id))
}

/// The cohorts of a group, ascending.
pub(super) type History = Vec<CohortId>;

/// Where rows of a group stand: published or withheld, in which cohort and class, and what else tells them apart.
pub(super) type Place<T> = (bool, CohortId, ClassId, T);

/// Rows of a place by bearer.
pub(super) type PlaceRows = BTreeMap<Bearer, Vec<SeriesRow>>;

/// The places of a group.
pub(super) type Places<T> = BTreeMap<Place<T>, PlaceRows>;

/// The parts of groups; the first part of each keeps its cohorts.
pub(super) type Parts = BTreeMap<History, Vec<BTreeSet<Bearer>>>;

impl<I: Index> Updating<'_, I> {
    /// The groups of some cohorts, of which some cells are at hand.
    pub(super) fn histories(&mut self, cells: &[Cell]) -> Result<BTreeSet<History>, I::Error> {
        let mut anyone: BTreeMap<CohortId, Option<Subject>> = BTreeMap::new();
        for cell in cells {
            if let Some((_, cohort)) = public(cell) {
                let one = anyone.entry(cohort).or_default();
                *one = one.or_else(|| cell.rows.iter().find_map(|row| row.subject));
            }
        }
        let by_themselves = |(cohort, one): (&CohortId, &Option<Subject>)| {
            let is_alone = one.is_none() || !self.rules.guards_subjects;
            is_alone.then(|| vec![*cohort])
        };
        let mut histories: BTreeSet<History> = anyone.iter().filter_map(by_themselves).collect();
        if self.rules.guards_subjects {
            let subjects: BTreeSet<Subject> = anyone.into_values().flatten().collect();
            let subjects: Vec<Subject> = subjects.into_iter().collect();
            let members = self.index.members(&subjects)?;
            histories.extend(members.into_iter().flatten().map(|member| member.cohorts));
        }
        Ok(histories)
    }

    /// The places of groups; `tell` may tell rows of one place apart by their cell.
    pub(super) fn places_of<T: Ord>(
        &mut self,
        histories: &BTreeSet<History>,
        mut tell: impl FnMut(&mut Self, &Cell) -> T,
    ) -> Result<BTreeMap<History, Places<T>>, I::Error> {
        let group_of: BTreeMap<CohortId, &History> = histories
            .iter()
            .flat_map(|history| history.iter().map(move |cohort| (*cohort, history)))
            .collect();
        let cohorts: Vec<CohortId> = group_of.keys().copied().collect();
        let mut groups: BTreeMap<History, Places<T>> = BTreeMap::new();
        if cohorts.is_empty() {
            return Ok(groups);
        }
        for cell in self.index.cells_in(&cohorts)? {
            let Some((is_published, cohort)) = public(&cell) else {
                continue;
            };
            let Some(&history) = group_of.get(&cohort) else {
                continue;
            };
            let place = (is_published, cohort, cell.class, tell(self, &cell));
            if !groups.contains_key(history) {
                groups.insert(history.clone(), Places::new());
            }
            if let Some(places) = groups.get_mut(history) {
                let rows = places.entry(place).or_default();
                for row in cell.rows {
                    rows.entry(bearer(&row)).or_default().push(row);
                }
            }
        }
        Ok(groups)
    }

    /// How groups would come apart if a node of some classes were replaced by its children; `None` if a part would not
    /// satisfy the models somewhere. With the classes in which the groups stand. `cells` are those of the classes.
    pub(super) fn come_apart(
        &mut self,
        (attribute, node): &(usize, NodeKey),
        classes: &BTreeSet<ClassId>,
        cells: &[Cell],
    ) -> Result<Option<(Parts, BTreeSet<ClassId>)>, I::Error> {
        let published = cells
            .iter()
            .filter(|cell| matches!(cell.standing, Standing::Published(_)));
        let published: Vec<Cell> = published.cloned().collect();
        let histories = self.histories(&published)?;
        let child = |updating: &mut Self, cell: &Cell| -> Option<NodeKey> {
            let is_published = matches!(cell.standing, Standing::Published(_));
            let is_split = is_published && classes.contains(&cell.class);
            is_split.then(|| {
                updating
                    .places
                    .child(*attribute, &cell.quasi[*attribute], node)
            })
        };
        let groups = self.places_of(&histories, child)?;
        let mut parts = Parts::new();
        let mut seen = BTreeSet::new();
        let mut asked: Vec<Vec<&SeriesRow>> = Vec::new();
        for (history, places) in &groups {
            seen.extend(places.keys().map(|(_, _, class, _)| *class));
            let of_group = alike(places);
            for bearers in &of_group {
                asked.extend(places.values().map(|rows| of_bearers(rows, bearers)));
            }
            parts.insert(history.clone(), of_group);
        }
        Ok(self.may_split(&asked).then_some((parts, seen)))
    }

    /// Gives every part but the first of each group cohorts of its own, in the index and in what the update shows; gives
    /// them by part.
    pub(super) fn take_apart(&mut self, parts: &Parts) -> Result<Vec<Vec<History>>, I::Error> {
        let mut numbers: BTreeMap<(CohortId, Bearer), CohortId> = BTreeMap::new();
        let mut all = Vec::with_capacity(parts.len());
        let mut torn: Vec<CohortId> = Vec::new();
        for (history, parts) in parts {
            let mut of_group = vec![history.clone()];
            for bearers in parts.iter().skip(1) {
                let own: History = history.iter().map(|_| self.new_cohort()).collect();
                for (cohort, number) in history.iter().zip(&own) {
                    numbers.extend(bearers.iter().map(|one| ((*cohort, *one), *number)));
                }
                self.enrol(bearers, &own, false)?;
                of_group.push(own);
            }
            if parts.len() > 1 {
                torn.extend(history);
            }
            all.push(of_group);
        }
        if torn.is_empty() {
            return Ok(all);
        }
        torn.sort_unstable();
        let mut puts = Vec::new();
        for cell in self.index.cells_in(&torn)? {
            let Some((is_published, cohort)) = public(&cell) else {
                continue;
            };
            let mut by_cohort: BTreeMap<CohortId, Vec<SeriesRow>> = BTreeMap::new();
            by_cohort.insert(cohort, Vec::new());
            for row in cell.rows {
                let number = numbers.get(&(cohort, bearer(&row))).copied();
                if let Some(number) = number.filter(|_| is_published) {
                    self.journal.renumber(row.id, number);
                }
                by_cohort
                    .entry(number.unwrap_or(cohort))
                    .or_default()
                    .push(row);
            }
            puts.extend(by_cohort.into_iter().map(|(number, rows)| Cell {
                class: cell.class,
                quasi: cell.quasi.clone(),
                standing: if is_published {
                    Standing::Published(number)
                } else {
                    Standing::Withheld(number)
                },
                rows,
            }));
        }
        self.index.put_cells(&puts)?;
        Ok(all)
    }

    /// Notes the history of subjects; one that is closed stays so. `is_apart` says that they have just been told from
    /// everybody else who had their history, present or erased.
    pub(super) fn enrol(
        &mut self,
        bearers: &BTreeSet<Bearer>,
        history: &[CohortId],
        is_apart: bool,
    ) -> Result<(), I::Error> {
        let subjects: Vec<Subject> = bearers.iter().filter_map(|one| one.0).collect();
        if subjects.is_empty() || !self.rules.guards_subjects {
            return Ok(());
        }
        let known = self.index.members(&subjects)?;
        let members = subjects.into_iter().zip(known).map(|(subject, known)| {
            let member = Member {
                cohorts: history.to_vec(),
                closed: known.as_ref().is_some_and(|known| known.closed),
                misses_someone: !is_apart && known.is_some_and(|known| known.misses_someone),
            };
            (subject, member)
        });
        let members: Vec<(Subject, Member)> = members.collect();
        self.index.put_members(&members)
    }
}

/// Whether a cell is published (or withheld), and its cohort; `None` for one that waits.
fn public(cell: &Cell) -> Option<(bool, CohortId)> {
    match cell.standing {
        Standing::Published(cohort) => Some((true, cohort)),
        Standing::Withheld(cohort) => Some((false, cohort)),
        Standing::Waiting { .. } => None,
    }
}

/// The rows of some bearers.
pub(super) fn of_bearers<'r>(
    rows: &'r PlaceRows,
    bearers: &BTreeSet<Bearer>,
) -> Vec<&'r SeriesRow> {
    let rows = rows.iter().filter(|(one, _)| bearers.contains(one));
    rows.flat_map(|(_, rows)| rows).collect()
}

/// Bearers by the places in which they have rows.
pub(super) fn alike<T>(places: &Places<T>) -> Vec<BTreeSet<Bearer>> {
    let mut seen: BTreeMap<Bearer, Vec<usize>> = BTreeMap::new();
    for (number, rows) in places.values().enumerate() {
        for bearer in rows.keys() {
            seen.entry(*bearer).or_default().push(number);
        }
    }
    let mut parts: BTreeMap<Vec<usize>, BTreeSet<Bearer>> = BTreeMap::new();
    for (bearer, numbers) in seen {
        parts.entry(numbers).or_default().insert(bearer);
    }
    parts.into_values().collect()
}
