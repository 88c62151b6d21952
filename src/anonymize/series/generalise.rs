//! Rows that waited too long: the cut is made coarser for them where that is worth it, or where too many would be
//! suppressed otherwise.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::Score;
use super::score::{Labels, information, size_change};
use super::update::Updating;
use super::{Cell, Class, ClassId, ClassKey, Index, NodeKey, SeriesRow, Standing};

/// A node that might be put in the place of all that stands below it in the cut.
struct Merge {
    attribute: usize,
    node: NodeKey,
    /// The classes below it.
    classes: Vec<Class>,
    /// Overdue rows that the merge publishes.
    cured: u64,
    /// Rows whose values become coarser, each by the share of the domain that it loses, over all quasi-identifiers.
    loss: f64,
}

impl Merge {
    /// The classes by the class that they become.
    fn targets(&self) -> BTreeMap<ClassKey, Vec<&Class>> {
        let mut targets: BTreeMap<ClassKey, Vec<&Class>> = BTreeMap::new();
        for class in &self.classes {
            let key = class.key.with(self.attribute, &self.node);
            targets.entry(key).or_default().push(class);
        }
        targets
    }
}

impl<I: Index> Updating<'_, I> {
    /// Sees to rows that are overdue since this update, or whose class it touched.
    pub(super) fn relieve(&mut self, touched: &[Class]) -> Result<(), I::Error> {
        if self.overdue_rows() == 0 {
            return Ok(());
        }
        self.keep_the_limit()?;
        let horizon = self.horizon();
        let is_overdue = |class: &Class| class.waiting_since.is_some_and(|since| since <= horizon);
        let mut due: BTreeSet<ClassKey> = touched
            .iter()
            .filter(|class| is_overdue(class))
            .map(|class| class.key.clone())
            .collect();
        due.extend(
            self.index
                .waiting(horizon, horizon)?
                .into_iter()
                .map(|class| class.key),
        );
        while !due.is_empty() {
            let mut merges = self.merges(&due)?;
            merges.retain(|merge| merge.cured > 0 && merge.loss < merge.cured as f64);
            let Some(best) = self.best(merges)? else {
                return Ok(());
            };
            let (attribute, node) = (best.attribute, best.node.clone());
            self.merge(&best)?;
            // Their classes now, those that still wait for long.
            let moved = due.into_iter().map(|key| {
                let is_below = key.0[attribute].is_below(&node);
                if is_below {
                    key.with(attribute, &node)
                } else {
                    key
                }
            });
            let keys: Vec<ClassKey> = moved.collect::<BTreeSet<_>>().into_iter().collect();
            let classes = self.index.classes(&keys)?;
            let classes = classes.into_iter().flatten().filter(is_overdue);
            due = classes.map(|class| class.key).collect();
        }
        Ok(())
    }

    /// Makes the cut coarser until no more rows are suppressed than allowed, or nothing helps any more.
    fn keep_the_limit(&mut self) -> Result<(), I::Error> {
        let allowed = self
            .rules
            .suppression_limit
            .floor_of(self.state.counts.received);
        if self.overdue_rows() + self.withheld <= allowed || !self.the_top_helps(allowed)? {
            return Ok(());
        }
        while self.overdue_rows() > 0 && self.overdue_rows() + self.withheld > allowed {
            let due = self.index.waiting(0, self.horizon())?;
            let due = due.into_iter().map(|class| class.key).collect();
            let mut merges = self.merges(&due)?;
            if merges.iter().any(|merge| merge.cured > 0) {
                merges.retain(|merge| merge.cured > 0);
            }
            let Some(best) = self.best(merges)? else {
                return Ok(());
            };
            self.merge(&best)?;
        }
        Ok(())
    }

    /// Whether the overdue rows would be published, or enough of them for the limit, if all rows that wait were of one
    /// class: if not, no coarser cut is tried for them.
    fn the_top_helps(&mut self, allowed: u64) -> Result<bool, I::Error> {
        let classes = self.index.waiting(0, self.state.updates)?;
        let ids: Vec<ClassId> = classes.iter().map(|class| class.id).collect();
        let cells = self.index.waiting_cells_of(&ids)?;
        let all = vec![cells.iter().collect()];
        let published = self.publishable(&all, self.horizon())?;
        let left = self.overdue_rows().saturating_sub(published);
        Ok(published > 0 && (left == 0 || left + self.withheld <= allowed))
    }

    /// Every merge that would take in one of these classes by one step of one attribute.
    fn merges(&mut self, due: &BTreeSet<ClassKey>) -> Result<Vec<Merge>, I::Error> {
        let mut wanted = BTreeSet::new();
        for key in due {
            for (attribute, node) in key.0.iter().enumerate() {
                wanted.extend(node.parent().map(|parent| (attribute, parent)));
            }
        }
        let quasi_identifiers = self.rules.hierarchies.len() as f64;
        let mut merges = Vec::with_capacity(wanted.len());
        for (attribute, node) in wanted {
            let below = self.nodes_below(attribute, &node);
            let classes = self.index.holding(attribute, &below)?;
            let shares = &self.rules.shares[attribute];
            let whole = shares.share(&node);
            let loss = classes.iter().map(|class| {
                let step = whole - shares.share(&class.key.0[attribute]);
                class.rows as f64 * step / quasi_identifiers
            });
            merges.push(Merge {
                attribute,
                node,
                loss: loss.sum(),
                classes,
                cured: 0,
            });
        }
        for merge in &mut merges {
            merge.cured = self.cured(merge)?;
        }
        Ok(merges)
    }

    fn nodes_below(&self, attribute: usize, node: &NodeKey) -> Vec<NodeKey> {
        let nodes = self.state.nodes[attribute].keys();
        nodes.filter(|one| one.is_below(node)).cloned().collect()
    }

    /// Overdue rows that a merge publishes.
    fn cured(&mut self, merge: &Merge) -> Result<u64, I::Error> {
        let horizon = self.horizon();
        let targets = merge.targets();
        // Alone, what waits in a class has been refused before.
        let joined: Vec<Vec<ClassId>> = targets
            .into_values()
            .filter(|classes| {
                let overdue =
                    |class: &&Class| class.waiting_since.is_some_and(|since| since <= horizon);
                classes.iter().any(overdue)
                    && classes.iter().filter(|class| class.waiting > 0).count() > 1
            })
            .map(|classes| classes.iter().map(|class| class.id).collect())
            .collect();
        let ids: Vec<ClassId> = joined.iter().flatten().copied().collect();
        let cells = self.waiting_by_class(&ids)?;
        let of_target = |ids: &Vec<ClassId>| -> Vec<&Cell> {
            ids.iter()
                .filter_map(|id| cells.get(id))
                .flatten()
                .collect()
        };
        let groups: Vec<Vec<&Cell>> = joined.iter().map(of_target).collect();
        self.publishable(&groups, horizon)
    }

    /// Rows overdue by a horizon that would be published if each group of waiting cells were a class.
    fn publishable(&mut self, groups: &[Vec<&Cell>], horizon: u32) -> Result<u64, I::Error> {
        let sets: Vec<Vec<&SeriesRow>> = groups
            .iter()
            .map(|cells| cells.iter().flat_map(|cell| &cell.rows).collect())
            .collect();
        let admission = self.admit(&sets)?;
        let mut published = 0;
        for (cells, share) in groups.iter().zip(&admission.shares) {
            let overdue = cells.iter().filter(
                |cell| matches!(cell.standing, Standing::Waiting { since } if since <= horizon),
            );
            let rows = overdue.flat_map(|cell| &cell.rows);
            published += rows.filter(|row| share.group(row.id).is_some()).count() as u64;
        }
        Ok(published)
    }

    /// The merge of the least score; ties go to the lower attribute, then to the lower node.
    fn best(&mut self, merges: Vec<Merge>) -> Result<Option<Merge>, I::Error> {
        let mut best: Option<(f64, Merge)> = None;
        for merge in merges {
            let score = match self.rules.score {
                Score::Loss => merge.loss,
                Score::Information => self.information_lost(&merge)?,
            };
            if best.as_ref().is_none_or(|&(least, _)| score < least) {
                best = Some((score, merge));
            }
        }
        Ok(best.map(|(_, merge)| merge))
    }

    /// ILPG: information lost per class size that is gained.
    fn information_lost(&mut self, merge: &Merge) -> Result<f64, I::Error> {
        let ids: Vec<ClassId> = merge.classes.iter().map(|class| class.id).collect();
        let cells = self.index.cells_of(&ids)?;
        let mut labels: BTreeMap<NodeKey, Labels<'_>> = BTreeMap::new();
        for cell in &cells {
            if matches!(cell.standing, Standing::Published(_)) {
                let value = &cell.quasi[merge.attribute];
                let node = self.places.node(&self.state.cuts, merge.attribute, value);
                let of_node = labels.entry(node).or_default();
                for row in &cell.rows {
                    *of_node.entry(self.rules.label(row)).or_insert(0) += 1;
                }
            }
        }
        let targets = merge.targets();
        let after = targets
            .values()
            .map(|classes| classes.iter().map(|class| class.rows).sum());
        let gain = size_change(after, merge.classes.iter().map(|class| class.rows));
        Ok(information(labels.values()) / (gain as f64 + 1.0))
    }

    /// Puts a node into the cut in the place of all below it. Cohorts stay what they are.
    fn merge(&mut self, merge: &Merge) -> Result<(), I::Error> {
        let (attribute, node) = (merge.attribute, &merge.node);
        let ids: Vec<ClassId> = merge.classes.iter().map(|class| class.id).collect();
        let key_of: BTreeMap<ClassId, &ClassKey> = merge
            .classes
            .iter()
            .map(|class| (class.id, &class.key))
            .collect();
        for cell in self.index.cells_of(&ids)? {
            if let Standing::Published(cohort) = cell.standing {
                let from = key_of[&cell.class];
                let to = from.with(attribute, node);
                for row in &cell.rows {
                    self.journal.place(row, cohort, from, &to);
                }
            }
        }
        let mut joined = Vec::new();
        for (key, sources) in merge.targets() {
            let mut class = self.new_class(key);
            class.rows = sources.iter().map(|source| source.rows).sum();
            class.waiting = sources.iter().map(|source| source.waiting).sum();
            class.waiting_since = sources
                .iter()
                .filter_map(|source| source.waiting_since)
                .min();
            let from: Vec<ClassId> = sources.iter().map(|source| source.id).collect();
            self.index.put_classes(std::slice::from_ref(&class))?;
            self.index.move_cells(&from, class.id)?;
            self.index.remove_classes(&from)?;
            joined.push(class);
        }
        for class in &merge.classes {
            self.recount(&class.key, class.rows, 0);
        }
        self.state.nodes[attribute].retain(|one, _| !one.is_below(node));
        for class in &joined {
            self.recount(&class.key, 0, class.rows);
        }
        let specialised = &mut self.state.cuts.specialised[attribute];
        specialised.retain(|one| one != node && !one.is_below(node));
        self.journal.generalised.push((attribute, node.clone()));
        self.offer(joined)
    }
}
