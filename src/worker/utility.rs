//! A job that trains models on a solution's rows.

use std::sync::Arc;

use super::Context;
use super::execute::Ended;
use super::failed::Failed;
use super::lease::Watch;
use crate::anonymize::downstream::report::{Evaluated, downstream};
use crate::anonymize::release::Recipe;
use crate::anonymize::table::Schema;
use crate::declaration::{RowOrder, SuppressedRows};
use crate::job::{JobSpec, Lease};
use crate::publish;
use crate::store::{self, SearchedRows};

/// Loads the rows that the solution was found on, trains and tests.
pub(super) async fn attempt(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Ended {
    tokio::select! {
        ended = measure(context, lease, watch) => ended.unwrap_or_else(Ended::Failed),
        // The work itself sees the same signal and leaves its threads; nobody waits for it.
        () = watch.until_unwanted() => Ended::Stopped,
    }
}

/// Rows were erased since the search: its solution is one of other rows.
fn changed() -> Failed {
    let detail = "rows were erased since the search; submit it again".to_owned();
    Failed::final_one("dataset_changed", detail)
}

async fn measure(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Result<Ended, Failed> {
    let JobSpec::Utility { job_id, demand } = &lease.spec else {
        return Err(Failed::internal("not a job of utility", false));
    };
    watch.phase(0, 0.0, "loading");
    let found = context.store.solution(*job_id, demand.solution_id).await;
    let (front, solution) = found.map_err(Failed::from_store)?;
    let class_of = publish::class_of(&context.store, &front, &solution).await;
    let class_of = match class_of {
        Err(store::Error::DatasetChanged) => return Err(changed()),
        class_of => class_of.map_err(Failed::from_store)?,
    };
    let JobSpec::Search {
        demand: searched,
        through_batch,
        declaration,
        populations,
    } = front.spec
    else {
        return Err(Failed::internal(
            "the solution is not one of a search",
            false,
        ));
    };
    let schema = Schema::compile(&declaration)
        .map_err(|_| Failed::internal("the stored declaration does not compile", false))?;
    let table = context
        .store
        .load_searched(&SearchedRows {
            job_id: *job_id,
            dataset_id: lease.dataset_id,
            schema: &schema,
            demand: &searched,
            through_batch,
            populations: &populations,
            identifiers: &[],
        })
        .await
        .map_err(Failed::from_store)?;
    let is_changed = table.rows as u64 != solution.released_rows + solution.suppressed_rows;
    if is_changed || class_of.as_ref().is_some_and(|of| of.len() != table.rows) {
        return Err(changed());
    }
    let class_of = class_of.unwrap_or_default();
    watch.phase(0, 0.0, "training");
    let work = {
        let (demand, watch) = (demand.clone(), Arc::clone(watch));
        move || {
            let recipe = Recipe {
                recoding: solution.recoding.recoded_by(&class_of),
                privacy: &searched.privacy,
                row_order: RowOrder::Input,
                seed: searched.search.seed,
                columns: None,
                suppressed_rows: SuppressedRows::Omit,
            };
            downstream(&table, &schema, &recipe, &demand, &*watch)
        }
    };
    match context.pool.run(work).await {
        Ok(Ok(Evaluated::Report(report))) => {
            let report = serde_json::to_value(report);
            let report =
                report.map_err(|_| Failed::internal("a report has no JSON form", false))?;
            Ok(Ended::Measured(Ok(report)))
        }
        Ok(Ok(Evaluated::Impossible(reason))) => Ok(Ended::Measured(Err(reason))),
        Ok(Ok(Evaluated::Stopped)) => Ok(Ended::Stopped),
        Ok(Err(error)) => Err(Failed::from_search(&error)),
        // Once more, in case the machine was to blame; the same input panics again.
        Err(_) => Err(Failed::internal("the training panicked", lease.attempt < 2)),
    }
}
