//! Releases over HTTP: one set of rows and cells, whatever the form.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgPool;

use super::{Api, request};

fn columns() -> Value {
    json!([
        {"name": "mrn", "role": "identifying"},
        {"name": "age", "role": "quasi_identifying"},
        {"name": "note", "role": "insensitive"},
        {"name": "change", "role": "insensitive", "type": "integer"}
    ])
}

/// Classes at level 0: age 1 three times, age 2 three times, ages 8 and 9 once.
const EIGHT_ROWS: &str = "mrn,age,note,change\na,1,=1+1,-5\nb,1,\"x, y\",1\nc,1,,2\nd,2,NA,3\ne,2,\"\"\"q\"\"\",4\nf,2,@z,5\ng,8,h,6\ni,9,j,7\n";

fn demands() -> Value {
    json!({"privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.25,
        "search": {"method": "fixed", "levels": {"age": 0}}})
}

/// A release of eight rows; gives the dataset's path and the record.
async fn released(api: &Api, more: &Value) -> (String, Value) {
    let path = api.loaded(&columns(), EIGHT_ROWS).await;
    let job = api.job(&path, &demands()).await;
    let mut body = json!({"job_id": job["job_id"], "solution_id": 0});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let reply = api.post("/v1/releases", &body).await;
    let record = reply.ok(201);
    let id = record["release_id"].as_str().unwrap();
    assert_eq!(reply.header("location"), format!("/v1/releases/{id}"));
    (path, record)
}

#[sqlx::test]
async fn uc_28_uc_29_uc_30_a_release_accounts_for_every_row_and_adds_no_column(pool: PgPool) {
    let api = Api::new(pool).work();
    let (_, record) = released(&api, &json!({"row_order": "input"})).await;
    // D7: 2 of 8 rows are exactly 0.25.
    let counts = [
        "rows_in",
        "released_rows",
        "suppressed_rows",
        "pending_rows",
    ];
    let counts = counts.map(|name| record[name].as_u64().unwrap());
    assert_eq!(counts, [8, 6, 2, 0]);
    assert_eq!(record["columns"], json!(["age", "note", "change"]));
    assert_eq!(record["verification"]["passed"], true);
    let data = record["links"]["data"].as_str().unwrap();
    let csv = api.get(data).await;
    assert_eq!(csv.text().lines().next(), Some("age,note,change"));
    assert_eq!(csv.text().lines().nth(1), Some("1,=1+1,-5"));
    let digest = hex::encode(Sha256::digest(&csv.body));
    assert_eq!(record["csv_sha256"], digest);
    assert_eq!(csv.header("etag"), format!("\"{digest}\""));
    assert_eq!(csv.header("content-length"), csv.body.len().to_string());
    assert!(csv.header("content-disposition").contains(".csv"));
    let known = format!("\"{digest}\"");
    let known = request(
        Method::GET,
        data,
        &[("if-none-match", &known)],
        Body::empty(),
    );
    assert_eq!(api.send(known).await.status, 304);
}

#[sqlx::test]
async fn uc_70_uc_80_every_form_holds_the_same_rows_and_cells(pool: PgPool) {
    let api = Api::new(pool).work();
    let (_, record) = released(&api, &json!({})).await;
    let data = record["links"]["data"].as_str().unwrap();
    let csv = api.get(data).await.body;
    let mut reader = csv::Reader::from_reader(&csv[..]);
    let header: Vec<String> = reader
        .headers()
        .unwrap()
        .iter()
        .map(str::to_owned)
        .collect();
    let row = |record: csv::StringRecord| -> Value {
        let cells = header.iter().zip(record.iter());
        let cell = |text: &str| {
            if text.is_empty() {
                Value::Null
            } else {
                json!(text)
            }
        };
        Value::Object(
            cells
                .map(|(name, text)| (name.clone(), cell(text)))
                .collect(),
        )
    };
    let from_csv: Vec<Value> = reader
        .records()
        .map(|record| row(record.unwrap()))
        .collect();
    assert_eq!(from_csv.len(), 6);
    let from_json = api.get(&format!("{data}?format=json")).await.ok(200);
    assert_eq!(from_json, json!(from_csv));
    let accept = [("accept", "application/x-ndjson")];
    let lines = api
        .send(request(Method::GET, data, &accept, Body::empty()))
        .await
        .text();
    let from_lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(from_lines, from_csv);
}

#[sqlx::test]
async fn uc_81_formulas_are_escaped_on_request_in_text_columns_alone(pool: PgPool) {
    let api = Api::new(pool).work();
    let (_, record) = released(&api, &json!({"row_order": "input"})).await;
    let data = record["links"]["data"].as_str().unwrap();
    let plain = api.get(data).await.text();
    assert!(plain.contains("1,=1+1,-5") && plain.contains("2,@z,5"));
    let escaped = api.get(&format!("{data}?escape_formulas=true")).await;
    assert!(escaped.text().contains("1,'=1+1,-5") && escaped.text().contains("2,'@z,5"));
    assert_eq!(escaped.header("etag"), "");
}

#[sqlx::test]
async fn a_release_is_made_once_per_key_and_listed(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), EIGHT_ROWS).await;
    let job = api.job(&path, &demands()).await;
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    let key = [("idempotency-key", "r")];
    let first = api.post_with("/v1/releases", &body, &key).await.ok(201);
    assert_eq!(
        api.post_with("/v1/releases", &body, &key).await.ok(201),
        first
    );
    let id = path.rsplit('/').next().unwrap();
    let list = api
        .get(&format!("/v1/releases?dataset_id={id}"))
        .await
        .ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        api.get(&format!(
            "/v1/releases/{}",
            first["release_id"].as_str().unwrap()
        ))
        .await
        .ok(200),
        first
    );
    let none = json!({"job_id": job["job_id"], "solution_id": 9});
    api.post("/v1/releases", &none)
        .await
        .problem(404, "not_found");
    let odd = json!({"job_id": job["job_id"], "solution_id": 0, "columns": ["mrn", "none"]});
    assert_eq!(api.post("/v1/releases", &odd).await.status, 422);
}

#[sqlx::test]
async fn d10_the_same_seed_gives_the_same_bytes(pool: PgPool) {
    let api = Api::new(pool).work();
    let (_, first) = released(&api, &json!({})).await;
    let (_, second) = released(&api, &json!({})).await;
    assert_eq!(first["csv_sha256"], second["csv_sha256"]);
}

// Two units of one name are common in clinical taxonomies; a reader sees one class, no smaller than either.
#[sqlx::test]
async fn nodes_that_share_a_label_are_released_as_one_class(pool: PgPool) {
    let api = Api::new(pool).work();
    let unit = |name: &str, leaf: &str| {
        let other = json!({"label": "Other", "children": [{"label": leaf}]});
        json!({"label": name, "children": [other]})
    };
    let tree = json!({"kind": "taxonomy", "label": "*", "children": [unit("Cardiology", "a"), unit("Surgery", "b")]});
    let columns = json!([{"name": "unit", "role": "quasi_identifying", "hierarchy": tree}]);
    let path = api.loaded(&columns, "unit\na\na\na\nb\nb\nb\n").await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 3}],
        "search": {"method": "fixed", "levels": {"unit": 1}}});
    let job = api.job(&path, &demands).await;
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    let record = api.post("/v1/releases", &body).await.ok(201);
    assert_eq!(
        (&record["classes"], &record["verification"]["k"]),
        (&json!(1), &json!(6))
    );
}

// Columns left out join classes too.
#[sqlx::test]
async fn a_release_of_some_columns_is_verified_on_what_it_holds(pool: PgPool) {
    let api = Api::new(pool).work();
    let body = json!({"columns": ["note"], "suppressed_rows": "mask"});
    let (_, record) = released(&api, &body).await;
    assert_eq!(record["columns"], json!(["note"]));
    assert_eq!(
        (&record["rows_in"], &record["suppressed_rows"]),
        (&json!(8), &json!(2))
    );
}
