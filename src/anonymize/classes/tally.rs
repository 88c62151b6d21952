//! What measures sum up over the classes of a policy, in the one pass that also decides which classes stay.
//!
//! All sums are integers, so they do not depend on the order of classes and hence not on the table they were merged
//! from. Only what is wanted is summed: a search by depth and suppression pays for nothing else.

use super::keys::{Keys, Packed};
use super::labels::units;
use super::{ClassTable, Evaluation};
use crate::anonymize::cells::Cells;

/// Which sums the measures of a task read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a set of six independent wishes"
)]
pub struct Wanted {
    /// Leaves under the nodes of suppressed rows.
    pub leaves: bool,
    /// Rows under each node among the suppressed.
    pub nodes: bool,
    /// Combinations of leaves under released rows.
    pub volumes: bool,
    /// Sizes of released classes.
    pub sizes: bool,
    /// Rows beside the majority of the target attribute.
    pub labels: bool,
    /// Entropy of the label in classes.
    pub information: bool,
}

impl Wanted {
    /// What both want.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            leaves: self.leaves || other.leaves,
            nodes: self.nodes || other.nodes,
            volumes: self.volumes || other.volumes,
            sizes: self.sizes || other.sizes,
            labels: self.labels || other.labels,
            information: self.information || other.information,
        }
    }

    fn of_released(self) -> bool {
        self.volumes || self.sizes || self.labels || self.information
    }
}

/// The sums; those not asked for are empty or zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// By attribute: sum over suppressed rows of the leaves under their node.
    pub suppressed_leaves: Vec<u128>,
    /// By attribute and node of its level: suppressed rows.
    pub suppressed_nodes: Vec<Vec<u64>>,
    /// Sum of squares of the rows of released classes.
    pub released_squares: u128,
    /// The same of suppressed classes.
    pub suppressed_squares: u128,
    /// Sum over released rows of the combinations of leaves under their nodes, in units of [`Volumes`].
    pub released_volume: u128,
    /// Sum of the sizes of released classes.
    pub released_size: u64,
    /// Released rows that do not bear the most frequent target value of their class.
    pub minority_rows: u64,
    /// Released rows that do, in classes with several equally frequent ones.
    pub tied_majority_rows: u64,
    /// Rows times the entropy of their labels, summed over released classes and that of all suppressed rows, in units
    /// of 2^-32 bits.
    pub entropy_left: i128,
}

impl Totals {
    /// Adds the leaves and nodes of one attribute of (node, class) pairs.
    fn add(
        &mut self,
        wanted: Wanted,
        attribute: usize,
        leaves: &[u64],
        rows: &[u32],
        of_class: impl Iterator<Item = (u32, usize)> + Clone,
    ) {
        if wanted.leaves {
            let sums = of_class
                .clone()
                .map(|(node, class)| u128::from(rows[class]) * u128::from(leaves[node as usize]));
            self.suppressed_leaves[attribute] += sums.sum::<u128>();
        }
        if wanted.nodes {
            let nodes = &mut self.suppressed_nodes[attribute];
            for (node, class) in of_class {
                nodes[node as usize] += u64::from(rows[class]);
            }
        }
    }
}

/// Products of leaves over all attributes, as integers whose sum over all rows fits.
///
/// They are exact if the whole domain times the rows has at most 126 bits; beyond that they are counted in units of
/// the size that brings them there, each class rounded down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Volumes {
    /// All combinations of leaves.
    pub whole: f64,
    /// What 1 stands for; 1 where exact.
    pub unit: f64,
}

impl Volumes {
    /// Of the given cells.
    #[must_use]
    pub fn of(cells: &Cells) -> Self {
        let domains = cells.quasi_identifiers.iter();
        let whole = domains
            .map(|attribute| attribute.generalization.domain as f64)
            .product::<f64>()
            .min(f64::MAX / 1e30);
        let unit = whole * (cells.rows.max(1) as f64) / 2_f64.powi(126);
        Self {
            whole,
            unit: unit.max(1.0),
        }
    }

    /// Whether sums are exact.
    #[must_use]
    pub fn are_exact(self) -> bool {
        self.unit <= 1.0
    }

    /// Rows times the product of their leaves, in units.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a quotient of positive numbers, rounded down"
    )]
    pub fn times(self, rows: u64, leaves: impl Iterator<Item = u64>) -> u128 {
        if self.are_exact() {
            leaves.fold(u128::from(rows), |product, leaves| {
                product.saturating_mul(u128::from(leaves))
            })
        } else {
            let product = leaves.fold(rows as f64, |product, leaves| product * leaves as f64);
            (product / self.unit) as u128
        }
    }
}

/// Totals up the classes of one table.
pub(super) struct Tally<'a> {
    table: &'a ClassTable,
    cells: &'a Cells,
    wanted: Wanted,
    volumes: Option<Volumes>,
    suppressed_rows: u64,
    /// Suppressed classes, where something is summed up over them.
    suppressed: Vec<usize>,
    classes: u64,
    totals: Totals,
    /// Suppressed rows by label.
    suppressed_labels: Vec<u64>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(table: &'a ClassTable, cells: &'a Cells, wanted: Wanted) -> Self {
        let attributes = cells.quasi_identifiers.len();
        let mut totals = Totals::default();
        if wanted.leaves {
            totals.suppressed_leaves = vec![0; attributes];
        }
        if wanted.nodes {
            let nodes = |attribute| vec![0; leaves(table, cells, attribute).len()];
            totals.suppressed_nodes = (0..attributes).map(nodes).collect();
        }
        Self {
            table,
            cells,
            wanted,
            volumes: wanted.volumes.then(|| Volumes::of(cells)),
            suppressed_rows: 0,
            suppressed: Vec::new(),
            classes: 0,
            totals,
            suppressed_labels: Vec::new(),
        }
    }

    /// A class that is released.
    #[inline]
    pub(super) fn release(&mut self, class: usize) {
        self.classes += 1;
        if self.wanted.of_released() {
            self.add_released(class);
        }
    }

    fn add_released(&mut self, class: usize) {
        let (table, totals) = (self.table, &mut self.totals);
        let rows = table.rows[class];
        if self.wanted.sizes {
            totals.released_squares += u128::from(rows) * u128::from(rows);
            totals.released_size += table.view(class).size();
        }
        if let Some(volumes) = self.volumes {
            let attributes = 0..self.cells.quasi_identifiers.len();
            let leaves = attributes.map(|attribute| {
                let node = table.node(self.cells, class, attribute) as usize;
                leaves(table, self.cells, attribute)[node]
            });
            totals.released_volume += volumes.times(u64::from(rows), leaves);
        }
        if let Some(labels) = table.labels.as_ref().filter(|_| self.wanted.information) {
            totals.entropy_left += labels.entropy(class);
        }
        if let Some(labels) = table.labels.as_ref().filter(|_| self.wanted.labels) {
            let majority = labels.majority(class);
            totals.minority_rows += u64::from(rows - majority.rows);
            if majority.is_tied {
                totals.tied_majority_rows += u64::from(majority.rows);
            }
        }
    }

    /// A class that is suppressed.
    #[inline]
    pub(super) fn suppress(&mut self, class: usize) {
        let rows = self.table.rows[class];
        self.suppressed_rows += u64::from(rows);
        if self.wanted.sizes {
            self.totals.suppressed_squares += u128::from(rows) * u128::from(rows);
        }
        if let Some(labels) = self
            .table
            .labels
            .as_ref()
            .filter(|_| self.wanted.information)
        {
            labels.add_to(class, &mut self.suppressed_labels);
        }
        if self.wanted.leaves || self.wanted.nodes {
            self.suppressed.push(class);
        }
    }

    /// Sums up the suppressed classes, an attribute at a time.
    fn add_suppressed(&mut self) {
        let table = self.table;
        for attribute in 0..self.cells.quasi_identifiers.len() {
            let leaves = leaves(table, self.cells, attribute);
            let field = self.cells.layout.fields[attribute];
            let suppressed = self.suppressed.iter();
            let (totals, wanted, rows) = (&mut self.totals, self.wanted, &table.rows);
            if let Keys::Narrow(keys) = &table.keys {
                let of_class = suppressed.map(|&class| (keys[class].node(field), class));
                totals.add(wanted, attribute, leaves, rows, of_class);
            } else {
                let node = |class| table.node(self.cells, class, attribute);
                let of_class = suppressed.map(|&class| (node(class), class));
                totals.add(wanted, attribute, leaves, rows, of_class);
            }
        }
    }

    pub(super) fn finish(mut self) -> Evaluation {
        self.totals.entropy_left += units::entropy(self.suppressed_labels.iter().copied());
        self.add_suppressed();
        Evaluation {
            levels: self.table.levels.clone(),
            rows: self.cells.rows,
            suppressed_rows: self.suppressed_rows,
            core_suppressed_rows: self.suppressed_rows,
            classes: self.classes,
            totals: self.totals,
        }
    }
}

/// Leaves under each node of an attribute on the table's level.
fn leaves<'a>(table: &ClassTable, cells: &'a Cells, attribute: usize) -> &'a [u64] {
    let level = table.levels[attribute] as usize;
    &cells.quasi_identifiers[attribute].generalization.levels[level].leaves
}
