//! A job that compares methods.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Context;
use super::execute::Ended;
use super::failed::Failed;
use super::lease::Watch;
use crate::anonymize::Limits;
use crate::anonymize::compare::{Compared, Contest, compare};
use crate::anonymize::table::Schema;
use crate::job::{JobSpec, Lease};

/// Loads the rows, runs all methods and reports.
pub(super) async fn attempt(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Ended {
    tokio::select! {
        ended = contest(context, lease, watch) => ended.unwrap_or_else(Ended::Failed),
        // The work itself sees the same signal and leaves its threads; nobody waits for it.
        () = watch.until_unwanted() => Ended::Stopped,
    }
}

async fn contest(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> Result<Ended, Failed> {
    let JobSpec::Compare {
        demand,
        through_batch,
        declaration,
        populations,
    } = &lease.spec
    else {
        return Err(Failed::internal("not a comparison", false));
    };
    watch.phase(0, 0.0, "loading");
    let schema = Schema::compile(declaration)
        .map_err(|_| Failed::internal("the stored declaration does not compile", false))?;
    let table = context
        .store
        .load_input(lease.dataset_id, &schema, *through_batch, populations)
        .await
        .map_err(Failed::from_store)?;
    let limits = Limits {
        exact_search_space: context.config.search.exact_search_space,
        cache_bytes: context.config.search.cache_megabytes << 20,
    };
    // A demand that names seconds names them for each run; else all runs share those of a search.
    let budget = match demand.max_seconds {
        Some(_) => Duration::MAX,
        None => {
            Duration::try_from_secs_f64(context.config.search.max_seconds).unwrap_or(Duration::MAX)
        }
    };
    let work = {
        let (search, demand, watch) = (
            Arc::clone(&context.search),
            demand.clone(),
            Arc::clone(watch),
        );
        move || {
            let begun = Instant::now();
            compare(&Contest {
                table: &table,
                schema: &schema,
                demand: &demand,
                limits,
                search: &*search,
                clock: &|| begun.elapsed(),
                observer: &*watch,
            })
        }
    };
    watch.begin(budget);
    let mut running = std::pin::pin!(context.pool.run(work));
    let compared = tokio::select! {
        compared = &mut running => compared,
        () = tokio::time::sleep(budget) => {
            watch.out_of_time();
            running.await
        }
    };
    match compared {
        Ok(Ok(Compared::Report(report))) => {
            let report = serde_json::to_value(report);
            let report =
                report.map_err(|_| Failed::internal("a report has no JSON form", false))?;
            Ok(Ended::Measured(Ok(report)))
        }
        Ok(Ok(Compared::Impossible(reason))) => Ok(Ended::Measured(Err(reason))),
        Ok(Ok(Compared::Cancelled)) => Ok(Ended::Stopped),
        Ok(Err(error)) => Err(Failed::from_search(&error)),
        // Once more, in case the machine was to blame; the same input panics again.
        Err(_) => Err(Failed::internal(
            "the comparison panicked",
            lease.attempt < 2,
        )),
    }
}
