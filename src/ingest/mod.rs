//! Uploads: bytes to blocks, every fault with its record and line.
//!
//! Streams: memory is one block and the distinct values of a block, never the file. Nothing is kept of an upload that
//! has a fault; whoever takes the blocks must drop them then.

mod cells;
mod column;
mod csv;
mod decode;
mod json;
mod log;
mod selector;
mod split;
mod value;

pub use selector::{Selector, selector};

use std::io::Read;

use crate::anonymize::table::{Block, Schema};
use crate::declaration::{AttributeDeclaration, Role};
use crate::fault::{Fault, FaultCode};

/// The longest record that is read: memory stays bounded whatever is sent.
const RECORD_BYTES: usize = 16 << 20;

/// How an upload is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// RFC 4180 with a header line.
    Csv {
        /// One ASCII byte between fields.
        delimiter: u8,
    },
    /// One array of objects.
    Json,
    /// One object per line.
    Ndjson,
}

/// What an upload is read with.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The form.
    pub format: Format,
    /// Declared character encoding; UTF-8 if absent. A byte order mark of it is removed.
    pub charset: Option<&'static encoding_rs::Encoding>,
    /// The declared attributes.
    pub schema: &'a Schema,
    /// Role of columns that are not declared; absent: they are refused (user-cases D8).
    pub default_role: Option<Role>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Records.
    pub rows: u64,
    /// Cells that `trim` changed.
    pub trimmed_cells: u64,
    /// Attributes added by `default_role`, after the declared ones, in order of the header.
    pub added: Vec<AttributeDeclaration>,
    /// What the caller should know.
    pub warnings: Vec<Warning>,
    /// SHA-256 over the cells in declared order, the same for CSV, JSON and NDJSON of the same rows.
    pub digest: [u8; 32],
}

/// Something that is legal and probably not meant. No cell value.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
pub struct Warning {
    /// Stable slug.
    pub code: String,
    /// In words.
    pub detail: String,
    /// Column concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// Why an upload was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Rejected {
    /// It has faults; all of them (400 `malformed_json` if one says so, else 422).
    #[error("the upload has {} faults", .0.len())]
    Faults(Vec<Fault>),
    /// The bytes stopped coming.
    #[error("the upload could not be read to its end")]
    Read(#[source] std::io::Error),
    /// The taker of the blocks gave up.
    #[error("the upload was abandoned")]
    Abandoned,
}

/// Reads an upload, handing on blocks whose columns are the declared attributes in order, then the added ones.
///
/// `take` returns false to give up.
///
/// # Errors
/// See [`Rejected`]. Blocks handed on before a fault was found are void.
pub fn ingest(
    reader: impl Read,
    options: &Options<'_>,
    take: &mut dyn FnMut(Block) -> bool,
) -> Result<Summary, Rejected> {
    let mut cells = cells::Cells::new(options, take);
    read(reader, options, &mut cells)?;
    match cells.finish() {
        Ok(Some(summary)) => Ok(summary),
        Ok(None) => Err(Rejected::Abandoned),
        Err(faults) => Err(Rejected::Faults(faults)),
    }
}

/// The same for rows that may lack declared columns: their cells are missing, and the names of these columns are given.
///
/// # Errors
/// As of [`ingest`].
pub fn ingest_some(
    reader: impl Read,
    options: &Options<'_>,
    take: &mut dyn FnMut(Block) -> bool,
) -> Result<Vec<String>, Rejected> {
    let mut cells = cells::Cells::new(options, take);
    cells.absent = Some(Vec::new());
    read(reader, options, &mut cells)?;
    let absent = cells.absent.take();
    match cells.finish() {
        Ok(Some(_)) => Ok(absent.unwrap_or_default()),
        Ok(None) => Err(Rejected::Abandoned),
        Err(faults) => Err(Rejected::Faults(faults)),
    }
}

fn read(
    reader: impl Read,
    options: &Options<'_>,
    cells: &mut cells::Cells<'_>,
) -> Result<(), Rejected> {
    let charset = options.charset.map_or("UTF-8", encoding_rs::Encoding::name);
    let text = decode::Text::new(reader, options.charset);
    match options.format {
        Format::Csv { delimiter } => csv::read(text, delimiter, charset, cells),
        Format::Json => json::read_array(text, charset, cells),
        Format::Ndjson => json::read_lines(text, charset, cells),
    }
}

/// The fault of an upload without records.
fn empty() -> Fault {
    Fault::at("", FaultCode::DatasetEmpty, "the upload holds no record")
}
