//! The `OpenAPI` document, the page that shows it, and the request bodies as callers write them.
//!
//! What is parsed from a body is richer than these types say (every default, every fault); they exist for the document.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{
    ContactBuilder, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, RefOr, ResponseBuilder,
    ServerBuilder,
};
use utoipa::{PartialSchema, ToSchema};
use utoipa_swagger_ui::{Config, SwaggerUi};
use uuid::Uuid;

use super::failures::COMPONENT;
use super::problem::{MEDIA_TYPE, ProblemBody};
use crate::declaration::{
    AttributeDeclaration, ClassificationDemand, ClusterSettings, Epsilon, Identifiers, Levels,
    LossDemand, Objective, Perturbation, PopulationDemand, Preset, PrivacyLoss, PrivacyModel,
    Recoding, Recommend, ReleaseChoice, ReportedMeasure, Representation, Role, RowOrder, Score,
    SearchMethod, SeriesDemand, SuppressedRows,
};
use crate::fault::Fault;
use crate::job::Partition;

/// Body of `POST /v1/jobs`: a search.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"dataset_id": "01890a5d-ac96-774b-bcce-b302099a8057",
    "privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.05,
    "search": {"method": "auto"}, "objectives": ["generalization_depth", "suppression"]}))]
pub(super) struct NewSearchJob {
    /// Dataset to work on.
    dataset_id: Uuid,
    #[serde(flatten)]
    demands: SearchDemands,
}

/// Demands on a search.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct SearchDemands {
    /// At least one model; every one must hold in every released class. Absent only where a preset or a perturbation of
    /// kind `safepub` brings its own.
    #[schema(required = false)]
    privacy: Vec<PrivacyModel>,
    /// Largest share of all input rows that may be suppressed, inclusive: a fraction, no percentage.
    #[schema(minimum = 0, maximum = 1)]
    suppression_limit: Option<f64>,
    /// How values are recoded.
    recoding: Option<Recoding>,
    /// How policies are searched.
    search: Option<SearchSettings>,
    /// What is minimised, one to four names.
    objectives: Option<Vec<Objective>>,
    /// How `loss` is computed.
    loss: Option<LossDemand>,
    /// Weight per quasi-identifier, positive.
    weights: Option<std::collections::BTreeMap<String, f64>>,
    /// The attribute that `classification` predicts, sensitive or insensitive.
    target: Option<String>,
    /// How `classification` is computed.
    classification: Option<ClassificationDemand>,
    /// What is known of the population that the rows come from, for figures of risk.
    risk: Option<PopulationDemand>,
    /// Measures to report of every solution beside those that always are.
    measures: Option<Vec<ReportedMeasure>>,
    /// Which solution of the front is recommended; default `first_objective`.
    recommend: Option<Recommend>,
    /// Release the recommended solution at once.
    release: Option<ReleaseChoice>,
    /// What released rows bear (`local`, `microaggregation`).
    representation: Option<Representation>,
    /// What a release of classes is for (`local`, `microaggregation`).
    preset: Option<Preset>,
    /// What chance does to the rows before anything else; absent: nothing.
    perturbation: Option<Perturbation>,
}

/// A search and its settings; settings that the method does not use are refused.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct SearchSettings {
    /// Which search.
    method: SearchMethod,
    /// Policies per generation (`nsga2`).
    population: Option<usize>,
    /// Generations (`nsga2`).
    generations: Option<usize>,
    /// Probability that a gene mutates (`nsga2`).
    mutation_probability: Option<f64>,
    /// Boxes by which a front is thinned out (`nsga2`): one side for every objective, or one by objective.
    epsilon: Option<Epsilon>,
    /// Seed of every random choice.
    seed: Option<u64>,
    /// Most distinct policies evaluated.
    max_evaluations: Option<u64>,
    /// Most seconds searched.
    max_seconds: Option<f64>,
    /// The policy of `fixed`.
    levels: Option<Levels>,
    /// How a step of a search of cuts is scored.
    score: Option<Score>,
    #[serde(flatten)]
    clusters: ClusterSettings,
}

/// Body of `POST /v1/series`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"dataset_id": "01890a5d-ac96-774b-bcce-b302099a8057", "name": "admissions, weekly",
    "privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.05}))]
pub(super) struct NewSeries {
    /// Dataset to follow.
    dataset_id: Uuid,
    /// A name, 1 to 200 characters.
    name: String,
    #[serde(flatten)]
    demand: SeriesDemand,
}

/// Body of `POST /v1/datasets/{dataset_id}/deletions`: one of the two.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"subjects": ["4711"]}))]
pub(super) struct NewDeletion {
    /// Subjects, all of whose rows are erased.
    subjects: Option<Vec<String>>,
    /// Value by column; rows that hold all of them are erased.
    rows_where: Option<std::collections::BTreeMap<String, String>>,
}

/// Body of `POST /v1/datasets/{dataset_id}/readers`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct NewReader {
    /// A name, 1 to 200 characters.
    name: String,
    /// X25519 public key, 64 hexadecimal digits.
    public_key: String,
    /// What it can open.
    partitions: Vec<Partition>,
}

/// Body of `POST /v1/releases`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct NewRelease {
    /// Job whose front holds the solution.
    job_id: Uuid,
    /// Which solution.
    solution_id: u32,
    /// Order of the rows; default `shuffled`.
    row_order: Option<RowOrder>,
    /// Columns to release; absent or null: all that may be released.
    columns: Option<Vec<String>>,
    /// What becomes of suppressed rows; default `omit`.
    suppressed_rows: Option<SuppressedRows>,
    /// What stands in the place of identifiers; default `omit`.
    identifiers: Option<Identifiers>,
    /// Who gets the release, 1 to 200 characters: tokens of two recipients have nothing in common.
    recipient: Option<String>,
    /// Whether all releases with this flag for the recipient share their tokens; default false.
    linkage: Option<bool>,
}

/// Parts of `POST /v1/anonymize`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct AnonymizeForm {
    /// Declaration and demands.
    task: AnonymizeTask,
    /// The rows; the part's `Content-Type` (or `data.format` of the task) says how they are written.
    #[schema(value_type = String, format = Binary)]
    data: Vec<u8>,
}

/// A dataset declaration and demands on a search, without ids.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct AnonymizeTask {
    /// Name of the dataset.
    name: String,
    /// Its columns.
    attributes: Vec<AttributeDeclaration>,
    /// Role of columns that name none.
    default_role: Option<Role>,
    /// What perturbed jobs may spend of privacy, all together.
    privacy_budget: Option<PrivacyLoss>,
    #[serde(flatten)]
    demands: SearchDemands,
    /// How the `data` part is written, where its `Content-Type` does not say.
    data: Option<DataDescription>,
}

/// How rows are written.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct DataDescription {
    /// `csv`, `json` or `ndjson`.
    format: Option<String>,
    /// One ASCII character, or `tab`.
    delimiter: Option<String>,
    /// Character encoding.
    charset: Option<String>,
}

static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| super::openapi().to_json().unwrap_or_default());

/// `/openapi.json`, and `/docs` with everything it needs in the binary.
pub(super) fn pages() -> axum::Router {
    let document = || async {
        let content_type = [(header::CONTENT_TYPE, "application/json")];
        (content_type, DOCUMENT.as_str()).into_response()
    };
    let page = SwaggerUi::new("/docs").config(Config::from("/openapi.json"));
    axum::Router::new()
        .route("/openapi.json", get(document))
        .merge(page)
}

/// Completes the document that the routes yield.
pub(super) fn describe(mut openapi: OpenApi) -> OpenApi {
    openapi.info = InfoBuilder::new()
        .title("Kindred")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Anonymizes tables for hospitals: certified Pareto fronts of policies, verified releases, crash-safe jobs. \
             Every failure is `application/problem+json` with a stable `code` and all faults found at once.",
        ))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").identifier(Some("Apache-2.0")).build()))
        .contact(Some(ContactBuilder::new().url(Some(env!("CARGO_PKG_REPOSITORY"))).build()))
        .build();
    let server = ServerBuilder::new()
        .url("/")
        .description(Some("This server"));
    openapi.servers = Some(vec![server.build()]);
    let tags = [
        ("datasets", "Declare tables, append rows, measure."),
        ("hierarchies", "See and replace how values are generalised."),
        ("jobs", "Search policies in the background; read fronts."),
        (
            "series",
            "Keep one policy up to date over a growing dataset.",
        ),
        ("releases", "Make, inspect and download verified releases."),
        (
            "readers",
            "Let holders of keys of their own open stored partitions.",
        ),
        ("operations", "Health, readiness, metrics."),
    ];
    let tags =
        tags.map(|(name, says)| TagBuilder::new().name(name).description(Some(says)).build());
    openapi.tags = Some(tags.into());
    let problem = ResponseBuilder::new()
        .description("What went wrong (RFC 9457), all faults at once")
        .content(
            MEDIA_TYPE,
            ContentBuilder::new()
                .schema(Some(ProblemBody::schema()))
                .build(),
        )
        .build();
    let components = openapi.components.get_or_insert_default();
    components
        .responses
        .insert(COMPONENT.to_owned(), RefOr::T(problem));
    let mut schemas = Vec::new();
    ProblemBody::schemas(&mut schemas);
    schemas.push((Fault::name().into_owned(), Fault::schema()));
    components.schemas.extend(schemas);
    openapi
}
