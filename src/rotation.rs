//! A new master key, from the command line.

use std::sync::Arc;

use sqlx::PgPool;

use crate::app::{Error, Foundation, open_vault};
use crate::config::Config;
use crate::store::Store;
use crate::vault::Vault;

/// Makes a new master key and wraps every data key by it. The new key lies in a file of its own before the database
/// knows of it and takes the name of the old one afterwards, so whenever this is broken off it can be repeated.
///
/// # Errors
/// See [`Error`]; [`Error::KeyInEnvironment`] where the master key is not in a file.
pub async fn rotate(config: Config) -> Result<(), Error> {
    if config.vault.master_key.is_some() {
        return Err(Error::KeyInEnvironment);
    }
    let foundation = Foundation::lay(&config).await?;
    let rotated = rewrap(&config, foundation.pool.clone()).await;
    foundation.close().await;
    let keys = rotated?;
    tracing::info!(keys, "every data key is wrapped by a new master key");
    Ok(())
}

async fn rewrap(config: &Config, pool: PgPool) -> Result<u64, Error> {
    let key_file = config.key_file();
    let store = Store::new(pool, Arc::new(open_vault(config)?));
    let next = Vault::open_next(&key_file)?;
    let keys = store.rotate_keys(&next).await.map_err(Error::Rotate)?;
    Vault::put_next_in_force(&key_file)?;
    Ok(keys)
}
