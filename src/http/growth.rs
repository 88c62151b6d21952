//! Hierarchies grown from the values that are stored.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::datasets::{DatasetView, compiled};
use super::extract::{AttributePath, Posted};
use super::failures::WriteFailures;
use super::hierarchies::{covers, find, kept_by_series, with_hierarchy};
use super::once::{Answered, answer};
use super::problem::Problem;
use crate::anonymize::hierarchy::grown::grow;
use crate::declaration::{GrowthDemand, HierarchyDeclaration};
use crate::fault::{Fault, FaultCode};
use crate::ingest::Warning;
use crate::job::Dataset;

/// Body of `POST /v1/datasets/{dataset_id}/hierarchies/{attribute}/grow`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"depth": 4, "least_subjects": 20}))]
pub(super) struct NewGrowth {
    /// Another column, whose value the splits should tell; absent: each split halves the people.
    target: Option<String>,
    /// Most splits below one another; default 4.
    #[schema(minimum = 1, maximum = 10)]
    depth: Option<u32>,
    /// Fewest people (rows, where no subject is declared) on either side of a split; default 20.
    #[schema(minimum = 5)]
    least_subjects: Option<u32>,
}

/// A dataset with a hierarchy that was grown.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GrownView {
    #[serde(flatten)]
    dataset: DatasetView,
    /// The hierarchy, of kind `splits`: declare it elsewhere to have the same one there.
    hierarchy: HierarchyDeclaration,
    /// What the caller should know: `series_keep_hierarchy` where series of the dataset go on with the old one.
    warnings: Vec<Warning>,
}

/// Grows a numeric column's hierarchy by binary splits and puts it in force.
///
/// Each split halves the people, or tells most of the `target`'s value; a column that is not sensitive is the better
/// target, as what splits tell is seen in the labels. The hierarchy is frozen: later rows do not move its points and all have their place in it. To
/// grow again is a new version, as with `PUT`. Refused with `no_split` where no number has enough people on either side.
#[utoipa::path(post, path = "/v1/datasets/{dataset_id}/hierarchies/{attribute}/grow", tag = "hierarchies",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("attribute" = String, Path, description = "Name of the column, of type `integer` or `decimal`"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewGrowth, description = "How far to split"),
    responses((status = 200, body = GrownView, description = "In force"), WriteFailures))]
pub(super) async fn grow_hierarchy(
    State(app): State<App>,
    path: AttributePath,
    posted: Posted,
) -> Result<Answered, Problem> {
    let services = &app.services;
    let dataset = services.store.dataset(path.dataset_id).await?;
    let schema = compiled(&dataset.declaration)?;
    let position = schema.position(&path.attribute);
    let position = position.ok_or_else(|| Problem::not_found("attribute"))?;
    let demand = GrowthDemand::parse(&posted.body, &dataset.declaration, position)
        .map_err(Problem::faults)?;
    if dataset.rows == 0 {
        let detail = "the dataset has no rows to grow from; append a batch first";
        return Err(Problem::fault(Fault::at(
            "",
            FaultCode::DatasetEmpty,
            detail,
        )));
    }
    let table = services
        .store
        .load_table(path.dataset_id, &schema, dataset.batches)
        .await?;
    let GrowthDemand { target, growth } = demand;
    let work = move || {
        let points = grow(&table, position, target, growth);
        let column = table.columns.into_iter().nth(position).flatten();
        let dictionary = column.unwrap_or_default().dictionary;
        let values: Vec<String> = dictionary.iter().map(str::to_owned).collect();
        (points, values)
    };
    let (points, values) = services.pool.run(work).await?;
    if points.is_empty() {
        let detail = format!(
            "no number has {} people on either side{}",
            growth.least_subjects,
            if target.is_some() {
                " and tells of the target"
            } else {
                ""
            }
        );
        let fault = Fault::at("", FaultCode::NoSplit, detail).column(&path.attribute);
        return Err(Problem::fault(fault));
    }
    let grown = HierarchyDeclaration::Splits { points };
    let body = serde_json::to_value(&grown).map_err(Problem::internal)?;
    let declaration = with_hierarchy(&dataset.declaration, &path.attribute, body)?;
    let replacement = compiled(&declaration)?;
    covers(
        find(&replacement, &path.attribute)?.1,
        &values,
        &path.attribute,
    )?;
    let warnings = kept_by_series(&app, &path).await?;
    let made = |dataset: &Dataset| {
        // The declaration was compiled a moment ago, so the view cannot fail.
        let view = DatasetView::of(dataset).ok().map(|dataset| GrownView {
            dataset,
            hierarchy: grown,
            warnings,
        });
        answer(StatusCode::OK, None, &view)
    };
    let (dataset_id, once) = (path.dataset_id, posted.once.as_ref());
    let store = &services.store;
    let replaced =
        store.replace_hierarchy_once(dataset_id, &declaration, &path.attribute, once, made);
    Ok(Answered(replaced.await?))
}
