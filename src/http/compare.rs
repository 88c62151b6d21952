//! Comparisons of methods: what a body asks for, and the report.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::datasets::compiled;
use super::documents::{NewSearchJob, SearchSettings};
use super::extract::Id;
use super::failures::DownloadFailures;
use super::fronts::FormQuery;
use super::negotiate::choose;
use super::populations::{Named, pinned};
use super::problem::Problem;
use super::query::Query;
use super::submission::{too_large_for, warnings};
use super::utility::in_form;
use crate::anonymize::compare::report::{ComparisonReport, MedianRange, MethodReport};
use crate::anonymize::search_space;
use crate::declaration::{CompareDemand, LossDemand, Objective, PrivacyModel, SearchMethod};
use crate::fault::{Fault, FaultCode};
use crate::form::Form;
use crate::job::{Dataset, JobSpec};
use crate::store::NewJob;

/// What a job that is submitted with a dataset is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Search,
    Compare,
}

/// Takes `kind` out of the fields of a job; a search where there is none.
pub(super) fn kind_of(fields: &mut Map<String, Value>) -> Result<Kind, Box<Fault>> {
    let (code, detail) = match fields.shift_remove("kind") {
        None | Some(Value::Null) => return Ok(Kind::Search),
        Some(Value::String(kind)) => match &*kind {
            "search" => return Ok(Kind::Search),
            "compare" => return Ok(Kind::Compare),
            _ => (
                FaultCode::UnknownValue,
                "unknown kind of job; there is `search`, `compare`",
            ),
        },
        Some(_) => (
            FaultCode::WrongType,
            "one of `search`, `compare` is wanted here",
        ),
    };
    Err(Box::new(Fault::at("/kind", code, detail)))
}

/// Body of `POST /v1/jobs`: a search, or a comparison.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[serde(untagged)]
pub(super) enum NewJobBody {
    /// Searches policies.
    Search(Box<NewSearchJob>),
    /// Compares methods.
    Compare(Box<NewComparison>),
}

/// Body of `POST /v1/jobs` with `kind`: `compare`: methods side by side on the same demands and budget.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"kind": "compare", "dataset_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.05,
    "methods": ["exact", {"method": "nsga2", "population": 40, "generations": 25},
        {"method": "random", "evaluations_of": 1}, "tds"], "seeds": 30}))]
pub(super) struct NewComparison {
    /// `compare`.
    kind: String,
    /// Dataset to work on.
    dataset_id: Uuid,
    /// At least one model; every one must hold in every released class, whatever the method.
    privacy: Vec<PrivacyModel>,
    /// Largest share of all input rows that may be suppressed, inclusive: a fraction, no percentage.
    #[schema(minimum = 0, maximum = 1)]
    suppression_limit: Option<f64>,
    /// The two that are compared; default `loss` and `suppression`, which all methods have.
    #[schema(min_items = 2, max_items = 2)]
    objectives: Option<Vec<Objective>>,
    /// How `loss` is computed.
    loss: Option<LossDemand>,
    /// Weight per quasi-identifier, positive.
    weights: Option<std::collections::BTreeMap<String, f64>>,
    /// 1 to 16 of them, each a name or an object.
    #[schema(min_items = 1, max_items = 16)]
    methods: Vec<MethodBody>,
    /// Seeds of methods that draw at random; default 30.
    #[schema(minimum = 1, maximum = 100)]
    seeds: Option<u32>,
    /// The first seed, the others follow by one; default 0.
    seed: Option<u64>,
    /// Most distinct policies that one run evaluates.
    max_evaluations: Option<u64>,
    /// Most seconds of one run.
    max_seconds: Option<f64>,
}

/// A method: its name, or its settings.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "read by the document's derive only"
)]
#[serde(untagged)]
pub(super) enum MethodBody {
    /// With the defaults of a search.
    Name(SearchMethod),
    /// With settings.
    Settings(MethodSettings),
}

/// A method with settings: those of a search, but for `seed`, `max_evaluations` and `max_seconds`, which are the same for all.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct MethodSettings {
    /// What it is called in the report, 1 to 40 characters; default its name.
    label: Option<String>,
    /// Position of an earlier method: each run evaluates as many policies at most as that method did with the same seed.
    evaluations_of: Option<u64>,
    #[serde(flatten)]
    search: SearchSettings,
}

/// A comparison on a dataset as it is now.
pub(super) async fn prepare_comparison(
    app: &App,
    dataset: &Dataset,
    demand: CompareDemand,
) -> Result<NewJob, Problem> {
    let config = &app.services.config;
    let schema = compiled(&dataset.declaration)?;
    if dataset.rows == 0 {
        let detail = "the dataset has no rows; append a batch first";
        let fault = Fault::at("/dataset_id", FaultCode::DatasetEmpty, detail);
        return Err(Problem::fault(fault));
    }
    let populations = pinned(app, dataset, &demand.privacy, None).await?;
    let search_space = search_space(&schema.level_counts());
    let limit = config.search.exact_search_space;
    let methods = demand.methods.iter().enumerate();
    let too_large = methods.filter_map(|(position, method)| {
        let detail = too_large_for(method.demand.search.method, &search_space, limit)?;
        let place = format!("/methods/{position}");
        Some(Fault::at(place, FaultCode::SearchSpaceTooLarge, detail))
    });
    let too_large: Vec<Fault> = too_large.collect();
    if !too_large.is_empty() {
        return Err(Problem::faults(too_large));
    }
    Ok(NewJob {
        dataset_id: dataset.dataset_id,
        warnings: warnings(dataset, &demand.privacy, &populations, None),
        // Only of levels; the rows tell how many cuts there are, and classes are not counted.
        search_space: if demand.is_of_levels() {
            search_space
        } else {
            String::new()
        },
        spec: JobSpec::Compare {
            demand,
            through_batch: dataset.batches,
            declaration: dataset.declaration.clone(),
            populations: populations.into_iter().map(Named::pin).collect(),
        },
        infeasible: None,
        max_attempts: config.worker.max_attempts,
        max_queued: config.worker.max_queued,
    })
}

/// A report of a comparison with where it belongs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ComparisonView {
    /// Job that made it.
    job_id: Uuid,
    /// Its dataset.
    dataset_id: Uuid,
    /// The figures.
    #[serde(flatten)]
    report: ComparisonReport,
}

/// Gives the report of a comparison that succeeded.
///
/// A job that is not finished, is of another kind, failed, was cancelled, or ended with a reason has none:
/// `409 report_not_ready`. CSV has one line per method: of every figure over its runs the median, `_least` and `_greatest`.
/// The runs one by one and the paired tests are in JSON only.
#[utoipa::path(get, path = "/v1/jobs/{job_id}/comparison", tag = "jobs",
    params(("job_id" = Uuid, Path, description = "The comparison"),
        ("format" = Option<String>, Query, description = "`json` (default) or `csv`; wins over `Accept`")),
    responses((status = 200, description = "The report", content(
            (ComparisonView = "application/json"), (String = "text/csv"))), DownloadFailures))]
pub(super) async fn read_comparison(
    State(app): State<App>,
    Id(job_id): Id,
    Query(query): Query<FormQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let form = choose(&headers, query.format(), &[Form::Json, Form::Csv])?;
    let (dataset_id, report) = app.services.store.report(job_id, "compare").await?;
    let report: ComparisonReport = serde_json::from_value(report).map_err(Problem::internal)?;
    let response = if form == Form::Csv {
        as_csv(&report).map_err(Problem::internal)?.into_response()
    } else {
        let view = ComparisonView {
            job_id,
            dataset_id,
            report,
        };
        axum::Json(view).into_response()
    };
    Ok(in_form(response, form))
}

/// Columns before the figures.
const COLUMNS: [&str; 9] = [
    "method",
    "recoding",
    "reference",
    "seeds",
    "runs",
    "ended",
    "stopped",
    "without_solution",
    "verified",
];

fn figures(method: &MethodReport) -> [(&'static str, MedianRange); 10] {
    [
        ("evaluations", method.evaluations),
        ("elapsed_ms", method.elapsed_ms),
        ("points", method.points),
        ("hits", method.hits),
        ("hit_rate", method.hit_rate),
        ("hypervolume_ratio", method.hypervolume_ratio),
        ("igd_plus", method.igd_plus),
        ("best_loss", method.best_loss),
        ("average_risk", method.average_risk),
        ("maximum_risk", method.maximum_risk),
    ]
}

fn as_csv(report: &ComparisonReport) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for (place, method) in report.methods.iter().enumerate() {
        let figures = figures(method);
        if place == 0 {
            let mut header: Vec<String> = COLUMNS.iter().map(ToString::to_string).collect();
            for (name, _) in &figures {
                header.extend([
                    name.to_string(),
                    format!("{name}_least"),
                    format!("{name}_greatest"),
                ]);
            }
            writer.write_record(header)?;
        }
        let word = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let mut line = vec![
            method.label.clone(),
            word(serde_json::json!(method.recoding)),
            word(serde_json::json!(report.reference)),
            report.seeds_run.to_string(),
            method.runs.to_string(),
            method.ended.to_string(),
            method.stopped.to_string(),
            method.without_solution.to_string(),
            method
                .verified
                .map_or_else(String::new, |is| is.to_string()),
        ];
        // As in JSON, so that both forms show the same digits.
        let text = |value: Option<f64>| {
            value.map_or_else(String::new, |value| serde_json::json!(value).to_string())
        };
        for (_, range) in figures {
            line.extend([range.median, range.least, range.greatest].map(text));
        }
        writer.write_record(line)?;
    }
    writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))
}
