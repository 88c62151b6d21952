//! Runs `initdb` and `postgres`.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::binaries::Binaries;
use super::place::Place;
use super::{Durability, Error, USER};

/// Makes the cluster beside its place and moves it there when it is whole.
pub(super) async fn initialize(place: &Place, binaries: &Binaries) -> Result<(), Error> {
    let path = place.fresh_cluster()?;
    let mut command = Command::new(&binaries.initdb);
    command
        .args(["-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "-D"])
        .arg(&path);
    become_server(&mut command, place);
    let mut command = tokio::process::Command::from(command);
    let output = command.kill_on_drop(true).output().await;
    let output = output.map_err(Error::directory(&binaries.initdb))?;
    if !output.status.success() {
        return Err(Error::Failed {
            program: "initdb",
            detail: end_of(&String::from_utf8_lossy(&output.stderr)),
        });
    }
    let data = place.data();
    std::fs::rename(&path, &data).map_err(Error::directory(&data))
}

/// Starts the server; it is not ready yet.
pub(super) fn spawn(
    place: &Place,
    binaries: &Binaries,
    socket_directory: &Path,
    durability: Durability,
) -> Result<Child, Error> {
    let log = place.log();
    let output = File::create(&log).map_err(Error::directory(&log))?;
    let errors = output.try_clone().map_err(Error::directory(&log))?;
    let mut command = Command::new(&binaries.postgres);
    command
        .arg("-D")
        .arg(place.data())
        .arg("-k")
        .arg(socket_directory);
    let settings = [
        "listen_addresses=",
        "port=5432",
        "unix_socket_permissions=0700",
        "log_min_error_statement=panic",
        "log_error_verbosity=terse",
    ];
    let throw_away = [
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
    ];
    let throw_away = throw_away.iter().filter(|_| durability == Durability::None);
    for setting in settings.iter().chain(throw_away) {
        command.args(["-c", setting]);
    }
    become_server(&mut command, place);
    command
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(Error::directory(&binaries.postgres))
}

/// Sets what both programs share: user, directory, language, and a process group of their own, so that Ctrl-C in a
/// terminal reaches us alone and the server outlives its last client.
fn become_server(command: &mut Command, place: &Place) {
    command.current_dir("/").env("LC_ALL", "C").process_group(0);
    for variable in [
        "PGDATA",
        "PGPORT",
        "PGHOST",
        "PGUSER",
        "PGDATABASE",
        "PGOPTIONS",
    ] {
        command.env_remove(variable);
    }
    if place.user.is_dropped_to {
        // Drops the supplementary groups too.
        command.uid(place.user.uid).gid(place.user.gid);
    }
}

/// The last lines of the server's log.
pub(super) fn log_end(path: &Path) -> String {
    end_of(&std::fs::read_to_string(path).unwrap_or_default())
}

fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join(" | ")
}
