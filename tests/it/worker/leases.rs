//! Cancel requests, lost leases, vanished workers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kindred::job::{JobOutcome, JobState};
use serde_json::json;
use sqlx::PgPool;

use super::{Held, Workshop, counting};

#[sqlx::test(migrations = false)]
async fn a_running_job_is_cancelled_within_a_second(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let job_id = workshop.submit(json!({})).await;
    let _held = held.has_begun(1).await;
    let asked = Instant::now();
    workshop.store.cancel_job(job_id).await.unwrap();
    workshop.until(job_id, JobState::Cancelled).await;
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    worker.stop().await;
}

#[sqlx::test(migrations = false)]
async fn a_search_that_does_not_heed_its_cancel_does_not_delay_it(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(true);
    let worker = workshop.start(Arc::clone(&held.search));
    let job_id = workshop.submit(json!({})).await;
    let held = held.has_begun(1).await;
    workshop.store.cancel_job(job_id).await.unwrap();
    workshop.until(job_id, JobState::Cancelled).await;
    held.release.send(()).unwrap();
    worker.stop().await;
    // The late answer changed nothing.
    assert!(workshop.store.front(job_id).await.is_err());
}

#[sqlx::test(migrations = false)]
async fn a_result_whose_lease_was_lost_is_discarded_and_the_job_ends_once(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(true);
    let worker = workshop.start(Arc::clone(&held.search));
    let job_id = workshop.submit(json!({})).await;
    let held = held.has_begun(1).await;
    // As if the worker had been silent for longer than its lease.
    let expire = "update job set lease_expires_at = now() - interval '1 second'";
    sqlx::query(expire).execute(&workshop.pool).await.unwrap();
    workshop.store.reap_jobs().await.unwrap();
    workshop.until(job_id, JobState::Running).await;
    // The second attempt searches while the first still does; then both may answer.
    let held = held.has_begun(1).await;
    held.release.send(()).unwrap();
    held.release.send(()).unwrap();
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!((job.attempt, job.outcome), (2, Some(JobOutcome::Stopped)));
    let fronts: i64 = sqlx::query_scalar("select count(*) from front")
        .fetch_one(&workshop.pool)
        .await
        .unwrap();
    assert_eq!(fronts, 1);
}

// UC-83
#[sqlx::test(migrations = false)]
async fn uc_83_a_job_whose_worker_vanished_is_taken_up_again(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let job_id = workshop.submit(json!({})).await;
    // Claimed, and never heard of again.
    assert!(workshop.store.claim_job(0.1).await.unwrap().is_some());
    let (search, calls) = counting();
    let worker = workshop.start(search);
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!(job.attempt, 2);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

// UC-83
#[sqlx::test(migrations = false)]
async fn uc_83_a_job_that_loses_every_worker_fails_after_its_attempts(pool: PgPool) {
    let attempts = [("KINDRED__WORKER__MAX_ATTEMPTS", "1")];
    let workshop = Workshop::open(pool, &attempts).await;
    let job_id = workshop.submit(json!({})).await;
    assert!(workshop.store.claim_job(0.1).await.unwrap().is_some());
    let (search, calls) = counting();
    let worker = workshop.start(search);
    let job = workshop.until(job_id, JobState::Failed).await;
    worker.stop().await;
    assert_eq!(job.failure.unwrap().code, "attempts_exhausted");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[sqlx::test(migrations = false)]
async fn a_job_of_a_deleted_dataset_stops(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    workshop.submit(json!({})).await;
    let _held = held.has_begun(1).await;
    workshop
        .store
        .delete_dataset(workshop.dataset_id)
        .await
        .unwrap();
    // Its drain would wait for the search, which nobody lets end.
    worker.stop().await;
}
