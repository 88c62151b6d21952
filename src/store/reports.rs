//! Reports: what a job that measures found, as it is served.

use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::statement::{Statement, json, statement};
use super::{Error, Store};

const INSERT_REPORT: Statement = statement!("insert_report");
const FIND_REPORT: Statement = statement!("find_report");

/// Stores a job's report.
pub(super) async fn insert(
    connection: &mut PgConnection,
    job_id: Uuid,
    report: &Value,
) -> Result<(), Error> {
    sqlx::query(INSERT_REPORT.text)
        .bind(job_id)
        .bind(json(report)?)
        .execute(connection)
        .await
        .map_err(INSERT_REPORT.failed())?;
    Ok(())
}

impl Store {
    /// The report of a job of a kind, with its dataset.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the job, [`Error::ReportNotReady`] if it has not ended with one or is of another kind; the
    /// database's.
    pub async fn report(&self, job_id: Uuid, kind: &str) -> Result<(Uuid, Value), Error> {
        let row: Option<(Uuid, String, Option<Json<Value>>)> = sqlx::query_as(FIND_REPORT.text)
            .bind(job_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_REPORT.failed())?;
        match row.ok_or(Error::NotFound("job"))? {
            (dataset_id, found, Some(Json(report))) if found == kind => Ok((dataset_id, report)),
            _ => Err(Error::ReportNotReady),
        }
    }
}
