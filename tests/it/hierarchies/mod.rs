//! Hierarchies: levels, labels, nesting, leaves. Values are those of the published cases (UC) or worked by hand.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "declarations are written where they are used"
)]

mod codes;
mod intervals;
mod laws;
mod splits;
mod tables;

use kindred::anonymize::hierarchy::{Generalization, Hierarchy};
use kindred::anonymize::table::Dictionary;
use kindred::declaration::AttributeDeclaration;
use kindred::fault::Fault;
use serde_json::{Value, json};

fn attribute(fields: Value) -> AttributeDeclaration {
    let mut whole = json!({ "name": "column", "role": "quasi_identifying" });
    for (name, value) in fields.as_object().unwrap() {
        whole[name] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

pub(super) fn compile(fields: Value) -> Result<Hierarchy, Vec<Fault>> {
    Hierarchy::compile(&attribute(fields), "/attributes/3/hierarchy")
}

pub(super) fn table(text: &str) -> Result<Hierarchy, Vec<Fault>> {
    compile(json!({ "hierarchy": { "kind": "table", "text": text } }))
}

pub(super) fn integers(hierarchy: &Value) -> Result<Hierarchy, Vec<Fault>> {
    compile(json!({ "type": "integer", "hierarchy": hierarchy }))
}

/// Labels of a covered value from level 0 to the top.
pub(super) fn path(hierarchy: &Hierarchy, value: &str) -> Vec<String> {
    let labels = hierarchy.path(Some(value)).unwrap();
    labels.into_iter().map(Option::unwrap).collect()
}

/// Labels of values on one level.
pub(super) fn at(hierarchy: &Hierarchy, level: usize, values: &[&str]) -> Vec<String> {
    let label = |value: &&str| path(hierarchy, value)[level].clone();
    values.iter().map(label).collect()
}

pub(super) fn dictionary(values: &[&str]) -> Dictionary {
    let mut dictionary = Dictionary::default();
    for value in values {
        dictionary.insert(value);
    }
    dictionary
}

/// The tables agree with the paths, nest, and number what they must.
pub(super) fn check_tables(hierarchy: &Hierarchy, values: &[&str]) -> Generalization {
    let tables = hierarchy.encode(&dictionary(values)).unwrap();
    assert_eq!(tables.levels.len(), hierarchy.levels());
    let top = tables.levels.len() - 1;
    for (position, level) in tables.levels.iter().enumerate() {
        assert_eq!(level.node_of.len(), values.len() + 1);
        assert_eq!(level.labels.len(), level.leaves.len());
        assert_eq!(level.node_of[0], 0);
        let leaves = 1..=tables.domain;
        assert!(level.leaves.iter().all(|count| leaves.contains(count)));
        for (value, code) in values.iter().zip(1..) {
            let node = level.node_of[code] as usize;
            let label = level.labels[node].as_deref();
            assert_eq!(label, Some(path(hierarchy, value)[position].as_str()));
            if position < top {
                let above = &tables.levels[position + 1];
                assert_eq!(level.parent[node], above.node_of[code]);
                assert!(level.leaves[node] <= above.leaves[above.node_of[code] as usize]);
            }
        }
        if position < top {
            assert_eq!(level.labels[0], None);
            assert_eq!(level.parent[0], 0);
            assert_eq!(level.leaves[0], 1);
            assert_eq!(level.parent.len(), level.labels.len());
        }
    }
    assert_eq!(tables.levels[top].labels, [Some(Box::from("*"))]);
    assert_eq!(tables.levels[top].leaves, [tables.domain]);
    tables
}

pub(super) fn leaves_of(tables: &Generalization, level: usize, code: usize) -> u64 {
    let level = &tables.levels[level];
    level.leaves[level.node_of[code] as usize]
}

pub(super) fn only(result: Result<Hierarchy, Vec<Fault>>) -> Fault {
    let mut faults = result.unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}
