//! The trees of a task's quasi-identifiers, and its cells as a cut generalises them.

use std::sync::Arc;

use super::count::Count;
use super::cuts::{Cuts, Specialized};
use super::trees::Tree;
use crate::anonymize::cells::Cells;
use crate::anonymize::hierarchy::{Generalization, Level};

/// One tree per quasi-identifier.
#[derive(Debug)]
pub(crate) struct Forest<'a> {
    pub(crate) cells: &'a Cells,
    pub(crate) trees: Vec<Tree>,
}

impl<'a> Forest<'a> {
    pub(crate) fn new(cells: &'a Cells) -> Self {
        let attributes = cells.quasi_identifiers.iter();
        let trees = attributes.map(|attribute| Tree::new(&attribute.generalization));
        Self {
            cells,
            trees: trees.collect(),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.cells
            .quasi_identifiers
            .iter()
            .map(|attribute| &*attribute.name)
    }

    /// Number of cuts, in decimal.
    pub(crate) fn search_space(&self) -> String {
        let counts = self.trees.iter().map(Tree::cuts);
        counts
            .fold(Count::one(), |product, count| product.times(&count))
            .to_string()
    }

    pub(crate) fn paths(&self, cuts: &Cuts) -> Specialized {
        cuts.paths(&self.trees, self.names())
    }

    pub(crate) fn cuts(&self, paths: &Specialized) -> Cuts {
        Cuts::from_paths(&self.trees, self.names(), paths)
    }

    /// By attribute, the leaf of every cell.
    pub(crate) fn leaves_of_cells(&self) -> Vec<Vec<u32>> {
        let (cells, bottom) = (self.cells, self.cells.bottom());
        let of_attribute = |(attribute, tree): (usize, &Tree)| {
            let cells = (0..cells.len())
                .map(|cell| tree.leaf_of[bottom.node(cells, cell, attribute) as usize]);
            cells.collect()
        };
        self.trees.iter().enumerate().map(of_attribute).collect()
    }

    /// The same cells with a hierarchy of two levels, of which the upper one is the cut: there the policy of ones is the
    /// cut, and whatever holds of policies holds of cuts. Shares the cells; costs the values of the attributes.
    pub(crate) fn view(&self, cuts: &Cuts) -> Cells {
        let attributes = self.trees.iter().enumerate();
        let (mut quasi_identifiers, mut leaf_sums) = (Vec::new(), Vec::new());
        for (attribute, tree) in attributes {
            let source = &self.cells.quasi_identifiers[attribute];
            let (upper, leaf_sum) = upper(tree, cuts, attribute, &self.cells.value_rows[attribute]);
            let values = &source.generalization.levels[0];
            let lower = Level {
                node_of: Vec::new(),
                parent: upper.node_of.clone(),
                labels: Vec::new(),
                leaves: values.leaves.clone(),
            };
            leaf_sums.push(vec![self.cells.leaf_sums[attribute][0], leaf_sum]);
            let from_bottom = vec![source.from_bottom[0].clone(), upper.node_of.clone()];
            let domain = source.generalization.domain;
            let generalization = Generalization {
                levels: vec![lower, upper],
                domain,
            };
            quasi_identifiers.push(source.recoded(generalization, from_bottom));
        }
        Cells {
            rows: self.cells.rows,
            quasi_identifiers,
            layout: self.cells.layout.clone(),
            long_nodes: Arc::clone(&self.cells.long_nodes),
            bottom: Arc::clone(&self.cells.bottom),
            value_rows: Arc::clone(&self.cells.value_rows),
            leaf_sums,
        }
    }

    /// The policy of ones: the cut, in a view.
    pub(crate) fn ones(&self) -> Vec<u32> {
        vec![1; self.trees.len()]
    }
}

/// The cut as a level, whose `node_of` is by level-0 node; and the leaves over all rows.
pub(super) fn upper(
    tree: &Tree,
    cuts: &Cuts,
    attribute: usize,
    value_rows: &[u64],
) -> (Level, u128) {
    let nodes: Vec<u32> = cuts.nodes(tree, attribute).collect();
    let mut number_of = vec![0; tree.len()];
    for (&node, number) in nodes.iter().zip(0_u32..) {
        number_of[node as usize] = number;
    }
    let above = cuts.above(tree, attribute);
    let number = |&leaf: &u32| number_of[above[leaf as usize] as usize];
    let node_of: Vec<u32> = tree.leaf_of.iter().map(number).collect();
    let leaves: Vec<u64> = nodes
        .iter()
        .map(|&node| tree.nodes[node as usize].leaves)
        .collect();
    let rows = node_of.iter().zip(value_rows);
    let sum = rows
        .map(|(&node, &rows)| u128::from(leaves[node as usize]) * u128::from(rows))
        .sum();
    let labels = nodes
        .iter()
        .map(|&node| tree.nodes[node as usize].label.clone());
    let level = Level {
        node_of,
        parent: Vec::new(),
        labels: labels.collect(),
        leaves,
    };
    (level, sum)
}
