//! The typed configuration: `config/default.toml` (every key, commented), a file of the operator's, then
//! `KINDRED__SECTION__KEY` from the environment. Unknown keys are refused by name.

mod load;

use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::Deserialize;

pub use load::Error;

/// Everything that can be set.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the private database, its socket and the key file live; absent: see [`Config::directory`].
    pub data_directory: Option<PathBuf>,
    /// The HTTP interface.
    pub server: Server,
    /// The database.
    pub database: Database,
    /// The keys.
    pub vault: Vault,
    /// The worker.
    pub worker: Worker,
    /// Jobs and searches.
    pub search: Search,
    /// The log.
    pub log: Log,
}

/// The HTTP interface.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Where to listen.
    pub address: SocketAddr,
    /// There are no accounts: any address but loopback is refused unless this is true.
    pub allow_remote: bool,
    /// Largest upload (batch, multipart `data`), in bytes.
    pub upload_limit_bytes: u64,
    /// Largest JSON request, in bytes.
    pub request_limit_bytes: u64,
    /// Seconds after which a request that is no upload, download, long-poll or event stream is answered by a time-out.
    pub request_timeout_seconds: u64,
    /// Uploads taken at the same time; more get 503.
    pub max_uploads: usize,
    /// Threads for measurements and releases asked for over HTTP; each request uses one.
    pub threads: usize,
    /// Longest `?wait=`, in seconds.
    pub max_wait_seconds: u64,
}

/// The database.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// A Postgres URL; `DATABASE_URL` is read too. Absent: a private server of the machine's own binaries.
    pub url: Option<SecretString>,
    /// Most connections.
    pub max_connections: u32,
    /// Seconds to wait for a free connection before 503.
    pub acquire_timeout_seconds: u64,
}

/// The keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vault {
    /// 64 hexadecimal digits; from the environment only (`KINDRED__VAULT__MASTER_KEY`).
    pub master_key: Option<SecretString>,
    /// Key file, made with mode 0600 if neither it nor a master key is there; absent: `master.key` in the data directory.
    pub key_file: Option<PathBuf>,
    /// Which partitions readers may be granted.
    pub grant_partitions: GrantPartitions,
}

/// Partitions that readers may be granted. No privacy model applies to what they open, so it is none unless the operator
/// says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantPartitions {
    /// None.
    None,
    /// Sensitive and insensitive columns.
    Auxiliary,
    /// All, rows of persons as they came among them.
    All,
}

/// The worker.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worker {
    /// Whether `serve` runs a worker too.
    pub in_process: bool,
    /// CPU threads of each search; 0: as many as the machine has.
    pub threads: usize,
    /// Jobs searched at the same time.
    pub concurrency: usize,
    /// Seconds that a lease lasts without a heartbeat.
    pub lease_seconds: f64,
    /// Seconds between heartbeats (progress, cancel requests); at most 1.
    pub heartbeat_seconds: f64,
    /// Seconds between looks at the queue when nothing wakes the worker.
    pub poll_seconds: f64,
    /// Attempts before a job fails for good.
    pub max_attempts: u32,
    /// Queued jobs beyond which new ones get 503.
    pub max_queued: u32,
    /// Seconds that a stopping process waits for its jobs before it hands them back to the queue.
    pub drain_seconds: f64,
}

/// Jobs and searches.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Largest search space that `exact` accepts and `auto` searches exactly.
    pub exact_search_space: u64,
    /// Megabytes of cached class tables per search.
    pub cache_megabytes: usize,
    /// Seconds after which a search ends with its best so far, where the job names none.
    pub max_seconds: f64,
}

/// The log.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// `auto` (JSON unless a terminal), `json` or `text`.
    pub format: LogFormat,
    /// A filter (`info`, `kindred=debug,info`).
    pub filter: String,
}

/// Form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum LogFormat {
    Auto,
    Json,
    Text,
}
