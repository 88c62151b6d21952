//! A private Postgres server, started from the machine's own binaries and reached by a Unix socket alone.
//!
//! Where no database is configured, the service brings one of its own: found or made in the data directory, started as a
//! child, stopped on exit. What holds at every moment:
//!
//! - Only a directory with our marker is touched, only a process is signalled that works in our cluster
//!   ([`place`], [`postmaster`]). Any other server on the machine is out of reach: no TCP port, no shared directory.
//! - One server per cluster, many processes. Whoever uses the server holds `users.lock` shared; whoever looks for,
//!   starts or stops it holds `start.lock` exclusively. On exit a process gives up its shared lock and tries for an
//!   exclusive one: if it gets that, it was the last user and stops the server. The operating system drops the locks of
//!   a killed process, so `kill -9` leaves a running server that the next process finds, uses and finally stops.
//! - A server that was killed itself is started anew on the same cluster and recovers from its log ([`Server::revive`]).
//! - `initdb` works in `data.new`, which is renamed when it has succeeded: a cluster in place is a whole one.
//!
//! The server runs with `fsync` on unless it is [`Durability::None`], and logs no statement and no detail of an error:
//! both may hold values.

mod binaries;
mod command;
mod error;
mod locks;
mod place;
mod postmaster;
mod programs;
mod running;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};

use binaries::Binaries;
pub use command::with_server;
pub use error::Error;
use locks::{lock_start, lock_start_now, open_lock};
use place::Place;
use postmaster::Postmaster;
use programs::{initialize, log_end, spawn};
use running::Running;

/// The database user, and the name of the database.
const USER: &str = "kindred";
/// The longest that a start may take, crash recovery included.
const START: Duration = Duration::from_mins(2);
/// Clients are disconnected and the server stops in about 0.1 s; afterwards it is made to.
const STOP: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// What a crash of the machine may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Nothing that was committed.
    Full,
    /// Everything: for servers that are thrown away.
    None,
}

/// A server in use. Dropping it gives it up, and stops it if nobody else uses it.
#[derive(Debug)]
pub struct Server {
    place: Place,
    durability: Durability,
    users: File,
    /// Held while a server is looked for or started, so that giving up in the middle can stop it at once.
    starting: Option<File>,
    /// Of an earlier start, so that a revived server is found where its clients look.
    socket_directory: Option<PathBuf>,
    running: Option<Running>,
}

impl Server {
    /// Finds or starts the server of a data directory and makes the database where it is missing.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn start(directory: &Path, durability: Durability) -> Result<Self, Error> {
        let place = Place::prepare(directory)?;
        let started = lock_start(&place).await?;
        let users = open_lock(&place, "users.lock")?;
        // Nobody holds this one exclusively without the start lock: it is free.
        users
            .lock_shared()
            .map_err(Error::directory(&place.lock("users.lock")))?;
        let mut server = Self {
            place,
            durability,
            users,
            starting: Some(started),
            socket_directory: None,
            running: None,
        };
        server.find_or_start().await?;
        server.starting = None;
        Ok(server)
    }

    /// The URL of the database, for this process and for others of its user.
    #[must_use]
    pub fn url(&self) -> String {
        let directory = self.running.as_ref().map_or_else(String::new, |running| {
            percent_encoded(&running.postmaster.socket_directory)
        });
        format!("postgres:///{USER}?host={directory}&port=5432&user={USER}")
    }

    /// Process of the server.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let running = self.running.as_ref()?;
        u32::try_from(running.postmaster.pid).ok()
    }

    /// Whether the server was there before: then it is used along with others.
    #[must_use]
    pub fn was_found(&self) -> bool {
        self.running
            .as_ref()
            .is_some_and(|running| running.child.is_none())
    }

    /// Starts the server anew if it has died; true if it had. The URL stays the same.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn revive(&mut self) -> Result<bool, Error> {
        let data = self.place.data();
        if self
            .running
            .as_mut()
            .is_some_and(|running| running.is_alive(&data))
        {
            return Ok(false);
        }
        self.starting = Some(lock_start(&self.place).await?);
        self.socket_directory = self
            .running
            .take()
            .map(|dead| dead.postmaster.socket_directory);
        let outcome = self.find_or_start().await;
        self.starting = None;
        outcome.map(|()| true)
    }

    /// Gives the server up and stops it if nobody else uses it. Blocks, some 0.1 s.
    pub fn stop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        let started = self.starting.take();
        let Some(_started) = started.or_else(|| lock_start_now(&self.place)) else {
            tracing::warn!(
                "another process is starting or stopping the private database; it is left to it"
            );
            return;
        };
        let is_last = self.users.unlock().is_ok() && self.users.try_lock().is_ok();
        if !is_last {
            return;
        }
        running.stop(&self.place.data());
        let directory = &running.postmaster.socket_directory;
        if self.place.is_outside(directory) {
            // Empty by now; a leftover is harmless.
            let _ = std::fs::remove_dir(directory);
        }
    }

    async fn find_or_start(&mut self) -> Result<(), Error> {
        let mut connection = match self.find().await? {
            Some(connection) => connection,
            None => self.launch().await?,
        };
        let is_there: bool =
            sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
                .bind(USER)
                .fetch_one(&mut connection)
                .await
                .map_err(Error::Database)?;
        if !is_there {
            sqlx::query("create database kindred")
                .execute(&mut connection)
                .await
                .map_err(Error::Database)?;
        }
        // The connection has served; a failed farewell changes nothing.
        let _ = connection.close().await;
        Ok(())
    }

    /// A live server of this cluster, decided by connecting.
    async fn find(&mut self) -> Result<Option<PgConnection>, Error> {
        let data = self.place.data();
        let deadline = Instant::now() + START;
        while let Some(postmaster) = Postmaster::read(&data) {
            if let Some(connection) = postmaster::connect(&postmaster.socket_directory, &data).await
            {
                self.running = Some(Running {
                    postmaster,
                    child: None,
                });
                return Ok(Some(connection));
            }
            if !postmaster.is_alive(&data) {
                if postmaster.is_someone_else(&data) {
                    // Postgres would take that process for a server of this cluster and refuse to start.
                    let _ = std::fs::remove_file(data.join("postmaster.pid"));
                }
                return Ok(None);
            }
            if Instant::now() > deadline {
                return Err(Error::TimedOut("the running server did not answer"));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(None)
    }

    async fn launch(&mut self) -> Result<PgConnection, Error> {
        let version = self.place.version()?;
        let binaries = Binaries::find(version.as_deref())?;
        if version.is_none() {
            initialize(&self.place, &binaries).await?;
        }
        let socket_directory = match self.socket_directory.take() {
            Some(directory) if directory.is_dir() => directory,
            _ => self.place.socket_directory()?,
        };
        let deadline = Instant::now() + START;
        loop {
            let child = spawn(&self.place, &binaries, &socket_directory, self.durability)?;
            let pid = i32::try_from(child.id()).unwrap_or(-1);
            // From here on dropping `self` stops the child.
            let running = self.running.insert(Running {
                postmaster: Postmaster {
                    pid,
                    socket_directory: socket_directory.clone(),
                    is_ready: false,
                },
                child: Some(child),
            });
            match running.ready(&self.place.data(), deadline).await {
                Ok(connection) => return Ok(connection),
                Err(error) => {
                    let log = log_end(&self.place.log());
                    // Processes of a killed server take a moment to notice, and hold its memory until then.
                    let must_wait =
                        log.contains("shared memory block") && Instant::now() < deadline;
                    running.stop(&self.place.data());
                    self.running = None;
                    if !must_wait {
                        return Err(error.unwrap_or(Error::Failed {
                            program: "postgres",
                            detail: log,
                        }));
                    }
                    tokio::time::sleep(10 * POLL).await;
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn percent_encoded(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;

    let mut text = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a text cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
