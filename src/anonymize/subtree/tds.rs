//! Top-down specialisation (algorithms.md C.4): the best valid step, until none is valid.
//!
//! Sources: B. Fung, K. Wang, P. Yu, "Top-down specialization for information and privacy preservation", 2005. A step
//! replaces a node of the cut by its children and splits the classes that bear it. It is valid if the rows in classes
//! that fail stay within the suppression limit and some rows do not. What a step would do to a class is judged when the
//! class comes to be and never again, so the work is the cells that change class, once per attribute.
//!
//! A step that is not valid is dropped for good only where that is licensed (D.2): where all criteria are absorbing, or
//! where they are merge-closed and nothing may be suppressed. Otherwise it is tried again after every step.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::cuts::Cuts;
use super::partition::{Partition, Sizes};
use super::run::Run;
use super::scores::per_anonymity_lost;
use crate::anonymize::classes::Scratch;
use crate::anonymize::search::problem::End;

/// States that are kept of one way down: those before suppression grows.
const MOST_KEPT: usize = 32;

/// What a step would make of one class.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Rows of its parts that fail.
    violating: u64,
    /// Size of the smallest part that does not.
    least: Option<u64>,
}

/// A node of the cut that has children, and the classes that bear it, summed up.
#[derive(Debug, Default)]
struct Candidate {
    /// Rows of classes that fail, as they are and after the step.
    violating_now: u64,
    violating_then: u64,
    /// Sizes of classes that do not fail, as they are; of the smallest such part of each, after the step.
    now: Sizes,
    then: Sizes,
    is_dropped: bool,
}

/// One way down.
pub(crate) struct Descent<'r, 'a> {
    run: &'r Run<'a>,
    partition: Partition<'r>,
    candidates: Vec<BTreeMap<u32, Candidate>>,
    /// By class and attribute.
    splits: Vec<Vec<Option<Split>>>,
    /// Sizes of classes that do not fail.
    sizes: Sizes,
    scratch: Scratch,
    /// Cells looked at.
    pub(crate) visited: u64,
}

/// Where a way down led.
#[derive(Debug)]
pub(crate) struct Descended {
    /// The states before each growth of suppression, and the last one.
    pub(crate) kept: Vec<Cuts>,
    pub(crate) steps: u64,
    pub(crate) end: End,
}

impl<'r, 'a> Descent<'r, 'a> {
    /// Begins at a cut, over the given cells.
    pub(crate) fn new(run: &'r Run<'a>, cells: &[u32], cuts: Cuts) -> Self {
        let forest = &run.forest;
        let candidates = forest.trees.iter().enumerate().map(|(attribute, tree)| {
            let nodes = cuts
                .nodes(tree, attribute)
                .filter(|&node| tree.is_inner(node));
            nodes.map(|node| (node, Candidate::default())).collect()
        });
        let mut descent = Self {
            candidates: candidates.collect(),
            partition: Partition::new(forest, run.criteria, &run.leaves, cells, cuts),
            splits: Vec::new(),
            sizes: Sizes::default(),
            scratch: Scratch::default(),
            visited: 0,
            run,
        };
        descent.enter(0);
        descent
    }

    /// Whether the state releases something and suppresses no more than is allowed.
    pub(crate) fn is_valid(&self) -> bool {
        self.run.is_valid(&self.partition)
    }

    /// Steps until none is valid. The state must be valid.
    pub(crate) fn run(&mut self) -> Descended {
        let mut descended = Descended {
            kept: Vec::new(),
            steps: 0,
            end: End::Done,
        };
        loop {
            if let Some(end) = self.run.must_end() {
                descended.end = end;
                break;
            }
            let Some((attribute, node)) = self.best() else {
                break;
            };
            if !self.run.count() {
                descended.end = End::Budget;
                break;
            }
            let before = (self.partition.violating, self.partition.cuts.clone());
            self.specialize(attribute, node);
            descended.steps += 1;
            if self.partition.violating > before.0 {
                descended.kept.push(before.1);
            }
        }
        thin(&mut descended.kept, MOST_KEPT - 1);
        descended.kept.push(self.partition.cuts.clone());
        descended
    }

    /// The valid candidate of the greatest score; of equals that of the lower attribute, then node.
    fn best(&mut self) -> Option<(usize, u32)> {
        let is_final = self.run.drops_for_good;
        let before = self.sizes.least().unwrap_or(0);
        let mut best: Option<(f64, usize, u32)> = None;
        let mut dropped = Vec::new();
        for (attribute, candidates) in self.candidates.iter().enumerate() {
            for (&node, candidate) in candidates
                .iter()
                .filter(|(_, candidate)| !candidate.is_dropped)
            {
                let after = self.least_after(candidate);
                let gain = self.run.gains.of(attribute, node);
                let score = per_anonymity_lost(gain, before, after);
                if best.is_some_and(|(best, _, _)| score <= best) && !is_final {
                    continue;
                }
                if !self.would_be_valid(candidate, attribute, node) {
                    dropped.push((attribute, node));
                } else if best.is_none_or(|(best, _, _)| score > best) {
                    best = Some((score, attribute, node));
                }
            }
        }
        if is_final {
            for (attribute, node) in dropped {
                if let Some(candidate) = self.candidates[attribute].get_mut(&node) {
                    candidate.is_dropped = true;
                }
            }
        }
        best.map(|(_, attribute, node)| (attribute, node))
    }

    fn would_be_valid(&self, candidate: &Candidate, attribute: usize, node: u32) -> bool {
        if self.run.judges_whole_tables() {
            let mut cuts = self.partition.cuts.clone();
            cuts.specialize(attribute, node);
            return self.run.judge(&cuts).is_feasible();
        }
        let violating =
            self.partition.violating - candidate.violating_now + candidate.violating_then;
        self.run.is_within(violating, self.partition.rows)
    }

    /// Size of the smallest class that does not fail, after a step.
    fn least_after(&self, candidate: &Candidate) -> u64 {
        let others = self.sizes.least_without(&candidate.now);
        others
            .into_iter()
            .chain(candidate.then.least())
            .min()
            .unwrap_or(0)
    }

    /// Replaces a node by its children.
    fn specialize(&mut self, attribute: usize, node: u32) {
        let taken = self.partition.take(attribute, node);
        for (number, class) in &taken {
            self.leave(
                *number,
                class.verdict.size,
                class.verdict.is_ok,
                class.verdict.rows,
                &class.nodes,
            );
        }
        let tree = &self.run.forest.trees[attribute];
        self.candidates[attribute].remove(&node);
        for child in tree.children(node).filter(|&child| tree.is_inner(child)) {
            self.candidates[attribute].insert(child, Candidate::default());
        }
        self.partition.cuts.specialize(attribute, node);
        let towards = towards(tree, node);
        let (mut nodes, mut cells, mut class_of) = (Vec::new(), Vec::new(), Vec::new());
        for (_, class) in taken {
            let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
            for cell in class.cells {
                let leaf = self.run.leaves[attribute][cell as usize];
                let child = towards[(leaf - node) as usize];
                let number = *numbers.entry(child).or_insert_with(|| {
                    let mut own = class.nodes.clone();
                    own[attribute] = child;
                    nodes.push(own);
                    u32::try_from(nodes.len() - 1).unwrap_or(u32::MAX)
                });
                cells.push(cell);
                class_of.push(number);
            }
        }
        let first = self
            .partition
            .add(nodes, &cells, &class_of, &mut self.scratch);
        self.enter(first);
    }

    /// Takes a class out of all sums.
    fn leave(&mut self, number: u32, size: u64, is_ok: bool, rows: u64, nodes: &[u32]) {
        if is_ok {
            self.sizes.remove(size);
        }
        let splits = std::mem::take(&mut self.splits[number as usize]);
        for ((attribute, &node), split) in nodes.iter().enumerate().zip(splits) {
            let (Some(split), Some(candidate)) = (split, self.candidates[attribute].get_mut(&node))
            else {
                continue;
            };
            candidate.violating_then -= split.violating;
            split
                .least
                .into_iter()
                .for_each(|least| candidate.then.remove(least));
            if is_ok {
                candidate.now.remove(size);
            } else {
                candidate.violating_now -= rows;
            }
        }
    }

    /// Takes the classes from a number on into all sums.
    fn enter(&mut self, first: u32) {
        let numbers = first as usize..self.partition.classes.len();
        let splits: Vec<(u64, Vec<Option<Split>>)> = (0..self.candidates.len())
            .into_par_iter()
            .map(|attribute| self.splits_of(attribute, first as usize))
            .collect();
        self.visited += splits.iter().map(|(visited, _)| visited).sum::<u64>();
        for number in numbers {
            let Some(class) = &self.partition.classes[number] else {
                continue;
            };
            let verdict = class.verdict;
            if verdict.is_ok {
                self.sizes.add(verdict.size);
            }
            let own: Vec<Option<Split>> = splits
                .iter()
                .map(|(_, splits)| splits[number - first as usize])
                .collect();
            for ((attribute, node), split) in class.nodes.iter().enumerate().zip(&own) {
                let (Some(split), Some(candidate)) =
                    (split, self.candidates[attribute].get_mut(node))
                else {
                    continue;
                };
                candidate.violating_then += split.violating;
                split
                    .least
                    .into_iter()
                    .for_each(|least| candidate.then.add(least));
                if verdict.is_ok {
                    candidate.now.add(verdict.size);
                } else {
                    candidate.violating_now += verdict.rows;
                }
            }
            self.splits.push(own);
        }
    }

    /// What the step in one attribute would make of each class from a number on; and how many cells that took.
    fn splits_of(&self, attribute: usize, first: usize) -> (u64, Vec<Option<Split>>) {
        let tree = &self.run.forest.trees[attribute];
        let classes = &self.partition.classes[first..];
        let (mut cells, mut group_of, mut groups) = (Vec::new(), Vec::new(), 0_u32);
        // The groups of each class; none if its node is no candidate.
        let mut ranges = Vec::with_capacity(classes.len());
        let mut towards_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for class in classes.iter().flatten() {
            let node = class.nodes[attribute];
            let candidate = self.candidates[attribute].get(&node);
            if candidate.is_none_or(|candidate| candidate.is_dropped) {
                ranges.push(None);
                continue;
            }
            let towards = towards_of
                .entry(node)
                .or_insert_with(|| towards(tree, node));
            let from = groups;
            let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
            for &cell in &class.cells {
                let child = towards[(self.run.leaves[attribute][cell as usize] - node) as usize];
                let group = *numbers.entry(child).or_insert_with(|| {
                    groups += 1;
                    groups - 1
                });
                cells.push(cell);
                group_of.push(group);
            }
            ranges.push(Some(from as usize..groups as usize));
        }
        let verdicts =
            self.partition
                .judge(&cells, &group_of, groups as usize, &mut Scratch::default());
        let split = |range: Option<std::ops::Range<usize>>| {
            let parts = &verdicts[range?];
            let failing = parts.iter().filter(|part| !part.is_ok);
            let kept = parts.iter().filter(|part| part.is_ok);
            Some(Split {
                violating: failing.map(|part| part.rows).sum(),
                least: kept.map(|part| part.size).min(),
            })
        };
        (cells.len() as u64, ranges.into_iter().map(split).collect())
    }
}

/// The child above each node under `node`, counted from `node` itself.
fn towards(tree: &super::trees::Tree, node: u32) -> Vec<u32> {
    let end = tree.nodes[node as usize].end;
    let mut towards = vec![node; (end - node) as usize];
    for child in tree.children(node) {
        let under = child - node..tree.nodes[child as usize].end - node;
        towards[under.start as usize..under.end as usize].fill(child);
    }
    towards
}

/// Keeps at most so many, evenly chosen, the first and the last among them.
fn thin(kept: &mut Vec<Cuts>, most: usize) {
    if kept.len() <= most {
        return;
    }
    let last = kept.len() - 1;
    let mut place = 0;
    let wanted: Vec<usize> = (0..most).map(|number| number * last / (most - 1)).collect();
    kept.retain(|_| {
        place += 1;
        wanted.binary_search(&(place - 1)).is_ok()
    });
}

#[cfg(test)]
impl Descent<'_, '_> {
    /// Score and validity of every candidate: attribute, node, size of the smallest class after it, score, validity.
    pub(crate) fn standings(&self) -> Vec<(usize, u32, u64, f64, bool)> {
        let before = self.sizes.least().unwrap_or(0);
        let all = self.candidates.iter().enumerate();
        let all = all.flat_map(|(attribute, nodes)| {
            nodes
                .iter()
                .map(move |(&node, candidate)| (attribute, node, candidate))
        });
        all.map(|(attribute, node, candidate)| {
            let after = self.least_after(candidate);
            let score = per_anonymity_lost(self.run.gains.of(attribute, node), before, after);
            (
                attribute,
                node,
                after,
                score,
                self.would_be_valid(candidate, attribute, node),
            )
        })
        .collect()
    }

    pub(crate) fn cuts(&self) -> &Cuts {
        &self.partition.cuts
    }

    pub(crate) fn step(&mut self) -> Option<(usize, u32)> {
        let (attribute, node) = self.best()?;
        self.specialize(attribute, node);
        Some((attribute, node))
    }
}
