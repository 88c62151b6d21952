//! Numbers split at points.

use kindred::anonymize::hierarchy::Uncovered;
use kindred::fault::FaultCode;
use proptest::prelude::*;
use serde_json::json;

use super::{at, check_tables, compile, integers, leaves_of, path};

#[test]
fn the_outermost_intervals_are_open() {
    let declared = json!({ "kind": "splits", "points": [[18, 20, 35, 36, 60], [20, 60]] });
    let age = integers(&declared).unwrap();
    assert_eq!(age.levels(), 4);
    let ages = ["-3", "17", "18", "20", "34", "35", "59", "60", "900"];
    let finest = [
        "<18", "<18", "[18, 20)", "[20, 35)", "[20, 35)", "35", "[36, 60)", "60+", "60+",
    ];
    assert_eq!(at(&age, 1, &ages), finest);
    let coarser = [
        "<20", "<20", "<20", "[20, 60)", "[20, 60)", "[20, 60)", "[20, 60)", "60+", "60+",
    ];
    assert_eq!(at(&age, 2, &ages), coarser);
    let tables = check_tables(&age, &ages);
    // An open domain: the distinct values below a node, 4 of 9.
    assert_eq!((leaves_of(&tables, 2, 5), tables.domain), (4, 9));
    assert_eq!(age.covers("3.5"), Err(Uncovered::Invalid));
    assert_eq!(
        age.path(None).unwrap().last().unwrap().as_deref(),
        Some("*")
    );
    let charge =
        json!({ "type": "decimal", "hierarchy": { "kind": "splits", "points": [[0.30, 12.5]] } });
    let charge = compile(charge).unwrap();
    assert_eq!(path(&charge, "0.3"), ["0.3", "[0.3, 12.5)", "*"]);
    assert_eq!(path(&charge, "12.50"), ["12.50", "12.5+", "*"]);
}

#[test]
fn every_point_out_of_place_is_told() {
    let told = |declared| {
        let faults = integers(&declared).unwrap_err().into_iter();
        let told = faults.map(|fault| (fault.pointer, fault.code));
        told.map(|(at, code)| {
            (
                at.trim_start_matches("/attributes/3/hierarchy/").to_owned(),
                code,
            )
        })
        .collect::<Vec<_>>()
    };
    let wrong = json!({ "kind": "splits", "points": [[1, 5, 5, 3], [5, 7], []] });
    let expected = [
        ("points/0/2", FaultCode::OutOfRange),
        ("points/0/3", FaultCode::OutOfRange),
        ("points/1/1", FaultCode::HierarchyNotNested),
        ("points/2", FaultCode::OutOfRange),
    ];
    let expected = expected.map(|(at, code)| (at.to_owned(), code));
    assert_eq!(told(wrong), expected);
    let none = told(json!({ "kind": "splits", "points": [] }));
    assert_eq!(none, [("points".to_owned(), FaultCode::OutOfRange)]);
    let texts = compile(json!({ "hierarchy": { "kind": "splits", "points": [[1]] } }));
    assert_eq!(super::only(texts).code, FaultCode::TypeConflict);
}

proptest! {
    #[test]
    fn every_number_lies_in_its_interval(
        values in prop::collection::btree_set(-60_i32..60, 1..60),
        points in prop::collection::btree_set(-50_i32..50, 1..20),
        coarser in prop::collection::vec(any::<bool>(), 20),
    ) {
        let finest: Vec<i32> = points.into_iter().collect();
        let second: Vec<i32> =
            finest.iter().zip(&coarser).filter(|(_, kept)| **kept).map(|(point, _)| *point).collect();
        let levels: Vec<Vec<i32>> =
            [finest, second].into_iter().filter(|level| !level.is_empty()).collect();
        let hierarchy = integers(&json!({ "kind": "splits", "points": levels })).unwrap();
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check_tables(&hierarchy, &texts);
        for (value, text) in values.iter().zip(&texts) {
            for (label, points) in path(&hierarchy, text)[1..].iter().zip(&levels) {
                let holds = if let Some(bounds) = label.strip_prefix('[') {
                    let (low, high) = bounds.trim_end_matches(')').split_once(", ").unwrap();
                    let (low, high) = (low.parse().unwrap(), high.parse().unwrap());
                    (low..high).contains(value) && points.contains(&low) && points.contains(&high)
                } else if let Some(high) = label.strip_prefix('<') {
                    *value < high.parse().unwrap()
                } else if let Some(low) = label.strip_suffix('+') {
                    *value >= low.parse().unwrap()
                } else {
                    label == text
                };
                prop_assert!(holds, "{value} in {label}");
            }
        }
    }
}
