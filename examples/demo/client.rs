//! The HTTP side of the demo: what any ETL job needs to talk to Kindred.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body, SendBody};

/// A client of one running service.
pub(crate) struct Client {
    agent: Agent,
    base: String,
}

/// An answer in JSON.
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// Parsed body.
    pub(crate) body: Value,
}

impl Answer {
    /// The body, if the status is the expected one; otherwise an error with the problem as the service told it.
    pub(crate) fn expect(self, status: u16) -> Result<Value> {
        if self.status != status {
            bail!(
                "expected status {status}, got {}:\n{:#}",
                self.status,
                self.body
            );
        }
        Ok(self.body)
    }
}

impl Client {
    /// A client of the service at `base` (`http://127.0.0.1:8080`).
    pub(crate) fn new(base: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .build();
        Self {
            agent: config.new_agent(),
            base: base.trim_end_matches('/').to_owned(),
        }
    }

    /// Waits until `/readyz` says 200.
    pub(crate) fn wait_until_ready(&self, patience: Duration) -> Result<()> {
        let deadline = std::time::Instant::now() + patience;
        loop {
            if let Ok(answer) = self.agent.get(self.url("/readyz")).call()
                && answer.status() == 200
            {
                return Ok(());
            }
            if std::time::Instant::now() > deadline {
                bail!("{} is not ready after {patience:?}", self.base);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// `GET` of a JSON resource.
    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        json(self.agent.get(self.url(path)).call(), path)
    }

    /// `POST` of a JSON request that must not have its effect twice.
    pub(crate) fn post(&self, path: &str, idempotency_key: &str, body: &Value) -> Result<Answer> {
        let request = self
            .agent
            .post(self.url(path))
            .header("idempotency-key", idempotency_key);
        json(request.send_json(body), path)
    }

    /// `POST` of CSV rows, streamed.
    pub(crate) fn upload(
        &self,
        path: &str,
        idempotency_key: &str,
        mut csv: impl Read,
    ) -> Result<Answer> {
        let request = self
            .agent
            .post(self.url(path))
            .header("idempotency-key", idempotency_key)
            .content_type("text/csv; charset=utf-8");
        json(request.send(SendBody::from_reader(&mut csv)), path)
    }

    /// `GET` of rows as CSV into a file, streamed; `watch` sees the bytes as they come.
    pub(crate) fn download(
        &self,
        path: &str,
        target: &Path,
        mut watch: impl FnMut(u64),
    ) -> Result<()> {
        let mut answer = self
            .agent
            .get(self.url(path))
            .header("accept", "text/csv")
            .call()?;
        if answer.status() != 200 {
            bail!("GET {path} answered {}", answer.status());
        }
        let mut file = File::create(target).with_context(|| target.display().to_string())?;
        let mut reader = answer.body_mut().as_reader();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let bytes = match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error).context("the download broke off"),
            };
            file.write_all(&buffer[..bytes])?;
            watch(bytes as u64);
        }
        Ok(())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

fn json(answer: Result<Response<Body>, ureq::Error>, path: &str) -> Result<Answer> {
    let mut answer = answer.with_context(|| format!("no answer from {path}"))?;
    let status = answer.status().as_u16();
    let body = answer
        .body_mut()
        .read_json()
        .with_context(|| format!("the answer of {path} (status {status}) is not JSON"))?;
    Ok(Answer { status, body })
}
