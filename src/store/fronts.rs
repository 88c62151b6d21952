//! Fronts: the summary in one row, each solution in one.

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::statement::{Statement, json, small_stored, statement};
use super::{Error, Store, StoredFront};
use crate::anonymize::certificate::Certificate;
use crate::anonymize::report::{Front, Solution};
use crate::job::{JobSpec, JobState};

const INSERT_FRONT: Statement = statement!("insert_front");
const INSERT_SOLUTIONS: Statement = statement!("insert_solutions");
const INSERT_CERTIFICATE: Statement = statement!("insert_certificate");
const FIND_CERTIFICATE: Statement = statement!("find_certificate");
const FIND_FRONT: Statement = statement!("find_front");
const LIST_SOLUTIONS: Statement = statement!("list_solutions");

#[derive(sqlx::FromRow)]
struct FrontRow {
    dataset_id: Uuid,
    state: JobState,
    spec: Json<JobSpec>,
    summary: Option<Json<Front>>,
}

/// Stores a job's front.
pub(super) async fn insert(
    connection: &mut PgConnection,
    job_id: Uuid,
    front: &Front,
) -> Result<(), Error> {
    let mut summary = front.clone();
    let solutions = std::mem::take(&mut summary.solutions);
    sqlx::query(INSERT_FRONT.text)
        .bind(job_id)
        .bind(json(&summary)?)
        .execute(&mut *connection)
        .await
        .map_err(INSERT_FRONT.failed())?;
    if let Some(certificate) = &front.certificate {
        sqlx::query(INSERT_CERTIFICATE.text)
            .bind(job_id)
            .bind(json(certificate)?)
            .execute(&mut *connection)
            .await
            .map_err(INSERT_CERTIFICATE.failed())?;
    }
    if solutions.is_empty() {
        return Ok(());
    }
    let ids: Vec<i32> = solutions
        .iter()
        .map(|solution| small_stored(solution.solution_id))
        .collect();
    let bodies = solutions.iter().map(json).collect::<Result<Vec<_>, _>>()?;
    sqlx::query(INSERT_SOLUTIONS.text)
        .bind(job_id)
        .bind(ids)
        .bind(bodies)
        .execute(connection)
        .await
        .map_err(INSERT_SOLUTIONS.failed())?;
    Ok(())
}

impl Store {
    /// A job's front.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job, [`Error::FrontNotReady`] if it has not succeeded; the database's.
    pub async fn front(&self, job_id: Uuid) -> Result<StoredFront, Error> {
        let row: Option<FrontRow> = sqlx::query_as(FIND_FRONT.text)
            .bind(job_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_FRONT.failed())?;
        let row = row.ok_or(Error::NotFound("job"))?;
        let (JobState::Succeeded, Some(Json(mut front))) = (row.state, row.summary) else {
            return Err(Error::FrontNotReady);
        };
        let solutions: Vec<Json<Solution>> = sqlx::query_scalar(LIST_SOLUTIONS.text)
            .bind(job_id)
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_SOLUTIONS.failed())?;
        front.solutions = solutions
            .into_iter()
            .map(|Json(solution)| solution)
            .collect();
        Ok(StoredFront {
            job_id,
            dataset_id: row.dataset_id,
            spec: row.spec.0,
            front,
        })
    }

    /// The proof of a job's front.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job, or for the certificate if the front has none; [`Error::FrontNotReady`] if the
    /// job has not succeeded; the database's.
    pub async fn certificate(&self, job_id: Uuid) -> Result<Certificate, Error> {
        let row: Option<(JobState, Option<Json<Certificate>>)> =
            sqlx::query_as(FIND_CERTIFICATE.text)
                .bind(job_id)
                .fetch_optional(&self.pool)
                .await
                .map_err(FIND_CERTIFICATE.failed())?;
        match row.ok_or(Error::NotFound("job"))? {
            (JobState::Succeeded, Some(Json(certificate))) => Ok(certificate),
            (JobState::Succeeded, None) => Err(Error::NotFound("certificate")),
            _ => Err(Error::FrontNotReady),
        }
    }

    /// One solution, with its front.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job or the solution, [`Error::FrontNotReady`]; the database's.
    pub async fn solution(
        &self,
        job_id: Uuid,
        solution_id: u32,
    ) -> Result<(StoredFront, Solution), Error> {
        let stored = self.front(job_id).await?;
        let solution = stored
            .front
            .solutions
            .iter()
            .find(|solution| solution.solution_id == solution_id)
            .cloned()
            .ok_or(Error::NotFound("solution"))?;
        Ok((stored, solution))
    }
}
