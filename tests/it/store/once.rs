//! Repeated requests.

use kindred::job::{Answer, Dataset, JobState};
use kindred::store::Error;
use serde_json::json;
use sqlx::PgPool;

use super::*;

// UC-82
#[sqlx::test]
async fn uc_82_sixteen_submissions_with_one_key_are_one_job(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let submits: Vec<_> = (0..16)
        .map(|_| {
            let (store, new) = (store.clone(), new_job(dataset.dataset_id));
            tokio::spawn(async move {
                let key = once("one", 1);
                store
                    .submit_job(&new, Some(&key), |job| answer_of(job.job_id))
                    .await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for submit in submits {
        answers.push(submit.await.unwrap().unwrap());
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    let counted = store.count_jobs().await.unwrap();
    assert!(counted.contains(&(JobState::Queued, 1)));
    let earlier = store.earlier_answer(&once("one", 1)).await.unwrap();
    // Word for word: also the order of the fields.
    assert_eq!(
        earlier.unwrap().body.to_string(),
        answers[0].body.to_string()
    );

    let other = store
        .submit_job(&new_job(dataset.dataset_id), Some(&once("one", 2)), |job| {
            answer_of(job.job_id)
        })
        .await;
    assert!(matches!(other, Err(Error::KeyReused)));
    let other = store.earlier_answer(&once("one", 2)).await;
    assert!(matches!(other, Err(Error::KeyReused)));
    let counted = store.count_jobs().await.unwrap();
    assert!(counted.contains(&(JobState::Queued, 1)));
}

#[sqlx::test]
async fn a_refused_request_does_not_use_its_key_up(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let key = once("later", 1);
    let full = NewJob {
        max_queued: 0,
        ..new_job(dataset.dataset_id)
    };
    let refused = store
        .submit_job(&full, Some(&key), |job| answer_of(job.job_id))
        .await;
    assert!(matches!(refused, Err(Error::BacklogFull { queued: 0 })));
    assert!(store.earlier_answer(&key).await.unwrap().is_none());
    store
        .submit_job(&new_job(dataset.dataset_id), Some(&key), |job| {
            answer_of(job.job_id)
        })
        .await
        .unwrap();
}

#[sqlx::test]
async fn datasets_created_at_once_with_one_key_are_one(pool: PgPool) {
    let store = store(&pool);
    let creates: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let key = once("one", 1);
                store
                    .create_dataset(&declaration(), Some(&key), |dataset| {
                        answer_of(dataset.dataset_id)
                    })
                    .await
                    .unwrap()
            })
        })
        .collect();
    for create in creates {
        create.await.unwrap();
    }
    let list = store.list_datasets(&page(10, None)).await.unwrap();
    assert_eq!(list.items.len(), 1);
}

#[sqlx::test]
async fn uploads_at_once_with_one_key_are_one_batch_and_leave_nothing_staged(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let uploads: Vec<_> = (0..6)
        .map(|_| {
            let (store, dataset) = (store.clone(), dataset.clone());
            tokio::spawn(async move {
                let rows = block(&[row(["p1", "34", "Ann", "F", "flu", "1"])]);
                let key = once("one", 1);
                try_upload(&store, &dataset, &[rows], 1, false, Some(&key)).await
            })
        })
        .collect();
    let mut batches = Vec::new();
    for upload in uploads {
        batches.push(upload.await.unwrap().unwrap());
    }
    batches.dedup();
    assert_eq!(batches.len(), 1);
    let sizes = table_sizes(&pool).await;
    let size = |table: &str| {
        sizes
            .iter()
            .find(|(name, _)| name == table)
            .map(|(_, rows)| *rows)
    };
    assert_eq!(size("batch"), Some(1));
    assert_eq!(size("batch_chunk"), Some(3));
    assert_eq!(size("staging"), None);
}

#[sqlx::test]
async fn the_first_remembered_answer_stands(pool: PgPool) {
    let store = store(&pool);
    let answer = |number: u64| Answer {
        status: 200,
        location: None,
        body: json!({ "z": number, "a": 0.30, "text": "\u{0000}" }),
    };
    let dataset_id = create(&store).await.dataset_id;
    let key = once("measure", 1);
    let remember = |key: Once, number| {
        let store = store.clone();
        let answer = answer(number);
        async move { store.remember_answer(&key, dataset_id, &answer).await }
    };
    let first = remember(key.clone(), 1).await.unwrap();
    let second = remember(key.clone(), 2).await.unwrap();
    assert_eq!((&first, &second), (&answer(1), &answer(1)));
    assert_eq!(store.earlier_answer(&key).await.unwrap(), Some(answer(1)));
    let other = remember(once("measure", 2), 1).await;
    assert!(matches!(other, Err(Error::KeyReused)));

    // Erasure takes what was measured with it.
    store.delete_dataset(dataset_id).await.unwrap();
    assert_eq!(store.earlier_answer(&key).await.unwrap(), None);
    let gone = remember(once("later", 1), 1).await;
    assert!(matches!(gone, Err(Error::NotFound("dataset"))));
}

#[sqlx::test]
async fn keys_are_kept_a_day_at_least_and_then_forgotten(pool: PgPool) {
    let store = store(&pool);
    let answer = answer_of(Uuid::from_u128(1));
    let dataset_id = create(&store).await.dataset_id;
    store
        .remember_answer(&once("old", 1), dataset_id, &answer)
        .await
        .unwrap();
    run(
        &pool,
        "update idempotency set created_at = now() - interval '25 hours'",
    )
    .await;
    assert_eq!(store.sweep().await.unwrap(), 0);
    run(
        &pool,
        "update idempotency set created_at = now() - interval '49 hours'",
    )
    .await;
    assert_eq!(store.sweep().await.unwrap(), 1);
    assert!(
        store
            .earlier_answer(&once("old", 2))
            .await
            .unwrap()
            .is_none()
    );
}

#[sqlx::test]
async fn a_repeated_replacement_of_a_hierarchy_changes_nothing(pool: PgPool) {
    let store = store(&pool);
    let dataset = create(&store).await;
    let mut other = dataset.declaration.clone();
    other.attributes[1].hierarchy = None;
    let key = once("replace", 1);
    let replace = async |declaration: &_, once: Option<&Once>| {
        let answer = |dataset: &Dataset| answer_of(dataset.dataset_id);
        store
            .replace_hierarchy_once(dataset.dataset_id, declaration, "age", once, answer)
            .await
            .unwrap()
    };
    let first = replace(&other, Some(&key)).await;
    replace(&dataset.declaration, None).await;
    let back = store.dataset(dataset.dataset_id).await.unwrap();
    assert_eq!(back.declaration, dataset.declaration);
    assert_eq!(replace(&other, Some(&key)).await, first);
    assert_eq!(store.dataset(dataset.dataset_id).await.unwrap(), back);
}
