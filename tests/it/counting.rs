//! How rows, people and sensitive values are counted: cases of user-cases.md A3 and A4, with the tables given there.

use kindred::anonymize::Outcome;
use serde_json::{Value, json};

use crate::tables::{age_and_dx, data, exact, k, l, levels, plain, two_levels};

#[test]
fn uc_20_a_missing_quasi_identifier_is_a_class_of_its_own() {
    let data = age_and_dx(&["1,a", "1,b", "2,c", "2,d", ",e"]);
    assert_eq!(data.measure(&json!({ "privacy": [k(2)] })).privacy.k, 1);
    let front = data.front(&exact(
        &[k(2)],
        0.2,
        &["generalization_depth", "suppression"],
    ));
    let first = &front.solutions[0];
    assert_eq!(
        (
            levels(first, &["age"]),
            first.suppressed_rows,
            first.privacy.k
        ),
        (vec![0], 1, 2)
    );
    assert_eq!(first.released_rows, 4);
    let front = data.front(&exact(
        &[k(2)],
        0.0,
        &["generalization_depth", "suppression"],
    ));
    assert_eq!(front.solutions.len(), 1);
    assert_eq!(
        (
            levels(&front.solutions[0], &["age"]),
            front.solutions[0].privacy.k
        ),
        (vec![1], 5)
    );
}

#[test]
fn uc_21_and_uc_22_missing_is_no_wildcard() {
    let attributes = json!(two_levels(&["sex", "marital"]));
    let rows = ["F,single", "F,single", "F,married", "F,married", "F,"];
    let measured = data(attributes, &rows).measure(&json!({ "privacy": [k(2)] }));
    let sizes: Vec<_> = measured
        .class_size_histogram
        .iter()
        .map(|sizes| (sizes.size, sizes.classes))
        .collect();
    assert_eq!((sizes, measured.violating_rows), (vec![(1, 1), (2, 2)], 1));
    assert!(!measured.satisfied && (measured.violating_share - 0.2).abs() < 1e-12);
    let measured =
        age_and_dx(&["1,x", "2,x", "3,x", ",x", ",x", ",x"]).measure(&json!({ "privacy": [k(2)] }));
    assert_eq!((measured.classes, measured.violating_rows), (4, 3));
}

#[test]
fn uc_23_suppressed_rows_are_outside_every_figure() {
    let attributes = json!(two_levels(&["age", "sex"]));
    let rows = [
        "<50,F", "<50,F", "<50,M", "<50,M", "70,F", ">=50,M", ">=50,M",
    ];
    let front = data(attributes, &rows).front(&exact(&[k(2)], 0.2, &["generalization_depth"]));
    let solution = &front.solutions[0];
    assert_eq!(
        (
            solution.suppressed_rows,
            solution.released_rows,
            solution.classes
        ),
        (1, 6, 3)
    );
    assert_eq!((solution.privacy.k, solution.risk.sample_uniques), (2, 0));
    assert!(
        (solution.risk.maximum - 0.5).abs() < 1e-12 && (solution.risk.average - 0.5).abs() < 1e-12
    );
}

#[test]
fn uc_25_the_average_risk_is_per_record() {
    let rows = ["1,x"].into_iter().chain(["2,x"; 9]).collect::<Vec<_>>();
    let risk = age_and_dx(&rows).measure(&json!({ "privacy": [] })).risk;
    assert!((risk.average - 0.2).abs() < 1e-12);
}

#[test]
fn uc_33_k_counts_people_where_a_subject_is_declared() {
    let rows = ["p1,30", "p1,30", "p1,30"];
    let subject = json!([
        { "name": "patient", "role": "identifying", "subject": true },
        plain("quasi_identifying", "age"),
    ]);
    let measured = data(subject, &rows).measure(&json!({ "privacy": [k(3)] }));
    assert_eq!(
        (
            measured.privacy.k,
            measured.subjects,
            measured.violating_rows
        ),
        (1, 1, 3)
    );
    assert!((measured.risk.average - 1.0).abs() < 1e-12);
    let rows_only = json!([
        plain("identifying", "patient"),
        plain("quasi_identifying", "age")
    ]);
    assert_eq!(
        data(rows_only, &rows)
            .measure(&json!({ "privacy": [k(3)] }))
            .privacy
            .k,
        3
    );
}

#[test]
fn a_subject_in_two_classes_is_counted_once_after_they_merge() {
    // p1 at ages 1 and 2, p2 at 1, p3 at 2: two subjects each, three together.
    let subject = json!([
        { "name": "patient", "role": "identifying", "subject": true },
        plain("quasi_identifying", "age"),
    ]);
    let data = data(subject, &["p1,1", "p1,2", "p2,1", "p3,2"]);
    assert_eq!(data.measure(&json!({ "privacy": [k(2)] })).privacy.k, 2);
    let measured = data.measure(&json!({ "privacy": [k(4)], "levels": { "age": 1 } }));
    assert_eq!((measured.privacy.k, measured.satisfied), (3, false));
    assert!(
        data.measure(&json!({ "privacy": [k(3)], "levels": { "age": 1 } }))
            .satisfied
    );
}

#[test]
fn uc_34_a_missing_sensitive_value_adds_no_diversity() {
    let data = age_and_dx(&["1,x", "1,", "2,y", "2,"]);
    let measured = data.measure(&json!({ "privacy": [l("dx", 2)] }));
    assert_eq!(
        (
            measured.privacy.sensitive["dx"].distinct_l,
            measured.violating_rows
        ),
        (1, 4)
    );
}

#[test]
fn a_class_without_any_value_fails_or_is_exempt() {
    let data = age_and_dx(&["1,x", "1,y", "2,", "2,"]);
    let exempt =
        json!({ "model": "distinct_l_diversity", "attribute": "dx", "l": 2, "missing": "exempt" });
    assert!(data.measure(&json!({ "privacy": [exempt] })).satisfied);
    let measured = data.measure(&json!({ "privacy": [l("dx", 2)] }));
    assert_eq!(measured.violating_rows, 2);
    let dx = &measured.privacy.sensitive["dx"];
    assert_eq!((dx.distinct_l, dx.classes_without_value), (0, 1));
    assert!(dx.entropy_l.abs() < 1e-12);
}

#[test]
fn uc_36_and_uc_37_entropy_of_counts() {
    let entropy = |rows: &[&str]| {
        age_and_dx(rows)
            .measure(&json!({ "privacy": [] }))
            .privacy
            .sensitive["dx"]
            .entropy_l
    };
    let even = entropy(&["1,x", "1,y", "1,x", "1,y"]);
    assert!(even >= 2.0 && (even - 2.0).abs() < 1e-6);
    let rows = [["1,a"; 6].as_slice(), &["1,b"; 2], &["1,c"; 2]].concat();
    assert!((entropy(&rows) - 2.586_409).abs() < 1e-6);
}

#[test]
fn uc_38_the_distance_of_split_classes_is_reported() {
    let pairs = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 1, "widths": [2] } },
        plain("sensitive", "dx"),
    ]);
    let data = data(pairs, &["1,x", "2,x", "3,y", "4,y"]);
    let t = |level: usize| {
        let measured = data.measure(&json!({ "privacy": [], "levels": { "age": level } }));
        measured.privacy.sensitive["dx"].t_equal
    };
    assert!((t(1) - 0.5).abs() < 1e-12 && t(2).abs() < 1e-12);
}

#[expect(clippy::needless_pass_by_value, reason = "callers write a literal")]
fn wards(rows: &[&str], sensitive: Value) -> kindred::anonymize::report::SensitivePrivacy {
    let attributes = json!([plain("quasi_identifying", "ward"), sensitive]);
    let measured = data(attributes, rows).measure(&json!({ "privacy": [] }));
    measured
        .privacy
        .sensitive
        .into_values()
        .next()
        .expect("a sensitive attribute")
}

#[test]
fn uc_39_and_uc_42_ordered_by_declaration_equal_otherwise() {
    let rows = [
        "A,1", "A,2", "A,3", "B,4", "B,6", "B,9", "C,5", "C,7", "C,8",
    ];
    let numeric = wards(
        &rows,
        json!({ "name": "days", "role": "sensitive", "type": "integer" }),
    );
    assert!((numeric.t_ordered.unwrap() - 0.375).abs() < 1e-12);
    assert!((numeric.t_equal - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!(numeric.distinct_l, 3);
    let text = wards(&rows, plain("sensitive", "days"));
    assert!(text.t_ordered.is_none() && (text.t_equal - 2.0 / 3.0).abs() < 1e-12);
    let order: Vec<String> = (1..10).map(|day| day.to_string()).collect();
    let declared = wards(
        &rows,
        json!({ "name": "days", "role": "sensitive", "order": order }),
    );
    assert_eq!(declared.t_ordered, numeric.t_ordered);
}

#[test]
fn uc_41_hierarchical_distance() {
    let leaf = |label: &str| json!({ "label": label });
    let tree = json!({ "kind": "taxonomy", "label": "any", "children": [
        { "label": "respiratory", "children": [leaf("flu"), leaf("pneumonia")] },
        { "label": "digestive", "children": [leaf("gastritis"), leaf("ulcer")] },
    ]});
    let rows = [
        "A,flu",
        "A,flu",
        "A,gastritis",
        "A,gastritis",
        "B,pneumonia",
        "B,pneumonia",
        "B,ulcer",
        "B,ulcer",
    ];
    let dx = wards(
        &rows,
        json!({ "name": "dx", "role": "sensitive", "hierarchy": tree }),
    );
    assert!((dx.t_hierarchical.unwrap() - 0.25).abs() < 1e-12);
    assert!((dx.t_equal - 0.5).abs() < 1e-12);
}

#[test]
fn uc_43_one_value_only_is_at_distance_zero_and_never_diverse() {
    let rows = ["A,5", "A,5", "B,5"];
    let number = json!({ "name": "days", "role": "sensitive", "type": "integer" });
    let days = wards(&rows, number.clone());
    assert_eq!((days.distinct_l, days.t_ordered), (1, Some(0.0)));
    assert!(days.t_equal.abs() < 1e-12);
    let data = data(json!([plain("quasi_identifying", "ward"), number]), &rows);
    let Outcome::Infeasible(reason, front) = data.search(&exact(&[l("days", 2)], 1.0, &["loss"]))
    else {
        panic!("feasible");
    };
    assert_eq!(
        (&*reason.code, front.search.evaluations),
        ("l_exceeds_distinct_values", 0)
    );
}

#[test]
fn uc_44_both_references_are_reported() {
    let rows = ["1,f", "1,f", "1,c", "2,f", "2,f", "2,c", "9,z", "8,z"];
    let attributes = json!([plain("quasi_identifying", "grp"), plain("sensitive", "dx")]);
    let front = data(attributes, &rows).front(&exact(&[k(3)], 0.25, &["generalization_depth"]));
    let dx = &front.solutions[0].privacy.sensitive["dx"];
    assert!(dx.t_equal.abs() < 1e-12 && (dx.t_equal_input - 0.25).abs() < 1e-12);
}

#[test]
fn uc_45_and_uc_46_diversity_is_per_column_and_for_any_row_order() {
    let mut rows = ["a,x,1", "a,x,2", "b,x,1", "b,y,2", "b,z,3", "b,w,4"];
    let attributes = json!([
        plain("quasi_identifying", "grp"),
        plain("sensitive", "dx"),
        plain("sensitive", "drug"),
    ]);
    for _ in 0..2 {
        rows.reverse();
        let data = data(attributes.clone(), &rows);
        let sensitive = data.measure(&json!({ "privacy": [] })).privacy.sensitive;
        assert_eq!(
            (sensitive["dx"].distinct_l, sensitive["drug"].distinct_l),
            (1, 2)
        );
        let models = json!([l("drug", 2), l("dx", 2)]);
        let measured = data.measure(&json!({ "privacy": models }));
        let violating: Vec<_> = measured
            .models
            .iter()
            .map(|model| model.violating_rows)
            .collect();
        assert_eq!((violating, measured.violating_rows), (vec![0, 2], 2));
    }
}
