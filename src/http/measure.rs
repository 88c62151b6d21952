//! Measures a dataset without releasing anything.

use axum::extract::State;
use axum::http::StatusCode;
use chrono::{Datelike, Utc};

use super::App;
use super::datasets::compiled;
use super::extract::{Id, Posted};
use super::failures::WriteFailures;
use super::once::{Answered, answer};
use super::populations::{Named, pinned};
use super::problem::Problem;
use super::submission::too_small_a_population;
use crate::anonymize::measure::measure;
use crate::anonymize::report::Measurement;
use crate::declaration::MeasureDemand;
use crate::fault::{Fault, FaultCode};

/// The year in which ages are reckoned.
fn current_year() -> u32 {
    u32::try_from(Utc::now().year()).unwrap_or(0)
}

/// Measures the rows at given levels without releasing anything.
///
/// Achieved k, l and t per sensitive attribute, class sizes, rows in classes that violate a model, risks. Nothing is
/// suppressed and nothing is stored.
#[utoipa::path(post, path = "/v1/datasets/{dataset_id}/measure", tag = "datasets",
    params(("dataset_id" = uuid::Uuid, Path, description = "The dataset"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters")),
    request_body(content = MeasureDemand, description = "Models to check and levels to measure at",
        example = json!({"privacy": [{"model": "k_anonymity", "k": 5}], "levels": {"age": 1}})),
    responses((status = 200, body = Measurement, description = "What was measured"), WriteFailures))]
pub(super) async fn measure_dataset(
    State(app): State<App>,
    Id(dataset_id): Id,
    posted: Posted,
) -> Result<Answered, Problem> {
    let services = &app.services;
    let dataset = services.store.dataset(dataset_id).await?;
    let mut demand =
        MeasureDemand::parse(&posted.body, &dataset.declaration).map_err(Problem::faults)?;
    if dataset.rows == 0 {
        let fault = Fault::at(
            "",
            FaultCode::DatasetEmpty,
            "the dataset has no rows to measure",
        );
        return Err(Problem::fault(fault));
    }
    if let Some(fault) = too_small_a_population(&dataset, demand.risk) {
        return Err(Problem::fault(fault));
    }
    let named = pinned(&app, &dataset, &demand.privacy, demand.risk).await?;
    let named: Vec<_> = named.into_iter().map(Named::pin).collect();
    demand.year_of_data.get_or_insert_with(current_year);
    let schema = compiled(&dataset.declaration)?;
    let table = services
        .store
        .load_input(dataset_id, &schema, dataset.batches, &named)
        .await?;
    let work = move || measure(&table, &schema, &demand);
    let measurement = services.pool.run(work).await??;
    let answer = answer(StatusCode::OK, None, &measurement);
    Ok(Answered(match &posted.once {
        Some(once) => {
            let store = &services.store;
            store.remember_answer(once, dataset_id, &answer).await?
        }
        None => answer,
    }))
}
