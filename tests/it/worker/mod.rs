//! The worker on a real database, with searches that a test holds in its hand.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod comparisons;
mod jobs;
mod leases;
mod stopping;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use kindred::anonymize::table::BlockBuilder;
use kindred::anonymize::{Observer, Outcome, Stop, Task, empty_front};
use kindred::config::Config;
use kindred::declaration::{DatasetDeclaration, Demand};
use kindred::ingest::Summary;
use kindred::job::{Answer, Job, JobSpec, JobState};
use kindred::pool::CpuPool;
use kindred::store::{NewJob, Store};
use kindred::vault::Vault;
use kindred::worker::{Search, run_with};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// A store with one small dataset, and the worker's settings.
struct Workshop {
    pool: PgPool,
    store: Store,
    config: Arc<Config>,
    declaration: DatasetDeclaration,
    dataset_id: Uuid,
}

/// A worker at work.
struct Worker {
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

/// A search that tells when it begins and waits until it may end.
struct Held {
    search: Search,
    begun: mpsc::Receiver<()>,
    release: mpsc::Sender<()>,
}

/// Four patients, two of each postal code: k = 2 without any generalization.
const ROWS: [[&str; 2]; 4] = [
    ["02138", "flu"],
    ["02139", "flu"],
    ["02138", "asthma"],
    ["02139", "gastritis"],
];

impl Workshop {
    async fn open(pool: PgPool, settings: &[(&str, &str)]) -> Self {
        let defaults = [
            ("KINDRED__WORKER__HEARTBEAT_SECONDS", "0.1"),
            ("KINDRED__WORKER__POLL_SECONDS", "0.1"),
        ];
        let settings = defaults.iter().chain(settings);
        let owned = settings.map(|&(key, value)| (key.to_owned(), value.to_owned()));
        let config = Config::layered(None, owned).unwrap();
        let keys = tempfile::tempdir().unwrap();
        let vault = Vault::open(None, &keys.path().join("master.key")).unwrap();
        Store::migrate(&pool).await.unwrap();
        let store = Store::new(pool.clone(), Arc::new(vault));
        let declaration = DatasetDeclaration::parse(&json!({
            "name": "admissions",
            "attributes": [
                { "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 3] } },
                { "name": "diagnosis", "role": "sensitive" },
            ],
        }))
        .unwrap();
        let dataset_id = load(&store, &declaration).await;
        Self {
            pool,
            store,
            config: Arc::new(config),
            declaration,
            dataset_id,
        }
    }

    fn start(&self, search: Search) -> Worker {
        let shutdown = CancellationToken::new();
        let lanes = self.config.worker.concurrency;
        let work = run_with(
            self.store.clone(),
            CpuPool::with_lanes("test", 1, lanes).unwrap(),
            Arc::clone(&self.config),
            shutdown.clone(),
            search,
        );
        Worker {
            shutdown,
            task: tokio::spawn(work),
        }
    }

    /// Submits a job that asks for k = 2, with fields of its own.
    async fn submit(&self, fields: Value) -> Uuid {
        let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": 2 }] });
        let Value::Object(fields) = fields else {
            panic!("fields are an object")
        };
        body.as_object_mut().unwrap().extend(fields);
        let job = NewJob {
            dataset_id: self.dataset_id,
            spec: JobSpec::Search {
                demand: Demand::parse(&body, &self.declaration).unwrap(),
                through_batch: 1,
                declaration: self.declaration.clone(),
                populations: Vec::new(),
            },
            search_space: "3".to_owned(),
            warnings: Vec::new(),
            infeasible: None,
            max_attempts: self.config.worker.max_attempts,
            max_queued: self.config.worker.max_queued,
        };
        let mut job_id = Uuid::nil();
        let submitted = self.store.submit_job(&job, None, |job| {
            job_id = job.job_id;
            answer()
        });
        submitted.await.unwrap();
        job_id
    }

    /// The job once it has this state; waits for changes, not for time.
    async fn until(&self, job_id: Uuid, state: JobState) -> Job {
        let reached = async {
            loop {
                // Attempts that follow a failed one need not wait in a test.
                let soon = "update job set run_after = now() where state = 'queued'";
                sqlx::query(soon).execute(&self.pool).await.unwrap();
                let job = self.store.job(job_id).await.unwrap();
                if job.state == state {
                    return job;
                }
                assert!(!job.state.is_final(), "{job:?}");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), reached)
            .await
            .unwrap()
    }
}

impl Worker {
    async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }
}

impl Held {
    /// A search that heeds no stop signal if `is_stubborn`.
    fn new(is_stubborn: bool) -> Self {
        let (begin, begun) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let released = std::sync::Mutex::new(released);
        let search = move |task: &Task<'_>, observer: &dyn Observer| {
            begin.send(()).unwrap();
            loop {
                let pause = Duration::from_millis(5);
                match released.lock().unwrap().recv_timeout(pause) {
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    _ => return Ok(nothing_found(task)),
                }
                match observer.must_stop() {
                    Some(Stop::Cancelled) if !is_stubborn => return Ok(Outcome::Cancelled),
                    Some(Stop::OutOfTime) => return Ok(nothing_found(task)),
                    _ => {}
                }
            }
        };
        Self {
            search: Arc::new(search),
            begun,
            release,
        }
    }

    /// Waits until the search has begun, `times` times in all.
    async fn has_begun(self, times: usize) -> Self {
        let wait = move || {
            for _ in 0..times {
                self.begun.recv_timeout(Duration::from_mins(1)).unwrap();
            }
            self
        };
        tokio::task::spawn_blocking(wait).await.unwrap()
    }
}

/// A search that counts its calls and answers at once.
fn counting() -> (Search, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let search = move |task: &Task<'_>, _: &dyn Observer| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(nothing_found(task))
    };
    (Arc::new(search), calls)
}

/// Out of time, with nothing: the outcome that needs no solution.
fn nothing_found(task: &Task<'_>) -> Outcome {
    let rows = task.table.rows as u64;
    Outcome::Stopped(empty_front(task.demand, task.schema, rows, rows))
}

fn answer() -> Answer {
    Answer {
        status: 200,
        location: None,
        body: Value::Null,
    }
}

async fn load(store: &Store, declaration: &DatasetDeclaration) -> Uuid {
    let mut dataset_id = Uuid::nil();
    let created = store.create_dataset(declaration, None, |dataset| {
        dataset_id = dataset.dataset_id;
        answer()
    });
    created.await.unwrap();
    let dataset = store.dataset(dataset_id).await.unwrap();
    let mut builder = BlockBuilder::new(2);
    for row in ROWS {
        for (column, cell) in row.into_iter().enumerate() {
            builder.push(column, Some(cell));
        }
    }
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    store
        .stage_block(&mut upload, &builder.finish())
        .await
        .unwrap();
    let summary = Summary {
        rows: 4,
        trimmed_cells: 0,
        added: Vec::new(),
        warnings: Vec::new(),
        digest: [7; 32],
    };
    let committed = store.commit_upload(upload, &summary, false, None, |_| answer());
    committed.await.unwrap();
    dataset_id
}
