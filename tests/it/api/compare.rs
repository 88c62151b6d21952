//! Comparisons over HTTP.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults, with_dataset};

fn rows() -> String {
    let rows = (0..240_u32).map(|row| {
        let (age, ward) = (20 + row * 7 % 53, row * 13 % 6);
        let (sex, ill) = (
            if row % 3 == 0 { "F" } else { "M" },
            ["flu", "cold", "ulcer"][(row % 3) as usize],
        );
        format!("{age},w{ward},{sex},{ill}\n")
    });
    format!("age,ward,sex,illness\n{}", rows.collect::<String>())
}

async fn loaded(api: &Api) -> String {
    let columns = json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [5, 10, 20], "lower": 0, "upper": 120}},
        {"name": "ward", "role": "quasi_identifying"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "illness", "role": "sensitive"}
    ]);
    api.loaded(&columns, &rows()).await
}

fn demand(more: &Value) -> Value {
    let mut demand = json!({"kind": "compare", "privacy": [{"model": "k_anonymity", "k": 4}], "suppression_limit": 0.2,
        "seeds": 4, "methods": ["exact", {"method": "nsga2", "population": 4, "generations": 2, "label": "small, genetic"},
            {"method": "random", "evaluations_of": 1}]});
    for (name, value) in more.as_object().unwrap() {
        demand[name] = value.clone();
    }
    demand
}

#[sqlx::test]
async fn methods_are_compared_by_a_job(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = loaded(&api).await;
    let body = with_dataset(&dataset, &demand(&json!({})));
    let reply = api
        .post_with("/v1/jobs", &body, &[("idempotency-key", "one")])
        .await;
    let queued = reply.ok(202);
    assert_eq!(
        (&queued["kind"], &queued["progress"]["search_space"]),
        (&json!("compare"), &json!("20"))
    );
    let again = api
        .post_with("/v1/jobs", &body, &[("idempotency-key", "one")])
        .await;
    assert_eq!(again.ok(202)["job_id"], queued["job_id"]);
    let job = api.ended(reply.header("location")).await;
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("succeeded"), &json!("measured")),
        "{job}"
    );
    assert!(job["links"].get("front").is_none());
    let link = job["links"]["comparison"].as_str().unwrap();
    let report = api.get(link).await.ok(200);
    assert_eq!(
        (&report["job_id"], &report["rows_in"]),
        (&job["job_id"], &json!(240))
    );
    assert_eq!(
        (&report["reference"], &report["seeds_run"]),
        (&json!("certified"), &json!(4))
    );
    let methods = report["methods"].as_array().unwrap();
    let of_all = |name: &str| {
        methods
            .iter()
            .map(|method| method[name].clone())
            .collect::<Vec<Value>>()
    };
    assert_eq!(
        of_all("label"),
        [json!("exact"), json!("small, genetic"), json!("random")]
    );
    assert_eq!(of_all("runs"), [json!(1), json!(4), json!(4)]);
    assert_eq!(of_all("verified"), [json!(true), json!(true), json!(true)]);
    assert_eq!(methods[0]["hit_rate"]["median"], 1.0);
    assert_eq!(methods[2]["evaluations_of"], "small, genetic");
    assert_eq!(report["tests"]["pairs"].as_array().unwrap().len(), 3);

    let csv = api.get(&format!("{link}?format=csv")).await;
    assert_eq!(
        csv.header("content-type"),
        "text/csv; charset=utf-8; header=present"
    );
    let text = csv.text();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().unwrap().clone();
    let lines: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!((header.len(), lines.len()), (9 + 30, 3));
    let cell = |line: usize, name: &str| {
        let place = header.iter().position(|found| found == name).unwrap();
        lines[line][place].to_owned()
    };
    assert_eq!(
        (cell(1, "method"), cell(0, "recoding")),
        ("small, genetic".to_owned(), "full_domain".to_owned())
    );
    let median = &methods[1]["hypervolume_ratio"]["median"];
    assert_eq!(cell(1, "hypervolume_ratio"), median.to_string());
    assert_eq!(
        cell(2, "evaluations_greatest"),
        methods[2]["evaluations"]["greatest"].to_string()
    );

    // The same once more is the same but for the times.
    let second = api.job(&dataset, &demand(&json!({}))).await;
    let second = api
        .get(second["links"]["comparison"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(without_times(second), without_times(report));
    let job_id = job["job_id"].as_str().unwrap();
    api.get(&format!("/v1/jobs/{job_id}/front"))
        .await
        .problem(409, "front_not_ready");
    api.get(&format!("/v1/jobs/{job_id}/utility"))
        .await
        .problem(409, "report_not_ready");
    api.get(&format!("{link}?format=ndjson"))
        .await
        .problem(406, "not_acceptable");
}

fn without_times(mut report: Value) -> Value {
    report["job_id"] = Value::Null;
    for method in report["methods"].as_array_mut().unwrap() {
        method["elapsed_ms"] = Value::Null;
        for run in method["by_run"].as_array_mut().unwrap() {
            run["elapsed_ms"] = Value::Null;
        }
    }
    report
}

#[sqlx::test]
async fn every_fault_of_a_comparison_is_told_at_its_place(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = loaded(&api).await;
    let wrong = demand(
        &json!({"seeds": 1000, "recoding": "subtree", "methods": ["exact", {"method": "nsga2", "population": 2},
        {"method": "mondrian", "generations": 3}, "best_first"]}),
    );
    let problem = api
        .post("/v1/jobs", &with_dataset(&dataset, &wrong))
        .await
        .problem(422, "validation_failed");
    let mut pointers: Vec<String> = faults(&problem)
        .into_iter()
        .map(|(_, pointer)| pointer)
        .collect();
    pointers.sort();
    let expected = [
        "/methods/1/population",
        "/methods/2/generations",
        "/methods/3",
        "/recoding",
        "/seeds",
    ];
    assert_eq!(pointers, expected);
    let kind = json!({"kind": "contest", "privacy": []});
    let problem = api
        .post("/v1/jobs", &with_dataset(&dataset, &kind))
        .await
        .problem(422, "unknown_value");
    assert_eq!(
        faults(&problem),
        [("unknown_value".to_owned(), "/kind".to_owned())]
    );
    // Without a dataset, what can be told is told.
    let problem = api
        .post("/v1/jobs", &demand(&json!({"seeds": 0})))
        .await
        .problem(422, "validation_failed");
    let mut pointers: Vec<String> = faults(&problem)
        .into_iter()
        .map(|(_, pointer)| pointer)
        .collect();
    pointers.sort();
    assert_eq!(pointers, ["/dataset_id", "/seeds"]);
    let empty = api
        .dataset(&json!([{"name": "age", "role": "quasi_identifying"}]))
        .await;
    api.post("/v1/jobs", &with_dataset(&empty, &demand(&json!({}))))
        .await
        .problem(422, "dataset_empty");
    // A search may say that it is one.
    let search = json!({"kind": "search", "privacy": [{"model": "k_anonymity", "k": 4}]});
    assert_eq!(
        api.post("/v1/jobs", &with_dataset(&dataset, &search))
            .await
            .ok(202)["kind"],
        "search"
    );
}

#[sqlx::test]
async fn spaces_that_exact_may_not_search_are_told_at_the_method(pool: PgPool) {
    let api = Api::with(pool, &[("KINDRED__SEARCH__EXACT_SEARCH_SPACE", "10")]);
    let dataset = loaded(&api).await;
    let problem = api
        .post("/v1/jobs", &with_dataset(&dataset, &demand(&json!({}))))
        .await;
    let problem = problem.problem(422, "search_space_too_large");
    assert_eq!(
        faults(&problem),
        [("search_space_too_large".to_owned(), "/methods/0".to_owned())]
    );
}

#[sqlx::test]
async fn what_no_method_meets_ends_with_the_reason(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = loaded(&api).await;
    let impossible = demand(
        &json!({"privacy": [{"model": "k_anonymity", "k": 500}], "methods": ["nsga2", "tds", "mdav"]}),
    );
    let job = api.job(&dataset, &impossible).await;
    assert_eq!(
        (&job["outcome"], &job["reason"]["code"]),
        (&json!("infeasible"), &json!("k_exceeds_rows")),
        "{job}"
    );
    let link = job["links"]["comparison"].as_str().unwrap();
    api.get(link).await.problem(409, "report_not_ready");
    api.get("/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057/comparison")
        .await
        .problem(404, "not_found");
}

#[sqlx::test]
async fn a_comparison_is_cancelled_while_it_waits_and_while_it_runs(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = loaded(&api).await;
    let long = demand(&json!({"seeds": 100, "methods": ["exact",
        {"method": "nsga2", "population": 1000, "generations": 100_000, "label": "long"}, "genetic_cuts"]}));
    let queue = || async {
        let reply = api.post("/v1/jobs", &with_dataset(&dataset, &long)).await;
        reply.ok(202);
        reply.header("location").to_owned()
    };
    let queued = queue().await;
    assert_eq!(
        api.call(axum::http::Method::DELETE, &queued).await.ok(200)["state"],
        "cancelled"
    );
    let api = api.work();
    let reply = api.post("/v1/jobs", &with_dataset(&dataset, &long)).await;
    let running = reply.header("location").to_owned();
    for _ in 0..600 {
        let job = api.get(&running).await.ok(200);
        let phase = job["progress"]["phase"].as_str().unwrap();
        if phase.contains(", seed ") {
            assert!(phase.ends_with(" of 100"), "{phase}");
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(api.get(&running).await.ok(200)["state"], "running");
    api.call(axum::http::Method::DELETE, &running).await.ok(202);
    let job = api.ended(&running).await;
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("cancelled"), &Value::Null)
    );
    api.get(&format!("{running}/comparison"))
        .await
        .problem(409, "report_not_ready");
}
