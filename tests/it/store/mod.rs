//! The store on a real Postgres, one database per test.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod added_columns;
mod datasets;
mod fronts;
mod jobs;
mod leases;
mod once;
mod releases;
mod sealing;
mod series;
mod uploads;

use std::path::Path;
use std::sync::Arc;

use kindred::anonymize::report::Front;
use kindred::anonymize::table::{Block, BlockBuilder, Schema};
use kindred::declaration::{DatasetDeclaration, Demand};
use kindred::ingest::Summary;
use kindred::job::{Answer, Dataset, JobSpec, Once, PageRequest};
use kindred::store::{Error, NewJob, Store};
use kindred::vault::Vault;
use secrecy::SecretString;
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

pub(crate) fn store(pool: &PgPool) -> Store {
    store_with(pool, "1")
}

/// A store whose master key is one hexadecimal digit, 64 times.
fn store_with(pool: &PgPool, digit: &str) -> Store {
    let key = SecretString::from(digit.repeat(64));
    let vault = Vault::open(Some(&key), Path::new("unused")).unwrap();
    Store::new(pool.clone(), Arc::new(vault))
}

/// Two identifying columns (the first names the person), two quasi-identifying, one sensitive, one insensitive.
fn declaration() -> DatasetDeclaration {
    DatasetDeclaration::parse(&json!({
        "name": "stays",
        "attributes": [
            { "name": "patient", "role": "identifying", "subject": true },
            { "name": "age", "role": "quasi_identifying", "type": "integer",
              "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10, 20] } },
            { "name": "name", "role": "identifying" },
            { "name": "sex", "role": "quasi_identifying" },
            { "name": "diagnosis", "role": "sensitive" },
            { "name": "charge", "role": "insensitive" },
        ],
    }))
    .unwrap()
}

type Row = [Option<&'static str>; 6];

fn row(cells: [&'static str; 6]) -> Row {
    cells.map(|cell| (!cell.is_empty()).then_some(cell))
}

fn block(rows: &[Row]) -> Block {
    let mut builder = BlockBuilder::new(6);
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            builder.push(column, *cell);
        }
    }
    builder.finish()
}

fn summary(rows: usize, content: u8) -> Summary {
    Summary {
        rows: rows as u64,
        trimmed_cells: 0,
        added: Vec::new(),
        warnings: Vec::new(),
        digest: [content; 32],
    }
}

fn once(key: &str, request: u8) -> Once {
    Once {
        key: key.to_owned(),
        fingerprint: [request; 32],
    }
}

fn answer_of(id: Uuid) -> Answer {
    Answer {
        status: 201,
        location: Some(format!("/{id}")),
        body: json!({ "id": id, "a": 1, "B": 0.1 }),
    }
}

fn id_of(answer: &Answer) -> Uuid {
    answer.body["id"].as_str().unwrap().parse().unwrap()
}

async fn create(store: &Store) -> Dataset {
    create_as(store, &declaration()).await
}

async fn create_as(store: &Store, declaration: &DatasetDeclaration) -> Dataset {
    let answer = store
        .create_dataset(declaration, None, |dataset| answer_of(dataset.dataset_id))
        .await
        .unwrap();
    store.dataset(id_of(&answer)).await.unwrap()
}

/// Uploads blocks as one batch.
async fn upload(store: &Store, dataset: &Dataset, blocks: &[Block], content: u8) -> Uuid {
    try_upload(store, dataset, blocks, content, false, None)
        .await
        .unwrap()
}

async fn try_upload(
    store: &Store,
    dataset: &Dataset,
    blocks: &[Block],
    content: u8,
    allow_duplicate: bool,
    once: Option<&Once>,
) -> Result<Uuid, Error> {
    let mut upload = store.begin_upload(dataset).await?;
    for block in blocks {
        store.stage_block(&mut upload, block).await?;
    }
    let rows = blocks.iter().map(|block| block.rows).sum();
    let summary = summary(rows, content);
    let answer = store
        .commit_upload(upload, &summary, allow_duplicate, once, |batch| {
            answer_of(batch.batch_id)
        })
        .await?;
    Ok(id_of(&answer))
}

fn demand() -> Demand {
    Demand::parse(
        &json!({ "privacy": [{ "model": "k_anonymity", "k": 2 }] }),
        &declaration(),
    )
    .unwrap()
}

fn new_job(dataset_id: Uuid) -> NewJob {
    NewJob {
        dataset_id,
        spec: JobSpec::Search {
            demand: demand(),
            through_batch: 1,
            declaration: declaration(),
            populations: Vec::new(),
        },
        search_space: "8".to_owned(),
        warnings: Vec::new(),
        infeasible: None,
        max_attempts: 3,
        max_queued: 1000,
    }
}

async fn submit(store: &Store, dataset_id: Uuid) -> Uuid {
    let answer = store
        .submit_job(&new_job(dataset_id), None, |job| answer_of(job.job_id))
        .await
        .unwrap();
    id_of(&answer)
}

/// A front of some solutions that differ by their levels.
fn front(solutions: usize) -> Front {
    let solutions: Vec<Value> = (0..solutions)
        .map(|id| {
            json!({
                "solution_id": id,
                "recoding": { "kind": "full_domain", "levels": { "age": id, "sex": 0 } },
                "objectives": { "suppression": 0.25 },
                "released_rows": 3, "suppressed_rows": 1, "classes": 1,
                "privacy": { "k": 3, "sensitive": {} },
                "risk": { "maximum": 0.5, "average": 0.25, "rows_above": {}, "share_above": {}, "sample_uniques": 0 },
                "recommended": id == 0,
            })
        })
        .collect();
    serde_json::from_value(json!({
        "rows_in": 4, "subjects_in": 4,
        "search": { "method": "exact", "seed": 7, "evaluations": 8, "search_space": "8", "complete": true,
                    "certified": false, "elapsed_ms": 4 },
        "objectives": [{ "name": "suppression", "direction": "minimize", "range": [0.0, 1.0], "definition": "share" }],
        "solutions": solutions,
        "recommended": 0,
        "recommendation_rule": "least suppression",
    }))
    .unwrap()
}

fn schema(declaration: &DatasetDeclaration) -> Schema {
    Schema::compile(declaration).unwrap()
}

fn page(limit: u32, cursor: Option<String>) -> PageRequest {
    PageRequest { limit, cursor }
}

/// Rows per table, empty tables left out.
async fn table_sizes(pool: &PgPool) -> Vec<(String, i64)> {
    sqlx::query_as(
        "select table_name::text,
             (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I', table_name), false, true, '')))[1]::text::bigint as rows
         from information_schema.tables
         where table_schema = 'public' and table_name <> '_sqlx_migrations'
         order by table_name",
    )
    .fetch_all(pool)
    .await
    .map(|rows: Vec<(String, i64)>| rows.into_iter().filter(|(_, rows)| *rows > 0).collect())
    .unwrap()
}

async fn run(pool: &PgPool, statement: &'static str) -> u64 {
    let done = sqlx::query(statement).execute(pool).await;
    done.unwrap().rows_affected()
}
