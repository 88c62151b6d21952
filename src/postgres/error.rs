//! Why a private server cannot be had. Messages say what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no private server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing to start.
    #[error(
        "no PostgreSQL binaries were found: install them (apt-get install postgresql, brew install postgresql@17), name \
         their directory in KINDRED_POSTGRES_BIN, or set DATABASE_URL"
    )]
    NoBinaries,
    /// The cluster was made by a version that is not there any more.
    #[error(
        "the database was made by PostgreSQL {wanted}, but only {found} is installed: install {wanted}"
    )]
    Version {
        /// Version of the cluster.
        wanted: String,
        /// Versions found.
        found: String,
    },
    /// Neither `postgres` nor `nobody` exists.
    #[error(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as"
    )]
    NoUser,
    /// A directory or file cannot be used.
    #[error("{path} cannot be used")]
    Directory {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Something is there that kindred did not make.
    #[error(
        "{path} was not made by kindred, or belongs to another user: it is left alone; choose another data directory"
    )]
    NotOurs {
        /// Where.
        path: PathBuf,
    },
    /// A directory on the way is closed.
    #[error(
        "user {user} cannot walk to {path}: choose a data directory below one that others may enter"
    )]
    NotWalkable {
        /// Where to.
        path: PathBuf,
        /// Who.
        user: String,
    },
    /// `initdb` or the server could not be run, or ended.
    #[error("{program} failed: {detail}")]
    Failed {
        /// Which program.
        program: &'static str,
        /// The end of what it said.
        detail: String,
    },
    /// Another process holds the start lock, or a server is there that does not answer.
    #[error("{0} within 120 seconds")]
    TimedOut(&'static str),
    /// The database could not be made.
    #[error("the database could not be made")]
    Database(#[source] sqlx::Error),
}

impl Error {
    pub(super) fn directory(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Directory { path, source }
    }
}
