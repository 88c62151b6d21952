//! The program as a process: started, told, killed.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The program with an environment of ours alone: the tests may themselves run on a private server.
fn kindred(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kindred"));
    for (name, _) in std::env::vars_os() {
        let is_setting = name.to_string_lossy().starts_with("KINDRED__");
        if is_setting || name == "DATABASE_URL" {
            command.env_remove(name);
        }
    }
    command
        .env("KINDRED__DATA_DIRECTORY", directory)
        .env("KINDRED__SERVER__ADDRESS", "127.0.0.1:0")
        .env("KINDRED__WORKER__LEASE_SECONDS", "2")
        .env("KINDRED__WORKER__HEARTBEAT_SECONDS", "0.1");
    command
}

/// A running `serve`; killed if a test fails.
struct Service {
    child: Child,
    url: String,
    agent: ureq::Agent,
}

impl Service {
    fn start(directory: &Path) -> Self {
        let mut child = kindred(directory)
            .arg("serve")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let url = loop {
            let begin = said.len();
            assert!(log.read_line(&mut said).unwrap() > 0, "it ended: {said}");
            let line: Value = serde_json::from_str(&said[begin..]).unwrap();
            let message = line["message"].as_str().unwrap_or_default();
            if let Some(url) = message.strip_prefix("listening on ") {
                break url.to_owned();
            }
        };
        // Read on, or a full pipe would hold the service up.
        std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build();
        Self {
            child,
            url,
            agent: agent.into(),
        }
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let response = self
            .agent
            .get(format!("{}{path}", self.url))
            .call()
            .unwrap();
        read(response)
    }

    fn post(&self, path: &str, kind: &str, body: &str) -> Value {
        let request = self.agent.post(format!("{}{path}", self.url));
        let (status, answer) = read(request.header("content-type", kind).send(body).unwrap());
        assert!((200..300).contains(&status), "{answer}");
        answer
    }

    fn signal(&mut self, signal: Signal) -> ExitStatus {
        kill(pid(&self.child), signal).unwrap();
        self.child.wait().unwrap()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn read(mut response: ureq::http::Response<ureq::Body>) -> (u16, Value) {
    let text = response.body_mut().read_to_string().unwrap();
    let status = response.status().as_u16();
    (status, serde_json::from_str(&text).unwrap_or(Value::Null))
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// Asks until the answer is there; a process can only be asked.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has_server(directory: &Path) -> bool {
    directory.join("postgres/data/postmaster.pid").exists()
}

#[test]
fn serve_is_ready_when_it_listens_and_sigterm_stops_it_and_its_database() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = Service::start(directory.path());
    assert_eq!(service.get("/readyz").0, 200);
    assert!(has_server(directory.path()));
    assert_eq!(service.signal(Signal::SIGTERM).code(), Some(0));
    assert!(!has_server(directory.path()));
}

#[test]
fn sigterm_in_the_middle_of_a_start_leaves_nothing_running() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = kindred(directory.path())
        .arg("serve")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| {
        directory
            .path()
            .join("postgres/start.lock")
            .exists()
            .then_some(())
    });
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!has_server(directory.path()));
}

/// Ten attributes of eight levels, a thousand million policies: no search ends before its seconds do.
fn endless_dataset(service: &Service) -> String {
    let attribute = |index: usize| {
        let widths = [1, 2, 4, 8, 16, 32];
        let hierarchy = json!({ "kind": "intervals", "origin": 0, "widths": widths });
        json!({ "name": format!("a{index}"), "role": "quasi_identifying", "type": "integer", "hierarchy": hierarchy })
    };
    let attributes: Vec<Value> = (0..10).map(attribute).collect();
    let declaration = json!({ "name": "endless", "attributes": attributes }).to_string();
    let dataset = service.post("/v1/datasets", "application/json", &declaration);
    let dataset_id = dataset["dataset_id"].as_str().unwrap().to_owned();
    let header: Vec<String> = (0..10).map(|index| format!("a{index}")).collect();
    let mut text = header.join(",");
    for row in 0..500_u64 {
        let cells = (0..10).map(|column| ((row * 7919 + column * 104_729) % 61).to_string());
        text.push('\n');
        text.push_str(&cells.collect::<Vec<_>>().join(","));
    }
    service.post(
        &format!("/v1/datasets/{dataset_id}/batches"),
        "text/csv",
        &text,
    );
    dataset_id
}

// UC-83
#[test]
fn uc_83_a_job_survives_kill_9_of_the_service_and_ends_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = Service::start(directory.path());
    let dataset_id = endless_dataset(&service);
    let search =
        json!({ "method": "nsga2", "population": 100, "generations": 2_000, "max_seconds": 5 });
    let privacy = json!([{ "model": "k_anonymity", "k": 2 }]);
    let job = json!({ "dataset_id": dataset_id, "privacy": privacy, "suppression_limit": 1, "search": search });
    let job = service.post("/v1/jobs", "application/json", &job.to_string());
    let path = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap());
    until(|| {
        let (_, job) = service.get(&path);
        assert_eq!(job["attempt"].as_u64().unwrap_or(0).max(1), 1, "{job}");
        assert_ne!(job["state"], "succeeded", "{job}");
        (job["progress"]["evaluations"].as_u64()? > 0).then_some(())
    });
    assert!(!service.signal(Signal::SIGKILL).success());
    assert!(
        has_server(directory.path()),
        "the database outlives the service"
    );

    let mut service = Service::start(directory.path());
    let ended = until(|| {
        let (_, job) = service.get(&path);
        job["finished_at"].is_string().then_some(job)
    });
    assert_eq!(
        (&ended["state"], &ended["attempt"]),
        (&json!("succeeded"), &json!(2)),
        "{ended}"
    );
    let (_, jobs) = service.get("/v1/jobs");
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1);
    assert_eq!(service.get(&format!("{path}/front")).0, 200);
    let (_, dataset) = service.get(&format!("/v1/datasets/{dataset_id}"));
    assert_eq!(
        (&dataset["rows"], &dataset["batches"]),
        (&json!(500), &json!(1)),
        "{dataset}"
    );
    assert_eq!(service.signal(Signal::SIGTERM).code(), Some(0));
    assert!(
        !has_server(directory.path()),
        "whoever found the database stops it"
    );
}

#[test]
fn the_service_goes_on_after_its_database_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = Service::start(directory.path());
    let dataset_id = endless_dataset(&service);
    let file = directory.path().join("postgres/data/postmaster.pid");
    let server = std::fs::read_to_string(&file).unwrap();
    let server: i32 = server.lines().next().unwrap().parse().unwrap();
    kill(Pid::from_raw(server), Signal::SIGKILL).unwrap();
    let path = format!("/v1/datasets/{dataset_id}");
    let dataset = until(|| {
        let (status, dataset) = service.get(&path);
        (status == 200 && service.get("/readyz").0 == 200).then_some(dataset)
    });
    assert_eq!(dataset["rows"], 500);
    assert_eq!(service.signal(Signal::SIGTERM).code(), Some(0));
}

#[test]
fn a_bad_configuration_ends_the_program_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let output = kindred(directory.path())
        .arg("serve")
        .env("KINDRED__SERVER__ADDRESS", "0.0.0.0:0")
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("KINDRED__SERVER__ALLOW_REMOTE=true"),
        "{said}"
    );
}

#[test]
fn a_command_beside_a_thrown_away_server_gives_its_exit_code() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo \"$DATABASE_URL\"; exit 7";
    let output = kindred(directory.path())
        .args(["postgres", "--temporary", "--", "sh", "-c", script])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(7));
    let url = String::from_utf8(output.stdout).unwrap();
    let socket = url.split(['=', '&']).nth(1).unwrap();
    assert!(url.starts_with("postgres:///kindred?host=/tmp/"), "{url}");
    assert!(!Path::new(socket).exists());
}

#[test]
fn sigterm_ends_the_command_and_throws_the_server_away() {
    let directory = tempfile::tempdir().unwrap();
    let script = "echo \"$DATABASE_URL\"; exec sleep 600";
    let mut child = kindred(directory.path())
        .args(["postgres", "--temporary", "--", "sh", "-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut url)
        .unwrap();
    let socket = url.split(['=', '&']).nth(1).unwrap();
    assert!(Path::new(socket).exists());
    kill(pid(&child), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    assert!(!Path::new(socket).exists());
}
