//! The log, the metrics recorder and what a panic may say.
//!
//! The log goes to standard error: JSON lines unless a terminal reads them. A panic is logged by its place alone: its
//! message may hold a cell value (`unwrap` prints what it was given).

use std::io::IsTerminal;

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Bounds of every duration histogram, in seconds.
const SECONDS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3600.0,
];

/// Sets up the log of the process and the panic hook. A second call changes nothing but the hook.
pub fn init(log: &Log) {
    let is_json = match log.format {
        LogFormat::Auto => !std::io::stderr().is_terminal(),
        LogFormat::Json => true,
        LogFormat::Text => false,
    };
    // The configuration has checked the filter.
    let mut filter = EnvFilter::try_new(&log.filter).unwrap_or_else(|_| EnvFilter::new("info"));
    // It warns of every connection that a stopping private server has closed.
    if let Ok(quiet) = "sqlx_core::pool::connection=error".parse() {
        filter = filter.add_directive(quiet);
    }
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Fails only if a subscriber is set already, as in tests that share a process.
    let _ = if is_json {
        builder.json().flatten_event(true).try_init()
    } else {
        builder
            .with_ansi(std::io::stderr().is_terminal())
            .try_init()
    };
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, ToString::to_string);
        let thread = std::thread::current();
        tracing::error!(
            place,
            thread = thread.name().unwrap_or_default(),
            "panicked; the message is left out because it may hold data"
        );
    }));
}

/// An error with its causes, on one line: what stands in a log where an error ends.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Installs the metrics recorder of the process and gives what renders it; within one process, always the same.
///
/// # Errors
/// Another recorder is installed.
pub fn metrics() -> Result<PrometheusHandle, BuildError> {
    static HANDLE: std::sync::Mutex<Option<PrometheusHandle>> = std::sync::Mutex::new(None);
    let mut handle = HANDLE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(handle) = &*handle {
        return Ok(handle.clone());
    }
    let installed = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .install_recorder()?;
    *handle = Some(installed.clone());
    Ok(installed)
}
