//! Uploads become batches whole or not at all.

use kindred::anonymize::table::Table;
use kindred::job::Dataset;
use kindred::store::{Error, Store};
use sqlx::PgPool;

use super::*;

/// Cells of a table's column, by row.
pub(super) fn cells(table: &Table, position: usize) -> Vec<Option<&str>> {
    let column = table.columns[position].as_ref().unwrap();
    column
        .codes
        .iter()
        .map(|&code| column.dictionary.value(code))
        .collect()
}

pub(super) async fn load(store: &Store, dataset: &Dataset, through_batch: u32) -> Table {
    store
        .load_table(
            dataset.dataset_id,
            &schema(&dataset.declaration),
            through_batch,
        )
        .await
        .unwrap()
}

#[sqlx::test]
async fn a_table_is_what_was_uploaded_over_several_batches(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let first = block(&[
        row(["p1", "34", "Ann", "F", "flu", "1.50"]),
        row(["p2", "51", "Bob", "M", "", "2"]),
    ]);
    let second = block(&[row(["p1", "35", "Ann", "F", "asthma", ""])]);
    let third = block(&[
        row([" P2 ", "", "Bob", "M", "flu", "1.5"]),
        row(["p3", "34", "Cy", "", "flu", "1.50"]),
    ]);
    upload(&store, &dataset, &[first, second], 1).await;
    upload(&store, &dataset, &[third], 2).await;

    let table = load(&store, &dataset, 2).await;
    assert_eq!(table.rows, 5);
    // Identifying columns are not there at all.
    assert!(table.columns[0].is_none() && table.columns[2].is_none());
    let text = |cells: [&'static str; 5]| cells.map(|cell| (!cell.is_empty()).then_some(cell));
    assert_eq!(cells(&table, 1), text(["34", "51", "35", "", "34"]));
    assert_eq!(cells(&table, 3), text(["F", "M", "F", "M", ""]));
    assert_eq!(cells(&table, 4), text(["flu", "", "asthma", "flu", "flu"]));
    assert_eq!(cells(&table, 5), text(["1.50", "2", "", "1.5", "1.50"]));
    // The same patient is the same code in every batch, also when spelt ` P2 `.
    let subjects = table.subjects.as_ref().unwrap();
    assert_eq!(subjects.codes, [1, 2, 1, 2, 3]);
    assert_eq!(table.subject_count(), 3);
    // Nothing of the raw identifier is in the table.
    assert!(subjects.dictionary.iter().all(|token| token.len() == 32));

    let first_only = load(&store, &dataset, 1).await;
    assert_eq!(first_only.rows, 3);
    assert_eq!(first_only.subject_count(), 2);
}

#[sqlx::test]
async fn counts_follow_the_batches(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let rows = [
        row(["p1", "34", "Ann", "F", "flu", "1"]),
        row(["p2", "51", "Bob", "M", "", "2"]),
        row(["P1", "34", "Ann", "F", "asthma", "3"]),
    ];
    let first = upload(&store, &dataset, &[block(&rows)], 1).await;
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!((after.rows, after.subjects, after.batches), (3, 2, 1));
    // patient, age, name, sex, diagnosis, charge: identifying and insensitive ones are not counted.
    assert_eq!(after.distinct_values, [0, 2, 0, 2, 2, 0]);

    let rows = [
        row(["p3", "34", "Cy", "F", "flu", "4"]),
        row(["p1", "35", "Ann", "f", "flu", "4"]),
    ];
    let second = upload(&store, &after, &[block(&rows)], 2).await;
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!((after.rows, after.subjects, after.batches), (5, 3, 2));
    assert_eq!(after.distinct_values, [0, 3, 0, 3, 2, 0]);
    let batches = store.batches(dataset.dataset_id, 2).await.unwrap();
    let seen: Vec<_> = batches
        .iter()
        .map(|batch| (batch.batch_id, batch.sequence, batch.rows))
        .collect();
    assert_eq!(seen, [(first, 1, 3), (second, 2, 2)]);
    assert_eq!(store.batches(dataset.dataset_id, 1).await.unwrap().len(), 1);
}

#[sqlx::test]
async fn without_a_subject_every_row_is_a_subject(pool: PgPool) {
    let store = store(&pool);
    let mut declaration = declaration();
    declaration.attributes[0].subject = false;
    let dataset = create_as(&store, &declaration).await;
    let same = row(["p1", "34", "Ann", "F", "flu", "1"]);
    upload(&store, &dataset, &[block(&[same, same])], 1).await;
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!((after.rows, after.subjects), (2, 2));
    let table = load(&store, &dataset, 1).await;
    assert!(table.subjects.is_none());
    assert_eq!(table.subject_count(), 2);
}

// UC-79, UC-65: what is not committed is nowhere.
#[sqlx::test]
async fn a_staged_upload_is_invisible_and_leaves_nothing_when_given_up(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let before = table_sizes(&pool).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    store.stage_block(&mut upload, &rows).await.unwrap();
    assert_eq!(store.dataset(dataset.dataset_id).await.unwrap(), dataset);
    assert_eq!(load(&store, &dataset, 1).await.rows, 0);
    assert!(
        store
            .batches(dataset.dataset_id, 9)
            .await
            .unwrap()
            .is_empty()
    );
    store.abandon_upload(upload).await.unwrap();
    assert_eq!(table_sizes(&pool).await, before);
}

#[sqlx::test]
async fn a_fault_within_the_commit_leaves_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let before = table_sizes(&pool).await;
    run(
        &pool,
        "create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$",
    )
    .await;
    run(
        &pool,
        "create trigger refuse before update on dataset for each row execute function refuse()",
    )
    .await;
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    let key = once("k", 1);
    let failed = try_upload(&store, &dataset, &[rows], 1, false, Some(&key)).await;
    assert!(matches!(
        failed,
        Err(Error::Database {
            statement: "add_batch_to_dataset",
            ..
        })
    ));
    assert_eq!(table_sizes(&pool).await, before);
    assert_eq!(store.dataset(dataset.dataset_id).await.unwrap(), dataset);
    assert!(store.earlier_answer(&key).await.unwrap().is_none());
}

#[sqlx::test]
async fn a_dropped_upload_is_swept_after_hours(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let before = table_sizes(&pool).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    store.stage_block(&mut upload, &rows).await.unwrap();
    assert_eq!(store.sweep().await.unwrap(), 0);
    run(
        &pool,
        "update staging set touched_at = now() - interval '7 hours'",
    )
    .await;
    // Three partitions, one chunk each.
    assert_eq!(store.sweep().await.unwrap(), 3);
    assert_eq!(table_sizes(&pool).await, before);
    // Whoever comes back too late is told.
    let late = store.stage_block(&mut upload, &rows).await;
    assert!(matches!(late, Err(Error::DatasetChanged)));
    let late = store
        .commit_upload(upload, &summary(1, 1), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await;
    assert!(matches!(late, Err(Error::DatasetChanged)));
    assert_eq!(table_sizes(&pool).await, before);
}

// UC-64
#[sqlx::test]
async fn uc_64_a_batch_sent_twice_is_one_batch(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let rows = block(&[
        row(["p1", "34", "Ann", "F", "flu", "1"]),
        row(["p2", "51", "Bob", "M", "flu", "1"]),
        row(["p3", "67", "Eve", "F", "flu", "1"]),
    ]);
    let key = once("retry", 1);
    let first = try_upload(
        &store,
        &dataset,
        std::slice::from_ref(&rows),
        1,
        false,
        Some(&key),
    )
    .await;
    let again = try_upload(
        &store,
        &dataset,
        std::slice::from_ref(&rows),
        1,
        false,
        Some(&key),
    )
    .await;
    assert_eq!(first.unwrap(), again.unwrap());
    assert_eq!(load(&store, &dataset, 9).await.rows, 3);

    let unkeyed = try_upload(
        &store,
        &dataset,
        std::slice::from_ref(&rows),
        1,
        false,
        None,
    )
    .await;
    let batch_id = store.batches(dataset.dataset_id, 1).await.unwrap()[0].batch_id;
    match unkeyed {
        Err(Error::DuplicateBatch {
            batch_id: of,
            sequence: 1,
        }) => assert_eq!(of, batch_id),
        other => panic!("{other:?}"),
    }
    let other_key = once("another", 1);
    let keyed = try_upload(
        &store,
        &dataset,
        std::slice::from_ref(&rows),
        1,
        false,
        Some(&other_key),
    )
    .await;
    assert!(matches!(keyed, Err(Error::DuplicateBatch { .. })));
    assert_eq!(load(&store, &dataset, 9).await.rows, 3);
    let staged =
        sqlx::query_scalar::<_, i64>("select count(*) from batch_chunk where batch_id <> $1")
            .bind(batch_id)
            .fetch_one(&pool);
    assert_eq!(staged.await.unwrap(), 0);

    // Whoever means it says so, and may say so again.
    for rows_then in [6, 9] {
        try_upload(&store, &dataset, std::slice::from_ref(&rows), 1, true, None)
            .await
            .unwrap();
        assert_eq!(load(&store, &dataset, 9).await.rows, rows_then);
    }
}

#[sqlx::test]
async fn the_same_content_in_another_dataset_is_no_repetition(pool: PgPool) {
    let store = store(&pool);
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    for _ in 0..2 {
        let dataset = create(&store).await;
        upload(&store, &dataset, std::slice::from_ref(&rows), 1).await;
    }
}

#[sqlx::test]
async fn commits_at_the_same_time_get_sequences_without_gaps(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let uploads = (0..6).map(|content| {
        let (store, dataset) = (store.clone(), dataset.clone());
        tokio::spawn(async move {
            let rows = block(&[
                row(["p1", "34", "Ann", "F", "flu", "1"]),
                row(["p2", "51", "Bob", "M", "flu", "1"]),
            ]);
            upload(&store, &dataset, &[rows], content).await
        })
    });
    for upload in uploads.collect::<Vec<_>>() {
        upload.await.unwrap();
    }
    let batches = store.batches(dataset.dataset_id, 99).await.unwrap();
    let sequences: Vec<u32> = batches.iter().map(|batch| batch.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5, 6]);
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!((after.rows, after.subjects, after.batches), (12, 2, 6));
    assert_eq!(load(&store, &dataset, 6).await.rows, 12);
}

#[sqlx::test]
async fn of_two_with_the_same_content_at_the_same_time_one_is_the_batch(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let uploads = (0..4).map(|_| {
        let (store, dataset) = (store.clone(), dataset.clone());
        tokio::spawn(async move {
            let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
            try_upload(&store, &dataset, &[rows], 1, false, None).await
        })
    });
    let mut batches = 0;
    for upload in uploads.collect::<Vec<_>>() {
        match upload.await.unwrap() {
            Ok(_) => batches += 1,
            Err(Error::DuplicateBatch { sequence: 1, .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(batches, 1);
    assert_eq!(store.dataset(dataset.dataset_id).await.unwrap().rows, 1);
}

#[sqlx::test]
async fn a_replaced_hierarchy_refuses_the_upload_that_was_checked_against_the_old_one(
    pool: PgPool,
) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    store.stage_block(&mut upload, &rows).await.unwrap();
    let mut other = dataset.declaration.clone();
    other.attributes[1].hierarchy = None;
    store
        .replace_hierarchy(dataset.dataset_id, &other, "age")
        .await
        .unwrap();
    let changed = store
        .commit_upload(upload, &summary(1, 1), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await;
    assert!(matches!(changed, Err(Error::DatasetChanged)));
}

#[sqlx::test]
async fn a_summary_that_counts_other_rows_is_refused(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
    store.stage_block(&mut upload, &rows).await.unwrap();
    let refused = store
        .commit_upload(upload, &summary(2, 1), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await;
    assert!(matches!(refused, Err(Error::Form(_))));
    assert_eq!(load(&store, &dataset, 1).await.rows, 0);
}

#[sqlx::test]
async fn the_values_of_a_column_are_read_for_a_new_hierarchy(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    for (content, ages) in [["34", "51"], ["51", "35"]].into_iter().enumerate() {
        let rows = ages.map(|age| row(["p1", age, "Ann", "F", "flu", "1"]));
        let content = u8::try_from(content).unwrap();
        upload(&store, &dataset, &[block(&rows)], content).await;
    }
    let schema = schema(&dataset.declaration);
    let values = |position| store.column_values(dataset.dataset_id, &schema, position);
    assert_eq!(values(1).await.unwrap(), ["34", "51", "35"]);
    assert_eq!(values(4).await.unwrap(), ["flu"]);
    assert!(values(0).await.unwrap().is_empty());
}
