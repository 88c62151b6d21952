//! SQL statements by name, and what becomes of their failures.

use super::Error;

/// A statement of `sql/`, known by its file's name in errors and in `pg_stat_activity`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Statement {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

/// The statement in `sql/<name>.sql`.
macro_rules! statement {
    ($name:literal) => {
        $crate::store::statement::Statement {
            name: $name,
            text: include_str!(concat!("sql/", $name, ".sql")),
        }
    };
}
pub(super) use statement;

impl Statement {
    /// For `map_err`.
    pub(super) fn failed(self) -> impl Fn(sqlx::Error) -> Error {
        move |error| database_error(self.name, error)
    }
}

/// Tells the failures that have a meaning to callers from the rest.
pub(super) fn database_error(statement: &'static str, error: sqlx::Error) -> Error {
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return Error::Busy;
    }
    let constraint = error
        .as_database_error()
        .and_then(sqlx::error::DatabaseError::constraint);
    match constraint {
        Some(
            "job_dataset_id_fkey"
            | "staging_dataset_id_fkey"
            | "release_dataset_id_fkey"
            | "idempotency_dataset_id_fkey",
        ) => Error::NotFound("dataset"),
        Some("release_job_id_fkey") => Error::NotFound("job"),
        _ => Error::Database {
            statement,
            source: error,
        },
    }
}

/// A count as Postgres stores it; the schema's checks keep it from being negative.
pub(super) fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// A small count as Postgres stores it.
pub(super) fn small_count(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}

/// The form in which Postgres stores a count. No count of rows, values or evaluations comes near the end of it.
pub(super) fn stored(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The form in which Postgres stores a small count.
pub(super) fn small_stored(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// The JSON text of a value, for a parameter `$n::text::json`.
pub(super) fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|_| Error::Form("a value has no JSON form".to_owned()))
}
