//! Uploads: exact cells, every fault with its place, the same rows from every form.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod cells;
mod faults;
mod forms;

use kindred::anonymize::table::{Block, Schema};
use kindred::declaration::DatasetDeclaration;
use kindred::fault::Fault;
use kindred::ingest::{Format, Options, Rejected, Summary, ingest};
use serde_json::{Value, json};

const CSV: Format = Format::Csv { delimiter: b',' };

fn schema(attributes: &Value) -> Schema {
    let body = json!({ "name": "uploads", "attributes": attributes });
    Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap()
}

fn zip_country_note() -> Schema {
    schema(&json!([
        { "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 4] } },
        { "name": "country", "role": "quasi_identifying" },
        { "name": "note", "role": "insensitive" },
    ]))
}

fn options(format: Format, schema: &Schema) -> Options<'_> {
    Options {
        format,
        charset: None,
        schema,
        default_role: None,
    }
}

type Rows = Vec<Vec<Option<String>>>;

fn read(bytes: &[u8], options: &Options<'_>) -> Result<(Summary, Rows), Rejected> {
    let mut rows = Rows::new();
    let mut take = |block: Block| {
        rows.extend((0..block.rows).map(|row| {
            let cells = block.columns.iter();
            cells
                .map(|column| column.cell(row).map(ToOwned::to_owned))
                .collect()
        }));
        true
    };
    let summary = ingest(bytes, options, &mut take)?;
    Ok((summary, rows))
}

fn faults(bytes: &[u8], options: &Options<'_>) -> Vec<Fault> {
    match read(bytes, options) {
        Err(Rejected::Faults(faults)) => faults,
        other => panic!("faults are expected, not {other:?}"),
    }
}

fn rows(expected: &[&[Option<&str>]]) -> Rows {
    let row = |row: &&[Option<&str>]| row.iter().map(|cell| cell.map(ToOwned::to_owned)).collect();
    expected.iter().map(row).collect()
}
