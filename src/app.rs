//! The composition root: from a configuration to a running process, and back to nothing.
//!
//! Start: data directory, database (private or given), schema, keys, CPU threads, HTTP, worker. Stop, on one
//! [`CancellationToken`]: HTTP takes no more connections and ends what is in flight, the worker ends or hands back its
//! jobs, both within `worker.drain_seconds`; then the connections close, and a private database stops last.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::config::Config;
use crate::http::{self, Services};
use crate::pool::CpuPool;
use crate::postgres::{Durability, Server};
use crate::store::Store;
use crate::telemetry::chain;
use crate::vault::Vault;
use crate::{postgres, store, telemetry, vault, worker};

/// How long a given database may take to come up, in attempts of `database.acquire_timeout_seconds`.
const CONNECT_ATTEMPTS: u32 = 6;
/// Between looks whether the private database lives.
const WATCH: Duration = Duration::from_secs(1);
/// Between clean-ups of the metrics recorder.
const UPKEEP: Duration = Duration::from_secs(5);

/// Why the process cannot start, or ended by itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The private database.
    #[error("the private database could not be started")]
    Postgres(#[from] postgres::Error),
    /// The URL of the database.
    #[error("the database URL cannot be used")]
    Url(#[source] sqlx::Error),
    /// The database does not answer.
    #[error("the database could not be reached")]
    Connect(#[source] sqlx::Error),
    /// The schema.
    #[error("the database's schema could not be brought up to date")]
    Migrate(#[source] store::Error),
    /// The keys.
    #[error("the keys could not be opened")]
    Vault(#[from] vault::Error),
    /// The data keys.
    #[error("the data keys could not be wrapped by a new master key; nothing has changed")]
    Rotate(#[source] store::Error),
    /// The key is not in a file.
    #[error(
        "the master key is in the environment: take it from a file (`vault.key_file`) to rotate it"
    )]
    KeyInEnvironment,
    /// The directory of the key file.
    #[error("the directory {path} could not be made")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The address.
    #[error("cannot listen on {address}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Threads.
    #[error("the CPU threads could not be started")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// Metrics.
    #[error("the metrics recorder could not be installed")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
    /// Signals.
    #[error("signals cannot be received")]
    Signal(#[source] std::io::Error),
    /// A part of the process ended on its own.
    #[error("the {0} ended unexpectedly")]
    Ended(&'static str),
}

/// A running process.
#[derive(Debug)]
pub struct App {
    address: Option<SocketAddr>,
    store: Store,
    shutdown: CancellationToken,
    parts: Vec<(&'static str, JoinHandle<()>)>,
    foundation: Foundation,
}

/// The database, connected and up to date, and what keeps it running.
#[derive(Debug)]
pub(crate) struct Foundation {
    pub(crate) pool: PgPool,
    /// Stops the private server when dropped.
    stop: DropGuard,
    keeper: Option<JoinHandle<()>>,
}

impl App {
    /// Starts the HTTP interface and, unless the configuration says otherwise, a worker.
    ///
    /// # Errors
    /// See [`Error`]; what was started is stopped again.
    pub async fn serve(config: Config) -> Result<Self, Error> {
        let address = config.server.address;
        let listener = TcpListener::bind(address)
            .await
            .map_err(|source| Error::Listen { address, source })?;
        Self::start(config, Some(listener)).await
    }

    /// Starts a worker alone.
    ///
    /// # Errors
    /// See [`Error`]; what was started is stopped again.
    pub async fn work(config: Config) -> Result<Self, Error> {
        Self::start(config, None).await
    }

    async fn start(config: Config, listener: Option<TcpListener>) -> Result<Self, Error> {
        let config = Arc::new(config);
        let metrics = telemetry::metrics()?;
        let foundation = Foundation::lay(&config).await?;
        let store = Store::new(foundation.pool.clone(), Arc::new(open_vault(&config)?));
        let shutdown = CancellationToken::new();
        let mut app = Self {
            address: None,
            store: store.clone(),
            shutdown: shutdown.clone(),
            parts: Vec::new(),
            foundation,
        };
        if config.worker.in_process || listener.is_none() {
            let threads = config.worker.threads;
            let pool = CpuPool::with_lanes("search", threads, config.worker.concurrency)?;
            let work = worker::run(store.clone(), pool, Arc::clone(&config), shutdown.clone());
            app.parts.push(("worker", tokio::spawn(work)));
        }
        if let Some(listener) = listener {
            let address = listener.local_addr().map_err(|source| Error::Listen {
                address: config.server.address,
                source,
            })?;
            app.address = Some(address);
            let router = http::router(Services {
                store,
                pool: CpuPool::with_lanes("request", 1, config.server.threads)?,
                config: Arc::clone(&config),
                shutdown: shutdown.clone(),
                metrics: metrics.clone(),
            });
            let drain = Duration::from_secs_f64(config.worker.drain_seconds);
            let serving = serve(listener, router, shutdown.clone(), drain);
            app.parts.push(("HTTP interface", tokio::spawn(serving)));
            tracing::info!("listening on http://{address}");
        }
        tokio::spawn(async move {
            while shutdown
                .run_until_cancelled(tokio::time::sleep(UPKEEP))
                .await
                .is_some()
            {
                metrics.run_upkeep();
            }
        });
        Ok(app)
    }

    /// Where the HTTP interface listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The store that the process works on.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Begins to stop.
    pub fn shutdown(&self) {
        self.shutdown.cancel();
    }

    /// Waits until everything has stopped.
    ///
    /// # Errors
    /// A part ended although nobody told it to; the others were stopped in order.
    pub async fn join(self) -> Result<(), Error> {
        let shutdown = &self.shutdown;
        let ends = self.parts.into_iter().map(async |(name, part)| {
            let end = part.await;
            let ended_by_itself = !shutdown.is_cancelled();
            shutdown.cancel();
            match end {
                Ok(()) if !ended_by_itself => Ok(()),
                _ => Err(Error::Ended(name)),
            }
        });
        let ends = futures::future::join_all(ends).await;
        self.foundation.close().await;
        tracing::info!("stopped");
        ends.into_iter().collect()
    }
}

impl Foundation {
    pub(crate) async fn lay(config: &Config) -> Result<Self, Error> {
        let server = match config.database.exposed_url() {
            Some(_) => None,
            None => Some(Server::start(&config.directory(), Durability::Full).await?),
        };
        if let Some(server) = &server {
            tracing::info!(
                pid = server.pid(),
                was_running = server.was_found(),
                "private database ready"
            );
        }
        let private_url = server.as_ref().map(Server::url);
        let url = private_url.as_deref().or(config.database.exposed_url());
        let options = PgConnectOptions::from_str(url.unwrap_or_default())
            .map_err(Error::Url)?
            .application_name("kindred");
        let pool = connect(config, options).await?;
        Store::migrate(&pool).await.map_err(Error::Migrate)?;
        let stop = CancellationToken::new();
        let keeper = server.map(|server| tokio::spawn(keep(server, stop.clone())));
        let stop = stop.drop_guard();
        Ok(Self { pool, stop, keeper })
    }

    pub(crate) async fn close(self) {
        self.pool.close().await;
        drop(self.stop);
        if let Some(keeper) = self.keeper {
            // It only fails by a panic, which was logged.
            let _ = keeper.await;
        }
    }
}

/// Runs an application until SIGTERM or SIGINT, then stops it in order.
///
/// # Errors
/// It does not start, or a part of it ended on its own.
pub async fn until_told(start: impl Future<Output = Result<App, Error>>) -> Result<(), Error> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signal)?;
    let mut told = std::pin::pin!(async {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
    });
    let app = tokio::select! {
        app = start => app?,
        // What has started so far stops as it is dropped.
        () = &mut told => return Ok(()),
    };
    let shutdown = app.shutdown.clone();
    let mut running = std::pin::pin!(app.join());
    tokio::select! {
        end = &mut running => return end,
        () = &mut told => tracing::info!("stopping"),
    }
    shutdown.cancel();
    running.await
}

/// Brings the schema up to date and ends.
///
/// # Errors
/// See [`Error`].
pub async fn migrate(config: Config) -> Result<(), Error> {
    Foundation::lay(&config).await?.close().await;
    tracing::info!("the schema is up to date");
    Ok(())
}

async fn connect(config: &Config, options: PgConnectOptions) -> Result<PgPool, Error> {
    let mut attempt = 1;
    loop {
        let pool = PgPoolOptions::new()
            .max_connections(config.database.max_connections)
            .acquire_timeout(Duration::from_secs(config.database.acquire_timeout_seconds))
            .connect_with(options.clone())
            .await;
        match pool {
            Ok(pool) => return Ok(pool),
            // Refusals (password, name) do not go away; a server that is still starting does.
            Err(error) if attempt >= CONNECT_ATTEMPTS || is_refusal(&error) => {
                return Err(Error::Connect(error));
            }
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    attempt,
                    "the database does not answer yet"
                );
                attempt += 1;
                tokio::time::sleep(WATCH).await;
            }
        }
    }
}

/// Whether the server answered and said no for good; 57P03 is "starting up".
fn is_refusal(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .is_some_and(|error| error.code().as_deref() != Some("57P03"))
}

pub(crate) fn open_vault(config: &Config) -> Result<Vault, Error> {
    let key_file = config.key_file();
    if config.vault.master_key.is_none()
        && let Some(directory) = key_file.parent()
    {
        std::fs::create_dir_all(directory).map_err(|source| Error::Directory {
            path: directory.to_owned(),
            source,
        })?;
    }
    Ok(Vault::open(config.vault.master_key.as_ref(), &key_file)?)
}

async fn serve(
    listener: TcpListener,
    router: axum::Router,
    shutdown: CancellationToken,
    drain: Duration,
) {
    // Answers are small and whole; waiting for more to send would only delay them.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "connection without TCP_NODELAY");
        }
    });
    let graceful =
        axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let overdue = async {
        shutdown.cancelled().await;
        tokio::time::sleep(drain).await;
    };
    tokio::select! {
        // Errors of single connections end those alone; this one never comes.
        _ = graceful.into_future() => {}
        () = overdue => tracing::warn!("requests in flight were cut off after worker.drain_seconds"),
    }
}

/// Keeps the private server alive until told to stop, then stops it.
async fn keep(mut server: Server, stop: CancellationToken) {
    while stop
        .run_until_cancelled(tokio::time::sleep(WATCH))
        .await
        .is_some()
    {
        match server.revive().await {
            Ok(false) => {}
            Ok(true) => tracing::warn!(
                pid = server.pid(),
                "the private database had died; it runs again"
            ),
            Err(error) => tracing::error!(
                error = chain(&error),
                "the private database has died and does not start"
            ),
        }
    }
    // It blocks until the server has stopped.
    let stopping = tokio::task::spawn_blocking(move || drop(server));
    if stopping.await.is_err() {
        tracing::error!("the private database may still run");
    }
}
