//! Uploads over HTTP: all or nothing, every fault with its place, retries without effect.

use axum::body::{Body, Bytes};
use axum::http::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, request};

fn age_and_sex() -> Value {
    json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"}
    ])
}

#[sqlx::test]
async fn a_batch_answers_as_the_contract_says(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&age_and_sex()).await;
    let reply = api
        .upload(
            &format!("{path}/batches"),
            "text/csv",
            "age,sex\n34,F\n51,M\n",
        )
        .await;
    let batch = reply.ok(201);
    assert_eq!(reply.header("location"), format!("{path}/batches"));
    assert!(path.ends_with(batch["dataset_id"].as_str().unwrap()));
    assert_eq!((&batch["sequence"], &batch["rows"]), (&json!(1), &json!(2)));
    assert_eq!(
        (&batch["trimmed_cells"], &batch["updates"]),
        (&json!(0), &json!([]))
    );
    assert!(batch["warnings"].is_array());
    let list = api.get(&format!("{path}/batches")).await.ok(200);
    assert_eq!(list["items"][0]["batch_id"], batch["batch_id"]);
}

#[sqlx::test]
async fn uc_64_a_batch_sent_twice_does_not_raise_k(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    // Appendix 13.
    let csv = "age,sex\n34,F\n51,M\n67,F\n";
    let send = async |key: &str| {
        let headers = [("content-type", "text/csv"), ("idempotency-key", key)];
        api.send(request(Method::POST, &batches, &headers, Body::from(csv)))
            .await
    };
    let first = send("b-1").await.ok(201);
    assert_eq!(send("b-1").await.ok(201), first);
    send("b-2").await.problem(409, "duplicate_batch");
    api.upload(&batches, "text/csv", csv)
        .await
        .problem(409, "duplicate_batch");
    let as_json = r#"[{"age":34,"sex":"F"},{"age":51,"sex":"M"},{"age":67,"sex":"F"}]"#;
    let same_rows = api.upload(&batches, "application/json", as_json).await;
    same_rows.problem(409, "duplicate_batch");
    let dataset = api.get(&path).await.ok(200);
    assert_eq!(
        (&dataset["rows"], &dataset["batches"]),
        (&json!(3), &json!(1))
    );
    let measured = api
        .post(&format!("{path}/measure"), &json!({"privacy": []}))
        .await
        .ok(200);
    assert_eq!(measured["privacy"]["k"], 1);
    let allowed = format!("{batches}?allow_duplicate=true");
    assert_eq!(
        api.upload(&allowed, "text/csv", csv).await.ok(201)["sequence"],
        2
    );
}

#[sqlx::test]
async fn a_key_used_for_other_rows_is_refused(pool: PgPool) {
    let api = Api::new(pool);
    let batches = format!("{}/batches", api.dataset(&age_and_sex()).await);
    let headers = [("content-type", "text/csv"), ("idempotency-key", "k")];
    let send = async |csv: &'static str| {
        api.send(request(Method::POST, &batches, &headers, Body::from(csv)))
            .await
    };
    send("age,sex\n34,F\n").await.ok(201);
    send("age,sex\n35,F\n")
        .await
        .problem(422, "idempotency_key_reused");
}

#[sqlx::test]
async fn uc_65_a_bad_row_refuses_the_batch_and_changes_nothing(pool: PgPool) {
    let api = Api::new(pool);
    let column = json!([{"name": "zip", "role": "quasi_identifying",
        "hierarchy": {"kind": "table", "text": "02139;021;*\n02141;021;*"}}]);
    let path = api.loaded(&column, "zip\n02139\n").await;
    let before = api.get(&path).await.ok(200);
    let reply = api
        .upload(
            &format!("{path}/batches"),
            "text/csv",
            "zip\n02141\n99999\n",
        )
        .await;
    let problem = reply.problem(422, "hierarchy_missing_values");
    assert_eq!(problem["errors"][0]["column"], "zip");
    assert_eq!(problem["errors"][0]["sample"], json!(["99999"]));
    assert_eq!(api.get(&path).await.ok(200), before);
}

#[sqlx::test]
async fn uc_49_uc_54_uc_73_heads_are_checked(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    let send = async |csv: &'static str| api.upload(&batches, "text/csv", csv).await;
    send("age,sex\n").await.problem(422, "dataset_empty");
    send("age,sex,a,b\n1,F,2,3\n")
        .await
        .problem(422, "undeclared_columns");
    send("age,sex,age\n1,F,1\n")
        .await
        .problem(422, "duplicate_header");
    send("age,sex\n1\n").await.problem(422, "field_count");
    assert_eq!(api.get(&path).await.ok(200)["rows"], 0);
}

#[sqlx::test]
async fn uc_68_the_delimiter_is_declared(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    let semicolon = format!("{batches}?delimiter=%3B");
    api.upload(&semicolon, "text/csv", "age;sex\n34;F\n")
        .await
        .ok(201);
    let tab = format!("{batches}?delimiter=tab");
    api.upload(&tab, "text/csv", "age\tsex\n35\tF\n")
        .await
        .ok(201);
    let reply = api
        .upload(&format!("{batches}?delimiter=ab"), "text/csv", "x")
        .await;
    assert_eq!(
        reply.problem(422, "wrong_type")["errors"][0]["pointer"],
        "/query/delimiter"
    );
}

#[sqlx::test]
async fn uc_70_uc_71_uc_72_cells_arrive_as_they_were_sent(pool: PgPool) {
    let api = Api::new(pool);
    let columns = json!([
        {"name": "zip", "role": "quasi_identifying", "hierarchy": {"kind": "prefix", "keep": [5, 4, 3]}},
        {"name": "country", "role": "quasi_identifying"},
        {"name": "note", "role": "insensitive"}
    ]);
    let path = api.dataset(&columns).await;
    // Appendix 14, and the same rows as JSON.
    let csv = "\u{feff}\"zip\",country,note\r\n02134,NA,\"line 1\nline 2\"\r\n00501,,\"say \"\"no\"\", leave\"\r\n";
    let batches = format!("{path}/batches");
    assert_eq!(
        api.upload(&batches, "text/csv", csv).await.ok(201)["rows"],
        2
    );
    let rows = json!([{"zip": "02134", "country": "NA", "note": "line 1\nline 2"},
        {"zip": "00501", "country": null, "note": "say \"no\", leave"}]);
    let same = api
        .upload(&batches, "application/json", rows.to_string())
        .await;
    same.problem(409, "duplicate_batch");
    let shown = api
        .get(&format!("{path}/hierarchies/zip?value=02134"))
        .await
        .ok(200);
    assert_eq!(shown["values"][0]["labels"][1], "0213*");
    assert_eq!(
        api.get(&path).await.ok(200)["attributes"][1]["distinct_values"],
        1
    );
}

#[sqlx::test]
async fn uc_76_bad_json_is_refused_with_its_place(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    let bare = api
        .upload(
            &batches,
            "application/json",
            "[{\"age\": NaN, \"sex\": \"F\"}]",
        )
        .await;
    bare.problem(400, "malformed_json");
    let quoted = api
        .upload(&batches, "application/json", r#"[{"age":"NaN","sex":"F"}]"#)
        .await;
    assert_eq!(quoted.problem(422, "invalid_value")["errors"][0]["row"], 1);
    assert_eq!(api.get(&path).await.ok(200)["rows"], 0);
}

#[sqlx::test]
async fn uc_78_trimming_is_declared_and_counted(pool: PgPool) {
    let api = Api::new(pool);
    let column = json!([{"name": "sex", "role": "quasi_identifying", "trim": true}]);
    let path = api.dataset(&column).await;
    let batches = format!("{path}/batches");
    let batch = api
        .upload(&batches, "text/csv", "sex\n Male\nMale\n")
        .await
        .ok(201);
    assert_eq!(batch["trimmed_cells"], 1);
    assert_eq!(
        api.get(&path).await.ok(200)["attributes"][0]["distinct_values"],
        1
    );
}

#[sqlx::test]
async fn uc_79_an_upload_that_breaks_off_or_is_too_large_stores_nothing(pool: PgPool) {
    let settings = [("KINDRED__SERVER__UPLOAD_LIMIT_BYTES", "4096")];
    let api = Api::with(pool, &settings);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    let good = Ok(Bytes::from("age,sex\n34,F\n"));
    let lost = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
    let cut = Body::from_stream(futures::stream::iter([good, lost]));
    api.upload(&batches, "text/csv", cut)
        .await
        .problem(400, "malformed_body");
    let chunk = || Ok::<_, std::io::Error>(Bytes::from("34,F\n".repeat(200)));
    let head = Ok(Bytes::from("age,sex\n"));
    let large = futures::stream::iter([head, chunk(), chunk(), chunk(), chunk(), chunk()]);
    let reply = api
        .upload(&batches, "text/csv", Body::from_stream(large))
        .await;
    let problem = reply.problem(413, "body_too_large");
    assert!(problem["detail"].as_str().unwrap().contains("4096 bytes"));
    assert_eq!(api.get(&path).await.ok(200)["rows"], 0);
    api.upload(&batches, "text/csv", "age,sex\n34,F\n")
        .await
        .ok(201);
}

#[sqlx::test]
async fn more_uploads_than_places_are_told_to_come_back(pool: PgPool) {
    let settings = [("KINDRED__SERVER__MAX_UPLOADS", "1")];
    let api = Api::with(pool, &settings);
    let path = api.dataset(&age_and_sex()).await;
    let batches = format!("{path}/batches");
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let stream = futures::stream::unfold(receiver, async |mut receiver| {
        receiver.recv().await.map(|chunk| (chunk, receiver))
    });
    let open = Body::from_stream(stream);
    let first = api.upload(&batches, "text/csv", open);
    let second = async {
        // Two chunks fit only when the first upload has begun to read.
        sender.send(Ok(Bytes::from("age,sex\n"))).await.unwrap();
        sender.send(Ok(Bytes::from("34,F\n"))).await.unwrap();
        sender.reserve().await.unwrap();
        let reply = api.upload(&batches, "text/csv", "age,sex\n35,F\n").await;
        reply.problem(503, "busy");
        assert!(!reply.header("retry-after").is_empty());
        drop(sender);
    };
    let (first, ()) = tokio::join!(first, second);
    first.ok(201);
    api.upload(&batches, "text/csv", "age,sex\n35,F\n")
        .await
        .ok(201);
}
