//! Jobs and fronts over HTTP.

use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use sqlx::PgPool;
use tower::ServiceExt;

use super::{Api, faults, request, warnings, with_dataset};

/// Appendix 6.
const SIX_ROWS: &str =
    "sex,dept\nF,icu\nF,surgery\nF,surgery\nF,surgery\nF,maternity\nF,maternity\n";

fn sex_and_department() -> Value {
    json!([
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "dept", "role": "quasi_identifying"}
    ])
}

fn k_of(k: u64, limit: f64) -> Value {
    json!({"privacy": [{"model": "k_anonymity", "k": k}], "suppression_limit": limit,
        "search": {"method": "exact"}, "objectives": ["generalization_depth", "suppression"]})
}

#[sqlx::test]
async fn uc_32_uc_60_a_front_says_what_each_policy_keeps_and_costs(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let job = api.job(&path, &k_of(3, 0.5)).await;
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("succeeded"), &json!("front"))
    );
    let front = api
        .get(job["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(front["job_id"], job["job_id"]);
    assert_eq!(
        (&front["rows_in"], &front["search"]["complete"]),
        (&json!(6), &json!(true))
    );
    let levels: Vec<_> = front["solutions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|solution| solution["recoding"]["levels"].clone())
        .collect();
    assert_eq!(levels.len(), 2);
    for expected in [json!({"dept": 0, "sex": 0}), json!({"dept": 1, "sex": 0})] {
        assert!(levels.contains(&expected), "{levels:?}");
    }
    for solution in front["solutions"].as_array().unwrap() {
        // UC-29
        let counted = |name: &str| solution[name].as_u64().unwrap();
        assert_eq!(counted("released_rows") + counted("suppressed_rows"), 6);
        assert!(solution["privacy"]["k"].as_u64().unwrap() >= 3);
    }
    for objective in front["objectives"].as_array().unwrap() {
        assert!(!objective["definition"].as_str().unwrap().is_empty());
        assert_eq!(objective["direction"], "minimize");
    }
    // UC-28: the limit is inclusive; 3 of 6 rows are 0.5.
    let tight = api.job(&path, &k_of(3, 0.49)).await;
    let front = api
        .get(tight["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(front["solutions"].as_array().unwrap().len(), 1);
}

#[sqlx::test]
async fn a_front_as_csv_has_the_columns_of_the_contract(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let job = api.job(&path, &k_of(3, 0.49)).await;
    let front = format!("{}?format=csv", job["links"]["front"].as_str().unwrap());
    let reply = api.get(&front).await;
    assert_eq!(reply.status, 200);
    assert!(reply.header("content-type").starts_with("text/csv"));
    let text = reply.text();
    let mut lines = text.lines();
    let header = "solution_id,recommended,level:sex,level:dept,generalization_depth,suppression,released_rows,suppressed_rows,classes,k";
    assert_eq!(lines.next(), Some(header));
    let line: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        (&line[..4], &line[6..]),
        (&["0", "true", "0", "1"][..], &["6", "0", "1", "6"][..])
    );
}

#[sqlx::test]
async fn uc_48_an_impossible_demand_is_an_outcome_at_once(pool: PgPool) {
    // No worker runs: the answer is there all the same.
    let api = Api::new(pool);
    let path = api
        .loaded(&sex_and_department(), "sex,dept\nF,icu\nM,icu\n")
        .await;
    let reply = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(5, 0.0)))
        .await;
    let job = reply.ok(202);
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("succeeded"), &json!("infeasible"))
    );
    assert_eq!(job["reason"]["code"], "k_exceeds_rows");
    let front = api
        .get(job["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(
        (&front["solutions"], &front["recommended"]),
        (&json!([]), &Value::Null)
    );
}

#[sqlx::test]
async fn uc_49_a_dataset_without_rows_takes_no_job(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&sex_and_department()).await;
    let reply = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    reply.problem(422, "dataset_empty");
    let other = json!({"dataset_id": uuid::Uuid::now_v7()});
    api.post("/v1/jobs", &other).await.problem(404, "not_found");
}

#[sqlx::test]
async fn uc_53_bad_parameters_come_back_all_at_once(pool: PgPool) {
    let api = Api::new(pool);
    let columns =
        json!([{"name": "age", "role": "quasi_identifying"}, {"name": "dx", "role": "sensitive"}]);
    let path = api.loaded(&columns, "age,dx\n1,a\n").await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 2.5}, {"model": "k_anonymity", "k": -1},
        {"model": "distinct_l_diversity", "attribute": "dx", "l": 0}], "suppression_limit": 1.2});
    let reply = api.post("/v1/jobs", &with_dataset(&path, &demands)).await;
    assert_eq!(reply.status, 422);
    let pointers: Vec<_> = faults(&reply.json())
        .into_iter()
        .map(|(_, pointer)| pointer)
        .collect();
    for expected in [
        "/privacy/0/k",
        "/privacy/1/k",
        "/privacy/2/l",
        "/suppression_limit",
    ] {
        assert!(pointers.contains(&expected.to_owned()), "{pointers:?}");
    }
}

#[sqlx::test]
async fn uc_05_uc_33_uc_55_a_job_warns(pool: PgPool) {
    let api = Api::new(pool);
    let columns = json!([{"name": "record", "role": "quasi_identifying"}, {"name": "dx", "role": "sensitive"}]);
    let path = api.loaded(&columns, "record,dx\n1,a\n2,a\n3,b\n").await;
    let job = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await
        .ok(202);
    let of = |code: &str, column: Option<&str>| (code.to_owned(), column.map(str::to_owned));
    let expected = [
        of("implicit_hierarchy", Some("record")),
        of("rows_are_subjects", None),
        of("unique_quasi_identifier", Some("record")),
        of("sensitive_without_model", Some("dx")),
    ];
    assert_eq!(warnings(&job), expected);
}

#[sqlx::test]
async fn uc_56_a_search_space_beyond_64_bits_is_told_and_refused_for_exact(pool: PgPool) {
    let api = Api::new(pool);
    let column = |number: usize| {
        json!({"name": format!("q{number}"), "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [1, 2, 4], "lower": 0, "upper": 8}})
    };
    let columns: Vec<Value> = (0..40).map(column).collect();
    let names: Vec<String> = (0..40).map(|number| format!("q{number}")).collect();
    let row = vec!["1"; 40].join(",");
    let csv = format!("{}\n{row}\n{row}\n", names.join(","));
    let path = api.loaded(&json!(columns), &csv).await;
    let size = "9094947017729282379150390625";
    assert_eq!(api.get(&path).await.ok(200)["search_space"], size);
    let reply = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    let problem = reply.problem(422, "search_space_too_large");
    assert!(
        problem["detail"].as_str().unwrap().contains(size),
        "{problem}"
    );
}

// Seventy columns have more than 2^64 policies, and keys of more than 64 and 128 bits.
#[sqlx::test]
async fn uc_56_seventy_columns_are_searched_under_a_budget(pool: PgPool) {
    let api = Api::new(pool).work();
    let column = |number: usize| {
        json!({"name": format!("q{number}"), "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [1, 2, 4], "lower": 0, "upper": 8}})
    };
    let columns: Vec<Value> = (0..70).map(column).collect();
    let names: Vec<String> = (0..70).map(|number| format!("q{number}")).collect();
    let mut csv = names.join(",");
    for row in 0..24 {
        let cells = (0..70).map(|column| ((row * column + row) % 7 % 8).to_string());
        csv = format!("{csv}\n{}", cells.collect::<Vec<_>>().join(","));
    }
    let path = api.loaded(&json!(columns), &csv).await;
    let size = "8470329472543003390683225006796419620513916015625";
    assert_eq!(api.get(&path).await.ok(200)["search_space"], size);
    for (objectives, method) in [
        (json!(["loss"]), "local_search"),
        (json!(["loss", "suppression"]), "nsga2"),
    ] {
        let mut demands = k_of(2, 0.5);
        demands["objectives"] = objectives;
        demands["search"] = json!({"method": "auto", "seed": 3, "max_evaluations": 300});
        let job = api.job(&path, &demands).await;
        assert_eq!(job["outcome"], "stopped", "{job}");
        let front = api
            .get(job["links"]["front"].as_str().unwrap())
            .await
            .ok(200);
        let search = &front["search"];
        assert_eq!(search["search_space"], size);
        assert_eq!(
            (&search["method"], &search["evaluations"]),
            (&json!(method), &json!(300))
        );
        assert_eq!(
            (&search["complete"], &search["certified"]),
            (&json!(false), &json!(false))
        );
        assert!(
            search["uncertified"].as_str().unwrap().contains(size),
            "{search}"
        );
        let solutions = front["solutions"].as_array().unwrap();
        assert!(!solutions.is_empty());
        for solution in solutions {
            assert_eq!(
                solution["recoding"]["levels"].as_object().unwrap().len(),
                70
            );
            assert!(solution["privacy"]["k"].as_u64().unwrap() >= 2);
        }
    }
}

#[sqlx::test]
async fn uc_82_the_same_key_queues_one_job_even_at_once(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let body = with_dataset(&path, &k_of(2, 0.0));
    let key = [("idempotency-key", "once")];
    let all = (0..8).map(|_| api.post_with("/v1/jobs", &body, &key));
    let replies = futures::future::join_all(all).await;
    let first = replies[0].ok(202);
    assert!(replies.iter().all(|reply| reply.ok(202) == first));
    let jobs = api.get("/v1/jobs").await.ok(200);
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
    let other = with_dataset(&path, &k_of(3, 0.0));
    let reply = api.post_with("/v1/jobs", &other, &key).await;
    reply.problem(422, "idempotency_key_reused");
}

#[sqlx::test]
async fn a_queued_job_is_cancelled_at_once_and_only_once(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let submitted = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    let job = submitted.header("location").to_owned();
    api.get(&format!("{job}/front"))
        .await
        .problem(409, "front_not_ready");
    assert_eq!(
        api.call(Method::DELETE, &job).await.ok(200)["state"],
        "cancelled"
    );
    api.call(Method::DELETE, &job)
        .await
        .problem(409, "job_finished");
    api.get(&format!("{job}/front"))
        .await
        .problem(409, "front_not_ready");
    let cancelled = api.get("/v1/jobs?state=cancelled").await.ok(200);
    assert_eq!(cancelled["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        api.get("/v1/jobs?state=queued").await.ok(200)["items"],
        json!([])
    );
}

#[sqlx::test]
async fn a_version_known_is_304_and_a_wait_ends_with_the_change(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let submitted = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    let job = submitted.header("location").to_owned();
    let first = api.get(&job).await;
    let tag = first.header("etag").to_owned();
    let known = [("if-none-match", tag.as_str())];
    let again = api
        .send(request(Method::GET, &job, &known, Body::empty()))
        .await;
    assert_eq!(
        (again.status.as_u16(), again.header("etag")),
        (304, tag.as_str())
    );
    let waiting = format!("{job}?wait=60");
    let wait = api.send(request(Method::GET, &waiting, &known, Body::empty()));
    let cancel = api.call(Method::DELETE, &job);
    let both = tokio::time::timeout(Duration::from_secs(20), futures::future::join(wait, cancel));
    let (waited, _) = both.await.unwrap();
    assert_eq!(waited.ok(200)["state"], "cancelled");
    api.get(&format!("{job}?wait=-1"))
        .await
        .problem(422, "wrong_type");
}

#[sqlx::test]
async fn a_wait_ends_when_the_process_stops(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let submitted = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    let waiting = format!("{}?wait=60", submitted.header("location"));
    let stop = async { api.services.shutdown.cancel() };
    let both = futures::future::join(api.get(&waiting), stop);
    let (waited, ()) = tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .unwrap();
    assert_eq!(waited.ok(200)["state"], "queued");
}

#[sqlx::test]
async fn events_begin_with_the_state_and_end_with_the_job(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let submitted = api
        .post("/v1/jobs", &with_dataset(&path, &k_of(2, 0.0)))
        .await;
    let job = submitted.header("location").to_owned();
    let events = request(Method::GET, &format!("{job}/events"), &[], Body::empty());
    let response = api.router.clone().oneshot(events).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let read = tokio::time::timeout(Duration::from_secs(20), response.into_body().collect());
    let (read, cancelled) = tokio::join!(read, api.call(Method::DELETE, &job));
    cancelled.ok(200);
    let text = String::from_utf8(read.unwrap().unwrap().to_bytes().to_vec()).unwrap();
    let data: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(data.last().unwrap()["state"], "cancelled", "{text}");
    assert!(
        text.contains("event: state") && text.contains("id: "),
        "{text}"
    );
}

#[sqlx::test]
async fn uc_66_a_given_policy_is_checked_again_on_other_data(pool: PgPool) {
    let api = Api::new(pool).work();
    let fixed = json!({"privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.0,
        "search": {"method": "fixed", "levels": {"sex": 0, "dept": 0}}});
    let good = api
        .loaded(&sex_and_department(), "sex,dept\nF,icu\nF,icu\nF,icu\n")
        .await;
    assert_eq!(api.job(&good, &fixed).await["outcome"], "front");
    let bad = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let job = api.job(&bad, &fixed).await;
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("succeeded"), &json!("infeasible"))
    );
    assert!(job["reason"]["code"].is_string());
}

#[sqlx::test]
async fn a_full_backlog_is_503_with_retry_after(pool: PgPool) {
    let settings = [("KINDRED__WORKER__MAX_QUEUED", "1")];
    let api = Api::with(pool, &settings);
    let path = api.loaded(&sex_and_department(), SIX_ROWS).await;
    let body = with_dataset(&path, &k_of(2, 0.0));
    api.post("/v1/jobs", &body).await.ok(202);
    let reply = api.post("/v1/jobs", &body).await;
    reply.problem(503, "backlog_full");
    assert_eq!(reply.header("retry-after"), "10");
}
