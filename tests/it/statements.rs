//! Every SQL statement against the migrated schema.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sqlx::{AssertSqlSafe, Executor, PgPool, SqlSafeStr};

fn statements() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sql");
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 50);
    paths
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[sqlx::test]
async fn every_statement_can_be_prepared(pool: PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let mut failures = Vec::new();
    for path in statements() {
        let text = AssertSqlSafe(std::fs::read_to_string(&path).unwrap()).into_sql_str();
        if let Err(error) = connection.prepare(text).await {
            failures.push(format!("{}: {error}", name(&path)));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_statement_opens_with_its_name_and_what_it_does() {
    for path in statements() {
        let text = std::fs::read_to_string(&path).unwrap();
        let opening = format!("-- {}: ", name(&path));
        assert!(text.starts_with(&opening), "{}", path.display());
    }
}

#[test]
fn every_statement_is_used() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let sources: String = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let unused: BTreeSet<String> = statements()
        .iter()
        .map(|path| name(path))
        .filter(|name| !sources.contains(&format!("statement!(\"{name}\")")))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// Tables, columns and types are explained where they are made.
#[sqlx::test]
async fn every_table_and_every_type_has_a_comment(pool: PgPool) {
    let bare: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c
         where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> '_sqlx_migrations'
             and obj_description(c.oid, 'pg_class') is null
         union all
         select t.typname::text from pg_type t
         where t.typnamespace = 'public'::regnamespace and t.typtype = 'e' and obj_description(t.oid, 'pg_type') is null",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(bare.is_empty(), "{bare:?}");
}
