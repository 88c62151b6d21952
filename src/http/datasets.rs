//! Datasets: declare, list, look at, delete.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::budget::BudgetView;
use super::extract::{Id, Posted};
use super::failures::{ReadFailures, WriteFailures};
use super::once::{Answered, answer};
use super::problem::Problem;
use super::query::{Nothing, PageQuery, Query};
use super::submission::implicit_hierarchies;
use crate::anonymize::search_space;
use crate::anonymize::table::Schema;
use crate::declaration::{
    AttributeDeclaration, DatasetDeclaration, HierarchyDeclaration, Role, ValueType,
};
use crate::ingest::Warning;
use crate::job::Dataset;

/// A dataset: its schema and what it holds.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DatasetView {
    /// Its id.
    dataset_id: Uuid,
    /// Its name.
    name: String,
    /// Its columns, in declared order.
    attributes: Vec<AttributeView>,
    /// Role of columns that name none.
    default_role: Option<Role>,
    /// Rows over all batches.
    rows: u64,
    /// Distinct subjects; the rows where no subject column is declared.
    subjects: u64,
    /// Batches; also the sequence of the last one.
    batches: u32,
    /// What perturbed jobs may spend of privacy, have spent and still can.
    privacy_budget: BudgetView,
    /// Number of full-domain policies, in decimal.
    #[schema(example = "32")]
    search_space: String,
    /// What the caller should know.
    warnings: Vec<Warning>,
    /// When declared.
    created_at: DateTime<Utc>,
    /// When a batch or a hierarchy last changed it.
    updated_at: DateTime<Utc>,
}

/// A column of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AttributeView {
    /// Its name.
    name: String,
    /// What it is to an attacker.
    role: Role,
    /// Whether it names the person.
    subject: bool,
    /// How cells are read.
    #[serde(rename = "type")]
    value_type: ValueType,
    /// Date format, where declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    /// Cell texts that mean missing.
    missing: Vec<String>,
    /// Whether outer white space is stripped.
    trim: bool,
    /// The declared order.
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Vec<String>>,
    /// Levels of its hierarchy, from the declaration; quasi-identifying columns always have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<usize>,
    /// Distinct non-missing values stored; absent for identifying columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    distinct_values: Option<u64>,
    /// Its hierarchy.
    #[serde(skip_serializing_if = "Option::is_none")]
    hierarchy: Option<HierarchyView>,
}

/// A hierarchy in force; its content is at `GET /v1/datasets/{dataset_id}/hierarchies/{attribute}`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HierarchyView {
    /// `table`, `intervals`, `prefix`, `dates`, `taxonomy`, `zip3`, `splits`, or `none`.
    kind: &'static str,
    /// Number of levels.
    levels: usize,
    /// Version: SHA-256 of the declaration, hexadecimal.
    digest: Option<String>,
}

/// The `kind` of a hierarchy.
pub(super) fn kind(hierarchy: Option<&HierarchyDeclaration>) -> &'static str {
    match hierarchy {
        None => "none",
        Some(HierarchyDeclaration::Table { .. }) => "table",
        Some(HierarchyDeclaration::Intervals { .. }) => "intervals",
        Some(HierarchyDeclaration::Prefix { .. }) => "prefix",
        Some(HierarchyDeclaration::Dates { .. }) => "dates",
        Some(HierarchyDeclaration::Taxonomy { .. }) => "taxonomy",
        Some(HierarchyDeclaration::Zip3 { .. }) => "zip3",
        Some(HierarchyDeclaration::Splits { .. }) => "splits",
    }
}

/// A stored declaration made ready for use.
pub(super) fn compiled(declaration: &DatasetDeclaration) -> Result<Schema, Problem> {
    // It was compiled before it was stored: a fault now is ours.
    Schema::compile(declaration)
        .map_err(|_| Problem::internal(crate::store::Error::Form("declaration".to_owned())))
}

impl DatasetView {
    pub(super) fn of(dataset: &Dataset) -> Result<Self, Problem> {
        let schema = compiled(&dataset.declaration)?;
        let declaration = &dataset.declaration;
        let attributes = schema.attributes().iter().enumerate();
        let attributes = attributes.map(|(position, attribute)| {
            let levels = attribute.hierarchy.as_ref().map(|found| found.levels());
            AttributeView::of(dataset, position, &attribute.declaration, levels)
        });
        Ok(Self {
            dataset_id: dataset.dataset_id,
            name: declaration.name.clone(),
            attributes: attributes.collect(),
            default_role: declaration.default_role,
            rows: dataset.rows,
            subjects: dataset.subjects,
            batches: dataset.batches,
            privacy_budget: BudgetView::of(dataset),
            search_space: search_space(&schema.level_counts()),
            warnings: implicit_hierarchies(declaration),
            created_at: dataset.created_at,
            updated_at: dataset.updated_at,
        })
    }
}

impl AttributeView {
    fn of(
        dataset: &Dataset,
        position: usize,
        declared: &AttributeDeclaration,
        levels: Option<usize>,
    ) -> Self {
        let is_identifying = declared.role == Role::Identifying;
        let distinct_values = dataset.distinct_values.get(position).copied();
        let digest = dataset.hierarchy_digests.get(position);
        Self {
            name: declared.name.clone(),
            role: declared.role,
            subject: declared.subject,
            value_type: declared.value_type,
            format: declared.format.clone(),
            missing: declared.missing.clone(),
            trim: declared.trim,
            order: declared.order.clone(),
            levels,
            distinct_values: distinct_values.filter(|_| !is_identifying),
            hierarchy: levels.map(|levels| HierarchyView {
                kind: kind(declared.hierarchy.as_ref()),
                levels,
                digest: digest.cloned().flatten(),
            }),
        }
    }
}

/// A page of datasets, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DatasetList {
    /// The datasets.
    items: Vec<DatasetView>,
    /// `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// Declares a dataset.
///
/// The declaration is checked whole: every attribute, role, type and hierarchy; one answer lists all faults. Repeating
/// the same `Idempotency-Key` gives the first answer again.
#[utoipa::path(post, path = "/v1/datasets", tag = "datasets",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = DatasetDeclaration, description = "The columns, their roles, types and hierarchies",
        example = json!({"name": "admissions", "attributes": [
            {"name": "age", "role": "quasi_identifying", "type": "integer",
             "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10, 20], "lower": 0, "upper": 120, "top_from": 90}},
            {"name": "diagnosis", "role": "sensitive"}]})),
    responses((status = 201, body = DatasetView, description = "Declared",
        headers(("Location" = String, description = "Where the dataset is"))), WriteFailures))]
pub(super) async fn create_dataset(
    State(app): State<App>,
    posted: Posted,
) -> Result<Answered, Problem> {
    let declaration = DatasetDeclaration::parse(&posted.body).map_err(Problem::faults)?;
    compiled(&declaration)?;
    let made = |dataset: &Dataset| {
        let location = format!("/v1/datasets/{}", dataset.dataset_id);
        // The declaration was compiled a moment ago, so the view cannot fail.
        answer(
            StatusCode::CREATED,
            Some(location),
            &DatasetView::of(dataset).ok(),
        )
    };
    let store = &app.services.store;
    let answer = store
        .create_dataset(&declaration, posted.once.as_ref(), made)
        .await?;
    Ok(Answered(answer))
}

/// Lists datasets, newest first.
///
/// Hierarchies are named by kind and digest; their content is at `/v1/datasets/{dataset_id}/hierarchies/{attribute}`.
#[utoipa::path(get, path = "/v1/datasets", tag = "datasets",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Items of the page; default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, body = DatasetList, description = "A page"), ReadFailures))]
pub(super) async fn list_datasets(
    State(app): State<App>,
    Query(PageQuery(page)): Query<PageQuery>,
) -> Result<Response, Problem> {
    let page = app.services.store.list_datasets(&page).await?;
    let items: Result<Vec<_>, _> = page.items.iter().map(DatasetView::of).collect();
    let list = DatasetList {
        items: items?,
        next_cursor: page.next_cursor,
    };
    Ok(axum::Json(list).into_response())
}

/// Shows a dataset: schema, counts, levels and distinct values per quasi-identifier, size of the search space.
///
/// Counts are of committed batches only: an upload that runs or failed does not show.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, body = DatasetView, description = "The dataset"), ReadFailures))]
pub(super) async fn read_dataset(
    State(app): State<App>,
    Id(dataset_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<DatasetView>, Problem> {
    let dataset = app.services.store.dataset(dataset_id).await?;
    Ok(axum::Json(DatasetView::of(&dataset)?))
}

/// Deletes a dataset with its rows, jobs, fronts, releases and keys.
///
/// Running jobs of it are told to stop. There is no way back: the data keys are gone.
#[utoipa::path(delete, path = "/v1/datasets/{dataset_id}", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset")),
    responses((status = 204, description = "Gone"), ReadFailures))]
pub(super) async fn delete_dataset(
    State(app): State<App>,
    Id(dataset_id): Id,
    _: Query<Nothing>,
) -> Result<StatusCode, Problem> {
    app.services.store.delete_dataset(dataset_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
