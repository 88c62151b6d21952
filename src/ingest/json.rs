//! JSON: one array of objects, or one object per line.
//!
//! A number keeps the text that stands in the upload (`1.50` stays `1.50`); `null` is missing, a text is a text. Each
//! object is parsed by `serde_json`; only one is in memory.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::cells::Cells;
use super::decode::Text;
use super::log::{Place, Problem};
use super::split::{Found, Position, Splitter};
use super::{RECORD_BYTES, Rejected};
use crate::fault::{Fault, FaultCode};

/// Reads one array of objects into `cells`.
pub(super) fn read_array<R: Read>(
    mut text: Text<R>,
    charset: &str,
    cells: &mut Cells<'_>,
) -> Result<(), Rejected> {
    let mut objects = Objects::new(cells);
    let mut splitter = Splitter::new();
    let mut malformed = false;
    loop {
        let chunk = text.chunk().map_err(Rejected::Read)?;
        let found = if chunk.is_empty() {
            match splitter.finish() {
                Found::Fault(..) if splitter.is_blank() => break,
                Found::Nothing => break,
                found => found,
            }
        } else {
            let (bytes, found) = splitter.feed(chunk);
            text.consume(bytes);
            found
        };
        malformed |= text.was_malformed();
        match found {
            Found::Nothing => {}
            Found::Object if std::mem::take(&mut malformed) => {
                objects.undecodable(charset, splitter.begin(), cells);
            }
            Found::Object => {
                if !objects.add(splitter.object(), splitter.begin(), cells)? {
                    return Ok(());
                }
            }
            Found::Fault(..) if malformed => {
                objects.undecodable(charset, splitter.here(), cells);
                return Ok(());
            }
            Found::Fault(code, detail) => {
                objects.broken(code, detail, splitter.here(), cells);
                return Ok(());
            }
        }
    }
    objects.finish(cells);
    Ok(())
}

/// Reads one object per line into `cells`.
pub(super) fn read_lines<R: Read>(
    mut text: Text<R>,
    charset: &str,
    cells: &mut Cells<'_>,
) -> Result<(), Rejected> {
    let mut objects = Objects::new(cells);
    let mut line = Vec::new();
    let mut here = Position { line: 0, column: 1 };
    let mut at_end = false;
    while !at_end {
        line.clear();
        here.line += 1;
        at_end = !read_line(&mut text, &mut line)?;
        if line.len() > RECORD_BYTES {
            objects.broken(
                FaultCode::InvalidValue,
                "the record is longer than 16 MiB",
                here,
                cells,
            );
            return Ok(());
        }
        if text.was_malformed() {
            objects.undecodable(charset, here, cells);
        } else if !line.trim_ascii().is_empty() {
            // A broken line says nothing about the next one.
            objects.add(&line, here, cells)?;
        }
    }
    objects.finish(cells);
    Ok(())
}

/// Appends text up to the next line end or until it is too long; false at the end of the input.
fn read_line<R: Read>(text: &mut Text<R>, line: &mut Vec<u8>) -> Result<bool, Rejected> {
    while line.len() <= RECORD_BYTES {
        let chunk = text.chunk().map_err(Rejected::Read)?;
        if chunk.is_empty() {
            return Ok(false);
        }
        if let Some(end) = chunk.iter().position(|&byte| byte == b'\n') {
            line.extend_from_slice(&chunk[..end]);
            text.consume(end + 1);
            return Ok(true);
        }
        line.extend_from_slice(chunk);
        let bytes = chunk.len();
        text.consume(bytes);
    }
    Ok(true)
}

/// Puts objects into cells, one row each.
struct Objects {
    columns: FxHashMap<String, usize>,
    /// Column of each name in the order of the object before: objects mostly name the same ones in the same order.
    usual: Vec<(String, Option<usize>)>,
    met: Vec<bool>,
    declared: usize,
    row: u64,
}

impl Objects {
    fn new(cells: &Cells<'_>) -> Self {
        let columns: FxHashMap<String, usize> = cells
            .names()
            .enumerate()
            .map(|(column, name)| (name.to_owned(), column))
            .collect();
        Self {
            met: vec![false; columns.len()],
            declared: columns.len(),
            columns,
            usual: Vec::new(),
            row: 0,
        }
    }

    /// The next object; false if it is not one, or not JSON.
    fn add(
        &mut self,
        object: &[u8],
        at: Position,
        cells: &mut Cells<'_>,
    ) -> Result<bool, Rejected> {
        self.row += 1;
        let place = Place {
            row: Some(self.row),
            line: Some(at.line),
        };
        let mut index = 0;
        let mut deserializer = serde_json::Deserializer::from_slice(object);
        let mut duplicates = Vec::new();
        let fields = Fields(|name: &str, value: &RawValue| {
            if let Some(column) = self.column(name, index, cells, place) {
                if cells.has(column) {
                    duplicates.push(name.to_owned());
                } else {
                    put(column, value.get(), cells, place);
                }
            }
            index += 1;
        });
        let result = fields
            .deserialize(&mut deserializer)
            .and_then(|()| deserializer.end());
        for name in duplicates {
            let detail = "the object names this key twice";
            let fault = Fault::at("", FaultCode::DuplicateHeader, detail);
            cells.log.single(place.of(fault.column(name)));
        }
        if let Err(error) = result {
            self.unparsable(&error, at, cells);
            return Ok(false);
        }
        if cells.end_row(place) {
            Ok(true)
        } else {
            Err(Rejected::Abandoned)
        }
    }

    /// The current object is no object, or not JSON.
    fn unparsable(&mut self, error: &serde_json::Error, at: Position, cells: &mut Cells<'_>) {
        cells.forget_row();
        self.row -= 1;
        let (line, column) = (error.line() as u64, error.column() as u64);
        let here = if line <= 1 {
            Position {
                line: at.line,
                column: at.column + column.saturating_sub(1),
            }
        } else {
            Position {
                line: at.line + line - 1,
                column,
            }
        };
        let (code, detail) = if error.is_data() {
            (FaultCode::WrongType, "every record must be an object")
        } else {
            (FaultCode::MalformedJson, "not valid JSON")
        };
        self.broken(code, detail, here, cells);
    }

    fn column(
        &mut self,
        name: &str,
        index: usize,
        cells: &mut Cells<'_>,
        place: Place,
    ) -> Option<usize> {
        if let Some((usual, column)) = self.usual.get(index)
            && usual == name
        {
            return *column;
        }
        let known = self.columns.get(name).copied();
        let column = known.or_else(|| cells.undeclared(name, "", place));
        if let (None, Some(added)) = (known, column) {
            self.columns.insert(name.to_owned(), added);
        }
        if let Some(declared) = column
            && declared < self.declared
        {
            self.met[declared] = true;
        }
        let met = (name.to_owned(), column);
        match self.usual.get_mut(index) {
            Some(usual) => *usual = met,
            None => self.usual.push(met),
        }
        column
    }

    /// A record that cannot be read, at a place.
    fn broken(&mut self, code: FaultCode, detail: &str, at: Position, cells: &mut Cells<'_>) {
        self.row += 1;
        let detail = format!("line {}, column {}: {detail}", at.line, at.column);
        let place = Place {
            row: Some(self.row),
            line: Some(at.line),
        };
        cells.log.single(place.of(Fault::at("", code, detail)));
    }

    fn undecodable(&mut self, charset: &str, at: Position, cells: &mut Cells<'_>) {
        self.row += 1;
        let place = Place {
            row: Some(self.row),
            line: Some(at.line),
        };
        cells
            .log
            .cell(Problem::Encoding, None, charset, None, place);
    }

    fn finish(self, cells: &mut Cells<'_>) {
        if self.row == 0 {
            cells.log.single(super::empty());
            return;
        }
        let missing: Vec<String> = cells
            .names()
            .zip(&self.met)
            .filter(|&(_, &met)| !met)
            .map(|(name, _)| name.to_owned())
            .collect();
        if cells.rows() > 0 {
            for name in missing {
                cells.lacks(name, "", Place::default());
            }
        }
    }
}

/// Puts one value into its column.
fn put(column: usize, raw: &str, cells: &mut Cells<'_>, place: Place) {
    match raw.as_bytes().first() {
        Some(b'n') => cells.cell(column, None, place),
        Some(b'{' | b'[') => cells.nested(column, place),
        Some(b'"') => match raw.get(1..raw.len() - 1) {
            Some(plain) if !plain.contains('\\') => cells.cell(column, Some(plain), place),
            // A lone surrogate is no text.
            _ => match serde_json::from_str::<String>(raw) {
                Ok(text) => cells.cell(column, Some(&text), place),
                Err(_) => cells.nested(column, place),
            },
        },
        _ => cells.cell(column, Some(raw), place),
    }
}

/// Gives every name and value of an object to a function, duplicates too.
struct Fields<F>(F);

impl<'de, F: FnMut(&str, &RawValue)> DeserializeSeed<'de> for Fields<F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, F: FnMut(&str, &RawValue)> Visitor<'de> for Fields<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(Name(name)) = map.next_key()? {
            (self.0)(&name, map.next_value::<&RawValue>()?);
        }
        Ok(())
    }
}

/// A key, borrowed unless it holds an escape.
struct Name<'de>(Cow<'de, str>);

impl<'de> serde::Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}
