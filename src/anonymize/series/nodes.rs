//! Nodes by their labels, and the way from a value through the cut to its node.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::{ClassKey, CutSet, NodeKey, Value};
use crate::anonymize::hierarchy::{Hierarchy, Uncovered};

impl NodeKey {
    /// The node of these labels, its own first, the top's last.
    #[must_use]
    pub fn of(labels: &[Option<String>]) -> Self {
        Self(json!(labels).to_string().into())
    }

    /// Its labels, its own first. A text that is no key has none.
    #[must_use]
    pub fn labels(&self) -> Vec<Option<String>> {
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// What a release shows: its own label, `None` for missing.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.labels().into_iter().next().flatten()
    }

    /// The node above; `None` of the top.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let labels = self.labels();
        (labels.len() > 1).then(|| Self::of(&labels[1..]))
    }

    /// Whether another node stands above it.
    ///
    /// The text after the first bracket of the one ends that of the other: read backwards, whether a quote opens or
    /// closes a label is the same in both, so no label can feign it.
    #[must_use]
    pub fn is_below(&self, above: &Self) -> bool {
        let rest = self.0.strip_suffix(&above.0[1..]);
        rest.is_some_and(|rest| rest.len() > 1 && rest.ends_with(','))
    }
}

/// The nodes of a value from its own to the top; missing is one node below the top.
fn chain(hierarchy: &Hierarchy, value: &Value) -> Result<Vec<NodeKey>, Uncovered> {
    let labels = hierarchy.path(value.as_deref())?;
    let from = if value.is_some() {
        0
    } else {
        labels.len().saturating_sub(2)
    };
    let levels = from..labels.len();
    Ok(levels.map(|level| NodeKey::of(&labels[level..])).collect())
}

/// Place in a chain of the node through which the cut goes.
fn cut_place(cuts: &CutSet, attribute: usize, chain: &[NodeKey]) -> usize {
    let specialised = cuts.specialised.get(attribute);
    let is_open = |node: &NodeKey| specialised.is_some_and(|nodes| nodes.contains(node));
    let mut place = chain.len() - 1;
    while place > 0 && is_open(&chain[place]) {
        place -= 1;
    }
    place
}

/// The class of a tuple of quasi-identifying values under a cut.
///
/// # Errors
/// A value has no place in its hierarchy.
pub fn class_key(
    cuts: &CutSet,
    hierarchies: &[Arc<Hierarchy>],
    tuple: &[Value],
) -> Result<ClassKey, Uncovered> {
    let attributes = hierarchies.iter().zip(tuple).enumerate();
    let nodes = attributes.map(|(attribute, (hierarchy, value))| {
        let chain = chain(hierarchy, value)?;
        Ok(chain[cut_place(cuts, attribute, &chain)].clone())
    });
    Ok(ClassKey(nodes.collect::<Result<Vec<_>, _>>()?.into()))
}

/// The same with every value's chain kept.
#[derive(Debug)]
pub(super) struct Places<'a> {
    hierarchies: &'a [Arc<Hierarchy>],
    chains: Vec<HashMap<Value, Arc<[NodeKey]>>>,
}

impl<'a> Places<'a> {
    pub(super) fn new(hierarchies: &'a [Arc<Hierarchy>]) -> Self {
        Self {
            hierarchies,
            chains: vec![HashMap::new(); hierarchies.len()],
        }
    }

    /// Ingest refuses a value that has no place; should one be met after all, it belongs to the top.
    fn chain(&mut self, attribute: usize, value: &Value) -> Arc<[NodeKey]> {
        if let Some(chain) = self.chains[attribute].get(value) {
            return Arc::clone(chain);
        }
        let hierarchy = &self.hierarchies[attribute];
        let top = || vec![NodeKey::of(&[Some("*".to_owned())])];
        let chain: Arc<[NodeKey]> = chain(hierarchy, value).unwrap_or_else(|_| top()).into();
        self.chains[attribute].insert(value.clone(), Arc::clone(&chain));
        chain
    }

    /// The cut node of a value.
    pub(super) fn node(&mut self, cuts: &CutSet, attribute: usize, value: &Value) -> NodeKey {
        let chain = self.chain(attribute, value);
        chain[cut_place(cuts, attribute, &chain)].clone()
    }

    /// The child of a cut node under which a value stands.
    pub(super) fn child(&mut self, attribute: usize, value: &Value, node: &NodeKey) -> NodeKey {
        let chain = self.chain(attribute, value);
        let place = chain.iter().position(|one| one == node);
        let below = place.and_then(|place| place.checked_sub(1));
        below.map_or_else(|| node.clone(), |place| chain[place].clone())
    }

    /// The class of a tuple.
    pub(super) fn key(&mut self, cuts: &CutSet, tuple: &[Value]) -> ClassKey {
        let nodes = (0..self.hierarchies.len())
            .map(|attribute| self.node(cuts, attribute, &tuple[attribute]));
        ClassKey(nodes.collect())
    }
}

impl ClassKey {
    /// The same with another node of one attribute.
    pub(super) fn with(&self, attribute: usize, node: &NodeKey) -> Self {
        let nodes = self.0.iter().enumerate();
        let nodes = nodes.map(|(place, old)| if place == attribute { node } else { old });
        Self(nodes.cloned().collect())
    }
}

/// The share of an attribute's domain that each node covers.
#[derive(Debug)]
pub(super) struct Shares {
    levels: usize,
    /// Leaves under each node, and of all, where the hierarchy is finite.
    leaves: Option<(HashMap<NodeKey, u64>, u64)>,
}

impl Shares {
    /// Cost: of a finite hierarchy, leaves times levels.
    pub(super) fn of(hierarchy: &Hierarchy) -> Self {
        let leaves = hierarchy.leaves().map(|values| {
            let mut under = HashMap::new();
            for value in &values {
                let chain = chain(hierarchy, &Some(Arc::from(*value))).unwrap_or_default();
                for node in chain {
                    *under.entry(node).or_insert(0) += 1;
                }
            }
            (under, values.len() as u64)
        });
        Self {
            levels: hierarchy.levels(),
            leaves,
        }
    }

    /// The normalized certainty penalty of a node, `0..=1` (algorithms.md D.7): 0 of a value or of missing, 1 of the
    /// top; between them its leaves over all where the hierarchy is finite, else its level over the top's.
    pub(super) fn share(&self, node: &NodeKey) -> f64 {
        let labels = node.labels();
        if labels.len() <= 1 {
            return 1.0;
        }
        if labels[0].is_none() {
            return 0.0;
        }
        if let Some((under, all)) = &self.leaves {
            let leaves = under.get(node).copied().unwrap_or(1);
            return if leaves > 1 {
                leaves as f64 / *all as f64
            } else {
                0.0
            };
        }
        let level = self.levels.saturating_sub(labels.len());
        level as f64 / (self.levels - 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(labels: &[Option<&str>]) -> NodeKey {
        let labels: Vec<_> = labels
            .iter()
            .map(|label| label.map(str::to_owned))
            .collect();
        NodeKey::of(&labels)
    }

    #[test]
    fn a_node_is_below_its_ancestors_only_whatever_its_label() {
        let labels = ["a", ",", "\"", "\",\"a", "a\\", "a,\"b", "[", "*"];
        let mut nodes = vec![key(&[Some("*")]), key(&[None, Some("*")])];
        for one in labels {
            nodes.push(key(&[Some(one), Some("*")]));
            for other in labels {
                nodes.push(key(&[Some(one), Some(other), Some("*")]));
            }
        }
        for node in &nodes {
            for above in &nodes {
                let (low, high) = (node.labels(), above.labels());
                let expected = low.len() > high.len() && low.ends_with(&high);
                assert_eq!(node.is_below(above), expected, "{node:?} {above:?}");
            }
            assert_eq!(node.parent().is_some(), node.labels().len() > 1);
        }
    }
}
