//! The same releases made anew, by the definitions, from all rows and the cuts alone: no index, no counters.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{CutSet, NodeKey, RowId, SeriesRow, Standing, Step};
use super::story::Story;

/// A row and, phase by phase, the class in which it is published.
#[derive(Debug, Clone)]
struct Row {
    told: SeriesRow,
    track: Vec<Option<Vec<NodeKey>>>,
    withheld: bool,
}

impl Row {
    fn is_published(&self) -> bool {
        !self.withheld && self.track.last().is_some_and(Option::is_some)
    }
    fn waits(&self) -> bool {
        self.track.iter().all(Option::is_none)
    }
}

/// k rows, l diagnoses: judged here.
#[derive(Debug)]
pub(super) struct Rebuild {
    k: usize,
    l: usize,
    cuts: CutSet,
    rows: BTreeMap<RowId, Row>,
    phases: usize,
}

/// By class, its cohorts as sets of rows; the rows that wait; those withheld.
type Picture = (
    BTreeSet<(Vec<NodeKey>, BTreeSet<RowId>)>,
    BTreeSet<RowId>,
    BTreeSet<RowId>,
);

impl Rebuild {
    pub(super) fn new(k: usize, l: usize, cuts: CutSet) -> Self {
        Self {
            k,
            l,
            cuts,
            rows: BTreeMap::new(),
            phases: 0,
        }
    }

    fn holds<'a>(&self, rows: impl Iterator<Item = &'a SeriesRow>) -> bool {
        let rows: Vec<&SeriesRow> = rows.collect();
        let values: BTreeSet<_> = rows
            .iter()
            .filter_map(|row| row.carried[1].clone())
            .collect();
        rows.is_empty() || (rows.len() >= self.k && values.len() >= self.l)
    }

    /// The first node from the top that is not specialised.
    fn class(&self, story: &Story, row: &SeriesRow) -> Vec<NodeKey> {
        let node = |(attribute, value): (usize, &super::super::Value)| {
            let path = story.rules.hierarchies[attribute]
                .path(value.as_deref())
                .unwrap();
            let lowest = if value.is_none() { path.len() - 2 } else { 0 };
            let mut nodes = (lowest..path.len())
                .rev()
                .map(|level| NodeKey::of(&path[level..]));
            let specialised = self.cuts.specialised.get(attribute);
            let is_open = |node: &NodeKey| specialised.is_some_and(|all| all.contains(node));
            let last = NodeKey::of(&path[lowest..]);
            nodes.find(|node| !is_open(node)).unwrap_or(last)
        };
        row.quasi.iter().enumerate().map(node).collect()
    }

    /// Publishes, in every class, all that waits if it satisfies the models; every row gets its class of this phase.
    fn phase(&mut self, story: &Story) {
        let mut waiting: BTreeMap<Vec<NodeKey>, Vec<RowId>> = BTreeMap::new();
        for (id, row) in &self.rows {
            if row.waits() {
                waiting
                    .entry(self.class(story, &row.told))
                    .or_default()
                    .push(*id);
            }
        }
        let sound = waiting
            .into_values()
            .filter(|ids| self.holds(ids.iter().map(|id| &self.rows[id].told)));
        let fresh: BTreeSet<RowId> = sound.flatten().collect();
        let classes: Vec<(RowId, Vec<NodeKey>)> = self
            .rows
            .iter()
            .filter(|(id, row)| row.is_published() || fresh.contains(id))
            .map(|(id, row)| (*id, self.class(story, &row.told)))
            .collect();
        let classes: BTreeMap<RowId, Vec<NodeKey>> = classes.into_iter().collect();
        for (id, row) in &mut self.rows {
            row.track.push(classes.get(id).cloned());
        }
        self.phases += 1;
    }

    pub(super) fn update(
        &mut self,
        story: &Story,
        added: &[SeriesRow],
        erased: &[RowId],
        step: &Step,
    ) {
        let mut cohorts: BTreeMap<Vec<Option<Vec<NodeKey>>>, Vec<RowId>> = BTreeMap::new();
        for (id, row) in &self.rows {
            if row.is_published() {
                cohorts.entry(row.track.clone()).or_default().push(*id);
            }
        }
        for ids in cohorts.values() {
            let part = |gone: bool| {
                let ids = ids.iter().filter(move |id| erased.contains(id) == gone);
                ids.map(|id| &self.rows[id].told)
            };
            if part(true).next().is_some() && !(self.holds(part(true)) && self.holds(part(false))) {
                for id in ids {
                    self.rows.get_mut(id).unwrap().withheld = true;
                }
            }
        }
        self.rows.retain(|id, _| !erased.contains(id));
        for row in added.iter().filter(|row| !erased.contains(&row.id)) {
            let track = vec![None; self.phases];
            let row = Row {
                told: row.clone(),
                track,
                withheld: false,
            };
            self.rows.insert(row.told.id, row);
        }
        self.phase(story);
        for (attribute, node) in &step.generalised {
            self.cuts.specialised[*attribute].retain(|one| {
                let (low, high) = (one.labels(), node.labels());
                !low.ends_with(&high)
            });
            self.phase(story);
        }
        for (attribute, node) in &step.specialised {
            self.cuts.specialised[*attribute].insert(node.clone());
            self.phase(story);
        }
    }

    fn picture(&self) -> Picture {
        let mut cohorts: BTreeMap<&Vec<Option<Vec<NodeKey>>>, BTreeSet<RowId>> = BTreeMap::new();
        for (id, row) in self.rows.iter().filter(|(_, row)| row.is_published()) {
            cohorts.entry(&row.track).or_default().insert(*id);
        }
        let last = |track: &Vec<Option<Vec<NodeKey>>>| track.last().unwrap().clone().unwrap();
        let cohorts = cohorts.into_iter().map(|(track, ids)| (last(track), ids));
        let ids = |wanted: &dyn Fn(&Row) -> bool| {
            let rows = self.rows.iter().filter(|(_, row)| wanted(row));
            rows.map(|(id, _)| *id).collect()
        };
        (
            cohorts.collect(),
            ids(&|row| row.waits() && !row.withheld),
            ids(&|row| row.withheld),
        )
    }

    /// Asserts that the series holds exactly what was made anew.
    pub(super) fn compare(&self, story: &Story) {
        let keys: BTreeMap<_, _> = story
            .index
            .all_classes()
            .map(|class| (class.id, class.key.0.to_vec()))
            .collect();
        let mut cohorts: BTreeMap<_, (Vec<NodeKey>, BTreeSet<RowId>)> = BTreeMap::new();
        let (mut waiting, mut withheld) = (BTreeSet::new(), BTreeSet::new());
        for cell in story.index.all_cells() {
            let ids = cell.rows.iter().map(|row| row.id);
            for row in &cell.rows {
                assert_eq!(
                    keys[&cell.class],
                    self.class(story, row),
                    "in whatever standing"
                );
            }
            match cell.standing {
                Standing::Published(cohort) => {
                    let entry = cohorts.entry(cohort);
                    let entry =
                        entry.or_insert_with(|| (keys[&cell.class].clone(), BTreeSet::new()));
                    assert_eq!(entry.0, keys[&cell.class], "a cohort stands in one class");
                    entry.1.extend(ids);
                }
                Standing::Waiting { .. } => waiting.extend(ids),
                Standing::Withheld(_) => withheld.extend(ids),
            }
        }
        let found: Picture = (cohorts.into_values().collect(), waiting, withheld);
        assert_eq!(found, self.picture());
        assert_eq!(self.cuts, story.state.cuts);
    }
}
