//! For operators: is it alive, is it ready, what does it count.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::failures::ReadFailures;
use super::problem::{Code, Problem};
use super::query::{Nothing, Query};
use crate::job::JobState;

/// How the service is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `ok`.
    status: &'static str,
    /// Version of the software.
    version: &'static str,
}

const OK: Health = Health {
    status: "ok",
    version: env!("CARGO_PKG_VERSION"),
};

/// Says whether the process answers.
///
/// Asks nothing of the database: restart the process when this fails.
#[utoipa::path(get, path = "/healthz", tag = "operations",
    responses((status = 200, body = Health, description = "It does"), ReadFailures))]
pub(super) async fn healthz(_: Query<Nothing>) -> axum::Json<Health> {
    axum::Json(OK)
}

/// Says whether requests can be served.
///
/// The database answers and its schema is this program's; otherwise `503 not_ready`.
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, body = Health, description = "They can"), ReadFailures))]
pub(super) async fn readyz(
    State(app): State<App>,
    _: Query<Nothing>,
) -> Result<axum::Json<Health>, Problem> {
    if app.services.shutdown.is_cancelled() {
        return Err(Problem::new(Code::NotReady, "the process is stopping"));
    }
    match app.services.store.is_ready().await {
        Ok(()) => Ok(axum::Json(OK)),
        Err(error) => {
            let detail = "the database does not answer, or its schema is not this program's";
            Err(Problem::new(Code::NotReady, detail).because(error))
        }
    }
}

/// Gives the metrics in the Prometheus text form.
///
/// `kindred_jobs` is counted when asked for; everything else is counted as it happens.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, content_type = "text/plain", body = String, description = "The metrics"), ReadFailures))]
pub(super) async fn metrics(State(app): State<App>, _: Query<Nothing>) -> Response {
    const STATES: [(JobState, &str); 5] = [
        (JobState::Queued, "queued"),
        (JobState::Running, "running"),
        (JobState::Succeeded, "succeeded"),
        (JobState::Failed, "failed"),
        (JobState::Cancelled, "cancelled"),
    ];
    match app.services.store.count_jobs().await {
        Ok(counts) => {
            for (state, name) in STATES {
                let of_state = counts.iter().filter(|(found, _)| *found == state);
                let jobs: u64 = of_state.map(|(_, jobs)| *jobs).sum();
                metrics::gauge!("kindred_jobs", "state" => name).set(jobs as f64);
            }
        }
        // The other figures are wanted most when the database is gone.
        Err(error) => tracing::warn!(%error, "jobs could not be counted for the metrics"),
    }
    let content_type = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (content_type, app.services.metrics.render()).into_response()
}
