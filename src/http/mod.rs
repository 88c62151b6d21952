//! The HTTP interface. Never knows the worker: they meet in the job table.
//!
//! A handler extracts, parses, makes one call to the store and answers. Whatever goes wrong becomes a
//! [`problem::Problem`]. Views are separate from what is stored, so the contract changes only where it is written.

mod anonymize;
mod attacks;
mod batches;
mod body;
mod budget;
mod changes;
mod compare;
mod datasets;
mod deletions;
mod documents;
mod extract;
mod failures;
mod fronts;
mod growth;
mod hierarchies;
mod jobs;
mod layers;
mod measure;
mod negotiate;
mod once;
mod operations;
mod populations;
mod problem;
mod query;
mod readers;
mod receive;
mod releases;
mod series;
mod submission;
mod task;
mod utility;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::Config;
use crate::pool::CpuPool;
use crate::store::Store;
use changes::Changes;

/// What the handlers need.
#[derive(Debug, Clone)]
pub struct Services {
    /// Everything durable.
    pub store: Store,
    /// For measurements and releases.
    pub pool: CpuPool,
    /// Limits.
    pub config: Arc<Config>,
    /// Ends long-polls and event streams when the process stops.
    pub shutdown: CancellationToken,
    /// Renders `/metrics`.
    pub metrics: metrics_exporter_prometheus::PrometheusHandle,
}

/// The state behind the routes.
#[derive(Debug, Clone)]
struct App {
    services: Services,
    changes: Changes,
    uploads: Arc<Semaphore>,
}

/// Requests that are answered within the configured time.
fn brief() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(operations::healthz))
        .routes(routes!(operations::readyz))
        .routes(routes!(operations::metrics))
        .routes(routes!(datasets::create_dataset, datasets::list_datasets))
        .routes(routes!(datasets::read_dataset, datasets::delete_dataset))
        .routes(routes!(budget::read_budget))
        .routes(routes!(
            hierarchies::preview_hierarchy,
            hierarchies::replace_hierarchy
        ))
        .routes(routes!(batches::list_batches))
        .routes(routes!(jobs::submit_job, jobs::list_jobs))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(fronts::read_front))
        .routes(routes!(fronts::read_certificate))
        .routes(routes!(utility::submit_utility, utility::read_utility))
        .routes(routes!(compare::read_comparison))
        .routes(routes!(releases::list_releases))
        .routes(routes!(readers::create_reader, readers::list_readers))
        .routes(routes!(readers::read_reader, readers::delete_reader))
        .routes(routes!(series::create_series, series::list_series))
        .routes(routes!(series::read_series))
        .routes(routes!(series::list_series_releases))
}

/// Requests that last as long as the data or the caller's patience: uploads, downloads, long-polls, event streams and
/// what reads a whole dataset.
fn lasting() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(batches::append_batch))
        .routes(routes!(growth::grow_hierarchy))
        .routes(routes!(measure::measure_dataset))
        .routes(routes!(jobs::read_job))
        .routes(routes!(watch::watch_job))
        .routes(routes!(releases::create_release))
        .routes(routes!(deletions::delete_rows, deletions::list_deletions))
        .routes(routes!(releases::read_release))
        .routes(routes!(releases::read_counterfeits))
        .routes(routes!(releases::download_release))
        .routes(routes!(attacks::attack_release))
        .routes(routes!(readers::download_partition))
        .routes(routes!(anonymize::anonymize))
}

/// The routes, with every layer.
pub fn router(services: Services) -> axum::Router {
    let server = &services.config.server;
    let limit = Duration::from_secs(server.request_timeout_seconds);
    let app = App {
        changes: Changes::new(services.store.clone(), services.shutdown.clone()),
        uploads: Arc::new(Semaphore::new(server.max_uploads)),
        services,
    };
    let brief = brief().route_layer(from_fn_with_state(limit, layers::time_out));
    let (routes, _) = lasting().merge(brief).split_for_parts();
    routes
        .with_state(app)
        .merge(documents::pages())
        .fallback(layers::unknown_path)
        .method_not_allowed_fallback(layers::wrong_method)
        // Bodies are counted where they are read: one limit, one answer.
        .layer(DefaultBodyLimit::disable())
        .layer(CatchPanicLayer::custom(layers::panicked))
        .layer(from_fn(layers::observe))
}

/// The `OpenAPI` document, sorted, as committed in `openapi/openapi.json`.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    documents::describe(lasting().merge(brief()).into_openapi())
}
