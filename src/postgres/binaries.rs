//! Finds the machine's Postgres binaries.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Error;

/// Names the directory that holds `initdb` and `postgres`, before any other place is looked at.
const VARIABLE: &str = "KINDRED_POSTGRES_BIN";

/// Where one version's `initdb` and `postgres` are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) initdb: PathBuf,
    pub(super) postgres: PathBuf,
    /// Major version, as `PG_VERSION` of a cluster has it.
    pub(super) version: String,
}

impl Binaries {
    /// The first binaries found, or the first of the version that made an existing cluster.
    ///
    /// # Errors
    /// None are there, or none of that version.
    pub(super) fn find(wanted: Option<&str>) -> Result<Self, Error> {
        let mut found = Vec::new();
        for directory in candidates() {
            let Some(binaries) = Self::inside(&directory) else {
                continue;
            };
            if wanted.is_none_or(|wanted| wanted == binaries.version) {
                return Ok(binaries);
            }
            found.push(binaries.version);
        }
        match wanted {
            Some(wanted) if !found.is_empty() => Err(Error::Version {
                wanted: wanted.to_owned(),
                found: found.join(", "),
            }),
            _ => Err(Error::NoBinaries),
        }
    }

    fn inside(directory: &Path) -> Option<Self> {
        let (initdb, postgres) = (directory.join("initdb"), directory.join("postgres"));
        if !initdb.is_file() {
            return None;
        }
        let output = Command::new(&postgres).arg("--version").output().ok()?;
        // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
        let text = String::from_utf8(output.stdout).ok()?;
        let number = text.split_whitespace().nth(2)?;
        let major: String = number.chars().take_while(char::is_ascii_digit).collect();
        (!major.is_empty()).then_some(Self {
            initdb,
            postgres,
            version: major,
        })
    }
}

/// Directories to look into, best first. A directory that is named by the variable is the only one.
fn candidates() -> Vec<PathBuf> {
    if let Some(directory) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return vec![PathBuf::from(directory)];
    }
    let mut directories: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    // Debian and Ubuntu; Homebrew on both processors; Postgres.app; Red Hat's two ways; Alpine.
    directories.extend(versions("/usr/lib/postgresql", "", "bin"));
    directories.extend(versions("/opt/homebrew/opt", "postgresql", "bin"));
    directories.extend(versions("/usr/local/opt", "postgresql", "bin"));
    directories.extend(versions(
        "/Applications/Postgres.app/Contents/Versions",
        "",
        "bin",
    ));
    directories.extend(versions("/usr", "pgsql-", "bin"));
    directories.extend(versions("/usr/libexec", "postgresql", ""));
    directories
}

/// Directories `parent/prefix*/inner`, highest number in the name first.
fn versions(parent: &str, prefix: &str, inner: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let rest = name.strip_prefix(prefix)?;
            let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
            Some((digits.parse().unwrap_or(0), entry.path().join(inner)))
        })
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.into_iter().map(|(_, path)| path).collect()
}
