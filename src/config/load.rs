//! Loads the configuration: three layers, every unknown key and every bad value reported at once.
//!
//! The known keys are those of `config/default.toml` and the few that have no default there, so a misspelt variable is
//! named as it was written, not as some serde path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use config::{Environment, File, FileFormat, Map};
use secrecy::{ExposeSecret, SecretString};

use super::Config;

const DEFAULTS: &str = include_str!("../../config/default.toml");
const PREFIX: &str = "KINDRED__";
/// Keys without a default.
const OPTIONAL: [&str; 4] = [
    "data_directory",
    "database.url",
    "vault.master_key",
    "vault.key_file",
];

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read or is no TOML.
    #[error("the configuration file {path} cannot be used")]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<config::ConfigError>,
    },
    /// Keys that mean nothing: a misspelt limit must not be ignored.
    #[error("unknown configuration: {}", .0.join("; "))]
    Unknown(Vec<String>),
    /// A value of the wrong type.
    #[error("a configuration value has the wrong form")]
    Form(#[source] Box<config::ConfigError>),
    /// Values out of bounds, all of them.
    #[error("the configuration cannot be used: {}", .0.join("; "))]
    Bounds(Vec<String>),
}

impl Config {
    /// Loads the defaults, then `file` if one is given, then the environment.
    ///
    /// # Errors
    /// See [`Error`]; messages name keys and variables, never the value of a secret.
    pub fn load(file: Option<&Path>) -> Result<Self, Error> {
        // Variables that are not UTF-8 cannot be ours: all of our names and values are texts.
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::layered(file, variables)
    }

    /// Loads the defaults, then `file`, then `variables` in place of the environment.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn layered(
        file: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Error> {
        let variables: Map<String, String> = variables
            .into_iter()
            .filter(|(name, value)| {
                !value.is_empty() && (name.starts_with("KINDRED_") || name == "DATABASE_URL")
            })
            .collect();
        let known = known_keys()?;
        let mut unknown = unknown_variables(&variables, &known);
        let mut builder =
            config::Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        let mut faults = Vec::new();
        if let Some(path) = file {
            let keys = file_keys(path)?;
            unknown.extend(
                keys.keys()
                    .filter(|key| !known.contains(*key))
                    .map(|key| format!("`{key}` in {}", path.display())),
            );
            faults.extend(secrets_in(&keys));
            builder = builder.add_source(File::from(path).format(FileFormat::Toml));
        }
        if !unknown.is_empty() {
            return Err(Error::Unknown(unknown));
        }
        let database_url = variables.get("DATABASE_URL").cloned();
        let loaded = builder
            .add_source(
                // The crate's own guess at types stays off: a key of 64 decimal digits would become a number.
                Environment::with_prefix("KINDRED")
                    .separator("__")
                    .source(Some(variables)),
            )
            .build()
            .map_err(|source| Error::Form(Box::new(source)))?;
        let mut config: Self = loaded
            .try_deserialize()
            .map_err(|source| Error::Form(Box::new(source)))?;
        if config.database.url.is_none() {
            config.database.url = database_url.map(SecretString::from);
        }
        faults.extend(config.faults());
        if faults.is_empty() {
            Ok(config)
        } else {
            Err(Error::Bounds(faults))
        }
    }

    /// The data directory: as set, else `/var/lib/kindred` for root, else `kindred` below `$XDG_DATA_HOME` or
    /// `~/.local/share`.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        if let Some(directory) = &self.data_directory {
            return directory.clone();
        }
        if nix::unistd::geteuid().is_root() {
            return PathBuf::from("/var/lib/kindred");
        }
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        absolute("XDG_DATA_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
            .map_or_else(
                || PathBuf::from("kindred-data"),
                |data| data.join("kindred"),
            )
    }

    /// The key file: as set, else `master.key` in the data directory.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.vault
            .key_file
            .clone()
            .unwrap_or_else(|| self.directory().join("master.key"))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.server.address.ip().is_loopback() && !self.server.allow_remote {
            faults.push(format!(
                "server.address {} is reachable from other machines and there are no accounts: whoever reaches it can \
                 read and delete everything; if the network is closed by other means, say so by \
                 server.allow_remote = true (KINDRED__SERVER__ALLOW_REMOTE=true)",
                self.server.address
            ));
        }
        let counts = [
            ("server.upload_limit_bytes", self.server.upload_limit_bytes),
            (
                "server.request_limit_bytes",
                self.server.request_limit_bytes,
            ),
            (
                "server.request_timeout_seconds",
                self.server.request_timeout_seconds,
            ),
            ("server.max_uploads", self.server.max_uploads as u64),
            ("server.threads", self.server.threads as u64),
            ("server.max_wait_seconds", self.server.max_wait_seconds),
            (
                "database.acquire_timeout_seconds",
                self.database.acquire_timeout_seconds,
            ),
            ("worker.concurrency", self.worker.concurrency as u64),
            ("worker.max_attempts", u64::from(self.worker.max_attempts)),
            ("worker.max_queued", u64::from(self.worker.max_queued)),
            ("search.exact_search_space", self.search.exact_search_space),
            ("search.cache_megabytes", self.search.cache_megabytes as u64),
        ];
        faults.extend(
            counts
                .iter()
                .filter(|(_, value)| *value == 0)
                .map(|(key, _)| format!("{key} must be at least 1")),
        );
        if self.database.max_connections < 4 {
            faults.push("database.max_connections must be at least 4".to_owned());
        }
        let threads = [
            ("server.threads", self.server.threads),
            ("worker.threads", self.worker.threads),
            ("worker.concurrency", self.worker.concurrency),
        ];
        faults.extend(
            threads
                .iter()
                .filter(|(_, value)| *value > 1024)
                .map(|(key, _)| format!("{key} must be at most 1024")),
        );
        faults.extend(self.bad_seconds());
        if let Err(error) = self.log.filter.parse::<tracing_subscriber::EnvFilter>() {
            faults.push(format!("log.filter: {error}"));
        }
        faults
    }

    fn bad_seconds(&self) -> Vec<String> {
        let worker = &self.worker;
        let day = 86_400.0;
        let seconds = [
            ("worker.lease_seconds", worker.lease_seconds, 1.0, day),
            (
                "worker.heartbeat_seconds",
                worker.heartbeat_seconds,
                0.05,
                1.0,
            ),
            ("worker.poll_seconds", worker.poll_seconds, 0.05, day),
            ("worker.drain_seconds", worker.drain_seconds, 0.0, day),
            (
                "search.max_seconds",
                self.search.max_seconds,
                0.001,
                365.0 * day,
            ),
        ];
        let mut faults: Vec<String> = seconds
            .iter()
            .filter(|(_, value, least, most)| !(least..=most).contains(&value))
            .map(|(key, _, least, most)| format!("{key} must lie between {least} and {most}"))
            .collect();
        if worker.lease_seconds < 3.0 * worker.heartbeat_seconds {
            faults.push(
                "worker.lease_seconds must be at least three times worker.heartbeat_seconds, or one late report loses \
                 a job"
                    .to_owned(),
            );
        }
        faults
    }
}

/// Every key with its value as text, dotted.
fn file_keys(path: &Path) -> Result<BTreeMap<String, String>, Error> {
    let source = File::from(path).format(FileFormat::Toml);
    flattened(config::Config::builder().add_source(source)).map_err(|source| Error::File {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

fn known_keys() -> Result<BTreeSet<String>, Error> {
    let defaults = File::from_str(DEFAULTS, FileFormat::Toml);
    let keys = flattened(config::Config::builder().add_source(defaults))
        .map_err(|source| Error::Form(Box::new(source)))?;
    Ok(keys
        .into_keys()
        .chain(OPTIONAL.iter().map(|&key| key.to_owned()))
        .collect())
}

fn flattened(
    builder: config::ConfigBuilder<config::builder::DefaultState>,
) -> Result<BTreeMap<String, String>, config::ConfigError> {
    fn walk(prefix: &str, value: config::Value, keys: &mut BTreeMap<String, String>) {
        match value.kind {
            config::ValueKind::Table(table) => {
                for (key, value) in table {
                    let key = if prefix.is_empty() {
                        key
                    } else {
                        format!("{prefix}.{key}")
                    };
                    walk(&key, value, keys);
                }
            }
            kind => {
                keys.insert(prefix.to_owned(), kind.to_string());
            }
        }
    }
    let mut keys = BTreeMap::new();
    for (key, value) in builder.build()?.cache.into_table()? {
        walk(&key, value, &mut keys);
    }
    Ok(keys)
}

fn unknown_variables(variables: &Map<String, String>, known: &BTreeSet<String>) -> Vec<String> {
    let mut unknown: Vec<String> = variables
        .keys()
        .filter(|name| match name.strip_prefix(PREFIX) {
            Some(rest) => !known.contains(&rest.to_lowercase().replace("__", ".")),
            // `KINDRED_SERVER__ADDRESS` is meant for us and would be ignored; `KINDRED_CONFIG` is not of this kind.
            None => name.contains("__"),
        })
        .map(|name| format!("variable {name} (KINDRED__SECTION__KEY, see config/default.toml)"))
        .collect();
    unknown.sort();
    unknown
}

fn secrets_in(keys: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    if keys.contains_key("vault.master_key") {
        faults.push(
            "vault.master_key stands in a file; set it by KINDRED__VAULT__MASTER_KEY alone, or use vault.key_file"
                .to_owned(),
        );
    }
    let has_password = |url: &String| {
        let authority = url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?']).next().unwrap_or_default();
        authority
            .rsplit_once('@')
            .is_some_and(|(user, _)| user.contains(':'))
            || url.contains("password=")
    };
    if keys.get("database.url").is_some_and(has_password) {
        faults.push(
            "database.url with a password stands in a file; set it by DATABASE_URL or KINDRED__DATABASE__URL"
                .to_owned(),
        );
    }
    faults
}

impl super::Database {
    /// The URL in clear, for the driver alone.
    pub(crate) fn exposed_url(&self) -> Option<&str> {
        self.url.as_ref().map(ExposeSecret::expose_secret)
    }
}
