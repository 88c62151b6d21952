//! Where a private server lives and as whom it runs.
//!
//! ```text
//! DATA DIRECTORY/postgres/
//!   KINDRED       says that this directory was made by kindred; without it nothing here is ever touched
//!   start.lock    held while a server is looked for, started or stopped
//!   users.lock    held, shared, by every process that uses the server
//!   data/         the cluster, moved here only when initdb has finished
//!   data.new/     a cluster in the making; what a crash leaves of it is wiped
//!   socket/       the socket, mode 0700: whoever reaches it is trusted
//!   server.log    of the latest start
//! ```
//!
//! Postgres refuses to run as root, so root runs it as another user, who must be able to walk to the cluster. A data
//! directory of root's own is opened for walking (mode `--x` for others, what is inside stays closed). Where a directory
//! above it is closed (`/root`), that is not ours to change: the cluster then lives below [`ELSEWHERE`], and
//! `postgres.location` in the data directory says where.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User, geteuid};

use super::Error;

/// Where root keeps clusters of data directories that the server's user cannot walk to.
const ELSEWHERE: &str = "/var/lib/kindred-clusters";
const MARKER: &str = "KINDRED";
const MARKER_TEXT: &str = "This directory belongs to kindred: a private PostgreSQL server that it starts and stops by itself.\n";
/// The longest path of a socket: 107 bytes on Linux, 103 on macOS and the BSDs.
const SOCKET_PATH_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
const SOCKET_NAME: &str = ".s.PGSQL.5432";

/// The user that a server runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerUser {
    pub(super) uid: u32,
    pub(super) gid: u32,
    name: String,
    /// We are root and become this user.
    pub(super) is_dropped_to: bool,
}

/// The directories of one private server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    home: PathBuf,
    pub(super) user: ServerUser,
}

impl Place {
    /// Makes the directories that are missing.
    ///
    /// # Errors
    /// A directory cannot be made or walked to, or is not ours.
    pub(super) fn prepare(directory: &Path) -> Result<Self, Error> {
        let open = if geteuid().is_root() { 0o711 } else { 0o700 };
        make_directory(directory, open)?;
        let directory = canonical(directory)?;
        let location = directory.join("postgres.location");
        let mut home = match fs::read_to_string(&location) {
            Ok(text) => PathBuf::from(text.trim_end()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => directory.join("postgres"),
            Err(error) => return Err(Error::directory(&location)(error)),
        };
        let user = ServerUser::choose(&home.join("data"))?;
        if user.is_dropped_to && home.starts_with(&directory) && !home.exists() {
            user.let_walk(&directory)?;
            if !user.can_walk(&directory)? {
                home = Path::new(ELSEWHERE).join(uuid::Uuid::new_v4().simple().to_string());
                make_directory(Path::new(ELSEWHERE), 0o711)?;
                tracing::warn!(
                    data_directory = %directory.display(),
                    database_directory = %home.display(),
                    "user {} cannot walk to the data directory: the private database is kept elsewhere",
                    user.name
                );
                fs::write(&location, format!("{}\n", home.display()))
                    .map_err(Error::directory(&location))?;
            }
        }
        make_directory(&home, open)?;
        let place = Self { home, user };
        place.claim()?;
        if place.user.is_dropped_to && !place.user.can_walk(&place.home)? {
            return Err(Error::NotWalkable {
                path: place.home,
                user: place.user.name,
            });
        }
        Ok(place)
    }

    /// Puts the marker into a directory of ours that is still empty; refuses any other without it.
    fn claim(&self) -> Result<(), Error> {
        let marker = self.home.join(MARKER);
        if marker.exists() {
            return Ok(());
        }
        let mut entries = fs::read_dir(&self.home).map_err(Error::directory(&self.home))?;
        if entries.next().is_some() {
            return Err(Error::NotOurs {
                path: self.home.clone(),
            });
        }
        fs::write(&marker, MARKER_TEXT).map_err(Error::directory(&marker))
    }

    pub(super) fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.home.join("server.log")
    }

    pub(super) fn lock(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Major version of the cluster; `None` where there is none yet.
    ///
    /// # Errors
    /// There is something else in its place.
    pub(super) fn version(&self) -> Result<Option<String>, Error> {
        let data = self.data();
        match fs::read_to_string(data.join("PG_VERSION")) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::directory(&data)(error))
            }
            // An empty directory may be anything's; removing it fails if it is not empty after all.
            Err(_) if data.exists() => {
                fs::remove_dir(&data).map_err(|_| Error::NotOurs { path: data })?;
                Ok(None)
            }
            Err(_) => Ok(None),
        }
    }

    /// An empty directory for `initdb`; wipes what an interrupted one left.
    ///
    /// # Errors
    /// The directory cannot be wiped or made.
    pub(super) fn fresh_cluster(&self) -> Result<PathBuf, Error> {
        let path = self.home.join("data.new");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::directory(&path)(error));
            }
            _ => {}
        }
        self.make_private(&path)?;
        Ok(path)
    }

    /// The directory for the socket: in the data directory, or a short one of its own where that path is too long.
    ///
    /// # Errors
    /// None can be made.
    pub(super) fn socket_directory(&self) -> Result<PathBuf, Error> {
        let inside = self.home.join("socket");
        if fits(&inside) {
            self.make_private(&inside)?;
            return Ok(inside);
        }
        let name = format!("kindred-{:.12}", uuid::Uuid::new_v4().simple().to_string());
        let mut failure = Error::NotOurs { path: inside };
        for parent in [
            PathBuf::from("/tmp"),
            PathBuf::from("/var/tmp"),
            std::env::temp_dir(),
        ] {
            let path = parent.join(&name);
            if !fits(&path) {
                continue;
            }
            match self.make_private(&path) {
                Ok(()) => return Ok(path),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Whether a socket directory is one that [`Self::socket_directory`] made outside of the data directory.
    pub(super) fn is_outside(&self, socket_directory: &Path) -> bool {
        !socket_directory.starts_with(&self.home)
    }

    /// Makes a directory that only the server's user can enter.
    fn make_private(&self, path: &Path) -> Result<(), Error> {
        make_directory(path, 0o700)?;
        let mut metadata = fs::symlink_metadata(path).map_err(Error::directory(path))?;
        if self.user.is_dropped_to && metadata.uid() == 0 {
            chown(path, Some(self.user.uid), Some(self.user.gid))
                .map_err(Error::directory(path))?;
            metadata = fs::symlink_metadata(path).map_err(Error::directory(path))?;
        }
        if metadata.is_dir() && metadata.uid() == self.user.uid {
            fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(Error::directory(path))
        } else {
            Err(Error::NotOurs {
                path: path.to_owned(),
            })
        }
    }
}

impl ServerUser {
    /// Ourselves; for root the owner of an existing cluster, else `postgres`, else `nobody`.
    fn choose(data: &Path) -> Result<Self, Error> {
        let euid = geteuid();
        let owner = fs::metadata(data)
            .ok()
            .map(|metadata| Uid::from_raw(metadata.uid()));
        if !euid.is_root() {
            if owner.is_some_and(|owner| owner != euid) {
                return Err(Error::NotOurs {
                    path: data.to_owned(),
                });
            }
            return Ok(Self {
                uid: euid.as_raw(),
                gid: nix::unistd::getegid().as_raw(),
                name: "that runs kindred".to_owned(),
                is_dropped_to: false,
            });
        }
        let by_owner = owner
            .filter(|owner| !owner.is_root())
            .and_then(|owner| User::from_uid(owner).ok().flatten());
        let by_name = |name| User::from_name(name).ok().flatten();
        let user = by_owner
            .or_else(|| by_name("postgres"))
            .or_else(|| by_name("nobody"))
            .ok_or(Error::NoUser)?;
        Ok(Self {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            name: user.name,
            is_dropped_to: true,
        })
    }

    /// Lets others walk through a directory of root's own.
    fn let_walk(&self, path: &Path) -> Result<(), Error> {
        let metadata = fs::metadata(path).map_err(Error::directory(path))?;
        if metadata.uid() == 0 && !self.walks(&metadata) {
            let mode = (metadata.mode() & 0o7777) | 0o001;
            fs::set_permissions(path, Permissions::from_mode(mode))
                .map_err(Error::directory(path))?;
        }
        Ok(())
    }

    fn can_walk(&self, path: &Path) -> Result<bool, Error> {
        for ancestor in path.ancestors() {
            let metadata = fs::metadata(ancestor).map_err(Error::directory(ancestor))?;
            if !self.walks(&metadata) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn walks(&self, metadata: &fs::Metadata) -> bool {
        let bit = if metadata.uid() == self.uid {
            0o100
        } else if metadata.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        metadata.mode() & bit != 0
    }
}

/// Makes a directory with a mode, and its parents with the usual one; an existing one stays as it is.
fn make_directory(path: &Path, mode: u32) -> Result<(), Error> {
    if let Some(parent) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        fs::create_dir_all(parent).map_err(Error::directory(parent))?;
    }
    match DirBuilder::new().mode(mode).create(path) {
        // The process's mask may have taken bits away.
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(mode)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(Error::directory(path))
}

fn canonical(path: &Path) -> Result<PathBuf, Error> {
    path.canonicalize().map_err(Error::directory(path))
}

fn fits(directory: &Path) -> bool {
    directory.join(SOCKET_NAME).as_os_str().len() <= SOCKET_PATH_BYTES
}
