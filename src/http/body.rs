//! Request bodies: streamed, counted, bounded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, header};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use super::problem::{Code, Problem};

/// A body that ends with an error when it is larger than its limit or when nothing comes for too long.
pub(super) struct Limited {
    limit: u64,
    verdict: Verdict,
    chunks: BoxStream<'static, io::Result<Bytes>>,
}

/// Why a body ended early; shared with whoever reads the bytes elsewhere.
#[derive(Debug, Clone)]
pub(super) struct Verdict {
    limit: u64,
    too_large: Arc<AtomicBool>,
    stalled: Arc<AtomicBool>,
}

/// Seconds without a byte after which an upload is given up: it holds one of few places.
const IDLE: Duration = Duration::from_secs(30);

impl Limited {
    /// Wraps a body.
    ///
    /// # Errors
    /// Its declared length is over the limit already.
    pub(super) fn new(headers: &HeaderMap, body: Body, limit: u64) -> Result<Self, Problem> {
        let verdict = Verdict {
            limit,
            too_large: Arc::default(),
            stalled: Arc::default(),
        };
        let declared = headers.get(header::CONTENT_LENGTH);
        let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > limit) {
            return Err(verdict.too_large());
        }
        let chunks = counted(body, verdict.clone()).boxed();
        Ok(Self {
            limit,
            verdict,
            chunks,
        })
    }

    /// The verdict, to be asked when reading fails.
    pub(super) fn verdict(&self) -> Verdict {
        self.verdict.clone()
    }

    /// The bytes as they come.
    pub(super) fn into_stream(self) -> BoxStream<'static, io::Result<Bytes>> {
        self.chunks
    }

    /// The whole body.
    pub(super) async fn read(mut self) -> Result<Bytes, Problem> {
        let mut whole = Vec::new();
        loop {
            match self.chunks.try_next().await {
                Ok(None) => return Ok(whole.into()),
                Ok(Some(chunk)) => whole.extend_from_slice(&chunk),
                Err(_) => return Err(self.verdict.problem()),
            }
        }
    }
}

impl std::fmt::Debug for Limited {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("Limited");
        shown.field("limit", &self.limit).finish_non_exhaustive()
    }
}

fn counted(
    body: Body,
    verdict: Verdict,
) -> impl futures::Stream<Item = io::Result<Bytes>> + Send + 'static {
    async_stream::stream! {
        let mut chunks = body.into_data_stream();
        let mut read = 0_u64;
        loop {
            match tokio::time::timeout(IDLE, chunks.next()).await {
                Err(_) => {
                    verdict.stalled.store(true, Ordering::Release);
                    yield Err(io::ErrorKind::TimedOut.into());
                    return;
                }
                Ok(None) => return,
                Ok(Some(Err(error))) => {
                    yield Err(io::Error::other(error));
                    return;
                }
                Ok(Some(Ok(chunk))) => {
                    read += chunk.len() as u64;
                    if read > verdict.limit {
                        verdict.too_large.store(true, Ordering::Release);
                        yield Err(io::ErrorKind::FileTooLarge.into());
                        return;
                    }
                    yield Ok(chunk);
                }
            }
        }
    }
}

impl Verdict {
    /// What to answer when the body could not be read to its end.
    pub(super) fn problem(&self) -> Problem {
        if self.too_large.load(Ordering::Acquire) {
            self.too_large()
        } else if self.stalled.load(Ordering::Acquire) {
            let detail = format!("no byte came for {} seconds", IDLE.as_secs());
            Problem::new(Code::UploadStalled, detail)
        } else {
            Problem::new(
                Code::MalformedBody,
                "the body ended before its announced end; nothing was stored",
            )
        }
    }

    /// Whether the reading ended for the body's sake.
    pub(super) fn is_broken(&self) -> bool {
        self.too_large.load(Ordering::Acquire) || self.stalled.load(Ordering::Acquire)
    }

    fn too_large(&self) -> Problem {
        let limit = self.limit;
        let detail = format!("the limit is {limit} bytes; nothing was stored");
        Problem::new(Code::BodyTooLarge, detail)
    }
}

/// The media type of a `Content-Type`, lower case, without parameters; empty where there is none.
pub(super) fn essence(content_type: Option<&HeaderValue>) -> String {
    let text = content_type.and_then(|value| value.to_str().ok());
    let essence = text.and_then(|text| text.split(';').next());
    essence.unwrap_or_default().trim().to_ascii_lowercase()
}

/// A parameter of a `Content-Type` (`charset`), unquoted.
pub(super) fn parameter(content_type: &str, wanted: &str) -> Option<String> {
    content_type
        .split(';')
        .skip(1)
        .filter_map(|parameter| parameter.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted))
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// Bodies are taken as they are: a limit on compressed bytes would be none.
pub(super) fn refuse_compressed(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Some(_) => Err(Problem::new(
            Code::UnsupportedEncoding,
            "send the body without `Content-Encoding`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_over_the_limit_is_refused_with_the_limit_named() {
        let headers = HeaderMap::new();
        let body = Body::from("12345");
        let read = Limited::new(&headers, body, 4).unwrap().read().await;
        let problem = String::from_utf8(read.unwrap_err().body("r")).unwrap();
        assert!(problem.contains("body_too_large") && problem.contains("4 bytes"));
        let whole = Limited::new(&headers, Body::from("12345"), 5).unwrap();
        assert_eq!(whole.read().await.unwrap(), "12345");
    }

    #[test]
    fn parameters_of_a_content_type_are_unquoted() {
        let text = "text/csv; Charset=\"windows-1252\"";
        assert_eq!(parameter(text, "charset").as_deref(), Some("windows-1252"));
        let value = HeaderValue::from_static("Text/CSV; charset=utf-8");
        assert_eq!(essence(Some(&value)), "text/csv");
    }
}
