//! What perturbed jobs spend, against the budget of their dataset.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::page::{List, Place};
use super::statement::{Statement, statement};
use super::{Error, Store, datasets};
use crate::declaration::{Amount, PrivacyLoss};
use crate::job::{Page, PageRequest};

const SUM_PRIVACY_LOSS: Statement = statement!("sum_privacy_loss");
const INSERT_PRIVACY_LOSS: Statement = statement!("insert_privacy_loss");
const LIST_PRIVACY_LOSSES: Statement = statement!("list_privacy_losses");

/// What one job has spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLoss {
    /// The job.
    pub job_id: Uuid,
    /// What it spent.
    pub loss: PrivacyLoss,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct LossRow {
    job_id: Uuid,
    epsilon: String,
    delta: String,
    created_at: DateTime<Utc>,
}

/// A loss from the texts of two numerics; the schema's checks keep them from being anything else.
pub(super) fn loss(epsilon: &str, delta: &str) -> PrivacyLoss {
    let amount = |text| Amount::parse(text).unwrap_or_default();
    PrivacyLoss {
        epsilon: amount(epsilon),
        delta: amount(delta),
    }
}

/// Refuses a loss beyond what is left of the dataset's budget. Keeps other jobs from spending until the transaction ends.
pub(super) async fn check(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    asked: PrivacyLoss,
) -> Result<(), Error> {
    let locked = datasets::lock(connection, dataset_id).await?;
    let Some(budget) = locked.declaration.privacy_budget else {
        return Ok(());
    };
    let (epsilon, delta): (String, String) = sqlx::query_as(SUM_PRIVACY_LOSS.text)
        .bind(dataset_id)
        .fetch_one(connection)
        .await
        .map_err(SUM_PRIVACY_LOSS.failed())?;
    let left = budget.less(loss(&epsilon, &delta));
    if asked.epsilon <= left.epsilon && asked.delta <= left.delta {
        Ok(())
    } else {
        Err(Error::BudgetExceeded { left })
    }
}

/// Notes what a job spends.
pub(super) async fn spend(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    job_id: Uuid,
    loss: PrivacyLoss,
) -> Result<(), Error> {
    sqlx::query(INSERT_PRIVACY_LOSS.text)
        .bind(job_id)
        .bind(dataset_id)
        .bind(loss.epsilon.to_string())
        .bind(loss.delta.to_string())
        .execute(connection)
        .await
        .map_err(INSERT_PRIVACY_LOSS.failed())?;
    Ok(())
}

impl Store {
    /// What the jobs of a dataset have spent, newest first.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; the database's.
    pub async fn list_privacy_losses(
        &self,
        dataset_id: Uuid,
        page: &PageRequest,
    ) -> Result<Page<JobLoss>, Error> {
        let place = Place::parse(List::PrivacyLosses, page)?;
        let rows: Vec<LossRow> = sqlx::query_as(LIST_PRIVACY_LOSSES.text)
            .bind(dataset_id)
            .bind(place.created_at)
            .bind(place.id)
            .bind(place.rows())
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_PRIVACY_LOSSES.failed())?;
        let items = rows.into_iter().map(|row| JobLoss {
            job_id: row.job_id,
            loss: loss(&row.epsilon, &row.delta),
            created_at: row.created_at,
        });
        Ok(place.page(items.collect(), |item: &JobLoss| {
            (item.created_at, item.job_id)
        }))
    }
}
