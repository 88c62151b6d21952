//! A series from its first release over batches and deletions.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::*;

/// One class of people in their forties; nobody is told apart by the other columns.
pub(super) fn attributes() -> Value {
    json!([
        {"name": "patient", "role": "identifying", "subject": true},
        {"name": "age", "role": "quasi_identifying", "type": "integer",
         "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 120}},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "diagnosis", "role": "sensitive"},
    ])
}

pub(super) const HEADER: &str = "patient,age,sex,diagnosis\n";

/// A dataset with a series that has its first release; paths of both.
pub(super) async fn begun(api: &Api, rows: &str, demands: &Value) -> (String, String) {
    let dataset = api.loaded(&attributes(), &format!("{HEADER}{rows}")).await;
    let mut body = with_dataset(&dataset, demands);
    body["name"] = "weekly".into();
    let reply = api.post("/v1/series", &body).await;
    let job = reply.ok(202);
    assert_eq!(job["kind"], "series_update");
    let series = job["links"]["series"].as_str().unwrap().to_owned();
    api.ended(reply.header("location")).await;
    (dataset, series)
}

pub(super) fn k2_l2() -> Value {
    json!({"privacy": [{"model": "k_anonymity", "k": 2},
        {"model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2}]})
}

/// Appends rows; gives the ended update job.
async fn append(api: &Api, dataset: &str, rows: &str) -> Value {
    let batch = upload(api, dataset, rows).await.ok(201);
    ended_update(api, &batch).await
}

async fn upload(api: &Api, dataset: &str, rows: &str) -> Reply {
    let path = format!("{dataset}/batches");
    api.upload(&path, "text/csv", format!("{HEADER}{rows}"))
        .await
}

pub(super) async fn ended_update(api: &Api, answer: &Value) -> Value {
    let updates = answer["updates"].as_array().unwrap();
    assert_eq!(updates.len(), 1, "{answer}");
    let job = updates[0]["job_id"].as_str().unwrap();
    api.ended(&format!("/v1/jobs/{job}")).await
}

/// Lines of a download, the header left out, sorted.
pub(super) async fn lines(api: &Api, release: &Value, query: &str) -> Vec<String> {
    let id = release.as_str().unwrap();
    let reply = api.get(&format!("/v1/releases/{id}/data{query}")).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let mut lines: Vec<String> = reply.text().lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A label that only a waiting row bears would tell of that row.
#[sqlx::test]
async fn labels_of_rows_that_wait_are_told_nowhere(pool: PgPool) {
    let api = Api::new(pool).work();
    let rows = "p1,41,F,flu\np2,42,F,asthma\np3,91,M,hiv\n";
    let mut demands = k2_l2();
    demands["suppression_limit"] = json!(0.4);
    let (dataset, path) = begun(&api, rows, &demands).await;
    append(&api, &dataset, "p4,43,F,flu\np5,44,F,copd\np6,23,D,flu\n").await;
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        series["rows"],
        json!({"received": 6, "released": 4, "pending": 2, "suppressed": 0})
    );
    assert_eq!(
        series["cuts"],
        json!({"age": ["[40, 50)"], "sex": ["F"]}),
        "{series}"
    );
    for release in series["releases"].as_array().unwrap() {
        let id = release["release_id"].as_str().unwrap();
        let record = api.get(&format!("/v1/releases/{id}")).await.ok(200);
        assert_eq!(record["recoding"]["cuts"], series["cuts"], "{record}");
    }
}

/// User-cases, appendix 12: a row that comes alone is held, since the difference of the releases would be its diagnosis.
#[sqlx::test]
async fn a_row_that_comes_alone_waits_until_the_difference_is_safe(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &k2_l2()).await;
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["version"], 1, "{series}");
    assert_eq!(
        series["rows"],
        json!({"received": 2, "released": 2, "pending": 0, "suppressed": 0})
    );
    assert_eq!(series["oldest_pending"], Value::Null);
    let first = series["releases"][0]["release_id"].clone();
    let before = lines(&api, &first, "").await;
    assert_eq!(before.len(), 2);

    let held = append(&api, &dataset, "p3,43,F,hiv\n").await;
    assert_eq!(
        (&held["state"], &held["outcome"]),
        (&json!("succeeded"), &json!("unchanged"))
    );
    assert_eq!(held["release_id"], Value::Null);
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        (&series["version"], &series["rows"]["pending"]),
        (&json!(1), &json!(1))
    );
    assert!(series["oldest_pending"].is_u64(), "{series}");

    let next = append(&api, &dataset, "p4,44,F,copd\n").await;
    assert_eq!(next["outcome"], "released", "{next}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        series["rows"],
        json!({"received": 4, "released": 4, "pending": 0, "suppressed": 0})
    );
    assert_eq!(series["releases"].as_array().unwrap().len(), 2);
    let second = &series["releases"][0];
    assert_eq!(
        (&second["version"], &second["parent_release_id"]),
        (&json!(2), &first)
    );
    let id = &second["release_id"];
    assert_eq!(lines(&api, id, "").await.len(), 4);
    let diagnoses = |lines: Vec<String>| -> Vec<String> {
        let last = |line: String| line.rsplit(',').next().unwrap().to_owned();
        let mut found: Vec<String> = lines.into_iter().map(last).collect();
        found.sort();
        found
    };
    let added = diagnoses(lines(&api, id, "?rows=added").await);
    assert_eq!(added, ["copd", "hiv"]);
    // The first release is what it was.
    assert_eq!(lines(&api, &first, "").await, before);

    let record = api
        .get(&format!("/v1/releases/{}", id.as_str().unwrap()))
        .await
        .ok(200);
    assert_eq!(
        (&record["rows_in"], &record["released_rows"]),
        (&json!(4), &json!(4))
    );
    assert_eq!(record["privacy"]["k"], 4);
    assert_eq!(record["series"]["version"], 2);
    assert_eq!(record["recoding"]["kind"], "subtree");
    assert!(record["recoding"]["cuts"]["age"].is_array(), "{record}");
    assert_eq!(record["verification"]["passed"], true);
    assert_eq!(record["columns"], json!(["age", "sex", "diagnosis"]));
}

#[sqlx::test]
async fn all_forms_of_a_release_hold_the_same_rows_and_the_digest_is_that_of_the_csv(pool: PgPool) {
    use sha2::{Digest, Sha256};
    let api = Api::new(pool).work();
    let (_, path) = begun(
        &api,
        "p1,41,F,flu\np2,42,F,asthma\np3,51,M,flu\np4,52,M,copd\n",
        &k2_l2(),
    )
    .await;
    let series = api.get(&path).await.ok(200);
    let id = series["releases"][0]["release_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let data = format!("/v1/releases/{id}/data");
    let (csv, json) = (
        api.get(&data).await,
        api.get(&format!("{data}?format=json")).await,
    );
    let ndjson = api.get(&format!("{data}?format=ndjson")).await.text();
    let record = api.get(&format!("/v1/releases/{id}")).await.ok(200);
    assert_eq!(record["csv_sha256"], hex::encode(Sha256::digest(&csv.body)));
    assert_eq!(record["csv_bytes"], csv.body.len());
    let rows: Vec<Value> = json.json().as_array().unwrap().clone();
    let lines: Vec<Value> = ndjson
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(rows, lines);
    let cells: Vec<String> = rows
        .iter()
        .map(|row| {
            ["age", "sex", "diagnosis"]
                .map(|name| row[name].as_str().unwrap().to_owned())
                .join(",")
        })
        .collect();
    // Labels hold commas, so they are quoted.
    let text = csv.text().replace('"', "");
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), cells);
}

/// UC-64 and UC-65: a repeated batch and a batch with an unknown value change nothing.
#[sqlx::test]
async fn a_batch_that_is_refused_or_repeated_changes_nothing(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &k2_l2()).await;
    let before = api.get(&path).await.ok(200);
    let jobs = api.get("/v1/jobs").await.ok(200)["items"]
        .as_array()
        .unwrap()
        .len();
    upload(&api, &dataset, "p3,43,F,hiv\np4,999,F,copd\n")
        .await
        .problem(422, "value_out_of_range");
    upload(&api, &dataset, "p1,41,F,flu\np2,42,F,asthma\n")
        .await
        .problem(409, "duplicate_batch");
    assert_eq!(api.get(&path).await.ok(200), before);
    assert_eq!(
        api.get("/v1/jobs").await.ok(200)["items"]
            .as_array()
            .unwrap()
            .len(),
        jobs
    );
    let send = || {
        let headers = [("content-type", "text/csv"), ("idempotency-key", "b2")];
        let body = format!("{HEADER}p3,43,F,hiv\np4,44,F,copd\n");
        api.send(request(
            Method::POST,
            &format!("{dataset}/batches"),
            &headers,
            body.into(),
        ))
    };
    let (first, second) = (send().await.ok(201), send().await.ok(201));
    assert_eq!(first, second);
    ended_update(&api, &first).await;
    assert_eq!(api.get(&path).await.ok(200)["rows"]["received"], 4);
}

#[sqlx::test]
async fn batches_that_come_at_once_are_all_taken_in(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &k2_l2()).await;
    let (one, other) = tokio::join!(
        append(&api, &dataset, "p3,43,F,hiv\np4,44,F,copd\n"),
        append(&api, &dataset, "p5,45,F,flu\np6,46,F,angina\n"),
    );
    let outcomes = [&one["outcome"], &other["outcome"]];
    assert!(outcomes.contains(&&json!("released")), "{outcomes:?}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["rows"]["released"], 6);
    assert_eq!(series["through_batch"], 3);
}

#[sqlx::test]
async fn a_series_names_every_fault_of_its_demands(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = api
        .loaded(&attributes(), &format!("{HEADER}p1,41,F,flu\n"))
        .await;
    let body = with_dataset(
        &dataset,
        &json!({"name": "", "privacy": [], "recoding": "full_domain",
        "score": "beauty", "specialize_factor": 0, "row_linkage": "yes", "suppresion_limit": 0.1}),
    );
    let problem = api
        .post("/v1/series", &body)
        .await
        .problem(422, "validation_failed");
    let mut found = faults(&problem);
    found.sort();
    let expected = [
        ("not_supported", "/recoding"),
        ("out_of_range", "/name"),
        ("out_of_range", "/privacy"),
        ("out_of_range", "/specialize_factor"),
        ("unknown_field", "/suppresion_limit"),
        ("unknown_value", "/score"),
        ("wrong_type", "/row_linkage"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, at)| (code.to_owned(), at.to_owned()))
    );
    let body = with_dataset(
        &dataset,
        &json!({"name": "s", "privacy": [{"model": "k_anonymity", "k": 2},
        {"model": "average_risk", "max": 0.5}]}),
    );
    let problem = api
        .post("/v1/series", &body)
        .await
        .problem(422, "not_supported");
    assert_eq!(faults(&problem)[0].1, "/privacy/1/model");
    api.post("/v1/series", &json!({"name": "s", "privacy": 1}))
        .await
        .problem(422, "validation_failed");
    api.get("/v1/series/01890a5d-ac96-774b-bcce-b302099a8057")
        .await
        .problem(404, "not_found");
    let list = api.get("/v1/series").await.ok(200);
    assert_eq!(list, json!({"items": [], "next_cursor": null}));
}

#[sqlx::test]
async fn rows_that_never_suffice_leave_a_series_without_a_release(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\n", &k2_l2()).await;
    let jobs = api.get("/v1/jobs").await.ok(200);
    assert_eq!(jobs["items"][0]["outcome"], "infeasible", "{jobs}");
    assert_eq!(jobs["items"][0]["reason"]["code"], "no_safe_release");
    assert_eq!(api.get(&path).await.ok(200)["version"], 0);
    let next = append(&api, &dataset, "p2,42,F,asthma\n").await;
    assert_eq!(next["outcome"], "released");
    assert_eq!(api.get(&path).await.ok(200)["version"], 1);
    let id = dataset.rsplit('/').next().unwrap();
    assert_eq!(api.call(Method::DELETE, &dataset).await.status, 204, "{id}");
    api.get(&path).await.problem(404, "not_found");
}

#[sqlx::test]
async fn only_a_release_of_a_series_has_added_rows(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = api
        .loaded(
            &attributes(),
            &format!("{HEADER}p1,41,F,flu\np2,42,F,copd\n"),
        )
        .await;
    let mut demands = k2_l2();
    demands["release"] = "recommended".into();
    let job = api.job(&dataset, &demands).await;
    let data = format!("/v1/releases/{}/data", job["release_id"].as_str().unwrap());
    let problem = api.get(&format!("{data}?rows=added")).await;
    let problem = problem.problem(422, "not_supported");
    assert_eq!(faults(&problem)[0].1, "/query/rows");
    api.get(&format!("{data}?rows=all")).await.ok(200);
}
