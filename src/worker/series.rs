//! The update of a series: the work and its end are one transaction.

use std::sync::Arc;

use super::Context;
use super::execute::{Ended, LEASE_LOST, finish, outcome_name};
use super::failed::Failed;
use super::lease::Watch;
use crate::job::Lease;
use crate::series::{self, Error};
use crate::store;
use crate::telemetry::chain;

/// Updates and finishes; gives the name under which the end is counted.
pub(super) async fn execute(context: &Context, lease: &Lease, watch: &Arc<Watch>) -> &'static str {
    watch.phase(0, 0.0, "loading");
    let observer = Arc::clone(watch);
    let ended = match series::update(&context.store, lease, observer).await {
        Ok(job) => return outcome_name(&job),
        Err(Error::Stopped) => Ended::Stopped,
        // The lease is lost, or the job was cancelled after the last look.
        Err(Error::Store(store::Error::LeaseLost)) => {
            // At once if it is known already.
            watch.until_unwanted().await;
            Ended::Stopped
        }
        Err(error) => Ended::Failed(failed(error, lease.attempt)),
    };
    if watch.unwanted().is_none() && matches!(ended, Ended::Stopped) {
        return LEASE_LOST;
    }
    finish(context, lease, watch, ended).await
}

fn failed(error: Error, attempt: u32) -> Failed {
    match error {
        Error::Store(error @ store::Error::Unplaced { .. }) => {
            Failed::final_one("hierarchy_missing_values", error.to_string())
        }
        Error::SeveralRows { .. } => {
            Failed::final_one("several_rows_per_subject", error.to_string())
        }
        Error::Verification(failure) => {
            Failed::final_one("verification_failed", failure.to_string())
        }
        Error::Store(store::Error::Form(_)) => {
            Failed::internal("stored data has an unknown form", attempt < 2)
        }
        Error::Store(error @ (store::Error::NotFound(_) | store::Error::Sealed(_))) => {
            Failed::from_store(error)
        }
        Error::Store(error) => {
            tracing::warn!(error = chain(&error), "the series was not updated");
            Failed::internal("the series could not be read or stored", true)
        }
        Error::Stopped => Failed::internal("the update stopped unasked", false),
    }
}
