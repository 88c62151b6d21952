//! Jobs as callers see them.

use std::time::Duration;

use futures::StreamExt;
use kindred::anonymize::report::Reason;
use kindred::ingest::Warning;
use kindred::job::{JobOutcome, JobState};
use kindred::store::{Error, NewJob};
use sqlx::PgPool;

use super::*;

#[sqlx::test]
async fn a_submitted_job_is_queued_with_all_it_was_given(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let warning = Warning {
        code: "implicit_hierarchy".to_owned(),
        detail: "two levels".to_owned(),
        column: Some("sex".to_owned()),
    };
    let new = NewJob {
        search_space: "9094947017729282379150390625".to_owned(),
        warnings: vec![warning.clone()],
        ..new_job(dataset.dataset_id)
    };
    let answer = store
        .submit_job(&new, None, |job| answer_of(job.job_id))
        .await
        .unwrap();
    let job = store.job(id_of(&answer)).await.unwrap();
    assert_eq!((job.state, job.outcome), (JobState::Queued, None));
    assert_eq!(job.kind, "search");
    assert_eq!(job.warnings, [warning]);
    assert_eq!(job.progress.search_space, "9094947017729282379150390625");
    assert_eq!((job.attempt, job.version), (0, 1));
    assert_eq!((job.started_at, job.finished_at), (None, None));
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    assert_eq!((lease.job_id, lease.spec), (job.job_id, new.spec));
}

// UC-48
#[sqlx::test]
async fn uc_48_a_job_known_to_be_infeasible_has_ended_when_it_is_submitted(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let reason = Reason {
        code: "k_exceeds_rows".to_owned(),
        detail: "k is 5, rows are 2".to_owned(),
    };
    let new = NewJob {
        infeasible: Some((reason.clone(), front(0))),
        // It takes no place in the backlog.
        max_queued: 0,
        ..new_job(dataset.dataset_id)
    };
    let answer = store
        .submit_job(&new, None, |job| answer_of(job.job_id))
        .await
        .unwrap();
    let job = store.job(id_of(&answer)).await.unwrap();
    assert_eq!(
        (job.state, job.outcome),
        (JobState::Succeeded, Some(JobOutcome::Infeasible))
    );
    assert_eq!(job.reason, Some(reason));
    assert!(job.finished_at.is_some());
    assert!(
        store
            .front(job.job_id)
            .await
            .unwrap()
            .front
            .solutions
            .is_empty()
    );
    assert!(store.claim_job(600.0).await.unwrap().is_none());
}

#[sqlx::test]
async fn the_backlog_never_exceeds_its_limit(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let submits: Vec<_> = (0..10)
        .map(|_| {
            let store = store.clone();
            let new = NewJob {
                max_queued: 3,
                ..new_job(dataset.dataset_id)
            };
            tokio::spawn(async move {
                store
                    .submit_job(&new, None, |job| answer_of(job.job_id))
                    .await
            })
        })
        .collect();
    let mut taken = 0;
    for submit in submits {
        match submit.await.unwrap() {
            Ok(_) => taken += 1,
            Err(Error::BacklogFull { queued: 3 }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(taken, 3);
    // A claimed job makes room.
    store.claim_job(600.0).await.unwrap().unwrap();
    let new = NewJob {
        max_queued: 3,
        ..new_job(dataset.dataset_id)
    };
    store
        .submit_job(&new, None, |job| answer_of(job.job_id))
        .await
        .unwrap();
}

#[sqlx::test]
async fn a_queued_job_is_cancelled_at_once_and_a_final_one_not_at_all(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let job = store.cancel_job(job_id).await.unwrap();
    assert_eq!((job.state, job.version), (JobState::Cancelled, 2));
    assert!(job.finished_at.is_some());
    assert!(store.claim_job(600.0).await.unwrap().is_none());
    let again = store.cancel_job(job_id).await;
    assert!(matches!(again, Err(Error::JobFinished)));
    let unknown = store.cancel_job(Uuid::from_u128(1)).await;
    assert!(matches!(unknown, Err(Error::NotFound("job"))));
}

#[sqlx::test]
async fn jobs_are_listed_by_state_and_dataset(pool: PgPool) {
    let store = store(&pool);
    let (one, two) = (create(&store).await, create(&store).await);
    let first = submit(&store, one.dataset_id).await;
    let second = submit(&store, two.dataset_id).await;
    let third = submit(&store, one.dataset_id).await;
    store.cancel_job(third).await.unwrap();
    let ids = async |state, dataset_id| {
        let list = store.list_jobs(state, dataset_id, &page(500, None)).await;
        let items = list.unwrap().items;
        items.iter().map(|job| job.job_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None, None).await, [third, second, first]);
    assert_eq!(ids(None, Some(one.dataset_id)).await, [third, first]);
    assert_eq!(ids(Some(JobState::Queued), None).await, [second, first]);
    let both = ids(Some(JobState::Queued), Some(one.dataset_id)).await;
    assert_eq!(both, [first]);
    let list = store.list_jobs(None, None, &page(1, None)).await.unwrap();
    let list = store
        .list_jobs(None, None, &page(2, list.next_cursor))
        .await
        .unwrap();
    assert_eq!(list.items.len(), 2);
    assert_eq!(list.next_cursor, None);
    let counted = store.count_jobs().await.unwrap();
    assert_eq!(
        counted,
        [
            (JobState::Queued, 2),
            (JobState::Running, 0),
            (JobState::Succeeded, 0),
            (JobState::Failed, 0),
            (JobState::Cancelled, 1),
        ]
    );
}

#[sqlx::test]
async fn whoever_listens_is_told_of_every_change(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut changes = store.job_changes().await.unwrap();
    let mut next = async || {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        change.unwrap().unwrap().unwrap()
    };
    let job_id = submit(&store, dataset.dataset_id).await;
    assert_eq!(next().await, job_id);
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    assert_eq!(next().await, job_id);
    // A mere renewal is no change; a cancel request is one, although no reader sees it.
    store.renew_lease(&lease, 600.0, None).await.unwrap();
    let version = store.job(job_id).await.unwrap().version;
    let asked = store.cancel_job(job_id).await.unwrap();
    assert_eq!((asked.state, asked.version), (JobState::Running, version));
    let other = submit(&store, dataset.dataset_id).await;
    assert_eq!(next().await, job_id);
    assert_eq!(next().await, other);
    store.delete_dataset(dataset.dataset_id).await.unwrap();
    let mut gone = [next().await, next().await];
    gone.sort();
    let mut both = [job_id, other];
    both.sort();
    assert_eq!(gone, both);
}

#[sqlx::test]
async fn the_stream_of_changes_ends_with_its_connection(pool: PgPool) {
    let store = store(&pool);
    let mut changes = store.job_changes().await.unwrap();
    // Every connection to this database but our own.
    run(
        &pool,
        "select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()",
    )
    .await;
    let end = tokio::time::timeout(Duration::from_secs(20), async {
        while let Some(change) = changes.next().await {
            assert!(change.is_err());
        }
    });
    end.await.unwrap();
}
