//! Releases.

use futures::TryStreamExt;
use kindred::job::{JobOutcome, ReleaseRecord};
use kindred::store::{Error, Finish, ReleaseDraft, Store};
use serde_json::json;
use sqlx::PgPool;

use super::*;

fn blocks() -> [Block; 2] {
    let row = |age: &'static str| row(["", age, "", "F", "flu", "1"]);
    [
        block(&[row("[30, 40)"), row("[50, 60)")]),
        block(&[row("*")]),
    ]
}

pub(super) fn record(dataset_id: Uuid, release_id: Uuid, job_id: Uuid) -> ReleaseRecord {
    serde_json::from_value(json!({
        "release_id": release_id, "dataset_id": dataset_id, "dataset_name": "stays", "job_id": job_id,
        "solution_id": 0,
        "batches": [{ "batch_id": Uuid::from_u128(5), "sequence": 1, "rows": 4 }],
        "configuration": {
            "demand": demand(),
            "release": { "job_id": job_id, "solution_id": 0, "row_order": "shuffled", "columns": null, "suppressed_rows": "omit" },
        },
        "configuration_sha256": "00", "hierarchy_digests": { "age": "11" },
        "recoding": { "kind": "full_domain", "levels": { "age": 1, "sex": 0 } },
        "seeds": { "row_order": 7 },
        "privacy": { "k": 3, "sensitive": {} },
        "risk": { "maximum": 0.5, "average": 0.25, "rows_above": {}, "share_above": {}, "sample_uniques": 0 },
        "rows_in": 4, "released_rows": 3, "suppressed_rows": 1, "pending_rows": 0, "classes": 1,
        "columns": ["age", "sex", "diagnosis", "charge"],
        "verification": { "passed": true, "checks": ["cells"], "released_rows": 3, "suppressed_rows": 1, "classes": 1,
                          "k": 3 },
        "csv_sha256": "22", "csv_bytes": 99, "software_version": "0.1.0",
        "created_at": "2026-03-04T05:06:07.000008Z",
    }))
    .unwrap()
}

/// A staged draft of two blocks, and its record.
pub(super) async fn draft(
    store: &Store,
    dataset_id: Uuid,
    job_id: Uuid,
) -> (ReleaseDraft, ReleaseRecord) {
    let mut draft = store.begin_release(dataset_id).await.unwrap();
    for block in blocks() {
        store.stage_release_block(&mut draft, &block).await.unwrap();
    }
    let record = record(dataset_id, draft.release_id(), job_id);
    (draft, record)
}

async fn read(store: &Store, release_id: Uuid) -> Result<Vec<Block>, Error> {
    store.release_blocks(release_id).try_collect().await
}

#[sqlx::test]
async fn a_release_comes_back_as_it_was_staged(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let (draft, record) = draft(&store, dataset.dataset_id, job_id).await;
    let release_id = draft.release_id();
    // Staged is not released.
    let early = store.release(release_id).await;
    assert!(matches!(early, Err(Error::NotFound("release"))));
    let early = read(&store, release_id).await;
    assert!(matches!(early, Err(Error::NotFound("release"))));
    let key = once("release", 1);
    let answer = store
        .commit_release(draft, &record, Some(&key), |record| {
            answer_of(record.release_id)
        })
        .await
        .unwrap();
    assert_eq!(id_of(&answer), release_id);
    assert_eq!(store.release(release_id).await.unwrap(), record);
    assert_eq!(read(&store, release_id).await.unwrap(), blocks());
    assert_eq!(store.job(job_id).await.unwrap().release_id, None);

    // The same request again makes no second release.
    let (draft, record) = self::draft(&store, dataset.dataset_id, job_id).await;
    let again = store
        .commit_release(draft, &record, Some(&key), |record| {
            answer_of(record.release_id)
        })
        .await;
    assert_eq!(again.unwrap(), answer);
    let list = store.list_releases(None, &page(10, None)).await.unwrap();
    assert_eq!(list.items.len(), 1);
    let chunks: i64 = sqlx::query_scalar("select count(*) from release_chunk")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(chunks, 2);
}

#[sqlx::test]
async fn a_job_and_its_release_end_together(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let (draft, record) = draft(&store, dataset.dataset_id, job_id).await;
    let release_id = draft.release_id();
    let finish = Finish::Succeeded {
        outcome: JobOutcome::Front,
        reason: None,
        front: front(1),
    };
    let job = store
        .finish_job(&lease, &finish, Some((draft, record.clone())))
        .await
        .unwrap();
    assert_eq!(job.release_id, Some(release_id));
    assert_eq!(store.release(release_id).await.unwrap(), record);
    assert_eq!(read(&store, release_id).await.unwrap(), blocks());
}

#[sqlx::test]
async fn releases_are_listed_by_dataset(pool: PgPool) {
    let store = store(&pool);
    let (one, two) = (create(&store).await, create(&store).await);
    let mut ids = Vec::new();
    for (second, dataset) in [(1, &one), (2, &two), (3, &one)] {
        let job_id = submit(&store, dataset.dataset_id).await;
        let (draft, mut record) = draft(&store, dataset.dataset_id, job_id).await;
        record.created_at += chrono::TimeDelta::seconds(second);
        ids.push(draft.release_id());
        store
            .commit_release(draft, &record, None, |record| answer_of(record.release_id))
            .await
            .unwrap();
    }
    let list = async |dataset_id, limit, cursor| {
        let list = store
            .list_releases(dataset_id, &page(limit, cursor))
            .await
            .unwrap();
        let items: Vec<Uuid> = list.items.iter().map(|record| record.release_id).collect();
        (items, list.next_cursor)
    };
    assert_eq!(list(None, 9, None).await.0, [ids[2], ids[1], ids[0]]);
    let (first, cursor) = list(Some(one.dataset_id), 1, None).await;
    assert_eq!(first, [ids[2]]);
    assert_eq!(
        list(Some(one.dataset_id), 1, cursor).await,
        (vec![ids[0]], None)
    );
}

#[sqlx::test]
async fn a_changed_or_lost_release_chunk_is_refused(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let (draft, record) = draft(&store, dataset.dataset_id, job_id).await;
    let release_id = draft.release_id();
    store
        .commit_release(draft, &record, None, |record| answer_of(record.release_id))
        .await
        .unwrap();
    run(
        &pool,
        "update release_chunk set payload = set_byte(payload, 30, get_byte(payload, 30) # 1) where sequence = 1",
    )
    .await;
    let changed = read(&store, release_id).await;
    assert!(matches!(changed, Err(Error::Sealed(_))));
    run(&pool, "delete from release_chunk where sequence = 1").await;
    assert!(read(&store, release_id).await.is_err());
}

#[sqlx::test]
async fn a_draft_given_up_leaves_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let job_id = submit(&store, dataset.dataset_id).await;
    let before = table_sizes(&pool).await;
    let (first, _) = draft(&store, dataset.dataset_id, job_id).await;
    store.abandon_release(first).await.unwrap();
    assert_eq!(table_sizes(&pool).await, before);
    let (second, _) = draft(&store, dataset.dataset_id, job_id).await;
    drop(second);
    run(
        &pool,
        "update staging set touched_at = now() - interval '7 hours'",
    )
    .await;
    assert_eq!(store.sweep().await.unwrap(), 2);
    assert_eq!(table_sizes(&pool).await, before);
}
