//! Privacy budgets over HTTP, and faults of perturbations.

use axum::http::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::perturbation::{columns, demands, local, rows};
use super::{Api, faults, with_dataset};

async fn budgeted(api: &Api, budget: &Value) -> String {
    let body = json!({"name": "t", "attributes": columns(), "privacy_budget": budget});
    let reply = api.post("/v1/datasets", &body).await;
    reply.ok(201);
    let path = reply.header("location").to_owned();
    let batches = format!("{path}/batches");
    api.upload(&batches, "text/csv", rows()).await.ok(201);
    path
}

#[sqlx::test]
async fn a_budget_is_spent_once_per_job_and_never_exceeded(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = budgeted(&api, &json!({"epsilon": 4, "delta": 1e-5})).await;
    let view = api.get(&dataset).await.ok(200);
    let expected = json!({"declared": {"epsilon": 4.0, "delta": 1e-5}, "spent": {"epsilon": 0.0, "delta": 0.0},
        "remaining": {"epsilon": 4.0, "delta": 1e-5}});
    assert_eq!(view["privacy_budget"], expected);

    let body = with_dataset(&dataset, &demands(&local(1.0)));
    let key = [("idempotency-key", "one")];
    let first = api.post_with("/v1/jobs", &body, &key).await.ok(202);
    let again = api.post_with("/v1/jobs", &body, &key).await.ok(202);
    assert_eq!(first["job_id"], again["job_id"]);
    let view = api.get(&dataset).await.ok(200);
    assert_eq!(view["privacy_budget"]["spent"]["epsilon"], 1.5);
    // A job that cannot be met draws nothing.
    let mut impossible = body.clone();
    impossible["privacy"][0]["k"] = json!(1000);
    api.post("/v1/jobs", &impossible).await.ok(202);
    // Cancelled is spent all the same.
    api.call(
        Method::DELETE,
        &format!("/v1/jobs/{}", first["job_id"].as_str().unwrap()),
    )
    .await
    .ok(200);

    // 2.5 are left: of five jobs of 1.5 at once, one gets through.
    let submissions = (0..5).map(|_| api.post("/v1/jobs", &body));
    let replies = futures::future::join_all(submissions).await;
    let taken = replies.iter().filter(|reply| reply.status == 202).count();
    assert_eq!(taken, 1);
    let refused = replies.iter().find(|reply| reply.status != 202).unwrap();
    let problem = refused.problem(422, "privacy_budget_exceeded");
    assert_eq!(
        faults(&problem),
        [(
            "privacy_budget_exceeded".to_owned(),
            "/perturbation".to_owned()
        )]
    );
    assert!(
        problem["detail"]
            .as_str()
            .unwrap()
            .contains("epsilon 1 and delta 0.00001 left"),
        "{problem}"
    );
    // What is left can be spent to the last: 0.5 and 0.5.
    api.post("/v1/jobs", &with_dataset(&dataset, &demands(&local(0.5))))
        .await
        .ok(202);
    let page = api.get(&format!("{dataset}/budget?limit=2")).await.ok(200);
    assert_eq!(page["remaining"], json!({"epsilon": 0.0, "delta": 1e-5}));
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    assert_eq!(page["items"][0]["epsilon"], 1.0);
    let cursor = page["next_cursor"].as_str().unwrap();
    let rest = api
        .get(&format!("{dataset}/budget?cursor={cursor}"))
        .await
        .ok(200);
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    assert!(rest["next_cursor"].is_null());
    // Jobs that perturb nothing cost nothing.
    let mut plain = body;
    plain.as_object_mut().unwrap().remove("perturbation");
    api.post("/v1/jobs", &plain).await.ok(202);
    let listed = api.get("/v1/datasets").await.ok(200);
    assert_eq!(
        listed["items"][0]["privacy_budget"]["spent"]["epsilon"],
        4.0
    );
}

#[sqlx::test]
async fn faults_of_a_perturbation_are_told_at_once(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = api.loaded(&columns(), &rows()).await;
    let refused = async |perturbation: Value, others: Value| {
        let mut body = with_dataset(&dataset, &demands(&perturbation));
        body.as_object_mut()
            .unwrap()
            .extend(others.as_object().unwrap().clone());
        let reply = api.post("/v1/jobs", &body).await;
        assert_eq!(reply.status, 422, "{}", reply.text());
        faults(&reply.json())
    };
    let pair = |code: &str, pointer: &str| (code.to_owned(), pointer.to_owned());
    let found = refused(
        json!({"kind": "local", "attributes": {"ward": {"epsilon": 1}, "drug": {"epsilon": 0}, "sex": {"epsilonn": 1}}}),
        json!({}),
    );
    assert_eq!(
        found.await,
        [
            pair("out_of_range", "/perturbation/attributes/drug/epsilon"),
            pair("unknown_field", "/perturbation/attributes/sex/epsilonn"),
            pair("missing_field", "/perturbation/attributes/sex/epsilon"),
            // What could be read is judged beside what could not.
            pair("domain_undeclared", "/perturbation/attributes/ward"),
        ]
    );
    let found = refused(
        json!({"kind": "local", "attributes": {"ward": {"epsilon": 1}, "age": {"epsilon": 1, "upper": 500}, "no": {"epsilon": 1}}}),
        json!({}),
    );
    assert_eq!(
        found.await,
        [
            pair("hierarchy_missing_values", "/perturbation/attributes/age"),
            pair("unknown_attribute", "/perturbation/attributes/no"),
            pair("domain_undeclared", "/perturbation/attributes/ward"),
        ]
    );
    let found = refused(
        json!({"kind": "safepub", "epsilon": 1, "delta": 1e-3}),
        json!({"suppression_limit": 0.5, "search": {"method": "exact"}}),
    );
    assert_eq!(
        found.await,
        [
            pair("not_supported", "/search/method"),
            pair("out_of_range", "/suppression_limit"),
            pair("out_of_range", "/privacy/0/k"),
            pair("attribute_role", "/perturbation"),
            pair("attribute_role", "/perturbation"),
        ]
    );
    let found = refused(json!({"kind": "gaussian"}), json!({}));
    assert_eq!(found.await, [pair("unknown_value", "/perturbation/kind")]);
    let body = json!({"name": "t", "attributes": columns(), "privacy_budget": {"epsilon": -1, "deltaa": 0}});
    let problem = api.post("/v1/datasets", &body).await.json();
    let expected = [
        pair("unknown_field", "/privacy_budget/deltaa"),
        pair("out_of_range", "/privacy_budget/epsilon"),
    ];
    assert_eq!(faults(&problem), expected);
}
