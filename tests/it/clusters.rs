//! Classes end to end, without a service: search, render, verify, and regroup here by other code.

use std::collections::{BTreeMap, BTreeSet};

use kindred::anonymize::Outcome;
use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::report::{Front, RecodingReport};
use kindred::anonymize::verify::verify;
use kindred::declaration::{RowOrder, SuppressedRows};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::{Data, data, k, l, plain};

fn demand(recoding: &str, method: &str, more: &Value) -> Value {
    let mut body = json!({ "recoding": recoding, "privacy": [k(3), l("dx", 2)],
        "search": { "method": method, "seed": 5 } });
    if method == "mo_obam" {
        body["search"]["max_evaluations"] = json!(200);
        body["search"]["swarm"] = json!(6);
    }
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

fn attributes() -> Value {
    let places = "n1;north;*\nn2;north;*\nn3;north;*\ns1;south;*\ns2;south;*\nw1;west;*";
    json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer" },
        { "name": "since", "role": "quasi_identifying", "type": "date", "format": "%d.%m.%Y" },
        { "name": "place", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": places } },
        { "name": "size", "role": "quasi_identifying", "order": ["s", "m", "l", "x,l"] },
        plain("quasi_identifying", "sex"),
        plain("sensitive", "dx"),
        plain("insensitive", "note"),
    ])
}

/// Rows of every kind of value, some missing, drawn by a seed.
fn clinic(seed: u64, rows: usize) -> Data {
    let mut state = seed.wrapping_mul(2).wrapping_add(11);
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("small") % below
    };
    let rows: Vec<Vec<String>> = (0..rows)
        .map(|row| {
            let age = match draw(12) {
                0 => String::new(),
                _ => (20 + draw(30)).to_string(),
            };
            let since = match draw(10) {
                0 => String::new(),
                _ => format!("{:02}.{:02}.{}", 1 + draw(28), 1 + draw(12), 2000 + draw(4)),
            };
            let place = ["n1", "n1", "n2", "n3", "s1", "s1", "s2", "w1", ""][draw(9)];
            let size = ["s", "m", "l", "x,l", ""][draw(5)];
            let sex = ["F", "M", "{F}", ""][draw(4)];
            let dx = ["flu", "asthma", "cancer", ""][draw(4)];
            let cells = [&age, &since, place, size, sex, dx, &format!("row {row}")];
            cells.map(str::to_owned).to_vec()
        })
        .collect();
    let rows = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).collect());
    crate::tables::table(&attributes(), rows)
}

fn rendered(data: &Data, front: &Front, number: usize, body: &Value) -> Rendered {
    let demand = data.demand(body);
    let solution = &front.solutions[number];
    let recipe = Recipe {
        recoding: solution.recoding.recoded_by(&front.partitions[number]),
        privacy: &demand.privacy,
        row_order: RowOrder::Shuffled,
        seed: 1,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let rendered = render(&data.table, &data.schema, &recipe).expect("it can be rendered");
    let limit = demand.suppression_limit;
    let verified = verify(&data.table, &data.schema, &recipe, limit, &rendered);
    let found = verified.unwrap_or_else(|failure| panic!("{:?}: {body}", failure.failures));
    assert_eq!(found.released_rows, solution.released_rows);
    let promised = (solution.classes, solution.privacy.k);
    assert_eq!((found.classes, found.k), promised);
    rendered
}

/// Rows, and distinct values of `dx` that are not missing, by the texts of the quasi-identifiers.
fn regrouped(rendered: &Rendered) -> BTreeMap<Vec<String>, (usize, BTreeSet<String>)> {
    let mut classes: BTreeMap<Vec<String>, (usize, BTreeSet<String>)> = BTreeMap::new();
    let column = |name: &str| rendered.columns.iter().position(|one| one.name == name);
    let dx = column("dx").expect("a column");
    for row in 0..rendered.order.len() {
        let texts = (0..dx).map(|column| format!("{:?}", rendered.cell(row, column)));
        let class = classes.entry(texts.collect()).or_default();
        class.0 += 1;
        class.1.extend(rendered.cell(row, dx).map(str::to_owned));
    }
    classes
}

const METHODS: [&str; 6] = ["auto", "mondrian", "mdav", "k_member", "oka", "mo_obam"];

#[test]
fn every_method_keeps_k_and_l_in_either_representation() {
    let data = clinic(3, 150);
    for recoding in ["local", "microaggregation"] {
        for method in METHODS {
            let body = demand(recoding, method, &json!({}));
            let front = data.front(&body);
            assert_eq!(front.solutions.len(), front.partitions.len());
            for (number, solution) in front.solutions.iter().enumerate() {
                let report = solution.recoding.classes().expect("classes");
                assert_eq!(report.truthful, recoding == "local");
                assert_eq!(solution.suppressed_rows, 0, "{method}");
                let classes = regrouped(&rendered(&data, &front, number, &body));
                assert_eq!(classes.len() as u64, solution.classes);
                for (rows, values) in classes.values() {
                    assert!(*rows >= 3 && values.len() >= 2, "{method}");
                }
            }
        }
    }
}

#[test]
fn classes_of_a_small_table_are_written_as_worked() {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer" },
        plain("quasi_identifying", "sex"),
        plain("sensitive", "dx"),
    ]);
    // Mondrian cuts 20 22 25 | 31 40 44.
    let lines = ["20,F,a", "31,M,a", "22,F,b", "40,M,b", "25,M,c", "44,M,c"];
    let data = data(attributes, &lines);
    let texts = |recoding: &str| -> BTreeSet<Vec<String>> {
        let body =
            json!({ "recoding": recoding, "privacy": [k(2)], "search": { "method": "mondrian" } });
        let front = data.front(&body);
        assert_eq!(front.solutions.len(), 1);
        let rendered = rendered(&data, &front, 0, &body);
        let row = |row: usize| {
            let cells = (0..2).map(|column| rendered.cell(row, column).expect("a cell").to_owned());
            cells.collect()
        };
        (0..rendered.order.len()).map(row).collect()
    };
    let expect = |rows: [[&str; 2]; 2]| -> BTreeSet<Vec<String>> {
        rows.map(|row| row.map(str::to_owned).to_vec()).into()
    };
    assert_eq!(
        texts("local"),
        expect([["[20, 25]", "{F, M}"], ["[31, 44]", "M"]])
    );
    assert_eq!(
        texts("microaggregation"),
        expect([["22.33", "F"], ["38.33", "M"]])
    );
    let front = data.front(
        &json!({ "recoding": "local", "privacy": [k(2)], "search": { "method": "mondrian" } }),
    );
    let solution = &front.solutions[0];
    // Ages: 12 2/3 and 88 2/3 of 485 1/3 around 30 1/3; sexes: 1 of 2.
    let age = (12.0 + 2.0 / 3.0 + 88.0 + 2.0 / 3.0) / (485.0 + 1.0 / 3.0);
    let RecodingReport::Local(report) = &solution.recoding else {
        panic!("classes");
    };
    assert!((report.information_loss.balanced - f64::midpoint(age, 0.5)).abs() < 1e-9);
    assert!(
        (solution.objectives["information_loss"] - report.information_loss.balanced).abs() < 1e-12
    );
    assert!((solution.objectives["sensitive_entropy"] - 1.0).abs() < 1e-12);
    assert!((report.least_entropy["dx"] - 3_f64.log2()).abs() < 1e-12);
    // Widths: 5 and 13 of 24; two sexes of two, and one.
    assert!((report.certainty_penalty - (5.0 / 24.0 + 13.0 / 24.0 + 1.0) / 4.0).abs() < 1e-9);
    assert_eq!(front.recommended, Some(0));
}

#[test]
fn subjects_are_counted_and_not_their_rows() {
    let attributes = json!([
        { "name": "person", "role": "identifying", "subject": true },
        { "name": "age", "role": "quasi_identifying", "type": "integer" },
        plain("sensitive", "dx"),
    ]);
    let lines: Vec<String> = (0..120)
        .map(|row| format!("p{},{},d{}", row / 4, 20 + row / 4, row % 3))
        .collect();
    let data = data(attributes, &lines);
    for method in METHODS {
        let body = demand("microaggregation", method, &json!({}));
        let front = data.front(&body);
        assert!(!front.solutions.is_empty(), "{method}");
        for (number, solution) in front.solutions.iter().enumerate() {
            assert!(solution.privacy.k >= 3, "{method}");
            rendered(&data, &front, number, &body);
            let mut people: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
            for (row, class) in front.partitions[number].iter().enumerate() {
                people.entry(*class).or_default().insert(row / 4);
            }
            assert!(people.values().all(|people| people.len() >= 3), "{method}");
        }
    }
}

#[test]
fn what_no_class_can_keep_is_suppressed_or_infeasible() {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer" },
        plain("sensitive", "dx"),
    ]);
    // Of 40 rows 4 bear something else: enough entropy for a few classes, not for all rows.
    let lines: Vec<String> = (0..40)
        .map(|row| {
            format!(
                "{},{}",
                20 + row,
                if row < 8 && row % 2 == 0 { "b" } else { "a" }
            )
        })
        .collect();
    let data = data(attributes, &lines);
    let entropy = json!({ "model": "entropy_l_diversity", "attribute": "dx", "l": 1.8 });
    let mut body =
        json!({ "recoding": "local", "privacy": [k(2), entropy], "search": { "method": "mdav" } });
    let Outcome::Infeasible(reason, front) = data.search(&body) else {
        panic!("infeasible");
    };
    assert_eq!(reason.code, "not_found");
    assert!(front.solutions.is_empty());
    body["suppression_limit"] = json!(0.9);
    let front = data.front(&body);
    let solution = &front.solutions[0];
    assert!(solution.suppressed_rows > 0 && solution.released_rows > 0);
    assert_eq!(solution.released_rows + solution.suppressed_rows, 40);
    rendered(&data, &front, 0, &body);
    body["privacy"] = json!([k(41)]);
    let Outcome::Infeasible(reason, _) = data.search(&body) else {
        panic!("infeasible");
    };
    assert_eq!(reason.code, "k_exceeds_rows");
}

#[test]
fn fronts_by_weights_hold_what_nothing_beats() {
    let data = clinic(9, 200);
    for optimizer in ["swarm", "nsga2", "multi_start"] {
        let search = json!({ "method": "mo_obam", "optimizer": optimizer, "max_evaluations": 300, "swarm": 8, "seed": 2 });
        let body = json!({ "recoding": "microaggregation", "privacy": [k(4)], "search": search });
        let front = data.front(&body);
        let points: Vec<[f64; 2]> = front
            .solutions
            .iter()
            .map(|one| {
                [
                    one.objectives["information_loss"],
                    one.objectives["sensitive_entropy"],
                ]
            })
            .collect();
        assert!(points.len() > 1, "{optimizer}");
        let rise = |pair: &[[f64; 2]]| pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1];
        assert!(points.windows(2).all(rise), "{optimizer}: {points:?}");
        assert!(front.search.evaluations <= 300);
        assert!(front.search.evaluations > 100);
        let again = data.front(&body);
        assert_eq!(again, front, "{optimizer}");
    }
}

#[test]
fn other_models_hold_in_every_class() {
    let data = clinic(4, 240);
    let models = [
        json!({ "model": "entropy_l_diversity", "attribute": "dx", "l": 2 }),
        json!({ "model": "recursive_cl_diversity", "attribute": "dx", "c": 2, "l": 2 }),
        json!({ "model": "t_closeness", "attribute": "dx", "t": 0.3, "distance": "equal" }),
        json!({ "model": "t_closeness", "attribute": "dx", "t": 0.3, "distance": "equal", "reference": "input" }),
        json!({ "model": "beta_likeness", "attribute": "dx", "beta": 1.5 }),
        json!({ "model": "alpha_k", "attribute": "dx", "alpha": 0.6, "k": 3 }),
        json!({ "model": "average_risk", "max": 0.2 }),
        json!({ "model": "maximum_risk", "max": 0.2 }),
    ];
    for model in models {
        for method in ["mondrian", "mdav", "mo_obam"] {
            let body = demand("local", method, &json!({ "privacy": [k(3), model] }));
            let front = data.front(&body);
            for number in 0..front.solutions.len() {
                assert_eq!(front.solutions[number].suppressed_rows, 0);
                rendered(&data, &front, number, &body);
            }
        }
    }
}

#[test]
fn datafly_generalises_the_attribute_with_most_values() {
    let zips = "10115;101;1;*\n10117;101;1;*\n10119;101;1;*\n10245;102;1;*\n20095;200;2;*\n20099;200;2;*\n20097;200;2;*\n30159;301;3;*";
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10, 20], "lower": 0, "upper": 120 } },
        { "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": zips } },
        plain("quasi_identifying", "sex"),
        plain("sensitive", "dx"),
    ]);
    let lines = [
        "23,10115,F,a",
        "27,10117,F,b",
        "25,10119,F,a",
        "28,10245,M,b",
        "41,20095,M,a",
        "45,20099,M,b",
        "48,20097,F,a",
        "62,30159,F,b",
    ];
    let data = data(attributes, &lines);
    // algorithms.md F 7: steps age, zip, zip, age, age, zip.
    let front = data.front(&json!({ "privacy": [k(2)], "search": { "method": "datafly" } }));
    assert_eq!(
        crate::tables::levels(&front.solutions[0], &["age", "zip", "sex"]),
        [3, 3, 0]
    );
    assert_eq!(front.search.evaluations, 7);
    assert_eq!(front.solutions[0].suppressed_rows, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn no_class_is_smaller_than_k(seed in any::<u32>(), rows in 1_usize..90, size in 1_u64..9, method in 0..METHODS.len()) {
        let data = clinic(seed.into(), rows);
        for recoding in ["local", "microaggregation"] {
            let body = demand(recoding, METHODS[method], &json!({ "privacy": [k(size)] }));
            match data.search(&body) {
                Outcome::Front(front) => {
                    prop_assert!(rows as u64 >= size);
                    for number in 0..front.solutions.len() {
                        let classes = regrouped(&rendered(&data, &front, number, &body));
                        prop_assert_eq!(classes.values().map(|class| class.0).sum::<usize>(), rows);
                        prop_assert!(classes.values().all(|class| class.0 as u64 >= size));
                    }
                }
                Outcome::Infeasible(..) => prop_assert!((rows as u64) < size),
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
