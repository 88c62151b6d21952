//! What classes of rows bear, in leaves of the declared hierarchies: the measure of labels, taken of intervals and sets.
//!
//! An interval stands for the leaves from its one end to the other, a common ancestor for those below it, a set for its
//! values; where some rows of a class lack a value and others do not, for the whole domain. The same count of leaves over
//! the same domain is what a label of a level or a cut costs, so one loss measures all of them.

use crate::anonymize::Error;
use crate::anonymize::clusters::scale::{self, Scale};
use crate::anonymize::hierarchy::{Generalization, Hierarchy, Level};
use crate::anonymize::order;
use crate::anonymize::rows::QuasiIdentifier;
use crate::anonymize::table::{Attribute, Column, MISSING};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Attributes whose values are the classes themselves, one level each, every class with the leaves that it bears.
///
/// Cost: one pass over the rows per attribute.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub(super) fn of_classes(
    attributes: &[(&Attribute, &Column)],
    class_of: &[u32],
) -> Result<Vec<QuasiIdentifier>, Error> {
    let classes = class_of.iter().max().map_or(0, |&last| last as usize + 1);
    let width = classes.to_string().len();
    let labels: Vec<Option<Box<str>>> = (0..classes)
        .map(|class| Some(format!("{class:0width$}").into()))
        .collect();
    let of_attribute = |&(attribute, column): &(&Attribute, &Column)| {
        let name = &attribute.declaration.name;
        let uncovered = || Error::Uncovered {
            column: name.clone(),
            values: 1,
        };
        let hierarchy = attribute.hierarchy.as_ref().ok_or_else(uncovered)?;
        let encoded = hierarchy
            .encode(&column.dictionary)
            .map_err(|_| uncovered())?;
        let domain = encoded.domain;
        let ruler = Ruler::of(attribute, hierarchy, column, encoded);
        let level = Level {
            node_of: std::iter::once(0).chain((0..).take(classes)).collect(),
            parent: Vec::new(),
            labels: labels.clone(),
            leaves: ruler.leaves(&column.codes, class_of, classes),
        };
        let generalization = Generalization {
            levels: vec![level],
            domain,
        };
        Ok(QuasiIdentifier::new(name.clone(), generalization))
    };
    attributes.iter().map(of_attribute).collect()
}

/// How the values of one attribute are counted in leaves.
struct Ruler {
    kind: Kind,
    domain: u64,
}

enum Kind {
    /// By value code: its place among all leaves, ascending.
    Line(Vec<u64>),
    /// The tree.
    Tree(Generalization),
    /// No order and no tree.
    Set,
}

impl Ruler {
    fn of(
        attribute: &Attribute,
        hierarchy: &Hierarchy,
        column: &Column,
        encoded: Generalization,
    ) -> Self {
        let domain = encoded.domain;
        let (scale, order) = scale::of(attribute, &column.dictionary);
        let kind = match scale {
            Scale::Numbers(values) => Kind::Line(places(hierarchy, &values, &order)),
            Scale::Ordinal => {
                let declared = order::places_of_codes(&attribute.declaration, &column.dictionary);
                Kind::Line(declared.unwrap_or_else(|| ranks(&order)))
            }
            Scale::Taxonomy => Kind::Tree(encoded),
            Scale::Nominal => Kind::Set,
        };
        Self { kind, domain }
    }

    /// By class: the leaves that it bears, 1 to the domain.
    fn leaves(&self, codes: &[u32], class_of: &[u32], classes: usize) -> Vec<u64> {
        let mut pairs: Vec<(u32, u32)> = class_of
            .iter()
            .copied()
            .zip(codes.iter().copied())
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut leaves = vec![1; classes];
        for run in pairs.chunk_by(|left, right| left.0 == right.0) {
            // The code of a missing cell is the lowest.
            let codes: Vec<u32> = run.iter().map(|&(_, code)| code).collect();
            let is_mixed = codes[0] == MISSING && codes.len() > 1;
            let own = match codes[..] {
                [_] => 1,
                _ if is_mixed => self.domain,
                _ => self.of_values(&codes),
            };
            leaves[run[0].0 as usize] = own.clamp(1, self.domain);
        }
        leaves
    }

    /// Leaves that stand for several values.
    fn of_values(&self, codes: &[u32]) -> u64 {
        match &self.kind {
            Kind::Set => codes.len() as u64,
            Kind::Line(places) => {
                let place = |&code: &u32| places[code as usize];
                let (first, last) = (codes.iter().map(place).min(), codes.iter().map(place).max());
                let between = first.zip(last).map_or(0, |(first, last)| last - first + 1);
                between.max(codes.len() as u64)
            }
            Kind::Tree(tree) => below_common_ancestor(tree, codes),
        }
    }
}

/// By value code: the number of leaves below it, of numbers in ascending order.
fn places(hierarchy: &Hierarchy, values: &[Decimal], order: &[u32]) -> Vec<u64> {
    let listed = hierarchy.leaves().map(|leaves| {
        let number = |text: &str| {
            let plain = text.parse::<Decimal>();
            plain.or_else(|_| Decimal::from_scientific(text)).ok()
        };
        let mut leaves: Vec<Decimal> = leaves.into_iter().filter_map(number).collect();
        leaves.sort_unstable();
        leaves
    });
    if let Some(listed) = listed {
        let below = |value: &Decimal| listed.partition_point(|leaf| leaf < value) as u64;
        return values.iter().map(below).collect();
    }
    let least = order.first().map(|&code| values[code as usize]);
    let whole = |value: &Decimal| (value - least?).to_u64();
    // A domain that is counted is one of whole numbers.
    let counted = hierarchy.domain().and_then(|_| {
        let present = order.iter().map(|&code| whole(&values[code as usize]));
        let mut places = vec![0; values.len()];
        for (&code, place) in order.iter().zip(present) {
            places[code as usize] = place?;
        }
        Some(places)
    });
    counted.unwrap_or_else(|| ranks(order))
}

/// By value code: its place among the values that occur.
fn ranks(order: &[u32]) -> Vec<u64> {
    let mut ranks = vec![0; order.len() + 1];
    for (&code, rank) in order.iter().zip(0..) {
        ranks[code as usize] = rank;
    }
    ranks
}

fn below_common_ancestor(tree: &Generalization, codes: &[u32]) -> u64 {
    let mut nodes: Vec<u32> = codes
        .iter()
        .map(|&code| tree.levels[0].node_of[code as usize])
        .collect();
    for level in &tree.levels {
        nodes.sort_unstable();
        nodes.dedup();
        if let [node] = nodes[..] {
            return level.leaves[node as usize];
        }
        // On the topmost level there is one node, and no parent.
        for node in &mut nodes {
            *node = level.parent[*node as usize];
        }
    }
    tree.domain
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::anonymize::table::{BlockBuilder, Schema, Table};
    use crate::declaration::DatasetDeclaration;

    /// Leaves by class of one column, and its domain.
    fn leaves(attribute: &Value, cells: &[Option<&str>], class_of: &[u32]) -> (Vec<u64>, u64) {
        let body = json!({"name": "t", "attributes": [attribute]});
        let schema = Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap();
        let mut builder = BlockBuilder::new(1);
        for cell in cells {
            builder.push(0, *cell);
        }
        let mut table = Table::with_columns(&schema.releasable(), false);
        table.rows = cells.len();
        let mut column = table.columns[0].take().unwrap();
        column.append(&builder.finish().columns[0]);
        let found = of_classes(&[(&schema.attributes()[0], &column)], class_of).unwrap();
        let generalization = &found[0].generalization;
        (
            generalization.levels[0].leaves.clone(),
            generalization.domain,
        )
    }

    #[test]
    fn numbers_are_counted_along_the_declared_domain() {
        // Classes {20, 25}, {31}, {40, missing}, {0, 99}.
        let cells =
            ["20", "25", "31", "40", "", "0", "99"].map(|cell| (!cell.is_empty()).then_some(cell));
        let class_of = [0, 0, 1, 2, 2, 3, 3];
        let declared = |hierarchy: &Value| json!({"name": "age", "role": "quasi_identifying", "type": "integer", "hierarchy": hierarchy});
        let counted = declared(
            &json!({"kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100}),
        );
        let (found, domain) = leaves(&counted, &cells, &class_of);
        assert_eq!((found, domain), (vec![6, 1, domain, 100], domain));
        // Only the values that occur: 20 25 | 31 | all 6 | from 0 to 99.
        let open = declared(&json!({"kind": "intervals", "origin": 0, "widths": [10]}));
        assert_eq!(leaves(&open, &cells, &class_of), (vec![2, 1, 6, 6], 6));
        let lines = ["0", "20", "21", "25", "31", "40", "99"].map(|age| format!("{age};*"));
        let listed = declared(&json!({"kind": "table", "text": lines.join("\n")}));
        assert_eq!(leaves(&listed, &cells, &class_of), (vec![3, 1, 7, 7], 7));
    }

    #[test]
    fn texts_are_counted_by_ancestor_order_or_number() {
        let cells = ["flu", "cold", "ulcer", "flu", "flu"].map(Some);
        let class_of = [0, 0, 1, 1, 2];
        let named = |more: &Value| {
            let mut attribute = json!({"name": "illness", "role": "quasi_identifying"});
            attribute
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            attribute
        };
        let text = "flu;lungs;*\ncold;lungs;*\nasthma;lungs;*\nulcer;stomach;*";
        let tree = named(&json!({"hierarchy": {"kind": "table", "text": text}}));
        assert_eq!(leaves(&tree, &cells, &class_of), (vec![3, 4, 1], 4));
        let ordered = named(
            &json!({"order": ["cold", "asthma", "flu", "ulcer"], "hierarchy": {"kind": "table", "text": text}}),
        );
        assert_eq!(leaves(&ordered, &cells, &class_of), (vec![3, 2, 1], 4));
        assert_eq!(
            leaves(&named(&json!({})), &cells, &class_of),
            (vec![2, 2, 1], 3)
        );
    }
}
