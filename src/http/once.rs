//! Repetition: the key of a request, what it was asked for, and the answer that is given again.

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::problem::Problem;
use crate::fault::{Fault, FaultCode};
use crate::job::{Answer, Once};
use crate::store::Store;

/// Most characters of an `Idempotency-Key`.
const KEY_CHARACTERS: usize = 255;

/// The key of a repeatable request and the digest of what it asks, still open for the body.
#[derive(Debug, Clone)]
pub(super) struct Key {
    key: String,
    digest: Sha256,
}

impl Key {
    /// The request's key, if it bears one.
    pub(super) fn of(
        headers: &HeaderMap,
        method: &Method,
        uri: &Uri,
    ) -> Result<Option<Self>, Problem> {
        let Some(value) = headers.get("idempotency-key") else {
            return Ok(None);
        };
        let key = std::str::from_utf8(value.as_bytes()).unwrap_or_default();
        let characters = key.chars().count();
        if !(1..=KEY_CHARACTERS).contains(&characters) || key.contains('\0') {
            let detail =
                format!("`Idempotency-Key` must be 1 to {KEY_CHARACTERS} characters of UTF-8");
            let pointer = "/headers/idempotency-key";
            return Err(Problem::fault(Fault::at(
                pointer,
                FaultCode::OutOfRange,
                detail,
            )));
        }
        let target = uri
            .path_and_query()
            .map_or(uri.path(), |both| both.as_str());
        let mut digest = Sha256::new();
        for part in [method.as_str(), target] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part.as_bytes());
        }
        Ok(Some(Self {
            key: key.to_owned(),
            digest,
        }))
    }

    /// Closes the digest over what stands for the body.
    pub(super) fn over(mut self, parts: &[&[u8]]) -> Once {
        for part in parts {
            self.digest.update((part.len() as u64).to_be_bytes());
            self.digest.update(part);
        }
        Once {
            key: self.key,
            fingerprint: self.digest.finalize().into(),
        }
    }
}

/// Ends a request that was answered before with its first answer.
pub(super) async fn refuse_answered(store: &Store, once: &Once) -> Result<(), Refusal> {
    match store.earlier_answer(once).await? {
        None => Ok(()),
        Some(answer) => Err(Refusal::Answered(answer)),
    }
}

/// Why a handler does not run: a failure, or the first answer again.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The request cannot be served.
    Problem(Box<Problem>),
    /// It was served before.
    Answered(Answer),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

impl From<crate::store::Error> for Refusal {
    fn from(error: crate::store::Error) -> Self {
        Problem::from(error).into()
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::Problem(problem) => problem.into_response(),
            Self::Answered(answer) => Answered(answer).into_response(),
        }
    }
}

/// An answer that can be given again word for word, as a response.
#[derive(Debug)]
pub(super) struct Answered(pub(super) Answer);

impl IntoResponse for Answered {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::OK);
        let mut response = (status, axum::Json(self.0.body)).into_response();
        if let Some(location) = self
            .0
            .location
            .and_then(|to| HeaderValue::try_from(to).ok())
        {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}

/// An answer with a body that serializes.
pub(super) fn answer<T: serde::Serialize>(
    status: StatusCode,
    location: Option<String>,
    view: &T,
) -> Answer {
    Answer {
        status: status.as_u16(),
        location,
        body: serde_json::to_value(view).unwrap_or(Value::Null),
    }
}
