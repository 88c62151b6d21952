//! Takes an upload: bytes from the network on one side, sealed blocks in the database on the other.
//!
//! A blocking thread parses; bounded channels on both of its sides keep memory to a few chunks and blocks whatever the
//! file's size. Whatever ends it early (a fault, a lost client, a dropped future) abandons what was staged.

use std::io::{self, Read};

use axum::body::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, future};
use tokio::sync::mpsc;

use super::body::{Verdict, essence, parameter};
use super::problem::{Code, Problem};
use super::query::Parameters;
use crate::anonymize::table::{Block, Schema};
use crate::fault::FaultCode;
use crate::ingest::{self, Format, Options, Rejected, Summary};
use crate::job::Dataset;
use crate::store::{Store, Upload};

/// Chunks of bytes on their way to the parser.
const CHUNKS: usize = 16;
/// Blocks on their way to the database.
const BLOCKS: usize = 2;

/// How an upload is written, as its sender says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Written {
    pub(super) format: Format,
    pub(super) charset: Option<&'static encoding_rs::Encoding>,
}

impl Written {
    /// From a `Content-Type` and, if they are given, a delimiter and a charset.
    pub(super) fn of(
        content_type: &str,
        delimiter: Option<u8>,
        charset: Option<&str>,
    ) -> Result<Self, Problem> {
        let media_type = essence(content_type.parse().ok().as_ref());
        let format = match media_type.as_str() {
            "text/csv" | "csv" => Format::Csv {
                delimiter: delimiter.unwrap_or(b','),
            },
            "application/json" | "json" => Format::Json,
            "application/x-ndjson" | "ndjson" => Format::Ndjson,
            "application/vnd.apache.parquet" | "parquet" => {
                let detail = "Parquet is not built in; send CSV, JSON or NDJSON";
                return Err(Problem::new(Code::UnsupportedMediaType, detail));
            }
            _ => {
                let detail =
                    "the data must be `text/csv`, `application/json` or `application/x-ndjson`";
                return Err(Problem::new(Code::UnsupportedMediaType, detail));
            }
        };
        let named = charset.map(str::to_owned);
        let named = named.or_else(|| parameter(content_type, "charset"));
        let charset = named.map(|label| known_charset(&label)).transpose()?;
        Ok(Self { format, charset })
    }

    /// What tells two ways of writing apart, for the fingerprint of a repeatable request.
    pub(super) fn fingerprint(&self) -> String {
        let charset = self.charset.map_or("UTF-8", encoding_rs::Encoding::name);
        format!("{:?} {charset}", self.format)
    }
}

fn known_charset(label: &str) -> Result<&'static encoding_rs::Encoding, Problem> {
    encoding_rs::Encoding::for_label_no_replacement(label.as_bytes()).ok_or_else(|| {
        let detail =
            "`charset` must be an encoding of the WHATWG list, such as `utf-8` or `windows-1252`";
        Problem::new(Code::UnsupportedCharset, detail)
    })
}

/// One ASCII character, or `tab`.
pub(super) fn delimiter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Some(b'\t'),
        [one] if one.is_ascii() && !matches!(one, b'"' | b'\r' | b'\n' | 0) => Some(*one),
        _ => None,
    }
}

/// Reads `?delimiter=`.
pub(super) fn take_delimiter(parameters: &mut Parameters) -> Option<u8> {
    let text = parameters.text("delimiter")?;
    let found = delimiter(&text);
    if found.is_none() {
        let detail = "`delimiter` must be one ASCII character that is no quote, or `tab`";
        parameters.refuse("delimiter", FaultCode::WrongType, detail);
    }
    found
}

/// Staged blocks that are dropped unless they are taken out for the commit.
#[derive(Debug)]
pub(super) struct Staged {
    store: Store,
    upload: Option<Upload>,
}

impl Staged {
    /// Begins an upload.
    pub(super) async fn begin(store: &Store, dataset: &Dataset) -> Result<Self, Problem> {
        let upload = store.begin_upload(dataset).await?;
        Ok(Self {
            store: store.clone(),
            upload: Some(upload),
        })
    }

    async fn stage(&mut self, block: &Block) -> Result<(), Problem> {
        match &mut self.upload {
            Some(upload) => Ok(self.store.stage_block(upload, block).await?),
            None => Ok(()),
        }
    }

    /// Drops what was staged, now.
    pub(super) async fn abandon(mut self) {
        if let Some(upload) = self.upload.take() {
            abandon(self.store.clone(), upload).await;
        }
    }

    /// The upload, for the commit.
    pub(super) fn into_upload(mut self) -> Option<Upload> {
        self.upload.take()
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        if let (Some(upload), Ok(runtime)) = (self.upload.take(), runtime) {
            runtime.spawn(abandon(self.store.clone(), upload));
        }
    }
}

async fn abandon(store: Store, upload: Upload) {
    if let Err(error) = store.abandon_upload(upload).await {
        tracing::warn!(%error, "an upload could not be abandoned; the sweep removes it");
    }
}

/// Parses what `reader` gives and stages its blocks, while `feed` runs beside it.
///
/// # Errors
/// All faults of the upload; or why its bytes ended early, by `verdict`. Nothing stays staged then.
pub(super) async fn receive(
    mut staged: Staged,
    schema: Schema,
    dataset: &Dataset,
    written: Written,
    reader: Box<dyn Read + Send>,
    feed: impl Future<Output = ()>,
    verdict: &Verdict,
) -> Result<(Staged, Summary), Problem> {
    let (sender, mut blocks) = mpsc::channel::<Block>(BLOCKS);
    let default_role = dataset.declaration.default_role;
    let parsing = tokio::task::spawn_blocking(move || {
        let options = Options {
            format: written.format,
            charset: written.charset,
            schema: &schema,
            default_role,
        };
        ingest::ingest(reader, &options, &mut |block| {
            sender.blocking_send(block).is_ok()
        })
    });
    let staging = async {
        let mut stored = Ok(());
        while let Some(block) = blocks.recv().await {
            stored = staged.stage(&block).await;
            if stored.is_err() {
                break;
            }
        }
        // A failed stage closes the channel, so the parser gives up, so the feed ends.
        blocks.close();
        stored
    };
    let (stored, ()) = future::join(staging, feed).await;
    let parsed = parsing
        .await
        .map_err(|_| Problem::from(crate::pool::Panicked));
    match (stored, parsed) {
        (Ok(()), Ok(Ok(summary))) => Ok((staged, summary)),
        (stored, parsed) => {
            staged.abandon().await;
            stored?;
            Err(match parsed? {
                Err(rejected) => refused(rejected, verdict),
                Ok(_) => Problem::from(crate::pool::Panicked),
            })
        }
    }
}

fn refused(rejected: Rejected, verdict: &Verdict) -> Problem {
    match rejected {
        // A body over its limit ends in the middle of a record: that fault is not the caller's.
        Rejected::Faults(_) if verdict.is_broken() => verdict.problem(),
        Rejected::Faults(faults) => Problem::faults(faults),
        Rejected::Read(_) => verdict.problem(),
        Rejected::Abandoned => Problem::from(crate::pool::Panicked),
    }
}

/// A blocking reader over a stream, and the future that feeds it.
pub(super) fn pipe(
    mut stream: BoxStream<'_, io::Result<Bytes>>,
) -> (Box<dyn Read + Send>, impl Future<Output = ()>) {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let feed = async move {
        while let Some(chunk) = stream.next().await {
            if sender.send(chunk).await.is_err() {
                return;
            }
        }
    };
    let reader = PipeReader {
        receiver,
        chunk: Bytes::new(),
    };
    (Box::new(reader), feed)
}

struct PipeReader {
    receiver: mpsc::Receiver<io::Result<Bytes>>,
    chunk: Bytes,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.receiver.blocking_recv() {
                None => return Ok(0),
                Some(chunk) => self.chunk = chunk?,
            }
        }
        let taken = self.chunk.split_to(buffer.len().min(self.chunk.len()));
        buffer[..taken.len()].copy_from_slice(&taken);
        Ok(taken.len())
    }
}
