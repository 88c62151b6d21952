//! The bundled adult table under models that are not absorbing: ARX 3.9.2's answers, and algorithms.md G.2.

use kindred::anonymize::cells::Cells;
use kindred::anonymize::classes::{ClassTable, Scratch, Wanted};
use kindred::anonymize::privacy::Criteria;
use kindred::anonymize::rows::Rows;
use serde_json::{Value, json};

use crate::golden::{loss_at, points};
use crate::tables::{ADULT, adult};

/// Loss, suppressed rows, released classes and the smallest of them in ARX 3.9.2's answers under stronger models.
#[test]
fn losses_under_stronger_models_equal_those_of_arx() {
    let of = |name: &str| json!({ "model": name, "attribute": "occupation" });
    let with = |mut model: Value, fields: &[(&str, Value)]| {
        for (name, value) in fields {
            model[*name] = value.clone();
        }
        model
    };
    let t = |t: f64| {
        with(
            of("t_closeness"),
            &[
                ("t", json!(t)),
                ("distance", json!("equal")),
                ("reference", json!("input")),
            ],
        )
    };
    let cases = [
        (
            t(0.2),
            [1, 2, 0, 0, 3, 0, 2, 1],
            0.604_165_232_134_255_2,
            (8156, 23, 32),
        ),
        (
            t(0.3),
            [0, 3, 0, 0, 3, 1, 2, 0],
            0.480_846_952_980_968_9,
            (8642, 36, 17),
        ),
        // ARX loses classes of three equally frequent values to rounding: their entropy is log2 3 exactly.
        (
            with(of("entropy_l_diversity"), &[("l", json!(3.000_000_1))]),
            [0, 3, 0, 0, 2, 1, 1, 0],
            0.190_484_628_361_625_94,
            (2042, 328, 5),
        ),
        (
            with(
                of("recursive_cl_diversity"),
                &[("c", json!(4)), ("l", json!(3))],
            ),
            [0, 3, 0, 0, 2, 1, 1, 0],
            0.180_910_333_522_645_63,
            (1715, 368, 5),
        ),
    ];
    let others: Vec<&str> = ADULT
        .into_iter()
        .filter(|name| *name != "occupation")
        .collect();
    let data = adult(&others, Some("occupation"));
    for (model, at, score, counts) in cases {
        let models = json!([{ "model": "k_anonymity", "k": 5 }, model]);
        let found = loss_at(&data, &at, &models, "geometric");
        assert!(
            (found.0 - score).abs() < 1e-9,
            "{} is not {score} under {model}",
            found.0
        );
        assert_eq!((found.1, found.2, found.3), counts, "{model}");
    }
}

// algorithms.md G.2: A7 with t = 0.2 instead of l.
#[test]
fn a7_under_t_closeness_has_nine_front_points() {
    let data = adult(&ADULT[..7], Some("occupation"));
    let body = json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "t_closeness", "attribute": "occupation", "t": 0.2, "distance": "equal", "reference": "input" },
        ],
        "suppression_limit": 0.30,
        "search": { "method": "exact" },
        "objectives": ["generalization_depth", "suppression"],
    });
    let points = points(&data, &body, 84.0);
    let mut distinct = points.clone();
    distinct.dedup();
    assert_eq!(distinct.len(), 9, "{points:?}");
    assert_eq!(points.last(), Some(&(78, 0)));
    let rows = Rows::of(&data.table, &data.schema).expect("covered");
    let (criteria, needs) = Criteria::new(&data.demand(&body).privacy, &rows);
    let (cells, _) = Cells::build(&rows, &needs);
    let mut scratch = Scratch::default();
    let space = cells.space();
    let feasible = space.iter().filter(|policy| {
        let classes = ClassTable::group(&cells, policy.levels(), &mut scratch);
        let found = classes.evaluate(&cells, &criteria, Wanted::default());
        found.classes > 0 && found.suppressed_rows <= 9048
    });
    assert_eq!(feasible.count(), 122);
}

// algorithms.md G.2: A8 with entropy l = 2 instead of distinct l.
#[test]
fn a8_under_entropy_diversity_has_no_policy() {
    let data = adult(&ADULT[..8], Some("salary-class"));
    let outcome = data.search(&json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "entropy_l_diversity", "attribute": "salary-class", "l": 2 },
        ],
        "suppression_limit": 0.30,
        "search": { "method": "exact" },
        "objectives": ["generalization_depth", "suppression"],
    }));
    assert!(
        matches!(outcome, kindred::anonymize::Outcome::Infeasible(..)),
        "{outcome:?}"
    );
}
