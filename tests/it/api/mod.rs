//! The HTTP interface through its router, one database per test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod anonymize;
mod attacks;
mod attacks_classes;
mod batches;
mod budget;
mod clusters;
mod compare;
mod datasets;
mod deletions;
mod growth;
mod invariance;
mod jobs;
mod linkage;
mod overlap;
mod perturbation;
mod pressure;
mod problems;
mod readers;
mod releases;
mod series;
mod series_guard;
mod subtree;
mod tokens;
mod utility;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use kindred::config::Config;
use kindred::http::{Services, router};
use kindred::pool::CpuPool;
use kindred::store::Store;
use kindred::vault::Vault;
use serde_json::Value;
use sqlx::PgPool;
use tokio_util::sync::{CancellationToken, DropGuard};
use tower::ServiceExt;

/// The interface on a database.
pub(crate) struct Api {
    pub(crate) router: Router,
    pub(crate) services: Services,
    _stop: DropGuard,
    keys: tempfile::TempDir,
}

/// An answer, read whole.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// Asserts that this is a problem document with this status and code; gives the document.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!(self.status.as_u16(), status, "{problem}");
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(problem["type"], format!("urn:kindred:problem:{code}"));
        assert_eq!(problem["status"], status);
        assert_eq!(problem["request_id"], self.header("x-request-id"));
        assert!(problem["title"].is_string() && problem["detail"].is_string());
        assert!(problem["errors"].is_array());
        problem
    }

    /// Asserts the status; gives the body.
    #[track_caller]
    pub(crate) fn ok(&self, status: u16) -> Value {
        assert_eq!(
            self.status.as_u16(),
            status,
            "{}",
            String::from_utf8_lossy(&self.body)
        );
        self.json()
    }
}

/// Codes and pointers of a problem's faults.
pub(crate) fn faults(problem: &Value) -> Vec<(String, String)> {
    let text = |fault: &Value, field: &str| fault[field].as_str().unwrap_or_default().to_owned();
    let faults = problem["errors"].as_array().unwrap();
    let both = |fault| (text(fault, "code"), text(fault, "pointer"));
    faults.iter().map(both).collect()
}

impl Api {
    /// On a test's own database.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self::with(pool, &[])
    }

    /// On a database that does not answer: for what must be refused before it is asked.
    pub(crate) fn offline() -> Self {
        let options = sqlx::postgres::PgPoolOptions::new();
        let pool = options
            .acquire_timeout(std::time::Duration::from_millis(100))
            .connect_lazy("postgres://nobody@127.0.0.1:1/none")
            .unwrap();
        Self::with(pool, &[])
    }

    /// With settings (`KINDRED__...`) other than the defaults.
    pub(crate) fn with(pool: PgPool, settings: &[(&str, &str)]) -> Self {
        let settings = settings
            .iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let config = Config::layered(None, settings).unwrap();
        let keys = tempfile::tempdir().unwrap();
        let vault = Vault::open(None, &keys.path().join("master.key")).unwrap();
        let shutdown = CancellationToken::new();
        let services = Services {
            store: Store::new(pool, Arc::new(vault)),
            pool: CpuPool::new("test", 2).unwrap(),
            config: Arc::new(config),
            shutdown: shutdown.clone(),
            metrics: kindred::telemetry::metrics().unwrap(),
        };
        Self {
            router: router(services.clone()),
            services,
            _stop: shutdown.drop_guard(),
            keys,
        }
    }

    /// Starts a worker that stops with the interface.
    pub(crate) fn work(self) -> Self {
        let Services {
            store,
            pool,
            config,
            shutdown,
            ..
        } = self.services.clone();
        tokio::spawn(kindred::worker::run(store, pool, config, shutdown));
        self
    }

    /// Declares a dataset; gives its path.
    #[track_caller]
    pub(crate) fn dataset(&self, attributes: &Value) -> impl Future<Output = String> {
        let body = serde_json::json!({"name": "t", "attributes": attributes});
        async move {
            let reply = self.post("/v1/datasets", &body).await;
            reply.ok(201);
            reply.header("location").to_owned()
        }
    }

    /// Declares a dataset and loads a CSV; gives its path.
    pub(crate) async fn loaded(&self, attributes: &Value, csv: &str) -> String {
        let path = self.dataset(attributes).await;
        let batches = format!("{path}/batches");
        self.upload(&batches, "text/csv", csv.to_owned())
            .await
            .ok(201);
        path
    }

    /// Submits a job on the dataset at a path and waits for its end.
    pub(crate) async fn job(&self, dataset: &str, demands: &Value) -> Value {
        let reply = self.post("/v1/jobs", &with_dataset(dataset, demands)).await;
        reply.ok(202);
        let path = reply.header("location").to_owned();
        self.ended(&path).await
    }

    /// The job at a path, after its end.
    pub(crate) async fn ended(&self, path: &str) -> Value {
        for _ in 0..100 {
            let job = self.get(&format!("{path}?wait=30")).await.ok(200);
            if !job["finished_at"].is_null() {
                return job;
            }
        }
        panic!("the job does not end");
    }

    /// Sends any request.
    pub(crate) async fn send(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Reply {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Sends a request without a body.
    pub(crate) async fn call(&self, method: Method, path: &str) -> Reply {
        self.send(request(method, path, &[], Body::empty())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.call(Method::GET, path).await
    }

    /// Posts JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, body, &[]).await
    }

    /// Posts JSON with more headers.
    pub(crate) async fn post_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Reply {
        self.send(json_request(Method::POST, path, body, headers))
            .await
    }

    /// Posts bytes of a type.
    pub(crate) async fn upload(
        &self,
        path: &str,
        content_type: &str,
        body: impl Into<Body>,
    ) -> Reply {
        let headers = [("content-type", content_type)];
        self.send(request(Method::POST, path, &headers, body.into()))
            .await
    }
}

/// Demands on the dataset at a path.
pub(crate) fn with_dataset(dataset: &str, demands: &Value) -> Value {
    let mut body = demands.clone();
    body["dataset_id"] = dataset.rsplit('/').next().unwrap().into();
    body
}

/// Codes of warnings with their columns.
pub(crate) fn warnings(body: &Value) -> Vec<(String, Option<String>)> {
    let warnings = body["warnings"].as_array().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let both = |warning: &Value| (text(&warning["code"]).unwrap(), text(&warning["column"]));
    warnings.iter().map(both).collect()
}

/// A request.
pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

/// A request with a JSON body.
pub(crate) fn json_request(
    method: Method,
    path: &str,
    body: &Value,
    headers: &[(&str, &str)],
) -> Request<Body> {
    let mut request = request(method, path, headers, Body::from(body.to_string()));
    let json = header::HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, json);
    request
}
