//! Datasets, hierarchies and measurements over HTTP.

use axum::http::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults, json_request, warnings};

fn two_columns() -> Value {
    json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer",
         "hierarchy": {"kind": "intervals", "origin": 0, "widths": [5, 10, 20], "lower": 0, "upper": 120}},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "dx", "role": "sensitive"}
    ])
}

#[sqlx::test]
async fn uc_05_uc_06_a_dataset_shows_levels_of_the_declaration(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&two_columns()).await;
    let dataset = api.get(&path).await.ok(200);
    // raw, 5, 10, 20, `*`; and value, `*`: 5 * 2 policies.
    assert_eq!(dataset["attributes"][0]["levels"], 5);
    assert_eq!(dataset["attributes"][0]["hierarchy"]["kind"], "intervals");
    assert_eq!(dataset["attributes"][1]["hierarchy"]["kind"], "none");
    assert_eq!(dataset["search_space"], "10");
    assert_eq!(
        (&dataset["rows"], &dataset["batches"]),
        (&json!(0), &json!(0))
    );
    let implicit = ("implicit_hierarchy".to_owned(), Some("sex".to_owned()));
    assert_eq!(warnings(&dataset), [implicit]);
}

#[sqlx::test]
async fn lists_are_newest_first_and_page_by_cursor(pool: PgPool) {
    let api = Api::new(pool);
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(api.dataset(&two_columns()).await);
    }
    let id = |item: &Value| format!("/v1/datasets/{}", item["dataset_id"].as_str().unwrap());
    let first = api.get("/v1/datasets?limit=2").await.ok(200);
    let items = first["items"].as_array().unwrap();
    assert_eq!(
        items.iter().map(id).collect::<Vec<_>>(),
        [made[2].clone(), made[1].clone()]
    );
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = api
        .get(&format!("/v1/datasets?limit=2&cursor={cursor}"))
        .await
        .ok(200);
    assert_eq!(id(&rest["items"][0]), made[0]);
    assert!(rest["next_cursor"].is_null());
    api.get("/v1/datasets?cursor=none")
        .await
        .problem(422, "invalid_cursor");
}

#[sqlx::test]
async fn a_deleted_dataset_is_gone(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&two_columns(), "age,sex,dx\n34,F,a\n").await;
    assert_eq!(api.call(Method::DELETE, &path).await.status, 204);
    api.get(&path).await.problem(404, "not_found");
    api.call(Method::DELETE, &path)
        .await
        .problem(404, "not_found");
    api.get(&format!("{path}/batches"))
        .await
        .problem(404, "not_found");
}

#[sqlx::test]
async fn the_same_key_and_body_declare_once(pool: PgPool) {
    let api = Api::new(pool);
    let body = json!({"name": "t", "attributes": two_columns()});
    let key = [("idempotency-key", "k-1")];
    let first = api.post_with("/v1/datasets", &body, &key).await;
    let again = api.post_with("/v1/datasets", &body, &key).await;
    assert_eq!(first.ok(201), again.ok(201));
    assert_eq!(first.header("location"), again.header("location"));
    let list = api.get("/v1/datasets").await.ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    let other = json!({"name": "u", "attributes": two_columns()});
    let reply = api.post_with("/v1/datasets", &other, &key).await;
    reply.problem(422, "idempotency_key_reused");
}

#[sqlx::test]
async fn uc_07_a_preview_shows_what_a_job_uses(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&two_columns()).await;
    let preview = format!("{path}/hierarchies/age");
    let shown = api
        .get(&format!("{preview}?value=5&value=19&value=120&value=x"))
        .await
        .ok(200);
    let labels = |at: usize| shown["values"][at]["labels"].clone();
    assert_eq!(
        labels(0),
        json!(["5", "[5, 10)", "[0, 10)", "[0, 20)", "*"])
    );
    assert_eq!(
        labels(1),
        json!(["19", "[15, 20)", "[10, 20)", "[0, 20)", "*"])
    );
    assert_eq!(shown["values"][2]["problem"], "out_of_range");
    assert_eq!(shown["values"][3]["problem"], "invalid");
    api.get(&format!("{path}/hierarchies/dx"))
        .await
        .problem(404, "not_found");
    api.get(&format!("{path}/hierarchies/none"))
        .await
        .problem(404, "not_found");
    // What is stored is shown where no value is named.
    let batch = "age,sex,dx\n34,F,a\n";
    api.upload(&format!("{path}/batches"), "text/csv", batch)
        .await
        .ok(201);
    let shown = api.get(&preview).await.ok(200);
    assert_eq!(shown["values"][0]["value"], "34");
}

#[sqlx::test]
async fn uc_08_a_replaced_hierarchy_is_a_new_version_in_force(pool: PgPool) {
    let api = Api::new(pool);
    let column = json!([{"name": "v", "role": "quasi_identifying",
        "hierarchy": {"kind": "table", "text": "A;*\nB;*\nC;*\nD;*"}}]);
    let path = api.loaded(&column, "v\nA\nB\nC\nD\n").await;
    let old = api.get(&path).await.ok(200);
    let place = format!("{path}/hierarchies/v");
    let put = async |body: Value| {
        api.send(json_request(Method::PUT, &place, &body, &[]))
            .await
    };

    let problem = put(json!({"kind": "table", "text": "A;low;*\nB;low;*\nC;high;*"})).await;
    let problem = problem.problem(422, "hierarchy_missing_values");
    assert_eq!(problem["errors"][0]["sample"], json!(["D"]));
    assert_eq!(problem["errors"][0]["column"], "v");
    let ragged = put(json!({"kind": "table", "text": "A;low;*\nB;*"})).await;
    let ragged = ragged.problem(422, "hierarchy_ragged");
    assert!(!faults(&ragged)[0].1.starts_with("/attributes"), "{ragged}");
    assert_eq!(api.get(&path).await.ok(200), old);

    let new = put(json!({"kind": "table", "text": "A;low;*\nB;low;*\nC;high;*\nD;high;*"})).await;
    let new = new.ok(200);
    assert_eq!(new["attributes"][0]["levels"], 3);
    let digest = |dataset: &Value| dataset["attributes"][0]["hierarchy"]["digest"].clone();
    assert_ne!(digest(&new), digest(&old));
    // Appendix 7: at level 1 low, low, high, high; k = 2.
    let demand = json!({"privacy": [], "levels": {"v": 1}});
    let measured = api.post(&format!("{path}/measure"), &demand).await.ok(200);
    assert_eq!(
        (&measured["privacy"]["k"], &measured["classes"]),
        (&json!(2), &json!(2))
    );
}

#[sqlx::test]
async fn uc_61_a_measurement_releases_nothing(pool: PgPool) {
    let api = Api::new(pool);
    let csv = "age,sex,dx\n1,F,x\n1,F,y\n2,M,x\n2,M,x\n7,F,z\n";
    let path = api.loaded(&two_columns(), csv).await;
    let measure = format!("{path}/measure");
    let demand = json!({"privacy": [{"model": "distinct_l_diversity", "attribute": "dx", "l": 2}]});
    let key = [("idempotency-key", "m")];
    let measured = api.post_with(&measure, &demand, &key).await.ok(200);
    // Classes: {1, F}: x, y; {2, M}: x, x; {7, F}: z. l = 1; three rows violate l = 2.
    assert_eq!(measured["privacy"]["k"], 1);
    assert_eq!(measured["privacy"]["sensitive"]["dx"]["distinct_l"], 1);
    assert_eq!(measured["violating_rows"], 3);
    assert_eq!(measured["satisfied"], false);
    let sizes = json!([
        {"size": 1, "size_to": 1, "classes": 1, "rows": 1},
        {"size": 2, "size_to": 2, "classes": 2, "rows": 4},
    ]);
    assert_eq!(measured["class_size_histogram"], sizes);
    let again = api.post_with(&measure, &demand, &key).await.ok(200);
    assert_eq!(again, measured);
    assert_eq!(api.get("/v1/jobs").await.ok(200)["items"], json!([]));
}

#[sqlx::test]
async fn uc_49_a_dataset_without_rows_cannot_be_measured(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&two_columns()).await;
    let reply = api
        .post(&format!("{path}/measure"), &json!({"privacy": []}))
        .await;
    reply.problem(422, "dataset_empty");
}

#[sqlx::test]
async fn uc_51_uc_52_columns_are_checked(pool: PgPool) {
    let api = Api::new(pool);
    let declare = async |attributes: Value| {
        api.post(
            "/v1/datasets",
            &json!({"name": "t", "attributes": attributes}),
        )
        .await
    };
    let none = declare(json!([{"name": "dx", "role": "sensitive"}])).await;
    none.problem(422, "no_quasi_identifiers");
    let age = json!({"name": "age", "role": "quasi_identifying"});
    let twice = declare(json!([age, {"name": "sex", "role": "quasi_identifying"}, age])).await;
    twice.problem(422, "duplicate_column");
    declare(json!([age])).await.ok(201);
}
