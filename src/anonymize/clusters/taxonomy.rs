//! A tree over the values of one attribute, for distances by the lowest common ancestor.

use super::points::code;
use crate::anonymize::hierarchy::Generalization;

/// A rooted tree whose leaves are values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taxonomy {
    /// Parent of each node; the root is its own.
    parent: Vec<u32>,
    /// Steps to the root.
    depth: Vec<u32>,
    /// Leaves of the domain under each node.
    leaves: Vec<u64>,
    /// Node of each code; that of code 0 (missing) is the root and is not read.
    pub(super) leaf_of: Vec<u32>,
    /// Leaves under the root.
    domain: u64,
}

impl Taxonomy {
    /// A tree by the parent of each node, the leaf of each code from 1 on, and the domain's leaves under each node.
    ///
    /// # Panics
    /// No node is its own parent, or parents form a cycle.
    #[must_use]
    pub fn new(parent: Vec<u32>, leaves: Vec<u64>, leaf_of: &[u32]) -> Self {
        let depth = (0..).take(parent.len()).map(|node: u32| {
            let (mut here, mut steps) = (node as usize, 0);
            while parent[here] as usize != here {
                here = parent[here] as usize;
                steps += 1;
                assert!(steps as usize <= parent.len(), "parents form a cycle");
            }
            steps
        });
        let depth: Vec<u32> = depth.collect();
        let root = depth.iter().zip(0..).find(|&(&depth, _)| depth == 0);
        let (_, root) = root.expect("a tree has a root");
        let leaf_of = [root].into_iter().chain(leaf_of.iter().copied()).collect();
        Self {
            domain: leaves[root as usize].max(1),
            parent,
            depth,
            leaves,
            leaf_of,
        }
    }

    /// The tree of a hierarchy over a dictionary. A node that only repeats its single child (same label, same leaves),
    /// as below leaves of unequal depth, is one node with it.
    #[must_use]
    pub fn of(generalization: &Generalization) -> Self {
        let levels = &generalization.levels;
        let top = levels.len() - 1;
        let (mut parent, mut leaves) = (vec![0], vec![generalization.domain]);
        let mut number_above: Vec<u32> = vec![0; levels[top].labels.len()];
        for level in levels[..top].iter().rev().zip(levels[1..].iter().rev()) {
            let (level, above) = level;
            let numbers = level.labels.iter().enumerate().map(|(node, label)| {
                let up = level.parent[node] as usize;
                let repeats = above.labels[up].is_some()
                    && above.labels[up] == *label
                    && above.leaves[up] == level.leaves[node];
                if repeats {
                    return number_above[up];
                }
                let number = u32::try_from(parent.len()).unwrap_or(u32::MAX);
                parent.push(number_above[up]);
                leaves.push(level.leaves[node]);
                number
            });
            number_above = numbers.collect();
        }
        let codes = &levels[0].node_of[1..];
        let leaf_of: Vec<u32> = codes
            .iter()
            .map(|&node| number_above[node as usize])
            .collect();
        Self::new(parent, leaves, &leaf_of)
    }

    /// The same for other codes of the values: code i is what was code `old_of[i]`. Nodes are numbered as these codes reach
    /// them; those that none reaches are left out.
    #[must_use]
    pub fn renumbered(&self, old_of: &[u32]) -> Self {
        let root = self.leaf_of[0];
        let mut number = vec![u32::MAX; self.parent.len()];
        number[root as usize] = 0;
        let mut order = vec![root];
        for &old in old_of.iter().skip(1) {
            let mut path = Vec::new();
            let mut node = self.leaf_of[old as usize];
            while number[node as usize] == u32::MAX {
                path.push(node);
                node = self.parent[node as usize];
            }
            for node in path.into_iter().rev() {
                number[node as usize] = code(order.len());
                order.push(node);
            }
        }
        let up = order.iter().map(|&node| self.parent[node as usize]);
        let leaf_of = old_of.iter().map(|&old| self.leaf_of[old as usize]);
        Self {
            parent: up.map(|node| number[node as usize]).collect(),
            depth: order
                .iter()
                .map(|&node| self.depth[node as usize])
                .collect(),
            leaves: order
                .iter()
                .map(|&node| self.leaves[node as usize])
                .collect(),
            leaf_of: leaf_of.map(|node| number[node as usize]).collect(),
            domain: self.domain,
        }
    }

    /// The lowest common ancestor. Cost: the depth.
    #[must_use]
    pub fn ancestor(&self, mut left: u32, mut right: u32) -> u32 {
        while left != right {
            if self.depth[left as usize] >= self.depth[right as usize] {
                left = self.parent[left as usize];
            } else {
                right = self.parent[right as usize];
            }
        }
        left
    }

    /// The child of `node` under which `below` lies; `None` for the node itself.
    #[must_use]
    pub fn branch(&self, node: u32, mut below: u32) -> Option<u32> {
        while below != node {
            let up = self.parent[below as usize];
            if up == node {
                return Some(below);
            }
            if up == below {
                return None;
            }
            below = up;
        }
        None
    }

    /// The Wu-Palmer distance of two nodes, 0 to 1.
    #[must_use]
    pub fn wu_palmer(&self, left: u32, right: u32) -> f64 {
        if left == right {
            return 0.0;
        }
        let depth = |node: u32| f64::from(self.depth[node as usize]);
        let common = depth(self.ancestor(left, right));
        1.0 - 2.0 * common / (depth(left) + depth(right))
    }

    /// Share of the domain's leaves under a node (0 for a single leaf), as normalised certainty penalty.
    #[must_use]
    pub fn share(&self, node: u32) -> f64 {
        let leaves = self.leaves[node as usize];
        if leaves <= 1 {
            0.0
        } else {
            leaves as f64 / self.domain as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Root 0; inner 1 (leaves 3, 4) and 2 (leaf 5); leaf 6 under the root.
    fn tree() -> Taxonomy {
        let leaves = vec![4, 2, 1, 1, 1, 1, 1];
        Taxonomy::new(vec![0, 0, 0, 1, 1, 2, 0], leaves, &[3, 4, 5, 6])
    }

    // algorithms.md F 35.
    #[test]
    fn worked_example_35_wu_palmer() {
        assert!((tree().wu_palmer(3, 4) - 0.5).abs() < 1e-12);
        assert!((tree().wu_palmer(3, 5) - 1.0).abs() < 1e-12);
        assert!(tree().wu_palmer(3, 3).abs() < 1e-12);
    }

    #[test]
    fn certainty_is_the_share_of_leaves_under_the_ancestor() {
        let tree = tree();
        assert_eq!(tree.ancestor(3, 4), 1);
        assert!((tree.share(1) - 0.5).abs() < 1e-12);
        assert!((tree.share(tree.ancestor(4, 6)) - 1.0).abs() < 1e-12);
        assert_eq!(tree.branch(0, 4), Some(1));
        assert_eq!(tree.branch(1, 1), None);
    }
}
