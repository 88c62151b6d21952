//! Attacks on releases of classes: people are counted and found by what rows bear.

use std::fmt::Write;

use serde_json::{Value, json};
use sqlx::PgPool;

use super::Api;

/// Four rows of each of 12 persons.
fn rows() -> String {
    let mut csv = String::from("mrn,day,size,town,dx\n");
    for row in 0..48_usize {
        let (person, visit) = (row / 4, row % 4);
        let day = format!("2020-{:02}-{:02}", person + 1, 1 + visit * 5);
        let size = ["s", "m", "l", "xl"][person / 3];
        let town = ["\"a, b\"", "{c}", "*", ""][person % 4];
        writeln!(csv, "p{person},{day},{size},{town},d{}", row % 3).unwrap();
    }
    csv
}

fn columns(quasi: &Value) -> Value {
    json!([{"name": "mrn", "role": "identifying", "subject": true}, quasi,
        {"name": "dx", "role": "sensitive"}])
}

/// The data with one quasi-identifier.
fn narrowed(column: &str) -> String {
    let text = rows();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let place = reader
        .headers()
        .unwrap()
        .iter()
        .position(|name| name == column);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["mrn", column, "dx"]).unwrap();
    for record in reader.records() {
        let record = record.unwrap();
        let cells = [&record[0], &record[place.unwrap()], &record[4]];
        writer.write_record(cells).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

/// A release of classes of at least three persons; its path and that of its dataset.
async fn released(api: &Api, quasi: &Value, recoding: &str, method: &str) -> (String, String) {
    let data = narrowed(quasi["name"].as_str().unwrap());
    let path = api.loaded(&columns(quasi), &data).await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 3}], "recoding": recoding,
        "search": {"method": method}});
    let job = api.job(&path, &demands).await;
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    let record = api.post("/v1/releases", &body).await.ok(201);
    let release = format!(
        "/v1/releases/{}/attacks",
        record["release_id"].as_str().unwrap()
    );
    (path, release)
}

fn quasi_identifiers() -> [Value; 3] {
    [
        json!({"name": "day", "role": "quasi_identifying", "type": "date"}),
        json!({"name": "size", "role": "quasi_identifying", "order": ["s", "m", "l", "xl"]}),
        json!({"name": "town", "role": "quasi_identifying"}),
    ]
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[sqlx::test]
async fn people_are_found_in_intervals_and_sets(pool: PgPool) {
    let api = Api::new(pool).work();
    for quasi in quasi_identifiers() {
        for method in ["mondrian", "mdav"] {
            let (_, attacks) = released(&api, &quasi, "local", method).await;
            let found = api.post(&attacks, &json!({})).await.ok(200);
            assert_eq!(found["counted"], "subjects", "{quasi} {method}");
            let maximum = number(&found["linkage"]["maximum"]);
            assert!((1.0 / 12.0 - 1e-9..=1.0 / 3.0 + 1e-9).contains(&maximum));
            assert!(
                number(&found["linkage"]["mean"]) >= 1.0 / 12.0 - 1e-9,
                "{found}"
            );
            let simulation = &found["simulation"];
            assert!(
                (number(&simulation["coverage"]) - 1.0).abs() < 1e-9,
                "{found}"
            );
            assert!(number(&simulation["success"]) > 0.0);
            let bars = simulation["match_sizes"].as_array().unwrap();
            assert!(
                bars.iter().all(|bar| bar["size"].as_u64().unwrap() >= 3),
                "{found}"
            );
            assert!(found["inference"]["dx"].is_object());
            assert!(found.get("not_simulated").is_none());
        }
    }
}

#[sqlx::test]
async fn of_centroids_no_match_set_is_told(pool: PgPool) {
    let api = Api::new(pool).work();
    for quasi in quasi_identifiers() {
        let (dataset, attacks) = released(&api, &quasi, "microaggregation", "mdav").await;
        let found = api.post(&attacks, &json!({"noise": true})).await.ok(200);
        assert_eq!(found["counted"], "subjects");
        assert_eq!(found["simulation"], Value::Null);
        assert_eq!(found["not_simulated"]["code"], "rows_bear_centroids");
        assert_eq!(
            (&found["knowledge"], &found["inference"], found.get("noise")),
            (&json!([]), &json!({}), None)
        );
        assert!(found["distance_linkage"].is_object());
        // After an erasure the classes of rows are forgotten: sizes are then what the models demand at least.
        let erasure = json!({"subjects": ["p0"]});
        api.post(&format!("{dataset}/deletions"), &erasure)
            .await
            .ok(202);
        let found = api.post(&attacks, &json!({})).await.ok(200);
        assert_eq!(found["counted"], "subjects_at_least");
        assert!((number(&found["linkage"]["maximum"]) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(found["simulation"], Value::Null);
    }
}
