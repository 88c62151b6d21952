//! What any worker does for all: takes jobs from workers that are silent, removes what nobody needs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::store::Store;
use crate::telemetry::chain;

/// Between sweeps.
const SWEEP: Duration = Duration::from_mins(1);

/// Reaps and sweeps until `shutdown`. Many workers may do so at once: both are single statements that skip what another
/// one holds.
pub(super) async fn run(store: Store, config: Arc<Config>, shutdown: CancellationToken) {
    // A silent worker's job waits for its lease and at most this long.
    let interval = (config.worker.lease_seconds / 4.0).clamp(0.1, 5.0);
    let mut beat = tokio::time::interval(Duration::from_secs_f64(interval));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut swept: Option<Instant> = None;
    while shutdown.run_until_cancelled(beat.tick()).await.is_some() {
        match store.reap_jobs().await {
            Ok(0) => {}
            Ok(jobs) => tracing::warn!(jobs, "took jobs from workers that are silent"),
            Err(error) => {
                tracing::warn!(error = chain(&error), "could not look for silent workers");
            }
        }
        if swept.is_none_or(|at| at.elapsed() >= SWEEP) {
            swept = Some(Instant::now());
            match store.sweep().await {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "swept leftovers"),
                Err(error) => {
                    tracing::warn!(error = chain(&error), "could not sweep");
                }
            }
        }
    }
}
