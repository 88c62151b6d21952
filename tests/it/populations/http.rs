//! Models of a population over HTTP, from submission to release.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use axum::http::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::api::{Api, faults, warnings, with_dataset};

fn columns() -> Value {
    json!([
        { "name": "person", "role": "identifying", "subject": true },
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100 } },
        { "name": "sex", "role": "quasi_identifying" },
        { "name": "dx", "role": "sensitive" },
    ])
}

const SAMPLE: &str = "person,age,sex,dx\n1,21,f,x\n2,28,f,y\n3,35,m,x\n4,36,m,y\n";

/// Everybody of the sample and as many more; nobody else is 21.
const PEOPLE: &str =
    "person,age,sex,dx\n1,21,f,\n2,28,f,\n3,35,m,\n4,36,m,\n5,28,f,\n6,24,f,\n7,35,m,\n8,36,m,\n";

fn id(path: &str) -> String {
    path.rsplit('/').next().unwrap().to_owned()
}

fn k_map(k: u64, population: &str) -> Value {
    json!({ "model": "k_map", "k": k, "population": population })
}

fn presence(min: f64, max: f64, population: &str) -> Value {
    json!({ "model": "delta_presence", "min": min, "max": max, "population": population })
}

#[sqlx::test]
async fn both_models_from_submission_to_release(pool: PgPool) {
    let api = Api::new(pool).work();
    let people = api.loaded(&columns(), PEOPLE).await;
    let path = api.loaded(&columns(), SAMPLE).await;
    let models = json!([k_map(2, &id(&people)), presence(0.25, 0.5, &id(&people))]);
    let demands =
        json!({ "privacy": models, "search": { "method": "exact" }, "release": "recommended" });
    let job = api.job(&path, &demands).await;
    assert_eq!(job["outcome"], "front", "{job}");
    let told = warnings(&job);
    assert!(told.contains(&("sensitive_in_population".to_owned(), Some("dx".to_owned()))));
    let front = api
        .get(job["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    let solution = &front["solutions"][0];
    assert_eq!(
        solution["recoding"]["levels"],
        json!({ "age": 1, "sex": 0 })
    );
    let risk = &solution["risk"];
    let population = &risk["population"];
    assert_eq!(
        (&population["members"], &population["k_map"]),
        (&json!(8), &json!(4))
    );
    assert_eq!(
        risk["journalist"],
        json!({ "basis": "counted", "maximum": 0.25, "average": 0.25 })
    );
    let release = api
        .get(job["links"]["release"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(release["released_rows"], 4);
    let checks = release["verification"]["checks"].as_array().unwrap();
    for check in ["2-map", "(0.25,0.5)-presence"] {
        assert!(checks.contains(&json!(check)), "{checks:?}");
    }
    assert_eq!(release["risk"]["population"], *population);

    // What is measured is today's population, what is released is that of the submission.
    let more = "person,age,sex,dx\n9,99,m,\n";
    let batches = format!("{people}/batches");
    api.upload(&batches, "text/csv", more).await.ok(201);
    let body = json!({ "privacy": models, "levels": { "age": 1 } });
    let measured = api.post(&format!("{path}/measure"), &body).await.ok(200);
    let satisfied: Vec<&Value> = measured["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| &model["satisfied"])
        .collect();
    assert_eq!(satisfied, [&json!(true), &json!(false)]);
    assert_eq!(measured["risk"]["population"]["members"], 9);
    let body = json!({ "job_id": job["job_id"], "solution_id": 0 });
    let again = api.post("/v1/releases", &body).await.ok(201);
    assert_eq!(again["csv_sha256"], release["csv_sha256"]);

    // For figures of risk alone, without a model.
    let body = json!({ "risk": { "population": id(&people) }, "levels": { "age": 1 } });
    let measured = api.post(&format!("{path}/measure"), &body).await.ok(200);
    assert_eq!(measured["risk"]["marketer"]["basis"], "counted");
}

#[sqlx::test]
async fn a_population_that_does_not_fit_is_refused_at_once(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), SAMPLE).await;
    let mut other = columns();
    other[1]["hierarchy"]["widths"] = json!([5]);
    other[2] = json!({ "name": "gender", "role": "quasi_identifying" });
    let other = api.dataset(&other).await;
    let mut typed = columns();
    typed[1] = json!({ "name": "age", "role": "quasi_identifying" });
    typed[2]["role"] = json!("insensitive");
    let typed = api.loaded(&typed, PEOPLE).await;
    let nobody = "00000000-0000-0000-0000-000000000000";
    let demands = json!({ "privacy": [
        k_map(2, nobody), k_map(2, &id(&other)), presence(0.0, 0.5, &id(&typed)), k_map(2, &id(&path)),
    ]});
    let reply = api.post("/v1/jobs", &with_dataset(&path, &demands)).await;
    let problem = reply.problem(422, "validation_failed");
    let expected = [
        ("unknown_population", 0),
        ("population_mismatch", 1),
        ("population_mismatch", 1),
        ("dataset_empty", 1),
        ("population_mismatch", 2),
        ("population_mismatch", 2),
        ("population_mismatch", 3),
    ];
    let expected =
        expected.map(|(code, model)| (code.to_owned(), format!("/privacy/{model}/population")));
    assert_eq!(faults(&problem), expected);
    assert_eq!(problem["errors"][1]["column"], "age");
    let body = json!({ "risk": { "population": nobody } });
    let problem = api
        .post(&format!("{path}/measure"), &body)
        .await
        .problem(422, "unknown_population");
    assert_eq!(problem["errors"][0]["pointer"], "/risk/population");
}

#[sqlx::test]
async fn a_deleted_population_ends_its_jobs_and_releases_clearly(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), SAMPLE).await;
    let people = api.loaded(&columns(), PEOPLE).await;
    let demands = json!({ "privacy": [k_map(2, &id(&people))], "search": { "method": "exact" } });
    let job = api.job(&path, &demands).await;
    assert_eq!(job["outcome"], "front");
    api.call(Method::DELETE, &people).await.ok(204);
    let body = json!({ "job_id": job["job_id"], "solution_id": 0 });
    api.post("/v1/releases", &body)
        .await
        .problem(409, "population_gone");
    let reply = api.post("/v1/jobs", &with_dataset(&path, &demands)).await;
    reply.problem(422, "unknown_population");
}

#[sqlx::test]
async fn a_job_whose_population_is_deleted_before_it_runs_fails(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), SAMPLE).await;
    let people = api.loaded(&columns(), PEOPLE).await;
    let demands = json!({ "privacy": [k_map(2, &id(&people))] });
    let reply = api.post("/v1/jobs", &with_dataset(&path, &demands)).await;
    reply.ok(202);
    api.call(Method::DELETE, &people).await.ok(204);
    let job = api.work().ended(reply.header("location")).await;
    assert_eq!(
        (&job["state"], &job["failure"]["code"]),
        (&json!("failed"), &json!("population_gone"))
    );
}

#[sqlx::test]
async fn a_population_value_without_a_place_fails_the_job_and_the_measurement(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), SAMPLE).await;
    let mut bare = columns();
    bare[1].as_object_mut().unwrap().remove("hierarchy");
    let people = api
        .loaded(&bare, "person,age,sex,dx\n1,21,f,\n2,300,f,\n")
        .await;
    let models = json!([k_map(1, &id(&people))]);
    let job = api.job(&path, &json!({ "privacy": models })).await;
    assert_eq!(job["failure"]["code"], "hierarchy_missing_values");
    assert!(!job["failure"]["detail"].as_str().unwrap().contains("300"));
    let body = json!({ "privacy": models });
    let problem = api
        .post(&format!("{path}/measure"), &body)
        .await
        .problem(422, "hierarchy_missing_values");
    assert_eq!(problem["errors"][0]["column"], "age");
}

#[sqlx::test]
async fn more_members_than_there_are_is_an_outcome_at_once(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), SAMPLE).await;
    let people = api.loaded(&columns(), PEOPLE).await;
    let demands = json!({ "privacy": [k_map(9, &id(&people))] });
    let job = api
        .post("/v1/jobs", &with_dataset(&path, &demands))
        .await
        .ok(202);
    assert_eq!(
        (&job["outcome"], &job["reason"]["code"]),
        (&json!("infeasible"), &json!("k_exceeds_population"))
    );
}
