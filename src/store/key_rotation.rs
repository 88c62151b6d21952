//! A new master key: every data key is wrapped again, in one transaction.

use uuid::Uuid;

use super::statement::{Statement, statement};
use super::{Error, Store, commit};
use crate::vault::{Purpose, Vault};

const LOCK_DATA_KEYS: Statement = statement!("lock_data_keys");
const LIST_DATA_KEYS: Statement = statement!("list_data_keys");
const REWRAP_DATA_KEY: Statement = statement!("rewrap_data_key");

impl Store {
    /// Wraps every data key by another vault's master key; gives how many. The keys themselves, and with them all that
    /// they seal, stay as they are.
    ///
    /// A key that the other vault opens already stays, so a rotation that was broken off after its commit can be
    /// repeated. Whoever still holds the old master key opens nothing from then on.
    ///
    /// # Errors
    /// [`Error::Sealed`] if a key opens with neither; nothing has changed then. The database's.
    pub async fn rotate_keys(&self, next: &Vault) -> Result<u64, Error> {
        let mut transaction = self.begin().await?;
        // No dataset is made under the old key meanwhile.
        sqlx::query(LOCK_DATA_KEYS.text)
            .execute(&mut *transaction)
            .await
            .map_err(LOCK_DATA_KEYS.failed())?;
        let keys: Vec<(Uuid, Purpose, Vec<u8>)> = sqlx::query_as(LIST_DATA_KEYS.text)
            .fetch_all(&mut *transaction)
            .await
            .map_err(LIST_DATA_KEYS.failed())?;
        let mut rewrapped = 0;
        for (dataset_id, purpose, wrapped) in keys {
            if next.unwrap_data_key(dataset_id, purpose, &wrapped).is_ok() {
                continue;
            }
            let wrapped = self
                .vault
                .rewrap_data_key(next, dataset_id, purpose, &wrapped)
                .map_err(Error::Sealed)?;
            sqlx::query(REWRAP_DATA_KEY.text)
                .bind(dataset_id)
                .bind(purpose)
                .bind(wrapped)
                .execute(&mut *transaction)
                .await
                .map_err(REWRAP_DATA_KEY.failed())?;
            rewrapped += 1;
        }
        commit(transaction).await?;
        Ok(rewrapped)
    }
}
