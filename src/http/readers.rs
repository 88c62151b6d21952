//! Readers: grant the data keys of partitions to holders of keys of their own, and give out what these open.

use std::collections::BTreeMap;
use std::io;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::documents::NewReader;
use super::extract::{Id, Posted};
use super::failures::{ReadFailures, WriteFailures};
use super::once::{Answered, answer};
use super::problem::{Code, Problem};
use super::query::{Nothing, Query};
use crate::config::GrantPartitions;
use crate::declaration::{Cursor, Words};
use crate::fault::{FaultCode, Faults};
use crate::job::{Partition, Reader};
use crate::store::{SealedPart, partition_columns};
use crate::vault::ReaderPublicKey;
use crate::{declaration, store};

/// Most characters of a name.
const NAME_CHARACTERS: usize = 200;

const PARTITIONS: Words<Partition> = Words {
    noun: "partition",
    legal: &[
        ("auxiliary", Partition::Auxiliary),
        ("quasi", Partition::Quasi),
        ("identity", Partition::Identity),
    ],
    planned: &[],
};

/// A reader.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReaderView {
    /// Its id.
    reader_id: Uuid,
    /// Dataset whose partitions it can open.
    dataset_id: Uuid,
    /// As named.
    name: String,
    /// X25519 public key, 64 hexadecimal digits.
    public_key: String,
    /// Partitions that it can open.
    partitions: Vec<Partition>,
    /// When granted.
    created_at: DateTime<Utc>,
}

/// A reader with its wrapped keys.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReaderDetailView {
    #[serde(flatten)]
    reader: ReaderView,
    /// How keys are wrapped.
    wrapping: &'static str,
    /// By partition, its data key wrapped for the reader: hexadecimal.
    keys: BTreeMap<Partition, String>,
}

/// The readers of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReaderList {
    /// First to last, without their keys.
    items: Vec<ReaderView>,
    /// Always null: the list is whole.
    next_cursor: Option<String>,
}

impl ReaderView {
    fn of(reader: &Reader) -> Self {
        Self {
            reader_id: reader.reader_id,
            dataset_id: reader.dataset_id,
            name: reader.name.clone(),
            public_key: reader.public_key.clone(),
            partitions: reader.keys.keys().copied().collect(),
            created_at: reader.created_at,
        }
    }
}

/// A dataset's id and a second segment in a path.
async fn two_segments<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<(Uuid, String), Problem> {
    let both = Path::<(String, String)>::from_request_parts(parts, state).await;
    let Path((dataset_id, second)) = both.map_err(|_| Problem::not_found("resource"))?;
    let dataset_id = Uuid::try_parse(&dataset_id).map_err(|_| Problem::not_found("dataset"))?;
    Ok((dataset_id, second))
}

/// A dataset's and a reader's id in a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReaderPath(Uuid, Uuid);

impl<S: Send + Sync> FromRequestParts<S> for ReaderPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (dataset_id, reader) = two_segments(parts, state).await?;
        let reader_id = Uuid::try_parse(&reader).map_err(|_| Problem::not_found("reader"))?;
        Ok(Self(dataset_id, reader_id))
    }
}

/// A dataset's id and a partition in a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionPath(Uuid, Partition);

impl<S: Send + Sync> FromRequestParts<S> for PartitionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let (dataset_id, word) = two_segments(parts, state).await?;
        let mut all = Partition::ALL.into_iter();
        let partition = all.find(|partition| partition.word() == word);
        let partition = partition.ok_or_else(|| Problem::not_found("partition"))?;
        Ok(Self(dataset_id, partition))
    }
}

/// Grants partitions to a reader.
///
/// The data key of each partition is wrapped for the reader's public key by HPKE (RFC 9180: X25519, HKDF-SHA-256,
/// AES-256-GCM), so that only its private key opens it. A key of one partition opens no other. No privacy model applies to
/// what a reader opens, so a partition is refused unless the operator's configuration allows it
/// (`vault.grant_partitions`).
#[utoipa::path(post, path = "/v1/datasets/{dataset_id}/readers", tag = "readers",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewReader, description = "Who, and what of the dataset"),
    responses((status = 201, body = ReaderView, description = "Granted",
            headers(("Location" = String, description = "Where the wrapped keys are"))),
        (status = 403, description = "A partition that the configuration withholds"), WriteFailures))]
pub(super) async fn create_reader(
    State(app): State<App>,
    Id(dataset_id): Id,
    posted: Posted,
) -> Result<Answered, Problem> {
    let (name, key, partitions) = parse(&posted.body)?;
    for &partition in &partitions {
        allowed(&app, partition)?;
    }
    let store = &app.services.store;
    store.dataset(dataset_id).await?;
    let made = |reader: &Reader| {
        let location = format!("/v1/datasets/{dataset_id}/readers/{}", reader.reader_id);
        answer(StatusCode::CREATED, Some(location), &ReaderView::of(reader))
    };
    let once = posted.once.as_ref();
    let answer = store.create_reader(dataset_id, (&name, &key), &partitions, once, made);
    Ok(Answered(answer.await?))
}

/// A partition is given to nobody unless the configuration says so.
fn allowed(app: &App, partition: Partition) -> Result<(), Problem> {
    let is_allowed = match app.services.config.vault.grant_partitions {
        GrantPartitions::None => false,
        GrantPartitions::Auxiliary => partition == Partition::Auxiliary,
        GrantPartitions::All => true,
    };
    if is_allowed {
        return Ok(());
    }
    let detail = format!(
        "the partition `{}` holds rows of persons, to which no privacy model applies; `vault.grant_partitions` does not allow \
         to grant it",
        partition.word()
    );
    Err(Problem::new(Code::PartitionWithheld, detail))
}

fn parse(body: &Value) -> Result<(String, ReaderPublicKey, Vec<Partition>), Problem> {
    let mut faults = Faults::default();
    let parsed = parts(body, &mut faults);
    faults.finish(parsed).map_err(Problem::faults)
}

fn parts(body: &Value, faults: &mut Faults) -> Option<(String, ReaderPublicKey, Vec<Partition>)> {
    let object = Cursor::root(body).object(faults)?;
    object.only(&["name", "public_key", "partitions"], faults);
    let name = object.required("name", faults).and_then(|cursor| {
        let name = cursor.text(faults)?;
        if !(1..=NAME_CHARACTERS).contains(&name.chars().count()) {
            let detail = format!("a name has 1 to {NAME_CHARACTERS} characters");
            faults.push(cursor.fault(FaultCode::OutOfRange, detail));
            return None;
        }
        Some(name.to_owned())
    });
    let key = object.required("public_key", faults).and_then(|cursor| {
        let key = ReaderPublicKey::parse(cursor.text(faults)?).ok();
        if key.is_none() {
            let detail =
                "an X25519 public key is wanted here: 64 hexadecimal digits, no point of low order";
            faults.push(cursor.fault(FaultCode::InvalidValue, detail));
        }
        key
    });
    let partitions = object
        .required("partitions", faults)
        .and_then(|cursor| partitions_of(&cursor, faults));
    Some((name?, key?, partitions?))
}

fn partitions_of(cursor: &declaration::Cursor<'_>, faults: &mut Faults) -> Option<Vec<Partition>> {
    let elements = cursor.list(faults)?;
    if elements.is_empty() {
        faults.push(cursor.fault(
            FaultCode::OutOfRange,
            "at least one partition is wanted here",
        ));
        return None;
    }
    let mut all = Some(Vec::new());
    for element in elements {
        let word = element.word(&PARTITIONS, faults);
        all = match (all, word) {
            (Some(all), Some(word)) if all.contains(&word) => {
                let detail = "the partition is already named";
                faults.push(element.fault(FaultCode::DuplicateValue, detail));
                None
            }
            (Some(mut all), Some(word)) => {
                all.push(word);
                Some(all)
            }
            _ => None,
        };
    }
    all
}

/// Lists the readers of a dataset, first to last.
///
/// Without their keys. The list is whole; `next_cursor` is always null.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/readers", tag = "readers",
    params(("dataset_id" = Uuid, Path, description = "The dataset")),
    responses((status = 200, body = ReaderList, description = "The readers"), ReadFailures))]
pub(super) async fn list_readers(
    State(app): State<App>,
    Id(dataset_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<ReaderList>, Problem> {
    let store = &app.services.store;
    store.dataset(dataset_id).await?;
    let readers = store.readers(dataset_id, None).await?;
    Ok(axum::Json(ReaderList {
        items: readers.iter().map(ReaderView::of).collect(),
        next_cursor: None,
    }))
}

/// Shows a reader with its wrapped keys.
///
/// Save the answer for `kindred open --grant`. The keys are of use to the holder of the private key alone.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/readers/{reader_id}", tag = "readers",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("reader_id" = Uuid, Path, description = "The reader")),
    responses((status = 200, body = ReaderDetailView, description = "The reader"), ReadFailures))]
pub(super) async fn read_reader(
    State(app): State<App>,
    ReaderPath(dataset_id, reader_id): ReaderPath,
    _: Query<Nothing>,
) -> Result<axum::Json<ReaderDetailView>, Problem> {
    let readers = app
        .services
        .store
        .readers(dataset_id, Some(reader_id))
        .await?;
    let reader = readers
        .first()
        .ok_or_else(|| Problem::not_found("reader"))?;
    let keys = reader.keys.iter();
    Ok(axum::Json(ReaderDetailView {
        reader: ReaderView::of(reader),
        wrapping: "HPKE base mode, DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-256-GCM (RFC 9180)",
        keys: keys
            .map(|(partition, key)| (*partition, hex::encode(key)))
            .collect(),
    }))
}

/// Takes a reader's wrapped keys away.
///
/// Whoever has unwrapped a key keeps it: it opens every chunk of the partition, later batches too, that they get hold of.
#[utoipa::path(delete, path = "/v1/datasets/{dataset_id}/readers/{reader_id}", tag = "readers",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("reader_id" = Uuid, Path, description = "The reader")),
    responses((status = 204, description = "Removed"), ReadFailures))]
pub(super) async fn delete_reader(
    State(app): State<App>,
    ReaderPath(dataset_id, reader_id): ReaderPath,
    _: Query<Nothing>,
) -> Result<StatusCode, Problem> {
    app.services
        .store
        .delete_reader(dataset_id, reader_id)
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives out a sealed partition.
///
/// NDJSON, streamed: a head with the names of the columns; per batch its id, sequence, rows and erased places; its sealed
/// chunks with what they are bound to; an end. `kindred open` reads it with a reader's private key and grant. Only a
/// partition that some reader of the dataset was granted is given out (`403 partition_not_granted`). A download without
/// its end is not whole.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/partitions/{partition}", tag = "readers",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("partition" = Partition, Path, description = "The partition")),
    responses((status = 200, description = "The chunks", content((String = "application/x-ndjson"))),
        (status = 403, description = "The configuration withholds it, or no reader was granted it"), ReadFailures))]
pub(super) async fn download_partition(
    State(app): State<App>,
    PartitionPath(dataset_id, partition): PartitionPath,
    _: Query<Nothing>,
) -> Result<Response, Problem> {
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    allowed(&app, partition)?;
    let readers = store.readers(dataset_id, None).await?;
    if !readers
        .iter()
        .any(|reader| reader.keys.contains_key(&partition))
    {
        let detail = format!(
            "no reader of the dataset was granted `{}`",
            partition.word()
        );
        return Err(Problem::new(Code::PartitionNotGranted, detail));
    }
    let head = json!({ "kind": "partition", "dataset_id": dataset_id, "partition": partition,
        "columns": partition_columns(&dataset.declaration, partition) });
    let mut parts = store.sealed_partition(dataset_id, partition);
    // What cannot even begin is a failure that can still be told.
    let first = parts.next().await.transpose()?;
    let mut response = Body::from_stream(lines(head, first, parts)).into_response();
    describe(response.headers_mut(), dataset_id, partition);
    Ok(response)
}

fn describe(headers: &mut HeaderMap, dataset_id: Uuid, partition: Partition) {
    let content_type = HeaderValue::from_static("application/x-ndjson");
    headers.insert(header::CONTENT_TYPE, content_type);
    let word = partition.word();
    let file = format!("attachment; filename=\"partition-{dataset_id}-{word}.ndjson\"");
    let file = HeaderValue::try_from(file).ok();
    headers.extend(file.map(|file| (header::CONTENT_DISPOSITION, file)));
}

/// An error cuts the connection: there is no end then.
fn lines(
    head: Value,
    first: Option<SealedPart>,
    mut parts: BoxStream<'static, Result<SealedPart, store::Error>>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    async_stream::try_stream! {
        yield line(&head);
        let mut next = first;
        while let Some(part) = next {
            yield line(&written(&part));
            next = parts.next().await.transpose().map_err(|error| {
                tracing::error!(%error, "a download was cut off");
                io::Error::other(error)
            })?;
        }
    }
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}

fn written(part: &SealedPart) -> Value {
    match part {
        SealedPart::Batch {
            batch_id,
            sequence,
            rows,
            erased,
        } => {
            json!({ "kind": "batch", "batch_id": batch_id, "sequence": sequence, "rows": rows, "erased": erased })
        }
        SealedPart::Chunk { place, sealed } => {
            json!({ "kind": "chunk", "sequence": place.sequence,
                "associated_data": hex::encode(place.associated_data()), "sealed": hex::encode(sealed) })
        }
        SealedPart::End { chunks } => json!({ "kind": "end", "chunks": chunks }),
    }
}
