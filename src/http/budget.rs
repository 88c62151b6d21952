//! Privacy budgets: what a dataset's jobs may spend, have spent and still can.

use axum::extract::State;
use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::extract::Id;
use super::failures::ReadFailures;
use super::problem::Problem;
use super::query::{PageQuery, Query};
use crate::declaration::PrivacyLoss;
use crate::job::Dataset;
use crate::store::JobLoss;

/// The privacy budget of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BudgetView {
    /// As declared; null where nothing limits what jobs spend.
    declared: Option<PrivacyLoss>,
    /// Sum over all perturbed jobs that were accepted.
    spent: PrivacyLoss,
    /// What is left; null where nothing limits it.
    remaining: Option<PrivacyLoss>,
}

impl BudgetView {
    pub(super) fn of(dataset: &Dataset) -> Self {
        let declared = dataset.declaration.privacy_budget;
        Self {
            declared,
            spent: dataset.spent,
            remaining: declared.map(|budget| budget.less(dataset.spent)),
        }
    }
}

/// What one job has spent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LossView {
    /// The job.
    job_id: Uuid,
    #[serde(flatten)]
    loss: PrivacyLoss,
    /// When the job was accepted.
    created_at: DateTime<Utc>,
}

impl LossView {
    fn of(spent: &JobLoss) -> Self {
        Self {
            job_id: spent.job_id,
            loss: spent.loss,
            created_at: spent.created_at,
        }
    }
}

/// The privacy budget of a dataset, with a page of what was spent, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LossList {
    #[serde(flatten)]
    budget: BudgetView,
    /// What jobs have spent.
    items: Vec<LossView>,
    /// `cursor` of the next page; null at the end.
    next_cursor: Option<String>,
}

/// Lists what the jobs of a dataset have spent of its privacy budget, newest first.
///
/// A perturbed job spends its epsilon and delta when it is accepted; its releases spend nothing more. What is spent is
/// never given back.
#[utoipa::path(get, path = "/v1/datasets/{dataset_id}/budget", tag = "datasets",
    params(("dataset_id" = Uuid, Path, description = "The dataset"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "Items of the page; default 50"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, body = LossList, description = "A page"), ReadFailures))]
pub(super) async fn read_budget(
    State(app): State<App>,
    Id(dataset_id): Id,
    Query(PageQuery(page)): Query<PageQuery>,
) -> Result<axum::Json<LossList>, Problem> {
    let store = &app.services.store;
    let dataset = store.dataset(dataset_id).await?;
    let page = store.list_privacy_losses(dataset_id, &page).await?;
    Ok(axum::Json(LossList {
        budget: BudgetView::of(&dataset),
        items: page.items.iter().map(LossView::of).collect(),
        next_cursor: page.next_cursor,
    }))
}
