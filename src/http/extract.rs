//! What handlers take from a request: ids, query parameters, JSON bodies, idempotency keys.
//!
//! Every refusal is a [`Problem`], and query parameters are read like bodies: all faults at once, unknown names
//! refused. A JSON POST whose key was answered before never reaches its handler: [`Posted`] gives the first answer.

use axum::body::{Body, Bytes};
use axum::extract::{FromRef, FromRequest, FromRequestParts, Path, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use uuid::Uuid;

use super::App;
use super::body::{self, Limited};
use super::once::{Key, Refusal, refuse_answered};
use super::problem::{Code, Problem};
use super::query::{Nothing, Query};
use crate::fault::{Fault, FaultCode};
use crate::job::Once;
use crate::store::Store;

/// The id in a path; what is no UUID names nothing, so it is 404.
#[derive(Debug, Clone, Copy)]
pub(super) struct Id(pub(super) Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let named = RawPathParams::from_request_parts(parts, state).await;
        let named = named.map_err(|_| Problem::not_found("resource"))?;
        let Some((name, text)) = named.iter().next() else {
            return Err(Problem::not_found("resource"));
        };
        let what = name.strip_suffix("_id").unwrap_or(name);
        let id = Uuid::try_parse(text).map_err(|_| Problem::not_found(what))?;
        Ok(Self(id))
    }
}

/// A dataset's id and an attribute's name in a path.
#[derive(Debug, Clone)]
pub(super) struct AttributePath {
    /// The dataset.
    pub(super) dataset_id: Uuid,
    /// Name of the attribute, decoded.
    pub(super) attribute: String,
}

impl<S: Send + Sync> FromRequestParts<S> for AttributePath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let both = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((id, attribute)) = both.map_err(|_| Problem::not_found("resource"))?;
        let dataset_id = Uuid::try_parse(&id).map_err(|_| Problem::not_found("dataset"))?;
        Ok(Self {
            dataset_id,
            attribute,
        })
    }
}

/// A JSON body with the key of the request; the request was not answered before.
#[derive(Debug)]
pub(super) struct Posted {
    /// The body.
    pub(super) body: Value,
    /// The key, if there is one.
    pub(super) once: Option<Once>,
}

impl FromRequest<App> for Posted {
    type Rejection = Refusal;

    async fn from_request(request: Request, app: &App) -> Result<Self, Refusal> {
        let (parts, body) = request.into_parts();
        Query::<Nothing>::of(&parts.uri)?;
        let key = Key::of(&parts.headers, &parts.method, &parts.uri)?;
        let bytes = read_json(&parts, body, app).await?;
        let once = key.map(|key| key.over(&[&bytes]));
        if let Some(once) = &once {
            refuse_answered(&Store::from_ref(app), once).await?;
        }
        Ok(Self {
            body: parse_json(&bytes)?,
            once,
        })
    }
}

/// A JSON body of a request that is repeatable by nature (PUT).
#[derive(Debug)]
pub(super) struct Put(pub(super) Value);

impl FromRequest<App> for Put {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        Query::<Nothing>::of(&parts.uri)?;
        parse_json(&read_json(&parts, body, app).await?).map(Self)
    }
}

async fn read_json(parts: &Parts, body: Body, app: &App) -> Result<Bytes, Problem> {
    require_json(&parts.headers)?;
    body::refuse_compressed(&parts.headers)?;
    let limit = app.services.config.server.request_limit_bytes;
    Limited::new(&parts.headers, body, limit)?.read().await
}

impl FromRef<App> for Store {
    fn from_ref(app: &App) -> Self {
        app.services.store.clone()
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let essence = body::essence(headers.get(header::CONTENT_TYPE));
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    Err(Problem::new(
        Code::UnsupportedMediaType,
        "this request takes `Content-Type: application/json`",
    ))
}

/// Parses a JSON body; a fault names line and column. A field that stands twice in an object is refused: of two demands
/// one would be ignored.
pub(super) fn parse_json(bytes: &Bytes) -> Result<Value, Problem> {
    let parsed = serde_json::from_slice::<Unrepeated>(bytes);
    parsed.map(|Unrepeated(value)| value).map_err(|error| {
        // The parser's own words can quote the body ("invalid type: string ..."); positions cannot.
        let (line, column) = (error.line() as u64, error.column());
        let what = if error.is_data() {
            "a field stands twice in an object"
        } else {
            "not valid JSON"
        };
        let detail = format!("{what} at line {line}, column {column}");
        Problem::fault(Fault::at("", FaultCode::MalformedJson, detail).line(line))
    })
}

/// A JSON value whose objects have no field twice.
struct Unrepeated(Value);

impl<'de> Deserialize<'de> for Unrepeated {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnrepeatedVisitor).map(Self)
    }
}

struct UnrepeatedVisitor;

impl<'de> Visitor<'de> for UnrepeatedVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Unrepeated(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((name, Unrepeated(value))) = fields.next_entry::<String, _>()? {
            if object.insert(name, value).is_some() {
                return Err(serde::de::Error::custom("a field stands twice"));
            }
        }
        Ok(Value::Object(object))
    }
}
