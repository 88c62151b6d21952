//! The tree of one quasi-identifier over the nodes that its values reach.
//!
//! Nodes are numbered in depth-first order, a node before its children, children by label: the number of a node does
//! not depend on the order of rows, and a subtree is a range of numbers. The node of missing is a leaf below the root,
//! whatever the number of levels: a missing value stays missing or becomes `*` (user-cases D2). Other unary nodes are
//! kept as they are. Siblings of one label are one node: no release could tell them apart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::count::Count;
use crate::anonymize::hierarchy::Generalization;

/// A node by what outlives a task: its level, and the labels from the node up to the top.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
pub struct NodePath {
    /// Its level, 0 for values.
    pub level: usize,
    /// Its label, that of its parent, and so on up to `*`.
    pub labels: Vec<String>,
}

/// One node.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) level: usize,
    /// `None` for the node of missing.
    pub(crate) label: Option<Box<str>>,
    /// Leaves of the domain under it.
    pub(crate) leaves: u64,
    /// The node above; of the root, itself.
    pub(crate) parent: u32,
    /// One past the last node under it.
    pub(crate) end: u32,
}

/// A tree. Its root is node 0.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Leaf of each level-0 node of the generalization.
    pub(crate) leaf_of: Vec<u32>,
    /// The nodes that have children, ascending.
    pub(crate) inner: Vec<u32>,
    /// Size of the domain.
    pub(crate) domain: u64,
}

impl Tree {
    /// The tree of an attribute. Cost: one sort of the nodes of every level.
    #[must_use]
    pub fn new(generalization: &Generalization) -> Self {
        let levels = &generalization.levels;
        let mut planting = Planting {
            generalization,
            children: levels
                .iter()
                .map(|level| vec![Vec::new(); level.labels.len()])
                .collect(),
            nodes: Vec::new(),
            leaf_of: vec![0; levels[0].labels.len()],
        };
        for (below, level) in levels.iter().enumerate().take(levels.len() - 1) {
            // Node 0 is missing: it hangs below the root alone.
            for (&parent, node) in level.parent.iter().zip(0_u32..).skip(1) {
                planting.children[below + 1][parent as usize].push(node);
            }
        }
        planting.grow(levels.len() - 1, &[0], 0);
        let nodes = planting.nodes;
        let inner = nodes
            .iter()
            .zip(0_u32..)
            .filter(|(node, number)| node.end > number + 1);
        Self {
            inner: inner.map(|(_, number)| number).collect(),
            leaf_of: planting.leaf_of,
            domain: generalization.domain,
            nodes,
        }
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn is_inner(&self, node: u32) -> bool {
        self.nodes[node as usize].end > node + 1
    }

    /// The children of a node, ascending.
    pub(crate) fn children(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let end = self.nodes[node as usize].end;
        let first = Some(node + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| {
            Some(self.nodes[child as usize].end).filter(|&next| next < end)
        })
    }

    /// The levels above value level, at least 1.
    pub(crate) fn height(&self) -> usize {
        self.nodes[0].level
    }

    /// What a node is called outside the task.
    #[must_use]
    pub(crate) fn path(&self, node: u32) -> NodePath {
        let mut labels = Vec::new();
        let mut at = node;
        loop {
            let own = &self.nodes[at as usize];
            labels.push(own.label.as_deref().unwrap_or_default().to_owned());
            if at == 0 {
                break;
            }
            at = own.parent;
        }
        let level = self.nodes[node as usize].level;
        NodePath { level, labels }
    }

    /// Number of cuts: 1 of a leaf; of another node 1 more than the product of its children's.
    pub(crate) fn cuts(&self) -> Count {
        let mut counts: BTreeMap<u32, Count> = BTreeMap::new();
        for &node in self.inner.iter().rev() {
            let mut product = Count::one();
            for child in self.children(node) {
                if let Some(count) = counts.remove(&child) {
                    product = product.times(&count);
                }
            }
            counts.insert(node, product.plus_one());
        }
        counts.remove(&0).unwrap_or_else(Count::one)
    }
}

/// A tree that is being built.
struct Planting<'a> {
    generalization: &'a Generalization,
    /// By level and node: the nodes below it, missing left out.
    children: Vec<Vec<Vec<u32>>>,
    nodes: Vec<Node>,
    leaf_of: Vec<u32>,
}

impl Planting<'_> {
    /// Adds the node that stands for some nodes of one level, and all below it.
    fn grow(&mut self, level: usize, members: &[u32], parent: u32) {
        let source = &self.generalization.levels[level];
        let number = self.next();
        let leaves = members.iter().map(|&node| source.leaves[node as usize]);
        self.nodes.push(Node {
            level,
            label: source.labels[members[0] as usize].clone(),
            leaves: leaves.sum::<u64>().min(self.generalization.domain),
            parent,
            end: number + 1,
        });
        if level == 0 {
            for &member in members {
                self.leaf_of[member as usize] = number;
            }
            return;
        }
        if level + 1 == self.generalization.levels.len() {
            self.nodes.push(Node {
                level: 0,
                label: None,
                leaves: 1,
                parent: number,
                end: number + 2,
            });
            self.leaf_of[0] = number + 1;
        }
        let mut by_label: BTreeMap<Option<Box<str>>, Vec<u32>> = BTreeMap::new();
        for &member in members {
            for &child in &self.children[level][member as usize] {
                let label = self.generalization.levels[level - 1].labels[child as usize].clone();
                by_label.entry(label).or_default().push(child);
            }
        }
        for members in by_label.into_values() {
            self.grow(level - 1, &members, number);
        }
        self.nodes[number as usize].end = self.next();
    }

    fn next(&self) -> u32 {
        u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::anonymize::hierarchy::Level;

    /// A generalization from the paths of its values, each from the value to `*`, all of one length.
    pub(crate) fn generalization(paths: &[&[&str]]) -> Generalization {
        let height = paths[0].len() - 1;
        let mut levels = Vec::new();
        for level in 0..=height {
            let is_top = level == height;
            let mut numbers: Vec<&[&str]> = if is_top { Vec::new() } else { vec![&[]] };
            let mut node_of = vec![0];
            for path in paths {
                let place = numbers.iter().position(|known| *known == &path[level..]);
                let place = place.unwrap_or_else(|| {
                    numbers.push(&path[level..]);
                    numbers.len() - 1
                });
                node_of.push(u32::try_from(place).unwrap());
            }
            let under = |node: usize| {
                node_of[1..]
                    .iter()
                    .filter(|&&of| of as usize == node)
                    .count()
            };
            levels.push(Level {
                parent: Vec::new(),
                labels: numbers
                    .iter()
                    .map(|path| path.first().map(|&label| label.into()))
                    .collect(),
                leaves: (0..numbers.len())
                    .map(|node| (under(node) as u64).max(1))
                    .collect(),
                node_of,
            });
        }
        for level in 0..height {
            let parents = |node: u32| {
                let code = levels[level]
                    .node_of
                    .iter()
                    .position(|&of| of == node)
                    .unwrap();
                levels[level + 1].node_of[code]
            };
            let nodes = 0..u32::try_from(levels[level].labels.len()).unwrap();
            let parent: Vec<u32> = nodes.map(parents).collect();
            levels[level].parent = parent;
        }
        Generalization {
            levels,
            domain: (paths.len() as u64).max(2),
        }
    }

    // algorithms.md F 18: a root with three children, two each, then leaves.
    #[test]
    fn worked_example_18_number_of_cuts() {
        let mut paths = Vec::new();
        for (branch, name) in ["a", "b", "c"].iter().enumerate() {
            for twig in 0..2 {
                for leaf in 0..2 {
                    paths.push([
                        format!("{name}{twig}{leaf}"),
                        format!("{branch}-{twig}"),
                        (*name).to_owned(),
                        "*".to_owned(),
                    ]);
                }
            }
        }
        let paths: Vec<Vec<&str>> = paths
            .iter()
            .map(|path| path.iter().map(String::as_str).collect())
            .collect();
        let slices: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
        let tree = Tree::new(&generalization(&slices));
        assert_eq!(tree.cuts().to_string(), "126");
        // The same without the lowest level, where the second nodes are leaves: 1 + 2^3 of them.
        let short: Vec<&[&str]> = paths.iter().map(|path| &path[1..]).step_by(2).collect();
        assert_eq!(Tree::new(&generalization(&short)).cuts().to_string(), "9");
    }

    #[test]
    fn nodes_are_numbered_by_label_whatever_the_order_of_values() {
        let mut paths: Vec<&[&str]> = vec![&["b", "x", "*"], &["a", "x", "*"], &["c", "w", "*"]];
        let tree = Tree::new(&generalization(&paths));
        let labels = |tree: &Tree| -> Vec<Option<String>> {
            tree.nodes
                .iter()
                .map(|node| node.label.as_deref().map(str::to_owned))
                .collect()
        };
        let wanted = [
            Some("*"),
            None,
            Some("w"),
            Some("c"),
            Some("x"),
            Some("a"),
            Some("b"),
        ];
        assert_eq!(labels(&tree), wanted.map(|label| label.map(str::to_owned)));
        assert_eq!(tree.children(0).collect::<Vec<_>>(), [1, 2, 4]);
        assert_eq!(tree.leaf_of, [1, 6, 5, 3]);
        assert_eq!(tree.inner, [0, 2, 4]);
        let path = tree.path(6);
        assert_eq!(
            (path.level, path.labels),
            (0, vec!["b".to_owned(), "x".to_owned(), "*".to_owned()])
        );
        paths.reverse();
        assert_eq!(labels(&Tree::new(&generalization(&paths))), labels(&tree));
    }
}
