//! Measures that are reported where they are asked for.

use serde_json::{Value, json};

use crate::tables::{Data, data, k, plain};

/// Ages in tens, and a column of text.
fn ages() -> Data {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10] } },
        plain("quasi_identifying", "sex"),
    ]);
    data(
        attributes,
        &["20,f", "22,f", "25,f", "31,f", "40,f", "44,f", ",f"],
    )
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
}

#[test]
fn squares_are_those_of_the_middles_of_labels() {
    let data = ages();
    let asked = |levels: Value| {
        let measured = data.measure(&json!({ "measures": ["sum_of_squares"], "levels": levels }));
        let squares = measured.utility.sum_of_squares.unwrap();
        assert_eq!(squares.keys().collect::<Vec<_>>(), ["age"]);
        squares["age"]
    };
    // About the mean 182/6: 6006 - 182^2/6.
    let total = 6006.0 - 182.0 * 182.0 / 6.0;
    near(asked(json!({})), 0.0);
    // Middles 25, 35, 45: 25 + 9 + 0 + 16 + 25 + 1.
    near(asked(json!({ "age": 1 })), 76.0 / total);
    // The middle of 20 and 44 is 32: 144 + 100 + 49 + 1 + 64 + 144.
    near(asked(json!({ "age": 2 })), 502.0 / total);
    // The class of 31 is suppressed and stands for the whole: 1 in place of 16.
    let front = data.front(&json!({
        "privacy": [k(2)], "suppression_limit": 0.3, "measures": ["sum_of_squares"],
        "search": { "method": "fixed", "levels": { "age": 1, "sex": 0 } },
    }));
    assert_eq!(front.solutions[0].suppressed_rows, 2);
    let utility = front.solutions[0].utility.as_ref().unwrap();
    near(
        utility.sum_of_squares.as_ref().unwrap()["age"],
        61.0 / total,
    );
    assert_eq!(utility.query_error, None);
}

#[test]
fn a_constant_column_has_no_squares_and_nothing_is_reported_unasked() {
    let attributes = json!([{ "name": "age", "role": "quasi_identifying", "type": "integer" }]);
    let data = data(attributes, &["5", "5"]);
    let measured = data.measure(&json!({ "measures": ["sum_of_squares"] }));
    assert!(measured.utility.sum_of_squares.unwrap().is_empty());
    let unasked = ages().measure(&json!({})).utility;
    assert_eq!((unasked.query_error, unasked.sum_of_squares), (None, None));
}

#[test]
fn the_error_of_queries_is_decided_by_the_seed_of_the_search() {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10] } },
        plain("quasi_identifying", "sex"),
    ]);
    let line = |row: u32| format!("{},{}", row * row % 53, ["f", "m", "d"][row as usize % 3]);
    let data = data(attributes, &(0..80).map(line).collect::<Vec<_>>());
    let at = |seed: u64, age: usize| {
        let front = data.front(&json!({
            "privacy": [k(1)], "measures": ["query_error"],
            "search": { "method": "fixed", "seed": seed, "levels": { "age": age, "sex": 0 } },
        }));
        front.solutions[0]
            .utility
            .as_ref()
            .unwrap()
            .query_error
            .unwrap()
    };
    near(at(3, 0), 0.0);
    assert!(at(3, 1) > 0.0);
    let seeds: Vec<f64> = (0..5).map(|seed| at(seed, 2)).collect();
    near(at(3, 2), seeds[3]);
    assert!(
        seeds.iter().any(|error| (error - seeds[0]).abs() > 1e-9),
        "{seeds:?}"
    );
    // A measurement has the queries of seed 0.
    let body = json!({ "measures": ["query_error"], "levels": { "age": 2 } });
    near(data.measure(&body).utility.query_error.unwrap(), seeds[0]);
}
