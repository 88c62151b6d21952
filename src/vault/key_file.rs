//! The key file: one line of 64 hexadecimal digits, readable by its owner alone.
//!
//! It is written whole to a file of another name, flushed, then linked to its own: whoever starts at the same time finds
//! either no key or a whole one, and of two creators one wins and both use that key.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::{Error, SealingKey, fill_random, parse_key};

/// Reads the key, or makes it if there is none.
pub(super) fn read_or_create(path: &Path) -> Result<SealingKey, Error> {
    if let Some(key) = read(path)? {
        return Ok(key);
    }
    create(path)?;
    read(path)?.ok_or_else(|| failed(path, &"it vanished while it was made"))
}

/// The key; `None` if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<SealingKey>, Error> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, &error)),
    };
    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    if !metadata.is_file() {
        return Err(failed(path, &"it is not a regular file"));
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let reason =
            format!("its mode is {mode:04o}, so others than its owner may read it; set it to 0600");
        return Err(failed(path, &reason));
    }
    let mut text = Zeroizing::new(String::with_capacity(128));
    let limit = 1024;
    (&mut file)
        .take(limit)
        .read_to_string(&mut text)
        .map_err(|error| failed(path, &error))?;
    parse_key(&text).map(Some)
}

/// Makes the file. Another process may make it first; that is no error.
fn create(path: &Path) -> Result<(), Error> {
    let key = SealingKey::random()?;
    let mut text = Zeroizing::new(hex::encode(&key.0[..]));
    text.push('\n');
    let draft = draft_path(path)?;
    let written = write_draft(&draft, &text).and_then(|()| link(&draft, path));
    // The draft has served, or is of no use; a failure to remove it must not hide the first error.
    let removed = std::fs::remove_file(&draft);
    written.and(removed).map_err(|error| failed(path, &error))
}

/// A name of its own beside the key file.
fn draft_path(path: &Path) -> Result<PathBuf, Error> {
    let mut suffix = [0; 8];
    fill_random(&mut suffix)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", hex::encode(suffix)));
    Ok(name.into())
}

fn write_draft(draft: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Gives the draft the key file's name, unless there is one by now; flushes the directory, so that the name lasts.
fn link(draft: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    flush_directory(path)
}

/// The file of the key that is to follow.
pub(super) fn next_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".next");
    name.into()
}

/// Gives a key file another one's name; flushes the directory, so that it lasts.
pub(super) fn replace(from: &Path, to: &Path) -> Result<(), Error> {
    let renamed = std::fs::rename(from, to).and_then(|()| flush_directory(to));
    renamed.map_err(|error| failed(to, &error))
}

fn flush_directory(path: &Path) -> io::Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}

fn failed(path: &Path, reason: &impl ToString) -> Error {
    Error::KeyFile {
        path: path.display().to_string(),
        reason: reason.to_string(),
    }
}
