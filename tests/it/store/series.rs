//! The index of a series in Postgres against the one in memory, and updates that break off.

use std::sync::{Arc, Mutex};

use kindred::anonymize::series::{
    Cell, Class, ClassId, ClassKey, CohortId, Events, Index, Member, MemoryIndex, NodeKey, Rules,
    Score, Settings, State, Subject, Value as Text, update,
};
use kindred::declaration::{Fraction, SeriesDemand};
use kindred::job::{Job, JobOutcome, JobSpec, Lease, Series};
use kindred::store::{PgIndex, SeriesAnswer, SeriesInput};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

/// An index that fails after some calls.
struct Failing<'a, 'c> {
    inner: &'a mut PgIndex<'c>,
    left: usize,
}

impl<'c> Failing<'_, 'c> {
    fn next(&mut self) -> Result<&mut PgIndex<'c>, Error> {
        if self.left == 0 {
            return Err(Error::Busy);
        }
        self.left -= 1;
        Ok(self.inner)
    }
}

impl Index for Failing<'_, '_> {
    type Error = Error;

    fn classes(&mut self, keys: &[ClassKey]) -> Result<Vec<Option<Class>>, Error> {
        self.next()?.classes(keys)
    }
    fn holding(&mut self, attribute: usize, nodes: &[NodeKey]) -> Result<Vec<Class>, Error> {
        self.next()?.holding(attribute, nodes)
    }
    fn waiting(&mut self, oldest: u32, newest: u32) -> Result<Vec<Class>, Error> {
        self.next()?.waiting(oldest, newest)
    }
    fn cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Error> {
        self.next()?.cells_of(classes)
    }
    fn waiting_cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Error> {
        self.next()?.waiting_cells_of(classes)
    }
    fn cells_at(&mut self, tuples: &[Arc<[Text]>]) -> Result<Vec<Cell>, Error> {
        self.next()?.cells_at(tuples)
    }
    fn cells_in(&mut self, cohorts: &[CohortId]) -> Result<Vec<Cell>, Error> {
        self.next()?.cells_in(cohorts)
    }
    fn put_classes(&mut self, classes: &[Class]) -> Result<(), Error> {
        self.next()?.put_classes(classes)
    }
    fn remove_classes(&mut self, classes: &[ClassId]) -> Result<(), Error> {
        self.next()?.remove_classes(classes)
    }
    fn put_cells(&mut self, cells: &[Cell]) -> Result<(), Error> {
        self.next()?.put_cells(cells)
    }
    fn members(&mut self, subjects: &[Subject]) -> Result<Vec<Option<Member>>, Error> {
        self.next()?.members(subjects)
    }
    fn put_members(&mut self, members: &[(Subject, Member)]) -> Result<(), Error> {
        self.next()?.put_members(members)
    }
    fn move_cells(&mut self, from: &[ClassId], to: ClassId) -> Result<(), Error> {
        self.next()?.move_cells(from, to)
    }
}

async fn begin(store: &Store, dataset: &Dataset) {
    let body = json!({ "name": "s", "privacy": [{ "model": "k_anonymity", "k": 2 }] });
    let (name, demand) = SeriesDemand::parse(&body, &dataset.declaration).unwrap();
    let dataset_id = dataset.dataset_id;
    store
        .create_series(dataset_id, (&name, &demand), (3, 10), None, |job| {
            answer_of(job.job_id)
        })
        .await
        .unwrap();
}

fn through(lease: &Lease) -> (Uuid, (u32, u32)) {
    match lease.spec {
        JobSpec::SeriesUpdate {
            series_id,
            through_batch,
            through_deletion,
        } => (series_id, (through_batch, through_deletion)),
        _ => panic!("another kind of job"),
    }
}

fn rules(schema: &Schema, series: &Series) -> Rules {
    let settings = Settings {
        suppression_limit: Fraction::ZERO,
        specialize_factor: 2,
        max_pending: 2,
        score: Score::Loss,
        target: None,
        guards_subjects: true,
    };
    Rules::new(schema, &series.demand.privacy, &settings)
}

/// The rows are not released here: the state and the index are looked at.
fn answer(state: State) -> SeriesAnswer {
    SeriesAnswer {
        state,
        outcome: JobOutcome::Unchanged,
        reason: None,
        release: None,
        warnings: Vec::new(),
    }
}

fn before(input: &SeriesInput) -> State {
    input.state.clone().unwrap_or_default()
}

/// Few tuples with many rows each, so that nodes are specialised, and now and then a rare one, which must wait.
fn random_row(random: &mut ChaCha20Rng, number: u64) -> Row {
    let mut any = |texts: &[&'static str]| texts[random.next_u32() as usize % texts.len()];
    let patient: &'static str = Box::leak(format!("p{number}").into_boxed_str());
    let age = any(&["31", "31", "34", "34", "52", "52", "71", "71", "17"]);
    let (sex, diagnosis) = (
        any(&["F", "F", "M", "M", "M", ""]),
        any(&["flu", "asthma", "copd"]),
    );
    row([patient, age, "n", sex, diagnosis, "1"])
}

/// All of an index that the memory's knows, as the other one tells it.
fn same(memory: &MemoryIndex, index: &mut PgIndex<'_>) {
    let classes: Vec<Class> = memory.all_classes().cloned().collect();
    let keys: Vec<ClassKey> = classes.iter().map(|class| class.key.clone()).collect();
    let found: Vec<Class> = index
        .classes(&keys)
        .unwrap()
        .into_iter()
        .flatten()
        .collect();
    assert_eq!(found, classes);
    let ids: Vec<ClassId> = classes.iter().map(|class| class.id).collect();
    let mut cells: Vec<Cell> = memory.all_cells().cloned().collect();
    cells.sort_by(|one, other| {
        (one.class, &one.quasi, one.standing).cmp(&(other.class, &other.quasi, other.standing))
    });
    assert_eq!(index.cells_of(&ids).unwrap(), cells);
}

#[sqlx::test]
async fn the_index_answers_as_the_one_in_memory_does(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut random = ChaCha20Rng::seed_from_u64(7);
    let mut number = 0;
    let memory = Arc::new(Mutex::new(MemoryIndex::default()));
    for batch in 1..=8 {
        let most = if batch == 1 {
            200
        } else {
            1 + random.next_u32() % 40
        };
        let rows: Vec<Row> = (0..most)
            .map(|_| {
                number += 1;
                random_row(&mut random, number)
            })
            .collect();
        let dataset = store.dataset(dataset.dataset_id).await.unwrap();
        upload(&store, &dataset, &[block(&rows)], batch).await;
        if batch == 1 {
            begin(&store, &dataset).await;
        }
        if batch % 2 == 0 {
            let gone = (0..3).map(|_| format!("p{}", 1 + random.next_u64() % number));
            let gone = kindred::store::Selection::Subjects(gone.collect());
            let dataset_id = dataset.dataset_id;
            store
                .delete_rows(dataset_id, &gone, None, |_| answer_of(dataset_id))
                .await
                .unwrap();
        }
        while let Some(lease) = store.claim_job(600.0).await.unwrap() {
            let memory = Arc::clone(&memory);
            let decide = move |index: &mut PgIndex<'_>, input: SeriesInput| {
                let rules = rules(&input.schema, &input.series);
                let state = before(&input);
                let in_database = update(index, &state, &rules, input.events.clone())?;
                let mut memory = memory.lock().unwrap();
                let Ok(in_memory) = update(&mut *memory, &state, &rules, input.events);
                assert_eq!(in_database, in_memory);
                same(&memory, index);
                Ok::<_, Error>(answer(in_memory.0))
            };
            let job: Job = store
                .update_series(&lease, through(&lease), decide)
                .await
                .unwrap();
            assert_eq!(job.outcome, Some(JobOutcome::Unchanged));
        }
    }
    let memory = memory.lock().unwrap();
    let sizes = (memory.all_classes().count(), memory.all_cells().count());
    assert!(sizes.0 > 3 && sizes.1 > 20, "{sizes:?}");
}

/// Digest of every row of the tables that an update writes.
async fn fingerprint(pool: &PgPool) -> Vec<String> {
    let mut all = Vec::new();
    for table in [
        "series",
        "series_class",
        "series_cell",
        "series_member",
        "series_chunk",
        "series_release",
        "release",
    ] {
        let text = format!(
            "select coalesce(md5(string_agg(t::text, '' order by t::text)), '') from {table} t"
        );
        let found: String = sqlx::query_scalar(sqlx::AssertSqlSafe(text))
            .fetch_one(pool)
            .await
            .unwrap();
        all.push(found);
    }
    all
}

#[sqlx::test]
async fn an_update_that_breaks_off_anywhere_has_changed_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut random = ChaCha20Rng::seed_from_u64(11);
    let rows: Vec<Row> = (0..300)
        .map(|number| random_row(&mut random, number))
        .collect();
    upload(&store, &dataset, &[block(&rows[..260])], 1).await;
    begin(&store, &dataset).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let whole = |index: &mut PgIndex<'_>, input: SeriesInput| {
        let (rules, state) = (rules(&input.schema, &input.series), before(&input));
        let (state, _) = update(index, &state, &rules, input.events)?;
        Ok::<_, Error>(answer(state))
    };
    store
        .update_series(&lease, through(&lease), whole)
        .await
        .unwrap();
    let dataset = store.dataset(dataset.dataset_id).await.unwrap();
    upload(&store, &dataset, &[block(&rows[260..])], 2).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let gone = kindred::store::Selection::Subjects(vec!["p1".to_owned(), "p2".to_owned()]);
    let dataset_id = dataset.dataset_id;
    store
        .delete_rows(dataset_id, &gone, None, |_| answer_of(dataset_id))
        .await
        .unwrap();
    // The update of the deletion would come next; this one takes it in.
    let through = (through(&lease).0, (2, 1));
    // While it runs, no other update of the series is given out.
    assert!(store.claim_job(600.0).await.unwrap().is_none());
    let cold = fingerprint(&pool).await;
    let mut calls = 0;
    loop {
        let decide = move |index: &mut PgIndex<'_>, input: SeriesInput| {
            let (rules, state) = (rules(&input.schema, &input.series), before(&input));
            let mut failing = Failing {
                inner: index,
                left: calls,
            };
            let (state, _) = update(&mut failing, &state, &rules, input.events)?;
            Ok::<_, Error>(answer(state))
        };
        match store.update_series(&lease, through, decide).await {
            Ok(job) => {
                assert_eq!(job.outcome, Some(JobOutcome::Unchanged));
                break;
            }
            Err(error) => assert!(matches!(error, Error::Busy), "{error}"),
        }
        assert_eq!(fingerprint(&pool).await, cold, "after {calls} calls");
        calls += 1;
    }
    assert!(calls > 4, "{calls} calls");
    assert_ne!(fingerprint(&pool).await, cold);
}

#[sqlx::test]
async fn an_update_without_its_lease_changes_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let rows = [
        row(["p1", "34", "n", "F", "flu", "1"]),
        row(["p2", "35", "n", "F", "flu", "1"]),
    ];
    upload(&store, &dataset, &[block(&rows)], 1).await;
    begin(&store, &dataset).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let cold = fingerprint(&pool).await;
    let whole = |index: &mut PgIndex<'_>, input: SeriesInput| {
        let (rules, state) = (rules(&input.schema, &input.series), before(&input));
        let events: Events = input.events;
        let (state, _) = update(index, &state, &rules, events)?;
        Ok::<_, Error>(answer(state))
    };
    let stale = Lease {
        token: Uuid::now_v7(),
        ..lease.clone()
    };
    let lost = store.update_series(&stale, through(&lease), whole).await;
    assert!(matches!(lost, Err(Error::LeaseLost)));
    assert_eq!(fingerprint(&pool).await, cold);
    store.cancel_job(lease.job_id).await.unwrap();
    let cancelled = store.update_series(&lease, through(&lease), whole).await;
    assert!(matches!(cancelled, Err(Error::LeaseLost)));
    assert_eq!(fingerprint(&pool).await, cold);
}

/// The values of erased rows are in no chunk, no dictionary and no token any more; nothing of a series is in clear.
#[sqlx::test]
async fn erased_values_are_gone_from_every_partition(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let rows = [
        row(["p1", "34", "Ann", "F", "flu", "1"]),
        row(["p2", "35", "Bob", "X", "rare", "2"]),
        row(["p1", "36", "Ann", "F", "copd", "3"]),
    ];
    upload(&store, &dataset, &[block(&rows)], 1).await;
    let dataset_id = dataset.dataset_id;
    let tokens = |pool: PgPool| async move {
        let count: i64 = sqlx::query_scalar("select count(*) from distinct_value")
            .fetch_one(&pool)
            .await
            .unwrap();
        count
    };
    assert_eq!(tokens(pool.clone()).await, 2 + 3 + 2 + 3);
    let chunks =
        "select md5(string_agg(payload::text, '' order by purpose, sequence)) from batch_chunk";
    let before: String = sqlx::query_scalar(chunks).fetch_one(&pool).await.unwrap();
    let gone = kindred::store::Selection::Subjects(vec!["P2".to_owned()]);
    store
        .delete_rows(dataset_id, &gone, None, |_| answer_of(dataset_id))
        .await
        .unwrap();
    let after: String = sqlx::query_scalar(chunks).fetch_one(&pool).await.unwrap();
    assert_ne!(before, after);
    let schema = schema(&dataset.declaration);
    let table = store.load_table(dataset_id, &schema, 1).await.unwrap();
    assert_eq!((table.rows, table.subject_count()), (2, 1));
    for (position, left) in [
        (1, vec!["34", "36"]),
        (3, vec!["F"]),
        (4, vec!["flu", "copd"]),
        (5, vec!["1", "3"]),
    ] {
        let values = store
            .column_values(dataset_id, &schema, position)
            .await
            .unwrap();
        assert_eq!(values, left, "column {position}");
    }
    assert_eq!(tokens(pool.clone()).await, 1 + 2 + 1 + 2);
    let dataset = store.dataset(dataset_id).await.unwrap();
    assert_eq!((dataset.rows, dataset.subjects), (2, 1));
    assert_eq!(dataset.distinct_values, [0, 2, 0, 1, 2, 0]);
    // A second time nothing matches: the cells are missing.
    let answer = store.delete_rows(dataset_id, &gone, None, |deletion| Answer {
        status: 200,
        location: None,
        body: json!(deletion.rows),
    });
    assert_eq!(answer.await.unwrap().body, 0);
    // Of the identity partition too: the name selects nothing any more.
    let named = kindred::store::Selection::Cells(vec![(2, vec![Some("Bob".to_owned())])]);
    let answer = store.delete_rows(dataset_id, &named, None, |deletion| Answer {
        status: 200,
        location: None,
        body: json!(deletion.rows),
    });
    assert_eq!(answer.await.unwrap().body, 0);
}
