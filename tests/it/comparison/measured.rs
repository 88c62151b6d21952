//! One measure for levels, cuts and classes: what their texts stand for.

use std::collections::BTreeMap;

use kindred::anonymize::compare::report::ReferenceKind;
use kindred::anonymize::release::{Recipe, render};
use kindred::declaration::{RowOrder, SuppressedRows};
use serde_json::{Value, json};

use super::{body, clinic, method, pair, report};
use crate::tables::Data;

/// Leaves that stand for a released text of the clinic's columns, read as a stranger reads it.
fn leaves(column: &str, text: &str, domain: u64) -> u64 {
    let number = |text: &str| text.trim().parse::<u64>().expect("a number");
    let ends = |inner: &str| {
        let (low, high) = inner.split_once(',').expect("two ends");
        (number(low), number(high))
    };
    if text == "*" {
        return domain;
    }
    match (column, text) {
        (_, text) if text.starts_with('{') => text.split(',').count() as u64,
        ("age", text) if text.ends_with(')') => {
            let (low, high) = ends(&text[1..text.len() - 1]);
            high - low
        }
        ("age", text) if text.ends_with(']') => {
            let (low, high) = ends(&text[1..text.len() - 1]);
            high - low + 1
        }
        ("place", "north") => 3,
        ("place", "south") => 2,
        _ => 1,
    }
}

/// The loss of a release (algorithms.md D.7), counted from its texts.
fn loss_of_texts(data: &Data, body: &Value, weights: &BTreeMap<&str, f64>) -> f64 {
    let front = data.front(body);
    let best = front
        .solutions
        .iter()
        .zip(0..)
        .map(|(solution, number)| {
            let none = Vec::new();
            let class_of = front
                .partitions
                .get(number)
                .map_or(&none[..], |class_of| class_of);
            let recipe = Recipe {
                recoding: solution.recoding.recoded_by(class_of),
                privacy: &data.demand(body).privacy,
                row_order: RowOrder::Input,
                seed: 0,
                columns: None,
                suppressed_rows: SuppressedRows::Omit,
            };
            let rendered = render(&data.table, &data.schema, &recipe).expect("it can be rendered");
            let all = data.table.rows as f64;
            let (mut sum, mut weight) = (0.0, 0.0);
            for (position, rendered_column) in rendered.columns.iter().enumerate() {
                let Some(&own) = weights.get(&*rendered_column.name) else {
                    continue;
                };
                let attribute = &data.schema.attributes()[rendered_column.position];
                let hierarchy = attribute.hierarchy.as_ref().expect("a quasi-identifier");
                let domain = hierarchy.domain().unwrap_or(2);
                let rows = 0..rendered.order.len();
                let covered: u64 = rows
                    .map(|row| {
                        leaves(
                            &rendered_column.name,
                            rendered.cell(row, position).expect("no cell is missing"),
                            domain,
                        )
                    })
                    .sum();
                let domain = domain as f64;
                let raw = (covered as f64 / domain + rendered.suppressed_rows as f64) / all;
                sum += own * (raw - 1.0 / domain) / (1.0 - 1.0 / domain);
                weight += own;
            }
            sum / weight
        })
        .fold(f64::INFINITY, f64::min);
    assert!(best.is_finite());
    best
}

#[test]
fn levels_cuts_and_classes_are_measured_by_what_their_texts_stand_for() {
    let data = clinic();
    let names = [
        "exact",
        "datafly",
        "tds",
        "genetic_cuts",
        "mondrian",
        "mdav",
        "k_member",
        "oka",
        "mo_obam",
    ];
    let small = |name: &&str| match *name {
        "genetic_cuts" => json!({ "method": name, "population": 6, "generations": 3 }),
        "mo_obam" => json!({ "method": name, "lambdas": 0.5, "swarm": 4 }),
        name => json!(name),
    };
    let methods: Vec<Value> = names.iter().map(small).collect();
    let asked = body(
        &json!({ "methods": methods, "seeds": 2, "max_evaluations": 60, "weights": { "age": 3 } }),
    );
    let report = report(&data, &asked);
    assert_eq!(report.reference, ReferenceKind::Union);
    let weights = BTreeMap::from([("age", 3.0), ("place", 1.0), ("sex", 1.0)]);
    for (name, method) in names.iter().zip(&report.methods) {
        assert_eq!(method.verified, Some(true), "{name}");
        assert!(
            method.hypervolume_ratio.greatest <= Some(1.0 + 1e-12),
            "{name}"
        );
        let recoding = serde_json::to_value(method.recoding).expect("a word");
        let mut alone = json!({ "recoding": recoding, "search": method.search, "privacy": asked["privacy"],
            "suppression_limit": 0.2, "objectives": ["loss", "suppression"] });
        if recoding != "local" {
            alone["weights"] = asked["weights"].clone();
        }
        let expected = loss_of_texts(&data, &alone, &weights);
        let found = method.by_run[0].best_loss.expect("a solution");
        assert!(
            (found - expected).abs() < 1e-9,
            "{name}: {found}, by its texts {expected}"
        );
    }
    let best = report
        .methods
        .iter()
        .filter_map(|method| method.by_run[0].best_loss);
    assert!(best.fold(f64::INFINITY, f64::min) < report.common_loss.expect("solutions"));
    // One run each: there is one difference, and no chance in it.
    assert_eq!(
        (
            pair(&report, "exact", "tds").p,
            pair(&report, "exact", "tds").p_holm
        ),
        (None, None)
    );
    assert!(pair(&report, "exact", "oka").p.is_some());
}

#[test]
fn objectives_of_classes_are_those_that_the_methods_state() {
    let data = clinic();
    let asked = body(
        &json!({ "methods": ["mdav", { "method": "mo_obam", "lambdas": [0.1, 2], "swarm": 4 }], "seeds": 2,
        "max_evaluations": 40, "objectives": ["information_loss", "sensitive_entropy"] }),
    );
    let report = report(&data, &asked);
    assert_eq!(report.objectives[1].direction, "maximize");
    assert!(
        report
            .reference_front
            .corner
            .iter()
            .all(|most| (most - 1.0).abs() < 1e-12)
    );
    let alone = json!({ "recoding": "local", "search": method(&report, "mdav").search, "privacy": asked["privacy"],
        "suppression_limit": 0.2, "objectives": ["information_loss", "sensitive_entropy"] });
    let front = data.front(&alone);
    let objectives = &front.solutions[0].objectives;
    let expected = [
        objectives["information_loss"],
        1.0 - objectives["sensitive_entropy"],
    ];
    assert_eq!(method(&report, "mdav").by_run[0].points, [expected]);
}
