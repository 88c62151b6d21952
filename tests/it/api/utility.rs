//! Downstream utility over HTTP.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults};

/// 400 rows; the target depends on age and on `score`, with noise.
fn rows() -> String {
    let rows = (0..400_u32).map(|row| {
        let (age, score) = (20 + row * 7 % 60, row * 13 % 10);
        let is_ill = (age > 50) != (row % 11 == 0) && score > 2;
        let ill = if is_ill { "yes" } else { "no" };
        format!(
            "{age},{},{ill},{score}\n",
            if row % 3 == 0 { "F" } else { "M" }
        )
    });
    format!("age,sex,ill,score\n{}", rows.collect::<String>())
}

async fn searched(api: &Api) -> Value {
    let columns = json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10, 20]}},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "ill", "role": "sensitive"},
        {"name": "score", "role": "insensitive", "type": "integer"}
    ]);
    let path = api.loaded(&columns, &rows()).await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.05,
        "search": {"method": "fixed", "levels": {"age": 1, "sex": 0}}});
    api.job(&path, &demands).await
}

/// Classes have no policy to map rows through: models see held-out rows as they are.
#[sqlx::test]
async fn solutions_of_classes_are_measured_too(pool: PgPool) {
    let api = Api::new(pool).work();
    let columns = json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "ill", "role": "sensitive"},
        {"name": "score", "role": "insensitive", "type": "integer"}
    ]);
    for recoding in ["local", "microaggregation"] {
        let dataset = api.loaded(&columns, &rows()).await;
        let demands = json!({"privacy": [{"model": "k_anonymity", "k": 5}], "recoding": recoding,
            "search": {"method": "mondrian"}});
        let search = api.job(&dataset, &demands).await;
        let path = format!("/v1/jobs/{}/utility", search["job_id"].as_str().unwrap());
        let demand =
            json!({"target": "ill", "positive": "yes", "splits": 3, "models": ["random_forest"]});
        let reply = api.post(&path, &demand).await;
        reply.ok(202);
        let job = api.ended(reply.header("location")).await;
        assert_eq!(job["outcome"], "measured", "{job}");
        let report = api.get(job["links"]["utility"].as_str().unwrap()).await;
        let report = report.ok(200);
        let auc = |data: &str| figure(&report, data, &json!("random_forest"), "auc");
        assert!(
            auc("anonymized") > auc("without_quasi_identifiers"),
            "{report}"
        );

        // After an erasure the classes are gone.
        let erasure = json!({"rows_where": {"score": 0}});
        api.post(&format!("{dataset}/deletions"), &erasure)
            .await
            .ok(202);
        let reply = api.post(&path, &demand).await;
        reply.ok(202);
        let job = api.ended(reply.header("location")).await;
        assert_eq!(job["failure"]["code"], "dataset_changed", "{job}");
    }
}

fn figure(report: &Value, data: &str, model: &Value, name: &str) -> f64 {
    let results = report["results"].as_array().unwrap();
    let result = results
        .iter()
        .find(|one| one["data"] == data && one["model"] == *model);
    result.unwrap()[name]["mean"].as_f64().unwrap()
}

#[sqlx::test]
async fn models_on_anonymized_rows_stand_beside_raw_ones(pool: PgPool) {
    let api = Api::new(pool).work();
    let search = searched(&api).await;
    let path = format!("/v1/jobs/{}/utility", search["job_id"].as_str().unwrap());
    let demand = json!({"target": "ill", "positive": "yes", "splits": 3, "seed": 5});
    let reply = api.post(&path, &demand).await;
    let queued = reply.ok(202);
    assert_eq!(queued["kind"], "utility");
    let job = api.ended(reply.header("location")).await;
    assert_eq!(
        (&job["state"], &job["outcome"]),
        (&json!("succeeded"), &json!("measured")),
        "{job}"
    );
    assert!(job["links"].get("front").is_none());
    let link = job["links"]["utility"].as_str().unwrap();
    let report = api.get(link).await.ok(200);
    assert_eq!(report["features"], json!(["age", "sex", "score"]));
    assert_eq!(
        (&report["classes"], &report["rows"]),
        (&json!(2), &json!(400))
    );
    assert_eq!(report["target_is_sensitive"], true);
    let forest = json!("random_forest");
    let auc = |data: &str| figure(&report, data, &forest, "auc");
    assert!(auc("raw") > 0.85 && auc("anonymized") > 0.8, "{report}");
    assert!(auc("without_quasi_identifiers") < auc("anonymized"));
    assert!((figure(&report, "majority", &Value::Null, "auc") - 0.5).abs() < 1e-9);
    let csv = api.get(&format!("{link}?format=csv")).await.text();
    assert_eq!(csv.lines().count(), 1 + 7);
    assert!(csv.starts_with("data,model,f1_positive,f1_positive_sd,"));
    // The same once more gives the same bytes.
    let again = api.post(&path, &demand).await;
    let again = api.ended(again.header("location")).await;
    let again = api
        .get(again["links"]["utility"].as_str().unwrap())
        .await
        .ok(200);
    assert_eq!(again["results"], report["results"]);
    // A job of utility has no front, and none is measured on it.
    let job_id = job["job_id"].as_str().unwrap();
    api.get(&format!("/v1/jobs/{job_id}/front"))
        .await
        .problem(409, "front_not_ready");
    api.post(&format!("/v1/jobs/{job_id}/utility"), &demand)
        .await
        .problem(409, "front_not_ready");
    let search_id = search["job_id"].as_str().unwrap();
    api.get(&format!("/v1/jobs/{search_id}/utility"))
        .await
        .problem(409, "report_not_ready");
}

#[sqlx::test]
async fn what_cannot_be_predicted_is_refused_or_given_a_reason(pool: PgPool) {
    let api = Api::new(pool).work();
    let search = searched(&api).await;
    let path = format!("/v1/jobs/{}/utility", search["job_id"].as_str().unwrap());
    let wrong = json!({"target": "age", "models": [], "splits": 0, "solution": 1});
    let wrong = api
        .post(&path, &wrong)
        .await
        .problem(422, "validation_failed");
    assert_eq!(faults(&wrong).len(), 4);
    let none = json!({"target": "ill", "solution_id": 7});
    api.post(&path, &none).await.problem(404, "not_found");
    for (demand, code) in [
        (
            json!({"target": "ill", "positive": "maybe", "splits": 1}),
            "positive_too_rare",
        ),
        (
            json!({"target": "score", "positive": 11, "splits": 1}),
            "target_has_one_class",
        ),
    ] {
        let reply = api.post(&path, &demand).await;
        let job = api.ended(reply.header("location")).await;
        assert_eq!(job["outcome"], "infeasible");
        assert_eq!(job["reason"]["code"], code);
        assert!(!job["reason"].to_string().contains("maybe"));
        let link = job["links"]["utility"].as_str().unwrap();
        api.get(link).await.problem(409, "report_not_ready");
    }
}
