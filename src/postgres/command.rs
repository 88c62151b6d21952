//! Runs a command beside a private server: for tests, and for whoever wants to look into the database.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Child;
use tokio::signal::unix::{SignalKind, signal};

use super::{Durability, Error, Server};

/// How long a command may take to end after it was told to.
const PATIENCE: Duration = Duration::from_secs(10);

/// A data directory that goes with this value.
struct Temporary(PathBuf);

impl Temporary {
    /// Below `/tmp`, where the server's user can walk whoever we are.
    fn create() -> Result<Self, Error> {
        let name = format!(
            "kindred-postgres-{:.12}",
            uuid::Uuid::new_v4().simple().to_string()
        );
        let path = Path::new("/tmp").join(name);
        std::fs::create_dir(&path).map_err(Error::directory(&path))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Below `/tmp`: what cannot be removed is removed with it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs `command` with `DATABASE_URL` set to a private server: that of `directory`, or a new one that is thrown away
/// afterwards. Gives the command's exit code; 128 and the signal's number if it, or we, ended by a signal.
///
/// # Errors
/// The server does not start, or the command is not there.
pub async fn with_server(directory: Option<&Path>, command: &[String]) -> Result<u8, Error> {
    let spawn_error = |source| Error::Directory {
        path: command.first().map(PathBuf::from).unwrap_or_default(),
        source,
    };
    let mut interrupt = signal(SignalKind::interrupt()).map_err(spawn_error)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(spawn_error)?;
    let temporary = match directory {
        Some(_) => None,
        None => Some(Temporary::create()?),
    };
    let work = async {
        let server = match (directory, &temporary) {
            (Some(directory), _) => Server::start(directory, Durability::Full).await?,
            (None, Some(temporary)) => Server::start(&temporary.0, Durability::None).await?,
            (None, None) => return Err(Error::NoBinaries),
        };
        let child = tokio::process::Command::new(command.first().map_or("", String::as_str))
            .args(command.get(1..).unwrap_or_default())
            .env("DATABASE_URL", server.url())
            .kill_on_drop(true)
            .spawn()
            .map_err(spawn_error)?;
        Ok((server, child))
    };
    // Dropping `work` in the middle stops what it has started.
    let (server, mut child) = tokio::select! {
        started = work => started?,
        _ = interrupt.recv() => return Ok(128 + 2),
        _ = terminate.recv() => return Ok(128 + 15),
    };
    let status = tokio::select! {
        status = child.wait() => status.map_err(spawn_error)?,
        // A terminal has told the command too; telling it twice would make some programs give up their clean-up.
        _ = interrupt.recv() => end(&mut child, None).await.map_err(spawn_error)?,
        _ = terminate.recv() => end(&mut child, Some(Signal::SIGTERM)).await.map_err(spawn_error)?,
    };
    drop(server);
    drop(temporary);
    Ok(exit_code(status))
}

async fn end(child: &mut Child, signal: Option<Signal>) -> std::io::Result<ExitStatus> {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    if let (Some(signal), Some(pid)) = (signal, pid) {
        // Not waited for yet, so the number is the child's.
        let _ = kill(Pid::from_raw(pid), signal);
    }
    if let Ok(status) = tokio::time::timeout(PATIENCE, child.wait()).await {
        return status;
    }
    child.kill().await?;
    child.wait().await
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
