//! From chains of nodes to the tables that a search reads.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::{Generalization, Level, TOP, Uncovered};
use crate::anonymize::table::Dictionary;

/// A way from a value to its nodes.
///
/// Invariant, for all implementations: values that share a node share all nodes above it.
pub(super) trait Chain {
    /// What tells the nodes of one level apart.
    type Node: Clone + Eq + Hash;

    /// Number of levels, with the top.
    fn levels(&self) -> usize;

    /// The nodes of a value from level 0 to the one below the top: `levels() - 1` of them.
    fn nodes(&self, value: &str) -> Result<Vec<Self::Node>, Uncovered>;

    /// Released label of a node.
    fn label(&self, level: usize, node: &Self::Node) -> Box<str>;

    /// Number of leaves of the declared domain; `None` where it is open.
    fn domain(&self) -> Option<u64> {
        None
    }

    /// Leaves under a node of a declared domain.
    fn leaves(&self, level: usize, node: &Self::Node) -> u64 {
        let _ = (level, node);
        1
    }
}

/// Labels of a value below the top.
pub(super) fn labels<C: Chain>(chain: &C, value: &str) -> Result<Vec<Option<String>>, Uncovered> {
    let nodes = chain.nodes(value)?;
    let label = |(level, node)| Some(String::from(chain.label(level, node)));
    Ok(nodes.iter().enumerate().map(label).collect())
}

/// A level that is being filled; number 0 is missing.
struct Filling<N> {
    numbers: FxHashMap<N, u32>,
    level: Level,
}

impl<N: Clone + Eq + Hash> Filling<N> {
    fn new(codes: usize) -> Self {
        let mut node_of = Vec::with_capacity(codes);
        node_of.push(0);
        Self {
            numbers: FxHashMap::default(),
            level: Level {
                node_of,
                parent: vec![0],
                labels: vec![None],
                leaves: vec![1],
            },
        }
    }

    /// Number of a node, and whether it is new.
    fn number(&mut self, node: N) -> (u32, bool) {
        let next = u32::try_from(self.level.labels.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(node).or_insert(next);
        (number, number == next)
    }
}

/// Tables over a dictionary; see [`super::Hierarchy::encode`].
pub(super) fn encode<C: Chain>(chain: &C, dictionary: &Dictionary) -> Result<Generalization, u32> {
    let codes = dictionary.len() + 1;
    let declared = chain.domain();
    // A domain of one would make every normalised loss a division by zero.
    let domain = declared.unwrap_or(dictionary.len() as u64).max(2);
    let mut fillings: Vec<Filling<C::Node>> = Vec::new();
    fillings.resize_with(chain.levels() - 1, || Filling::new(codes));
    for (value, code) in dictionary.iter().zip(1_u32..) {
        let nodes = chain.nodes(value).map_err(|_| code)?;
        let mut below: Option<(usize, u32)> = None;
        for (position, node) in nodes.into_iter().enumerate() {
            let label = chain.label(position, &node);
            let leaves = if declared.is_some() {
                chain.leaves(position, &node).clamp(1, domain)
            } else {
                0
            };
            let filling = &mut fillings[position];
            let (number, is_new) = filling.number(node);
            if is_new {
                filling.level.labels.push(Some(label));
                filling.level.leaves.push(leaves);
                filling.level.parent.push(0);
            }
            if declared.is_none() {
                filling.level.leaves[number as usize] += 1;
            }
            filling.level.node_of.push(number);
            if let Some((lower, child)) = below {
                fillings[lower].level.parent[child as usize] = number;
            }
            below = Some((position, number));
        }
    }
    let mut levels: Vec<Level> = fillings.into_iter().map(|filling| filling.level).collect();
    levels.push(Level {
        node_of: vec![0; codes],
        parent: Vec::new(),
        labels: vec![Some(Box::from(TOP))],
        leaves: vec![domain],
    });
    Ok(Generalization { levels, domain })
}
