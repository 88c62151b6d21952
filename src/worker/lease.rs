//! The lease of a running job: renewed beside the search, with progress out and stop signals in.
//!
//! The search asks [`Watch::must_stop`] once per candidate, so that is one atomic read. Reasons to stop are ordered:
//! an answer that is not wanted any more (cancelled, lost, handed back) outranks one that is merely due (out of time). The
//! first reason of the former kind stays, but for a lost lease, after which nothing can be stored.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::anonymize::{Observer, Progress, Stop};
use crate::config::Worker;
use crate::job::Lease;
use crate::store::{self, Heartbeat, Store};
use crate::telemetry::chain;

/// Why the answer of a job is not wanted any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unwanted {
    /// The caller cancelled the job.
    Cancelled,
    /// Another worker may have it by now.
    LeaseLost,
    /// The process stops.
    HandedBack,
}

/// What a search is told and what it tells.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// 0: go on; 1: out of time; 2 and above: unwanted.
    stop: AtomicU8,
    progress: Mutex<Option<Progress>>,
    /// When the search began, and how long it may go on.
    time: OnceLock<(Instant, Duration)>,
    unwanted: CancellationToken,
}

const OUT_OF_TIME: u8 = 1;

impl Watch {
    /// The search begins, and is told to end after so long.
    pub(super) fn begin(&self, budget: Duration) {
        // An attempt searches once.
        let _ = self.time.set((Instant::now(), budget));
    }

    /// Share of its time that the search has used up.
    fn time_used(&self) -> f64 {
        self.time.get().map_or(0.0, |(begun, budget)| {
            begun.elapsed().as_secs_f64() / budget.as_secs_f64()
        })
    }

    pub(super) fn out_of_time(&self) {
        // Fails if there is a reason already, which outranks this one or is the same.
        let _ = self
            .stop
            .compare_exchange(0, OUT_OF_TIME, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn set_unwanted(&self, reason: Unwanted) {
        let code = match reason {
            Unwanted::Cancelled => 2,
            Unwanted::LeaseLost => 3,
            Unwanted::HandedBack => 4,
        };
        let first =
            |current| (current <= OUT_OF_TIME || reason == Unwanted::LeaseLost).then_some(code);
        // Fails if another reason came first.
        let _ = self
            .stop
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, first);
        self.unwanted.cancel();
    }

    pub(super) fn unwanted(&self) -> Option<Unwanted> {
        match self.stop.load(Ordering::Relaxed) {
            0 | OUT_OF_TIME => None,
            2 => Some(Unwanted::Cancelled),
            3 => Some(Unwanted::LeaseLost),
            _ => Some(Unwanted::HandedBack),
        }
    }

    /// Waits until the answer is not wanted any more.
    pub(super) async fn until_unwanted(&self) {
        self.unwanted.cancelled().await;
    }

    /// Notes a phase outside of the search.
    pub(super) fn phase(&self, evaluations: u64, fraction: f64, phase: &str) {
        let progress = Progress {
            evaluations,
            fraction,
            phase: phase.to_owned(),
        };
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    fn take_progress(&self) -> Option<Progress> {
        self.progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Observer for Watch {
    fn must_stop(&self) -> Option<Stop> {
        match self.stop.load(Ordering::Relaxed) {
            0 => None,
            OUT_OF_TIME => Some(Stop::OutOfTime),
            _ => Some(Stop::Cancelled),
        }
    }

    /// A search that goes on until its time is up is as far as its time is.
    fn report(&self, mut progress: Progress) {
        progress.fraction = progress.fraction.max(self.time_used()).min(1.0);
        // Whoever holds the lock is taking or giving a note as fresh as this one.
        if let Ok(mut latest) = self.progress.try_lock() {
            *latest = Some(progress);
        }
    }
}

/// Renews the lease until `done`, or until it is lost.
///
/// A database that does not answer is no loss yet: the lease holds until its time has run out by this machine's clock,
/// counted from before the last renewal that succeeded.
pub(super) async fn keep(
    store: &Store,
    lease: &Lease,
    worker: &Worker,
    watch: &Watch,
    done: &CancellationToken,
) {
    let lasts = Duration::from_secs_f64(worker.lease_seconds);
    let mut beat = tokio::time::interval(Duration::from_secs_f64(worker.heartbeat_seconds));
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut held_since = Instant::now();
    let mut unsent = None;
    while done.run_until_cancelled(beat.tick()).await.is_some() {
        unsent = watch.take_progress().or(unsent);
        let begun = Instant::now();
        let left = lasts.saturating_sub(held_since.elapsed());
        let renewal = store.renew_lease(lease, worker.lease_seconds, unsent.as_ref());
        let renewal = tokio::time::timeout(left, renewal);
        let Some(renewal) = done.run_until_cancelled(renewal).await else {
            return;
        };
        match renewal {
            Ok(Ok(Heartbeat::Held)) => (held_since, unsent) = (begun, None),
            Ok(Ok(Heartbeat::CancelRequested)) => {
                (held_since, unsent) = (begun, None);
                watch.set_unwanted(Unwanted::Cancelled);
            }
            Ok(Ok(Heartbeat::Lost) | Err(store::Error::NotFound(_) | store::Error::LeaseLost)) => {
                return lost(watch);
            }
            Ok(Err(error)) if held_since.elapsed() < lasts => {
                tracing::warn!(
                    error = chain(&error),
                    "the lease was not renewed; trying again"
                );
            }
            Ok(Err(_)) | Err(_) => return lost(watch),
        }
    }
}

fn lost(watch: &Watch) {
    metrics::counter!("kindred_leases_lost_total").increment(1);
    tracing::warn!("the lease is lost; the result will be discarded");
    watch.set_unwanted(Unwanted::LeaseLost);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unwanted_answer_outranks_the_clock_and_a_lost_lease_everything() {
        let watch = Watch::default();
        assert_eq!(watch.must_stop(), None);
        watch.out_of_time();
        assert_eq!(watch.must_stop(), Some(Stop::OutOfTime));
        assert_eq!(watch.unwanted(), None);
        watch.set_unwanted(Unwanted::HandedBack);
        watch.set_unwanted(Unwanted::Cancelled);
        watch.out_of_time();
        assert_eq!(watch.must_stop(), Some(Stop::Cancelled));
        assert_eq!(watch.unwanted(), Some(Unwanted::HandedBack));
        watch.set_unwanted(Unwanted::LeaseLost);
        watch.set_unwanted(Unwanted::Cancelled);
        assert_eq!(watch.unwanted(), Some(Unwanted::LeaseLost));
    }

    #[test]
    fn the_latest_progress_is_taken_once() {
        let watch = Watch::default();
        watch.phase(1, 0.1, "first");
        watch.phase(2, 0.2, "second");
        assert_eq!(watch.take_progress().unwrap().evaluations, 2);
        assert_eq!(watch.take_progress(), None);
    }
}
