//! Failures as callers see them: one [`Problem`] document (RFC 9457) for whatever goes wrong.
//!
//! A handler returns a [`Problem`]; it travels in the extensions of an otherwise empty response to the request layer,
//! which adds the request id, writes the body and logs the source of a 5xx once. So a failure that is not a handler's
//! (an unknown path, a time-out, a panic) becomes the same document on the same way. Sources never reach a body.

use std::error::Error as StdError;
use std::sync::Arc;

use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use crate::fault::{Fault, FaultCode};
use crate::{pool, publish, store};

/// Media type of every failure.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";

/// Declares [`Code`]: one row per failure.
macro_rules! codes {
    ($($variant:ident = $slug:literal, $status:ident, $title:literal;)*) => {
        /// The stable slug of a failure that is no fault of a field, with its status and title.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Code { $($variant,)* }

        impl Code {
            /// Every code.
            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// The slug, as in `code`.
            pub(super) const fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug,)* }
            }
            /// The HTTP status.
            pub(super) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }
            /// What it is, the same for every occurrence.
            pub(super) const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    ValidationFailed = "validation_failed", UNPROCESSABLE_ENTITY, "The request has faults";
    MalformedJson = "malformed_json", BAD_REQUEST, "The body is not valid JSON";
    MalformedBody = "malformed_body", BAD_REQUEST, "The body could not be read";
    MalformedMultipart = "malformed_multipart", BAD_REQUEST, "The body is not a valid multipart form";
    PartitionWithheld = "partition_withheld", FORBIDDEN, "The partition is given to no reader";
    PartitionNotGranted = "partition_not_granted", FORBIDDEN, "No reader was granted the partition";
    NotFound = "not_found", NOT_FOUND, "There is no such thing";
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "The path does not take this method";
    NotAcceptable = "not_acceptable", NOT_ACCEPTABLE, "The answer has no such form";
    UploadStalled = "upload_stalled", REQUEST_TIMEOUT, "The body stopped coming";
    DuplicateBatch = "duplicate_batch", CONFLICT, "The same content is already a batch";
    DatasetChanged = "dataset_changed", CONFLICT, "The dataset changed while the request ran";
    JobFinished = "job_finished", CONFLICT, "The job has ended";
    FrontNotReady = "front_not_ready", CONFLICT, "The job has no front";
    ReportNotReady = "report_not_ready", CONFLICT, "The job has no such report";
    PopulationGone = "population_gone", CONFLICT, "A population is not there any more";
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE, "The body is larger than the limit";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body has a form that is not taken here";
    UnsupportedCharset = "unsupported_charset", UNSUPPORTED_MEDIA_TYPE, "The character encoding is not known";
    UnsupportedEncoding = "unsupported_content_encoding", UNSUPPORTED_MEDIA_TYPE, "The body must not be compressed";
    KeyReused = "idempotency_key_reused", UNPROCESSABLE_ENTITY, "The idempotency key belongs to another request";
    InvalidCursor = "invalid_cursor", UNPROCESSABLE_ENTITY, "The cursor is not one of this list";
    VerificationFailed = "verification_failed", INTERNAL_SERVER_ERROR, "The release failed its verification";
    Internal = "internal", INTERNAL_SERVER_ERROR, "The service failed";
    BacklogFull = "backlog_full", SERVICE_UNAVAILABLE, "Too many jobs are queued";
    Busy = "busy", SERVICE_UNAVAILABLE, "The service is busy";
    TimedOut = "timed_out", SERVICE_UNAVAILABLE, "The request took too long";
    NotReady = "not_ready", SERVICE_UNAVAILABLE, "The service is not ready";
}

/// A failure: what the body says, and what only the log says.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    slug: String,
    status: StatusCode,
    title: &'static str,
    detail: String,
    errors: Vec<Fault>,
    retry_after_seconds: Option<u32>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The body of every failure (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemBody<'a> {
    /// Stable URI of the kind of failure.
    #[schema(example = "urn:kindred:problem:validation_failed")]
    r#type: String,
    /// What it is, the same for every occurrence.
    title: &'a str,
    /// HTTP status.
    #[schema(example = 422)]
    status: u16,
    /// What happened this time.
    detail: &'a str,
    /// Stable slug; clients branch on it. Where all `errors` share one code, that code.
    #[schema(example = "validation_failed")]
    code: &'a str,
    /// The same as the `x-request-id` header; the log knows it.
    request_id: &'a str,
    /// All faults found at once; empty where the failure is not about a field.
    errors: &'a [Fault],
}

impl Problem {
    /// A failure without faults of fields.
    pub(super) fn new(code: Code, detail: impl Into<String>) -> Self {
        let retry_after_seconds = match code {
            Code::BacklogFull => Some(10),
            Code::Busy | Code::NotReady | Code::TimedOut => Some(2),
            _ => None,
        };
        Self {
            slug: code.slug().to_owned(),
            status: code.status(),
            title: code.title(),
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_seconds,
            source: None,
        }
    }

    /// The faults of a request, all at once: 400 if it is no JSON, else 422.
    pub(super) fn faults(errors: Vec<Fault>) -> Self {
        let malformed = errors
            .iter()
            .any(|fault| fault.code == FaultCode::MalformedJson);
        let code = if malformed {
            Code::MalformedJson
        } else {
            Code::ValidationFailed
        };
        let mut problem = Self::new(code, "");
        problem.detail = match errors.as_slice() {
            [only] => only.detail.clone(),
            many => format!("{} faults were found; `errors` lists them", many.len()),
        };
        if let Some(first) = errors.first() {
            let same = errors.iter().all(|fault| fault.code == first.code);
            if same && !malformed {
                problem.slug = first.code.slug();
            }
        }
        problem.errors = errors;
        problem
    }

    /// One fault.
    pub(super) fn fault(fault: Fault) -> Self {
        Self::faults(vec![fault])
    }

    /// There is no such thing.
    pub(super) fn not_found(what: &str) -> Self {
        Self::new(Code::NotFound, format!("there is no such {what}"))
    }

    /// The service failed; `source` goes to the log alone.
    pub(super) fn internal(source: impl StdError + Send + Sync + 'static) -> Self {
        Self::new(
            Code::Internal,
            "the service failed; the request id leads to the log entry",
        )
        .because(source)
    }

    /// Gives the log the source.
    pub(super) fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// The slug, for the log.
    pub(super) fn slug(&self) -> &str {
        &self.slug
    }

    /// The failure's source with all of its sources, for the log.
    pub(super) fn chain(&self) -> Option<String> {
        let mut next: Option<&dyn StdError> = self.source.as_deref().map(|source| source as _);
        let mut chain = Vec::new();
        while let Some(error) = next {
            chain.push(error.to_string());
            next = error.source();
        }
        (!chain.is_empty()).then(|| chain.join(": "))
    }

    /// The body.
    pub(super) fn body(&self, request_id: &str) -> Vec<u8> {
        let body = ProblemBody {
            r#type: format!("urn:kindred:problem:{}", self.slug),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            code: &self.slug,
            request_id,
            errors: &self.errors,
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> axum::response::Response {
        let mut response = Response::new(axum::body::Body::empty());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(Arc::new(self));
        response
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        use store::Error;
        match error {
            Error::NotFound("population") => Self::new(
                Code::PopulationGone,
                "a dataset that holds a population was deleted: what the job compared with is not there any more",
            ),
            Error::NotFound(what) => Self::not_found(what),
            Error::DuplicateBatch { batch_id, sequence } => Self::new(
                Code::DuplicateBatch,
                format!(
                    "the same content is already batch {sequence} ({batch_id}); `?allow_duplicate=true` adds it again"
                ),
            ),
            Error::KeyReused => Self::new(
                Code::KeyReused,
                "this `Idempotency-Key` was used for another request; take a new key",
            ),
            Error::DatasetChanged => Self::new(
                Code::DatasetChanged,
                "the dataset changed while the request ran, or rows were erased since the search; nothing was stored",
            ),
            Error::BacklogFull { queued } => Self::new(
                Code::BacklogFull,
                format!("{queued} jobs are queued; try again later"),
            ),
            Error::BudgetExceeded { left } => {
                let detail = format!(
                    "the dataset's privacy budget has epsilon {} and delta {} left, which is less than the job would spend",
                    left.epsilon, left.delta
                );
                let code = FaultCode::PrivacyBudgetExceeded;
                Self::fault(Fault::at("/perturbation", code, detail))
            }
            Error::JobFinished => Self::new(
                Code::JobFinished,
                "the job has ended; there is nothing to cancel",
            ),
            Error::FrontNotReady => Self::new(
                Code::FrontNotReady,
                "the job has no front: it is not finished, or it failed or was cancelled",
            ),
            Error::ReportNotReady => Self::new(
                Code::ReportNotReady,
                "the job has no such report: it is not finished, is of another kind, failed or was cancelled, or ended with a reason",
            ),
            Error::InvalidCursor => Self::new(
                Code::InvalidCursor,
                "`cursor` must be the `next_cursor` of an earlier page of the same list",
            ),
            Error::Busy => Self::new(
                Code::Busy,
                "no database connection became free in time; try again",
            ),
            broken @ (Error::LeaseLost
            | Error::Unplaced { .. }
            | Error::Sealed(_)
            | Error::Form(_)
            | Error::Database { .. }) => Self::internal(broken),
        }
    }
}

impl From<pool::Panicked> for Problem {
    fn from(panicked: pool::Panicked) -> Self {
        Self::internal(panicked)
    }
}

impl From<publish::Error> for Problem {
    fn from(error: publish::Error) -> Self {
        use publish::Error;
        match error {
            Error::Verification(failure) => Self::new(
                Code::VerificationFailed,
                "the rendered rows did not pass the independent check; nothing was stored",
            )
            .because(failure),
            Error::Faults(faults) => Self::faults(faults),
            Error::Store(error) => error.into(),
            broken @ (Error::Render(_) | Error::Panicked(_)) => Self::internal(broken),
        }
    }
}

impl From<crate::anonymize::Error> for Problem {
    fn from(error: crate::anonymize::Error) -> Self {
        use crate::anonymize::Error;
        let detail = error.to_string();
        let (pointer, code, column) = match error {
            Error::Uncovered { column, .. } | Error::PopulationUncovered { column, .. } => {
                ("", FaultCode::HierarchyMissingValues, Some(column))
            }
            Error::MethodWithoutCuts | Error::MethodOfClasses | Error::PartitionMissing => {
                ("/search/method", FaultCode::NotSupported, None)
            }
            Error::SearchSpaceTooLarge { .. } => {
                ("/search/method", FaultCode::SearchSpaceTooLarge, None)
            }
        };
        let mut fault = Fault::at(pointer, code, detail);
        fault.column = column;
        Self::fault(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(problem: &Problem) -> serde_json::Value {
        serde_json::from_slice(&problem.body("r-1")).unwrap()
    }

    #[test]
    fn faults_of_one_code_lend_it_to_the_problem() {
        let two = |code| {
            vec![
                Fault::at("/a", FaultCode::OutOfRange, "a"),
                Fault::at("/b", code, "b"),
            ]
        };
        let same = json(&Problem::faults(two(FaultCode::OutOfRange)));
        assert_eq!(
            (&same["code"], &same["status"]),
            (&"out_of_range".into(), &422.into())
        );
        let mixed = json(&Problem::faults(two(FaultCode::WrongType)));
        assert_eq!(mixed["code"], "validation_failed");
        let malformed = json(&Problem::faults(two(FaultCode::MalformedJson)));
        assert_eq!(
            (&malformed["code"], &malformed["status"]),
            (&"malformed_json".into(), &400.into())
        );
    }

    #[test]
    fn a_source_stays_out_of_the_body_and_whole_in_the_log() {
        let inner = std::io::Error::other("secret host");
        let problem = Problem::internal(inner);
        assert!(
            !String::from_utf8(problem.body("r"))
                .unwrap()
                .contains("secret")
        );
        assert_eq!(problem.chain().as_deref(), Some("secret host"));
        assert_eq!(json(&problem)["errors"], serde_json::json!([]));
    }

    #[test]
    fn codes_are_distinct_and_failures() {
        let mut slugs: Vec<_> = Code::ALL.iter().map(|code| code.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Code::ALL.len());
        assert!(Code::ALL.iter().all(|code| code.status().as_u16() >= 400));
    }
}
