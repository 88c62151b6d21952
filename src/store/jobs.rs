//! Jobs as their callers see them: submitted, looked at, cancelled.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use sqlx::PgConnection;
use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::types::Json;
use uuid::Uuid;

use super::page::{List, Place};
use super::statement::{
    Statement, count, database_error, json, small_count, small_stored, statement,
};
use super::{Error, NewJob, Store, budget, commit, datasets, fronts, once};
use crate::anonymize::report::Reason;
use crate::ingest::Warning;
use crate::job::{
    Answer, Job, JobFailure, JobOutcome, JobProgress, JobState, Once, Page, PageRequest,
};

const LOCK_BACKLOG: Statement = statement!("lock_backlog");
const COUNT_QUEUED_JOBS: Statement = statement!("count_queued_jobs");
const INSERT_JOB: Statement = statement!("insert_job");
const INSERT_JOB_SPEC: Statement = statement!("insert_job_spec");
const FIND_JOB: Statement = statement!("find_job");
const LIST_JOBS: Statement = statement!("list_jobs");
const CANCEL_JOB: Statement = statement!("cancel_job");
const COUNT_JOBS: Statement = statement!("count_jobs");

/// Channel that tells the ids of changed jobs.
const CHANNEL: &str = "kindred_job";

#[derive(sqlx::FromRow)]
pub(super) struct JobRow {
    job_id: Uuid,
    dataset_id: Uuid,
    kind: String,
    state: JobState,
    outcome: Option<JobOutcome>,
    reason: Option<Json<Reason>>,
    failure: Option<Json<JobFailure>>,
    warnings: Json<Vec<Warning>>,
    release_id: Option<Uuid>,
    series_id: Option<Uuid>,
    search_space: String,
    evaluations: i64,
    fraction: f64,
    phase: String,
    progress_at: DateTime<Utc>,
    attempt: i32,
    version: i64,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
}

impl From<JobRow> for Job {
    fn from(row: JobRow) -> Self {
        Self {
            job_id: row.job_id,
            dataset_id: row.dataset_id,
            kind: row.kind,
            state: row.state,
            outcome: row.outcome,
            reason: row.reason.map(|Json(reason)| reason),
            progress: JobProgress {
                evaluations: count(row.evaluations),
                search_space: row.search_space,
                fraction: row.fraction,
                phase: row.phase,
                updated_at: row.progress_at,
            },
            attempt: small_count(row.attempt),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            warnings: row.warnings.0,
            failure: row.failure.map(|Json(failure)| failure),
            release_id: row.release_id,
            series_id: row.series_id,
            version: row.version,
        }
    }
}

pub(super) async fn find(connection: &mut PgConnection, job_id: Uuid) -> Result<Job, Error> {
    let row: Option<JobRow> = sqlx::query_as(FIND_JOB.text)
        .bind(job_id)
        .fetch_optional(connection)
        .await
        .map_err(FIND_JOB.failed())?;
    row.map(Job::from).ok_or(Error::NotFound("job"))
}

/// Refuses a job beyond the longest backlog. Holds the backlog until the transaction ends.
pub(super) async fn check_backlog(
    connection: &mut PgConnection,
    max_queued: u32,
) -> Result<(), Error> {
    sqlx::query(LOCK_BACKLOG.text)
        .execute(&mut *connection)
        .await
        .map_err(LOCK_BACKLOG.failed())?;
    let queued: i64 = sqlx::query_scalar(COUNT_QUEUED_JOBS.text)
        .fetch_one(connection)
        .await
        .map_err(COUNT_QUEUED_JOBS.failed())?;
    let queued = count(queued);
    if queued < u64::from(max_queued) {
        Ok(())
    } else {
        Err(Error::BacklogFull { queued })
    }
}

pub(super) async fn insert(connection: &mut PgConnection, job: &NewJob) -> Result<Uuid, Error> {
    let job_id = Uuid::now_v7();
    let reason = job.infeasible.as_ref().map(|(reason, _)| json(reason));
    let (state, outcome, phase) = match job.infeasible {
        Some(_) => (
            JobState::Succeeded,
            Some(JobOutcome::Infeasible),
            "finished",
        ),
        None => (JobState::Queued, None, "queued"),
    };
    sqlx::query(INSERT_JOB.text)
        .bind(job_id)
        .bind(job.dataset_id)
        .bind(job.spec.kind())
        .bind(state)
        .bind(outcome)
        .bind(reason.transpose()?)
        .bind(json(&job.warnings)?)
        .bind(&job.search_space)
        .bind(phase)
        .bind(small_stored(job.max_attempts))
        .bind(job.spec.series_id())
        .execute(&mut *connection)
        .await
        .map_err(INSERT_JOB.failed())?;
    sqlx::query(INSERT_JOB_SPEC.text)
        .bind(job_id)
        .bind(json(&job.spec)?)
        .execute(connection)
        .await
        .map_err(INSERT_JOB_SPEC.failed())?;
    Ok(job_id)
}

impl Store {
    /// Queues a job, or stores it as ended, if infeasible (that takes no place in the backlog).
    ///
    /// # Errors
    /// [`Error::BacklogFull`], [`Error::BudgetExceeded`], [`Error::NotFound`] without the dataset, [`Error::KeyReused`]; the
    /// database's.
    pub async fn submit_job(
        &self,
        job: &NewJob,
        once: Option<&Once>,
        answer: impl FnOnce(&Job) -> Answer,
    ) -> Result<Answer, Error> {
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        // Nothing is drawn for a job that is known to be infeasible, so it spends nothing.
        let loss = job.spec.loss().filter(|_| job.infeasible.is_none());
        if let Some(loss) = loss {
            budget::check(&mut transaction, job.dataset_id, loss).await?;
        } else if !datasets::hold(&mut transaction, job.dataset_id).await? {
            return Err(Error::NotFound("dataset"));
        }
        if job.infeasible.is_none() {
            check_backlog(&mut transaction, job.max_queued).await?;
        }
        let job_id = insert(&mut transaction, job).await?;
        if let Some(loss) = loss {
            budget::spend(&mut transaction, job.dataset_id, job_id, loss).await?;
        }
        if let Some((_, front)) = &job.infeasible {
            fronts::insert(&mut transaction, job_id, front).await?;
        }
        let answer = answer(&find(&mut transaction, job_id).await?);
        once::answered(&mut transaction, once, Some(job.dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }

    /// One job.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn job(&self, job_id: Uuid) -> Result<Job, Error> {
        find(&mut *self.connection().await?, job_id).await
    }

    /// Newest first.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; the database's.
    pub async fn list_jobs(
        &self,
        state: Option<JobState>,
        dataset_id: Option<Uuid>,
        page: &PageRequest,
    ) -> Result<Page<Job>, Error> {
        let place = Place::parse(List::Jobs, page)?;
        let rows: Vec<JobRow> = sqlx::query_as(LIST_JOBS.text)
            .bind(state)
            .bind(dataset_id)
            .bind(place.created_at)
            .bind(place.id)
            .bind(place.rows())
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_JOBS.failed())?;
        let items = rows.into_iter().map(Job::from).collect();
        Ok(place.page(items, |job: &Job| (job.created_at, job.job_id)))
    }

    /// Cancels at once when queued; asks the worker to stop when running.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::JobFinished`] when final; the database's.
    pub async fn cancel_job(&self, job_id: Uuid) -> Result<Job, Error> {
        let mut connection = self.connection().await?;
        let row: Option<JobRow> = sqlx::query_as(CANCEL_JOB.text)
            .bind(job_id)
            .fetch_optional(&mut *connection)
            .await
            .map_err(CANCEL_JOB.failed())?;
        match row {
            Some(row) => Ok(row.into()),
            None => find(&mut connection, job_id)
                .await
                .and(Err(Error::JobFinished)),
        }
    }

    /// Jobs by state, for metrics; every state is there.
    ///
    /// # Errors
    /// The database's.
    pub async fn count_jobs(&self) -> Result<Vec<(JobState, u64)>, Error> {
        let counted: Vec<(JobState, i64)> = sqlx::query_as(COUNT_JOBS.text)
            .fetch_all(&self.pool)
            .await
            .map_err(COUNT_JOBS.failed())?;
        let counted: HashMap<_, _> = counted.into_iter().collect();
        let states = JobState::ALL.into_iter();
        Ok(states
            .map(|state| (state, counted.get(&state).copied().map_or(0, count)))
            .collect())
    }

    /// Ids of jobs as they change (and a wake-up for workers), by LISTEN on a connection of its own beside the pool;
    /// ends when the connection is lost. A wake-up only: poll besides.
    ///
    /// # Errors
    /// The database's.
    pub async fn job_changes(&self) -> Result<BoxStream<'static, Result<Uuid, Error>>, Error> {
        let failed = |error| database_error("listen", error);
        let options = self.pool.connect_options();
        let beside = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .connect_lazy_with((*options).clone());
        let mut listener = PgListener::connect_with(&beside).await.map_err(failed)?;
        listener.eager_reconnect(false);
        listener.listen(CHANNEL).await.map_err(failed)?;
        let notes = futures::stream::try_unfold(listener, |mut listener| async move {
            let note = listener.try_recv().await?;
            Ok::<_, sqlx::Error>(note.map(|note| (note, listener)))
        });
        let ids = notes
            .map_err(failed)
            .try_filter_map(|note| async move { Ok(note.payload().parse::<Uuid>().ok()) });
        Ok(ids.boxed())
    }
}
