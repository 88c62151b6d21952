//! The private Postgres server, on the machine's own binaries.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use kindred::postgres::{Durability, Error, Server};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use sqlx::{Connection, PgConnection};

async fn start(directory: &Path) -> Server {
    Server::start(directory, Durability::Full).await.unwrap()
}

async fn run(server: &Server, statement: &'static str) {
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::query(statement)
        .execute(&mut connection)
        .await
        .unwrap();
}

async fn number(server: &Server, statement: &'static str) -> i64 {
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::query_scalar(statement)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

async fn setting(server: &Server, statement: &'static str) -> String {
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    sqlx::query_scalar(statement)
        .fetch_one(&mut connection)
        .await
        .unwrap()
}

async fn answers(url: &str) -> bool {
    PgConnection::connect(url).await.is_ok()
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(i32::try_from(pid).unwrap())
}

#[tokio::test]
async fn a_fresh_directory_becomes_a_durable_server_on_a_socket_alone() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    assert!(!server.was_found());
    assert_eq!(setting(&server, "show fsync").await, "on");
    assert_eq!(setting(&server, "show listen_addresses").await, "");
    assert_eq!(
        setting(&server, "select current_database()::text").await,
        "kindred"
    );
    let data = fs::metadata(directory.path().join("postgres/data")).unwrap();
    assert_eq!(data.mode() & 0o777, 0o700);
    assert_ne!(data.uid(), 0, "Postgres does not run as root");
    let socket = fs::metadata(directory.path().join("postgres/socket")).unwrap();
    assert_eq!(socket.mode() & 0o777, 0o700);
    let url = server.url();
    drop(server);
    assert!(!answers(&url).await);
}

#[tokio::test]
async fn what_was_written_is_there_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path()).await;
    run(&server, "create table kept as select 42::bigint as value").await;
    drop(server);
    let server = start(directory.path()).await;
    assert_eq!(number(&server, "select value from kept").await, 42);
}

#[tokio::test]
async fn what_an_interrupted_initdb_left_is_wiped_and_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().join("postgres");
    fs::create_dir_all(home.join("data.new/base")).unwrap();
    fs::write(home.join("data.new/PG_VERSION"), "15\n").unwrap();
    fs::write(home.join("KINDRED"), "ours").unwrap();
    let server = start(directory.path()).await;
    assert_eq!(number(&server, "select 1::bigint").await, 1);
    assert!(!home.join("data.new").exists());
}

#[tokio::test]
async fn a_second_user_shares_the_server_and_the_last_one_stops_it() {
    let directory = tempfile::tempdir().unwrap();
    let first = start(directory.path()).await;
    let second = start(directory.path()).await;
    assert!(second.was_found());
    assert_eq!(first.pid(), second.pid());
    let url = first.url();
    drop(first);
    assert!(answers(&url).await);
    drop(second);
    assert!(!answers(&url).await);
}

#[tokio::test]
async fn users_that_start_at_the_same_time_get_one_server() {
    let directory = tempfile::tempdir().unwrap();
    let starts = (0..4).map(|_| Server::start(directory.path(), Durability::Full));
    let servers: Vec<Server> = futures::future::try_join_all(starts).await.unwrap();
    assert!(
        servers
            .iter()
            .all(|server| server.pid() == servers[0].pid())
    );
    assert_eq!(
        servers.iter().filter(|server| !server.was_found()).count(),
        1
    );
}

#[tokio::test]
async fn a_killed_server_is_revived_on_the_same_url_with_everything_committed() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = start(directory.path()).await;
    run(&server, "create table kept as select 42::bigint as value").await;
    assert!(!server.revive().await.unwrap());
    let (url, pid) = (server.url(), server.pid().unwrap());
    kill(pid_of(pid), Signal::SIGKILL).unwrap();
    // The number stays taken until the child is waited for, which `revive` does.
    while !server.revive().await.unwrap() {}
    assert_ne!(server.pid(), Some(pid));
    assert_eq!(server.url(), url);
    assert_eq!(number(&server, "select value from kept").await, 42);
}

#[tokio::test]
async fn a_stale_process_file_does_not_keep_a_server_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    drop(start(directory.path()).await);
    // A crash of the machine leaves the file, and its number may belong to any program afterwards: here to this test.
    let data = directory.path().join("postgres/data");
    let text = format!(
        "{}\n{}\n1\n5432\n{}\n\n 1 1\nready   \n",
        std::process::id(),
        data.display(),
        directory.path().join("postgres/socket").display()
    );
    fs::write(data.join("postmaster.pid"), text).unwrap();
    let server = start(directory.path()).await;
    assert_ne!(server.pid(), Some(std::process::id()));
    assert_eq!(number(&server, "select 3::bigint").await, 3);
}

#[tokio::test]
async fn a_directory_that_kindred_did_not_make_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = directory.path().join("postgres/data");
    fs::create_dir_all(&foreign).unwrap();
    fs::write(foreign.join("PG_VERSION"), "15\n").unwrap();
    let error = Server::start(directory.path(), Durability::Full)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    assert_eq!(
        fs::read_to_string(foreign.join("PG_VERSION")).unwrap(),
        "15\n"
    );
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);
}

#[tokio::test]
async fn stopping_one_server_leaves_another_running() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = tokio::join!(start(one.path()), start(two.path()));
    assert_ne!(first.pid(), second.pid());
    drop(first);
    assert_eq!(number(&second, "select 4::bigint").await, 4);
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_gets_a_short_private_one() {
    let directory = tempfile::tempdir().unwrap();
    let deep = directory.path().join("d".repeat(140));
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let server = start(&deep).await;
    assert_eq!(number(&server, "select 5::bigint").await, 5);
    let socket = setting(&server, "show unix_socket_directories").await;
    assert!(socket.len() < 80, "{socket}");
    assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o700);
    let second = start(&deep).await;
    assert_eq!(second.pid(), server.pid());
    drop((server, second));
    assert!(!Path::new(&socket).exists());
}

#[tokio::test]
async fn root_keeps_the_cluster_elsewhere_when_its_user_cannot_walk_to_it() {
    if !geteuid().is_root() {
        // Another user runs the server itself and can walk wherever it can.
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let closed = directory.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let server = start(&closed).await;
    run(&server, "create table kept as select 42::bigint as value").await;
    drop(server);
    let server = start(&closed).await;
    assert_eq!(number(&server, "select value from kept").await, 42);
    drop(server);
    let mode = fs::metadata(directory.path()).unwrap().mode() & 0o777;
    assert_eq!(mode, 0o700, "a directory above is not ours to open");
    let elsewhere = fs::read_to_string(closed.join("postgres.location")).unwrap();
    let elsewhere = Path::new(elsewhere.trim_end());
    fs::remove_dir_all(elsewhere).unwrap();
    // Goes too, unless other clusters live there.
    let _ = fs::remove_dir(elsewhere.parent().unwrap());
}
