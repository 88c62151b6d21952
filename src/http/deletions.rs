//! Deletions: erase rows for good, list what was erased.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::documents::NewDeletion;
use super::extract::{Id, Posted};
use super::failures::{ReadFailures, WriteFailures};
use super::once::{Answered, answer};
use super::problem::Problem;
use super::query::{Nothing, Query};
use crate::declaration::{AttributeDeclaration, Cursor, DatasetDeclaration};
use crate::fault::{FaultCode, Faults};
use crate::ingest::{Selector, selector};
use crate::job::{Deletion, QueuedUpdate};
use crate::store::Selection;

/// An erasure. Says how much, never whom.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeletionView {
    /// Its id; null if nothing matched.
    deletion_id: Option<Uuid>,
    /// Dataset.
    dataset_id: Uuid,
    /// Rows erased.
    rows: u64,
    /// Subjects that have no row left; the rows where no subject is declared.
    subjects: u64,
    /// Update jobs that it queued, one per series of the dataset.
    updates: Vec<QueuedUpdate>,
    /// When.
    created_at: DateTime<Utc>,
}

/// The deletions of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DeletionList {
    /// First to last; their `updates` are not listed.
    items: Vec<DeletionView>,
    /// Always null: the list is whole.
    next_cursor: Option<String>,
}

impl DeletionView {
    fn of(deletion: &Deletion) -> Self {
        Self {
            deletion_id: deletion.deletion_id,
            dataset_id: deletion.dataset_id,
            rows: deletion.rows,
            subjects: deletion.subjects,
            updates: deletion.updates.clone(),
            created_at: deletion.created_at,
        }
    }
}

/// Erases rows.
///
/// Takes either `subjects` (all rows of these, in any spelling; the dataset must declare a subject) or `rows_where`
/// (rows that hold each of the values; `null` is a missing cell). Values are read as cells of their column are. The cells are erased from every
/// stored partition before the answer; releases that are stored stay as they are. Every series of the dataset gets an
/// update, so that its later releases do not hold the rows; where what leaves or what stays of a group of rows would be
/// too small, the whole group is withheld. A request that matches nothing changes nothing and answers `200`.
#[utoipa::path(post, path = "/v1/datasets/{dataset_id}/deletions", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewDeletion, description = "Whom or what to erase"),
    responses((status = 202, body = DeletionView, description = "Erased; updates of series are queued",
            headers(("Location" = String, description = "The dataset's deletions"))),
        (status = 200, body = DeletionView, description = "Nothing matched"), WriteFailures))]
pub(super) async fn delete_rows(
    State(app): State<App>,
    Id(dataset_id): Id,
    posted: Posted,
) -> Result<Answered, Problem> {
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    let selection = parse(&posted.body, &dataset.declaration)?;
    let made = |deletion: &Deletion| {
        let location = format!("/v1/datasets/{}/deletions", deletion.dataset_id);
        let (status, location) = match deletion.deletion_id {
            Some(_) => (StatusCode::ACCEPTED, Some(location)),
            None => (StatusCode::OK, None),
        };
        answer(status, location, &DeletionView::of(deletion))
    };
    let once = posted.once.as_ref();
    let answer = store.delete_rows(dataset_id, &selection, once, made);
    Ok(Answered(answer.await?))
}

/// Lists the deletions of a dataset, first to last.
///
/// How much was erased and when, never whom. The list is whole; `next_cursor` is always null.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/deletions", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, body = DeletionList, description = "The deletions"), ReadFailures))]
pub(super) async fn list_deletions(
    State(app): State<App>,
    Id(dataset_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<DeletionList>, Problem> {
    let store = &app.services.store;
    store.dataset(dataset_id).await?;
    let deletions = store.deletions(dataset_id).await?;
    Ok(axum::Json(DeletionList {
        items: deletions.iter().map(DeletionView::of).collect(),
        next_cursor: None,
    }))
}

fn parse(body: &Value, declaration: &DatasetDeclaration) -> Result<Selection, Problem> {
    let mut faults = Faults::default();
    let selection = selection(body, declaration, &mut faults);
    faults.finish(selection).map_err(Problem::faults)
}

fn selection(
    body: &Value,
    declaration: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Selection> {
    let root = Cursor::root(body);
    let object = root.object(faults)?;
    object.only(&["subjects", "rows_where"], faults);
    let (subjects, rows_where) = (object.optional("subjects"), object.optional("rows_where"));
    if subjects.is_some() == rows_where.is_some() {
        let (code, detail) = match subjects {
            None => (
                FaultCode::MissingField,
                "`subjects` or `rows_where` is required",
            ),
            Some(_) => (
                FaultCode::UnknownField,
                "`subjects` and `rows_where` exclude each other",
            ),
        };
        faults.push(root.fault(code, detail));
    }
    let subjects = subjects.map(|cursor| subjects_of(&cursor, declaration, faults));
    let cells = rows_where.map(|cursor| cells_of(&cursor, declaration, faults));
    subjects
        .map(|subjects| subjects.map(Selection::Subjects))
        .or(cells.map(|cells| cells.map(Selection::Cells)))?
}

fn subjects_of(
    cursor: &Cursor<'_>,
    declaration: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    let subject = declaration.attributes.iter().find(|found| found.subject);
    if subject.is_none() {
        let detail = "the dataset declares no subject; use `rows_where`";
        faults.push(cursor.fault(FaultCode::AttributeRole, detail));
    }
    let elements = cursor.list(faults)?;
    if elements.is_empty() {
        faults.push(cursor.fault(FaultCode::OutOfRange, "at least one subject is wanted here"));
        return None;
    }
    let mut all = Some(Vec::new());
    for element in elements {
        let texts = subject.and_then(|attribute| texts_of(&element, attribute, faults));
        let texts = texts.and_then(|texts| named(texts, &element, faults));
        all = match (all, texts) {
            (Some(mut all), Some(texts)) => {
                all.extend(texts);
                Some(all)
            }
            _ => None,
        };
    }
    all
}

fn cells_of(
    cursor: &Cursor<'_>,
    declaration: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Vec<(usize, Vec<Option<String>>)>> {
    let object = cursor.object(faults)?;
    let mut wanted = BTreeMap::new();
    let mut is_whole = true;
    for (name, value) in object.entries() {
        let mut attributes = declaration.attributes.iter().enumerate();
        let Some((position, attribute)) = attributes.find(|(_, found)| found.name == name) else {
            let detail = "the dataset has no such attribute";
            faults.push(value.fault(FaultCode::UnknownAttribute, detail));
            is_whole = false;
            continue;
        };
        match texts_of(&value, attribute, faults) {
            Some(texts) => drop(wanted.insert(position, texts)),
            None => is_whole = false,
        }
    }
    if wanted.is_empty() && is_whole {
        faults.push(cursor.fault(FaultCode::OutOfRange, "at least one column is wanted here"));
        return None;
    }
    is_whole.then(|| wanted.into_iter().collect())
}

/// The texts of a subject: a missing one is nobody.
fn named(
    texts: Vec<Option<String>>,
    cursor: &Cursor<'_>,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    let texts: Option<Vec<String>> = texts.into_iter().collect();
    if texts.is_none() {
        let detail = "a missing value names no subject; use `rows_where`";
        faults.push(cursor.fault(FaultCode::InvalidValue, detail));
    }
    texts
}

/// The texts of cells that a value stands for (`None` is missing); a number is read as it is written.
fn texts_of(
    cursor: &Cursor<'_>,
    attribute: &AttributeDeclaration,
    faults: &mut Faults,
) -> Option<Vec<Option<String>>> {
    if cursor.is_null() {
        return Some(vec![None]);
    }
    let number = cursor.number_text();
    let raw = match &number {
        Some(text) => text.as_str(),
        None => cursor.text(faults)?,
    };
    let (detail, code) = match selector(attribute, raw) {
        Selector::Cells(texts) => return Some(texts.into_iter().map(Some).collect()),
        Selector::Missing => return Some(vec![None]),
        Selector::Invalid => (
            "the value is not of the column's type",
            FaultCode::InvalidValue,
        ),
    };
    faults.push(cursor.fault(code, detail).column(&attribute.name));
    None
}
