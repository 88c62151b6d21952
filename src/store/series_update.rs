//! One update of a series: a transaction that holds the series, from the first read to the end of the job.
//!
//! Whatever breaks in between, nothing has changed: index, log, state, release and job change together or not at all.
//! What is decided is decided elsewhere, by pure code on a thread that may block.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::jobs::JobRow;
use super::series::{SeriesRow as StoredSeries, open_state};
use super::series_codec::encode_state;
use super::series_index::PgIndex;
use super::series_log;
use super::series_log::SeriesRelease;
use super::series_sealed::SeriesKeys;
use super::statement::{Statement, json, small_count, small_stored, statement, stored};
use super::{Error, Store, datasets, maintenance};
use crate::anonymize::report::Reason;
use crate::anonymize::series::{Events, RowId, SeriesRow, State, Value};
use crate::anonymize::table::Schema;
use crate::ingest::Warning;
use crate::job::{BatchRecord, Job, JobOutcome, Lease, ReleaseRecord, Series, Stopped};
use crate::vault::SeriesPart;

const CLEAR_SERIES: Statement = statement!("clear_series");
const STOP_SERIES: Statement = statement!("stop_series");
const LOCK_SERIES: Statement = statement!("lock_series");
const UPDATE_SERIES: Statement = statement!("update_series");
const LIST_ERASED_SINCE: Statement = statement!("list_erased_since");
const FIND_SERIES_PARENT: Statement = statement!("find_series_parent");
const FINISH_SERIES_JOB: Statement = statement!("finish_series_job");

/// What an update is decided on.
#[derive(Debug)]
pub struct SeriesInput {
    /// The series, before.
    pub series: Series,
    /// Its declaration, compiled.
    pub schema: Schema,
    /// What it keeps; `None` before its first update.
    pub state: Option<State>,
    /// What came since.
    pub events: Events,
    /// Batches whose rows are in the release.
    pub batches: Vec<BatchRecord>,
    /// Its last release.
    pub parent: Option<Uuid>,
    /// Database time.
    pub now: DateTime<Utc>,
}

/// What was decided.
#[derive(Debug)]
pub struct SeriesAnswer {
    /// What the series keeps.
    pub state: State,
    /// How the job ends.
    pub outcome: JobOutcome,
    /// Why nothing.
    pub reason: Option<Reason>,
    /// The release, if there is one.
    pub release: Option<SeriesRelease>,
    /// What the caller of the job should know.
    pub warnings: Vec<Warning>,
}

impl Store {
    /// Notes that nothing can be applied before a batch; gives the error that says so.
    pub(super) async fn stop_series(&self, series_id: Uuid, stopped: &Stopped) -> Error {
        let noted = sqlx::query(STOP_SERIES.text)
            .bind(series_id)
            .bind(small_stored(stopped.batch))
            .bind(&stopped.column)
            .execute(&self.pool)
            .await;
        match noted {
            Ok(_) => Error::Unplaced {
                column: stopped.column.clone(),
            },
            Err(error) => STOP_SERIES.failed()(error),
        }
    }

    /// Applies everything up to a batch and a deletion that a series has not applied, and ends the job.
    ///
    /// `decide` runs on a thread that may block, within the transaction. An update that finds everything applied ends
    /// as unchanged without asking it. A batch with a value that the series' hierarchies do not place stops it there: what
    /// came before and all deletions are applied.
    ///
    /// # Errors
    /// [`Error::Unplaced`] if nothing can be applied before such a batch; [`Error::LeaseLost`] if the lease is not held or the job is to be cancelled, [`Error::NotFound`]; the index's and
    /// the database's; whatever `decide` gives. Nothing has changed then.
    pub async fn update_series<E, D>(
        &self,
        lease: &Lease,
        (series_id, through): (Uuid, (u32, u32)),
        decide: D,
    ) -> Result<Job, E>
    where
        E: From<Error> + Send + 'static,
        D: FnOnce(&mut PgIndex<'_>, SeriesInput) -> Result<SeriesAnswer, E> + Send + 'static,
    {
        let keys = self.series_keys(lease.dataset_id, series_id).await?;
        let (store, lease) = (self.clone(), lease.clone());
        let runtime = Handle::current();
        let update = move || {
            // A transaction that is given up returns its connection through the runtime.
            let _entered = runtime.enter();
            store.update_blocking(&lease, &keys, through, decide, &runtime)
        };
        match tokio::task::spawn_blocking(update).await {
            Ok(done) => done,
            Err(_) => Err(Error::Form("the update did not come to its end".to_owned()).into()),
        }
    }

    fn update_blocking<E, D>(
        &self,
        lease: &Lease,
        keys: &SeriesKeys,
        (through_batch, through_deletion): (u32, u32),
        decide: D,
        runtime: &Handle,
    ) -> Result<Job, E>
    where
        E: From<Error>,
        D: FnOnce(&mut PgIndex<'_>, SeriesInput) -> Result<SeriesAnswer, E>,
    {
        let mut transaction = runtime.block_on(self.begin())?;
        let (series, sealed) = runtime.block_on(lock(&mut transaction, lease, keys.series_id))?;
        if is_applied(&series, (through_batch, through_deletion)) {
            let done = (JobOutcome::Unchanged, None, None);
            let job = runtime.block_on(finish(&mut transaction, lease, done, &[]))?;
            runtime.block_on(super::commit(transaction))?;
            return Ok(job);
        }
        let mut through = (
            through_batch.max(series.through_batch),
            through_deletion.max(series.through_deletion),
        );
        let schema = datasets::compile(&series.declaration)?;
        let mut state = open_state(&series, sealed.as_deref(), keys)?;
        let mut after = series.through_batch;
        if series.version == 0 && state.is_some() {
            // Nothing is out: it begins anew, so that its first cuts suit all rows that there are by now.
            let cleared = sqlx::query(CLEAR_SERIES.text)
                .bind(series.series_id)
                .execute(&mut *transaction);
            let cleared = runtime.block_on(cleared);
            cleared.map_err(CLEAR_SERIES.failed())?;
            (state, after) = (None, 0);
        }
        let added = self.series_rows(series.dataset_id, &schema, after, through.0);
        let mut added = runtime.block_on(added)?;
        let stopped = stop_before(&schema, &mut added, &mut through);
        if let Some(stopped) = stopped.as_ref().filter(|_| is_applied(&series, through)) {
            drop(transaction);
            return Err(runtime
                .block_on(self.stop_series(keys.series_id, stopped))
                .into());
        }
        let erased = runtime.block_on(erased_since(&mut transaction, &series, through.1))?;
        let batches = runtime.block_on(self.batches(series.dataset_id, through.0))?;
        let parent = runtime.block_on(parent(&mut transaction, &series))?;
        let now = runtime.block_on(maintenance::now(&mut transaction))?;
        let mut index = PgIndex::new(&mut transaction, runtime.clone(), keys.clone());
        let input = SeriesInput {
            events: Events {
                added,
                erased: places(&mut index, &erased)?,
            },
            schema,
            state,
            batches,
            parent,
            now,
            series,
        };
        let answer = decide(&mut index, input)?;
        index.flush()?;
        let applied = apply(&mut transaction, lease, keys, (through, stopped), &answer);
        let job = runtime.block_on(applied)?;
        runtime.block_on(super::commit(transaction))?;
        Ok(job)
    }
}

/// Whether a series has applied everything up to a batch and a deletion.
pub(super) fn is_applied(series: &Series, (batch, deletion): (u32, u32)) -> bool {
    batch <= series.through_batch && deletion <= series.through_deletion
}

/// Takes the first batch that cannot be placed and all later ones out of what is to be applied; gives that batch.
pub(super) fn stop_before(
    schema: &Schema,
    rows: &mut Vec<SeriesRow>,
    through: &mut (u32, u32),
) -> Option<Stopped> {
    let stopped = first_unplaced(schema, rows)?;
    through.0 = through.0.min(stopped.batch - 1);
    rows.retain(|row| row.id.batch < stopped.batch);
    Some(stopped)
}

/// The first batch with a row that the hierarchies of the series do not place: those of the dataset may be others by
/// now. It waits with all later ones; what came before, and deletions, are applied.
fn first_unplaced(schema: &Schema, rows: &[SeriesRow]) -> Option<Stopped> {
    let mut first: Option<Stopped> = None;
    for (index, position) in schema.quasi_identifiers().into_iter().enumerate() {
        let attribute = &schema.attributes()[position];
        let Some(hierarchy) = &attribute.hierarchy else {
            continue;
        };
        let mut placed: HashMap<&str, bool> = HashMap::new();
        for row in rows {
            let Some(value) = row.quasi.get(index).and_then(Option::as_deref) else {
                continue;
            };
            let is_placed = placed
                .entry(value)
                .or_insert_with(|| hierarchy.covers(value).is_ok());
            let is_first = first
                .as_ref()
                .is_none_or(|found| row.id.batch < found.batch);
            if !*is_placed && is_first {
                first = Some(Stopped {
                    batch: row.id.batch,
                    column: attribute.declaration.name.clone(),
                });
            }
        }
    }
    first
}

/// An erased row and its tuple.
type ErasedRow = (RowId, Arc<[Value]>);

/// Erased rows that the index has. One that was erased before it came here has none.
fn places(index: &mut PgIndex<'_>, erased: &[(RowId, [u8; 16])]) -> Result<Vec<ErasedRow>, Error> {
    let tokens = erased.iter().map(|(_, token)| token.to_vec()).collect();
    let ids: BTreeSet<RowId> = erased.iter().map(|(id, _)| *id).collect();
    let found = index.rows_at(tokens)?.into_iter();
    let mut found: Vec<ErasedRow> = found
        .map(|row| (row.id, row.quasi))
        .filter(|(id, _)| ids.contains(id))
        .collect();
    found.sort_by_key(|(id, _)| *id);
    Ok(found)
}

/// Holds the dataset and takes the series for this transaction alone.
pub(super) async fn lock(
    connection: &mut PgConnection,
    lease: &Lease,
    series_id: Uuid,
) -> Result<(Series, Option<Vec<u8>>), Error> {
    if !datasets::hold(&mut *connection, lease.dataset_id).await? {
        return Err(Error::LeaseLost);
    }
    let row: Option<StoredSeries> = sqlx::query_as(LOCK_SERIES.text)
        .bind(series_id)
        .fetch_optional(connection)
        .await
        .map_err(LOCK_SERIES.failed())?;
    row.map(StoredSeries::open).ok_or(Error::NotFound("series"))
}

/// The last release.
pub(super) async fn parent(
    connection: &mut PgConnection,
    series: &Series,
) -> Result<Option<Uuid>, Error> {
    sqlx::query_scalar(FIND_SERIES_PARENT.text)
        .bind(series.series_id)
        .bind(small_stored(series.version))
        .fetch_optional(connection)
        .await
        .map_err(FIND_SERIES_PARENT.failed())
}

async fn erased_since(
    connection: &mut PgConnection,
    series: &Series,
    through: u32,
) -> Result<Vec<(RowId, [u8; 16])>, Error> {
    let rows: Vec<(i32, i64, Vec<u8>)> = sqlx::query_as(LIST_ERASED_SINCE.text)
        .bind(series.dataset_id)
        .bind(small_stored(series.through_deletion))
        .bind(small_stored(through))
        .bind(small_stored(series.through_batch))
        .fetch_all(connection)
        .await
        .map_err(LIST_ERASED_SINCE.failed())?;
    let rows = rows.into_iter().map(|(batch, row, token)| {
        let id = RowId {
            batch: small_count(batch),
            row: u32::try_from(row).unwrap_or(u32::MAX),
        };
        let token = token.as_slice().try_into();
        let token = token.map_err(|_| Error::Form("a token is cut".to_owned()))?;
        Ok((id, token))
    });
    rows.collect()
}

/// Stores the state, the release and the end of the job.
pub(super) async fn apply(
    connection: &mut PgConnection,
    lease: &Lease,
    keys: &SeriesKeys,
    ((through_batch, through_deletion), stopped): ((u32, u32), Option<Stopped>),
    answer: &SeriesAnswer,
) -> Result<Job, Error> {
    let state = &answer.state;
    let version = state.version;
    let counts = &state.counts;
    // Under 0 are those that wait for longer than allowed: they count as suppressed.
    let mut since = state.waiting.iter();
    let since = since.find(|(since, rows)| **since > 0 && **rows > 0);
    let oldest = since.map(|(since, _)| small_stored(state.updates.saturating_sub(*since)));
    sqlx::query(UPDATE_SERIES.text)
        .bind(keys.series_id)
        .bind(small_stored(version))
        .bind(small_stored(through_batch))
        .bind(small_stored(through_deletion))
        .bind(keys.seal(SeriesPart::State { version }, &encode_state(state))?)
        .bind(stored(counts.received))
        .bind(stored(counts.released))
        .bind(stored(counts.pending))
        .bind(stored(counts.suppressed))
        .bind(stored(counts.classes))
        .bind(oldest)
        .bind(stored(state.withheld()))
        .bind(stopped.as_ref().map(|stopped| small_stored(stopped.batch)))
        .bind(stopped.map(|stopped| stopped.column))
        .execute(&mut *connection)
        .await
        .map_err(UPDATE_SERIES.failed())?;
    if let Some(release) = &answer.release {
        series_log::insert(&mut *connection, release, keys).await?;
    }
    let record = answer.release.as_ref().map(|release| &release.record);
    let done = (answer.outcome, answer.reason.as_ref(), record);
    finish(connection, lease, done, &answer.warnings).await
}

pub(super) async fn finish(
    connection: &mut PgConnection,
    lease: &Lease,
    (outcome, reason, record): (JobOutcome, Option<&Reason>, Option<&ReleaseRecord>),
    warnings: &[Warning],
) -> Result<Job, Error> {
    let row: Option<JobRow> = sqlx::query_as(FINISH_SERIES_JOB.text)
        .bind(lease.job_id)
        .bind(lease.token)
        .bind(outcome)
        .bind(reason.map(json).transpose()?)
        .bind(record.map(|record| record.release_id))
        .bind(json(&warnings)?)
        .fetch_optional(connection)
        .await
        .map_err(FINISH_SERIES_JOB.failed())?;
    row.map(Job::from).ok_or(Error::LeaseLost)
}
