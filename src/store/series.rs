//! Series as their callers see them: begun, looked at, kept up to date by jobs that batches and deletions queue.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::page::{List, Place};
use super::series_codec::decode_state;
use super::series_sealed::SeriesKeys;
use super::statement::{Statement, count, json, small_count, small_stored, statement};
use super::{Error, NewJob, Store, commit, datasets, jobs, once};
use crate::anonymize::series::{Counts, NodeKey, State};
use crate::declaration::{DatasetDeclaration, SeriesDemand};
use crate::ingest::Warning;
use crate::job::{Answer, Job, JobSpec, Once, Page, PageRequest, QueuedUpdate, Series, Stopped};
use crate::vault::{Purpose, SeriesPart};

const INSERT_SERIES: Statement = statement!("insert_series");
const FIND_SERIES: Statement = statement!("find_series");
const LIST_SERIES: Statement = statement!("list_series");
const COUNT_SUCCESSIVE_RELEASES: Statement = statement!("count_successive_releases");
const LIST_SERIES_OF_DATASET: Statement = statement!("list_series_of_dataset");

/// A series in the database.
#[derive(sqlx::FromRow)]
pub(super) struct SeriesRow {
    series_id: Uuid,
    dataset_id: Uuid,
    name: String,
    demand: Json<SeriesDemand>,
    declaration: Json<DatasetDeclaration>,
    version: i32,
    through_batch: i32,
    through_deletion: i32,
    state: Option<Vec<u8>>,
    received: i64,
    released: i64,
    pending: i64,
    suppressed: i64,
    classes: i64,
    oldest_pending: Option<i32>,
    withheld: i64,
    stopped_batch: Option<i32>,
    stopped_column: Option<String>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl SeriesRow {
    /// The series, and its state, sealed.
    pub(super) fn open(self) -> (Series, Option<Vec<u8>>) {
        let series = Series {
            series_id: self.series_id,
            dataset_id: self.dataset_id,
            name: self.name,
            demand: self.demand.0,
            declaration: self.declaration.0,
            version: small_count(self.version),
            through_batch: small_count(self.through_batch),
            through_deletion: small_count(self.through_deletion),
            counts: Counts {
                received: count(self.received),
                released: count(self.released),
                pending: count(self.pending),
                suppressed: count(self.suppressed),
                classes: count(self.classes),
            },
            oldest_pending: self.oldest_pending.map(small_count),
            withheld: count(self.withheld),
            stopped: self
                .stopped_batch
                .zip(self.stopped_column)
                .map(|(batch, column)| Stopped {
                    batch: small_count(batch),
                    column,
                }),
            created_at: self.created_at,
            updated_at: self.updated_at,
        };
        (series, self.state)
    }
}

/// The state of a series, opened.
pub(super) fn open_state(
    series: &Series,
    sealed: Option<&[u8]>,
    keys: &SeriesKeys,
) -> Result<Option<State>, Error> {
    let version = series.version;
    sealed
        .map(|sealed| decode_state(&keys.open(SeriesPart::State { version }, sealed)?))
        .transpose()
}

/// Queues one update job per series of a dataset whose lock this transaction holds; the backlog's limit is not asked,
/// as the rows are there already.
pub(super) async fn queue_updates(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    (through_batch, through_deletion): (u32, u32),
) -> Result<Vec<QueuedUpdate>, Error> {
    let series: Vec<(Uuid, i32)> = sqlx::query_as(LIST_SERIES_OF_DATASET.text)
        .bind(dataset_id)
        .fetch_all(&mut *connection)
        .await
        .map_err(LIST_SERIES_OF_DATASET.failed())?;
    let mut updates = Vec::with_capacity(series.len());
    for (series_id, max_attempts) in series {
        let spec = JobSpec::SeriesUpdate {
            series_id,
            through_batch,
            through_deletion,
        };
        let job = update_job(dataset_id, spec, small_count(max_attempts));
        let job_id = jobs::insert(connection, &job).await?;
        updates.push(QueuedUpdate { series_id, job_id });
    }
    Ok(updates)
}

/// Other releases of the same rows are not compared with those of a series (algorithms.md C.7).
fn overlap((series, releases): (i64, i64)) -> Vec<Warning> {
    if series == 0 && releases == 0 {
        return Vec::new();
    }
    let detail = format!(
        "{series} other series and {releases} releases hold rows of this dataset: whoever has two of them can combine \
         them, and what a series promises is promised of its own releases only"
    );
    vec![Warning {
        code: "releases_overlap".to_owned(),
        detail,
        column: None,
    }]
}

fn update_job(dataset_id: Uuid, spec: JobSpec, max_attempts: u32) -> NewJob {
    NewJob {
        dataset_id,
        spec,
        search_space: "0".to_owned(),
        warnings: Vec::new(),
        infeasible: None,
        max_attempts,
        max_queued: u32::MAX,
    }
}

impl Store {
    /// Begins a series on the rows that its dataset has and queues the job of its first release.
    ///
    /// # Errors
    /// [`Error::BacklogFull`], [`Error::NotFound`] without the dataset, [`Error::KeyReused`]; the database's.
    pub async fn create_series(
        &self,
        dataset_id: Uuid,
        (name, demand): (&str, &SeriesDemand),
        (max_attempts, max_queued): (u32, u32),
        once: Option<&Once>,
        answer: impl FnOnce(&Job) -> Answer,
    ) -> Result<Answer, Error> {
        let series_id = Uuid::now_v7();
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        // Locked, so that no batch comes between the input and the updates that later batches queue.
        let locked = datasets::lock(&mut transaction, dataset_id).await?;
        jobs::check_backlog(&mut transaction, max_queued).await?;
        // Datasets of earlier versions lack the key of series.
        self.insert_data_keys(&mut transaction, dataset_id).await?;
        sqlx::query(INSERT_SERIES.text)
            .bind(series_id)
            .bind(dataset_id)
            .bind(name)
            .bind(json(demand)?)
            .bind(json(&locked.declaration)?)
            .bind(small_stored(max_attempts))
            .execute(&mut *transaction)
            .await
            .map_err(INSERT_SERIES.failed())?;
        let spec = JobSpec::SeriesUpdate {
            series_id,
            through_batch: locked.batches,
            through_deletion: locked.deletions,
        };
        let mut job = update_job(dataset_id, spec, max_attempts);
        let others: (i64, i64) = sqlx::query_as(COUNT_SUCCESSIVE_RELEASES.text)
            .bind(dataset_id)
            .bind(series_id)
            .fetch_one(&mut *transaction)
            .await
            .map_err(COUNT_SUCCESSIVE_RELEASES.failed())?;
        job.warnings = overlap(others);
        let job_id = jobs::insert(&mut transaction, &job).await?;
        let answer = answer(&jobs::find(&mut transaction, job_id).await?);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }

    /// One series, and the cut nodes of each quasi-identifier that its released rows bear.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Sealed`] with another master key; the database's.
    pub async fn series(&self, series_id: Uuid) -> Result<(Series, Vec<Vec<NodeKey>>), Error> {
        let row: Option<SeriesRow> = sqlx::query_as(FIND_SERIES.text)
            .bind(series_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_SERIES.failed())?;
        let (series, sealed) = row.ok_or(Error::NotFound("series"))?.open();
        let keys = self.series_keys(series.dataset_id, series_id).await?;
        let state = open_state(&series, sealed.as_deref(), &keys)?;
        Ok((
            series,
            state.map_or_else(Vec::new, |state| state.released_nodes()),
        ))
    }

    /// Newest first.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; the database's.
    pub async fn list_series(
        &self,
        dataset_id: Option<Uuid>,
        page: &PageRequest,
    ) -> Result<Page<Series>, Error> {
        let place = Place::parse(List::Series, page)?;
        let rows: Vec<SeriesRow> = sqlx::query_as(LIST_SERIES.text)
            .bind(dataset_id)
            .bind(place.created_at)
            .bind(place.id)
            .bind(place.rows())
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_SERIES.failed())?;
        let items = rows.into_iter().map(|row| row.open().0).collect();
        Ok(place.page(items, |series: &Series| {
            (series.created_at, series.series_id)
        }))
    }

    pub(super) async fn series_keys(
        &self,
        dataset_id: Uuid,
        series_id: Uuid,
    ) -> Result<SeriesKeys, Error> {
        Ok(SeriesKeys {
            series_id,
            sealing: self.data_key(dataset_id, Purpose::Series).await?.into(),
            tokens: self.data_key(dataset_id, Purpose::Token).await?.into(),
        })
    }
}
