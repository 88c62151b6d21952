//! Attacks on a release: what someone who knows people in it finds out.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::batches::content_type;
use super::body::{self, Limited};
use super::extract::{Id, parse_json};
use super::failures::WriteFailures;
use super::once::{Answered, Key, Refusal, answer, refuse_answered};
use super::problem::{Code, Problem};
use super::query::{FromQuery, Nothing, Parameters, Query};
use super::receive::{Written, take_delimiter};
use crate::anonymize::attack::report::AttackReport;
use crate::attacks::{self, Known};
use crate::declaration::AttackDemand;
use crate::ingest::Format;

/// Body of `POST /v1/releases/{release_id}/attacks`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
#[schema(example = json!({"subsets_up_to": 2, "noise": true,
    "undeclared": {"columns": ["ward"], "limit": 0.01}}))]
pub(super) struct NewAttack {
    /// Thresholds of linkage; default 0.05, 0.1, 0.2, 0.33, 0.5.
    taus: Option<Vec<f64>>,
    /// Sets of known quasi-identifiers up to this size are tried, and all; default 3.
    #[schema(minimum = 1, maximum = 3)]
    subsets_up_to: Option<usize>,
    /// Whether to try numbers known up to an error of 1; default false.
    noise: Option<bool>,
    /// Columns that are no declared quasi-identifiers and could single people out.
    undeclared: Option<UndeclaredColumns>,
    /// Known people; absent: the rows of the dataset.
    auxiliary: Option<AuxiliaryRows>,
}

/// Columns to look at.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct UndeclaredColumns {
    /// Names; default: all released ones that are no quasi-identifiers.
    columns: Option<Vec<String>>,
    /// Share of rows singled out above which a column is flagged; default 0.05.
    #[schema(minimum = 0, maximum = 1)]
    limit: Option<f64>,
}

/// Known people.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document's derive only")]
pub(super) struct AuxiliaryRows {
    /// Raw values by attribute: quasi-identifiers, sensitive values where known, the subject where known.
    rows: Vec<serde_json::Map<String, Value>>,
}

/// What attacks on a release found.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AttackView {
    /// The release.
    release_id: Uuid,
    #[serde(flatten)]
    report: AttackReport,
}

/// Parameters of an uploaded auxiliary file.
#[derive(Debug)]
struct FileQuery {
    delimiter: Option<u8>,
    charset: Option<String>,
    demand: AttackDemand,
}

impl FromQuery for FileQuery {
    const NAMES: &'static [&'static str] = &[
        "delimiter",
        "charset",
        "taus",
        "subsets_up_to",
        "noise",
        "undeclared",
        "limit",
    ];

    fn take(parameters: &mut Parameters) -> Self {
        let delimiter = take_delimiter(parameters);
        let charset = parameters.text("charset");
        let demand = demand(parameters);
        Self {
            delimiter,
            charset,
            demand,
        }
    }
}

/// The demand that parameters stand for, read as a body.
fn demand(parameters: &mut Parameters) -> AttackDemand {
    let number = |text: String| match serde_json::from_str::<Number>(&text) {
        Ok(number) => Value::Number(number),
        Err(_) => Value::String(text),
    };
    let mut fields = Map::new();
    let taus = parameters.texts("taus");
    let taus: Vec<Value> = taus
        .iter()
        .flat_map(|list| list.split(','))
        .map(|tau| number(tau.to_owned()))
        .collect();
    if !taus.is_empty() {
        fields.insert("taus".to_owned(), Value::Array(taus));
    }
    let subsets = parameters.text("subsets_up_to").map(number);
    fields.extend(subsets.map(|subsets| ("subsets_up_to".to_owned(), subsets)));
    fields.insert("noise".to_owned(), parameters.flag("noise").into());
    let columns = parameters.texts("undeclared");
    let limit = parameters.text("limit").map(number);
    let mut undeclared = Map::new();
    if !columns.is_empty() {
        undeclared.insert("columns".to_owned(), columns.into());
    }
    undeclared.extend(limit.map(|limit| ("limit".to_owned(), limit)));
    if !undeclared.is_empty() {
        fields.insert("undeclared".to_owned(), Value::Object(undeclared));
    }
    match AttackDemand::parse(&Value::Object(fields)) {
        Ok((demand, _)) => demand,
        Err(faults) => {
            parameters.refuse_fields(faults);
            AttackDemand::default()
        }
    }
}

/// Attacks a release.
///
/// Linkage by class size, homogeneity, skewness, a linkage simulation with an auxiliary file (or with the dataset's own
/// rows) by what is known, and undeclared columns that single people out. With `application/json` the body is the
/// demand, which may hold the people; with `text/csv` or `application/x-ndjson` the body is the auxiliary file and the
/// demand stands in the query. Columns go by the names of attributes. The answer holds aggregates over at least k people,
/// in steps of k, and no cell value; a file of fewer than k different people is `422 too_few_records`. Nothing of the file
/// is stored. Repeating the same `Idempotency-Key` gives the first answer again.
#[utoipa::path(post, path = "/v1/releases/{release_id}/attacks", tag = "releases",
    params(("release_id" = Uuid, Path, description = "The release"),
        ("Idempotency-Key" = Option<String>, Header, description = "Any string up to 255 characters"),
        ("delimiter" = Option<String>, Query, description = "Between the fields of a CSV: one ASCII character, or `tab`; default `,`"),
        ("charset" = Option<String>, Query, description = "Character encoding, if `Content-Type` names none; default UTF-8"),
        ("taus" = Option<String>, Query, description = "With a file: thresholds, separated by commas"),
        ("subsets_up_to" = Option<u32>, Query, minimum = 1, maximum = 3, description = "With a file: as in the body"),
        ("noise" = Option<bool>, Query, description = "With a file: as in the body"),
        ("undeclared" = Option<String>, Query, description = "With a file: a column; may stand many times"),
        ("limit" = Option<f64>, Query, minimum = 0, maximum = 1, description = "With a file: as in the body")),
    request_body(description = "The demand, or an auxiliary file", content(
        (NewAttack = "application/json"),
        (String = "text/csv", example = "age,sex\n34,F\n51,M\n"),
        (String = "application/x-ndjson", example = "{\"age\": 34, \"sex\": \"F\"}\n"))),
    responses((status = 200, body = AttackView, description = "What they found"), WriteFailures))]
pub(super) async fn attack_release(
    State(app): State<App>,
    Id(release_id): Id,
    request: Request,
) -> Result<Answered, Refusal> {
    let (parts, body) = request.into_parts();
    let key = Key::of(&parts.headers, &parts.method, &parts.uri)?;
    let (demand, known, bytes) = read(&app, &parts, body).await?;
    let content_type = content_type(&parts.headers);
    let once = key.map(|key| key.over(&[content_type.as_bytes(), &bytes]));
    if let Some(once) = &once {
        refuse_answered(&app.services.store, once).await?;
    }
    let (store, pool) = (&app.services.store, &app.services.pool);
    let (dataset_id, report) = attacks::attack(store, pool, release_id, demand, known)
        .await
        .map_err(Problem::from)?;
    let answer = answer(StatusCode::OK, None, &AttackView { release_id, report });
    Ok(Answered(match &once {
        Some(once) => store.remember_answer(once, dataset_id, &answer).await?,
        None => answer,
    }))
}

/// The demand, the people and the body.
async fn read(
    app: &App,
    parts: &Parts,
    body: Body,
) -> Result<(AttackDemand, Option<Known>, Bytes), Problem> {
    let essence = body::essence(parts.headers.get(header::CONTENT_TYPE));
    let is_demand = essence == "application/json" || essence.ends_with("+json");
    body::refuse_compressed(&parts.headers)?;
    let limit = app.services.config.server.request_limit_bytes;
    if is_demand {
        Query::<Nothing>::of(&parts.uri)?;
        let bytes = Limited::new(&parts.headers, body, limit)?.read().await?;
        let (demand, rows) = AttackDemand::parse(&parse_json(&bytes)?).map_err(Problem::faults)?;
        let known = rows.map(|rows| Known {
            bytes: rows.to_string().into_bytes().into(),
            format: Format::Json,
            charset: None,
            pointer: "/auxiliary/rows",
        });
        return Ok((demand, known, bytes));
    }
    let Query(query) = Query::<FileQuery>::of(&parts.uri)?;
    let written = Written::of(
        content_type(&parts.headers),
        query.delimiter,
        query.charset.as_deref(),
    )
    .map_err(|problem| wrong_form(problem, &essence))?;
    let bytes = Limited::new(&parts.headers, body, limit)?.read().await?;
    let known = Known {
        bytes: Arc::from(&bytes[..]),
        format: written.format,
        charset: written.charset,
        pointer: "",
    };
    Ok((query.demand, Some(known), bytes))
}

fn wrong_form(problem: Problem, essence: &str) -> Problem {
    if matches!(essence, "text/csv" | "application/x-ndjson") {
        return problem;
    }
    let detail = "this request takes a demand in `application/json`, or an auxiliary file in `text/csv` or `application/x-ndjson`";
    Problem::new(Code::UnsupportedMediaType, detail)
}

impl From<attacks::Error> for Problem {
    fn from(error: attacks::Error) -> Self {
        use attacks::Error;
        match error {
            Error::Faults(faults) => Self::faults(faults),
            Error::TooManyRecords => {
                let most = attacks::MOST_RECORDS;
                let detail = format!("the limit is {most} records of an auxiliary file");
                Self::new(Code::BodyTooLarge, detail)
            }
            Error::Release(error) => error.into(),
            Error::Store(error) => error.into(),
            Error::Panicked(error) => error.into(),
        }
    }
}
