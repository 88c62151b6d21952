//! Columns that nobody declared, under a default role.

use kindred::anonymize::table::BlockBuilder;
use kindred::declaration::DatasetDeclaration;
use kindred::store::Error;
use serde_json::json;
use sqlx::PgPool;

use super::uploads::{cells, load};
use super::*;

/// A declaration of one column that takes any other as sensitive.
fn open_declaration() -> DatasetDeclaration {
    DatasetDeclaration::parse(&json!({
        "name": "open",
        "attributes": [{ "name": "sex", "role": "quasi_identifying" }],
        "default_role": "sensitive",
    }))
    .unwrap()
}

fn two_columns() -> Block {
    let mut builder = BlockBuilder::new(2);
    for (sex, diagnosis) in [("F", "flu"), ("M", "asthma")] {
        builder.push(0, Some(sex));
        builder.push(1, Some(diagnosis));
    }
    builder.finish()
}

fn added_summary(content: u8) -> Summary {
    let mut added = open_declaration().attributes;
    added[0].name = String::from("diagnosis");
    added[0].role = kindred::declaration::Role::Sensitive;
    Summary {
        added,
        ..summary(2, content)
    }
}

#[sqlx::test]
async fn the_first_batch_adds_its_undeclared_columns(pool: PgPool) {
    let store = store(&pool);
    let dataset = create_as(&store, &open_declaration()).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    let mut late = store.begin_upload(&dataset).await.unwrap();
    store
        .stage_block(&mut upload, &two_columns())
        .await
        .unwrap();
    store.stage_block(&mut late, &two_columns()).await.unwrap();
    let batch_id = upload.batch_id();
    let answer = store
        .commit_upload(upload, &added_summary(1), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await
        .unwrap();
    assert_eq!(id_of(&answer), batch_id);
    let after = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!(after.declaration.attributes[1].name, "diagnosis");
    assert_eq!(after.distinct_values, [2, 2]);
    assert_eq!(after.hierarchy_digests.len(), 2);
    let table = load(&store, &after, 1).await;
    assert_eq!(cells(&table, 1), [Some("flu"), Some("asthma")]);
    // An upload that was under way meanwhile read another declaration.
    let changed = store
        .commit_upload(late, &added_summary(2), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await;
    assert!(matches!(changed, Err(Error::DatasetChanged)));
    assert_eq!(store.dataset(dataset.dataset_id).await.unwrap(), after);
}

#[sqlx::test]
async fn a_later_batch_cannot_add_columns(pool: PgPool) {
    let store = store(&pool);
    let dataset = create_as(&store, &open_declaration()).await;
    let mut builder = BlockBuilder::new(1);
    builder.push(0, Some("F"));
    upload(&store, &dataset, &[builder.finish()], 1).await;
    let mut upload = store.begin_upload(&dataset).await.unwrap();
    store
        .stage_block(&mut upload, &two_columns())
        .await
        .unwrap();
    let refused = store
        .commit_upload(upload, &added_summary(2), false, None, |batch| {
            answer_of(batch.batch_id)
        })
        .await;
    assert!(matches!(refused, Err(Error::DatasetChanged)));
    assert_eq!(load(&store, &dataset, 2).await.rows, 1);
}
