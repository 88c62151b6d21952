//! Data keys, from the database to the vault.

use sqlx::PgConnection;
use uuid::Uuid;

use super::statement::{Statement, statement};
use super::{Error, Store};
use crate::vault::{DataKey, IdentifierKey, Purpose, TokenScope};

const INSERT_DATA_KEY: Statement = statement!("insert_data_key");
const FIND_DATA_KEY: Statement = statement!("find_data_key");

impl Store {
    /// Makes and stores every data key of a new dataset.
    pub(super) async fn insert_data_keys(
        &self,
        connection: &mut PgConnection,
        dataset_id: Uuid,
    ) -> Result<(), Error> {
        for purpose in Purpose::ALL {
            let wrapped = self
                .vault
                .new_data_key(dataset_id, purpose)
                .map_err(Error::Sealed)?;
            sqlx::query(INSERT_DATA_KEY.text)
                .bind(dataset_id)
                .bind(purpose)
                .bind(wrapped)
                .execute(&mut *connection)
                .await
                .map_err(INSERT_DATA_KEY.failed())?;
        }
        Ok(())
    }

    /// The key of the tokens that stand in a release in the place of identifiers.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the dataset, [`Error::Sealed`] with another master key; the database's.
    pub async fn identifier_key(&self, scope: &TokenScope<'_>) -> Result<IdentifierKey, Error> {
        let key = self.data_key(scope.dataset_id, Purpose::Token).await?;
        Ok(key.identifier_key(scope))
    }

    /// One data key; [`Error::NotFound`] without the dataset, [`Error::Form`] if the key was destroyed.
    pub(super) async fn data_key(
        &self,
        dataset_id: Uuid,
        purpose: Purpose,
    ) -> Result<DataKey, Error> {
        let wrapped: Option<Option<Vec<u8>>> = sqlx::query_scalar(FIND_DATA_KEY.text)
            .bind(dataset_id)
            .bind(purpose)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_DATA_KEY.failed())?;
        match wrapped {
            None => Err(Error::NotFound("dataset")),
            Some(None) => Err(Error::Form("a data key was destroyed".to_owned())),
            Some(Some(wrapped)) => self
                .vault
                .unwrap_data_key(dataset_id, purpose, &wrapped)
                .map_err(Error::Sealed),
        }
    }
}
