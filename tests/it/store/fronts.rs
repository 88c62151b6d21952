//! Fronts.

use kindred::job::{JobOutcome, JobState};
use kindred::store::{Error, Finish};
use sqlx::PgPool;

use super::*;

#[sqlx::test]
async fn a_front_comes_back_as_it_was_found(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let not_yet = store.front(job_id).await;
    assert!(matches!(not_yet, Err(Error::FrontNotReady)));
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let not_yet = store.solution(job_id, 0).await;
    assert!(matches!(not_yet, Err(Error::FrontNotReady)));
    let finish = Finish::Succeeded {
        outcome: JobOutcome::Front,
        reason: None,
        front: front(12),
    };
    let job = store.finish_job(&lease, &finish, None).await.unwrap();
    assert_eq!(
        (job.state, job.outcome),
        (JobState::Succeeded, Some(JobOutcome::Front))
    );
    assert_eq!(job.progress.evaluations, 8);
    assert_eq!(job.release_id, None);
    let stored = store.front(job_id).await.unwrap();
    assert_eq!(stored.front, front(12));
    assert_eq!(stored.dataset_id, dataset.dataset_id);
    assert_eq!(stored.spec, new_job(dataset.dataset_id).spec);
    let (_, solution) = store.solution(job_id, 11).await.unwrap();
    assert_eq!(solution, front(12).solutions[11]);
    let unknown = store.solution(job_id, 12).await;
    assert!(matches!(unknown, Err(Error::NotFound("solution"))));
    let unknown = store.front(Uuid::from_u128(1)).await;
    assert!(matches!(unknown, Err(Error::NotFound("job"))));
}

#[sqlx::test]
async fn a_cancelled_job_has_no_front(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    store.cancel_job(job_id).await.unwrap();
    let front = store.front(job_id).await;
    assert!(matches!(front, Err(Error::FrontNotReady)));
}

/// The result is stored with the state or not at all: here the last of its statements fails.
#[sqlx::test]
async fn a_result_that_cannot_be_stored_whole_is_not_stored(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let (draft, mut record) = releases::draft(&store, dataset.dataset_id, job_id).await;
    record.job_id = Uuid::from_u128(1);
    let finish = Finish::Succeeded {
        outcome: JobOutcome::Front,
        reason: None,
        front: front(2),
    };
    let failed = store
        .finish_job(&lease, &finish, Some((draft, record)))
        .await;
    assert!(matches!(failed, Err(Error::NotFound("job"))));
    assert_eq!(store.job(job_id).await.unwrap().state, JobState::Running);
    let sizes = table_sizes(&pool).await;
    for table in ["front", "solution", "release", "release_chunk", "staging"] {
        assert!(sizes.iter().all(|(name, _)| name != table), "{table}");
    }
    // The lease is still held.
    store.finish_job(&lease, &finish, None).await.unwrap();
}
