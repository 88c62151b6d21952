//! What is stored is of no use without the keys, and cannot be changed or moved unnoticed.

use kindred::job::Dataset;
use kindred::store::{Error, Store};
use sqlx::PgPool;

use super::*;

async fn filled(store: &Store) -> Dataset {
    let dataset = create(store).await;
    let blocks = [
        block(&[row([
            "p1-secret",
            "34",
            "Ann-secret",
            "F",
            "flu-secret",
            "1",
        ])]),
        block(&[row([
            "p2-secret",
            "51",
            "Bob-secret",
            "M",
            "flu-secret",
            "2",
        ])]),
    ];
    upload(store, &dataset, &blocks, 1).await;
    dataset
}

async fn load(store: &Store, dataset: &Dataset) -> Result<usize, Error> {
    let schema = schema(&dataset.declaration);
    let table = store.load_table(dataset.dataset_id, &schema, 1).await;
    table.map(|table| table.rows)
}

#[sqlx::test]
async fn a_search_never_needs_the_identity_key(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    assert_eq!(
        run(&pool, "delete from data_key where purpose = 'identity'").await,
        1
    );
    assert_eq!(
        run(&pool, "delete from batch_chunk where purpose = 'identity'").await,
        2
    );
    assert_eq!(load(&store, &dataset).await.unwrap(), 2);
}

#[sqlx::test]
async fn without_its_key_a_partition_cannot_be_opened(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    run(&pool, "delete from data_key where purpose = 'quasi'").await;
    assert!(matches!(load(&store, &dataset).await, Err(Error::Form(_))));
}

#[sqlx::test]
async fn another_master_key_opens_nothing(pool: PgPool) {
    let dataset = filled(&store(&pool)).await;
    let other = store_with(&pool, "2");
    assert!(matches!(
        load(&other, &dataset).await,
        Err(Error::Sealed(_))
    ));
    let upload = other.begin_upload(&dataset).await;
    assert!(matches!(upload, Err(Error::Sealed(_))));
}

#[sqlx::test]
async fn a_changed_chunk_is_refused(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    let changed = run(
        &pool,
        "update batch_chunk set payload = set_byte(payload, 20, get_byte(payload, 20) # 1)
         where purpose = 'auxiliary' and sequence = 1",
    );
    assert_eq!(changed.await, 1);
    assert!(matches!(
        load(&store, &dataset).await,
        Err(Error::Sealed(_))
    ));
}

#[sqlx::test]
async fn two_chunks_that_changed_places_are_refused(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    let swapped = run(
        &pool,
        "update batch_chunk set payload = other.payload from batch_chunk other
         where batch_chunk.purpose = 'quasi' and other.purpose = 'quasi' and batch_chunk.sequence <> other.sequence",
    );
    assert_eq!(swapped.await, 2);
    assert!(matches!(
        load(&store, &dataset).await,
        Err(Error::Sealed(_))
    ));
}

#[sqlx::test]
async fn a_chunk_of_another_partition_is_refused(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    let moved = run(
        &pool,
        "update batch_chunk set payload = other.payload from batch_chunk other
         where batch_chunk.purpose = 'quasi' and other.purpose = 'auxiliary' and batch_chunk.sequence = other.sequence",
    );
    assert_eq!(moved.await, 2);
    assert!(matches!(
        load(&store, &dataset).await,
        Err(Error::Sealed(_))
    ));
}

#[sqlx::test]
async fn a_lost_chunk_is_noticed(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    run(
        &pool,
        "delete from batch_chunk where purpose = 'quasi' and sequence = 1",
    )
    .await;
    assert!(load(&store, &dataset).await.is_err());
    // Also if the count of chunks was made to fit.
    run(&pool, "update batch set quasi_chunks = 1").await;
    assert!(matches!(load(&store, &dataset).await, Err(Error::Form(_))));
}

#[sqlx::test]
async fn the_key_of_another_dataset_opens_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = filled(&store).await;
    create(&store).await;
    let replaced = sqlx::query(
        "update data_key set wrapped = other.wrapped from data_key other
         where data_key.dataset_id = $1 and other.dataset_id <> $1 and data_key.purpose = other.purpose",
    )
    .bind(dataset.dataset_id)
    .execute(&pool);
    assert_eq!(replaced.await.unwrap().rows_affected(), 6);
    assert!(matches!(
        load(&store, &dataset).await,
        Err(Error::Sealed(_))
    ));
}

/// No cell value stands in any table in the clear.
#[sqlx::test]
async fn no_table_holds_a_cell_in_the_clear(pool: PgPool) {
    let store = store(&pool);
    filled(&store).await;
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.tables where table_schema = 'public'",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(tables.len() > 10);
    for table in tables {
        // As text, and as the hexadecimal form of bytes: `secret` is 736563726574.
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "select count(*) from \"{table}\" t where t::text like '%secret%' or t::text like '%736563726574%'"
        )))
        .fetch_one(&pool)
        .await
        .unwrap();
        assert_eq!(found, 0, "{table}");
    }
}

#[sqlx::test]
async fn a_new_master_key_opens_what_was_sealed_before_and_the_old_one_nothing(pool: PgPool) {
    let old = store(&pool);
    let dataset = filled(&old).await;
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("master.key");
    let before = std::fs::read(&file).ok();
    let next = Vault::open_next(&file).unwrap();
    let rotated = old.rotate_keys(&next).await.unwrap();
    assert_eq!(rotated, 6);
    // Broken off before the file took its name: another run finds nothing to do and goes on.
    assert_eq!(
        old.rotate_keys(&Vault::open_next(&file).unwrap())
            .await
            .unwrap(),
        0
    );
    Vault::put_next_in_force(&file).unwrap();
    assert_eq!(before, None);
    let new = Store::new(pool.clone(), Arc::new(Vault::open(None, &file).unwrap()));
    assert_eq!(load(&new, &dataset).await.unwrap(), 2);
    assert!(matches!(load(&old, &dataset).await, Err(Error::Sealed(_))));
    // A third key opens nothing and changes nothing.
    let stranger = store_with(&pool, "3");
    let refused = stranger
        .rotate_keys(&Vault::open_next(&keys.path().join("x")).unwrap())
        .await;
    assert!(matches!(refused, Err(Error::Sealed(_))));
    assert_eq!(load(&new, &dataset).await.unwrap(), 2);
}
