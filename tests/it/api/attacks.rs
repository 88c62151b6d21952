//! Attacks on releases over HTTP: right figures, aggregates only, hostile files.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults};

fn columns() -> Value {
    json!([
        {"name": "mrn", "role": "identifying", "subject": true},
        {"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10]}},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "diagnosis", "role": "sensitive"},
        {"name": "bed", "role": "insensitive"}
    ])
}

/// Three classes of (age by tens, sex) of 4, 3 and 3 subjects and two rows that k = 3 suppresses.
fn rows() -> String {
    let rows = [
        "21,F,flu",
        "23,F,flu",
        "25,F,flu",
        "29,F,asthma", // mixed
        "31,M,flu",
        "32,M,flu",
        "33,M,flu", // homogeneous
        "41,F,flu",
        "42,F,asthma",
        "43,F,cancer", // all different
        "71,F,asthma",
        "85,M,cancer", // suppressed
    ];
    let lines = rows.iter().enumerate();
    let lines = lines.map(|(at, row)| format!("p{at},{row},bed{at}\n"));
    format!("mrn,age,sex,diagnosis,bed\n{}", lines.collect::<String>())
}

/// A release with k = 3; gives its path.
async fn released(api: &Api, more: &Value) -> String {
    let path = api.loaded(&columns(), &rows()).await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.25,
        "search": {"method": "fixed", "levels": {"age": 1, "sex": 0}}});
    let job = api.job(&path, &demands).await;
    let mut body = json!({"job_id": job["job_id"], "solution_id": 0});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let record = api.post("/v1/releases", &body).await.ok(201);
    format!("/v1/releases/{}", record["release_id"].as_str().unwrap())
}

fn near(value: &Value, expected: f64) {
    let found = value.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[sqlx::test]
async fn a_release_is_attacked_by_size_values_and_knowledge(pool: PgPool) {
    let api = Api::new(pool).work();
    for more in [json!({}), json!({"suppressed_rows": "mask"})] {
        let release = released(&api, &more).await;
        let demand = json!({"noise": true, "undeclared": {"columns": ["bed"], "limit": 0.1}});
        let found = api
            .post(&format!("{release}/attacks"), &demand)
            .await
            .ok(200);
        assert_eq!(
            (&found["k"], &found["released_rows"], &found["classes"]),
            (&json!(3), &json!(10), &json!(3))
        );
        assert_eq!(found["counted"], "subjects");
        near(&found["linkage"]["maximum"], 1.0 / 3.0);
        near(&found["linkage"]["mean"], 0.3);
        near(&found["linkage"]["share_above"]["0.33"], 0.6);
        near(&found["linkage"]["share_above"]["0.5"], 0.0);
        near(&found["homogeneity"]["diagnosis"], 0.3);
        // 3 of 4 and 3 of 3 rows bear more than half of their class.
        near(&found["skewness"]["diagnosis"]["0.5"], 0.6);
        near(&found["skewness"]["diagnosis"]["0.9"], 0.3);
        assert_eq!(
            found["people"],
            json!({"source": "dataset", "records": 12, "persons": 12, "step": 1})
        );
        near(&found["simulation"]["coverage"], 1.0);
        // (4/4 + 3/3 + 3/3) / 10 = 0.3, in steps of 3 people of 10.
        near(&found["simulation"]["success"], 0.3);
        let bars = found["simulation"]["match_sizes"].as_array().unwrap();
        assert!(
            bars.iter().all(|bar| bar["people"].as_u64().unwrap() >= 3),
            "{bars:?}"
        );
        assert_eq!(
            bars.iter()
                .map(|bar| bar["people"].as_u64().unwrap())
                .sum::<u64>(),
            12
        );
        // Right: 3 of the first class, 3 of the second, 1 of the third (asthma is the lowest code there or flu): told in
        // steps of 3 of 12. Baseline: flu, 7 of 12.
        near(&found["inference"]["diagnosis"]["baseline"], 0.75);
        let sets: Vec<&Value> = found["knowledge"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["known"])
            .collect();
        assert_eq!(
            sets,
            [&json!(["age"]), &json!(["sex"]), &json!(["age", "sex"])]
        );
        // Ages up to one year off: 29 may be 30, so the first class's men are looked for as well; nobody is found worse.
        near(&found["noise"]["coverage"], 1.0);
        near(&found["undeclared"]["unique"], 0.0);
        assert_eq!(
            found["undeclared"]["columns"],
            json!([{"column": "bed", "unique": 1.0, "flagged": true}])
        );
        let text = found.to_string();
        for secret in ["flu", "asthma", "bed3", "p1", "[20, 30)"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[sqlx::test]
async fn a_file_of_known_people_is_linked_by_subject_or_by_values(pool: PgPool) {
    let api = Api::new(pool).work();
    let release = released(&api, &json!({})).await;
    let path = format!("{release}/attacks?subsets_up_to=1");
    // Three members, one with another spelling; three who are none but look like some.
    let file = "mrn,age,sex,diagnosis\np0,21,F,flu\n P4 ,31,M,flu\np7,41,F,cancer\nx1,22,F,flu\nx2,34,M,flu\nx3,99,M,flu\n";
    let found = api.upload(&path, "text/csv", file.to_owned()).await.ok(200);
    assert_eq!(
        found["people"],
        json!({"source": "auxiliary", "records": 6, "persons": 6, "step": 1})
    );
    near(&found["simulation"]["coverage"], 1.0);
    // (1/4 + 1/3 + 1/3) / 3 is told as one step of 3 of 3: nobody can tell one of them from it.
    near(&found["simulation"]["success"], 1.0);
    assert_eq!(found["knowledge"].as_array().unwrap().len(), 2);
    // The same people without their number: those who look like a row count as it.
    let rows: Vec<Value> = [(21, "F"), (31, "M"), (41, "F"), (22, "F"), (99, "M")]
        .iter()
        .map(|(age, sex)| json!({"age": age, "sex": sex}))
        .collect();
    let demand = json!({"auxiliary": {"rows": rows}});
    let found = api
        .post(&format!("{release}/attacks"), &demand)
        .await
        .ok(200);
    near(&found["simulation"]["coverage"], 1.0);
    assert_eq!(found["inference"], json!({}));
    // One who is no member changes nothing that is told of members.
    let fewer = "mrn,age,sex\np0,21,F\np4,31,M\nx1,22,F\n";
    let found = api
        .upload(&path, "text/csv", fewer.to_owned())
        .await
        .ok(200);
    assert_eq!(found["simulation"]["coverage"], Value::Null);
    assert_eq!(found["simulation"]["success"], Value::Null);
}

#[sqlx::test]
async fn hostile_files_are_refused_or_told_nothing(pool: PgPool) {
    let api = Api::new(pool).work();
    let release = released(&api, &json!({})).await;
    let path = format!("{release}/attacks");
    let csv = async |body: &str| api.upload(&path, "text/csv", body.to_owned()).await;
    // One person many times, in many spellings.
    let copies = "mrn,age,sex\np0,21,F\nP0,21,F\n p0,22,F\np0,23,M\n";
    csv(copies).await.problem(422, "too_few_records");
    csv("age,sex\n21,F\n21,F\n21,F\n21,F\n")
        .await
        .problem(422, "too_few_records");
    // Two dummies and many copies of one person: the copies count once, so nothing is told of two members.
    let padded = format!("mrn,age,sex\nx1,1,F\nx2,2,F\n{}", "p0,21,F\n".repeat(50));
    let found = csv(&padded).await.ok(200);
    assert_eq!(found["simulation"]["coverage"], Value::Null);
    csv("").await.problem(422, "dataset_empty");
    csv("mrn,diagnosis\np0,flu\np1,flu\np2,flu\n")
        .await
        .problem(422, "missing_columns");
    csv("age,bed\n21,bed0\n")
        .await
        .problem(422, "undeclared_columns");
    let wrong = csv("age,sex\n21,F\nold,F\n")
        .await
        .problem(422, "invalid_value");
    assert_eq!(
        (&wrong["errors"][0]["column"], &wrong["errors"][0]["row"]),
        (&json!("age"), &json!(2))
    );
    let rows = json!({"auxiliary": {"rows": [{"age": "old"}]}});
    let wrong = api.post(&path, &rows).await.problem(422, "invalid_value");
    assert_eq!(faults(&wrong)[0].1, "/auxiliary/rows");
    let many = format!("age\n{}", "21\n".repeat(50_001));
    csv(&many).await.problem(413, "body_too_large");
    api.upload(&path, "application/vnd.apache.parquet", "x")
        .await
        .problem(415, "unsupported_media_type");
    api.upload(
        &format!("{path}?subsets_up_to=9&taus=2"),
        "text/csv",
        "age\n1\n",
    )
    .await
    .problem(422, "out_of_range");
    api.post(&format!("{path}?noise=true"), &json!({}))
        .await
        .problem(422, "unknown_field");
    let asked = json!({"undeclared": {"columns": ["age", "mrn", "nothing"]}});
    let wrong = api
        .post(&path, &asked)
        .await
        .problem(422, "validation_failed");
    assert_eq!(faults(&wrong).len(), 3);
    api.post(
        "/v1/releases/01890a5d-ac96-774b-bcce-b302099a8057/attacks",
        &json!({}),
    )
    .await
    .problem(404, "not_found");
}

#[sqlx::test]
async fn a_release_of_cuts_and_one_of_a_series_are_attacked_too(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), &rows()).await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.25,
        "recoding": "subtree", "search": {"method": "tds"}, "release": "recommended"});
    let job = api.job(&path, &demands).await;
    let release = job["release_id"].as_str().unwrap();
    let found = api
        .post(&format!("/v1/releases/{release}/attacks"), &json!({}))
        .await
        .ok(200);
    near(&found["simulation"]["coverage"], 1.0);
    assert!(found["linkage"]["maximum"].as_f64().unwrap() <= 1.0 / 3.0);
    let series = json!({"dataset_id": path.rsplit('/').next().unwrap(), "name": "s",
        "privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.25});
    let reply = api.post("/v1/series", &series).await;
    reply.ok(202);
    let job = api.ended(reply.header("location")).await;
    let release = job["release_id"].as_str().unwrap();
    let found = api
        .post(&format!("/v1/releases/{release}/attacks"), &json!({}))
        .await
        .ok(200);
    near(&found["simulation"]["coverage"], 1.0);
    assert!(
        found["linkage"]["maximum"].as_f64().unwrap() <= 1.0 / 3.0,
        "{found}"
    );
}

#[sqlx::test]
async fn an_attack_is_answered_once_per_key(pool: PgPool) {
    let api = Api::new(pool).work();
    let release = released(&api, &json!({})).await;
    let path = format!("{release}/attacks");
    let key = [("idempotency-key", "a")];
    let first = api.post_with(&path, &json!({}), &key).await.ok(200);
    assert_eq!(api.post_with(&path, &json!({}), &key).await.ok(200), first);
    let other = api.post_with(&path, &json!({"noise": true}), &key).await;
    other.problem(422, "idempotency_key_reused");
}
