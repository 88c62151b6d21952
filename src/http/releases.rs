//! Releases: make, list, look at the record, download.

use std::io;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::documents::NewRelease;
use super::extract::{Id, Posted};
use super::failures::{DownloadFailures, ReadFailures, WriteFailures};
use super::jobs::matches;
use super::negotiate::{self, choose};
use super::once::{Answered, answer};
use super::problem::Problem;
use super::query::{FromQuery, Nothing, Parameters, Query};
use crate::anonymize::table::Block;
use crate::declaration::{ReleaseDemand, ValueType};
use crate::fault::{Fault, FaultCode};
use crate::form::{Form, Writer};
use crate::job::{PageRequest, ReleaseRecord};
use crate::publish::publish;
use crate::{series, store};

/// A release: the record, and where its rows are.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReleaseView {
    /// The record for the data-protection officer.
    #[serde(flatten)]
    record: ReleaseRecord,
    /// Where to go on.
    links: ReleaseLinks,
}

/// Where to go on from a release.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReleaseLinks {
    /// Its rows.
    data: String,
}

impl ReleaseView {
    fn of(record: &ReleaseRecord) -> Self {
        Self {
            record: record.clone(),
            links: ReleaseLinks {
                data: format!("/v1/releases/{}/data", record.release_id),
            },
        }
    }
}

/// A page of releases, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReleaseList {
    /// The releases.
    items: Vec<ReleaseView>,
    /// `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// Which releases.
#[derive(Debug)]
pub(super) struct ReleasesQuery {
    dataset_id: Option<Uuid>,
    page: PageRequest,
}

impl FromQuery for ReleasesQuery {
    const NAMES: &'static [&'static str] = &["dataset_id", "limit", "cursor"];

    fn take(parameters: &mut Parameters) -> Self {
        Self {
            dataset_id: parameters.id("dataset_id"),
            page: parameters.page(),
        }
    }
}

/// How to download.
#[derive(Debug)]
pub(super) struct DownloadQuery {
    format: Option<String>,
    escape_formulas: bool,
    only_added: bool,
}

impl FromQuery for DownloadQuery {
    const NAMES: &'static [&'static str] = &["format", "escape_formulas", "rows"];

    fn take(parameters: &mut Parameters) -> Self {
        let rows = parameters.text("rows");
        if !matches!(rows.as_deref(), None | Some("all" | "added")) {
            let detail = "`rows` must be `all` or `added`";
            parameters.refuse("rows", FaultCode::UnknownValue, detail);
        }
        Self {
            format: parameters.text("format"),
            escape_formulas: parameters.flag("escape_formulas"),
            only_added: rows.as_deref() == Some("added"),
        }
    }
}

/// Makes a release of one solution of a front.
///
/// The rows are rendered, measured once more by a verifier that shares no code with the search, and stored only if
/// they pass; otherwise `500 verification_failed` and nothing can be downloaded. Repeating the same `Idempotency-Key`
/// gives the first release again.
#[utoipa::path(post, path = "/v1/releases", tag = "releases",
    params(("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = NewRelease, description = "Which solution, and how its rows are released"),
    responses((status = 201, body = ReleaseView, description = "Released",
        headers(("Location" = String, description = "Where the release is"))), WriteFailures))]
pub(super) async fn create_release(
    State(app): State<App>,
    posted: Posted,
) -> Result<Answered, Problem> {
    let demand = ReleaseDemand::parse(&posted.body).map_err(Problem::faults)?;
    let (store, pool) = (&app.services.store, &app.services.pool);
    let (front, solution) = store.solution(demand.job_id, demand.solution_id).await?;
    let (draft, record) = publish(store, pool, &front, &solution, &demand).await?;
    let made = |record: &ReleaseRecord| {
        let location = format!("/v1/releases/{}", record.release_id);
        answer(
            StatusCode::CREATED,
            Some(location),
            &ReleaseView::of(record),
        )
    };
    let once = posted.once.as_ref();
    Ok(Answered(
        store.commit_release(draft, &record, once, made).await?,
    ))
}

/// Lists releases, newest first.
///
/// Filters by dataset.
#[utoipa::path(get, path = "/v1/releases", tag = "releases",
    params(("dataset_id" = Option<Uuid>, Query, description = "Only releases of this dataset"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Items of the page; default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, body = ReleaseList, description = "A page"), ReadFailures))]
pub(super) async fn list_releases(
    State(app): State<App>,
    Query(query): Query<ReleasesQuery>,
) -> Result<axum::Json<ReleaseList>, Problem> {
    let store = &app.services.store;
    let page = store.list_releases(query.dataset_id, &query.page).await?;
    Ok(axum::Json(ReleaseList {
        items: page.items.iter().map(ReleaseView::of).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Shows the record of a release.
///
/// Dataset and batches, configuration and its SHA-256, hierarchy versions, recoding, seeds, achieved privacy and risks,
/// counts, what the verifier measured, SHA-256 of the CSV. It holds no cell value.
#[utoipa::path(get, path = "/v1/releases/{release_id}", tag = "releases",
    params(("release_id" = Uuid, Path, description = "The release")),
    responses((status = 200, body = ReleaseView, description = "The record"), ReadFailures))]
pub(super) async fn read_release(
    State(app): State<App>,
    Id(release_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<ReleaseView>, Problem> {
    let (store, pool) = (&app.services.store, &app.services.pool);
    let record = series::rendered(store, pool, release_id).await?;
    Ok(axum::Json(ReleaseView::of(&record)))
}

/// The counterfeits of a release.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CounterfeitsView {
    /// The release.
    release_id: Uuid,
    /// Rows with different sensitive values that every class has at least.
    m: u64,
    /// The sensitive attribute.
    attribute: String,
    /// Counterfeit rows in the data.
    counterfeits: u64,
    /// Classes that have any, ascending.
    classes: Vec<ClassCounterfeits>,
}

/// The counterfeits of a class.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ClassCounterfeits {
    /// As in the column `class_id`.
    class_id: u64,
    /// Counterfeit rows of the class.
    counterfeits: u64,
}

/// Tells how many counterfeits each class has.
///
/// Of a release of an m-invariant series only. Which rows they are is told nowhere.
#[utoipa::path(get, path = "/v1/releases/{release_id}/counterfeits", tag = "releases",
    params(("release_id" = Uuid, Path, description = "The release")),
    responses((status = 200, body = CounterfeitsView, description = "The counts"), ReadFailures))]
pub(super) async fn read_counterfeits(
    State(app): State<App>,
    Id(release_id): Id,
    _: Query<Nothing>,
) -> Result<axum::Json<CounterfeitsView>, Problem> {
    let (store, pool) = (&app.services.store, &app.services.pool);
    let record = series::rendered(store, pool, release_id).await?;
    let found = record
        .invariance
        .ok_or_else(|| Problem::not_found("list of counterfeits"))?;
    let classes = found.classes.into_iter();
    Ok(axum::Json(CounterfeitsView {
        release_id,
        m: found.m,
        attribute: found.attribute,
        counterfeits: found.counterfeits,
        classes: classes
            .map(|(class_id, counterfeits)| ClassCounterfeits {
                class_id,
                counterfeits,
            })
            .collect(),
    }))
}

/// Downloads the rows of a release.
///
/// Streamed; every form holds the same rows and cells. Columns stand in declared order, identifying ones left out; `*`
/// is a fully generalised cell. A download that cannot be completed is cut off, never ended as if it were whole.
/// `escape_formulas` puts `'` before text cells of a CSV that a spreadsheet would run.
#[utoipa::path(get, path = "/v1/releases/{release_id}/data", tag = "releases",
    params(("release_id" = Uuid, Path, description = "The release"),
        ("format" = Option<String>, Query, description = "`csv` (default), `json` or `ndjson`; wins over `Accept`"),
        ("escape_formulas" = Option<bool>, Query, description = "Default false"),
        ("rows" = Option<String>, Query, description = "`all` (default) or, in a series, `added`"),
        ("If-None-Match" = Option<String>, Header, description = "`ETag` of an earlier download")),
    responses((status = 200, description = "The rows", content(
            (String = "text/csv"), (Vec<serde_json::Value> = "application/json"), (String = "application/x-ndjson")),
            headers(("ETag" = String, description = "Of the CSV: its SHA-256"))),
        (status = 304, description = "Nothing changed"), DownloadFailures))]
pub(super) async fn download_release(
    State(app): State<App>,
    Id(release_id): Id,
    Query(query): Query<DownloadQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let offered = [Form::Csv, Form::Json, Form::Ndjson];
    let form = choose(&headers, query.format.as_deref(), &offered)?;
    let (store, pool) = (&app.services.store, &app.services.pool);
    let record = series::rendered(store, pool, release_id).await?;
    let escaped = escaped(&app, &record, query.escape_formulas && form == Form::Csv).await?;
    let is_plain_csv = form == Form::Csv && !escaped.contains(&true) && !query.only_added;
    let tag = format!("\"{}\"", record.csv_sha256.as_deref().unwrap_or_default());
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    if is_plain_csv && known.is_some_and(|known| matches(known, &tag)) {
        let tag = [(header::ETAG, tag)];
        return Ok((StatusCode::NOT_MODIFIED, tag).into_response());
    }
    let mut blocks = if query.only_added {
        added(&app, release_id).await?
    } else {
        store.release_blocks(release_id)
    };
    // What cannot even begin is a failure that can still be told.
    let first = blocks.next().await.transpose()?;
    let writer = Writer::new(form, record.columns.clone(), escaped);
    let mut response = Body::from_stream(written(writer, first, blocks)).into_response();
    describe(response.headers_mut(), &record, form);
    if is_plain_csv {
        let headers = response.headers_mut();
        headers.extend(
            HeaderValue::try_from(tag)
                .ok()
                .map(|tag| (header::ETAG, tag)),
        );
        let bytes = record.csv_bytes.map(HeaderValue::from);
        headers.extend(bytes.map(|bytes| (header::CONTENT_LENGTH, bytes)));
    }
    Ok(response)
}

/// The rows that are new in a release of a series.
async fn added(
    app: &App,
    release_id: Uuid,
) -> Result<BoxStream<'static, Result<Block, store::Error>>, Problem> {
    let (store, pool) = (&app.services.store, &app.services.pool);
    let Some(blocks) = series::added(store, pool, release_id).await? else {
        let detail = "only a release of a series has rows added since the one before";
        let fault = Fault::at("/query/rows", FaultCode::NotSupported, detail);
        return Err(Problem::fault(fault));
    };
    Ok(futures::stream::iter(blocks.into_iter().map(Ok)).boxed())
}

fn describe(headers: &mut HeaderMap, record: &ReleaseRecord, form: Form) {
    let content_type = HeaderValue::from_static(negotiate::content_type(form));
    headers.insert(header::CONTENT_TYPE, content_type);
    headers.insert(header::VARY, HeaderValue::from_static("accept"));
    let (id, ending) = (record.release_id, negotiate::ending(form));
    let file = format!("attachment; filename=\"release-{id}.{ending}\"");
    headers.extend(
        HeaderValue::try_from(file)
            .ok()
            .map(|file| (header::CONTENT_DISPOSITION, file)),
    );
}

/// Which columns to escape: text ones, if asked for (user-cases UC-81).
async fn escaped(app: &App, record: &ReleaseRecord, wanted: bool) -> Result<Vec<bool>, Problem> {
    if !wanted {
        return Ok(vec![false; record.columns.len()]);
    }
    let dataset = app.services.store.dataset(record.dataset_id).await?;
    let attributes = &dataset.declaration.attributes;
    let is_text = |column: &String| {
        let declared = attributes
            .iter()
            .find(|attribute| attribute.name == *column);
        declared.is_none_or(|declared| declared.value_type == ValueType::Text)
    };
    Ok(record.columns.iter().map(is_text).collect())
}

/// The rows in a form, a block at a time. An error cuts the connection: hyper sends no end of body then.
fn written(
    mut writer: Writer,
    first: Option<Block>,
    mut blocks: BoxStream<'static, Result<Block, store::Error>>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    async_stream::try_stream! {
        let mut out = Vec::new();
        writer.begin(&mut out);
        let mut next = first;
        while let Some(block) = next {
            // A block is some milliseconds of work: not for the threads that answer requests.
            let write = move || {
                writer.write(&block, &mut out);
                (writer, out)
            };
            let written = tokio::task::spawn_blocking(write).await.map_err(io::Error::other)?;
            writer = written.0;
            yield Bytes::from(written.1);
            out = Vec::new();
            next = blocks.next().await.transpose().map_err(|error| {
                tracing::error!(%error, "a download was cut off");
                io::Error::other(error)
            })?;
        }
        writer.end(&mut out);
        if !out.is_empty() {
            yield Bytes::from(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::table::BlockBuilder;

    #[tokio::test]
    async fn a_download_that_breaks_is_cut_off_and_not_ended() {
        let mut builder = BlockBuilder::new(1);
        builder.push(0, Some("1"));
        let broken = Err(store::Error::Form("block".to_owned()));
        let blocks = futures::stream::iter([broken]).boxed();
        let writer = Writer::new(Form::Json, vec!["age".to_owned()], vec![false]);
        let written = written(writer, Some(builder.finish()), blocks);
        let chunks: Vec<_> = written.collect().await;
        assert_eq!(chunks.len(), 2);
        assert!(chunks[0].is_ok() && chunks[1].is_err());
    }
}
