//! Downstream utility of a solution: submit the job, read its report.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::extract::{Id, Posted};
use super::failures::{DownloadFailures, WriteFailures};
use super::fronts::FormQuery;
use super::jobs::{JobView, submitted};
use super::negotiate::{self, choose};
use super::once::Answered;
use super::problem::Problem;
use super::query::Query;
use crate::anonymize::downstream::evaluate::Spread;
use crate::anonymize::downstream::report::{UtilityReport, UtilityResult};
use crate::declaration::{FeatureSet, ModelKind, Perturbation, UtilityDemand};
use crate::fault::{Fault, FaultCode};
use crate::form::Form;
use crate::job::JobSpec;
use crate::store::{self, NewJob};

/// Body of `POST /v1/jobs/{job_id}/utility`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"solution_id": 0, "target": "diagnosis", "splits": 10, "seed": 7}))]
pub(super) struct NewUtilityJob {
    /// Which solution of the front; default 0.
    solution_id: Option<u32>,
    /// The attribute to predict, sensitive or insensitive.
    target: String,
    /// Its positive value; default the rarer one of two.
    positive: Option<String>,
    /// Default: both.
    models: Option<Vec<ModelKind>>,
    /// Splits into training and test people; default 10.
    #[schema(minimum = 1, maximum = 50)]
    splits: Option<u32>,
    /// Share of people held out; default 0.3.
    #[schema(minimum = 0.05, maximum = 0.95)]
    test_share: Option<f64>,
    /// Seed of splits and models; default 0.
    seed: Option<u64>,
    /// What models may use; default `all`.
    features: Option<FeatureSet>,
}

/// A report of utility with where it belongs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UtilityView {
    /// Job that made it.
    job_id: Uuid,
    /// Its dataset.
    dataset_id: Uuid,
    /// The figures.
    #[serde(flatten)]
    report: UtilityReport,
}

/// Trains models on the rows of a solution.
///
/// The models are trained on the rows as the solution releases them and tested on raw held-out rows, mapped through the
/// same policy, over seeded splits; beside them models trained on raw rows, on raw rows without the quasi-identifiers, and
/// the target's shares. The job ends with outcome `measured`, or `infeasible` with a reason where there is nothing to
/// train. Repeating the same `Idempotency-Key` returns the first job.
#[utoipa::path(post, path = "/v1/jobs/{job_id}/utility", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The search that found the solution"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewUtilityJob, description = "What to predict, and how"),
    responses((status = 202, body = JobView, description = "Queued",
        headers(("Location" = String, description = "Where the job is"))), WriteFailures))]
pub(super) async fn submit_utility(
    State(app): State<App>,
    Id(job_id): Id,
    posted: Posted,
) -> Result<Answered, Problem> {
    let store = &app.services.store;
    let front = store.front(job_id).await?;
    let JobSpec::Search {
        declaration,
        demand: searched,
        ..
    } = &front.spec
    else {
        return Err(store::Error::FrontNotReady.into());
    };
    let perturbation = searched.perturbation.as_ref();
    if !perturbation.is_none_or(Perturbation::is_truthful) {
        let detail =
            "models are tested on true rows, and cells of this search were answered at random";
        let fault = Fault::at("", FaultCode::NotSupported, detail);
        return Err(Problem::fault(fault));
    }
    let demand = UtilityDemand::parse(&posted.body, declaration).map_err(Problem::faults)?;
    let mut solutions = front.front.solutions.iter();
    if !solutions.any(|solution| solution.solution_id == demand.solution_id) {
        return Err(store::Error::NotFound("solution").into());
    }
    let config = &app.services.config;
    let job = NewJob {
        dataset_id: front.dataset_id,
        spec: JobSpec::Utility { job_id, demand },
        search_space: String::new(),
        warnings: Vec::new(),
        infeasible: None,
        max_attempts: config.worker.max_attempts,
        max_queued: config.worker.max_queued,
    };
    let answer = store.submit_job(&job, posted.once.as_ref(), submitted);
    Ok(Answered(answer.await?))
}

/// Gives the report of a utility job that succeeded.
///
/// A job that is not finished, is of another kind, failed, was cancelled, or ended with a reason has none:
/// `409 report_not_ready`. CSV has one line per form of the training rows and model, and per figure its mean and standard
/// deviation over splits.
#[utoipa::path(get, path = "/v1/jobs/{job_id}/utility", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The utility job"),
        ("format" = Option<String>, Query, description = "`json` (default) or `csv`; wins over `Accept`")),
    responses((status = 200, description = "The report", content(
            (UtilityView = "application/json"), (String = "text/csv"))), DownloadFailures))]
pub(super) async fn read_utility(
    State(app): State<App>,
    Id(job_id): Id,
    Query(query): Query<FormQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = choose(&headers, query.format(), &[Form::Json, Form::Csv])?;
    let (dataset_id, report) = app.services.store.report(job_id, "utility").await?;
    let report: UtilityReport = serde_json::from_value(report).map_err(Problem::internal)?;
    let response = if form == Form::Csv {
        as_csv(&report).map_err(Problem::internal)?.into_response()
    } else {
        let view = UtilityView {
            job_id,
            dataset_id,
            report,
        };
        axum::Json(view).into_response()
    };
    Ok(in_form(response, form))
}

/// With the headers of a form.
pub(super) fn in_form(mut response: Response, form: Form) -> Response {
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(negotiate::content_type(form));
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

fn as_csv(report: &UtilityReport) -> Result<Vec<u8>, csv::Error> {
    const FIGURES: [&str; 6] = [
        "f1_positive",
        "f1_macro",
        "f1_weighted",
        "auc",
        "log_loss",
        "accuracy",
    ];
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["data".to_owned(), "model".to_owned()];
    header.extend(
        FIGURES
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("{name}_sd")]),
    );
    writer.write_record(header)?;
    for result in &report.results {
        writer.write_record(line(result))?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

fn line(result: &UtilityResult) -> Vec<String> {
    let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
    let figures = &result.figures;
    let all = [
        figures.f1_positive,
        Some(figures.f1_macro),
        Some(figures.f1_weighted),
        figures.auc,
        Some(figures.log_loss),
        Some(figures.accuracy),
    ];
    // As in JSON, so that both forms show the same digits.
    let text = |value: f64| serde_json::json!(value).to_string();
    let pair = |spread: Option<Spread>| match spread {
        Some(spread) => [text(spread.mean), text(spread.sd)],
        None => [String::new(), String::new()],
    };
    let mut line = vec![
        word(serde_json::json!(result.data)),
        word(serde_json::json!(result.model)),
    ];
    line.extend(all.into_iter().flat_map(pair));
    line
}
