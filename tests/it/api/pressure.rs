//! Many waiting clients, few connections, and what the log says meanwhile.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Method;
use serde_json::json;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::{Api, request, with_dataset};

fn column() -> serde_json::Value {
    json!([{"name": "age", "role": "quasi_identifying"}])
}

#[sqlx::test]
async fn uc_84_waiting_clients_hold_no_connection(_: PgPoolOptions, options: PgConnectOptions) {
    let few = PgPoolOptions::new().max_connections(2);
    let api = Api::new(few.connect_with(options).await.unwrap());
    let path = api.loaded(&column(), "age\n1\n1\n").await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 2}]});
    let submitted = api.post("/v1/jobs", &with_dataset(&path, &demands)).await;
    let job = submitted.header("location").to_owned();
    let waiting = format!("{job}?wait=60");
    let waiters = futures::future::join_all((0..20).map(|_| api.get(&waiting)));
    let cancel = async {
        api.get("/readyz").await.ok(200);
        api.call(Method::DELETE, &job).await.ok(200)
    };
    let both = futures::future::join(waiters, cancel);
    let (replies, _) = tokio::time::timeout(Duration::from_secs(30), both)
        .await
        .unwrap();
    for reply in replies {
        assert_eq!(reply.ok(200)["state"], "cancelled");
    }
}

#[sqlx::test]
async fn uc_84_an_exhausted_pool_is_503_with_retry_after(
    _: PgPoolOptions,
    options: PgConnectOptions,
) {
    let one = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_millis(200));
    let pool = one.connect_with(options).await.unwrap();
    let held = pool.acquire().await.unwrap();
    let api = Api::new(pool.clone());
    let reply = api.get("/v1/datasets").await;
    reply.problem(503, "busy");
    assert_eq!(reply.header("retry-after"), "2");
    drop(held);
    api.get("/v1/datasets").await.ok(200);
}

/// Collects log lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[sqlx::test]
async fn uc_85_the_log_holds_no_value_of_the_caller(pool: PgPool) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let api = Api::new(pool);
    let path = api.loaded(&column(), "age\nzebra\n").await;
    let batches = format!("{path}/batches");
    let refused = api
        .upload(&batches, "text/csv", "age,zebra\n1,zebra\n")
        .await;
    assert_eq!(refused.status, 422);
    api.get(&format!("{path}/hierarchies/age?value=zebra"))
        .await
        .ok(200);
    api.get("/v1/zebra?zebra=zebra")
        .await
        .problem(404, "not_found");
    let sent = [
        ("x-request-id", "etl-7"),
        ("content-type", "application/json"),
    ];
    let body = Body::from("{\"zebra\": \"zebra\"}");
    api.send(request(Method::POST, "/v1/datasets", &sent, body))
        .await
        .problem(422, "validation_failed");
    drop(guard);
    let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert!(!log.contains("zebra"), "{log}");
    assert!(
        log.contains("etl-7") && log.contains("undeclared_columns"),
        "{log}"
    );
    assert!(log.contains("/v1/datasets/{dataset_id}/batches"), "{log}");
}
