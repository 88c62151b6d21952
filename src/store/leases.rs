//! The lease protocol: claim, renew, finish, reap. Every write of a worker shows its token; after the lease is lost none
//! takes effect. All clocks are the database's.

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::jobs::JobRow;
use super::statement::{Statement, json, small_count, statement, stored};
use super::{
    Error, Finish, Heartbeat, ReleaseDraft, Store, commit, datasets, front_partitions, fronts,
    releases, reports,
};
use crate::anonymize::Progress;
use crate::anonymize::report::Reason;
use crate::job::{Job, JobOutcome, JobSpec, Lease, ReleaseRecord};

const CLAIM_JOB: Statement = statement!("claim_job");
const RENEW_LEASE: Statement = statement!("renew_lease");
const FINISH_JOB_SUCCEEDED: Statement = statement!("finish_job_succeeded");
const FINISH_JOB_FAILED: Statement = statement!("finish_job_failed");
const FINISH_JOB_CANCELLED: Statement = statement!("finish_job_cancelled");
const FINISH_JOB_RELEASED: Statement = statement!("finish_job_released");
const REAP_JOBS: Statement = statement!("reap_jobs");

#[derive(sqlx::FromRow)]
struct LeaseRow {
    job_id: Uuid,
    dataset_id: Uuid,
    spec: Json<JobSpec>,
    attempt: i32,
    lease_token: Uuid,
}

impl Store {
    /// Takes the oldest queued job that may run now, if any.
    ///
    /// # Errors
    /// The database's.
    pub async fn claim_job(&self, lease_seconds: f64) -> Result<Option<Lease>, Error> {
        let row: Option<LeaseRow> = sqlx::query_as(CLAIM_JOB.text)
            .bind(lease_seconds)
            .fetch_optional(&self.pool)
            .await
            .map_err(CLAIM_JOB.failed())?;
        Ok(row.map(|row| Lease {
            job_id: row.job_id,
            dataset_id: row.dataset_id,
            spec: row.spec.0,
            attempt: small_count(row.attempt),
            token: row.lease_token,
        }))
    }

    /// Prolongs a lease and stores progress if given (evaluations, fraction, phase). An expired lease is lost, even if
    /// nobody else has taken the job yet.
    ///
    /// # Errors
    /// The database's.
    pub async fn renew_lease(
        &self,
        lease: &Lease,
        lease_seconds: f64,
        progress: Option<&Progress>,
    ) -> Result<Heartbeat, Error> {
        let cancel_requested: Option<bool> = sqlx::query_scalar(RENEW_LEASE.text)
            .bind(lease.job_id)
            .bind(lease.token)
            .bind(lease_seconds)
            .bind(progress.map(|progress| stored(progress.evaluations)))
            .bind(progress.map(|progress| share(progress.fraction)))
            .bind(progress.map(|progress| &progress.phase))
            .fetch_optional(&self.pool)
            .await
            .map_err(RENEW_LEASE.failed())?;
        Ok(match cancel_requested {
            None => Heartbeat::Lost,
            Some(true) => Heartbeat::CancelRequested,
            Some(false) => Heartbeat::Held,
        })
    }

    /// Ends a job: result rows, release and state in one transaction. A release that does not become one, because the
    /// job did not succeed or the lease is lost, is given up.
    ///
    /// # Errors
    /// [`Error::LeaseLost`] if the token does not match (nothing is stored then); the database's.
    pub async fn finish_job(
        &self,
        lease: &Lease,
        finish: &Finish,
        release: Option<(ReleaseDraft, ReleaseRecord)>,
    ) -> Result<Job, Error> {
        let release_id = release.as_ref().map(|(draft, _)| draft.release_id());
        let finished = self.try_finish_job(lease, finish, release.as_ref()).await;
        let stored = finished
            .as_ref()
            .is_ok_and(|job| job.release_id.is_some() && job.release_id == release_id);
        if let (Some(release_id), false) = (release_id, stored) {
            // The first error is the one to tell; what cannot be removed now goes with the sweep.
            let _ = self.abandon(release_id).await;
        }
        finished
    }

    async fn try_finish_job(
        &self,
        lease: &Lease,
        finish: &Finish,
        release: Option<&(ReleaseDraft, ReleaseRecord)>,
    ) -> Result<Job, Error> {
        let partitions = match finish {
            Finish::Succeeded { front, .. } => {
                self.seal_partitions(lease.dataset_id, lease.job_id, front)
                    .await?
            }
            Finish::Measured { .. }
            | Finish::Failed { .. }
            | Finish::Cancelled
            | Finish::Released => Vec::new(),
        };
        let mut transaction = self.begin().await?;
        if !datasets::hold(&mut transaction, lease.dataset_id).await? {
            return Err(Error::LeaseLost);
        }
        let ended = match finish {
            Finish::Succeeded {
                outcome,
                reason,
                front,
            } => {
                let release_id = release.map(|(draft, _)| draft.release_id());
                let result = (*outcome, reason.as_ref(), front.search.evaluations);
                let ended = succeed(&mut transaction, lease, result, release_id).await?;
                fronts::insert(&mut transaction, lease.job_id, front).await?;
                front_partitions::insert(&mut transaction, lease.job_id, &partitions).await?;
                if let Some((draft, record)) = release {
                    releases::insert(&mut transaction, draft, record).await?;
                }
                ended
            }
            Finish::Measured { report } => {
                let (outcome, reason) = match report {
                    Ok(_) => (JobOutcome::Measured, None),
                    Err(reason) => (JobOutcome::Infeasible, Some(reason)),
                };
                let ended = succeed(&mut transaction, lease, (outcome, reason, 0), None).await?;
                if let Ok(report) = report {
                    reports::insert(&mut transaction, lease.job_id, report).await?;
                }
                ended
            }
            Finish::Failed { failure, retryable } => {
                let query = sqlx::query_as(FINISH_JOB_FAILED.text)
                    .bind(lease.job_id)
                    .bind(lease.token)
                    .bind(json(failure)?)
                    .bind(retryable);
                ended(
                    query.fetch_optional(&mut *transaction).await,
                    FINISH_JOB_FAILED,
                )?
            }
            Finish::Cancelled => end(&mut transaction, lease, FINISH_JOB_CANCELLED).await?,
            Finish::Released => end(&mut transaction, lease, FINISH_JOB_RELEASED).await?,
        };
        commit(transaction).await?;
        Ok(ended)
    }

    /// Requeues, fails or cancels jobs whose lease expired; returns how many.
    ///
    /// # Errors
    /// The database's.
    pub async fn reap_jobs(&self) -> Result<u64, Error> {
        let reaped = sqlx::query(REAP_JOBS.text)
            .execute(&self.pool)
            .await
            .map_err(REAP_JOBS.failed())?;
        Ok(reaped.rows_affected())
    }
}

/// The job after a statement that needs the lease.
fn ended(row: Result<Option<JobRow>, sqlx::Error>, statement: Statement) -> Result<Job, Error> {
    row.map_err(statement.failed())?
        .map(Job::from)
        .ok_or(Error::LeaseLost)
}

async fn end(
    connection: &mut PgConnection,
    lease: &Lease,
    statement: Statement,
) -> Result<Job, Error> {
    let query = sqlx::query_as(statement.text)
        .bind(lease.job_id)
        .bind(lease.token);
    ended(query.fetch_optional(connection).await, statement)
}

async fn succeed(
    connection: &mut PgConnection,
    lease: &Lease,
    (outcome, reason, evaluations): (JobOutcome, Option<&Reason>, u64),
    release_id: Option<Uuid>,
) -> Result<Job, Error> {
    let query = sqlx::query_as(FINISH_JOB_SUCCEEDED.text)
        .bind(lease.job_id)
        .bind(lease.token)
        .bind(outcome)
        .bind(reason.map(json).transpose()?)
        .bind(release_id)
        .bind(stored(evaluations));
    ended(query.fetch_optional(connection).await, FINISH_JOB_SUCCEEDED)
}

/// A share `0..=1`, whatever was reported.
fn share(fraction: f64) -> f64 {
    if fraction.is_nan() {
        0.0
    } else {
        fraction.clamp(0.0, 1.0)
    }
}
