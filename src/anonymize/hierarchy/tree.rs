//! A finite tree: every value is a declared leaf.

use rustc_hash::FxHashMap;

use super::encode::Chain;
use super::{TOP, Uncovered};

/// Levels of numbered nodes, the leaves first, one root last.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    leaf_of: FxHashMap<Box<str>, u32>,
    levels: Vec<TreeLevel>,
}

/// The nodes of one level.
#[derive(Debug, Clone, Default)]
pub(super) struct TreeLevel {
    /// Label of each node.
    pub(super) labels: Vec<Box<str>>,
    /// Node of the next level; of no meaning on the top.
    pub(super) parent: Vec<u32>,
    leaves: Vec<u64>,
}

impl TreeLevel {
    /// Adds a node and gives its number.
    pub(super) fn add(&mut self, label: &str, parent: u32) -> u32 {
        let number = u32::try_from(self.labels.len()).unwrap_or(u32::MAX);
        self.labels.push(Box::from(label));
        self.parent.push(parent);
        number
    }
}

impl Tree {
    /// A tree of linked levels, at least two; the last one holds at most one node, which is labelled `*`.
    pub(super) fn new(mut levels: Vec<TreeLevel>) -> Self {
        let leaf_of = levels[0].labels.iter().cloned().zip(0..).collect();
        levels[0].leaves = vec![1; levels[0].labels.len()];
        for position in 1..levels.len() {
            let mut leaves = vec![0; levels[position].labels.len()];
            let below = &levels[position - 1];
            for (&parent, count) in below.parent.iter().zip(&below.leaves) {
                leaves[parent as usize] += count;
            }
            levels[position].leaves = leaves;
        }
        if let Some(top) = levels.last_mut() {
            top.labels = vec![Box::from(TOP)];
        }
        Self { leaf_of, levels }
    }

    /// The values.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &str> {
        self.levels[0].labels.iter().map(|label| &**label)
    }
}

impl Chain for Tree {
    type Node = u32;

    fn levels(&self) -> usize {
        self.levels.len()
    }

    fn nodes(&self, value: &str) -> Result<Vec<u32>, Uncovered> {
        let mut node = *self.leaf_of.get(value).ok_or(Uncovered::Missing)?;
        let below_top = &self.levels[..self.levels.len() - 1];
        let climb = below_top.iter().map(|level| {
            let here = node;
            node = level.parent[here as usize];
            here
        });
        Ok(climb.collect())
    }

    fn label(&self, level: usize, node: &u32) -> Box<str> {
        self.levels[level].labels[*node as usize].clone()
    }

    fn domain(&self) -> Option<u64> {
        Some(self.leaf_of.len() as u64)
    }

    fn leaves(&self, level: usize, node: &u32) -> u64 {
        self.levels[level].leaves[*node as usize]
    }
}
