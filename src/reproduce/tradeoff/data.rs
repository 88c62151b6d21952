//! The tables that are compared on: a bundled sample, or the public files of a folder.

use std::path::Path;

use rustc_hash::FxHashSet;
use serde_json::json;

use super::super::Error;
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::table::{BlockBuilder, Schema, Table};
use crate::declaration::DatasetDeclaration;

const SAMPLE: &str = include_str!("../../../data/credit_default/sample.csv");
const AGE: &str = include_str!("../../../data/credit_default/credit_default_hierarchy_AGE.csv");
const EDUCATION: &str =
    include_str!("../../../data/credit_default/credit_default_hierarchy_EDUCATION.csv");
const LIMIT: &str =
    include_str!("../../../data/credit_default/credit_default_hierarchy_LIMIT_BAL.csv");
const DIABETES_AGE: &str = include_str!("../../../data/diabetes130/diabetes130_hierarchy_age.csv");
const ADMISSION: &str =
    include_str!("../../../data/diabetes130/diabetes130_hierarchy_admission_type_id.csv");
const DIAGNOSIS: &str = include_str!("../../../data/diabetes130/diabetes130_hierarchy_diag_1.csv");
/// Level of the chapter in the hierarchy of diagnoses.
const CHAPTER: usize = 3;

/// A table with what it is.
#[derive(Debug)]
pub struct Source {
    /// What it is, for a heading.
    pub title: String,
    /// Its declaration.
    pub declaration: DatasetDeclaration,
    /// The same, compiled.
    pub schema: Schema,
    /// Its rows.
    pub table: Table,
    /// Position of the sensitive attribute, which is the one predicted.
    pub target: usize,
}

/// The first rows of the bundled sample.
///
/// # Errors
/// It does not read.
pub(super) fn bundled(rows: usize) -> Result<Source, Error> {
    // No cell of the sample holds a line break.
    let lines = SAMPLE.split_inclusive('\n').take(rows.saturating_add(1));
    credit(
        "credit_default, bundled sample: 3,000 of 30,000 clients",
        &lines.collect::<String>(),
    )
}

/// The tables of a folder: `credit_default/UCI_Credit_Card.csv` and `diabetes130/diabetic_data.csv`, as far as they are
/// there.
///
/// # Errors
/// None is there, or one does not read.
pub(super) fn of_folder(folder: &Path) -> Result<Vec<Source>, Error> {
    let read = |name: &str| match std::fs::read_to_string(folder.join(name)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::Data(error.to_string())),
    };
    let mut found = Vec::new();
    if let Some(text) = read("credit_default/UCI_Credit_Card.csv")? {
        found.push(credit("credit_default", &text)?);
    }
    if let Some(text) = read("diabetes130/diabetic_data.csv")? {
        found.push(diabetes(&text)?);
    }
    if found.is_empty() {
        let detail = "the folder has neither credit_default/UCI_Credit_Card.csv nor diabetes130/diabetic_data.csv";
        return Err(Error::Data(detail.to_owned()));
    }
    Ok(found)
}

fn credit(title: &str, text: &str) -> Result<Source, Error> {
    let body = json!({ "name": "credit_default", "attributes": [
        { "name": "AGE", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "table", "text": AGE } },
        { "name": "SEX", "role": "quasi_identifying" },
        { "name": "EDUCATION", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": EDUCATION } },
        { "name": "MARRIAGE", "role": "quasi_identifying" },
        { "name": "LIMIT_BAL", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "table", "text": LIMIT } },
        { "name": "default.payment.next.month", "role": "sensitive" },
    ]});
    source(title, &body, text, |_, cells| Some(cells))
}

/// One row per patient, the first in the file: a patient is one person. The diagnosis is told by its chapter.
fn diabetes(text: &str) -> Result<Source, Error> {
    let body = json!({ "name": "diabetes130", "attributes": [
        { "name": "race", "role": "quasi_identifying", "missing": ["?"] },
        { "name": "gender", "role": "quasi_identifying" },
        { "name": "age", "role": "quasi_identifying", "order": AGES,
          "hierarchy": { "kind": "table", "text": DIABETES_AGE } },
        { "name": "admission_type_id", "role": "quasi_identifying",
          "hierarchy": { "kind": "table", "text": ADMISSION } },
        { "name": "diag_1", "role": "sensitive", "missing": ["?"] },
    ]});
    let diagnoses = json!({ "name": "d", "attributes": [
        { "name": "diag_1", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": DIAGNOSIS } }]});
    let diagnoses =
        DatasetDeclaration::parse(&diagnoses).map_err(|faults| super::refused(&faults))?;
    let chapters = Hierarchy::compile(&diagnoses.attributes[0], "")
        .map_err(|faults| super::refused(&faults))?;
    let mut met: FxHashSet<String> = FxHashSet::default();
    let first = |patient: &str, mut cells: Vec<Option<String>>| {
        if !met.insert(patient.to_owned()) {
            return None;
        }
        let diagnosis = cells[4].take();
        cells[4] = diagnosis.and_then(|code| {
            let path = chapters.path(Some(&code)).ok()?;
            path.into_iter().nth(CHAPTER)?
        });
        Some(cells)
    };
    source(
        "diabetes130, first encounter of each patient",
        &body,
        text,
        first,
    )
}

const AGES: [&str; 10] = [
    "[0-10)", "[10-20)", "[20-30)", "[30-40)", "[40-50)", "[50-60)", "[60-70)", "[70-80)",
    "[80-90)", "[90-100)",
];

/// Reads the declared columns of a CSV; `keep` sees `patient_nbr` (empty where there is none) and the row's cells.
fn source(
    title: &str,
    body: &serde_json::Value,
    text: &str,
    mut keep: impl FnMut(&str, Vec<Option<String>>) -> Option<Vec<Option<String>>>,
) -> Result<Source, Error> {
    let broken = |error: csv::Error| Error::Data(error.to_string());
    let declaration = DatasetDeclaration::parse(body).map_err(|faults| super::refused(&faults))?;
    let schema = Schema::compile(&declaration).map_err(|faults| super::refused(&faults))?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(broken)?.clone();
    let place = |name: &str| header.iter().position(|found| found == name);
    let places: Option<Vec<usize>> = declaration
        .attributes
        .iter()
        .map(|attribute| place(&attribute.name))
        .collect();
    let places = places.ok_or_else(|| Error::Data(format!("{title}: a column is not there")))?;
    let patient = place("patient_nbr");
    let mut builder = BlockBuilder::new(places.len());
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let cells = places.iter().zip(&declaration.attributes);
        let cells = cells.map(|(&place, attribute)| {
            let cell = record.get(place).unwrap_or_default();
            let is_missing = attribute.missing.iter().any(|missing| missing == cell);
            (!is_missing).then(|| cell.to_owned())
        });
        let patient = patient
            .and_then(|place| record.get(place))
            .unwrap_or_default();
        if let Some(cells) = keep(patient, cells.collect()) {
            for (column, cell) in cells.iter().enumerate() {
                builder.push(column, cell.as_deref());
            }
        }
    }
    let block = builder.finish();
    let mut table = Table::with_columns(&schema.releasable(), false);
    table.rows = block.rows;
    for (column, block) in table.columns.iter_mut().zip(&block.columns) {
        if let Some(column) = column {
            column.append(block);
        }
    }
    let target = places.len() - 1;
    Ok(Source {
        title: format!("{title} ({} rows)", table.rows),
        declaration,
        schema,
        table,
        target,
    })
}

/// The table of some of its rows.
#[must_use]
pub(super) fn subset(table: &Table, rows: &[u32]) -> Table {
    let mut part = table.clone();
    part.rows = rows.len();
    for column in part.columns.iter_mut().flatten() {
        column.codes = rows.iter().map(|&row| column.codes[row as usize]).collect();
    }
    part
}
