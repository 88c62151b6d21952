//! A job's changes as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::Stream;

use super::App;
use super::extract::Id;
use super::failures::ReadFailures;
use super::jobs::JobView;
use super::problem::Problem;
use super::query::{Nothing, Query};
use crate::job::Job;

/// When a client that lost its connection asks again.
const RETRY: Duration = Duration::from_secs(2);
/// A comment line this often keeps proxies from closing a quiet stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Streams a job's changes as server-sent events.
///
/// The first event is `state` with the job as it is; then `progress` or `state`, each with the whole job as data and its
/// version as id. The stream ends after a final state. A client that reconnects gets the current state first.
#[utoipa::path(get, path = "/v1/jobs/{job_id}/events", tag = "jobs",
    params(("job_id" = uuid::Uuid, Path, description = "The job")),
    responses((status = 200, content_type = "text/event-stream", body = String, description = "Events",
        example = "event: state\nid: 3\ndata: {\"state\": \"running\"}\n"), ReadFailures))]
pub(super) async fn watch_job(
    State(app): State<App>,
    Id(job_id): Id,
    _: Query<Nothing>,
) -> Result<Response, Problem> {
    let watch = app.changes.watch(job_id);
    let job = app.services.store.job(job_id).await?;
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(events(app, job, watch))
        .keep_alive(keep_alive)
        .into_response())
}

fn events(
    app: App,
    first: Job,
    mut watch: super::changes::Watch,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + 'static {
    async_stream::stream! {
        let mut job = first;
        yield Ok(event("state", &job));
        while !job.state.is_final() && watch.changed().await {
            // A deleted job ends the stream; so does a database that is gone: the client comes back.
            let Ok(now) = app.services.store.job(job.job_id).await else { return };
            if now.version == job.version {
                continue;
            }
            let name = if now.state == job.state { "progress" } else { "state" };
            job = now;
            yield Ok(event(name, &job));
        }
    }
}

fn event(name: &str, job: &Job) -> Event {
    let event = Event::default()
        .event(name)
        .id(job.version.to_string())
        .retry(RETRY);
    // A view always serializes; without data the client still sees that something changed.
    event.clone().json_data(JobView::of(job)).unwrap_or(event)
}
