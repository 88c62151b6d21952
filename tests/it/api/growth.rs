//! Hierarchies grown from the values, over HTTP.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::ended_update;
use super::*;

fn columns() -> Value {
    json!([
        {"name": "patient", "role": "identifying", "subject": true},
        {"name": "charge", "role": "quasi_identifying", "type": "decimal"},
        {"name": "ward", "role": "insensitive"},
        {"name": "dx", "role": "sensitive"}
    ])
}

const HEADER: &str = "patient,charge,ward,dx\n";

/// Sixty patients: charges 1.07 to 60.07, in ward A below 15, else B; the last one charged 99999.99.
fn rows() -> String {
    let mut csv = HEADER.to_owned();
    for patient in 1..=60 {
        let charge = if patient == 60 {
            "99999.99".to_owned()
        } else {
            format!("{patient}.07")
        };
        let ward = if patient < 15 { "A" } else { "B" };
        let dx = ["flu", "asthma", "hiv"][patient % 3];
        writeln!(csv, "p{patient},{charge},{ward},{dx}").unwrap();
    }
    csv
}

#[sqlx::test]
async fn a_column_is_split_searched_and_released(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), &rows()).await;
    let place = format!("{path}/hierarchies/charge");
    let grow = format!("{place}/grow");
    let key = [("idempotency-key", "g")];
    let body = json!({"depth": 3, "least_subjects": 7});
    let grown = api.post_with(&grow, &body, &key).await.ok(200);
    // 30 and 30, 15 and 15, 7 or 8; each the roundest number in its gap, and none near 99999.99.
    let points = json!([[8, 16, 23, 31, 38, 46, 53], [16, 31, 46], [31]]);
    assert_eq!(
        grown["hierarchy"],
        json!({"kind": "splits", "points": points})
    );
    assert_eq!(grown["attributes"][1]["levels"], 5, "{grown}");
    assert_eq!(grown["warnings"], json!([]));
    let shown = api
        .get(&format!("{place}?value=30.5&value=31&value=123456"))
        .await
        .ok(200);
    assert_eq!(shown["kind"], "splits");
    assert_eq!(
        shown["values"][0]["labels"],
        json!(["30.5", "[23, 31)", "[16, 31)", "<31", "*"])
    );
    assert_eq!(
        shown["values"][1]["labels"],
        json!(["31", "[31, 38)", "[31, 46)", "31+", "*"])
    );
    assert_eq!(
        shown["values"][2]["labels"],
        json!(["123456", "53+", "46+", "31+", "*"])
    );

    let demands = json!({"recoding": "subtree", "privacy": [{"model": "k_anonymity", "k": 10}],
        "search": {"method": "tds"}});
    let job = api.job(&path, &demands).await;
    let front = api
        .get(job["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    let cut = json!({"charge": ["46+", "<16", "[16, 31)", "[31, 46)"]});
    assert_eq!(front["solutions"][0]["recoding"]["cuts"], cut, "{front}");
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    let record = api.post("/v1/releases", &body).await.ok(201);
    assert_eq!(record["verification"]["passed"], true);
    let data = api
        .get(record["links"]["data"].as_str().unwrap())
        .await
        .text();
    assert_eq!(data.matches("46+").count(), 15, "{data}");
    assert!(!data.contains("99999"));

    // A repetition has no effect, also when another hierarchy is in force by then.
    let flat = json_request(Method::PUT, &place, &Value::Null, &[]);
    let flat = api.send(flat).await.ok(200);
    let body = json!({"depth": 3, "least_subjects": 7});
    assert_eq!(api.post_with(&grow, &body, &key).await.ok(200), grown);
    let now = api.get(&path).await.ok(200);
    assert_eq!(now["attributes"], flat["attributes"]);
}

#[sqlx::test]
async fn a_target_tells_where_to_split(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), &rows()).await;
    let grow = format!("{path}/hierarchies/charge/grow");
    let body = json!({"target": "ward", "least_subjects": 5});
    let grown = api.post(&grow, &body).await.ok(200);
    // Above and below 15 all patients are of one ward: nothing more is told.
    assert_eq!(grown["hierarchy"]["points"], json!([[15]]));
}

#[sqlx::test]
async fn what_cannot_be_grown_is_told_and_changes_nothing(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), &rows()).await;
    let before = api.get(&path).await.ok(200);
    let grow = async |column: &str, body: &Value| {
        api.post(&format!("{path}/hierarchies/{column}/grow"), body)
            .await
    };
    let body = json!({"depth": 11, "target": "nobody", "least": 5});
    let problem = grow("charge", &body)
        .await
        .problem(422, "validation_failed");
    let mut found = faults(&problem);
    found.sort();
    let expected = [
        ("out_of_range", "/depth"),
        ("unknown_attribute", "/target"),
        ("unknown_field", "/least"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, at)| (code.to_owned(), at.to_owned()))
    );
    let few = grow("charge", &json!({"least_subjects": 31})).await;
    let few = few.problem(422, "no_split");
    assert_eq!(few["errors"][0]["column"], "charge");
    let identifying = grow("patient", &json!({})).await;
    let identifying = identifying.problem(422, "attribute_role");
    assert_eq!(identifying["errors"][0]["column"], "patient");
    grow("nobody", &json!({})).await.problem(404, "not_found");
    let text = grow("dx", &json!({})).await.problem(422, "type_conflict");
    assert_eq!(text["errors"][0]["column"], "dx");
    assert_eq!(api.get(&path).await.ok(200), before);
    let empty = api.dataset(&columns()).await;
    api.post(&format!("{empty}/hierarchies/charge/grow"), &json!({}))
        .await
        .problem(422, "dataset_empty");
}

#[sqlx::test]
async fn a_series_places_later_numbers_in_the_frozen_splits(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), &rows()).await;
    let grow = format!("{path}/hierarchies/charge/grow");
    api.post(&grow, &json!({"depth": 2, "least_subjects": 15}))
        .await
        .ok(200);
    let mut body = with_dataset(
        &path,
        &json!({"privacy": [{"model": "k_anonymity", "k": 5}]}),
    );
    body["name"] = "s".into();
    let job = api.post("/v1/series", &body).await;
    let series = job.ok(202)["links"]["series"].as_str().unwrap().to_owned();
    api.ended(job.header("location")).await;
    let cuts = json!({"charge": ["46+", "<16", "[16, 31)", "[31, 46)"]});
    assert_eq!(api.get(&series).await.ok(200)["cuts"], cuts);

    // Growing again is a version that the series does not see.
    let again = api.post(&grow, &json!({"depth": 1})).await.ok(200);
    let kept = (
        "series_keep_hierarchy".to_owned(),
        Some("charge".to_owned()),
    );
    assert_eq!(warnings(&again), [kept]);
    let mut later = HEADER.to_owned();
    for n in 0..6 {
        writeln!(later, "q{n},-{n}.5,A,flu\nr{n},{n}000000,B,hiv").unwrap();
    }
    let batch = api
        .upload(&format!("{path}/batches"), "text/csv", later)
        .await
        .ok(201);
    assert_eq!(ended_update(&api, &batch).await["outcome"], "released");
    let now = api.get(&series).await.ok(200);
    assert_eq!(now["cuts"], cuts);
    assert_eq!(now["rows"]["released"], 72, "{now}");
}
