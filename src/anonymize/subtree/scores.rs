//! Scores of single steps (algorithms.md C.2): what a step gains, over what it costs in anonymity.
//!
//! The gain of specialising a node depends on the rows under it alone, so it is computed once per node. `A`, the size of
//! the smallest released class, changes with every step. Sums of logarithms are integers in units of 2^-32 bits, so
//! that no order of rows shows in them.

use std::collections::BTreeMap;

use super::forest::Forest;
use super::trees::Tree;
use crate::anonymize::classes::labels::units;
use crate::declaration::Score;

/// What steps of one task gain.
#[derive(Debug)]
pub(crate) struct Gains {
    /// By attribute and node; 0 for leaves.
    of_node: Vec<Vec<f64>>,
}

impl Gains {
    /// Gains by the score asked for; losses of attributes are weighted.
    pub(crate) fn new(forest: &Forest<'_>, score: Score, weights: &BTreeMap<String, f64>) -> Self {
        let attributes = forest.trees.iter().enumerate();
        let of_attribute = |(attribute, tree): (usize, &Tree)| match score {
            Score::Loss => {
                let name = &forest.cells.quasi_identifiers[attribute].name;
                losses(
                    forest,
                    attribute,
                    tree,
                    weights.get(name).copied().unwrap_or(1.0),
                )
            }
            Score::Information => information(forest, attribute, tree),
        };
        Self {
            of_node: attributes.map(of_attribute).collect(),
        }
    }

    /// What specialising a node gains, at least 0; what generalising its children into it loses.
    pub(crate) fn of(&self, attribute: usize, node: u32) -> f64 {
        self.of_node[attribute][node as usize]
    }
}

/// Gain over the anonymity it costs (IGPL): of specialising.
pub(crate) fn per_anonymity_lost(gain: f64, before: u64, after: u64) -> f64 {
    gain / (before.saturating_sub(after) as f64 + 1.0)
}

/// Loss over the anonymity that it brings (ILPG): of generalising.
pub(crate) fn per_anonymity_gained(loss: f64, before: u64, after: u64) -> f64 {
    loss / (after.saturating_sub(before) as f64 + 1.0)
}

/// Drop of the mean normalised certainty penalty over all rows.
fn losses(forest: &Forest<'_>, attribute: usize, tree: &Tree, weight: f64) -> Vec<f64> {
    let mut rows = vec![0_u64; tree.len()];
    for (&leaf, &own) in tree.leaf_of.iter().zip(&forest.cells.value_rows[attribute]) {
        rows[leaf as usize] += own;
    }
    for node in (1..tree.len()).rev() {
        rows[tree.nodes[node].parent as usize] += rows[node];
    }
    let whole = tree.domain as f64 * forest.cells.rows.max(1) as f64;
    let covered = |node: u32, by: u32| {
        u128::from(rows[node as usize]) * u128::from(tree.nodes[by as usize].leaves)
    };
    let mut losses = vec![0.0; tree.len()];
    for &node in &tree.inner {
        let after: u128 = tree.children(node).map(|child| covered(child, child)).sum();
        losses[node as usize] = weight * covered(node, node).saturating_sub(after) as f64 / whole;
    }
    losses
}

/// Bits that the children of a node tell of a row's label, per row under the node; 0 without labels.
fn information(forest: &Forest<'_>, attribute: usize, tree: &Tree) -> Vec<f64> {
    let mut gains = vec![0.0; tree.len()];
    let bottom = forest.cells.bottom();
    let Some(labels) = &bottom.labels else {
        return gains;
    };
    let mut counts: Vec<Vec<(u32, u64)>> = vec![Vec::new(); tree.len()];
    for cell in 0..forest.cells.len() {
        let leaf = tree.leaf_of[bottom.node(forest.cells, cell, attribute) as usize];
        let own = labels
            .of_class(cell)
            .iter()
            .map(|&(label, rows)| (label, u64::from(rows)));
        counts[leaf as usize].extend(own);
    }
    for node in (0..tree.len()).rev() {
        added_up(&mut counts[node]);
        let number = u32::try_from(node).unwrap_or(u32::MAX);
        if tree.is_inner(number) {
            let children: Vec<Vec<u64>> = tree
                .children(number)
                .map(|child| rows(&counts[child as usize]))
                .collect();
            gains[node] = information_gain(&rows(&counts[node]), &children);
            for child in tree.children(number).collect::<Vec<_>>() {
                counts[child as usize] = Vec::new();
            }
        }
        if node > 0 {
            let own = counts[node].clone();
            counts[tree.nodes[node].parent as usize].extend(own);
        }
    }
    gains
}

fn rows(counts: &[(u32, u64)]) -> Vec<u64> {
    counts.iter().map(|&(_, rows)| rows).collect()
}

/// Sorts by label and adds equal ones up.
fn added_up(counts: &mut Vec<(u32, u64)>) {
    counts.sort_unstable();
    counts.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            earlier.1 += later.1;
        }
        is_same
    });
}

/// Entropy of a node's labels less the mean entropy of its children's, in bits, at least 0.
pub(crate) fn information_gain(node: &[u64], children: &[Vec<u64>]) -> f64 {
    let of_children: i128 = children.iter().map(|child| entropy(child)).sum();
    let rows: u64 = node.iter().sum();
    (entropy(node) - of_children).max(0) as f64 / (rows.max(1) as f64 * units::IN_ONE_BIT)
}

/// Rows times the entropy of their labels, in units.
fn entropy(counts: &[u64]) -> i128 {
    units::entropy(counts.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 5e-6
    }

    // algorithms.md F 15.
    #[test]
    fn worked_example_15_information_gain_per_privacy_lost() {
        assert!(close(
            entropy(&[6, 4]) as f64 / units::IN_ONE_BIT / 10.0,
            0.970_95
        ));
        assert!(close(
            entropy(&[5, 1]) as f64 / units::IN_ONE_BIT / 6.0,
            0.650_02
        ));
        assert!(close(
            entropy(&[1, 3]) as f64 / units::IN_ONE_BIT / 4.0,
            0.811_28
        ));
        let gain = information_gain(&[6, 4], &[vec![5, 1], vec![1, 3]]);
        assert!(close(gain, 0.256_43));
        assert!(close(per_anonymity_lost(gain, 8, 4), 0.051_29));
    }

    // algorithms.md F 17.
    #[test]
    fn worked_example_17_information_lost_per_privacy_gained() {
        let loss = information_gain(&[12, 8], &[vec![7, 1], vec![5, 7]]);
        assert!(close(loss, 0.165_60));
        assert!(close(per_anonymity_gained(loss, 3, 8), 0.027_60));
    }
}
