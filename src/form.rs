//! The forms of released rows: CSV, JSON, NDJSON. One code path for the stored digest and for every download.
//!
//! A block's columns hold dictionaries, so each distinct value is quoted and escaped once per block and a cell is one
//! copy of bytes. All forms hold the same rows and cells, every cell as text: a code like `01234` keeps its zero.
//!
//! CSV tells missing from empty: a missing cell is nothing, an empty value is `""`. In a file of one column a row with
//! nothing in it would be a blank line, which readers skip; there a missing cell is written `""` too, so that no row is
//! lost.

use crate::anonymize::table::{Block, BlockColumn};

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// RFC 4180 with a header line, quotes only where needed, `\n` line ends; missing is the empty cell.
    Csv,
    /// One array of objects; missing is `null`.
    Json,
    /// One object per line; missing is `null`.
    Ndjson,
}

/// Writes blocks of rows in one form.
#[derive(Debug)]
pub struct Writer {
    form: Form,
    columns: Vec<String>,
    escape_formulas: Vec<bool>,
    rows: u64,
}

/// The cells of one block's column as they are written, by code.
struct Cells<'a> {
    text: Vec<u8>,
    ends: Vec<usize>,
    codes: &'a [u32],
}

impl Writer {
    /// A writer of rows with these columns. `escape_formulas` says per column whether a cell that a spreadsheet would
    /// run (`=`, `+`, `-`, `@`, tab, return first) gets a leading `'` in CSV (text columns only, opt-in; user-cases UC-81).
    #[must_use]
    pub fn new(form: Form, columns: Vec<String>, escape_formulas: Vec<bool>) -> Self {
        Self {
            form,
            columns,
            escape_formulas,
            rows: 0,
        }
    }

    /// What stands before the first row.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        match self.form {
            Form::Csv => {
                for (index, name) in self.columns.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_csv(name, false, out);
                }
                out.push(b'\n');
            }
            Form::Json => out.push(b'['),
            Form::Ndjson => {}
        }
    }

    /// The rows of a block, whose columns are the writer's in order.
    pub fn write(&mut self, block: &Block, out: &mut Vec<u8>) {
        let cells: Vec<Cells<'_>> = block
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| match self.form {
                Form::Csv => self.csv_cells(index, column),
                Form::Json | Form::Ndjson => self.json_cells(index, column),
            })
            .collect();
        for row in 0..block.rows {
            if self.form == Form::Json && self.rows > 0 {
                out.extend_from_slice(b",\n");
            }
            for column in &cells {
                out.extend_from_slice(column.cell(row));
            }
            match self.form {
                Form::Csv => out.push(b'\n'),
                Form::Json => out.push(b'}'),
                Form::Ndjson => out.extend_from_slice(b"}\n"),
            }
            self.rows += 1;
        }
    }

    /// What stands after the last row.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        if self.form == Form::Json {
            out.extend_from_slice(b"]\n");
        }
    }

    fn csv_cells<'a>(&self, index: usize, column: &'a BlockColumn) -> Cells<'a> {
        let escape = self.escape_formulas.get(index).copied().unwrap_or(false);
        let is_alone = self.columns.len() == 1;
        Cells::render(column, |value, text| {
            if index > 0 {
                text.push(b',');
            }
            match value {
                Some(value) => write_csv(value, escape, text),
                None if is_alone => text.extend_from_slice(b"\"\""),
                None => {}
            }
        })
    }

    fn json_cells<'a>(&self, index: usize, column: &'a BlockColumn) -> Cells<'a> {
        let opening = if index == 0 { '{' } else { ',' };
        let name = self.columns.get(index).map_or("", String::as_str);
        let key = format!("{opening}{}:", serde_json::Value::from(name));
        Cells::render(column, |value, text| {
            text.extend_from_slice(key.as_bytes());
            let value = value.map_or(serde_json::Value::Null, serde_json::Value::from);
            text.extend_from_slice(value.to_string().as_bytes());
        })
    }
}

impl<'a> Cells<'a> {
    fn render(column: &'a BlockColumn, mut write: impl FnMut(Option<&str>, &mut Vec<u8>)) -> Self {
        let mut text = Vec::new();
        let mut ends = Vec::with_capacity(column.values.len() + 2);
        ends.push(0);
        for value in std::iter::once(None).chain(column.values.iter().map(|value| Some(&**value))) {
            write(value, &mut text);
            ends.push(text.len());
        }
        Self {
            text,
            ends,
            codes: &column.codes,
        }
    }

    fn cell(&self, row: usize) -> &[u8] {
        let code = self.codes[row] as usize;
        &self.text[self.ends[code]..self.ends[code + 1]]
    }
}

fn write_csv(value: &str, escape_formulas: bool, out: &mut Vec<u8>) {
    let is_formula = escape_formulas && value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let must_quote = value.is_empty() || value.contains([',', '"', '\n', '\r']);
    if must_quote {
        out.push(b'"');
    }
    if is_formula {
        out.push(b'\'');
    }
    if must_quote {
        out.extend_from_slice(value.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(value.as_bytes());
    }
}
