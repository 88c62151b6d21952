//! Hierarchies of a dataset: see what a job would use, put another one in force.

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::datasets::{DatasetView, compiled, kind};
use super::extract::{AttributePath, Put};
use super::failures::{ReadFailures, WriteFailures};
use super::problem::Problem;
use super::query::{FromQuery, Parameters, Query};
use super::submission::warning;
use crate::anonymize::hierarchy::{Hierarchy, Uncovered};
use crate::anonymize::table::Schema;
use crate::declaration::{DatasetDeclaration, HierarchyDeclaration, TaxonomyNode};
use crate::fault::{Fault, FaultCode};
use crate::ingest::Warning;
use crate::job::{Dataset, PageRequest};

/// Values shown where the caller names none.
const SHOWN: usize = 100;

/// What a hierarchy does with values: exactly what a job does.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HierarchyPreview {
    /// The dataset.
    dataset_id: Uuid,
    /// The column.
    attribute: String,
    /// `table`, `intervals`, `prefix`, `dates`, `taxonomy`, `zip3`, `splits`, or `none`.
    kind: &'static str,
    /// Number of levels, from the declaration.
    levels: usize,
    /// Version: SHA-256 of the declaration, hexadecimal.
    digest: String,
    /// As declared; null where there are only the two implicit levels.
    hierarchy: Option<HierarchyDeclaration>,
    /// Values and their labels.
    values: Vec<ValuePreview>,
    /// Whether there are more values than are shown.
    truncated: bool,
}

/// One value on every level.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ValuePreview {
    /// The value; null is missing.
    value: Option<String>,
    /// Its label per level, from the value itself to `*`; empty where it has no place.
    labels: Vec<Option<String>>,
    /// Why it has no place: `missing`, `out_of_range` or `invalid`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
}

/// A dataset whose hierarchy was exchanged.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReplacedView {
    #[serde(flatten)]
    dataset: DatasetView,
    /// What the caller should know: `series_keep_hierarchy` where series of the dataset go on with the old one.
    warnings: Vec<Warning>,
}

/// Which values.
#[derive(Debug)]
pub(super) struct PreviewQuery {
    values: Vec<String>,
}

impl FromQuery for PreviewQuery {
    const NAMES: &'static [&'static str] = &["value"];

    fn take(parameters: &mut Parameters) -> Self {
        Self {
            values: parameters.texts("value"),
        }
    }
}

/// Shows what a hierarchy makes of values.
///
/// Labels from level 0 to `*` for each `value` asked for, or for the first values that are stored or declared. What is
/// shown is what a job uses. An empty `value` is the missing one.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/hierarchies/{attribute}", tag = "hierarchies",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("attribute" = String, Path, description = "Name of the column"),
        ("value" = Option<Vec<String>>, Query, description = "A value to show; may stand many times")),
    responses((status = 200, body = HierarchyPreview, description = "The hierarchy at work"), ReadFailures))]
pub(super) async fn preview_hierarchy(
    State(app): State<App>,
    path: AttributePath,
    Query(query): Query<PreviewQuery>,
) -> Result<axum::Json<HierarchyPreview>, Problem> {
    let dataset = app.services.store.dataset(path.dataset_id).await?;
    let schema = compiled(&dataset.declaration)?;
    let (position, hierarchy) = find(&schema, &path.attribute)?;
    let (values, truncated) = if query.values.is_empty() {
        some_values(&app, &dataset, &schema, position).await?
    } else {
        (query.values, false)
    };
    let declared = &dataset.declaration.attributes[position];
    Ok(axum::Json(HierarchyPreview {
        dataset_id: dataset.dataset_id,
        attribute: path.attribute,
        kind: kind(declared.hierarchy.as_ref()),
        levels: hierarchy.levels(),
        digest: hex::encode(hierarchy.digest()),
        hierarchy: declared.hierarchy.clone(),
        values: values
            .into_iter()
            .map(|value| shown(hierarchy, value))
            .collect(),
        truncated,
    }))
}

pub(super) fn find<'a>(
    schema: &'a Schema,
    attribute: &str,
) -> Result<(usize, &'a Hierarchy), Problem> {
    let position = schema
        .position(attribute)
        .ok_or_else(|| Problem::not_found("attribute"))?;
    let hierarchy = schema.attributes()[position].hierarchy.as_deref();
    let hierarchy = hierarchy.ok_or_else(|| Problem::not_found("hierarchy"))?;
    Ok((position, hierarchy))
}

/// The first values stored, or declared where none is stored, and whether there are more.
async fn some_values(
    app: &App,
    dataset: &Dataset,
    schema: &Schema,
    position: usize,
) -> Result<(Vec<String>, bool), Problem> {
    let store = &app.services.store;
    let mut values = store
        .column_values(dataset.dataset_id, schema, position)
        .await?;
    if values.is_empty() {
        values = declared_values(dataset.declaration.attributes[position].hierarchy.as_ref());
    }
    let truncated = values.len() > SHOWN;
    values.truncate(SHOWN);
    Ok((values, truncated))
}

fn shown(hierarchy: &Hierarchy, value: String) -> ValuePreview {
    let value = Some(value).filter(|value| !value.is_empty());
    let (labels, problem) = match hierarchy.path(value.as_deref()) {
        Ok(labels) => (labels, None),
        Err(Uncovered::Missing) => (Vec::new(), Some("missing")),
        Err(Uncovered::OutOfRange) => (Vec::new(), Some("out_of_range")),
        Err(Uncovered::Invalid) => (Vec::new(), Some("invalid")),
    };
    ValuePreview {
        value,
        labels,
        problem,
    }
}

/// The values that a declaration lists, for a dataset without rows.
fn declared_values(hierarchy: Option<&HierarchyDeclaration>) -> Vec<String> {
    match hierarchy {
        Some(HierarchyDeclaration::Table {
            rows: Some(rows), ..
        }) => rows.iter().filter_map(|row| row.first().cloned()).collect(),
        Some(HierarchyDeclaration::Table {
            text: Some(text),
            delimiter,
            ..
        }) => {
            let delimiter = delimiter.as_deref().unwrap_or(";");
            text.lines()
                .filter_map(|line| line.split(delimiter).next())
                .map(|value| value.trim_matches('"').to_owned())
                .collect()
        }
        Some(HierarchyDeclaration::Taxonomy { children, .. }) => {
            let mut values = Vec::new();
            leaves(children, &mut values);
            values
        }
        _ => Vec::new(),
    }
}

fn leaves(nodes: &[TaxonomyNode], values: &mut Vec<String>) {
    for node in nodes {
        if node.children.is_empty() {
            values.push(node.label.clone());
        } else {
            leaves(&node.children, values);
        }
    }
}

/// Puts another hierarchy in force for a column.
///
/// It is a new version: jobs submitted before keep the one they were submitted with. Refused with
/// `hierarchy_missing_values` where a stored value has no place in it. `null` leaves the two implicit levels.
#[utoipa::path(put, path = "/v1/datasets/{dataset_id}/hierarchies/{attribute}", tag = "hierarchies",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("attribute" = String, Path, description = "Name of the column")),
    request_body(content = HierarchyDeclaration, description = "The hierarchy",
        example = json!({"kind": "table", "text": "A;low;*\nB;low;*\nC;high;*"})),
    responses((status = 200, body = ReplacedView, description = "In force"), WriteFailures))]
pub(super) async fn replace_hierarchy(
    State(app): State<App>,
    path: AttributePath,
    Put(body): Put,
) -> Result<axum::Json<ReplacedView>, Problem> {
    let store = &app.services.store;
    let dataset = store.dataset(path.dataset_id).await?;
    let declaration = with_hierarchy(&dataset.declaration, &path.attribute, body)?;
    let schema = compiled(&declaration)?;
    let (position, hierarchy) = find(&schema, &path.attribute)?;
    let values = store
        .column_values(path.dataset_id, &schema, position)
        .await?;
    covers(hierarchy, &values, &path.attribute)?;
    let replaced = store.replace_hierarchy(path.dataset_id, &declaration, &path.attribute);
    let replaced = replaced.await?;
    Ok(axum::Json(ReplacedView {
        dataset: DatasetView::of(&replaced)?,
        warnings: kept_by_series(&app, &path).await?,
    }))
}

/// A warning if the dataset has series: they go on with the hierarchy that they began with.
pub(super) async fn kept_by_series(
    app: &App,
    path: &AttributePath,
) -> Result<Vec<Warning>, Problem> {
    let first = PageRequest {
        limit: 1,
        cursor: None,
    };
    let store = &app.services.store;
    let series = store.list_series(Some(path.dataset_id), &first).await?;
    let detail = "series of this dataset keep the hierarchy that was in force when they began: a later batch with a value \
                  that only the new one places stops them";
    let kept = series.items.iter();
    let kept = kept.map(|_| warning("series_keep_hierarchy", Some(&path.attribute), detail));
    Ok(kept.collect())
}

/// The declaration with one hierarchy exchanged, checked as if it were declared anew.
pub(super) fn with_hierarchy(
    declaration: &DatasetDeclaration,
    attribute: &str,
    hierarchy: Value,
) -> Result<DatasetDeclaration, Problem> {
    let named = |declared: &crate::declaration::AttributeDeclaration| declared.name == attribute;
    let position = declaration.attributes.iter().position(named);
    let position = position.ok_or_else(|| Problem::not_found("attribute"))?;
    let mut body = serde_json::to_value(declaration).map_err(Problem::internal)?;
    let place = format!("/attributes/{position}/hierarchy");
    if let Some(Value::Object(declared)) = body.pointer_mut(&format!("/attributes/{position}")) {
        declared.shift_remove("hierarchy");
        if !hierarchy.is_null() {
            declared.insert("hierarchy".to_owned(), hierarchy);
        }
    }
    DatasetDeclaration::parse(&body).map_err(|mut faults| {
        // The body of this request is the hierarchy alone.
        for fault in &mut faults {
            if let Some(rest) = fault.pointer.strip_prefix(&place) {
                fault.pointer = rest.to_owned();
            }
        }
        Problem::faults(faults)
    })
}

/// Refuses a hierarchy in which a stored value has no place.
pub(super) fn covers(
    hierarchy: &Hierarchy,
    values: &[String],
    attribute: &str,
) -> Result<(), Problem> {
    let without: Vec<&String> = values
        .iter()
        .filter(|value| hierarchy.covers(value).is_err())
        .collect();
    if without.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "{} distinct stored values have no place in the hierarchy",
        without.len()
    );
    let fault = Fault::at("", FaultCode::HierarchyMissingValues, detail)
        .column(attribute)
        .sample(without);
    Err(Problem::fault(fault))
}
