//! Every failure is a problem document; none is a 5xx for bad input.

use axum::body::Body;
use axum::http::Method;
use serde_json::json;

use super::{Api, faults, json_request, request};

#[tokio::test]
async fn an_unknown_path_is_a_problem() {
    let api = Api::offline();
    api.get("/v2/datasets").await.problem(404, "not_found");
    api.get("/docs/none.js").await.problem(404, "not_found");
}

#[tokio::test]
async fn a_wrong_method_is_a_problem_that_names_the_right_ones() {
    let api = Api::offline();
    let reply = api.call(Method::PATCH, "/v1/datasets").await;
    reply.problem(405, "method_not_allowed");
    let allow = reply.header("allow");
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
}

#[tokio::test]
async fn an_id_that_is_no_uuid_names_nothing() {
    let api = Api::offline();
    for path in [
        "/v1/datasets/7",
        "/v1/jobs/a/front",
        "/v1/releases/x/data",
        "/v1/jobs/%FF",
    ] {
        api.get(path).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn uc_76_malformed_json_names_line_and_column() {
    let api = Api::offline();
    let reply = api
        .upload("/v1/datasets", "application/json", "{\n\"a\": NaN}")
        .await;
    let problem = reply.problem(400, "malformed_json");
    assert_eq!(problem["errors"][0]["line"], 2);
    assert_eq!(problem["detail"], "not valid JSON at line 2, column 6");
}

#[tokio::test]
async fn a_field_that_stands_twice_is_refused_not_overridden() {
    let api = Api::offline();
    let body = "{\"privacy\": [{\"model\": \"k_anonymity\",\n\"k\": 100, \"k\": 1}]}";
    let reply = api.upload("/v1/datasets", "application/json", body).await;
    let problem = reply.problem(400, "malformed_json");
    assert_eq!(problem["errors"][0]["line"], 2);
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("a field stands twice in an object at line 2"));
}

#[tokio::test]
async fn a_wrong_content_type_is_refused_before_the_body_is_read() {
    let api = Api::offline();
    let reply = api.upload("/v1/jobs", "text/plain", "{").await;
    reply.problem(415, "unsupported_media_type");
    let none = request(Method::POST, "/v1/jobs", &[], Body::from("{}"));
    api.send(none).await.problem(415, "unsupported_media_type");
    let reply = api.upload("/v1/anonymize", "application/json", "{}").await;
    reply.problem(415, "unsupported_media_type");
    let path = format!("/v1/datasets/{}/batches", uuid::Uuid::now_v7());
    let parquet = "application/vnd.apache.parquet";
    let problem = api
        .upload(&path, parquet, "PAR1")
        .await
        .problem(415, "unsupported_media_type");
    assert!(problem["detail"].as_str().unwrap().contains("not built in"));
    let reply = api.upload(&path, "text/csv; charset=klingon", "a\n").await;
    reply.problem(415, "unsupported_charset");
    let zipped = [("content-type", "text/csv"), ("content-encoding", "gzip")];
    let reply = api
        .send(request(Method::POST, &path, &zipped, Body::from("x")))
        .await;
    reply.problem(415, "unsupported_content_encoding");
}

#[tokio::test]
async fn uc_79_a_body_over_the_limit_is_413_and_names_the_limit() {
    let pool = sqlx::PgPool::connect_lazy("postgres://nobody@127.0.0.1:1/none").unwrap();
    let limits = [
        ("KINDRED__SERVER__REQUEST_LIMIT_BYTES", "1024"),
        ("KINDRED__SERVER__UPLOAD_LIMIT_BYTES", "2048"),
    ];
    let api = Api::with(pool, &limits);
    let problem = api
        .post("/v1/datasets", &json!("x".repeat(2000)))
        .await
        .problem(413, "body_too_large");
    assert!(
        problem["detail"].as_str().unwrap().contains("1024 bytes"),
        "{problem}"
    );
    let announced = [("content-type", "text/csv"), ("content-length", "2049")];
    let path = format!("/v1/datasets/{}/batches", uuid::Uuid::now_v7());
    let reply = api
        .send(request(Method::POST, &path, &announced, Body::empty()))
        .await;
    let problem = reply.problem(413, "body_too_large");
    assert!(
        problem["detail"].as_str().unwrap().contains("2048 bytes"),
        "{problem}"
    );
}

#[tokio::test]
async fn unknown_and_bad_query_parameters_come_back_all_at_once() {
    let api = Api::offline();
    let reply = api
        .get("/v1/jobs?state=done&limit=501&dataset_id=7&colour=red")
        .await;
    let problem = reply.problem(422, "validation_failed");
    let expected = [
        ("unknown_value", "/query/state"),
        ("wrong_type", "/query/dataset_id"),
        ("out_of_range", "/query/limit"),
        ("unknown_field", "/query/colour"),
    ];
    let expected = expected.map(|(code, pointer)| (code.to_owned(), pointer.to_owned()));
    assert_eq!(faults(&problem), expected);
    api.get("/v1/datasets?limit=0")
        .await
        .problem(422, "out_of_range");
    api.get("/v1/datasets?limit=1&limit=2")
        .await
        .problem(422, "duplicate_value");
    api.post("/v1/datasets?dry=true", &json!({}))
        .await
        .problem(422, "unknown_field");
}

#[tokio::test]
async fn a_key_is_1_to_255_characters() {
    let api = Api::offline();
    for key in ["", &"k".repeat(256)] {
        let reply = api
            .post_with("/v1/jobs", &json!({}), &[("idempotency-key", key)])
            .await;
        let problem = reply.problem(422, "out_of_range");
        assert_eq!(problem["errors"][0]["pointer"], "/headers/idempotency-key");
    }
}

#[tokio::test]
async fn uc_86_a_declaration_is_refused_with_all_its_faults() {
    let api = Api::offline();
    let body =
        json!({"name": "", "atributes": [], "attributes": [{"name": "age", "role": "secret"}]});
    let problem = api
        .post("/v1/datasets", &body)
        .await
        .problem(422, "validation_failed");
    let codes: Vec<_> = faults(&problem).into_iter().map(|(code, _)| code).collect();
    assert!(codes.contains(&"unknown_field".to_owned()), "{problem}");
    assert!(codes.contains(&"unknown_value".to_owned()), "{problem}");
}

#[tokio::test]
async fn a_job_without_a_dataset_id_is_told_the_faults_of_its_demands_too() {
    let api = Api::offline();
    let body = json!({"privacy": [{"model": "k_anonymity", "k": 0}], "supression_limit": 0.1});
    let problem = api
        .post("/v1/jobs", &body)
        .await
        .problem(422, "validation_failed");
    let found = faults(&problem);
    for expected in [
        ("missing_field", "/dataset_id"),
        ("out_of_range", "/privacy/0/k"),
        ("unknown_field", "/supression_limit"),
    ] {
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert!(found.contains(&expected), "{problem}");
    }
}

#[tokio::test]
async fn an_unknown_form_is_406() {
    let api = Api::offline();
    let front = format!("/v1/jobs/{}/front", uuid::Uuid::now_v7());
    api.get(&format!("{front}?format=xml"))
        .await
        .problem(406, "not_acceptable");
    let data = format!("/v1/releases/{}/data", uuid::Uuid::now_v7());
    let accept = [("accept", "application/vnd.apache.parquet")];
    let reply = api
        .send(request(Method::GET, &data, &accept, Body::empty()))
        .await;
    reply.problem(406, "not_acceptable");
    api.get(&format!("{data}?rows=some"))
        .await
        .problem(422, "unknown_value");
}

#[tokio::test]
async fn uc_85_a_failing_database_tells_the_caller_nothing_but_the_request_id() {
    let api = Api::offline();
    let sent = request(
        Method::GET,
        "/v1/datasets",
        &[("x-request-id", "etl-42")],
        Body::empty(),
    );
    let reply = api.send(sent).await;
    assert!(reply.status.is_server_error());
    assert_eq!(reply.header("x-request-id"), "etl-42");
    assert_eq!(reply.json()["request_id"], "etl-42");
    let text = reply.text();
    assert!(
        !text.contains("127.0.0.1") && !text.contains("nobody"),
        "{text}"
    );
}

#[tokio::test]
async fn health_needs_no_database_and_readiness_does() {
    let api = Api::offline();
    assert_eq!(api.get("/healthz").await.ok(200)["status"], "ok");
    let reply = api.get("/readyz").await;
    reply.problem(503, "not_ready");
    assert_eq!(reply.header("retry-after"), "2");
}

#[tokio::test]
async fn metrics_count_requests_by_route_even_without_a_database() {
    let api = Api::offline();
    api.get("/healthz").await.ok(200);
    let reply = api.get("/metrics").await;
    reply.ok(200);
    let text = reply.text();
    let line = "kindred_http_requests_total{method=\"GET\",route=\"/healthz\",status=\"200\"}";
    assert!(text.contains(line), "{text}");
}

#[tokio::test]
async fn the_documentation_works_without_the_network() {
    let api = Api::offline();
    assert!(api.get("/openapi.json").await.ok(200)["paths"].is_object());
    assert_eq!(api.get("/docs").await.header("location"), "/docs/");
    let page = api.get("/docs/").await;
    page.ok(200);
    assert!(!page.text().contains("https://"), "{}", page.text());
    api.get("/docs/swagger-ui-bundle.js").await.ok(200);
}

#[tokio::test]
async fn answers_carry_security_headers() {
    let api = Api::offline();
    let reply = api.get("/healthz").await;
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert_eq!(reply.header("cache-control"), "no-store");
    assert!(
        reply
            .header("content-security-policy")
            .starts_with("default-src 'none'")
    );
}

#[tokio::test]
async fn a_multipart_form_is_refused_part_by_part() {
    let api = Api::offline();
    let form = |parts: &str| format!("{parts}--b--\r\n");
    let part = |name: &str, content: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n")
    };
    let kind = "multipart/form-data; boundary=b";
    let send = async |body: String| api.upload("/v1/anonymize", kind, body).await;
    send(form("")).await.problem(422, "missing_field");
    send(form(&part("tusk", "{}")))
        .await
        .problem(422, "unknown_field");
    send(form(&part("task", "{")))
        .await
        .problem(400, "malformed_json");
    send(form(&part("data", "a\n1\n")))
        .await
        .problem(422, "missing_field");
    send("--b\r\nContent-Disp".to_owned())
        .await
        .problem(400, "malformed_multipart");
    let task = json!({"name": "t", "attributes": [], "privacy": [{"model": "k_anonymity", "k": 0}],
        "data": {"delimiter": ";;", "separator": ";"}});
    let problem = send(form(&part("task", &task.to_string())))
        .await
        .problem(422, "validation_failed");
    let pointers: Vec<_> = faults(&problem)
        .into_iter()
        .map(|(_, pointer)| pointer)
        .collect();
    for pointer in [
        "/attributes",
        "/privacy/0/k",
        "/data/delimiter",
        "/data/separator",
    ] {
        assert!(pointers.contains(&pointer.to_owned()), "{problem}");
    }
}

#[tokio::test]
async fn a_put_takes_json_alone() {
    let api = Api::offline();
    let path = format!("/v1/datasets/{}/hierarchies/age", uuid::Uuid::now_v7());
    let text = request(
        Method::PUT,
        &path,
        &[("content-type", "text/csv")],
        Body::from("A;*"),
    );
    api.send(text).await.problem(415, "unsupported_media_type");
    let queried = json_request(Method::PUT, &format!("{path}?x=1"), &json!({}), &[]);
    api.send(queried).await.problem(422, "unknown_field");
}
