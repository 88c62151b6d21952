//! The lease protocol. Leases of no or negative length have expired at once, so nobody need wait.

use std::collections::HashSet;

use kindred::anonymize::Progress;
use kindred::job::{JobFailure, JobOutcome, JobState, Lease};
use kindred::store::{Error, Finish, Heartbeat, Store};
use sqlx::PgPool;

use super::*;

const LONG: f64 = 600.0;
const EXPIRED: f64 = -1.0;

fn succeeded() -> Finish {
    Finish::Succeeded {
        outcome: JobOutcome::Front,
        reason: None,
        front: front(2),
    }
}

fn failed(retryable: bool) -> Finish {
    Finish::Failed {
        failure: JobFailure {
            code: "internal".to_owned(),
            detail: "the work panicked".to_owned(),
        },
        retryable,
    }
}

async fn claim(store: &Store, lease_seconds: f64) -> Lease {
    store.claim_job(lease_seconds).await.unwrap().unwrap()
}

/// A job queued again waits for its back-off; this ends the wait.
async fn end_back_off(pool: &PgPool) {
    run(pool, "update job set run_after = now()").await;
}

#[sqlx::test]
async fn eight_claimers_run_forty_jobs_and_none_twice(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut submitted = HashSet::new();
    for _ in 0..40 {
        submitted.insert(submit(&store, dataset.dataset_id).await);
    }
    let claimers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut claimed = Vec::new();
                while let Some(lease) = store.claim_job(LONG).await.unwrap() {
                    claimed.push(lease.job_id);
                    tokio::task::yield_now().await;
                    store.finish_job(&lease, &succeeded(), None).await.unwrap();
                }
                claimed
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for claimer in claimers {
        claimed.extend(claimer.await.unwrap());
    }
    assert_eq!(claimed.len(), 40);
    assert_eq!(claimed.into_iter().collect::<HashSet<_>>(), submitted);
    let counted = store.count_jobs().await.unwrap();
    assert!(counted.contains(&(JobState::Succeeded, 40)));
}

#[sqlx::test]
async fn the_oldest_job_is_claimed_first(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut submitted = Vec::new();
    for _ in 0..4 {
        submitted.push(submit(&store, dataset.dataset_id).await);
    }
    let mut claimed = Vec::new();
    while let Some(lease) = store.claim_job(LONG).await.unwrap() {
        claimed.push(lease.job_id);
    }
    assert_eq!(claimed, submitted);
}

#[sqlx::test]
async fn a_heartbeat_stores_progress_and_counts_as_a_visible_change(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    submit(&store, dataset.dataset_id).await;
    let lease = claim(&store, LONG).await;
    let before = store.job(lease.job_id).await.unwrap();
    assert_eq!((before.state, before.attempt), (JobState::Running, 1));
    assert!(before.started_at.is_some());
    let beat = store.renew_lease(&lease, LONG, None).await.unwrap();
    assert_eq!(beat, Heartbeat::Held);
    assert_eq!(store.job(lease.job_id).await.unwrap(), before);
    let progress = Progress {
        evaluations: 29,
        fraction: f64::INFINITY,
        phase: "generation 11 of 12".to_owned(),
    };
    let beat = store.renew_lease(&lease, LONG, Some(&progress)).await;
    assert_eq!(beat.unwrap(), Heartbeat::Held);
    let after = store.job(lease.job_id).await.unwrap();
    assert_eq!(after.version, before.version + 1);
    assert_eq!(after.progress.evaluations, 29);
    assert!((after.progress.fraction - 1.0).abs() < f64::EPSILON);
    assert_eq!(after.progress.phase, "generation 11 of 12");
    assert!(after.progress.updated_at > before.progress.updated_at);
}

#[sqlx::test]
async fn a_lost_lease_can_neither_renew_nor_finish(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let stale = claim(&store, EXPIRED).await;
    let beat = store.renew_lease(&stale, LONG, None).await.unwrap();
    assert_eq!(beat, Heartbeat::Lost);
    assert_eq!(store.reap_jobs().await.unwrap(), 1);
    end_back_off(&pool).await;
    let held = claim(&store, LONG).await;
    assert_eq!((held.job_id, held.attempt), (job_id, 2));
    assert_ne!(held.token, stale.token);

    let before = (table_sizes(&pool).await, store.job(job_id).await.unwrap());
    let beat = store.renew_lease(&stale, LONG, None).await.unwrap();
    assert_eq!(beat, Heartbeat::Lost);
    for finish in [
        succeeded(),
        failed(true),
        failed(false),
        Finish::Cancelled,
        Finish::Released,
    ] {
        let (draft, record) = releases::draft(&store, dataset.dataset_id, job_id).await;
        let refused = store
            .finish_job(&stale, &finish, Some((draft, record)))
            .await;
        assert!(matches!(refused, Err(Error::LeaseLost)));
    }
    // Nothing of it is stored.
    assert_eq!(
        (table_sizes(&pool).await, store.job(job_id).await.unwrap()),
        before
    );
    store.finish_job(&held, &succeeded(), None).await.unwrap();
    // Finished once is finished.
    let again = store.finish_job(&held, &succeeded(), None).await;
    assert!(matches!(again, Err(Error::LeaseLost)));
    assert_eq!(store.front(job_id).await.unwrap().front, front(2));
}

// UC-83
#[sqlx::test]
async fn uc_83_a_job_whose_worker_was_killed_is_queued_again_and_its_attempts_are_capped(
    pool: PgPool,
) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    for attempt in 1..=3 {
        let lease = claim(&store, EXPIRED).await;
        assert_eq!((lease.job_id, lease.attempt), (job_id, attempt));
        assert_eq!(store.reap_jobs().await.unwrap(), 1);
        assert_eq!(store.reap_jobs().await.unwrap(), 0);
        // Queued again with back-off: not claimed at once.
        assert!(store.claim_job(LONG).await.unwrap().is_none());
        let job = store.job(job_id).await.unwrap();
        let expected = if attempt < 3 {
            JobState::Queued
        } else {
            JobState::Failed
        };
        assert_eq!(job.state, expected);
        end_back_off(&pool).await;
    }
    let job = store.job(job_id).await.unwrap();
    assert_eq!(job.failure.unwrap().code, "attempts_exhausted");
    assert!(job.finished_at.is_some());
    assert!(store.claim_job(LONG).await.unwrap().is_none());
    let front = store.front(job_id).await;
    assert!(matches!(front, Err(Error::FrontNotReady)));
}

#[sqlx::test]
async fn a_job_with_a_living_worker_is_not_reaped(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    submit(&store, dataset.dataset_id).await;
    claim(&store, LONG).await;
    assert_eq!(store.reap_jobs().await.unwrap(), 0);
}

#[sqlx::test]
async fn a_running_job_is_told_to_stop_and_then_cancelled(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let lease = claim(&store, LONG).await;
    let asked = store.cancel_job(job_id).await.unwrap();
    assert_eq!(asked.state, JobState::Running);
    let beat = store.renew_lease(&lease, LONG, None).await.unwrap();
    assert_eq!(beat, Heartbeat::CancelRequested);
    let job = store.finish_job(&lease, &Finish::Cancelled, None).await;
    assert_eq!(job.unwrap().state, JobState::Cancelled);
    let again = store.cancel_job(job_id).await;
    assert!(matches!(again, Err(Error::JobFinished)));
}

#[sqlx::test]
async fn a_job_that_is_to_be_cancelled_is_never_queued_again(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    for finish in [Some(failed(true)), Some(Finish::Released), None] {
        let job_id = submit(&store, dataset.dataset_id).await;
        let lease = claim(&store, if finish.is_some() { LONG } else { EXPIRED }).await;
        store.cancel_job(job_id).await.unwrap();
        match finish {
            Some(finish) => {
                store.finish_job(&lease, &finish, None).await.unwrap();
            }
            None => assert_eq!(store.reap_jobs().await.unwrap(), 1),
        }
        assert_eq!(store.job(job_id).await.unwrap().state, JobState::Cancelled);
    }
}

#[sqlx::test]
async fn a_failure_is_retried_while_attempts_remain_if_that_can_help(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    for attempt in 1..=3 {
        let lease = claim(&store, LONG).await;
        assert_eq!(lease.attempt, attempt);
        let job = store.finish_job(&lease, &failed(true), None).await.unwrap();
        if attempt < 3 {
            assert_eq!((job.state, job.failure), (JobState::Queued, None));
            assert!(store.claim_job(LONG).await.unwrap().is_none());
            end_back_off(&pool).await;
        } else {
            assert_eq!(job.state, JobState::Failed);
            assert_eq!(job.failure.unwrap().code, "internal");
        }
    }
    assert_eq!(store.job(job_id).await.unwrap().state, JobState::Failed);

    submit(&store, dataset.dataset_id).await;
    let lease = claim(&store, LONG).await;
    let job = store
        .finish_job(&lease, &failed(false), None)
        .await
        .unwrap();
    assert_eq!((job.state, job.attempt), (JobState::Failed, 1));
}

#[sqlx::test]
async fn a_job_handed_back_is_claimed_at_once_and_the_attempt_does_not_count(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    for _ in 0..10 {
        let lease = claim(&store, LONG).await;
        assert_eq!((lease.job_id, lease.attempt), (job_id, 1));
        let job = store
            .finish_job(&lease, &Finish::Released, None)
            .await
            .unwrap();
        assert_eq!((job.state, job.attempt), (JobState::Queued, 0));
    }
}
