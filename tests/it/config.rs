//! The configuration: layers, names, bounds.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::error::Error as _;
use std::path::{Path, PathBuf};

use kindred::config::{Config, Error};
use secrecy::ExposeSecret;

fn from_environment(variables: &[(&str, &str)]) -> Result<Config, Error> {
    from_file_and_environment(None, variables)
}

fn from_file_and_environment(
    file: Option<&Path>,
    variables: &[(&str, &str)],
) -> Result<Config, Error> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Config::layered(file, variables.iter().map(owned))
}

fn from_text(text: &str) -> Result<Config, Error> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kindred.toml");
    std::fs::write(&file, text).unwrap();
    from_file_and_environment(Some(&file), &[])
}

#[test]
fn the_defaults_alone_are_a_configuration() {
    let config = from_environment(&[]).unwrap();
    assert_eq!(config.server.address.to_string(), "127.0.0.1:8080");
    assert_eq!(config.server.upload_limit_bytes, 2 << 30);
    assert_eq!(config.worker.max_attempts, 3);
    assert!(config.database.url.is_none());
    assert!(config.vault.master_key.is_none());
}

#[test]
fn the_environment_overrides_the_file_and_the_file_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kindred.toml");
    std::fs::write(
        &file,
        "[worker]\nlease_seconds = 60\npoll_seconds = 1.5\n[server]\naddress = \"127.0.0.1:1\"\n",
    )
    .unwrap();
    let config = from_file_and_environment(
        Some(&file),
        &[
            ("KINDRED__WORKER__LEASE_SECONDS", "90"),
            ("KINDRED__SERVER__ADDRESS", "[::1]:0"),
            ("KINDRED__WORKER__IN_PROCESS", "false"),
            ("KINDRED__DATA_DIRECTORY", "/srv/kindred"),
        ],
    )
    .unwrap();
    assert!((config.worker.lease_seconds - 90.0).abs() < 1e-12);
    assert!((config.worker.poll_seconds - 1.5).abs() < 1e-12);
    assert_eq!(config.server.address.to_string(), "[::1]:0");
    assert!(!config.worker.in_process);
    assert_eq!(config.directory(), PathBuf::from("/srv/kindred"));
    assert_eq!(config.key_file(), PathBuf::from("/srv/kindred/master.key"));
}

#[test]
fn every_misspelt_variable_is_refused_by_name() {
    let error = from_environment(&[
        ("KINDRED__SERVER__THREDS", "4"),
        ("KINDRED__SERVR__THREADS", "4"),
        ("KINDRED_SERVER__ADDRESS", "127.0.0.1:0"),
        ("KINDRED_POSTGRES_BIN", "/usr/bin"),
        ("UNRELATED__THING", "x"),
    ])
    .unwrap_err()
    .to_string();
    assert!(error.contains("KINDRED__SERVER__THREDS"), "{error}");
    assert!(error.contains("KINDRED__SERVR__THREADS"), "{error}");
    assert!(error.contains("KINDRED_SERVER__ADDRESS"), "{error}");
    assert!(
        !error.contains("POSTGRES_BIN") && !error.contains("UNRELATED"),
        "{error}"
    );
}

#[test]
fn a_misspelt_key_of_a_file_is_refused_by_name() {
    let error = from_text("[worker]\nleese_seconds = 3\n")
        .unwrap_err()
        .to_string();
    assert!(error.contains("`worker.leese_seconds`"), "{error}");
}

#[test]
fn a_remote_address_is_refused_until_it_is_asked_for_in_words() {
    let remote = ("KINDRED__SERVER__ADDRESS", "0.0.0.0:8080");
    let error = from_environment(&[remote]).unwrap_err().to_string();
    assert!(error.contains("server.allow_remote = true"), "{error}");
    let allowed = from_environment(&[remote, ("KINDRED__SERVER__ALLOW_REMOTE", "true")]);
    assert_eq!(allowed.unwrap().server.address.port(), 8080);
}

#[test]
fn values_out_of_bounds_are_all_reported_at_once() {
    let error = from_environment(&[
        ("KINDRED__SERVER__THREADS", "0"),
        ("KINDRED__WORKER__POLL_SECONDS", "0"),
        ("KINDRED__WORKER__HEARTBEAT_SECONDS", "1.5"),
        ("KINDRED__LOG__FILTER", "kindred=loud"),
        ("KINDRED__SEARCH__MAX_SECONDS", "NaN"),
    ])
    .unwrap_err();
    let Error::Bounds(faults) = error else {
        panic!("{error}")
    };
    assert_eq!(faults.len(), 5, "{faults:?}");
}

#[test]
fn a_lease_that_one_late_heartbeat_would_lose_is_refused() {
    let error = from_environment(&[("KINDRED__WORKER__LEASE_SECONDS", "1.2")]).unwrap_err();
    assert!(error.to_string().contains("three times"), "{error}");
}

#[test]
fn a_value_of_another_type_names_its_key() {
    let error = from_environment(&[("KINDRED__WORKER__THREADS", "many")]).unwrap_err();
    let source = error.source().unwrap().to_string();
    assert!(source.contains("worker.threads"), "{source}");
}

#[test]
fn secrets_in_a_file_are_refused() {
    let error = from_text(
        "[vault]\nmaster_key = \"00\"\n[database]\nurl = \"postgres://me:secret@host/kindred\"\n",
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("vault.master_key"), "{error}");
    assert!(error.contains("database.url"), "{error}");
    assert!(!error.contains("secret@"), "{error}");
    let harmless = from_text("[database]\nurl = \"postgres://host/kindred\"\n").unwrap();
    assert_eq!(
        harmless.database.url.unwrap().expose_secret(),
        "postgres://host/kindred"
    );
}

#[test]
fn secrets_do_not_show_in_the_logged_form() {
    let key = "7".repeat(64);
    let config = from_environment(&[
        ("KINDRED__VAULT__MASTER_KEY", &key),
        ("DATABASE_URL", "postgres://me:topsecret@host/kindred"),
    ])
    .unwrap();
    // A key of decimal digits alone stays a text.
    assert_eq!(
        config.vault.master_key.as_ref().unwrap().expose_secret(),
        key
    );
    let logged = format!("{config:?}");
    assert!(
        !logged.contains("777") && !logged.contains("topsecret"),
        "{logged}"
    );
}

#[test]
fn database_url_is_used_where_no_key_names_one() {
    let fallback = ("DATABASE_URL", "postgres://one/kindred");
    let config = from_environment(&[fallback]).unwrap();
    assert_eq!(
        config.database.url.unwrap().expose_secret(),
        "postgres://one/kindred"
    );
    let config = from_environment(&[
        fallback,
        ("KINDRED__DATABASE__URL", "postgres://two/kindred"),
    ]);
    assert_eq!(
        config.unwrap().database.url.unwrap().expose_secret(),
        "postgres://two/kindred"
    );
}
