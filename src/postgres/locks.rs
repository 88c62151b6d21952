//! The locks that decide who starts and who stops a server. The operating system drops those of a killed process.

use std::fs::{File, OpenOptions, TryLockError};
use std::time::Instant;

use super::place::Place;
use super::{Error, POLL, START, STOP};

/// Opens a lock file without taking the lock.
pub(super) fn open_lock(place: &Place, name: &str) -> Result<File, Error> {
    let path = place.lock(name);
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(Error::directory(&path))
}

/// Waits for the start lock.
pub(super) async fn lock_start(place: &Place) -> Result<File, Error> {
    let file = open_lock(place, "start.lock")?;
    let deadline = Instant::now() + START;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                tokio::time::sleep(POLL).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::TimedOut(
                    "another process did not finish starting the server",
                ));
            }
            Err(TryLockError::Error(error)) => {
                return Err(Error::directory(&place.lock("start.lock"))(error));
            }
        }
    }
}

/// Waits for the start lock without an async world, not as long.
pub(super) fn lock_start_now(place: &Place) -> Option<File> {
    let file = open_lock(place, "start.lock").ok()?;
    let deadline = Instant::now() + STOP;
    while file.try_lock().is_err() {
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(POLL);
    }
    Some(file)
}
