//! Numbers in intervals.

use kindred::anonymize::hierarchy::Uncovered;
use kindred::fault::FaultCode;
use serde_json::json;

use super::{at, check_tables, compile, integers, leaves_of, path};

#[test]
fn uc_06_the_level_count_comes_from_the_declaration() {
    let age =
        integers(&json!({ "kind": "intervals", "origin": 0, "widths": [5, 10, 20] })).unwrap();
    assert_eq!(age.levels(), 5);
    let ages = ["1", "5", "7"];
    assert_eq!(at(&age, 1, &ages), ["[0, 5)", "[5, 10)", "[5, 10)"]);
    assert_eq!(at(&age, 2, &ages), ["[0, 10)"; 3]);
    assert_eq!(at(&age, 3, &ages), ["[0, 20)"; 3]);
    assert_eq!(at(&age, 4, &ages), ["*"; 3]);
    assert_eq!(check_tables(&age, &ages).levels.len(), 5);
    assert_eq!(check_tables(&age, &[]).levels.len(), 5);
}

#[test]
fn uc_07_every_upper_interval_is_a_union_of_whole_lower_ones() {
    let charge = json!({ "kind": "intervals", "origin": 100, "widths": [200, 400, 1200],
        "bottom_below": 150, "top_from": 1250 });
    let charge = integers(&charge).unwrap();
    let values: Vec<String> = (0..1400)
        .step_by(7)
        .map(|value| value.to_string())
        .collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    check_tables(&charge, &values);
    assert_eq!(
        path(&charge, "310"),
        ["310", "[300, 500)", "[150, 500)", "[150, 1250)", "*"]
    );
    // Widths that are no multiples are refused, each by its place.
    let wrong = integers(&json!({ "kind": "intervals", "origin": 0, "widths": [200, 300, 500] }));
    let faults = wrong.unwrap_err();
    let pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/attributes/3/hierarchy/widths/1",
            "/attributes/3/hierarchy/widths/2"
        ]
    );
    assert!(
        faults
            .iter()
            .all(|f| f.code == FaultCode::HierarchyNotNested)
    );
}

#[test]
fn uc_11_an_interval_holds_its_lower_bound_and_not_its_upper() {
    // Appendix 1: steps of 10 from 0 to 100.
    let declared =
        json!({ "kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100 });
    let age = integers(&declared).unwrap();
    let ages = ["0", "9", "10", "11", "20", "99"];
    let labels = [
        "[0, 10)",
        "[0, 10)",
        "[10, 20)",
        "[10, 20)",
        "[20, 30)",
        "[90, 100)",
    ];
    assert_eq!(at(&age, 1, &ages), labels);
    assert_eq!(age.covers("100"), Err(Uncovered::OutOfRange));
    let tables = check_tables(&age, &ages);
    assert_eq!(tables.domain, 100);
    assert_eq!(leaves_of(&tables, 0, 1), 1);
    assert_eq!(leaves_of(&tables, 1, 1), 10);
}

#[test]
fn uc_13_a_value_outside_the_range_is_refused_unless_a_bucket_is_declared() {
    let mut declared =
        json!({ "kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100 });
    let age = integers(&declared).unwrap();
    assert_eq!(age.covers("105"), Err(Uncovered::OutOfRange));
    assert_eq!(age.covers("-1"), Err(Uncovered::OutOfRange));
    declared["top_from"] = json!(95);
    let age = integers(&declared).unwrap();
    assert_eq!(path(&age, "105"), ["105", "95+", "*"]);
    // The interval before the bucket is cut where the bucket begins: its label stays true.
    assert_eq!(path(&age, "94"), ["94", "[90, 95)", "*"]);
    assert_eq!(age.covers("-1"), Err(Uncovered::OutOfRange));
    let tables = check_tables(&age, &["105", "94"]);
    // 95 to 99 of the declared domain; 90 to 94.
    assert_eq!(leaves_of(&tables, 1, 1), 5);
    assert_eq!(leaves_of(&tables, 1, 2), 5);
}

#[test]
fn uc_14_labels_of_negative_numbers_have_two_bounds() {
    let balance = integers(&json!({ "kind": "intervals", "origin": -3, "widths": [2] })).unwrap();
    assert_eq!(path(&balance, "-2")[1], "[-3, -1)");
    assert_eq!(path(&balance, "-1")[1], "[-1, 1)");
    assert_eq!(path(&balance, "-4")[1], "[-5, -3)");
}

#[test]
fn uc_15_whole_ages_below_90_stay_themselves() {
    let age = json!({ "kind": "intervals", "origin": 0, "widths": [1, 10], "top_from": 90 });
    let age = integers(&age).unwrap();
    let ages = ["88", "89", "90", "95", "104"];
    assert_eq!(at(&age, 1, &ages), ["88", "89", "90+", "90+", "90+"]);
    assert_eq!(path(&age, "085"), ["085", "85", "[80, 90)", "*"]);
    // Of decimal numbers, an interval of width 1 holds many.
    let weight = json!({ "type": "decimal", "hierarchy": { "kind": "intervals", "origin": 0, "widths": [1] } });
    let weight = compile(weight).unwrap();
    assert_eq!(path(&weight, "88.5"), ["88.5", "[88, 89)", "*"]);
}

#[test]
fn uc_15_ages_from_90_share_one_bucket_on_every_level() {
    let age = json!({ "kind": "intervals", "origin": 0, "widths": [1, 10, 20], "lower": 0,
        "upper": 120, "top_from": 90, "bottom_below": 18 });
    let age = integers(&age).unwrap();
    for value in ["90", "95", "104", "130"] {
        assert_eq!(path(&age, value), [value, "90+", "90+", "90+", "*"]);
    }
    assert_eq!(path(&age, "89"), ["89", "89", "[80, 90)", "[80, 90)", "*"]);
    assert_eq!(path(&age, "17"), ["17", "<18", "<18", "<18", "*"]);
    assert_eq!(path(&age, "18"), ["18", "18", "[18, 20)", "[18, 20)", "*"]);
    let tables = check_tables(&age, &["90", "17", "19", "130"]);
    assert_eq!(tables.domain, 120);
    assert_eq!(leaves_of(&tables, 2, 1), 30);
    assert_eq!(leaves_of(&tables, 2, 2), 18);
    assert_eq!(leaves_of(&tables, 2, 3), 2);
}

#[test]
fn decimals_are_compared_exactly() {
    let dose = json!({ "kind": "intervals", "origin": 0, "widths": [0.1, 0.3] });
    let dose = compile(json!({ "type": "decimal", "hierarchy": dose })).unwrap();
    // 0.3 / 0.1 is 2.9999999999999996 in binary floating point.
    assert_eq!(path(&dose, "0.3"), ["0.3", "[0.3, 0.4)", "[0.3, 0.6)", "*"]);
    assert_eq!(
        path(&dose, "0.2999999999999999999"),
        ["0.2999999999999999999", "[0.2, 0.3)", "[0, 0.3)", "*"]
    );
    assert_eq!(path(&dose, "0.30")[0], "0.30");
    for text in ["NaN", "1,5", "", "1e400", " 1"] {
        assert_eq!(dose.covers(text), Err(Uncovered::Invalid), "{text}");
    }
    let long = "1".repeat(28);
    assert!(dose.covers(&long).is_ok());
    // Open: distinct values are counted.
    let tables = check_tables(&dose, &["0.3", "0.30", "0.1"]);
    assert_eq!(tables.domain, 3);
    assert_eq!(leaves_of(&tables, 1, 1), 2);
}

#[test]
fn integers_are_whole() {
    let age = integers(&json!({ "kind": "intervals", "origin": 0, "widths": [10] })).unwrap();
    assert_eq!(age.covers("12.5"), Err(Uncovered::Invalid));
    assert_eq!(age.covers("1e1"), Err(Uncovered::Invalid));
    assert_eq!(path(&age, "007"), ["007", "[0, 10)", "*"]);
}

#[test]
fn faults_of_intervals_come_at_once() {
    let wrong = json!({ "kind": "intervals", "origin": 0, "widths": [0], "lower": 10, "upper": 5,
        "top_from": 1, "bottom_below": 2 });
    let faults = compile(json!({ "hierarchy": wrong })).unwrap_err();
    let codes: Vec<FaultCode> = faults.iter().map(|fault| fault.code).collect();
    assert_eq!(codes[0], FaultCode::TypeConflict);
    assert!(faults[0].detail.contains("`integer` or `decimal`"));
    assert!(codes[1..].iter().all(|code| *code == FaultCode::OutOfRange));
    assert!(codes.len() >= 5);
}
