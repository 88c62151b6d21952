//! Comparisons when workers vanish, stop or panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kindred::anonymize::{Observer, Task, anonymize};
use kindred::declaration::CompareDemand;
use kindred::job::{JobOutcome, JobSpec, JobState};
use kindred::store::NewJob;
use kindred::worker::Search;
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use super::{Workshop, answer};

async fn submit(workshop: &Workshop) -> Uuid {
    let body = json!({ "privacy": [{ "model": "k_anonymity", "k": 2 }], "methods": ["exact", "nsga2", "tds"], "seeds": 3 });
    let job = NewJob {
        dataset_id: workshop.dataset_id,
        spec: JobSpec::Compare {
            demand: CompareDemand::parse(&body, &workshop.declaration).unwrap(),
            through_batch: 1,
            declaration: workshop.declaration.clone(),
            populations: Vec::new(),
        },
        search_space: String::new(),
        warnings: Vec::new(),
        infeasible: None,
        max_attempts: workshop.config.worker.max_attempts,
        max_queued: workshop.config.worker.max_queued,
    };
    let mut job_id = Uuid::nil();
    let submitted = workshop.store.submit_job(&job, None, |job| {
        job_id = job.job_id;
        answer()
    });
    submitted.await.unwrap();
    job_id
}

/// The true search, which panics at a call of this number.
fn falling(at: usize) -> (Search, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let search = move |task: &Task<'_>, observer: &dyn Observer| {
        let call = counted.fetch_add(1, Ordering::SeqCst);
        assert!(call != at, "as asked");
        anonymize(task, observer)
    };
    (Arc::new(search), calls)
}

#[sqlx::test(migrations = false)]
async fn a_comparison_whose_worker_vanished_is_run_again_from_its_start(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let job_id = submit(&workshop).await;
    // Claimed, and never heard of again.
    assert!(workshop.store.claim_job(0.1).await.unwrap().is_some());
    let (search, calls) = falling(usize::MAX);
    let worker = workshop.start(search);
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!((job.attempt, job.outcome), (2, Some(JobOutcome::Measured)));
    // One run of each method that does the same every time, three of the other.
    assert_eq!(calls.load(Ordering::SeqCst), 5);
    let (dataset_id, report) = workshop.store.report(job_id, "compare").await.unwrap();
    assert_eq!(
        (dataset_id, &report["seeds_run"]),
        (workshop.dataset_id, &json!(3))
    );
}

#[sqlx::test(migrations = false)]
async fn a_run_that_panics_is_tried_once_more(pool: PgPool) {
    let workshop = Workshop::open(pool, &[]).await;
    let (search, calls) = falling(2);
    let worker = workshop.start(search);
    let job_id = submit(&workshop).await;
    let job = workshop.until(job_id, JobState::Succeeded).await;
    worker.stop().await;
    assert_eq!((job.attempt, job.outcome), (2, Some(JobOutcome::Measured)));
    assert_eq!(calls.load(Ordering::SeqCst), 3 + 5);
}
