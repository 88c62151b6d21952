//! RFC 4180 with a declared delimiter, one record at a time.
//!
//! The quoting rules are those of `csv_core`; lines are counted here, because a record begins after the blank lines and
//! line ends before it. `csv_core` closes an open quote at the end of the input without a word: a file cut off in the
//! middle would lose rows unseen. So the end is fed as one more line end, which an open quote takes for content.

use std::io::Read;

use csv_core::ReadRecordResult;
use rustc_hash::FxHashMap;

use super::cells::Cells;
use super::decode::Text;
use super::log::{Place, Problem};
use super::{RECORD_BYTES, Rejected};
use crate::fault::{Fault, FaultCode};

/// One record at a time, its memory used again.
struct Records<R> {
    text: Text<R>,
    core: csv_core::Reader,
    fields: Vec<u8>,
    ends: Vec<usize>,
    written: usize,
    count: usize,
    line: u64,
}

enum Next {
    Record,
    End,
    Unterminated,
    TooLong,
}

impl<R: Read> Records<R> {
    fn new(text: Text<R>, delimiter: u8) -> Self {
        Self {
            text,
            core: csv_core::ReaderBuilder::new().delimiter(delimiter).build(),
            fields: vec![0; 1 << 10],
            ends: vec![0; 1 << 6],
            written: 0,
            count: 0,
            line: 1,
        }
    }

    /// Passes the line ends before a record; false at the end of the input.
    fn begin(&mut self) -> Result<bool, Rejected> {
        loop {
            let chunk = self.text.chunk().map_err(Rejected::Read)?;
            if chunk.is_empty() {
                return Ok(false);
            }
            let ends = chunk
                .iter()
                .take_while(|byte| matches!(byte, b'\r' | b'\n'));
            let (bytes, lines) = ends.fold((0, 0), |(bytes, lines), &byte| {
                (bytes + 1, lines + u64::from(byte == b'\n'))
            });
            let more = bytes < chunk.len();
            self.core.set_line(self.core.line() + lines);
            self.text.consume(bytes);
            if more {
                self.line = self.core.line();
                return Ok(true);
            }
        }
    }

    fn next(&mut self) -> Result<Next, Rejected> {
        (self.written, self.count) = (0, 0);
        if !self.begin()? {
            return Ok(Next::End);
        }
        loop {
            let chunk = self.text.chunk().map_err(Rejected::Read)?;
            let at_end = chunk.is_empty();
            let (result, read, written, count) = self.core.read_record(
                if at_end { b"\n" } else { chunk },
                &mut self.fields[self.written..],
                &mut self.ends[self.count..],
            );
            self.written += written;
            self.count += count;
            if !at_end {
                self.text.consume(read);
            }
            match result {
                ReadRecordResult::Record => return Ok(Next::Record),
                ReadRecordResult::InputEmpty if at_end => return Ok(Next::Unterminated),
                ReadRecordResult::End => return Ok(Next::End),
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull if self.fields.len() >= RECORD_BYTES => {
                    return Ok(Next::TooLong);
                }
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
            }
        }
    }

    /// Line on which the field begins that is not finished.
    fn line_of_open_field(&self) -> u64 {
        let finished = match self.count {
            0 => 0,
            count => self.ends[count - 1],
        };
        let lines = self.fields[..finished]
            .iter()
            .filter(|&&byte| byte == b'\n');
        self.line + lines.count() as u64
    }

    /// The fields as text: the decoder yields UTF-8 and fields end at ASCII bytes, so this cannot fail.
    fn text(&self) -> &str {
        std::str::from_utf8(&self.fields[..self.written]).unwrap_or_default()
    }

    fn field(&self, text: &'_ str, index: usize) -> String {
        let from = if index == 0 { 0 } else { self.ends[index - 1] };
        text.get(from..self.ends[index])
            .unwrap_or_default()
            .to_owned()
    }
}

/// Reads all records into `cells`.
pub(super) fn read<R: Read>(
    text: Text<R>,
    delimiter: u8,
    charset: &str,
    cells: &mut Cells<'_>,
) -> Result<(), Rejected> {
    let mut records = Records::new(text, delimiter);
    let Some(columns) = read_header(&mut records, charset, cells)? else {
        return Ok(());
    };
    let mut row = 0;
    loop {
        let next = records.next()?;
        row += 1;
        let place = Place {
            row: Some(row),
            line: Some(records.line),
        };
        match next {
            Next::Record => {}
            Next::End => break,
            Next::Unterminated => {
                let place = Place {
                    line: Some(records.line_of_open_field()),
                    ..place
                };
                cells.log.single(place.of(unterminated()));
                return Ok(());
            }
            Next::TooLong => {
                cells.log.single(place.of(too_long()));
                return Ok(());
            }
        }
        if records.text.was_malformed() {
            let log = &mut cells.log;
            log.cell(Problem::Encoding, None, charset, None, place);
        } else if !put(&records, &columns, cells, place) {
            return Err(Rejected::Abandoned);
        }
    }
    if row == 1 {
        cells.log.single(super::empty());
    }
    Ok(())
}

/// Puts the current record into its columns; false if nobody wants more.
fn put<R: Read>(
    records: &Records<R>,
    columns: &[Option<usize>],
    cells: &mut Cells<'_>,
    place: Place,
) -> bool {
    if records.count != columns.len() {
        let (header, found) = (columns.len(), records.count);
        let row = place.row.unwrap_or_default();
        let detail = format!("header has {header} fields, record {row} has {found}");
        let fault = Fault::at("", FaultCode::FieldCount, detail);
        cells.log.single(place.of(fault));
        return true;
    }
    let text = records.text();
    let mut from = 0;
    for (column, &to) in columns.iter().zip(&records.ends) {
        if let Some(column) = *column {
            cells.cell(column, text.get(from..to), place);
        }
        from = to;
    }
    cells.end_row(place)
}

/// The column of each header field; nothing if the rest of the upload cannot be read.
fn read_header<R: Read>(
    records: &mut Records<R>,
    charset: &str,
    cells: &mut Cells<'_>,
) -> Result<Option<Vec<Option<usize>>>, Rejected> {
    let next = records.next()?;
    let mut place = Place {
        row: None,
        line: Some(records.line),
    };
    let fault = match next {
        Next::Record if records.text.was_malformed() => {
            cells
                .log
                .cell(Problem::Encoding, None, charset, None, place);
            return Ok(None);
        }
        Next::Record => {
            let text = records.text();
            let names: Vec<String> = (0..records.count)
                .map(|index| records.field(text, index))
                .collect();
            return Ok(Some(columns(&names, cells, place)));
        }
        Next::End => super::empty(),
        Next::Unterminated => {
            place.line = Some(records.line_of_open_field());
            place.of(unterminated())
        }
        Next::TooLong => place.of(too_long()),
    };
    cells.log.single(fault);
    Ok(None)
}

fn columns(names: &[String], cells: &mut Cells<'_>, place: Place) -> Vec<Option<usize>> {
    let mut positions: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (index, name) in names.iter().enumerate() {
        positions.entry(name).or_default().push(index + 1);
    }
    let known: FxHashMap<String, usize> = cells
        .names()
        .enumerate()
        .map(|(column, name)| (name.to_owned(), column))
        .collect();
    let hint = delimiter_hint(names);
    let mut columns = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let places = &positions[name.as_str()];
        if places[0] != index + 1 {
            columns.push(None);
            continue;
        }
        if places.len() > 1 {
            let list: Vec<String> = places.iter().map(ToString::to_string).collect();
            let detail = format!(
                "the header names this column {} times, at positions {}",
                places.len(),
                list.join(", ")
            );
            let fault = Fault::at("", FaultCode::DuplicateHeader, detail).column(name);
            cells.log.single(place.of(fault));
        }
        columns.push(match known.get(name) {
            Some(&column) => Some(column),
            None => cells.undeclared(name, &hint, place),
        });
    }
    let missing: Vec<String> = cells
        .names()
        .filter(|name| !positions.contains_key(name))
        .map(ToOwned::to_owned)
        .collect();
    for name in missing {
        cells.lacks(name, &hint, place);
    }
    columns
}

/// A header of one field that holds a usual delimiter was probably written with that one.
fn delimiter_hint(names: &[String]) -> String {
    let [name] = names else { return String::new() };
    let usual = [(';', "`;`"), (',', "`,`"), ('\t', "a tab"), ('|', "`|`")];
    usual
        .iter()
        .max_by_key(|(delimiter, _)| name.matches(*delimiter).count())
        .filter(|(delimiter, _)| name.contains(*delimiter))
        .map_or_else(String::new, |(_, shown)| {
            format!(". The header is one field that holds {shown}: probably that is the delimiter, and another is declared")
        })
}

fn unterminated() -> Fault {
    let detail = "a quote opens on this line and is never closed: the upload may be cut off";
    Fault::at("", FaultCode::UnterminatedQuote, detail)
}

fn too_long() -> Fault {
    let mebibytes = RECORD_BYTES >> 20;
    let detail =
        format!("the record is longer than {mebibytes} MiB: perhaps a quote is not closed");
    Fault::at("", FaultCode::InvalidValue, detail)
}
