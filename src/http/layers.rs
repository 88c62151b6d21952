//! What every request passes: a request id, one log line, metrics, security headers, time-outs, caught panics.
//!
//! [`observe`] is the outermost layer and the only one that writes problem bodies. A log line says method, matched
//! route, status, milliseconds, request id and failure code; never a query, a body or a cell.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use uuid::Uuid;

use super::problem::{Code, Problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Most characters of a request id taken over from the caller.
const REQUEST_ID_CHARACTERS: usize = 128;

/// Numbers, times, logs and finishes a request.
pub(super) async fn observe(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let request_id = request_id(request.headers());
    let method = method_label(request.method());
    // Only a matched route is a closed set; a raw path could hold anything.
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unmatched".to_owned(), |route| route.as_str().to_owned());
    let is_page = route.starts_with("/docs");
    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Arc<Problem>>();
    let problem = problem.or_else(|| foreign(&response));
    if let Some(problem) = &problem {
        *response.body_mut() = Body::from(problem.body(&request_id));
        let headers = response.headers_mut();
        headers.remove(header::CONTENT_LENGTH);
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(super::problem::MEDIA_TYPE),
        );
    }
    finish_headers(response.headers_mut(), &request_id, is_page);
    let status = response.status();
    record(method, &route, status, begun.elapsed());
    log(
        method,
        &route,
        status,
        begun.elapsed(),
        &request_id,
        problem.as_deref(),
    );
    response
}

/// A failure that no part of ours made (a file missing from the documentation page).
fn foreign(response: &Response) -> Option<Arc<Problem>> {
    let status = response.status();
    let code = match status {
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        _ if status.is_server_error() => Code::Internal,
        _ => return None,
    };
    Some(Arc::new(Problem::new(code, code.title())))
}

/// The caller's id if it is short and plain (it goes to logs and headers), else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let plain = |id: &&str| {
        (1..=REQUEST_ID_CHARACTERS).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    headers
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(plain)
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned)
}

/// A label out of a closed set: a caller may send any method.
fn method_label(method: &axum::http::Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => "PATCH",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

fn finish_headers(headers: &mut HeaderMap, request_id: &str, is_page: bool) {
    if let Ok(value) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID, value);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    // The documentation page is the only one that a browser runs.
    let policy = if is_page {
        "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
    } else {
        "default-src 'none'; frame-ancestors 'none'"
    };
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(policy),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

fn record(method: &'static str, route: &str, status: StatusCode, taken: Duration) {
    let labels = [
        ("method", method.to_owned()),
        ("route", route.to_owned()),
        ("status", status.as_u16().to_string()),
    ];
    metrics::counter!("kindred_http_requests_total", &labels).increment(1);
    metrics::histogram!("kindred_http_request_duration_seconds", &labels)
        .record(taken.as_secs_f64());
}

fn log(
    method: &'static str,
    route: &str,
    status: StatusCode,
    taken: Duration,
    request_id: &str,
    problem: Option<&Problem>,
) {
    let milliseconds = u64::try_from(taken.as_millis()).unwrap_or(u64::MAX);
    let status = status.as_u16();
    let code = problem.map_or("", Problem::slug);
    match problem.and_then(Problem::chain) {
        Some(error) => {
            tracing::error!(
                method,
                route,
                status,
                milliseconds,
                request_id,
                code,
                error,
                "request failed"
            );
        }
        None if problem.is_some() => {
            tracing::info!(
                method,
                route,
                status,
                milliseconds,
                request_id,
                code,
                "request refused"
            );
        }
        None => tracing::info!(
            method,
            route,
            status,
            milliseconds,
            request_id,
            "request served"
        ),
    }
}

/// Answers by a time-out when a request takes longer than the state's seconds.
pub(super) async fn time_out(
    State(limit): State<Duration>,
    request: Request,
    next: Next,
) -> Response {
    let answered = tokio::time::timeout(limit, next.run(request)).await;
    answered.unwrap_or_else(|_| {
        let seconds = limit.as_secs();
        let detail = format!("the request was given up after {seconds} seconds");
        Problem::new(Code::TimedOut, detail).into_response()
    })
}

/// A panic as a problem; the panic hook has logged where, the payload may hold values and is dropped.
pub(super) fn panicked(_payload: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal(crate::pool::Panicked).into_response()
}

/// No route has this path.
pub(super) async fn unknown_path() -> Problem {
    Problem::new(
        Code::NotFound,
        "there is no such path; /openapi.json lists the paths",
    )
}

/// The path exists, the method does not; the router adds `Allow`.
pub(super) async fn wrong_method() -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        "`Allow` lists the methods of this path",
    )
}

#[cfg(test)]
mod tests {
    use axum::middleware::{from_fn, from_fn_with_state};
    use axum::routing::get;
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    async fn told(router: axum::Router) -> (StatusCode, serde_json::Value) {
        let router = router
            .layer(CatchPanicLayer::custom(panicked))
            .layer(from_fn(observe));
        let request = Request::builder().uri("/").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await;
        (status, serde_json::from_slice(&body.unwrap()).unwrap())
    }

    #[tokio::test]
    async fn a_panic_becomes_a_problem_without_its_message() {
        async fn handler() -> StatusCode {
            panic!("cell value 4711");
        }
        let (status, problem) = told(axum::Router::new().route("/", get(handler))).await;
        assert_eq!(
            (status.as_u16(), &problem["code"]),
            (500, &"internal".into())
        );
        assert!(!problem.to_string().contains("4711"));
    }

    #[tokio::test]
    async fn a_request_that_takes_too_long_becomes_a_problem() {
        let router = axum::Router::new().route("/", get(std::future::pending::<StatusCode>));
        let limit = from_fn_with_state(Duration::ZERO, time_out);
        let (status, problem) = told(router.route_layer(limit)).await;
        assert_eq!(
            (status.as_u16(), &problem["code"]),
            (503, &"timed_out".into())
        );
        assert!(problem["request_id"].is_string());
    }

    #[test]
    fn only_a_plain_request_id_is_taken_over() {
        let with = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(id).unwrap());
            request_id(&headers)
        };
        assert_eq!(with("etl-7.b_1"), "etl-7.b_1");
        for refused in ["", "two words", "a\"b", &"x".repeat(129)] {
            assert!(Uuid::try_parse(&with(refused)).is_ok(), "{refused}");
        }
    }
}
