//! A running server: waiting for it, asking whether it lives, ending it.

use std::path::Path;
use std::process::Child;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::PgConnection;

use super::postmaster::{self, Postmaster};
use super::{Error, POLL, STOP};

/// A running server, ours or found.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) postmaster: Postmaster,
    pub(super) child: Option<Child>,
}

impl Running {
    /// Waits until the child serves; `Err(None)` if it ended.
    pub(super) async fn ready(
        &mut self,
        data: &Path,
        deadline: Instant,
    ) -> Result<PgConnection, Option<Error>> {
        loop {
            if !self.is_alive(data) {
                return Err(None);
            }
            // A file that a killed server left says `ready` too: the number must be the child's.
            let is_ready = Postmaster::read(data)
                .is_some_and(|found| found.pid == self.postmaster.pid && found.is_ready);
            if is_ready {
                let connection = postmaster::connect(&self.postmaster.socket_directory, data).await;
                if let Some(connection) = connection {
                    self.postmaster.is_ready = true;
                    return Ok(connection);
                }
            }
            if Instant::now() > deadline {
                return Err(Some(Error::TimedOut("the server did not become ready")));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Whether it still lives.
    pub(super) fn is_alive(&mut self, data: &Path) -> bool {
        match &mut self.child {
            // A child that ended keeps its number until it is waited for, so the number is the child's.
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => self.postmaster.is_alive(data),
        }
    }

    /// Makes it end, and waits for that.
    pub(super) fn stop(&mut self, data: &Path) {
        // Interrupt: disconnect clients, write everything, end. Quit: end now and recover at the next start.
        for (signal, patience) in [(Signal::SIGINT, STOP), (Signal::SIGQUIT, STOP / 4)] {
            if !self.is_alive(data) {
                return;
            }
            // It may have ended since; then there is nothing to signal.
            let _ = kill(Pid::from_raw(self.postmaster.pid), signal);
            let deadline = Instant::now() + patience;
            while self.is_alive(data) && Instant::now() < deadline {
                std::thread::sleep(POLL);
            }
        }
    }
}
