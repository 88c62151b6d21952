//! Datasets: stored, listed, changed, deleted; the schema they stand in.

use kindred::anonymize::Progress;
use kindred::declaration::DatasetDeclaration;
use kindred::job::JobOutcome;
use kindred::store::{Error, Finish, Heartbeat, Store};
use serde_json::json;
use sqlx::PgPool;

use super::*;

#[sqlx::test(migrations = false)]
async fn a_database_is_ready_after_the_migrations(pool: PgPool) {
    let store = store(&pool);
    assert!(store.is_ready().await.is_err());
    // Two processes that start together.
    let (first, second) = tokio::join!(Store::migrate(&pool), Store::migrate(&pool));
    first.unwrap();
    second.unwrap();
    store.is_ready().await.unwrap();
    Store::migrate(&pool).await.unwrap();
    let dataset = create(&store).await;
    assert_eq!(dataset.rows, 0);
    let age = (store.now().await.unwrap() - dataset.created_at).num_seconds();
    assert!((0..60).contains(&age));
}

#[sqlx::test]
async fn another_schema_version_is_not_ready(pool: PgPool) {
    let store = store(&pool);
    store.is_ready().await.unwrap();
    run(
        &pool,
        "delete from _sqlx_migrations where version = (select max(version) from _sqlx_migrations)",
    )
    .await;
    assert!(matches!(store.is_ready().await, Err(Error::Form(_))));
}

// UC-84
#[sqlx::test]
async fn uc_84_an_exhausted_pool_is_said_to_be_busy(pool: PgPool) {
    let options = pool.connect_options();
    let small = sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(std::time::Duration::from_millis(50))
        .connect_lazy_with((*options).clone());
    let store = store(&small);
    let held = loop {
        // The first connection may itself take longer than that.
        if let Ok(connection) = small.acquire().await {
            break connection;
        }
    };
    let refused = store.dataset(Uuid::from_u128(1)).await;
    assert!(matches!(refused, Err(Error::Busy)));
    let refused = store.job(Uuid::from_u128(1)).await;
    assert!(matches!(refused, Err(Error::Busy)));
    let refused = store.claim_job(1.0).await;
    assert!(matches!(refused, Err(Error::Busy)));
    drop(held);
}

// UC-10
#[sqlx::test]
async fn a_stored_declaration_is_the_declaration(pool: PgPool) {
    let store = store(&pool);
    let declaration = DatasetDeclaration::parse(&json!({
        "name": "zürich \u{0001}\"",
        "attributes": [
            { "name": "b", "role": "quasi_identifying", "type": "decimal", "missing": ["", "NA"], "trim": true,
              "hierarchy": { "kind": "intervals", "origin": 0.5, "widths": [0.1, 10] } },
            { "name": "a", "role": "quasi_identifying",
              "hierarchy": { "kind": "table", "text": "x;low;*\ny;low;*" } },
        ],
        "default_role": "insensitive",
    }))
    .unwrap();
    let dataset = create_as(&store, &declaration).await;
    assert_eq!(dataset.declaration, declaration);
    let schema = schema(&declaration);
    let digests = schema.attributes().iter().map(|attribute| {
        let hierarchy = attribute.hierarchy.as_ref();
        hierarchy.map(|hierarchy| hex::encode(hierarchy.digest()))
    });
    assert!(digests.eq(dataset.hierarchy_digests.iter().cloned()));
    assert_eq!((dataset.rows, dataset.subjects, dataset.batches), (0, 0, 0));
    assert_eq!(dataset.distinct_values, [0, 0]);
    let missing = store.dataset(Uuid::from_u128(1)).await;
    assert!(matches!(missing, Err(Error::NotFound("dataset"))));
}

#[sqlx::test]
async fn lists_are_newest_first_and_pages_join_without_gap_or_overlap(pool: PgPool) {
    let store = store(&pool);
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(create(&store).await.dataset_id);
    }
    created.reverse();
    let mut seen = Vec::new();
    let mut cursor = None;
    loop {
        let list = store.list_datasets(&page(2, cursor)).await.unwrap();
        assert!(list.items.len() <= 2);
        seen.extend(list.items.iter().map(|dataset| dataset.dataset_id));
        if seen.len() == 2 {
            // What comes meanwhile shifts nothing.
            create(&store).await;
        }
        cursor = list.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, created);
    let bad = store.list_datasets(&page(2, Some("zz".to_owned()))).await;
    assert!(matches!(bad, Err(Error::InvalidCursor)));
    assert!(
        store
            .list_datasets(&page(6, None))
            .await
            .unwrap()
            .next_cursor
            .is_none()
    );
}

// UC-08
#[sqlx::test]
async fn uc_08_a_replaced_hierarchy_is_a_new_version_and_the_old_one_stays(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut other = dataset.declaration.clone();
    other.attributes[1].hierarchy = None;
    // Only the named attribute is read.
    other.attributes[3].missing = vec!["X".to_owned()];
    let replaced = store
        .replace_hierarchy(dataset.dataset_id, &other, "age")
        .await
        .unwrap();
    assert_eq!(replaced.declaration.attributes[1], other.attributes[1]);
    assert_eq!(
        replaced.declaration.attributes[3],
        dataset.declaration.attributes[3]
    );
    assert_ne!(replaced.hierarchy_digests[1], dataset.hierarchy_digests[1]);
    assert_eq!(replaced.hierarchy_digests[3], dataset.hierarchy_digests[3]);
    // Back to the first: no third version.
    let back = store
        .replace_hierarchy(dataset.dataset_id, &dataset.declaration, "age")
        .await
        .unwrap();
    assert_eq!(back.declaration, dataset.declaration);
    assert_eq!(back.hierarchy_digests, dataset.hierarchy_digests);
    let versions: Vec<i32> =
        sqlx::query_scalar("select version from hierarchy where position = 1 order by version")
            .fetch_all(&pool)
            .await
            .unwrap();
    assert_eq!(versions, [1, 2]);
    let unknown = store
        .replace_hierarchy(dataset.dataset_id, &other, "none")
        .await;
    assert!(matches!(unknown, Err(Error::NotFound("attribute"))));
}

#[sqlx::test]
async fn replacements_of_two_hierarchies_at_the_same_time_both_stand(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut age = dataset.declaration.clone();
    age.attributes[1].hierarchy = None;
    let mut sex = dataset.declaration.clone();
    sex.attributes[3].hierarchy =
        serde_json::from_value(json!({ "kind": "prefix", "keep": [1] })).unwrap();
    let (first, second) = tokio::join!(
        store.replace_hierarchy(dataset.dataset_id, &age, "age"),
        store.replace_hierarchy(dataset.dataset_id, &sex, "sex"),
    );
    first.unwrap();
    second.unwrap();
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!(after.declaration.attributes[1], age.attributes[1]);
    assert_eq!(after.declaration.attributes[3], sex.attributes[3]);
}

#[sqlx::test]
async fn a_deleted_dataset_leaves_no_row_in_any_table(pool: PgPool) {
    let store = store(&pool);
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    let kept = create(&store).await;
    upload(&store, &kept, std::slice::from_ref(&rows), 1).await;
    submit(&store, kept.dataset_id).await;
    let kept = store.dataset(kept.dataset_id).await.unwrap();
    // The kept dataset's job out of the way of the claims below.
    store.claim_job(600.0).await.unwrap().unwrap();
    let before = table_sizes(&pool).await;

    let key = once("create", 1);
    let answer = store
        .create_dataset(&declaration(), Some(&key), |dataset| {
            answer_of(dataset.dataset_id)
        })
        .await
        .unwrap();
    let dataset = store.dataset(id_of(&answer)).await.unwrap();
    let dataset_id = dataset.dataset_id;
    let batch_key = once("batch", 1);
    try_upload(
        &store,
        &dataset,
        std::slice::from_ref(&rows),
        1,
        false,
        Some(&batch_key),
    )
    .await
    .unwrap();
    let mut staged = store.begin_upload(&dataset).await.unwrap();
    store.stage_block(&mut staged, &rows).await.unwrap();
    submit(&store, dataset_id).await;
    submit(&store, dataset_id).await;
    let lease = store.claim_job(600.0).await.unwrap().unwrap();
    let (draft, record) = releases::draft(&store, dataset_id, lease.job_id).await;
    let finish = Finish::Succeeded {
        outcome: JobOutcome::Front,
        reason: None,
        front: front(2),
    };
    store
        .finish_job(&lease, &finish, Some((draft, record)))
        .await
        .unwrap();
    let (unfinished, _) = releases::draft(&store, dataset_id, lease.job_id).await;
    let running = store.claim_job(600.0).await.unwrap().unwrap();
    assert_eq!(running.dataset_id, dataset_id);

    store.delete_dataset(dataset_id).await.unwrap();
    assert_eq!(table_sizes(&pool).await, before);
    assert_eq!(store.dataset(kept.dataset_id).await.unwrap(), kept);

    // Whoever still works on it is told, and leaves nothing.
    let progress = Progress {
        evaluations: 1,
        fraction: 0.5,
        phase: "search".to_owned(),
    };
    let beat = store.renew_lease(&running, 600.0, Some(&progress)).await;
    assert_eq!(beat.unwrap(), Heartbeat::Lost);
    let late = store.finish_job(&running, &finish, None).await;
    assert!(matches!(late, Err(Error::LeaseLost)));
    let late = store.stage_block(&mut staged, &rows).await;
    assert!(matches!(late, Err(Error::DatasetChanged)));
    let (_, record) = (
        0,
        releases::record(dataset_id, unfinished.release_id(), lease.job_id),
    );
    let late = store
        .commit_release(unfinished, &record, None, |record| {
            answer_of(record.release_id)
        })
        .await;
    assert!(matches!(late, Err(Error::NotFound("dataset"))));
    let late = store
        .submit_job(&new_job(dataset_id), None, |job| answer_of(job.job_id))
        .await;
    assert!(matches!(late, Err(Error::NotFound("dataset"))));
    let late = store.begin_upload(&dataset).await;
    assert!(matches!(late, Err(Error::NotFound("dataset"))));
    let again = store.delete_dataset(dataset_id).await;
    assert!(matches!(again, Err(Error::NotFound("dataset"))));
    assert_eq!(table_sizes(&pool).await, before);
}

#[sqlx::test]
async fn a_dataset_deleted_in_the_middle_of_everything_leaves_nothing(pool: PgPool) {
    let store = store(&pool);
    for _ in 0..5 {
        let dataset = create(&store).await;
        for _ in 0..3 {
            submit(&store, dataset.dataset_id).await;
        }
        let workers: Vec<_> = (0..3_u8)
            .map(|content| {
                let (store, dataset) = (store.clone(), dataset.clone());
                tokio::spawn(async move {
                    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
                    let blocks = vec![rows; 4];
                    let uploaded =
                        try_upload(&store, &dataset, &blocks, content, false, None).await;
                    let lease = store.claim_job(600.0).await.unwrap();
                    let finished = match lease {
                        None => Ok(()),
                        Some(lease) => {
                            let finish = Finish::Succeeded {
                                outcome: JobOutcome::Front,
                                reason: None,
                                front: front(3),
                            };
                            store.finish_job(&lease, &finish, None).await.map(|_| ())
                        }
                    };
                    (uploaded, finished)
                })
            })
            .collect();
        store.delete_dataset(dataset.dataset_id).await.unwrap();
        for worker in workers {
            let (uploaded, finished) = worker.await.unwrap();
            assert!(
                matches!(
                    uploaded,
                    Ok(_) | Err(Error::NotFound("dataset") | Error::DatasetChanged)
                ),
                "{uploaded:?}"
            );
            assert!(
                matches!(finished, Ok(()) | Err(Error::LeaseLost)),
                "{finished:?}"
            );
        }
        assert_eq!(table_sizes(&pool).await, []);
    }
}
