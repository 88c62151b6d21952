//! Fronts: the policies a job found, as JSON or CSV.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::extract::Id;
use super::failures::DownloadFailures;
use super::negotiate::{self, choose};
use super::problem::Problem;
use super::query::{FromQuery, Parameters, Query};
use crate::anonymize::certificate::Certificate;
use crate::anonymize::report::{ClassesReport, Front, RecodingReport, Solution};
use crate::declaration::{DatasetDeclaration, Recoding, Role};
use crate::form::Form;
use crate::job::JobSpec;
use crate::store::StoredFront;

/// A front with where it belongs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FrontView {
    /// Job that found it.
    job_id: Uuid,
    /// Its dataset.
    dataset_id: Uuid,
    /// The policies and how they were found.
    #[serde(flatten)]
    front: Front,
}

/// Which form.
#[derive(Debug)]
pub(super) struct FormQuery {
    format: Option<String>,
}

impl FormQuery {
    /// The form named.
    pub(super) fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }
}

impl FromQuery for FormQuery {
    const NAMES: &'static [&'static str] = &["format"];

    fn take(parameters: &mut Parameters) -> Self {
        Self {
            format: parameters.text("format"),
        }
    }
}

/// Gives the front of a job that succeeded.
///
/// Solutions are sorted by the first objective, then the second, then the policy. The front of an infeasible demand is
/// empty. A job that is not finished, failed or was cancelled has none: `409 front_not_ready`. CSV has one line per
/// solution: `solution_id,recommended,level:<attribute>...,<objective>...,released_rows,suppressed_rows,classes,k`; of a
/// front of cuts `cut:<attribute>` in place of the level, with a JSON list of labels; of one of classes
/// `representation,truthful,information_loss:balanced,information_loss:ratio,certainty_penalty,homogeneity:<attribute>...`
/// in place of the levels.
#[utoipa::path(get, path = "/v1/jobs/{job_id}/front", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The job"),
        ("format" = Option<String>, Query, description = "`json` (default) or `csv`; wins over `Accept`")),
    responses((status = 200, description = "The front", content(
            (FrontView = "application/json"), (String = "text/csv"))), DownloadFailures))]
pub(super) async fn read_front(
    State(app): State<App>,
    Id(job_id): Id,
    Query(query): Query<FormQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = choose(&headers, query.format.as_deref(), &[Form::Json, Form::Csv])?;
    let stored = app.services.store.front(job_id).await?;
    let mut response = if form == Form::Csv {
        as_csv(&stored).map_err(Problem::internal)?.into_response()
    } else {
        axum::Json(FrontView {
            job_id: stored.job_id,
            dataset_id: stored.dataset_id,
            front: stored.front,
        })
        .into_response()
    };
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static(negotiate::content_type(form));
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    Ok(response)
}

/// Gives the certificate of an exact front.
///
/// It lists every policy that the search judged; all others follow as excluded. A front that is not certified has none:
/// `404`, and `search.uncertified` of the front says why.
#[utoipa::path(get, path = "/v1/jobs/{job_id}/certificate", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The job")),
    responses((status = 200, description = "The certificate", body = Certificate), DownloadFailures))]
pub(super) async fn read_certificate(
    State(app): State<App>,
    Id(job_id): Id,
) -> Result<axum::Json<Certificate>, Problem> {
    Ok(axum::Json(app.services.store.certificate(job_id).await?))
}

fn as_csv(stored: &StoredFront) -> Result<Vec<u8>, csv::Error> {
    let JobSpec::Search {
        declaration,
        demand,
        ..
    } = &stored.spec
    else {
        // An update of a series has no front.
        return Ok(Vec::new());
    };
    let quasi_identifiers: Vec<&str> = declaration
        .attributes
        .iter()
        .filter(|attribute| attribute.role == Role::QuasiIdentifying)
        .map(|attribute| attribute.name.as_str())
        .collect();
    let objectives: Vec<&str> = stored
        .front
        .objectives
        .iter()
        .map(|objective| objective.name.as_str())
        .collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut header = vec!["solution_id".to_owned(), "recommended".to_owned()];
    let what = match demand.recoding {
        Recoding::FullDomain => "level",
        Recoding::Subtree => "cut",
        Recoding::Local | Recoding::Microaggregation => "",
    };
    if demand.recoding.has_classes() {
        header.extend(CLASS_COLUMNS.map(str::to_owned));
        let names = sensitive_names(declaration);
        header.extend(names.map(|name| format!("homogeneity:{name}")));
    } else {
        let names = quasi_identifiers.iter();
        header.extend(names.map(|name| format!("{what}:{name}")));
    }
    header.extend(objectives.iter().map(|&name| name.to_owned()));
    let counts = ["released_rows", "suppressed_rows", "classes", "k"];
    header.extend(counts.map(str::to_owned));
    writer.write_record(header)?;
    for solution in &stored.front.solutions {
        writer.write_record(line(solution, declaration, &quasi_identifiers, &objectives))?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}

/// Columns of a line of classes, in place of those of a policy.
const CLASS_COLUMNS: [&str; 5] = [
    "representation",
    "truthful",
    "information_loss:balanced",
    "information_loss:ratio",
    "certainty_penalty",
];

fn sensitive_names(declaration: &DatasetDeclaration) -> impl Iterator<Item = &str> {
    let attributes = declaration.attributes.iter();
    attributes
        .filter(|attribute| attribute.role == Role::Sensitive)
        .map(|attribute| attribute.name.as_str())
}

/// The cells of [`CLASS_COLUMNS`] and the homogeneities.
fn class_cells(report: &ClassesReport, declaration: &DatasetDeclaration) -> Vec<String> {
    let number = |value: f64| serde_json::json!(value).to_string();
    let word = serde_json::json!(report.representation);
    let mut cells = vec![
        word.as_str().unwrap_or_default().to_owned(),
        report.truthful.to_string(),
        number(report.information_loss.balanced),
        number(report.information_loss.ratio),
        number(report.certainty_penalty),
    ];
    cells.extend(sensitive_names(declaration).map(|name| {
        let share = report.homogeneity.get(name);
        share.map_or_else(String::new, |&share| number(share))
    }));
    cells
}

fn line(
    solution: &Solution,
    declaration: &DatasetDeclaration,
    quasi_identifiers: &[&str],
    objectives: &[&str],
) -> Vec<String> {
    let mut line = vec![
        solution.solution_id.to_string(),
        solution.recommended.to_string(),
    ];
    let recoded = |&name: &&str| match &solution.recoding {
        RecodingReport::FullDomain { levels } => levels.get(name).map(ToString::to_string),
        RecodingReport::Subtree { cuts, .. } => cuts
            .get(name)
            .map(|labels| serde_json::json!(labels).to_string()),
        RecodingReport::Local(_) | RecodingReport::Microaggregation(_) => None,
    };
    match solution.recoding.classes() {
        Some(report) => line.extend(class_cells(report, declaration)),
        None => line.extend(
            quasi_identifiers
                .iter()
                .map(|name| recoded(name).unwrap_or_default()),
        ),
    }
    // As in JSON, so that both forms show the same digits.
    line.extend(objectives.iter().map(|&name| {
        let value = solution.objectives.get(name);
        value.map_or_else(String::new, |&value| serde_json::json!(value).to_string())
    }));
    let counts = [
        solution.released_rows,
        solution.suppressed_rows,
        solution.classes,
        solution.privacy.k,
    ];
    line.extend(counts.map(|count| count.to_string()));
    line
}
