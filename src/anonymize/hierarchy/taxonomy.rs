//! Hierarchies as nested labels: the leaves are the values, the root is released as `*`.
//!
//! Leaves may lie at unequal depth: a leaf that is nearer to the root stays itself on the levels below its own, so that
//! every value has a node on every level. Two inner nodes may bear one label; two leaves may not.

use rustc_hash::FxHashSet;

use super::tree::{Tree, TreeLevel};
use super::{TOP, is_missing, trimmed};
use crate::declaration::{AttributeDeclaration, TaxonomyNode};
use crate::fault::{Fault, FaultCode, Faults};

/// Compiles the children of the root; pushes every fault of them.
pub(super) fn compile(
    children: &[TaxonomyNode],
    attribute: &AttributeDeclaration,
    pointer: &str,
    faults: &mut Faults,
) -> Option<Tree> {
    if children.is_empty() {
        let detail = "the root of a taxonomy needs children";
        let place = format!("{pointer}/children");
        faults.push(Fault::at(place, FaultCode::HierarchyInvalid, detail));
        return None;
    }
    let before = faults.count();
    let height = 1 + children.iter().map(height).max().unwrap_or(0);
    let mut planting = Planting {
        attribute,
        faults,
        levels: vec![TreeLevel::default(); height + 1],
        leaves: FxHashSet::default(),
    };
    let root = planting.levels[height].add(TOP, 0);
    planting.children(children, height, root, pointer);
    let levels = planting.levels;
    (faults.count() == before).then(|| Tree::new(levels))
}

/// Levels above the deepest leaf under a node.
fn height(node: &TaxonomyNode) -> usize {
    let children = node.children.iter().map(height).max();
    children.map_or(0, |deepest| deepest + 1)
}

struct Planting<'a> {
    attribute: &'a AttributeDeclaration,
    faults: &'a mut Faults,
    levels: Vec<TreeLevel>,
    leaves: FxHashSet<String>,
}

impl Planting<'_> {
    /// Adds the children of a node of `level`.
    fn children(&mut self, children: &[TaxonomyNode], level: usize, parent: u32, pointer: &str) {
        for (position, child) in children.iter().enumerate() {
            let pointer = format!("{pointer}/children/{position}");
            let label = trimmed(self.attribute, &child.label);
            if child.children.is_empty() {
                self.leaf(label, level, parent, &pointer);
                continue;
            }
            if label.is_empty() {
                let detail = "the label of an inner node is empty";
                let place = format!("{pointer}/label");
                self.faults
                    .push(Fault::at(place, FaultCode::HierarchyInvalid, detail));
            }
            let node = self.levels[level - 1].add(&label, parent);
            self.children(&child.children, level - 1, node, &pointer);
        }
    }

    /// Adds a leaf below a node of `level`, on every level down to 0.
    fn leaf(&mut self, label: String, level: usize, mut parent: u32, pointer: &str) {
        if is_missing(self.attribute, &label) {
            return;
        }
        for below in (0..level).rev() {
            parent = self.levels[below].add(&label, parent);
        }
        if self.leaves.contains(&label) {
            let detail = "a value is the leaf of more than one branch";
            let place = format!("{pointer}/label");
            let fault = Fault::at(place, FaultCode::HierarchyAmbiguous, detail);
            self.faults.push(fault.sample([label]));
        } else {
            self.leaves.insert(label);
        }
    }
}
