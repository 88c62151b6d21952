//! What a stopping worker does with the jobs that it holds.

use std::sync::Arc;

use kindred::job::JobState;
use serde_json::json;
use sqlx::PgPool;

use super::{Held, Workshop};

#[sqlx::test(migrations = false)]
async fn a_job_that_outlasts_the_drain_is_handed_back_uncounted(pool: PgPool) {
    let drain = [("KINDRED__WORKER__DRAIN_SECONDS", "0.05")];
    let workshop = Workshop::open(pool, &drain).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let job_id = workshop.submit(json!({})).await;
    let _held = held.has_begun(1).await;
    worker.stop().await;
    let job = workshop.store.job(job_id).await.unwrap();
    assert_eq!((job.state, job.attempt), (JobState::Queued, 0));
}

#[sqlx::test(migrations = false)]
async fn a_job_that_ends_within_the_drain_is_kept_and_nothing_more_is_claimed(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let running = workshop.submit(json!({})).await;
    let held = held.has_begun(1).await;
    worker.shutdown.cancel();
    let late = workshop.submit(json!({})).await;
    held.release.send(()).unwrap();
    worker.stop().await;
    let state = async |job_id| workshop.store.job(job_id).await.unwrap().state;
    assert_eq!(state(running).await, JobState::Succeeded);
    assert_eq!(state(late).await, JobState::Queued);
}
