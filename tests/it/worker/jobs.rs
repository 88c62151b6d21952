//! Jobs from the queue to their end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::TryStreamExt;
use kindred::anonymize::{self, Observer, Task};
use kindred::form::{Form, Writer};
use kindred::job::{JobOutcome, JobState};
use serde_json::json;
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use super::{Held, Workshop, counting};

#[sqlx::test(migrations = false)]
async fn a_job_yields_its_front_and_the_release_it_asked_for(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let worker = workshop.start(Arc::new(anonymize::anonymize));
    let asked = json!({ "search": { "method": "exact" }, "release": "recommended" });
    let job_id = workshop.submit(asked).await;
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!((job.outcome, job.attempt), (Some(JobOutcome::Front), 1));

    // Level 0 meets k = 2 and costs nothing: it is the whole front. Two codes of two rows are two classes.
    let store = &workshop.store;
    let stored = store.front(job_id).await.unwrap();
    assert_eq!(stored.front.solutions.len(), 1);
    let release_id = job.release_id.unwrap();
    let record = store.release(release_id).await.unwrap();
    assert_eq!(
        (record.rows_in, record.released_rows, record.suppressed_rows),
        (4, 4, 0)
    );
    assert_eq!(
        (
            record.classes,
            record.privacy.unwrap().k,
            record.verification.unwrap().k,
        ),
        (2, 2, 2)
    );
    assert_eq!(record.columns, ["zip", "diagnosis"]);
    assert_eq!(record.batches.len(), 1);
    assert_eq!(record.hierarchy_digests.keys().collect::<Vec<_>>(), ["zip"]);

    // What is served later is what was hashed.
    let mut writer = Writer::new(Form::Csv, record.columns.clone(), vec![false; 2]);
    let mut text = Vec::new();
    writer.begin(&mut text);
    let mut blocks = store.release_blocks(release_id);
    while let Some(block) = blocks.try_next().await.unwrap() {
        writer.write(&block, &mut text);
    }
    writer.end(&mut text);
    assert_eq!(
        hex::encode(Sha256::digest(&text)),
        record.csv_sha256.unwrap()
    );
    assert_eq!(Some(text.len() as u64), record.csv_bytes);
    let mut lines: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().collect();
    lines[1..].sort_unstable();
    let expected = [
        "zip,diagnosis",
        "02138,asthma",
        "02138,flu",
        "02139,flu",
        "02139,gastritis",
    ];
    assert_eq!(lines, expected);
}

#[sqlx::test(migrations = false)]
async fn a_demand_that_cannot_be_met_is_an_outcome_without_a_release(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let worker = workshop.start(Arc::new(anonymize::anonymize));
    let asked = json!({
        "privacy": [{ "model": "k_anonymity", "k": 5 }],
        "search": { "method": "exact" },
        "release": "recommended",
    });
    let job_id = workshop.submit(asked).await;
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!(job.outcome, Some(JobOutcome::Infeasible));
    assert_eq!(job.reason.unwrap().code, "k_exceeds_rows");
    assert_eq!(job.release_id, None);
}

#[sqlx::test(migrations = false)]
async fn a_search_ends_with_its_best_so_far_when_its_seconds_are_used_up(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let asked = json!({ "search": { "method": "exact", "max_seconds": 0.05 } });
    let job_id = workshop.submit(asked).await;
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!(job.outcome, Some(JobOutcome::Stopped));
    let stored = workshop.store.front(job_id).await.unwrap();
    assert!(!stored.front.search.complete);
}

#[sqlx::test(migrations = false)]
async fn a_panic_is_tried_once_more_and_then_fails_without_its_message(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let search = |task: &Task<'_>, _: &dyn Observer| -> Result<_, anonymize::Error> {
        panic!("cell {:?}", task.table.columns.len())
    };
    let worker = workshop.start(Arc::new(search));
    let job_id = workshop.submit(json!({})).await;
    let job = workshop.until(job_id, JobState::Failed).await;
    worker.stop().await;
    let failure = job.failure.unwrap();
    assert_eq!((failure.code.as_str(), job.attempt), ("internal", 2));
    assert_eq!(failure.detail, "the search panicked");
}

// UC-86: what is stored names the column and the number of values, not the values (UC-85).
#[sqlx::test(migrations = false)]
async fn uc_86_a_search_that_cannot_run_fails_at_once_with_a_code(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let search = |_: &Task<'_>, _: &dyn Observer| {
        Err(anonymize::Error::Uncovered {
            column: "zip".to_owned(),
            values: 3,
        })
    };
    let worker = workshop.start(Arc::new(search));
    let job_id = workshop.submit(json!({})).await;
    let job = workshop.until(job_id, JobState::Failed).await;
    worker.stop().await;
    let failure = job.failure.unwrap();
    assert_eq!(
        (failure.code.as_str(), job.attempt),
        ("hierarchy_missing_values", 1)
    );
    assert!(
        failure.detail.contains("`zip`: 3 distinct values"),
        "{failure:?}"
    );
}

#[sqlx::test(migrations = false)]
async fn a_job_beyond_the_permits_waits_in_the_queue(pool: PgPool) {
    let workshop = Workshop::open(pool, &[("KINDRED__WORKER__CONCURRENCY", "1")]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let first = workshop.submit(json!({})).await;
    let held = held.has_begun(1).await;
    let second = workshop.submit(json!({})).await;
    // Until the first ends, nothing can claim the second: its state is the queue's.
    assert_eq!(
        workshop.store.job(second).await.unwrap().state,
        JobState::Queued
    );
    held.release.send(()).unwrap();
    workshop.until(first, JobState::Succeeded).await;
    let held = held.has_begun(1).await;
    held.release.send(()).unwrap();
    workshop.until(second, JobState::Succeeded).await;
    worker.stop().await;
}

#[sqlx::test(migrations = false)]
async fn uc_84_a_search_holds_no_connection(options: PgPoolOptions, database: PgConnectOptions) {
    let pool = options
        .max_connections(1)
        .connect_with(database)
        .await
        .unwrap();
    let workshop = Workshop::open(pool, &[]).await;
    let held = Held::new(false);
    let worker = workshop.start(Arc::clone(&held.search));
    let job_id = workshop.submit(json!({})).await;
    let held = held.has_begun(1).await;
    // The only connection answers while the search runs.
    assert_eq!(
        workshop.store.job(job_id).await.unwrap().state,
        JobState::Running
    );
    held.release.send(()).unwrap();
    workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
}

#[sqlx::test(migrations = false)]
async fn two_workers_run_no_job_twice(pool: PgPool) {
    let workshop = Workshop::open(pool, &[("KINDRED__WORKER__CONCURRENCY", "4")]).await;
    let (search, calls) = counting();
    let workers = [workshop.start(Arc::clone(&search)), workshop.start(search)];
    let mut jobs = Vec::new();
    for _ in 0..20 {
        jobs.push(workshop.submit(json!({})).await);
    }
    for job_id in jobs {
        let job = workshop.until(job_id, JobState::Succeeded).await;
        assert_eq!(job.attempt, 1);
    }
    for worker in workers {
        worker.stop().await;
    }
    assert_eq!(calls.load(Ordering::SeqCst), 20);
}
