//! Cuts: per attribute, a set of nodes that every way from the root to a leaf meets once (algorithms.md C.3).
//!
//! A cut is held as the inner nodes that are specialised, each with its parent; its nodes are those right below a
//! specialised one that are not. So it keeps its meaning when later data bring new values.

use std::collections::{BTreeMap, BTreeSet};

use super::trees::{NodePath, Tree};
use crate::anonymize::policy::Policy;

/// The specialised nodes of every attribute, by outside name.
pub type Specialized = BTreeMap<String, Vec<NodePath>>;

/// One cut per attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cuts {
    /// By attribute and node: whether it is specialised.
    specialized: Vec<Vec<bool>>,
}

impl Cuts {
    /// Everything generalised to the roots.
    #[must_use]
    pub fn roots(trees: &[Tree]) -> Self {
        Self {
            specialized: trees.iter().map(|tree| vec![false; tree.len()]).collect(),
        }
    }

    /// Nothing generalised.
    #[must_use]
    pub fn leaves(trees: &[Tree]) -> Self {
        let mut cuts = Self::roots(trees);
        for (flags, tree) in cuts.specialized.iter_mut().zip(trees) {
            for &node in &tree.inner {
                flags[node as usize] = true;
            }
        }
        cuts
    }

    pub(crate) fn is_specialized(&self, attribute: usize, node: u32) -> bool {
        self.specialized[attribute][node as usize]
    }

    /// Replaces a node of the cut by its children.
    pub(crate) fn specialize(&mut self, attribute: usize, node: u32) {
        self.specialized[attribute][node as usize] = true;
    }

    /// Puts a node in place of its children, which all lie in the cut.
    pub(crate) fn generalize(&mut self, attribute: usize, node: u32) {
        self.specialized[attribute][node as usize] = false;
    }

    /// Whether the children of a node all lie in the cut.
    pub(crate) fn is_parent_of_cut(&self, tree: &Tree, attribute: usize, node: u32) -> bool {
        let flags = &self.specialized[attribute];
        flags[node as usize] && tree.children(node).all(|child| !flags[child as usize])
    }

    /// Takes the flags of a subtree from another cut.
    pub(crate) fn graft(&mut self, other: &Self, tree: &Tree, attribute: usize, node: u32) {
        let range = node as usize..tree.nodes[node as usize].end as usize;
        self.specialized[attribute][range.clone()]
            .copy_from_slice(&other.specialized[attribute][range]);
    }

    /// Clears every flag below one that is not set.
    pub(crate) fn repair(&mut self, trees: &[Tree]) {
        for (flags, tree) in self.specialized.iter_mut().zip(trees) {
            for &node in &tree.inner {
                // A parent has a lower number, so it is settled already.
                let parent = tree.nodes[node as usize].parent;
                flags[node as usize] &= node == 0 || flags[parent as usize];
            }
        }
    }

    /// Whether each specialised node has a specialised parent.
    #[cfg(test)]
    pub(crate) fn is_sound(&self, trees: &[Tree]) -> bool {
        let mut repaired = self.clone();
        repaired.repair(trees);
        repaired == *self
    }

    /// The nodes of an attribute's cut, ascending.
    pub(crate) fn nodes<'a>(
        &'a self,
        tree: &'a Tree,
        attribute: usize,
    ) -> impl Iterator<Item = u32> + 'a {
        let flags = &self.specialized[attribute];
        let numbered = tree.nodes.iter().zip(0_u32..);
        numbered
            .filter(move |(node, number)| {
                !flags[*number as usize] && (*number == 0 || flags[node.parent as usize])
            })
            .map(|(_, number)| number)
    }

    /// The cut's node above each node below the cut; of nodes above it, themselves.
    pub(crate) fn above(&self, tree: &Tree, attribute: usize) -> Vec<u32> {
        let flags = &self.specialized[attribute];
        let mut above: Vec<u32> = (0..).take(tree.len()).collect();
        for (number, node) in tree.nodes.iter().enumerate().skip(1) {
            let parent = node.parent as usize;
            if !flags[parent] {
                above[number] = above[parent];
            }
        }
        above
    }

    /// As a policy: per inner node 1 where it is not specialised. One policy is below another if it generalises no
    /// attribute more.
    pub(crate) fn to_policy(&self, trees: &[Tree]) -> Policy {
        let flags = self.specialized.iter().zip(trees);
        let bits = flags.flat_map(|(flags, tree)| {
            tree.inner
                .iter()
                .map(|&node| u32::from(!flags[node as usize]))
        });
        Policy::new(bits.collect::<Vec<_>>())
    }

    /// What [`Cuts::to_policy`] was made of.
    pub(crate) fn from_policy(trees: &[Tree], policy: &Policy) -> Self {
        let mut cuts = Self::roots(trees);
        let inner = trees.iter().enumerate();
        let places = inner
            .flat_map(|(attribute, tree)| tree.inner.iter().map(move |&node| (attribute, node)));
        for ((attribute, node), &bit) in places.zip(policy.levels()) {
            cuts.specialized[attribute][node as usize] = bit == 0;
        }
        cuts
    }

    /// The specialised nodes by outside name, ascending.
    #[must_use]
    pub fn paths<'a>(&self, trees: &[Tree], names: impl Iterator<Item = &'a str>) -> Specialized {
        let attributes = names.zip(trees).zip(&self.specialized);
        let paths = attributes.map(|((name, tree), flags)| {
            let nodes = tree.inner.iter().filter(|&&node| flags[node as usize]);
            (
                name.to_owned(),
                nodes.map(|&node| tree.path(node)).collect(),
            )
        });
        paths.collect()
    }

    /// The cuts that these nodes make; nodes that no value reaches, or whose parent is not among them, count for nothing.
    #[must_use]
    pub fn from_paths<'a>(
        trees: &[Tree],
        names: impl Iterator<Item = &'a str>,
        paths: &Specialized,
    ) -> Self {
        let mut cuts = Self::roots(trees);
        for (attribute, name) in names.enumerate() {
            let Some(tree) = trees.get(attribute) else {
                break;
            };
            let wanted: BTreeSet<&NodePath> = paths.get(name).into_iter().flatten().collect();
            for &node in &tree.inner {
                let is_open =
                    node == 0 || cuts.is_specialized(attribute, tree.nodes[node as usize].parent);
                if is_open && !wanted.is_empty() && wanted.contains(&tree.path(node)) {
                    cuts.specialize(attribute, node);
                }
            }
        }
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::super::trees::tests::generalization;
    use super::*;

    fn tree() -> Tree {
        Tree::new(&generalization(&[
            &["a", "ab", "*"],
            &["b", "ab", "*"],
            &["c", "cd", "*"],
            &["d", "cd", "*"],
        ]))
    }

    #[test]
    fn a_cut_survives_paths_and_policies_and_new_values() {
        // Nodes: 0 *, 1 missing, 2 ab, 3 a, 4 b, 5 cd, 6 c, 7 d.
        let trees = [tree()];
        let mut cuts = Cuts::roots(&trees);
        cuts.specialize(0, 0);
        cuts.specialize(0, 5);
        assert_eq!(cuts.nodes(&trees[0], 0).collect::<Vec<_>>(), [1, 2, 6, 7]);
        assert_eq!(cuts.above(&trees[0], 0), [0, 1, 2, 2, 2, 5, 6, 7]);
        assert_eq!(Cuts::from_policy(&trees, &cuts.to_policy(&trees)), cuts);
        let names = || ["x"].into_iter();
        let paths = cuts.paths(&trees, names());
        assert_eq!(paths["x"].len(), 2);
        assert_eq!(Cuts::from_paths(&trees, names(), &paths), cuts);
        let grown = [Tree::new(&generalization(&[
            &["a", "ab", "*"],
            &["c", "cd", "*"],
            &["cc", "cd", "*"],
            &["e", "e-", "*"],
        ]))];
        let later = Cuts::from_paths(&grown, names(), &paths);
        let labels: Vec<_> = later
            .nodes(&grown[0], 0)
            .map(|node| grown[0].nodes[node as usize].label.as_deref())
            .collect();
        assert_eq!(
            labels,
            [None, Some("ab"), Some("c"), Some("cc"), Some("e-")]
        );
    }

    #[test]
    fn repair_clears_what_hangs_in_the_air() {
        let trees = [tree()];
        let mut cuts = Cuts::roots(&trees);
        cuts.specialize(0, 5);
        assert!(!cuts.is_sound(&trees));
        cuts.repair(&trees);
        assert_eq!(cuts, Cuts::roots(&trees));
        let mut grafted = Cuts::leaves(&trees);
        assert!(grafted.is_sound(&trees) && grafted.is_parent_of_cut(&trees[0], 0, 5));
        assert!(!grafted.is_parent_of_cut(&trees[0], 0, 0));
        grafted.graft(&cuts, &trees[0], 0, 2);
        assert_eq!(
            grafted.nodes(&trees[0], 0).collect::<Vec<_>>(),
            [1, 2, 6, 7]
        );
        grafted.generalize(0, 5);
        assert!(grafted.is_parent_of_cut(&trees[0], 0, 0));
    }
}
