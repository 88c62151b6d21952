//! The worker: claims jobs, searches, finishes. Never knows HTTP: they meet in the job table.
//!
//! - A job is claimed only when a permit is free, so nothing waits inside the process while another one is idle.
//! - What a job holds while it searches is a lease and CPU threads, no connection. The lease is renewed beside it
//!   ([`lease`]); whoever loses it discards its result, and the store refuses it besides.
//! - Interest in the queue is registered before the queue is read: a job that arrives in between is not missed. Where
//!   notifications fail, the worker polls.
//! - On shutdown nothing more is claimed. Jobs get `worker.drain_seconds` to end; what still runs is told to stop and
//!   handed back to the queue, its attempt not counted.

mod compare;
mod execute;
mod failed;
mod lease;
mod series;
mod upkeep;
mod utility;

use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use uuid::Uuid;

use crate::anonymize::{self, Observer, Outcome, Task};
use crate::config::Config;
use crate::job::Lease;
use crate::pool::CpuPool;
use crate::store::{self, Store};
use crate::telemetry::chain;

/// What searches: [`anonymize::anonymize`], or a stand-in of a test.
pub type Search =
    Arc<dyn Fn(&Task<'_>, &dyn Observer) -> Result<Outcome, anonymize::Error> + Send + Sync>;

/// What every job of a worker needs.
#[derive(Clone)]
struct Context {
    store: Store,
    pool: CpuPool,
    config: Arc<Config>,
    search: Search,
    /// The drain is over: jobs that still run are to be handed back.
    hand_back: CancellationToken,
}

/// Works until `shutdown`, then drains: finishes or hands back what it holds.
pub async fn run(store: Store, pool: CpuPool, config: Arc<Config>, shutdown: CancellationToken) {
    run_with(
        store,
        pool,
        config,
        shutdown,
        Arc::new(anonymize::anonymize),
    )
    .await;
}

/// As [`run`], with another search.
pub async fn run_with(
    store: Store,
    pool: CpuPool,
    config: Arc<Config>,
    shutdown: CancellationToken,
    search: Search,
) {
    let context = Context {
        store,
        pool,
        config,
        search,
        hand_back: CancellationToken::new(),
    };
    let jobs = TaskTracker::new();
    let upkeep = tokio::spawn(upkeep::run(
        context.store.clone(),
        Arc::clone(&context.config),
        shutdown.clone(),
    ));
    claim_until(&context, &jobs, &shutdown).await;
    jobs.close();
    let drain = Duration::from_secs_f64(context.config.worker.drain_seconds);
    if tokio::time::timeout(drain, jobs.wait()).await.is_err() {
        tracing::info!(
            jobs = jobs.len(),
            "handing unfinished jobs back to the queue"
        );
        context.hand_back.cancel();
        jobs.wait().await;
    }
    // It ends at once on shutdown; a panic in it was logged.
    let _ = upkeep.await;
}

async fn claim_until(context: &Context, jobs: &TaskTracker, shutdown: &CancellationToken) {
    let permits = Arc::new(Semaphore::new(context.config.worker.concurrency));
    let mut wake = WakeUp::new(
        context.store.clone(),
        Duration::from_secs_f64(context.config.worker.poll_seconds),
    );
    loop {
        let free = Arc::clone(&permits).acquire_owned();
        // The semaphore is never closed.
        let Some(Ok(permit)) = shutdown.run_until_cancelled(free).await else {
            return;
        };
        wake.register().await;
        // Not cancelled on shutdown: a lease that was given must not get lost on the way.
        if shutdown.is_cancelled() {
            return;
        }
        match context
            .store
            .claim_job(context.config.worker.lease_seconds)
            .await
        {
            Ok(Some(lease)) => {
                jobs.spawn(work(context.clone(), lease, permit));
                continue;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = chain(&error), "no job could be claimed");
                wake.lost();
            }
        }
        drop(permit);
        if shutdown.run_until_cancelled(wake.wait()).await.is_none() {
            return;
        }
    }
}

/// One job, from its lease to its end.
async fn work(context: Context, lease: Lease, permit: OwnedSemaphorePermit) {
    let span = tracing::info_span!(
        "job",
        id = %lease.job_id,
        kind = lease.spec.kind(),
        attempt = lease.attempt
    );
    Box::pin(execute::execute(&context, lease))
        .instrument(span)
        .await;
    drop(permit);
}

/// Tells when the queue may have changed: by notification, at the latest after the poll interval.
struct WakeUp {
    store: Store,
    poll: Duration,
    changes: Option<BoxStream<'static, Result<Uuid, store::Error>>>,
}

impl WakeUp {
    fn new(store: Store, poll: Duration) -> Self {
        Self {
            store,
            poll,
            changes: None,
        }
    }

    /// Listens, if it does not yet, and forgets what was heard before: the queue is read next.
    async fn register(&mut self) {
        if let Some(changes) = &mut self.changes {
            while let Some(change) = changes.next().now_or_never() {
                if !matches!(change, Some(Ok(_))) {
                    self.lost();
                    break;
                }
            }
        }
        if self.changes.is_none() {
            match self.store.job_changes().await {
                Ok(changes) => self.changes = Some(changes),
                Err(error) => tracing::warn!(error = chain(&error), "no notifications; polling"),
            }
        }
    }

    /// Listens anew next time.
    fn lost(&mut self) {
        self.changes = None;
    }

    async fn wait(&mut self) {
        let pause = tokio::time::sleep(self.poll);
        let Some(changes) = &mut self.changes else {
            return pause.await;
        };
        let is_lost = tokio::select! {
            change = changes.next() => !matches!(change, Some(Ok(_))),
            () = pause => false,
        };
        if is_lost {
            self.lost();
        }
    }
}
