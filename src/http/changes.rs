//! Tells long-polls and event streams that a job changed: one LISTEN per process, however many wait.
//!
//! The hub is a hint, never the truth: whoever is woken reads the job again, and whoever is not woken for a while
//! reads it anyway. So a lost connection costs seconds of latency and no event, and a waiting client holds no
//! database connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::StreamExt;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::store::Store;

/// Longest time between two looks at a job that somebody waits for.
const LOOK_ANYWAY: Duration = Duration::from_secs(2);
/// Pause before listening again after the connection was lost.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);
/// Changes remembered for a slow waiter; one that falls behind looks at its job again.
const REMEMBERED: usize = 1024;

/// The hub; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    store: Store,
    shutdown: CancellationToken,
    sender: broadcast::Sender<Uuid>,
    begun: Arc<AtomicBool>,
}

/// Waits for changes of one job.
#[derive(Debug)]
pub(super) struct Watch {
    job_id: Uuid,
    receiver: broadcast::Receiver<Uuid>,
    shutdown: CancellationToken,
}

impl Changes {
    /// A hub that begins to listen when the first waiter comes.
    pub(super) fn new(store: Store, shutdown: CancellationToken) -> Self {
        Self {
            store,
            shutdown,
            sender: broadcast::channel(REMEMBERED).0,
            begun: Arc::default(),
        }
    }

    /// Watches a job. Subscribe before reading the job, or a change in between is seen only at the next look.
    pub(super) fn watch(&self, job_id: Uuid) -> Watch {
        if !self.begun.swap(true, Ordering::AcqRel) {
            tokio::spawn(listen(
                self.store.clone(),
                self.sender.clone(),
                self.shutdown.clone(),
            ));
        }
        Watch {
            job_id,
            receiver: self.sender.subscribe(),
            shutdown: self.shutdown.clone(),
        }
    }
}

async fn listen(store: Store, sender: broadcast::Sender<Uuid>, shutdown: CancellationToken) {
    let listening = async {
        loop {
            match store.job_changes().await {
                Ok(mut changes) => {
                    while let Some(Ok(job_id)) = changes.next().await {
                        // Nobody listening is no error.
                        let _ = sender.send(job_id);
                    }
                    tracing::warn!("the connection that listens for job changes was lost");
                }
                Err(error) => tracing::warn!(%error, "cannot listen for job changes"),
            }
            tokio::time::sleep(LISTEN_AGAIN).await;
        }
    };
    shutdown.run_until_cancelled(listening).await;
}

impl Watch {
    /// Returns when the job may have changed, or after a while; false when the process stops.
    pub(super) async fn changed(&mut self) -> bool {
        let change = async {
            loop {
                match self.receiver.recv().await {
                    Ok(job_id) if job_id != self.job_id => {}
                    Ok(_) | Err(RecvError::Lagged(_)) => return,
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        let look = tokio::time::timeout(LOOK_ANYWAY, change);
        self.shutdown.run_until_cancelled(look).await.is_some()
    }
}
