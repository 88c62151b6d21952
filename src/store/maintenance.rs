//! The schema's version, the clock, and what must be removed now and then.

use chrono::{DateTime, Utc};
use sqlx::migrate::Migrator;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::statement::{Statement, database_error, statement};
use super::{Error, Store};

static MIGRATOR: Migrator = sqlx::migrate!();

const GET_SCHEMA_VERSION: Statement = statement!("get_schema_version");
const GET_NOW: Statement = statement!("get_now");
const LIST_STALE_STAGING: Statement = statement!("list_stale_staging");
const DELETE_EXPIRED_ANSWERS: Statement = statement!("delete_expired_answers");

/// Database time; within a transaction, of its beginning.
pub(super) async fn now(connection: &mut PgConnection) -> Result<DateTime<Utc>, Error> {
    sqlx::query_scalar(GET_NOW.text)
        .fetch_one(connection)
        .await
        .map_err(GET_NOW.failed())
}

impl Store {
    /// Applies missing migrations. Processes that start together take turns, by an advisory lock.
    ///
    /// # Errors
    /// The database's; also if an applied migration is not the one this program knows.
    pub async fn migrate(pool: &PgPool) -> Result<(), Error> {
        let migrated = MIGRATOR.run(pool).await;
        migrated.map_err(|error| database_error("migrate", error.into()))
    }

    /// Whether the database answers and its schema is this program's.
    ///
    /// # Errors
    /// [`Error::Form`] with another schema version; the database's.
    pub async fn is_ready(&self) -> Result<(), Error> {
        let applied: Option<i64> = sqlx::query_scalar(GET_SCHEMA_VERSION.text)
            .fetch_one(&self.pool)
            .await
            .map_err(GET_SCHEMA_VERSION.failed())?;
        let wanted = MIGRATOR.iter().map(|migration| migration.version).max();
        if applied == wanted {
            return Ok(());
        }
        let (applied, wanted) = (applied.unwrap_or(0), wanted.unwrap_or(0));
        Err(Error::Form(format!(
            "schema version {applied}, where this program needs {wanted}"
        )))
    }

    /// Database time.
    ///
    /// # Errors
    /// The database's.
    pub async fn now(&self) -> Result<DateTime<Utc>, Error> {
        now(&mut *self.connection().await?).await
    }

    /// Removes staged leftovers (untouched for 6 hours) and expired idempotency keys (48 hours); returns how many rows.
    ///
    /// # Errors
    /// The database's.
    pub async fn sweep(&self) -> Result<u64, Error> {
        let stale: Vec<Uuid> = sqlx::query_scalar(LIST_STALE_STAGING.text)
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_STALE_STAGING.failed())?;
        let mut removed = 0;
        for staging_id in stale {
            removed += self.abandon(staging_id).await?;
        }
        let answers = sqlx::query(DELETE_EXPIRED_ANSWERS.text)
            .execute(&self.pool)
            .await
            .map_err(DELETE_EXPIRED_ANSWERS.failed())?;
        Ok(removed + answers.rows_affected())
    }
}
