//! A sealed partition, opened by a reader with a key of its own: `kindred open`.
//!
//! Needs neither database nor master key: what the service gave out, the reader's grant and its private key.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use uuid::Uuid;

use crate::form::{Form, Writer};
use crate::job::Partition;
use crate::store::{self, open_chunk, without_erased};
use crate::vault::{self, DataKey, Grant, Place, ReaderPrivateKey};

/// Why a partition cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read, or the output not written.
    #[error("{path}")]
    File {
        /// Which; `standard output` for the output.
        path: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The grant is not the answer of `GET /v1/datasets/{id}/readers/{reader_id}`.
    #[error("the grant is not a reader's record")]
    Grant(#[source] serde_json::Error),
    /// The reader was not granted this partition.
    #[error("the grant holds no key of the partition `{0}`")]
    NotGranted(&'static str),
    /// The grant is for another key or another dataset.
    #[error("the grant is not for this key, or not for this dataset")]
    OtherGrant,
    /// A line of the partition is none, or stands where it cannot.
    #[error("line {0} of the partition is malformed")]
    Line(u64),
    /// The partition has no end: the download was cut off.
    #[error("the partition is not whole: take it again")]
    CutOff,
    /// The keys.
    #[error(transparent)]
    Key(#[from] vault::Error),
    /// A chunk does not open.
    #[error("a chunk of the partition does not open")]
    Chunk(#[source] store::Error),
}

#[derive(Deserialize)]
struct GrantFile {
    reader_id: Uuid,
    dataset_id: Uuid,
    public_key: String,
    keys: BTreeMap<Partition, String>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line {
    Partition {
        dataset_id: Uuid,
        partition: Partition,
        columns: Vec<String>,
    },
    Batch {
        batch_id: Uuid,
        erased: Vec<u64>,
    },
    Chunk {
        sequence: u32,
        sealed: String,
    },
    End {
        chunks: u64,
    },
}

/// What is open so far.
struct Opening<'o, W> {
    key: DataKey,
    dataset_id: Uuid,
    partition: Partition,
    writer: Writer,
    output: &'o mut W,
    buffer: Vec<u8>,
    /// Batch, erased places, next row.
    batch: Option<(Uuid, Vec<u64>, u64)>,
    chunks: u64,
}

/// Makes a reader's private key in a file (mode 0600), or reads it; gives the public key, 64 hexadecimal digits.
///
/// # Errors
/// The file's.
pub fn reader_key(path: &Path) -> Result<String, Error> {
    Ok(ReaderPrivateKey::open(path)?.public()?.text())
}

/// Opens a partition and writes its rows as CSV; erased rows are not there. Memory: one chunk.
///
/// # Errors
/// See [`Error`]. Rows written before an error are void.
pub fn open<W: Write>(
    key: &Path,
    grant: &Path,
    partition: impl BufRead,
    output: &mut W,
) -> Result<(), Error> {
    let text = std::fs::read_to_string(grant).map_err(file(grant))?;
    let grant: GrantFile = serde_json::from_str(&text).map_err(Error::Grant)?;
    let key = ReaderPrivateKey::read(key)?;
    if key.public()?.text() != grant.public_key {
        return Err(Error::OtherGrant);
    }
    let mut lines = (1..).zip(partition.lines());
    let mut next = || {
        let Some((number, line)) = lines.next() else {
            return Err(Error::CutOff);
        };
        let line = line.map_err(file(Path::new("the partition")))?;
        let line = serde_json::from_str(&line).map_err(|_| Error::Line(number))?;
        Ok((number, line))
    };
    let (
        _,
        Line::Partition {
            dataset_id,
            partition,
            columns,
        },
    ) = next()?
    else {
        return Err(Error::Line(1));
    };
    let mut opening = Opening {
        key: unwrapped(&key, &grant, dataset_id, partition)?,
        dataset_id,
        partition,
        writer: Writer::new(Form::Csv, columns.clone(), vec![false; columns.len()]),
        output,
        buffer: Vec::new(),
        batch: None,
        chunks: 0,
    };
    opening.writer.begin(&mut opening.buffer);
    loop {
        match next()? {
            (number, Line::Partition { .. }) => return Err(Error::Line(number)),
            (_, Line::Batch { batch_id, erased }) => opening.batch = Some((batch_id, erased, 0)),
            (number, Line::Chunk { sequence, sealed }) => {
                let sealed = hex::decode(sealed).map_err(|_| Error::Line(number))?;
                opening.chunk(number, sequence, &sealed)?;
            }
            (_, Line::End { chunks }) if chunks == opening.chunks => break,
            (_, Line::End { .. }) => return Err(Error::CutOff),
        }
    }
    opening.writer.end(&mut opening.buffer);
    opening.flush()
}

fn unwrapped(
    key: &ReaderPrivateKey,
    grant: &GrantFile,
    dataset_id: Uuid,
    partition: Partition,
) -> Result<DataKey, Error> {
    let wrapped = grant.keys.get(&partition);
    let wrapped = wrapped.ok_or(Error::NotGranted(partition.word()))?;
    let wrapped = hex::decode(wrapped).map_err(|_| Error::OtherGrant)?;
    let place = Grant {
        dataset_id,
        reader_id: grant.reader_id,
        purpose: partition.purpose(),
    };
    if grant.dataset_id != dataset_id {
        return Err(Error::OtherGrant);
    }
    let opened = key.unwrap_data_key(&place, &wrapped);
    opened.map_err(|_| Error::OtherGrant)
}

impl<W: Write> Opening<'_, W> {
    fn chunk(&mut self, number: u64, sequence: u32, sealed: &[u8]) -> Result<(), Error> {
        let (batch_id, erased, row) = self.batch.as_mut().ok_or(Error::Line(number))?;
        let place = Place {
            dataset_id: self.dataset_id,
            holder_id: *batch_id,
            purpose: self.partition.purpose(),
            sequence,
        };
        let block = open_chunk(sealed, &self.key, &place).map_err(Error::Chunk)?;
        let rows = block.rows as u64;
        let block = without_erased(block, *row, erased);
        *row += rows;
        self.chunks += 1;
        self.writer.write(&block, &mut self.buffer);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        let written = self.output.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(file(Path::new("standard output")))
    }
}

fn file(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.into();
    move |source| Error::File {
        path: path.display().to_string(),
        source,
    }
}
