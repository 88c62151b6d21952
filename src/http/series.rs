//! Series: begin one, list them, look at one and at its releases.

use std::collections::BTreeMap;

use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::documents::NewSeries;
use super::extract::{Id, Posted};
use super::failures::{ReadFailures, WriteFailures};
use super::jobs::{JobView, submitted};
use super::once::Answered;
use super::problem::Problem;
use super::query::{FromQuery, Nothing, Parameters, Query};
use crate::anonymize::series::unsuitable;
use crate::declaration::{
    DatasetDeclaration, PrivacyModel, SeriesDemand, SeriesMode, take_dataset_id,
};
use crate::fault::{Fault, FaultCode};
use crate::job::{Dataset, PageRequest, ReleaseRecord, Series, Stopped};
use crate::series::labels;

/// A series.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesView {
    /// Its id.
    series_id: Uuid,
    /// Dataset that it follows.
    dataset_id: Uuid,
    /// As named.
    name: String,
    /// As demanded.
    #[serde(flatten)]
    demand: SeriesDemand,
    /// Version of the last release; 0 before the first.
    version: u32,
    /// Rows by what became of them.
    rows: SeriesRows,
    /// Classes with released rows.
    classes: u64,
    /// Updates that brought rows since the oldest pending row came; null if none is pending.
    oldest_pending: Option<u32>,
    /// Sequence of the last batch applied.
    through_batch: u32,
    /// Of the suppressed rows, those that were released and are withheld for good, because part of their group was erased.
    withheld: u64,
    /// The batch that it cannot apply, with all later ones, because a value has no place in the hierarchies that it keeps;
    /// null if none. Erase the rows that hold the value, or begin another series.
    stopped: Option<Stopped>,
    /// When begun.
    created_at: DateTime<Utc>,
    /// When last updated.
    updated_at: DateTime<Utc>,
}

/// A series with its cuts and releases.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesDetailView {
    #[serde(flatten)]
    series: SeriesView,
    /// Labels of the cut's nodes that rows have reached, by quasi-identifier.
    cuts: BTreeMap<String, Vec<String>>,
    /// Its releases, newest first.
    releases: Vec<SeriesReleaseView>,
}

/// Rows of a series that are not erased: `received = released + pending + suppressed`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesRows {
    /// All of them.
    received: u64,
    /// In the last release.
    released: u64,
    /// Waiting until they can be released safely.
    pending: u64,
    /// Waiting for longer than `max_pending_releases`, or withheld for good.
    suppressed: u64,
}

/// A release of a series, in short.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesReleaseView {
    /// From 1.
    version: u32,
    /// The release.
    release_id: Uuid,
    /// The release before.
    parent_release_id: Option<Uuid>,
    /// When made.
    created_at: DateTime<Utc>,
    /// Rows by what had become of them.
    rows: SeriesRows,
    /// Rows that are new in it.
    added_rows: u64,
    /// Classes.
    classes: u64,
}

/// A page of series, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesList {
    /// The series.
    items: Vec<SeriesView>,
    /// `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// The releases of a series.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SeriesReleaseList {
    /// Newest first.
    items: Vec<SeriesReleaseView>,
    /// Always null: the list is whole.
    next_cursor: Option<String>,
}

impl SeriesView {
    fn of(series: &Series) -> Self {
        let counts = &series.counts;
        Self {
            series_id: series.series_id,
            dataset_id: series.dataset_id,
            name: series.name.clone(),
            demand: series.demand.clone(),
            version: series.version,
            rows: SeriesRows {
                received: counts.received,
                released: counts.released,
                pending: counts.pending,
                suppressed: counts.suppressed,
            },
            classes: counts.classes,
            oldest_pending: series.oldest_pending,
            through_batch: series.through_batch,
            withheld: series.withheld,
            stopped: series.stopped.clone(),
            created_at: series.created_at,
            updated_at: series.updated_at,
        }
    }
}

impl SeriesReleaseView {
    fn of(record: &ReleaseRecord) -> Option<Self> {
        let place = record.series.as_ref()?;
        Some(Self {
            version: place.version,
            release_id: record.release_id,
            parent_release_id: place.parent_release_id,
            created_at: record.created_at,
            rows: SeriesRows {
                received: record.rows_in,
                released: record.released_rows,
                pending: record.pending_rows,
                suppressed: record.suppressed_rows,
            },
            added_rows: place.added_rows,
            classes: record.classes,
        })
    }
}

/// Which series.
#[derive(Debug)]
pub(super) struct SeriesQuery {
    dataset_id: Option<Uuid>,
    page: PageRequest,
}

impl FromQuery for SeriesQuery {
    const NAMES: &'static [&'static str] = &["dataset_id", "limit", "cursor"];

    fn take(parameters: &mut Parameters) -> Self {
        Self {
            dataset_id: parameters.id("dataset_id"),
            page: parameters.page(),
        }
    }
}

/// Begins a series.
///
/// One policy is kept up to date over the growing dataset. The answer is the job of the first release, made of all
/// batches so far; every later batch and every deletion queues an update, which yields the next release or none. Each
/// release, and whatever releases are combined, satisfies the models: rows of one history are published together, and
/// every such group satisfies the models by itself. Where the dataset declares a subject, the history is that of the
/// subject with all its rows, unless `guard` is `rows`: further rows of persons who are in a release already are
/// released together with those of others who were in the same groups, so they wait more often, and nothing more is
/// released of a person of whom a released row was erased. Not covered: knowledge of other persons' sensitive values,
/// changed sensitive values of a person, how many rows a person has in one class, what the choice of the policy itself
/// tells, and other series or releases over the same rows (the job then bears the warning `releases_overlap`).
/// Rows that cannot be released safely yet are pending. `mode: m_invariance` is another promise: every class has `m` rows with
/// different values of one sensitive attribute, and a person's class has the same values in every release; counterfeit rows
/// stand for values that have no bearer left, so the releases are not truthful row by row. The series keeps the hierarchies that are in force when it begins.
#[utoipa::path(post, path = "/v1/series", tag = "series",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewSeries, description = "Dataset and demands"),
    responses((status = 202, body = JobView, description = "Queued",
        headers(("Location" = String, description = "Where the job is"))), WriteFailures))]
pub(super) async fn create_series(
    State(app): State<App>,
    posted: Posted,
) -> Result<Answered, Problem> {
    let mut body = posted.body;
    let dataset_id = take_dataset_id(&mut body).map_err(|fault| faults_of_shape(&body, fault))?;
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    let (name, demand) = parse(&body, &dataset)?;
    if dataset.batches == 0 {
        let detail = "the dataset has no rows; append a batch first";
        let fault = Fault::at("/dataset_id", FaultCode::DatasetEmpty, detail);
        return Err(Problem::fault(fault));
    }
    let worker = &app.services.config.worker;
    let limits = (worker.max_attempts, worker.max_queued);
    let once = posted.once.as_ref();
    let answer = store.create_series(dataset_id, (&name, &demand), limits, once, submitted);
    Ok(Answered(answer.await?))
}

/// All faults that can be told without the dataset.
fn faults_of_shape(body: &Value, first: Fault) -> Problem {
    let nameless = DatasetDeclaration {
        name: String::new(),
        attributes: Vec::new(),
        default_role: None,
        privacy_budget: None,
    };
    let mut faults = vec![first];
    if body.is_object() {
        let found = SeriesDemand::parse(body, &nameless).err();
        let found = found.unwrap_or_default().into_iter();
        faults.extend(found.filter(|fault| {
            matches!(
                fault.code,
                FaultCode::UnknownField
                    | FaultCode::MissingField
                    | FaultCode::WrongType
                    | FaultCode::OutOfRange
                    | FaultCode::UnknownValue
                    | FaultCode::NotSupported
            )
        }));
    }
    Problem::faults(faults)
}

fn parse(body: &Value, dataset: &Dataset) -> Result<(String, SeriesDemand), Problem> {
    let declaration = &dataset.declaration;
    let parsed = SeriesDemand::parse(body, declaration);
    let has_subject = declaration.attributes.iter().any(|found| found.subject);
    // What is wrong elsewhere does not keep the models from being read.
    let models = match &parsed {
        Ok((_, demand)) => demand.privacy.clone(),
        Err(_) => models_alone(body, declaration),
    };
    let unsuitable = unsuitable(&models, has_subject).into_iter();
    let unsuitable = unsuitable.map(|(position, why)| {
        let pointer = format!("/privacy/{position}/model");
        Fault::at(pointer, FaultCode::NotSupported, why)
    });
    let mut faults: Vec<Fault> = unsuitable.collect();
    let mode = parsed.as_ref().map(|(_, demand)| demand.mode);
    if mode == Ok(SeriesMode::MInvariance) && has_subject && dataset.subjects < dataset.rows {
        let detail = "persons of the dataset have several rows, and an m-invariant series takes one row per person";
        faults.push(Fault::at("/mode", FaultCode::SubjectConflict, detail));
    }
    match parsed {
        Ok(demand) if faults.is_empty() => Ok(demand),
        Ok(_) => Err(Problem::faults(faults)),
        Err(mut found) => {
            found.append(&mut faults);
            Err(Problem::faults(found))
        }
    }
}

/// The models of a demand in which something else is wrong; none if they are wrong themselves.
fn models_alone(body: &Value, declaration: &DatasetDeclaration) -> Vec<PrivacyModel> {
    let privacy = body.get("privacy").cloned().unwrap_or_default();
    let alone = json!({ "name": "models", "privacy": privacy });
    SeriesDemand::parse(&alone, declaration)
        .map_or_else(|_| Vec::new(), |(_, demand)| demand.privacy)
}

/// Lists series, newest first.
///
/// Filters by dataset.
#[utoipa::path(get, path = "/v1/series", tag = "series",
    params(("dataset_id" = Option<Uuid>, Query, description = "Only series of this dataset"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Items of the page; default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, body = SeriesList, description = "A page"), ReadFailures))]
pub(super) async fn list_series(
    State(app): State<App>,
    Query(query): Query<SeriesQuery>,
) -> Result<axum::Json<SeriesList>, Problem> {
    let store = &app.services.store;
    let page = store.list_series(query.dataset_id, &query.page).await?;
    Ok(axum::Json(SeriesList {
        items: page.items.iter().map(SeriesView::of).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Shows a series.
///
/// Its version, cuts, what became of its rows, and its releases. It tells how many rows are pending and for how long,
/// never what is in them.
#[utoipa::path(get, path = "/v1/series/{series_id}", tag = "series",
    params(("series_id" = Uuid, Path, description = "The series")),
    responses((status = 200, body = SeriesDetailView, description = "The series"), ReadFailures))]
pub(super) async fn read_series(
    State(app): State<App>,
    Id(series_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<SeriesDetailView>, Problem> {
    let store = &app.services.store;
    let (series, cuts) = store.series(series_id).await?;
    let releases = store.series_releases(series_id).await?;
    Ok(axum::Json(SeriesDetailView {
        cuts: labels(&series.declaration, &cuts),
        releases: releases.iter().filter_map(SeriesReleaseView::of).collect(),
        series: SeriesView::of(&series),
    }))
}

/// Lists the releases of a series, newest first.
///
/// The list is whole; `next_cursor` is always null.
#[utoipa::path(get, path = "/v1/series/{series_id}/releases", tag = "series",
    params(("series_id" = Uuid, Path, description = "The series")),
    responses((status = 200, body = SeriesReleaseList, description = "The releases"), ReadFailures))]
pub(super) async fn list_series_releases(
    State(app): State<App>,
    Id(series_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<SeriesReleaseList>, Problem> {
    let store = &app.services.store;
    store.series(series_id).await?;
    let releases = store.series_releases(series_id).await?;
    Ok(axum::Json(SeriesReleaseList {
        items: releases.iter().filter_map(SeriesReleaseView::of).collect(),
        next_cursor: None,
    }))
}
