//! Batches: append rows, list what was appended.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use chrono::{DateTime, Utc};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::body::{self, Limited};
use super::datasets::compiled;
use super::extract::Id;
use super::failures::{ReadFailures, WriteFailures};
use super::once::{Answered, Key, answer};
use super::problem::{Code, Problem};
use super::query::{FromQuery, Nothing, Parameters, Query};
use super::receive::{Staged, Written, pipe, receive, take_delimiter};
use crate::ingest::Warning;
use crate::job::{Batch, BatchRecord, QueuedUpdate};

/// A committed batch.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BatchView {
    /// Its id.
    batch_id: Uuid,
    /// Its dataset.
    dataset_id: Uuid,
    /// From 1.
    sequence: u32,
    /// Its rows.
    rows: u64,
    /// Cells that `trim` changed.
    trimmed_cells: u64,
    /// What the caller should know.
    warnings: Vec<Warning>,
    /// Update jobs that this batch queued, one per series of the dataset.
    updates: Vec<QueuedUpdate>,
    /// When committed.
    created_at: DateTime<Utc>,
}

/// The batches of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BatchList {
    /// In order of their sequence.
    items: Vec<BatchRecord>,
    /// Always null: the list is whole.
    next_cursor: Option<String>,
}

impl BatchView {
    pub(super) fn of(batch: &Batch) -> Self {
        Self {
            batch_id: batch.batch_id,
            dataset_id: batch.dataset_id,
            sequence: batch.sequence,
            rows: batch.rows,
            trimmed_cells: batch.trimmed_cells,
            warnings: batch.warnings.clone(),
            updates: batch.updates.clone(),
            created_at: batch.created_at,
        }
    }
}

/// Parameters of an upload.
#[derive(Debug)]
pub(super) struct UploadQuery {
    delimiter: Option<u8>,
    charset: Option<String>,
    allow_duplicate: bool,
}

impl FromQuery for UploadQuery {
    const NAMES: &'static [&'static str] = &["delimiter", "charset", "allow_duplicate"];

    fn take(parameters: &mut Parameters) -> Self {
        Self {
            delimiter: take_delimiter(parameters),
            charset: parameters.text("charset"),
            allow_duplicate: parameters.flag("allow_duplicate"),
        }
    }
}

/// One of the few places for uploads.
pub(super) fn upload_place(app: &App) -> Result<OwnedSemaphorePermit, Problem> {
    app.uploads.clone().try_acquire_owned().map_err(|_| {
        let most = app.services.config.server.max_uploads;
        let detail = format!("{most} uploads run already; try again later");
        Problem::new(Code::Busy, detail)
    })
}

/// The `Content-Type` as text; empty where there is none.
pub(super) fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Appends a batch of rows; the first one is the initial load.
///
/// All or nothing: a bad row refuses the batch, every fault is listed with record and line, and the dataset stays as
/// it was. The same content a second time is `409 duplicate_batch` unless `allow_duplicate=true`; with the same
/// `Idempotency-Key` it is the first answer again. Cells are text as sent; the delimiter is never guessed.
#[utoipa::path(post, path = "/v1/datasets/{dataset_id}/batches", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters"),
        ("delimiter" = Option<String>, Query, description = "Between the fields of a CSV: one ASCII character, or `tab`; default `,`"),
        ("charset" = Option<String>, Query, description = "Character encoding, if `Content-Type` names none; default UTF-8"),
        ("allow_duplicate" = Option<bool>, Query, description = "Take content that is a batch already")),
    request_body(description = "The rows", content(
        (String = "text/csv", example = "age,diagnosis\n34,J10\n51,K29\n"),
        (Vec<serde_json::Value> = "application/json", example = json!([{"age": 34, "diagnosis": "J10"}])),
        (String = "application/x-ndjson", example = "{\"age\": 34, \"diagnosis\": \"J10\"}\n"))),
    responses((status = 201, body = BatchView, description = "Committed",
        headers(("Location" = String, description = "The dataset's batches"))), WriteFailures))]
pub(super) async fn append_batch(
    State(app): State<App>,
    Id(dataset_id): Id,
    request: Request,
) -> Result<Answered, Problem> {
    let (parts, body) = request.into_parts();
    let Query(query) = Query::<UploadQuery>::of(&parts.uri)?;
    let key = Key::of(&parts.headers, &parts.method, &parts.uri)?;
    let content_type = content_type(&parts.headers);
    let written = Written::of(content_type, query.delimiter, query.charset.as_deref())?;
    body::refuse_compressed(&parts.headers)?;
    let _place = upload_place(&app)?;
    let batch = Upload {
        dataset_id,
        written,
        allow_duplicate: query.allow_duplicate,
    };
    batch.take(&app, &parts.headers, body, key).await
}

/// What an upload is to become.
#[derive(Debug)]
struct Upload {
    dataset_id: Uuid,
    written: Written,
    allow_duplicate: bool,
}

impl Upload {
    async fn take(
        self,
        app: &App,
        headers: &HeaderMap,
        body: Body,
        key: Option<Key>,
    ) -> Result<Answered, Problem> {
        let store = &app.services.store;
        let limit = app.services.config.server.upload_limit_bytes;
        let body = Limited::new(headers, body, limit)?;
        let dataset = store.dataset(self.dataset_id).await?;
        let schema = compiled(&dataset.declaration)?;
        let staged = Staged::begin(store, &dataset).await?;
        let verdict = body.verdict();
        let (reader, feed) = pipe(body.into_stream());
        let received = receive(
            staged,
            schema,
            &dataset,
            self.written,
            reader,
            feed,
            &verdict,
        );
        let (staged, summary) = received.await?;
        let once =
            key.map(|key| key.over(&[&summary.digest, self.written.fingerprint().as_bytes()]));
        let Some(upload) = staged.into_upload() else {
            return Err(crate::pool::Panicked.into());
        };
        let made = |batch: &Batch| {
            let location = format!("/v1/datasets/{}/batches", batch.dataset_id);
            answer(StatusCode::CREATED, Some(location), &BatchView::of(batch))
        };
        let committed =
            store.commit_upload(upload, &summary, self.allow_duplicate, once.as_ref(), made);
        Ok(Answered(committed.await?))
    }
}

/// Lists the batches of a dataset, first to last.
///
/// The list is whole; `next_cursor` is always null.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/batches", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, body = BatchList, description = "The batches"), ReadFailures))]
pub(super) async fn list_batches(
    State(app): State<App>,
    Id(dataset_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<BatchList>, Problem> {
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    let items = store.batches(dataset_id, dataset.batches).await?;
    Ok(axum::Json(BatchList {
        items,
        next_cursor: None,
    }))
}
