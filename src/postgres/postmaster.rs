//! What `postmaster.pid` says, and whether it is still true.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use super::USER;

/// The longest that one attempt to connect may take.
const CONNECT: Duration = Duration::from_secs(5);

/// A `postmaster.pid`: which process serves a cluster, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Postmaster {
    pub(super) pid: i32,
    pub(super) socket_directory: PathBuf,
    pub(super) is_ready: bool,
}

impl Postmaster {
    /// Reads a cluster's file; `None` where there is none, or it is still being written.
    pub(super) fn read(data: &Path) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(data.join("postmaster.pid")).ok()?)
    }

    /// Lines: pid, data directory, start time, port, socket directory, address, shared memory, status.
    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().collect();
        Some(Self {
            pid: lines.first()?.trim().parse().ok().filter(|pid| *pid > 1)?,
            socket_directory: PathBuf::from(*lines.get(4)?),
            is_ready: lines.get(7).is_some_and(|status| status.trim() == "ready"),
        })
    }

    /// Whether the process still lives and works in this cluster.
    ///
    /// The number alone proves nothing: after a crash another process may have it. A server's working directory is its
    /// cluster, and Linux tells it; elsewhere the number must do.
    pub(super) fn is_alive(&self, data: &Path) -> bool {
        match std::fs::read_link(format!("/proc/{}/cwd", self.pid)) {
            Ok(directory) => directory == data,
            Err(_) if Path::new("/proc/self/cwd").exists() => false,
            Err(_) => kill(Pid::from_raw(self.pid), None).is_ok(),
        }
    }

    /// Whether another program has this number now.
    pub(super) fn is_someone_else(&self, data: &Path) -> bool {
        !self.is_alive(data) && kill(Pid::from_raw(self.pid), None) != Err(nix::errno::Errno::ESRCH)
    }
}

/// How to connect to the server of a socket directory. Nothing comes from `PG...` variables.
pub(super) fn options(socket_directory: &Path, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket_directory)
        .port(5432)
        .username(USER)
        .database(database)
        .disable_statement_logging()
}

/// Connects, if the server there answers and serves this very cluster.
pub(super) async fn connect(socket_directory: &Path, data: &Path) -> Option<PgConnection> {
    let attempt = async {
        let options = options(socket_directory, "postgres");
        let mut connection = PgConnection::connect_with(&options).await.ok()?;
        let directory: String = sqlx::query_scalar("select current_setting('data_directory')")
            .fetch_one(&mut connection)
            .await
            .ok()?;
        (Path::new(&directory) == data).then_some(connection)
    };
    tokio::time::timeout(CONNECT, attempt).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str = "4711\n/d/postgres/data\n1764455335\n5432\n/d/postgres/socket\n\n  5432001   32768\nready   \n";

    #[test]
    fn the_eighth_line_says_ready() {
        let postmaster = Postmaster::parse(READY).unwrap();
        assert_eq!(postmaster.pid, 4711);
        assert_eq!(postmaster.socket_directory, Path::new("/d/postgres/socket"));
        assert!(postmaster.is_ready);
        let starting = READY.replace("ready   ", "starting");
        assert!(!Postmaster::parse(&starting).unwrap().is_ready);
    }

    #[test]
    fn half_a_file_and_impossible_numbers_say_nothing() {
        assert_eq!(Postmaster::parse("4711\n/d/postgres/data\n"), None);
        assert_eq!(Postmaster::parse(&READY.replace("4711", "-1")), None);
        assert_eq!(Postmaster::parse(&READY.replace("4711", "0")), None);
    }
}
