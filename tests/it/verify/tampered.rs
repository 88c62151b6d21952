//! Releases that must be refused.

use kindred::declaration::{Fraction, MissingSensitive, PrivacyModel};
use serde_json::json;

use super::{Case, relabel, six};

#[test]
fn a_changed_label_is_refused() {
    // The same label as its neighbours, so that no class breaks: only the ancestor is wrong.
    let failures = six().refused(|rendered| {
        let other = rendered.columns[0].codes[2];
        rendered.columns[0].codes[0] = other;
        rendered.columns[0].codes[1] = other;
    });
    assert_eq!(
        failures,
        ["labels of `age`: 2 cells are not the ancestors of their input that the policy states"]
    );
}

#[test]
fn a_label_of_another_level_is_refused() {
    // All six ages as they came: true ancestors, of the wrong level.
    let failures = six().refused(|rendered| {
        for (row, age) in ["21", "25", "34", "55", "38", "61"].iter().enumerate() {
            relabel(rendered, 0, row, age);
        }
    });
    assert!(
        failures.contains(
            &"labels of `age`: 4 cells are not the ancestors of their input that the policy states"
                .to_owned()
        )
    );
    assert!(
        failures.contains(&"2-anonymity: 4 classes are smaller; the smallest has 1".to_owned())
    );
}

#[test]
fn a_changed_cell_is_refused() {
    let failures = six().refused(|rendered| relabel(rendered, 3, 1, "made up"));
    assert_eq!(
        failures,
        ["cells of `note`: 1 cells are not equal to their input"]
    );
    let failures = six().refused(|rendered| {
        let flu = rendered.columns[2].codes[0];
        rendered.columns[2].codes[1] = flu;
    });
    assert_eq!(
        failures,
        [
            "cells of `dx`: 1 cells are not equal to their input",
            "distinct 2-diversity of `dx`: 1 classes have fewer values"
        ]
    );
    // No failure quotes a cell.
    assert!(
        failures
            .iter()
            .all(|failure| !failure.contains("flu") && !failure.contains("cold"))
    );
}

#[test]
fn a_row_used_twice_is_refused() {
    let failures = six().refused(|rendered| rendered.order[1] = 0);
    assert_eq!(
        failures,
        [
            "each source row at most once: 1 source rows are used twice, 0 output rows have no source"
        ]
    );
    let failures = six().refused(|rendered| rendered.order[3] = 6);
    assert!(
        failures[0].contains("1 output rows have no source"),
        "{failures:?}"
    );
}

#[test]
fn a_class_that_is_too_small_is_refused() {
    // Row 3, alone in its class, is released after all, and every count agrees with that.
    let failures = six().refused(|rendered| {
        rendered.suppressed[3] = false;
        rendered.order = vec![0, 1, 2, 3, 4];
        (rendered.released_rows, rendered.suppressed_rows) = (5, 1);
    });
    assert_eq!(
        failures,
        [
            "2-anonymity: 1 classes are smaller; the smallest has 1",
            "distinct 2-diversity of `dx`: 1 classes have fewer values"
        ]
    );
}

#[test]
fn an_identifying_column_is_refused() {
    let failures = six().refused(|rendered| {
        let mut identifying = rendered.columns[3].clone();
        identifying.position = 0;
        identifying.name = "id".to_owned();
        rendered.columns.insert(0, identifying);
    });
    assert!(failures[0].starts_with("columns: "), "{failures:?}");
    let failures = six().refused(|rendered| rendered.columns.swap(0, 1));
    assert!(failures[0].starts_with("columns: "), "{failures:?}");
}

#[test]
fn counts_that_do_not_agree_are_refused() {
    let failures = six().refused(|rendered| rendered.suppressed_rows = 1);
    assert!(
        failures[0].starts_with("input rows are released and suppressed rows: "),
        "{failures:?}"
    );
    // A row is withheld without being counted.
    let failures = six().refused(|rendered| {
        rendered.order.pop();
    });
    assert!(
        failures[0].starts_with("input rows are released and suppressed rows: "),
        "{failures:?}"
    );
}

#[test]
fn the_suppression_limit_is_exact_and_inclusive() {
    let mut case = six();
    let rendered = case.render();
    for (limit, passes) in [(0.333, false), (0.34, true), (1.0, true), (0.0, false)] {
        case.limit = Fraction::new(limit).unwrap();
        assert_eq!(case.verify(&rendered).is_ok(), passes, "{limit}");
    }
    // Nothing at all is no release, whatever the limit.
    case.limit = Fraction::ONE;
    case.privacy = vec![PrivacyModel::KAnonymity { k: 7 }];
    let failures = case.verify(&case.render()).unwrap_err().failures;
    assert_eq!(failures, ["something is released: no row is"]);
}

#[test]
fn an_order_that_is_not_the_asked_one_is_refused() {
    let failures = six().refused(|rendered| rendered.order.reverse());
    assert_eq!(failures, ["input order: the rows are in another order"]);
}

#[test]
fn uc_33_subjects_are_counted_once_however_many_rows_they_have() {
    let attributes = json!([
        { "name": "patient", "role": "identifying", "subject": true },
        { "name": "ward", "role": "quasi_identifying" },
    ]);
    let rows: [&[&str]; 5] = [
        &["p", "A"],
        &["p", "A"],
        &["p", "A"],
        &["q", "B"],
        &["r", "B"],
    ];
    let case = Case::new(&attributes, &rows, &[("ward", 0)]);
    let rendered = case.render();
    assert_eq!((rendered.released_rows, rendered.suppressed_rows), (2, 3));
    assert_eq!(case.verify(&rendered).unwrap().k, 2);
    // Three rows of one person are no class of three.
    let failures = case.refused(|rendered| {
        rendered.suppressed = vec![false; 5];
        rendered.order = (0..5).collect();
        (rendered.released_rows, rendered.suppressed_rows) = (5, 0);
    });
    assert_eq!(
        failures,
        ["2-anonymity: 1 classes are smaller; the smallest has 1"]
    );
}

#[test]
fn uc_34_a_missing_sensitive_value_adds_no_diversity_unless_exempt() {
    let attributes = json!([
        { "name": "ward", "role": "quasi_identifying" },
        { "name": "dx", "role": "sensitive" },
    ]);
    let rows: [&[&str]; 6] = [
        &["A", "x"],
        &["A", ""],
        &["B", ""],
        &["B", ""],
        &["C", "x"],
        &["C", "y"],
    ];
    let mut case = Case::new(&attributes, &rows, &[("ward", 0)]);
    let everything = case.render();
    let with = |missing| PrivacyModel::DistinctLDiversity {
        attribute: "dx".to_owned(),
        l: 2,
        missing,
    };
    for (missing, failing, kept) in [
        (MissingSensitive::Fails, 2, 2),
        (MissingSensitive::Exempt, 1, 4),
    ] {
        case.privacy = vec![with(missing)];
        let failures = case.verify(&everything).unwrap_err().failures;
        let expected = format!("distinct 2-diversity of `dx`: {failing} classes have fewer values");
        assert_eq!(failures, [expected]);
        let rendered = case.render();
        assert_eq!(rendered.released_rows, kept);
        case.verify(&rendered).unwrap();
    }
}
