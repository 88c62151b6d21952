//! Jobs: submit, list, look at (waiting or not), cancel.

use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::compare::{Kind, NewJobBody, kind_of, prepare_comparison};
use super::extract::{Id, Posted};
use super::failures::{ReadFailures, WriteFailures};
use super::once::{Answered, answer};
use super::problem::Problem;
use super::query::{FromQuery, Nothing, Parameters, Query};
use super::submission::{faults_of_shape, prepare};
use crate::anonymize::report::Reason;
use crate::declaration::{CompareDemand, Demand};
use crate::fault::{Fault, FaultCode};
use crate::ingest::Warning;
use crate::job::{Answer, Job, JobFailure, JobOutcome, JobProgress, JobState, PageRequest};

/// A job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct JobView {
    /// Its id.
    job_id: Uuid,
    /// Dataset it works on.
    dataset_id: Uuid,
    /// What it does: `search`, `compare`, `series_update` or `utility`.
    kind: String,
    /// Where it stands.
    state: JobState,
    /// What it found; null until it succeeded.
    outcome: Option<JobOutcome>,
    /// Why nothing was found.
    reason: Option<Reason>,
    /// How far it is.
    progress: JobProgress,
    /// Attempts begun.
    attempt: u32,
    /// When submitted.
    created_at: DateTime<Utc>,
    /// When last claimed.
    started_at: Option<DateTime<Utc>>,
    /// When it ended.
    finished_at: Option<DateTime<Utc>>,
    /// What the caller should know.
    warnings: Vec<Warning>,
    /// Why it failed.
    failure: Option<JobFailure>,
    /// The release it made, where one was asked for.
    release_id: Option<Uuid>,
    /// The series that it updates.
    series_id: Option<Uuid>,
    /// Where to go on.
    links: JobLinks,
}

/// Where to go on from a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct JobLinks {
    /// Its front; only a search has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    front: Option<String>,
    /// The series that it updates.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<String>,
    /// Its report of utility.
    #[serde(skip_serializing_if = "Option::is_none")]
    utility: Option<String>,
    /// Its report of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<String>,
    /// Its changes as server-sent events.
    events: String,
    /// Its release, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
}

impl JobView {
    pub(super) fn of(job: &Job) -> Self {
        let path = path_of(job.job_id);
        let release = job.release_id.map(|id| format!("/v1/releases/{id}"));
        Self {
            job_id: job.job_id,
            dataset_id: job.dataset_id,
            kind: job.kind.clone(),
            state: job.state,
            outcome: job.outcome,
            reason: job.reason.clone(),
            progress: job.progress.clone(),
            attempt: job.attempt,
            created_at: job.created_at,
            started_at: job.started_at,
            finished_at: job.finished_at,
            warnings: job.warnings.clone(),
            failure: job.failure.clone(),
            release_id: job.release_id,
            series_id: job.series_id,
            links: JobLinks {
                front: (job.kind == "search").then(|| format!("{path}/front")),
                utility: (job.kind == "utility").then(|| format!("{path}/utility")),
                comparison: (job.kind == "compare").then(|| format!("{path}/comparison")),
                series: job.series_id.map(|id| format!("/v1/series/{id}")),
                events: format!("{path}/events"),
                release,
            },
        }
    }
}

fn path_of(job_id: Uuid) -> String {
    format!("/v1/jobs/{job_id}")
}

/// What a submission answers.
pub(super) fn submitted(job: &Job) -> Answer {
    let location = Some(path_of(job.job_id));
    answer(StatusCode::ACCEPTED, location, &JobView::of(job))
}

/// A page of jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobList {
    /// The jobs.
    items: Vec<JobView>,
    /// `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// Which jobs.
#[derive(Debug)]
pub(super) struct JobsQuery {
    state: Option<JobState>,
    dataset_id: Option<Uuid>,
    page: PageRequest,
}

impl FromQuery for JobsQuery {
    const NAMES: &'static [&'static str] = &["state", "dataset_id", "limit", "cursor"];

    fn take(parameters: &mut Parameters) -> Self {
        let state = parameters.text("state").and_then(|state| {
            let known = serde_json::from_value(Value::String(state)).ok();
            if known.is_none() {
                let detail =
                    "`state` must be `queued`, `running`, `succeeded`, `failed` or `cancelled`";
                parameters.refuse("state", FaultCode::UnknownValue, detail);
            }
            known
        });
        Self {
            state,
            dataset_id: parameters.id("dataset_id"),
            page: parameters.page(),
        }
    }
}

/// How long to wait.
#[derive(Debug)]
pub(super) struct WaitQuery {
    seconds: u64,
}

impl FromQuery for WaitQuery {
    const NAMES: &'static [&'static str] = &["wait"];

    fn take(parameters: &mut Parameters) -> Self {
        let seconds = parameters.number("wait", 0, u64::from(u32::MAX));
        Self {
            seconds: seconds.unwrap_or(0),
        }
    }
}

/// Splits `dataset_id` from the demands.
///
/// # Errors
/// All faults of the body that can be told without the dataset.
fn dataset_of(body: Value) -> Result<(Uuid, Map<String, Value>), Problem> {
    let Value::Object(mut fields) = body else {
        let fault = Fault::at("", FaultCode::WrongType, "the body must be an object");
        return Err(Problem::fault(fault));
    };
    let (code, detail) = match fields.shift_remove("dataset_id") {
        Some(Value::String(text)) => match Uuid::try_parse(&text) {
            Ok(dataset_id) => return Ok((dataset_id, fields)),
            Err(_) => (FaultCode::WrongType, "`dataset_id` must be a UUID"),
        },
        Some(_) => (FaultCode::WrongType, "`dataset_id` must be a UUID"),
        None => (FaultCode::MissingField, "`dataset_id` is missing"),
    };
    let mut faults = vec![Fault::at("/dataset_id", code, detail)];
    match kind_of(&mut fields) {
        Ok(kind) => faults.extend(faults_of_shape(&fields, kind)),
        Err(fault) => faults.push(*fault),
    }
    Err(Problem::faults(faults))
}

/// Submits a job.
///
/// Returns at once; the job runs in the background and works on the rows and hierarchies that the dataset has now.
/// `kind` is `search` unless it is said to be `compare`. A demand that cannot be met is no error: the job ends with
/// outcome `infeasible` and a reason. Repeating the same `Idempotency-Key` returns the first job.
#[utoipa::path(post, path = "/v1/jobs", tag = "jobs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewJobBody, description = "Dataset and demands"),
    responses((status = 202, body = JobView, description = "Queued, or ended at once where the demand is impossible",
        headers(("Location" = String, description = "Where the job is"))), WriteFailures))]
pub(super) async fn submit_job(
    State(app): State<App>,
    posted: Posted,
) -> Result<Answered, Problem> {
    let (dataset_id, mut fields) = dataset_of(posted.body)?;
    let kind = kind_of(&mut fields).map_err(|fault| Problem::fault(*fault))?;
    let fields = Value::Object(fields);
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    let job = match kind {
        Kind::Search => {
            let demand = Demand::parse(&fields, &dataset.declaration).map_err(Problem::faults)?;
            prepare(&app, &dataset, demand).await?
        }
        Kind::Compare => {
            let demand = CompareDemand::parse(&fields, &dataset.declaration);
            prepare_comparison(&app, &dataset, demand.map_err(Problem::faults)?).await?
        }
    };
    let answer = store
        .submit_job(&job, posted.once.as_ref(), submitted)
        .await?;
    Ok(Answered(answer))
}

/// Lists jobs, newest first.
///
/// Filters by state and dataset.
#[utoipa::path(get, path = "/v1/jobs", tag = "jobs",
    params(("state" = Option<JobState>, Query, description = "Only jobs in this state"),
        ("dataset_id" = Option<Uuid>, Query, description = "Only jobs of this dataset"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Items of the page; default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, body = JobList, description = "A page"), ReadFailures))]
pub(super) async fn list_jobs(
    State(app): State<App>,
    Query(query): Query<JobsQuery>,
) -> Result<axum::Json<JobList>, Problem> {
    let store = &app.services.store;
    let jobs = store.list_jobs(query.state, query.dataset_id, &query.page);
    let page = jobs.await?;
    Ok(axum::Json(JobList {
        items: page.items.iter().map(JobView::of).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Shows a job, at once or when its state changes.
///
/// `wait` waits until the state changes or the seconds pass (at most the configured longest wait), then answers
/// either way. `If-None-Match` with the `ETag` of an earlier answer gives `304` where nothing changed.
#[utoipa::path(get, path = "/v1/jobs/{job_id}", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The job"),
        ("wait" = Option<u64>, Query, description = "Seconds to wait for a change of state"),
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of an earlier answer")),
    responses((status = 200, body = JobView, description = "The job",
            headers(("ETag" = String, description = "Version of the job"))),
        (status = 304, description = "Nothing changed"), ReadFailures))]
pub(super) async fn read_job(
    State(app): State<App>,
    Id(job_id): Id,
    Query(query): Query<WaitQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let most = app.services.config.server.max_wait_seconds;
    let wait = Duration::from_secs(query.seconds.min(most));
    let job = settled(&app, job_id, wait, known).await?;
    let tag = entity_tag(&job);
    let mut response = if matches(known, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        axum::Json(JobView::of(&job)).into_response()
    };
    if let Ok(value) = HeaderValue::try_from(tag) {
        response.headers_mut().insert(header::ETAG, value);
    }
    let revalidate = HeaderValue::from_static("private, no-cache");
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, revalidate);
    Ok(response)
}

/// The job after its state changed, the wait passed or the process began to stop.
async fn settled(app: &App, job_id: Uuid, wait: Duration, known: &str) -> Result<Job, Problem> {
    let store = &app.services.store;
    if wait.is_zero() {
        return Ok(store.job(job_id).await?);
    }
    let mut watch = app.changes.watch(job_id);
    let mut job = store.job(job_id).await?;
    let asked_in = job.state;
    // A caller that knows an older version has its change already.
    let is_news = !known.is_empty() && !matches(known, &entity_tag(&job));
    let deadline = tokio::time::Instant::now() + wait;
    while !is_news && job.state == asked_in && !job.state.is_final() {
        match tokio::time::timeout_at(deadline, watch.changed()).await {
            Ok(true) => job = store.job(job_id).await?,
            Ok(false) => break,
            Err(_) => return Ok(store.job(job_id).await?),
        }
    }
    Ok(job)
}

fn entity_tag(job: &Job) -> String {
    format!("\"{}\"", job.version)
}

/// Whether an `If-None-Match` names a tag (weakly: a proxy may have weakened it).
pub(super) fn matches(if_none_match: &str, tag: &str) -> bool {
    if_none_match
        .split(',')
        .map(|named| named.trim().trim_start_matches("W/"))
        .any(|named| named == "*" || named == tag)
}

/// Cancels a job.
///
/// At once when queued, within a second when running. A job that has ended is `409 job_finished`.
#[utoipa::path(delete, path = "/v1/jobs/{job_id}", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The job")),
    responses((status = 200, body = JobView, description = "Cancelled"),
        (status = 202, body = JobView, description = "Told to stop"), WriteFailures))]
pub(super) async fn cancel_job(
    State(app): State<App>,
    Id(job_id): Id,
    _: Query<Nothing>,
) -> Result<Response, Problem> {
    let job = app.services.store.cancel_job(job_id).await?;
    let status = if job.state.is_final() {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok((status, axum::Json(JobView::of(&job))).into_response())
}
