//! Datasets and their hierarchies.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::page::{List, Place};
use super::statement::{Statement, count, json, small_count, statement};
use super::{Error, Store, budget, commit, once};
use crate::anonymize::table::{Attribute, Schema};
use crate::declaration::DatasetDeclaration;
use crate::job::{Answer, Dataset, Once, Page, PageRequest};

const INSERT_DATASET: Statement = statement!("insert_dataset");
const INSERT_ATTRIBUTE: Statement = statement!("insert_attribute");
const INSERT_HIERARCHY: Statement = statement!("insert_hierarchy");
const PUT_HIERARCHY_IN_FORCE: Statement = statement!("put_hierarchy_in_force");
const UPDATE_DECLARATION: Statement = statement!("update_declaration");
const FIND_DATASET: Statement = statement!("find_dataset");
const LIST_DATASETS: Statement = statement!("list_datasets");
const LOCK_DATASET: Statement = statement!("lock_dataset");
const HOLD_DATASET: Statement = statement!("hold_dataset");
const LOCK_DATASET_FOR_DELETE: Statement = statement!("lock_dataset_for_delete");
const DELETE_DATASET_STAGING: Statement = statement!("delete_dataset_staging");
const DELETE_DATASET_BATCH_CHUNKS: Statement = statement!("delete_dataset_batch_chunks");
const DELETE_DATASET_RELEASE_CHUNKS: Statement = statement!("delete_dataset_release_chunks");
const DELETE_DATASET: Statement = statement!("delete_dataset");

#[derive(sqlx::FromRow)]
struct DatasetRow {
    dataset_id: Uuid,
    declaration: Json<DatasetDeclaration>,
    rows: i64,
    subjects: i64,
    batches: i32,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    distinct_values: Option<Vec<i64>>,
    hierarchy_digests: Option<Vec<Option<Vec<u8>>>>,
    spent_epsilon: String,
    spent_delta: String,
}

impl From<DatasetRow> for Dataset {
    fn from(row: DatasetRow) -> Self {
        let digests = row.hierarchy_digests.unwrap_or_default();
        let distinct_values = row.distinct_values.unwrap_or_default();
        Self {
            dataset_id: row.dataset_id,
            declaration: row.declaration.0,
            hierarchy_digests: digests
                .into_iter()
                .map(|digest| digest.map(hex::encode))
                .collect(),
            rows: count(row.rows),
            subjects: count(row.subjects),
            batches: small_count(row.batches),
            distinct_values: distinct_values.into_iter().map(count).collect(),
            spent: budget::loss(&row.spent_epsilon, &row.spent_delta),
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A dataset that this transaction may change.
#[derive(sqlx::FromRow)]
struct LockedRow {
    declaration: Json<DatasetDeclaration>,
    batches: i32,
    deletions: i32,
}

/// What a transaction that may change a dataset knows of it.
pub(super) struct Locked {
    pub(super) declaration: DatasetDeclaration,
    /// Batches so far.
    pub(super) batches: u32,
    /// Deletions so far.
    pub(super) deletions: u32,
}

/// Takes the right to change a dataset until the transaction ends; gives what it must know.
pub(super) async fn lock(connection: &mut PgConnection, dataset_id: Uuid) -> Result<Locked, Error> {
    let row: Option<LockedRow> = sqlx::query_as(LOCK_DATASET.text)
        .bind(dataset_id)
        .fetch_optional(connection)
        .await
        .map_err(LOCK_DATASET.failed())?;
    let row = row.ok_or(Error::NotFound("dataset"))?;
    Ok(Locked {
        declaration: row.declaration.0,
        batches: small_count(row.batches),
        deletions: small_count(row.deletions),
    })
}

/// Keeps a dataset from being deleted until the transaction ends; false if it is gone.
pub(super) async fn hold(connection: &mut PgConnection, dataset_id: Uuid) -> Result<bool, Error> {
    let held: Option<Uuid> = sqlx::query_scalar(HOLD_DATASET.text)
        .bind(dataset_id)
        .fetch_optional(connection)
        .await
        .map_err(HOLD_DATASET.failed())?;
    Ok(held.is_some())
}

/// Compiles a declaration that was checked before it came here.
pub(super) fn compile(declaration: &DatasetDeclaration) -> Result<Schema, Error> {
    Schema::compile(declaration).map_err(|faults| {
        let faults = faults.len();
        Error::Form(format!("a declaration with {faults} faults"))
    })
}

/// Puts a declaration in force, of which only hierarchies differ or attributes were added.
pub(super) async fn update_declaration(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    declaration: &DatasetDeclaration,
) -> Result<(), Error> {
    sqlx::query(UPDATE_DECLARATION.text)
        .bind(dataset_id)
        .bind(json(declaration)?)
        .execute(connection)
        .await
        .map_err(UPDATE_DECLARATION.failed())?;
    Ok(())
}

/// Stores attributes from position `first` on, with the versions of their hierarchies.
pub(super) async fn insert_attributes(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    schema: &Schema,
    first: usize,
) -> Result<(), Error> {
    for (position, attribute) in schema.attributes().iter().enumerate().skip(first) {
        let digest = insert_hierarchy(connection, dataset_id, position, attribute).await?;
        sqlx::query(INSERT_ATTRIBUTE.text)
            .bind(dataset_id)
            .bind(stored_position(position)?)
            .bind(digest)
            .execute(&mut *connection)
            .await
            .map_err(INSERT_ATTRIBUTE.failed())?;
    }
    Ok(())
}

/// Stores the version of an attribute's hierarchy, if it has one; gives its digest.
async fn insert_hierarchy(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    position: usize,
    attribute: &Attribute,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(hierarchy) = &attribute.hierarchy else {
        return Ok(None);
    };
    let digest = hierarchy.digest().to_vec();
    sqlx::query(INSERT_HIERARCHY.text)
        .bind(dataset_id)
        .bind(stored_position(position)?)
        .bind(&digest)
        .bind(json(&attribute.declaration)?)
        .execute(connection)
        .await
        .map_err(INSERT_HIERARCHY.failed())?;
    Ok(Some(digest))
}

/// The form in which Postgres stores an attribute's position.
pub(super) fn stored_position(position: usize) -> Result<i32, Error> {
    i32::try_from(position).map_err(|_| Error::Form("too many attributes".to_owned()))
}

async fn find(connection: &mut PgConnection, dataset_id: Uuid) -> Result<Dataset, Error> {
    let row: Option<DatasetRow> = sqlx::query_as(FIND_DATASET.text)
        .bind(dataset_id)
        .fetch_optional(connection)
        .await
        .map_err(FIND_DATASET.failed())?;
    row.map(Dataset::from).ok_or(Error::NotFound("dataset"))
}

impl Store {
    /// Stores a declaration; `answer` makes the reply that a repetition gets too.
    ///
    /// # Errors
    /// [`Error::KeyReused`]; the database's.
    pub async fn create_dataset(
        &self,
        declaration: &DatasetDeclaration,
        once: Option<&Once>,
        answer: impl FnOnce(&Dataset) -> Answer,
    ) -> Result<Answer, Error> {
        let schema = compile(declaration)?;
        let dataset_id = Uuid::now_v7();
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        sqlx::query(INSERT_DATASET.text)
            .bind(dataset_id)
            .bind(json(declaration)?)
            .execute(&mut *transaction)
            .await
            .map_err(INSERT_DATASET.failed())?;
        insert_attributes(&mut transaction, dataset_id, &schema, 0).await?;
        self.insert_data_keys(&mut transaction, dataset_id).await?;
        let answer = answer(&find(&mut transaction, dataset_id).await?);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }

    /// One dataset.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn dataset(&self, dataset_id: Uuid) -> Result<Dataset, Error> {
        find(&mut *self.connection().await?, dataset_id).await
    }

    /// Newest first.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; the database's.
    pub async fn list_datasets(&self, page: &PageRequest) -> Result<Page<Dataset>, Error> {
        let place = Place::parse(List::Datasets, page)?;
        let rows: Vec<DatasetRow> = sqlx::query_as(LIST_DATASETS.text)
            .bind(place.created_at)
            .bind(place.id)
            .bind(place.rows())
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_DATASETS.failed())?;
        let items = rows.into_iter().map(Dataset::from).collect();
        Ok(place.page(items, |dataset: &Dataset| {
            (dataset.created_at, dataset.dataset_id)
        }))
    }

    /// Rows, fronts, releases, jobs, stored answers and keys go; running jobs of it lose their lease.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn delete_dataset(&self, dataset_id: Uuid) -> Result<(), Error> {
        let mut transaction = self.begin().await?;
        let locked: Option<Uuid> = sqlx::query_scalar(LOCK_DATASET_FOR_DELETE.text)
            .bind(dataset_id)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(LOCK_DATASET_FOR_DELETE.failed())?;
        locked.ok_or(Error::NotFound("dataset"))?;
        // In this order: without its staging row nobody can stage another chunk.
        for statement in [
            DELETE_DATASET_STAGING,
            DELETE_DATASET_BATCH_CHUNKS,
            DELETE_DATASET_RELEASE_CHUNKS,
            DELETE_DATASET,
        ] {
            sqlx::query(statement.text)
                .bind(dataset_id)
                .execute(&mut *transaction)
                .await
                .map_err(statement.failed())?;
        }
        commit(transaction).await
    }

    /// Puts another hierarchy in force for one attribute; the old version stays for the jobs that used it.
    ///
    /// Only that attribute of `declaration` is read.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the dataset or the attribute, [`Error::DatasetChanged`] if the attribute's name, role or
    /// place is another one by now; the database's.
    pub async fn replace_hierarchy(
        &self,
        dataset_id: Uuid,
        declaration: &DatasetDeclaration,
        attribute: &str,
    ) -> Result<Dataset, Error> {
        let mut transaction = self.begin().await?;
        let dataset = exchange(&mut transaction, dataset_id, declaration, attribute).await?;
        commit(transaction).await?;
        Ok(dataset)
    }

    /// As [`Store::replace_hierarchy`], once per key; `answer` makes the reply that a repetition gets too.
    ///
    /// # Errors
    /// As there; [`Error::KeyReused`].
    pub async fn replace_hierarchy_once(
        &self,
        dataset_id: Uuid,
        declaration: &DatasetDeclaration,
        attribute: &str,
        once: Option<&Once>,
        answer: impl FnOnce(&Dataset) -> Answer,
    ) -> Result<Answer, Error> {
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        let dataset = exchange(&mut transaction, dataset_id, declaration, attribute).await?;
        let answer = answer(&dataset);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }
}

/// Puts the hierarchy of one attribute of `declaration` in force.
async fn exchange(
    connection: &mut PgConnection,
    dataset_id: Uuid,
    declaration: &DatasetDeclaration,
    attribute: &str,
) -> Result<Dataset, Error> {
    let schema = compile(declaration)?;
    let position = schema
        .position(attribute)
        .ok_or(Error::NotFound("attribute"))?;
    let replacement = &schema.attributes()[position];
    let mut current = lock(&mut *connection, dataset_id).await?.declaration;
    let replaced = current
        .attributes
        .get_mut(position)
        .filter(|current| current.name == attribute && current.role == replacement.declaration.role)
        .ok_or(Error::DatasetChanged)?;
    replaced.clone_from(&replacement.declaration);
    let digest = insert_hierarchy(&mut *connection, dataset_id, position, replacement).await?;
    sqlx::query(PUT_HIERARCHY_IN_FORCE.text)
        .bind(dataset_id)
        .bind(stored_position(position)?)
        .bind(digest)
        .execute(&mut *connection)
        .await
        .map_err(PUT_HIERARCHY_IN_FORCE.failed())?;
    update_declaration(&mut *connection, dataset_id, &current).await?;
    find(connection, dataset_id).await
}
