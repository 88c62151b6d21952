//! Deletions: rows that are gone for good, and what becomes of series.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::{HEADER, attributes, begun, ended_update, k2_l2, lines};
use super::*;

/// Algorithms.md F 33: one of a class of four leaves; what left would be one row, so all four are withheld.
#[sqlx::test]
async fn an_erased_row_takes_its_group_with_it_and_its_values_are_gone(pool: PgPool) {
    let api = Api::new(pool.clone()).work();
    let k2 = json!({"privacy": [{"model": "k_anonymity", "k": 2}]});
    let rows = "p1,41,F,flu\np2,42,F,asthma\np3,43,F,rareillness\np4,44,F,copd\n";
    let (dataset, path) = begun(&api, rows, &k2).await;
    let first = api.get(&path).await.ok(200)["releases"][0]["release_id"].clone();
    let before = lines(&api, &first, "").await;
    let deletions = format!("{dataset}/deletions");
    let body = json!({"subjects": [" P3 "]});
    let send = || api.post_with(&deletions, &body, &[("idempotency-key", "d1")]);
    let answer = send().await.ok(202);
    assert_eq!(
        (&answer["rows"], &answer["subjects"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(send().await.ok(202), answer);
    let update = ended_update(&api, &answer).await;
    assert_eq!(update["outcome"], "released", "{update}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        series["rows"],
        json!({"received": 3, "released": 0, "pending": 0, "suppressed": 3})
    );
    assert_eq!(lines(&api, &first, "").await, before);
    let second = &series["releases"][0]["release_id"];
    assert_eq!(lines(&api, second, "").await, Vec::<String>::new());

    let dataset = api.get(&dataset).await.ok(200);
    assert_eq!(
        (&dataset["rows"], &dataset["subjects"]),
        (&json!(3), &json!(3))
    );
    let list = api.get(&deletions).await.ok(200);
    assert_eq!(list["items"][0]["deletion_id"], answer["deletion_id"]);
}

#[sqlx::test]
async fn a_deletion_names_every_fault_and_one_that_matches_nothing_changes_nothing(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &k2_l2()).await;
    let before = api.get(&path).await.ok(200);
    let deletions = format!("{dataset}/deletions");
    let refused = [
        (json!({}), vec![("missing_field", "")]),
        (
            json!({"subjects": ["p1"], "rows_where": {"age": "41"}}),
            vec![("unknown_field", "")],
        ),
        (
            json!({"subjects": [], "extra": 1}),
            vec![("unknown_field", "/extra"), ("out_of_range", "/subjects")],
        ),
        (
            json!({"rows_where": {"age": "old", "nose": "x", "sex": ""}}),
            vec![
                ("invalid_value", "/rows_where/age"),
                ("unknown_attribute", "/rows_where/nose"),
            ],
        ),
    ];
    for (body, expected) in refused {
        let problem = api.post(&deletions, &body).await;
        assert_eq!(problem.status, 422, "{}", problem.text());
        let found = faults(&problem.json());
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(code, at)| (code.as_str(), at.as_str()))
            .collect();
        assert_eq!(found, expected, "{body}");
    }
    let none = api
        .post(&deletions, &json!({"rows_where": {"age": 99}}))
        .await
        .ok(200);
    assert_eq!(
        (&none["rows"], &none["deletion_id"]),
        (&json!(0), &Value::Null)
    );
    assert_eq!(none["updates"], json!([]));
    assert_eq!(api.get(&path).await.ok(200), before);
    // Of two rows that hold the sex, one holds the age too.
    let one = api
        .post(&deletions, &json!({"rows_where": {"age": 41, "sex": "F"}}))
        .await
        .ok(202);
    assert_eq!(one["rows"], 1);
}

/// What was erased after the search is not what its front counted.
#[sqlx::test]
async fn a_front_from_before_an_erasure_is_not_released(pool: PgPool) {
    let api = Api::new(pool).work();
    let rows = "p1,41,F,flu\np2,42,F,copd\np3,43,F,flu\n";
    let dataset = api.loaded(&attributes(), &format!("{HEADER}{rows}")).await;
    let job = api.job(&dataset, &k2_l2()).await;
    let body = json!({"subjects": ["p1"]});
    api.post(&format!("{dataset}/deletions"), &body)
        .await
        .ok(202);
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    api.post("/v1/releases", &body)
        .await
        .problem(409, "dataset_changed");
    let measured = api
        .post(&format!("{dataset}/measure"), &json!({}))
        .await
        .ok(200);
    assert_eq!(
        (&measured["rows"], &measured["subjects"]),
        (&json!(2), &json!(2))
    );
}
