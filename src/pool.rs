//! CPU work beside the async threads: a fixed number of threads, work dropped when nobody awaits it any more, a panic
//! becomes a value.
//!
//! A pool has lanes. One piece of work owns one lane, a rayon pool of its own, until it ends. Two searches on one rayon
//! pool would not do: a thread that waits for a part of the first may pick up the whole second one, and the first then
//! ends only after it. Work waits for a lane in the async world, in order of arrival, where dropping the future is all
//! that it takes to withdraw it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// A fixed set of CPU threads.
#[derive(Debug, Clone)]
pub struct CpuPool {
    lanes: Arc<Lanes>,
}

#[derive(Debug)]
struct Lanes {
    pools: Vec<rayon::ThreadPool>,
    free: Mutex<Vec<usize>>,
    permits: Arc<Semaphore>,
}

/// The work panicked; the panic was logged without its message's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work panicked")]
pub struct Panicked;

/// A lane in use; it is free again when this is dropped, which the work itself does, awaited or not.
struct Lane {
    lanes: Arc<Lanes>,
    index: usize,
    _permit: OwnedSemaphorePermit,
}

impl CpuPool {
    /// A pool of one lane with `threads` threads (0: as many as the machine has) named `name`.
    ///
    /// # Errors
    /// The operating system gave no thread.
    pub fn new(name: &'static str, threads: usize) -> Result<Self, rayon::ThreadPoolBuildError> {
        Self::with_lanes(name, threads, 1)
    }

    /// A pool of `lanes` lanes (at least one) with `threads` threads each.
    ///
    /// # Errors
    /// The operating system gave no thread.
    pub fn with_lanes(
        name: &'static str,
        threads: usize,
        lanes: usize,
    ) -> Result<Self, rayon::ThreadPoolBuildError> {
        let lanes = lanes.max(1);
        let pools = (0..lanes).map(|lane| {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(move |thread| format!("{name}-{lane}-{thread}"))
                .build()
        });
        Ok(Self {
            lanes: Arc::new(Lanes {
                pools: pools.collect::<Result<_, _>>()?,
                free: Mutex::new((0..lanes).rev().collect()),
                permits: Arc::new(Semaphore::new(lanes)),
            }),
        })
    }

    /// Runs `work` on a free lane; rayon calls inside stay on it. Dropping the future before the work has begun drops it.
    ///
    /// # Errors
    /// [`Panicked`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let lane = self.lane().await?;
        let lanes = Arc::clone(&self.lanes);
        let pool = &lanes.pools[lane.index];
        let (sender, receiver) = oneshot::channel();
        let span = tracing::Span::current();
        pool.spawn(move || {
            let lane = lane;
            if sender.is_closed() {
                return;
            }
            // Unwind safety: whatever `work` captured is gone after a panic, and shared state behind it is atomic or
            // behind a mutex that tells of poisoning.
            let result = catch_unwind(AssertUnwindSafe(|| span.in_scope(work)));
            // The lane first: whoever gets the answer may count on a free lane.
            drop(lane);
            drop(sender.send(result.map_err(|_| Panicked)));
        });
        receiver.await.unwrap_or(Err(Panicked))
    }

    async fn lane(&self) -> Result<Lane, Panicked> {
        let permits = Arc::clone(&self.lanes.permits);
        // The semaphore is never closed and a permit means a free lane: neither `ok_or` can fail.
        let permit = permits.acquire_owned().await.ok().ok_or(Panicked)?;
        let index = self.lanes.free().pop().ok_or(Panicked)?;
        Ok(Lane {
            lanes: Arc::clone(&self.lanes),
            index,
            _permit: permit,
        })
    }
}

impl Lanes {
    fn free(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.lanes.free().push(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;

    #[tokio::test]
    async fn a_panic_is_a_value_and_the_lane_lives_on() {
        let pool = CpuPool::new("test", 1).unwrap();
        assert_eq!(pool.run(|| panic!("boom")).await, Err::<(), _>(Panicked));
        assert_eq!(pool.run(|| 7).await, Ok(7));
    }

    #[tokio::test]
    async fn rayon_inside_stays_on_the_lane() {
        let pool = CpuPool::new("test", 3).unwrap();
        assert_eq!(pool.run(rayon::current_num_threads).await, Ok(3));
    }

    #[tokio::test]
    async fn work_that_nobody_awaits_any_more_never_begins() {
        let pool = CpuPool::new("test", 1).unwrap();
        let (begun, has_begun) = mpsc::channel::<()>();
        let (release, held) = mpsc::channel::<()>();
        let busy = {
            let pool = pool.clone();
            tokio::spawn(async move {
                pool.run(move || {
                    begun.send(()).unwrap();
                    held.recv().unwrap();
                })
                .await
            })
        };
        tokio::task::spawn_blocking(move || has_begun.recv())
            .await
            .unwrap()
            .unwrap();
        let ran = Arc::new(AtomicBool::new(false));
        let queued = {
            let (pool, ran) = (pool.clone(), Arc::clone(&ran));
            tokio::spawn(async move { pool.run(move || ran.store(true, Ordering::SeqCst)).await })
        };
        tokio::task::yield_now().await;
        queued.abort();
        assert!(queued.await.is_err());
        release.send(()).unwrap();
        busy.await.unwrap().unwrap();
        assert_eq!(pool.run(|| ()).await, Ok(()));
        assert!(!ran.load(Ordering::SeqCst));
    }

    #[tokio::test]
    async fn two_lanes_work_at_the_same_time() {
        let pool = CpuPool::with_lanes("test", 1, 2).unwrap();
        let here = Arc::new(std::sync::Barrier::new(2));
        let there = Arc::clone(&here);
        let both = tokio::join!(
            pool.run(move || here.wait()),
            pool.run(move || there.wait())
        );
        assert!(both.0.is_ok() && both.1.is_ok());
    }
}
