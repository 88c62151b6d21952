//! The classes of a cut, each with its cells, and for each cut node the classes that bear it (the links of TIPS).
//!
//! Unlike a class table, it is changed a few classes at a time. Classes are judged by the criteria of the task, on
//! tables merged from their cells; numbers of classes grow and are never used again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::cuts::Cuts;
use super::forest::Forest;
use crate::anonymize::classes::{Scratch, Verdict};
use crate::anonymize::privacy::Criteria;

/// One class.
#[derive(Debug, Clone)]
pub(crate) struct Class {
    pub(crate) cells: Vec<u32>,
    /// Its cut node of each attribute.
    pub(crate) nodes: Box<[u32]>,
    pub(crate) verdict: Verdict,
}

/// Sizes, each with how often it occurs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sizes(BTreeMap<u64, u32>);

impl Sizes {
    pub(crate) fn add(&mut self, size: u64) {
        *self.0.entry(size).or_insert(0) += 1;
    }

    pub(crate) fn remove(&mut self, size: u64) {
        if let Some(count) = self.0.get_mut(&size) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&size);
            }
        }
    }

    pub(crate) fn least(&self) -> Option<u64> {
        self.0.keys().next().copied()
    }

    /// The least size of those that are not among `others`, all of which are among these.
    pub(crate) fn least_without(&self, others: &Self) -> Option<u64> {
        let left = self
            .0
            .iter()
            .find(|(size, count)| others.0.get(size) != Some(count));
        left.map(|(&size, _)| size)
    }
}

/// The classes of a cut.
#[derive(Debug)]
pub(crate) struct Partition<'a> {
    pub(crate) forest: &'a Forest<'a>,
    criteria: &'a Criteria,
    /// By attribute and cell.
    pub(crate) cuts: Cuts,
    /// By number; those that are no more are empty.
    pub(crate) classes: Vec<Option<Class>>,
    /// By attribute and node: numbers of classes, ascending; some may be no more.
    links: Vec<Vec<Vec<u32>>>,
    /// Rows in classes that fail.
    pub(crate) violating: u64,
    /// Rows of all classes.
    pub(crate) rows: u64,
}

impl<'a> Partition<'a> {
    /// The classes that the given cells make under a cut. Cost: the sets of the cells.
    pub(crate) fn new(
        forest: &'a Forest<'a>,
        criteria: &'a Criteria,
        leaves: &'a [Vec<u32>],
        cells: &[u32],
        cuts: Cuts,
    ) -> Self {
        let trees = forest.trees.iter();
        let above: Vec<Vec<u32>> = trees
            .clone()
            .enumerate()
            .map(|(attribute, tree)| cuts.above(tree, attribute))
            .collect();
        let mut partition = Self {
            forest,
            criteria,
            classes: Vec::new(),
            links: trees.map(|tree| vec![Vec::new(); tree.len()]).collect(),
            violating: 0,
            rows: 0,
            cuts,
        };
        let mut numbers: FxHashMap<Box<[u32]>, u32> = FxHashMap::default();
        let class_of: Vec<u32> = cells
            .iter()
            .map(|&cell| {
                let nodes = above.iter().zip(leaves);
                let nodes = nodes.map(|(above, leaves)| above[leaves[cell as usize] as usize]);
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(nodes.collect()).or_insert(next)
            })
            .collect();
        let mut nodes = vec![Box::default(); numbers.len()];
        for (tuple, number) in numbers {
            nodes[number as usize] = tuple;
        }
        partition.add(nodes, cells, &class_of, &mut Scratch::default());
        partition
    }

    /// Judges groups of cells.
    pub(crate) fn judge(
        &self,
        cells: &[u32],
        group_of: &[u32],
        groups: usize,
        scratch: &mut Scratch,
    ) -> Vec<Verdict> {
        self.forest
            .cells
            .bottom()
            .judge_merged(cells, group_of, groups, self.criteria, scratch)
    }

    /// Adds classes by their nodes; `class_of` counts from the first of them. Gives the number of the first.
    pub(crate) fn add(
        &mut self,
        nodes: Vec<Box<[u32]>>,
        cells: &[u32],
        class_of: &[u32],
        scratch: &mut Scratch,
    ) -> u32 {
        let verdicts = self.judge(cells, class_of, nodes.len(), scratch);
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (&cell, &class) in cells.iter().zip(class_of) {
            members[class as usize].push(cell);
        }
        let first = u32::try_from(self.classes.len()).unwrap_or(u32::MAX);
        for (((nodes, verdict), cells), number) in
            nodes.into_iter().zip(verdicts).zip(members).zip(first..)
        {
            for (links, &node) in self.links.iter_mut().zip(&nodes) {
                links[node as usize].push(number);
            }
            self.rows += verdict.rows;
            if !verdict.is_ok {
                self.violating += verdict.rows;
            }
            self.classes.push(Some(Class {
                cells,
                nodes,
                verdict,
            }));
        }
        first
    }

    /// Takes the classes that bear a node out.
    pub(crate) fn take(&mut self, attribute: usize, node: u32) -> Vec<(u32, Class)> {
        let numbers = std::mem::take(&mut self.links[attribute][node as usize]);
        let taken = numbers.into_iter().filter_map(|number| {
            let class = self.classes[number as usize].take()?;
            self.rows -= class.verdict.rows;
            if !class.verdict.is_ok {
                self.violating -= class.verdict.rows;
            }
            Some((number, class))
        });
        taken.collect()
    }

    /// The classes that bear a node.
    pub(crate) fn linked(
        &self,
        attribute: usize,
        node: u32,
    ) -> impl Iterator<Item = (u32, &Class)> {
        let numbers = self.links[attribute][node as usize].iter();
        numbers.filter_map(|&number| Some((number, self.classes[number as usize].as_ref()?)))
    }
}
