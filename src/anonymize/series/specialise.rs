//! Nodes that have become too coarse: split, best first, where every cohort falls into sound parts.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::Score;
use super::score::{Labels, information, size_change};
use super::update::{Candidate, Updating};
use super::{
    Cell, Class, ClassId, ClassKey, CohortId, Index, Member, NodeKey, SeriesRow, Standing, Subject,
};

/// A cut node and its attribute.
type Node = (usize, NodeKey);

/// A node that may be split.
struct Sound {
    score: f64,
    classes: BTreeSet<ClassId>,
}

impl<I: Index> Updating<'_, I> {
    /// Splits cut nodes all of whose classes are ample until no cohort allows another split.
    pub(super) fn refine(&mut self) -> Result<(), I::Error> {
        let mut sound: BTreeMap<Node, Sound> = BTreeMap::new();
        loop {
            for node in self.ample_nodes() {
                if sound.contains_key(&node) {
                    continue;
                }
                if let Some(found) = self.examine(&node)? {
                    sound.insert(node, found);
                } else {
                    self.block(&node);
                }
            }
            // Ties go to the lower attribute, then to the lower node: the first of the best.
            let mut best: Option<(&Node, f64)> = None;
            for (node, found) in &sound {
                if best.is_none_or(|(_, score)| found.score > score) {
                    best = Some((node, found.score));
                }
            }
            let Some(node) = best.map(|(node, _)| node.clone()) else {
                return Ok(());
            };
            self.split(&node)?;
            // New rows may have been published, and have parted cohorts that stand elsewhere.
            if self.rules.guards_subjects {
                sound.clear();
            }
            if let Some(done) = sound.remove(&node) {
                // What was seen of nodes that share a class with this one is no longer so.
                sound.retain(|_, other| other.classes.is_disjoint(&done.classes));
            }
        }
    }

    /// Cut nodes all of whose classes are ample, that have children and that no cohort is known to hold together.
    fn ample_nodes(&self) -> Vec<Node> {
        let mut found = Vec::new();
        for (attribute, nodes) in self.state.nodes.iter().enumerate() {
            let levels = self.rules.hierarchies[attribute].levels();
            for (node, state) in nodes {
                let is_ample = state.classes > 0 && state.small_classes == 0 && !state.blocked;
                if is_ample && has_children(node, levels) {
                    found.push((attribute, node.clone()));
                }
            }
        }
        found
    }

    fn block(&mut self, (attribute, node): &Node) {
        if let Some(state) = self.state.nodes[*attribute].get_mut(node) {
            state.blocked = true;
        }
    }

    /// Score of splitting a node; `None` if a cohort would fall into a part that does not satisfy the models.
    fn examine(&mut self, (attribute, node): &Node) -> Result<Option<Sound>, I::Error> {
        let classes = self.index.holding(*attribute, std::slice::from_ref(node))?;
        let ids: Vec<ClassId> = classes.iter().map(|class| class.id).collect();
        let cells = self.index.cells_of(&ids)?;
        let mut parts: BTreeMap<(ClassId, CohortId, NodeKey), Vec<&SeriesRow>> = BTreeMap::new();
        let mut sizes: BTreeMap<(ClassId, NodeKey), u64> = BTreeMap::new();
        let mut labels: BTreeMap<NodeKey, Labels<'_>> = BTreeMap::new();
        for cell in &cells {
            let Standing::Published(cohort) = cell.standing else {
                continue;
            };
            let child = self.places.child(*attribute, &cell.quasi[*attribute], node);
            *sizes.entry((cell.class, child.clone())).or_insert(0) += cell.rows.len() as u64;
            let of_child = labels.entry(child.clone()).or_default();
            for row in &cell.rows {
                *of_child.entry(self.rules.label(row)).or_insert(0) += 1;
            }
            let part = parts.entry((cell.class, cohort, child));
            part.or_default().extend(&cell.rows);
        }
        if !self.may_split(&parts.into_values().collect::<Vec<_>>()) {
            return Ok(None);
        }
        let mut touched: BTreeSet<ClassId> = ids.iter().copied().collect();
        if self.rules.guards_subjects {
            let node = (*attribute, node.clone());
            let Some((_, places)) = self.come_apart(&node, &touched, &cells)? else {
                return Ok(None);
            };
            touched.extend(places);
        }
        let before = classes.iter().map(|class| class.rows);
        let cost = size_change(before, sizes.values().copied()) as f64 + 1.0;
        let gain = match self.rules.score {
            Score::Information => information(labels.values()),
            Score::Loss => {
                let shares = &self.rules.shares[*attribute];
                let whole = shares.share(node);
                let saved = labels.iter().map(|(child, labels)| {
                    labels.values().sum::<u64>() as f64 * (whole - shares.share(child))
                });
                saved.sum()
            }
        };
        Ok(Some(Sound {
            score: gain / cost,
            classes: touched,
        }))
    }

    pub(super) fn may_split(&self, parts: &[Vec<&SeriesRow>]) -> bool {
        #[cfg(test)]
        if self.rules.broken == Some(super::rules::Broken::Split) {
            return true;
        }
        self.rules.judge.holds(parts).into_iter().all(|holds| holds)
    }

    /// Puts the children of a node into the cut.
    fn split(&mut self, (attribute, node): &Node) -> Result<(), I::Error> {
        let attribute = *attribute;
        let old = self.index.holding(attribute, std::slice::from_ref(node))?;
        let ids: Vec<ClassId> = old.iter().map(|class| class.id).collect();
        let mut cells = self.index.cells_of(&ids)?;
        if self.rules.guards_subjects {
            let (node, classes) = ((attribute, node.clone()), ids.iter().copied().collect());
            if let Some((parts, _)) = self.come_apart(&node, &classes, &cells)? {
                self.take_apart(&parts)?;
            }
            cells = self.index.cells_of(&ids)?;
        }
        let old: BTreeMap<ClassId, Class> =
            old.into_iter().map(|class| (class.id, class)).collect();
        let mut targets: Vec<ClassKey> = Vec::with_capacity(cells.len());
        let mut parts: BTreeMap<CohortId, BTreeSet<ClassKey>> = BTreeMap::new();
        for cell in &cells {
            let child = self.places.child(attribute, &cell.quasi[attribute], node);
            let key = old[&cell.class].key.with(attribute, &child);
            if let Standing::Published(cohort) = cell.standing {
                parts.entry(cohort).or_default().insert(key.clone());
            }
            targets.push(key);
        }
        let mut cohorts: BTreeMap<(CohortId, ClassKey), CohortId> = BTreeMap::new();
        for (cohort, keys) in parts {
            // A cohort that stays whole stays what it is.
            if keys.len() > 1 {
                for key in keys {
                    cohorts.insert((cohort, key), self.new_cohort());
                }
            }
        }
        self.renew_histories(&cells, &cohorts)?;
        let keys: BTreeSet<&ClassKey> = targets.iter().collect();
        let mut classes: BTreeMap<ClassKey, Class> = BTreeMap::new();
        for key in keys {
            classes.insert(key.clone(), self.new_class(key.clone()));
        }
        let mut puts = Vec::with_capacity(cells.len());
        for (cell, key) in cells.drain(..).zip(&targets) {
            let class = classes.get_mut(key).expect("every target has a class");
            let rows = cell.rows.len() as u64;
            let mut standing = cell.standing;
            match cell.standing {
                Standing::Published(cohort) => {
                    let part = cohorts.get(&(cohort, key.clone())).copied();
                    let part = part.unwrap_or(cohort);
                    class.rows += rows;
                    standing = Standing::Published(part);
                    for row in &cell.rows {
                        self.journal.place(row, part, &old[&cell.class].key, key);
                    }
                }
                Standing::Waiting { since } => {
                    class.waiting += rows;
                    let oldest = class.waiting_since.get_or_insert(since);
                    *oldest = since.min(*oldest);
                }
                Standing::Withheld(_) => {}
            }
            if standing != cell.standing {
                puts.push(Cell {
                    rows: Vec::new(),
                    ..cell.clone()
                });
            }
            puts.push(Cell {
                class: class.id,
                standing,
                ..cell
            });
        }
        let classes: Vec<Class> = classes.into_values().collect();
        self.index.put_classes(&classes)?;
        self.index.put_cells(&puts)?;
        self.index.remove_classes(&ids)?;
        for class in old.values() {
            self.recount(&class.key, class.rows, 0);
        }
        self.state.nodes[attribute].remove(node);
        for class in &classes {
            self.recount(&class.key, 0, class.rows);
        }
        self.state.cuts.specialised[attribute].insert(node.clone());
        self.journal.specialised.push((attribute, node.clone()));
        self.offer(classes)
    }

    /// Puts the parts of cohorts that stand in several classes now into the histories of their subjects.
    fn renew_histories(
        &mut self,
        cells: &[Cell],
        parts: &BTreeMap<(CohortId, ClassKey), CohortId>,
    ) -> Result<(), I::Error> {
        if !self.rules.guards_subjects || parts.is_empty() {
            return Ok(());
        }
        let mut parts_of: BTreeMap<CohortId, Vec<CohortId>> = BTreeMap::new();
        for ((cohort, _), part) in parts {
            parts_of.entry(*cohort).or_default().push(*part);
        }
        let torn = cells.iter().filter(|cell| match cell.standing {
            Standing::Published(cohort) => parts_of.contains_key(&cohort),
            Standing::Waiting { .. } | Standing::Withheld(_) => false,
        });
        let subjects: BTreeSet<Subject> = torn
            .flat_map(|cell| cell.rows.iter().filter_map(|row| row.subject))
            .collect();
        let subjects: Vec<Subject> = subjects.into_iter().collect();
        let known = self.index.members(&subjects)?;
        let members = subjects
            .into_iter()
            .zip(known)
            .filter_map(|(subject, known)| {
                let known = known?;
                let cohorts = known.cohorts.iter().flat_map(|cohort| {
                    let parts = parts_of.get(cohort).cloned();
                    parts.unwrap_or_else(|| vec![*cohort])
                });
                let mut cohorts: Vec<CohortId> = cohorts.collect();
                cohorts.sort_unstable();
                Some((subject, Member { cohorts, ..known }))
            });
        let members: Vec<(Subject, Member)> = members.collect();
        self.index.put_members(&members)
    }

    /// Offers the waiting rows of changed classes again.
    pub(super) fn offer(&mut self, classes: Vec<Class>) -> Result<(), I::Error> {
        let classes: Vec<Class> = classes
            .into_iter()
            .filter(|class| class.waiting > 0)
            .collect();
        let ids: Vec<ClassId> = classes.iter().map(|class| class.id).collect();
        let mut waiting = self.waiting_by_class(&ids)?;
        let candidates = classes.into_iter().map(|class| Candidate {
            old: waiting.remove(&class.id).unwrap_or_default(),
            fresh: Vec::new(),
            is_new: false,
            class,
        });
        let candidates = candidates.collect();
        self.decide(candidates)?;
        Ok(())
    }
}

/// Whether a node can be specialised: it is neither a value nor missing.
fn has_children(node: &NodeKey, levels: usize) -> bool {
    let labels = node.labels();
    labels.len() < levels && (labels.len() == 1 || labels.first().is_some_and(Option::is_some))
}
