//! Generalization hierarchies: one nested form, many builders.
//!
//! A [`Hierarchy`] is compiled from a declaration alone: its level count never depends on data (user-cases UC-06).
//! [`Hierarchy::encode`] turns it into tables over a column's dictionary, which is all that a search reads. A node is
//! known by (level, number), never by its label: two nodes may bear one label.
//!
//! Every kind is a way from a value to its chain of nodes (`encode::Chain`); whether the chains nest is settled when
//! the hierarchy is compiled, by checking lines and widths, or by construction. Missing needs no line: it is a node of
//! its own on every level and becomes `*` at the top only (user-cases D2).

mod dates;
mod encode;
pub mod grown;
mod intervals;
mod prefix;
mod splits;
mod table;
mod taxonomy;
mod tree;
mod zip3;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::anonymize::safe_harbor::{Zip3List, Zip3Width};
use crate::anonymize::table::Dictionary;
use crate::declaration::{AttributeDeclaration, HierarchyDeclaration, ValueType};
use crate::fault::{Fault, FaultCode, Faults};
use dates::Dates;
use encode::Chain;
use intervals::Intervals;
use prefix::Prefix;
use splits::Splits;
use tree::Tree;
use zip3::Zip3;

/// The label of the topmost node.
const TOP: &str = "*";

/// The most faults listed for one hierarchy: a wrong file has one per line.
const MOST_FAULTS: usize = 50;

/// A validated hierarchy.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    kind: Kind,
    digest: [u8; 32],
}

/// How a value finds its nodes.
#[derive(Debug, Clone)]
enum Kind {
    /// The value, then `*`.
    Flat(Flat),
    /// A finite tree: `table` and `taxonomy`.
    Tree(Tree),
    Intervals(Intervals),
    Prefix(Prefix),
    Dates(Dates),
    Zip3(Zip3),
    Splits(Splits),
}

/// Calls one thing on whichever kind it is.
macro_rules! with_kind {
    ($kind:expr, $chain:ident => $body:expr) => {
        match $kind {
            Kind::Flat($chain) => $body,
            Kind::Tree($chain) => $body,
            Kind::Intervals($chain) => $body,
            Kind::Prefix($chain) => $body,
            Kind::Dates($chain) => $body,
            Kind::Zip3($chain) => $body,
            Kind::Splits($chain) => $body,
        }
    };
}

/// Why a value has no place in a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uncovered {
    /// No line, leaf or rule for it.
    Missing,
    /// Outside the declared range, or longer than the first entry of `keep`.
    OutOfRange,
    /// Not of the declared type.
    Invalid,
}

/// A hierarchy over the values of one dictionary.
#[derive(Debug, Clone)]
pub struct Generalization {
    /// From level 0 (the values) to the top (one node).
    pub levels: Vec<Level>,
    /// Size of the domain, |D|, at least 2: leaves of the declared hierarchy, or distinct values where it is open.
    pub domain: u64,
}

/// One level.
#[derive(Debug, Clone)]
pub struct Level {
    /// Node of each value code (index 0: of missing).
    pub node_of: Vec<u32>,
    /// Node on the next level of each node; empty on the top level.
    pub parent: Vec<u32>,
    /// Released label of each node; `None` for the node of missing (node 0) below the top.
    pub labels: Vec<Option<Box<str>>>,
    /// Leaves of the domain under each node, at least 1 and at most the domain; 1 for the node of missing.
    pub leaves: Vec<u64>,
}

impl Hierarchy {
    /// Compiles an attribute's hierarchy (the implicit two levels if none is declared).
    ///
    /// # Errors
    /// Every fault (at most 50, then their number), with a pointer below `pointer`, column, line and a sample of labels.
    pub fn compile(attribute: &AttributeDeclaration, pointer: &str) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::at_most(MOST_FAULTS);
        let kind = Self::kind(attribute, pointer, &mut faults);
        faults.name_column(0, &attribute.name);
        let digest = digest(attribute);
        faults.finish(kind.map(|kind| Self { kind, digest }))
    }

    fn kind(attribute: &AttributeDeclaration, pointer: &str, faults: &mut Faults) -> Option<Kind> {
        match &attribute.hierarchy {
            None => Some(Kind::Flat(Flat)),
            Some(HierarchyDeclaration::Table {
                delimiter,
                text,
                rows,
            }) => {
                let source = table::Source {
                    delimiter: delimiter.as_deref(),
                    text: text.as_deref(),
                    rows: rows.as_deref(),
                };
                table::compile(&source, attribute, pointer, faults).map(Kind::Tree)
            }
            Some(HierarchyDeclaration::Taxonomy { children, .. }) => {
                taxonomy::compile(children, attribute, pointer, faults).map(Kind::Tree)
            }
            Some(HierarchyDeclaration::Prefix { keep }) => {
                Prefix::compile(keep, pointer, faults).map(Kind::Prefix)
            }
            Some(HierarchyDeclaration::Dates { levels }) => {
                Dates::compile(levels, attribute, pointer, faults).map(Kind::Dates)
            }
            Some(HierarchyDeclaration::Zip3 { list, width }) => {
                zip3(*list, *width, attribute, pointer, faults).map(Kind::Zip3)
            }
            Some(HierarchyDeclaration::Splits { points }) => {
                Splits::compile(points, attribute, pointer, faults).map(Kind::Splits)
            }
            Some(declaration @ HierarchyDeclaration::Intervals { .. }) => {
                Intervals::compile(declaration, attribute, pointer, faults).map(Kind::Intervals)
            }
        }
    }

    /// Number of levels, at least 2.
    #[must_use]
    pub fn levels(&self) -> usize {
        with_kind!(&self.kind, chain => chain.levels())
    }

    /// Number of leaves of the declared domain; `None` where it is open and only the data can tell.
    #[must_use]
    pub fn domain(&self) -> Option<u64> {
        with_kind!(&self.kind, chain => chain.domain())
    }

    /// Whether a non-missing value has its place.
    ///
    /// # Errors
    /// Why not.
    pub fn covers(&self, value: &str) -> Result<(), Uncovered> {
        with_kind!(&self.kind, chain => chain.nodes(value).map(|_| ()))
    }

    /// Labels of a value from level 0 to `*`; `None` entries where a missing value stays missing.
    ///
    /// # Errors
    /// The value has no place.
    pub fn path(&self, value: Option<&str>) -> Result<Vec<Option<String>>, Uncovered> {
        let mut labels = match value {
            None => vec![None; self.levels() - 1],
            Some(value) => with_kind!(&self.kind, chain => encode::labels(chain, value))?,
        };
        labels.push(Some(TOP.to_owned()));
        Ok(labels)
    }

    /// The values of a finite hierarchy, a table or a taxonomy, in declared order; `None` of all others.
    #[must_use]
    pub fn leaves(&self) -> Option<Vec<&str>> {
        match &self.kind {
            Kind::Tree(tree) => Some(tree.leaves().collect()),
            _ => None,
        }
    }

    /// SHA-256 of the declaration's canonical JSON form (attribute type, format, trim and hierarchy): its version.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Tables over a dictionary. Every value must be covered (ingest has checked that).
    ///
    /// Nodes are numbered in the order in which the dictionary's values reach them, after the node of missing; nodes
    /// that no value reaches are left out. Cost: one chain of nodes per value.
    ///
    /// # Errors
    /// The code of the first value that is not covered.
    pub fn encode(&self, dictionary: &Dictionary) -> Result<Generalization, u32> {
        with_kind!(&self.kind, chain => encode::encode(chain, dictionary))
    }
}

/// ZIP codes are texts: as a number one loses its leading zero.
fn zip3(
    list: Zip3List,
    width: Zip3Width,
    attribute: &AttributeDeclaration,
    pointer: &str,
    faults: &mut Faults,
) -> Option<Zip3> {
    if attribute.value_type != ValueType::Text {
        let detail = "ZIP codes begin with zeros: declare `type`: `text`";
        let place = format!("{pointer}/kind");
        faults.push(Fault::at(place, FaultCode::TypeConflict, detail));
        return None;
    }
    Some(Zip3 { list, width })
}

/// The value, then `*`.
#[derive(Debug, Clone, Copy)]
struct Flat;

impl Chain for Flat {
    type Node = Box<str>;

    fn levels(&self) -> usize {
        2
    }

    fn nodes(&self, value: &str) -> Result<Vec<Box<str>>, Uncovered> {
        Ok(vec![Box::from(value)])
    }

    fn label(&self, _: usize, node: &Box<str>) -> Box<str> {
        node.clone()
    }
}

/// Digest of everything that decides what a value becomes; keys are sorted, so a store may reorder them.
fn digest(attribute: &AttributeDeclaration) -> [u8; 32] {
    let mut form = json!({
        "type": attribute.value_type,
        "format": attribute.format,
        "trim": attribute.trim,
        "hierarchy": attribute.hierarchy,
    });
    form.sort_all_objects();
    Sha256::digest(form.to_string()).into()
}

/// The text of a cell as the attribute reads it.
fn trimmed(attribute: &AttributeDeclaration, text: &str) -> String {
    let text = if attribute.trim { text.trim() } else { text };
    text.to_owned()
}

/// Whether a text of the hierarchy means missing in cells: such a line or leaf is never looked up.
fn is_missing(attribute: &AttributeDeclaration, text: &str) -> bool {
    attribute.missing.iter().any(|marker| marker == text)
}
