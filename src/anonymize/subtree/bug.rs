//! Bottom-up generalisation (algorithms.md C.5): from the values upwards until the demand is met, then back down.
//!
//! Sources: K. Wang, P. Yu, S. Chakraborty, "Bottom-up generalization: a data mining solution to privacy protection",
//! 2004. A step puts a node in place of its children, which all lie in the cut. Steps that raise the size of the
//! smallest class are critical: the one that loses least per row gained goes first, and where none is critical, the one
//! that loses least. It overshoots, so the caller specialises from where it ends.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::cuts::Cuts;
use super::partition::{Class, Partition};
use super::run::Run;
use super::scores::per_anonymity_gained;
use crate::anonymize::classes::Scratch;
use crate::anonymize::search::problem::End;

/// Smallest classes that are looked at one by one before a step is judged.
const LOOKED_AT: usize = 8;

/// One way up.
pub(crate) struct Ascent<'r, 'a> {
    run: &'r Run<'a>,
    partition: Partition<'r>,
    /// Attribute and node of every step that can be made.
    open: BTreeSet<(usize, u32)>,
    /// Numbers of classes by size.
    by_size: BTreeMap<u64, BTreeSet<u32>>,
    scratch: Scratch,
    /// Cells looked at.
    pub(crate) visited: u64,
}

/// Where a way up led.
#[derive(Debug)]
pub(crate) struct Ascended {
    /// The first cut that meets the demand; none if even the roots do not, or it was stopped.
    pub(crate) cuts: Option<Cuts>,
    pub(crate) end: End,
}

/// Classes that a step makes of others.
struct Merge {
    nodes: Vec<Box<[u32]>>,
    cells: Vec<u32>,
    class_of: Vec<u32>,
}

impl<'r, 'a> Ascent<'r, 'a> {
    /// Begins at the values of the given cells.
    pub(crate) fn new(run: &'r Run<'a>, cells: &[u32]) -> Self {
        let trees = &run.forest.trees;
        let cuts = Cuts::leaves(trees);
        let inner = trees.iter().enumerate();
        let inner = inner
            .flat_map(|(attribute, tree)| tree.inner.iter().map(move |&node| (attribute, node)));
        let open = inner
            .filter(|&(attribute, node)| cuts.is_parent_of_cut(&trees[attribute], attribute, node));
        let mut ascent = Self {
            open: open.collect(),
            partition: Partition::new(&run.forest, run.criteria, &run.leaves, cells, cuts.clone()),
            by_size: BTreeMap::new(),
            scratch: Scratch::default(),
            visited: 0,
            run,
        };
        ascent.enter(0);
        ascent
    }

    /// Steps until the demand is met.
    pub(crate) fn run(&mut self) -> Ascended {
        let stopped = |end| Ascended { cuts: None, end };
        loop {
            if self.run.is_valid(&self.partition) {
                return Ascended {
                    cuts: Some(self.partition.cuts.clone()),
                    end: End::Done,
                };
            }
            if let Some(end) = self.run.must_end() {
                return stopped(end);
            }
            let Some((attribute, node)) = self.best() else {
                return stopped(End::Done);
            };
            if !self.run.count() {
                return stopped(End::Budget);
            }
            self.generalize(attribute, node);
        }
    }

    /// The critical step that loses least per row gained, or else the step that loses least; of equals that of the lower
    /// attribute, then node.
    fn best(&self) -> Option<(usize, u32)> {
        let critical = self.critical();
        let among = |steps: &mut dyn Iterator<Item = (f64, (usize, u32))>| {
            let mut best: Option<(f64, (usize, u32))> = None;
            for (score, step) in steps {
                if best.is_none_or(|(least, _)| score < least) {
                    best = Some((score, step));
                }
            }
            best.map(|(_, step)| step)
        };
        let all = self
            .open
            .iter()
            .map(|&step| (self.run.gains.of(step.0, step.1), step));
        among(&mut critical.into_iter()).or_else(|| among(&mut all.into_iter()))
    }

    /// The steps that raise the size of the smallest class, with their scores.
    ///
    /// Such a step must change every smallest class, so it stands above the nodes of any one of them.
    fn critical(&self) -> Vec<(f64, (usize, u32))> {
        let Some((&least, smallest)) = self.by_size.first_key_value() else {
            return Vec::new();
        };
        let nodes = |number: u32| {
            self.partition.classes[number as usize]
                .as_ref()
                .map(|class| &class.nodes)
        };
        let Some(first) = smallest.first().and_then(|&number| nodes(number)) else {
            return Vec::new();
        };
        let trees = self.run.forest.trees.iter().zip(first).enumerate();
        let steps = trees.filter_map(|(attribute, (tree, &node))| {
            let parent = tree.nodes[node as usize].parent;
            if node == 0 || !self.open.contains(&(attribute, parent)) {
                return None;
            }
            let is_under = |number: u32| {
                let own = nodes(number).map_or(0, |nodes| nodes[attribute]);
                own != 0 && tree.nodes[own as usize].parent == parent
            };
            if !smallest.iter().all(|&number| is_under(number)) {
                return None;
            }
            // A class that merges with none stays as small as it is; a few tell most steps that would be judged in vain.
            let is_alone = |&number: &u32| !self.has_partner(number, attribute, parent);
            if smallest.iter().take(LOOKED_AT).any(is_alone) {
                return None;
            }
            let after = self.least_after(attribute, parent, &is_under)?;
            let score = per_anonymity_gained(self.run.gains.of(attribute, parent), least, after);
            (after > least).then_some((score, (attribute, parent)))
        });
        steps.collect()
    }

    /// Whether a step would merge a class with another.
    fn has_partner(&self, number: u32, attribute: usize, node: u32) -> bool {
        let Some(own) = &self.partition.classes[number as usize] else {
            return false;
        };
        let children = self.run.forest.trees[attribute].children(node);
        let mut linked = children.flat_map(|child| self.partition.linked(attribute, child));
        linked.any(|(other, class)| {
            let mut nodes = own.nodes.iter().zip(&class.nodes).enumerate();
            other != number && nodes.all(|(place, (own, other))| place == attribute || own == other)
        })
    }

    /// Size of the smallest class after a step that changes the classes `is_under` tells.
    fn least_after(
        &self,
        attribute: usize,
        node: u32,
        is_under: &dyn Fn(u32) -> bool,
    ) -> Option<u64> {
        let tree = &self.run.forest.trees[attribute];
        let linked = tree
            .children(node)
            .flat_map(|child| self.partition.linked(attribute, child));
        let merge = merge(linked.map(|(_, class)| class), attribute, node);
        let mut scratch = Scratch::default();
        let verdicts = self.partition.judge(
            &merge.cells,
            &merge.class_of,
            merge.nodes.len(),
            &mut scratch,
        );
        let merged = verdicts.iter().map(|verdict| verdict.size).min();
        let others = self
            .by_size
            .iter()
            .find(|(_, numbers)| numbers.iter().any(|&number| !is_under(number)));
        merged
            .into_iter()
            .chain(others.map(|(&size, _)| size))
            .min()
    }

    /// Puts a node in place of its children.
    fn generalize(&mut self, attribute: usize, node: u32) {
        let tree = &self.run.forest.trees[attribute];
        let mut taken = Vec::new();
        for child in tree.children(node) {
            taken.extend(self.partition.take(attribute, child));
        }
        for (number, class) in &taken {
            let size = class.verdict.size;
            if let Some(numbers) = self.by_size.get_mut(&size) {
                numbers.remove(number);
                if numbers.is_empty() {
                    self.by_size.remove(&size);
                }
            }
        }
        self.partition.cuts.generalize(attribute, node);
        self.open.remove(&(attribute, node));
        let parent = tree.nodes[node as usize].parent;
        if node != 0
            && self
                .partition
                .cuts
                .is_parent_of_cut(tree, attribute, parent)
        {
            self.open.insert((attribute, parent));
        }
        let Merge {
            nodes,
            cells,
            class_of,
        } = merge(taken.iter().map(|(_, class)| class), attribute, node);
        self.visited += cells.len() as u64;
        let first = self
            .partition
            .add(nodes, &cells, &class_of, &mut self.scratch);
        self.enter(first);
    }

    fn enter(&mut self, first: u32) {
        let classes = self
            .partition
            .classes
            .iter()
            .zip(0_u32..)
            .skip(first as usize);
        for (class, number) in classes {
            if let Some(class) = class {
                self.by_size
                    .entry(class.verdict.size)
                    .or_default()
                    .insert(number);
            }
        }
    }
}

/// What becomes of classes whose node of an attribute is replaced by one above.
fn merge<'c>(classes: impl Iterator<Item = &'c Class>, attribute: usize, node: u32) -> Merge {
    let mut merge = Merge {
        nodes: Vec::new(),
        cells: Vec::new(),
        class_of: Vec::new(),
    };
    let mut numbers: FxHashMap<Box<[u32]>, u32> = FxHashMap::default();
    for class in classes {
        let mut nodes = class.nodes.clone();
        nodes[attribute] = node;
        let next = u32::try_from(merge.nodes.len()).unwrap_or(u32::MAX);
        let number = *numbers.entry(nodes).or_insert_with_key(|nodes| {
            merge.nodes.push(nodes.clone());
            next
        });
        merge.cells.extend_from_slice(&class.cells);
        merge.class_of.resize(merge.cells.len(), number);
    }
    merge
}

#[cfg(test)]
impl Ascent<'_, '_> {
    pub(crate) fn step(&mut self) -> Option<(usize, u32)> {
        if self.run.is_valid(&self.partition) {
            return None;
        }
        let (attribute, node) = self.best()?;
        self.generalize(attribute, node);
        Some((attribute, node))
    }
}
