//! Cases of user-cases.md about sensitive attributes through the real path.

use kindred::anonymize::Outcome;
use serde_json::json;

use super::worked::{dx, fixed, front, group, groups, holds, k, near, of};
use crate::tables::{data, plain};

#[test]
fn with_a_subject_column_alpha_is_a_share_of_people() {
    // p1 and p2 bear x, p1 other values beside it: both of two people, though 2 of 4 pairs.
    let attributes = json!([
        { "name": "patient", "role": "identifying", "subject": true },
        plain("quasi_identifying", "grp"),
        plain("sensitive", "dx"),
    ]);
    let data = data(
        attributes,
        &["p1,a,x", "p1,a,y", "p1,a,z", "p2,a,x", "p2,a,x"],
    );
    let alpha = |alpha: f64| dx("alpha_k", json!({ "alpha": alpha, "k": 2 }));
    assert!(!holds(&data, alpha(0.9)) && holds(&data, alpha(1.0)));
    // Pairs: x twice, y, z: the entropy of (2,1,1).
    let entropy = |l: f64| dx("entropy_l_diversity", json!({ "l": l }));
    assert!(holds(&data, entropy(2.828)) && !holds(&data, entropy(2.829)));
}

#[test]
fn uc_34_missing_adds_no_entropy_and_is_a_value_for_t() {
    let data = groups(&["1,x", "1,", "2,y", "2,"].map(str::to_owned));
    assert!(!holds(
        &data,
        dx("entropy_l_diversity", json!({ "l": 1.1 }))
    ));
    assert!(!holds(
        &data,
        dx("recursive_cl_diversity", json!({ "l": 2, "c": 9 }))
    ));
    // (1/2, 0, 1/2) against (1/4, 1/4, 1/2): a quarter.
    let t = |t: f64| dx("t_closeness", json!({ "distance": "equal", "t": t }));
    assert!(holds(&data, t(0.25)) && !holds(&data, t(0.249)));
    // A class without any value fails, or is exempt.
    let data = groups(&["1,x", "1,y", "2,", "2,"].map(str::to_owned));
    for model in ["entropy_l_diversity", "recursive_cl_diversity"] {
        let with = |missing: &str| dx(model, json!({ "l": 2, "missing": missing }));
        let with = |missing: &str| {
            let mut asked = with(missing);
            if model.starts_with('r') {
                asked["c"] = json!(1.5);
            }
            asked
        };
        assert!(!holds(&data, with("fails")) && holds(&data, with("exempt")));
    }
}

#[test]
fn uc_38_t_is_enforced() {
    let pairs = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 1, "widths": [2] } },
        plain("sensitive", "dx"),
    ]);
    let data = data(pairs, &["1,x", "2,x", "3,y", "4,y"]);
    for reference in ["released", "input"] {
        let t = dx(
            "t_closeness",
            json!({ "distance": "equal", "t": 0.2, "reference": reference }),
        );
        let front = data.front(&json!({
            "privacy": [k(2), t], "search": { "method": "exact" }, "objectives": ["generalization_depth"],
        }));
        assert_eq!(front.solutions.len(), 1);
        assert_eq!(
            (front.solutions[0].privacy.k, front.solutions[0].classes),
            (4, 1)
        );
        near(front.solutions[0].privacy.sensitive["dx"].t_equal, 0.0);
    }
}

#[test]
fn uc_43_a_constant_column_is_at_no_distance() {
    let attributes = json!([
        plain("quasi_identifying", "ward"),
        { "name": "days", "role": "sensitive", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10] } },
    ]);
    let data = data(attributes, &["A,5", "A,5", "B,5"]);
    for distance in ["equal", "ordered", "hierarchical"] {
        let t = of(
            "days",
            "t_closeness",
            json!({ "distance": distance, "t": 1e-9 }),
        );
        assert!(holds(&data, t));
    }
    for model in [
        of("days", "entropy_l_diversity", json!({ "l": 1.5 })),
        of("days", "recursive_cl_diversity", json!({ "c": 3, "l": 2 })),
    ] {
        let Outcome::Infeasible(reason, _) =
            fixed(&data, &json!([k(1), model]), json!({ "ward": 0 }), 1.0)
        else {
            panic!("feasible");
        };
        assert_eq!(reason.code, "l_exceeds_distinct_values");
    }
    let Outcome::Infeasible(reason, _) = fixed(
        &data,
        &json!([{ "model": "maximum_risk", "max": 0.3 }]),
        json!({ "ward": 0 }),
        1.0,
    ) else {
        panic!("feasible");
    };
    assert_eq!(reason.code, "k_exceeds_rows");
}

#[test]
fn uc_44_the_reference_decides_what_is_released() {
    // Appendix 11: the rows with z leave by k; groups 1 and 2 are then the whole.
    let rows = ["1,f", "1,f", "1,c", "2,f", "2,f", "2,c", "9,z", "8,z"].map(str::to_owned);
    let data = groups(&rows);
    let t = |t: f64, reference: &str| {
        json!([
            k(3),
            dx(
                "t_closeness",
                json!({ "distance": "equal", "t": t, "reference": reference })
            )
        ])
    };
    let released = front(fixed(
        &data,
        &t(0.01, "released"),
        json!({ "grp": 0 }),
        0.25,
    ));
    let solution = &released.solutions[0];
    assert_eq!((solution.suppressed_rows, solution.classes), (2, 2));
    near(solution.privacy.sensitive["dx"].t_equal, 0.0);
    near(solution.privacy.sensitive["dx"].t_equal_input, 0.25);
    assert_eq!(
        front(fixed(&data, &t(0.25, "input"), json!({ "grp": 0 }), 0.25)).solutions[0]
            .suppressed_rows,
        2
    );
    assert!(matches!(
        fixed(&data, &t(0.249, "input"), json!({ "grp": 0 }), 1.0),
        Outcome::Infeasible(..)
    ));
}

#[test]
fn withdrawing_a_class_may_put_another_out_of_reach() {
    // Shares of v0: a 1, b 1/2, c 0 and d 0 of 4, 4, 4, 8 rows; the table 6/20.
    let mut rows = group("a", &[4]);
    rows.extend(group("b", &[2, 2]));
    rows.extend(group("c", &[0, 4]));
    rows.extend(group("d", &[0, 8]));
    let data = groups(&rows);
    let t = |t: f64| {
        json!([
            k(2),
            dx("t_closeness", json!({ "distance": "equal", "t": t }))
        ])
    };
    // First a leaves (0.7), the rest is 2/16 = 0.125; then b (0.375) leaves; c and d are at 0.
    let front = front(fixed(&data, &t(0.35), json!({ "grp": 0 }), 1.0));
    assert_eq!(
        (
            front.solutions[0].suppressed_rows,
            front.solutions[0].classes
        ),
        (8, 2)
    );
    near(front.solutions[0].privacy.sensitive["dx"].t_equal, 0.0);
    // Against all rows only a is too far away.
    let report = data.measure(&json!({ "privacy": t(0.35) }));
    assert_eq!(
        (
            report.models[1].violating_classes,
            report.models[1].violating_rows
        ),
        (1, 4)
    );
    assert_eq!(report.violating_rows, 8);
}

#[test]
fn uc_46_every_sensitive_column_meets_its_own_limit() {
    let attributes = json!([
        plain("quasi_identifying", "grp"),
        plain("sensitive", "dx"),
        plain("sensitive", "drug"),
    ]);
    let data = data(attributes, &["a,x,1", "a,y,1", "b,x,1", "b,y,2"]);
    let entropy = |attribute: &str| of(attribute, "entropy_l_diversity", json!({ "l": 2 }));
    let report = data.measure(&json!({ "privacy": [entropy("dx"), entropy("drug")] }));
    let violating: Vec<u64> = report
        .models
        .iter()
        .map(|model| model.violating_rows)
        .collect();
    assert_eq!((violating, report.violating_rows), (vec![0, 2], 2));
}
