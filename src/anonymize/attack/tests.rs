//! Attacks on small releases, whole.

use serde_json::{Value, json};

use super::known::{Known, Target};
use super::reader::Classes;
use super::targets::Search;
use super::{Scene, assess};
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::declaration::{AttackDemand, DatasetDeclaration, UndeclaredDemand};

fn schema(attributes: &Value) -> Schema {
    let body = json!({"name": "d", "attributes": attributes});
    Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap()
}

/// A table of text cells, empty ones missing.
fn table(rows: &[&[&str]]) -> Table {
    let mut table = Table::with_columns(&vec![true; rows[0].len()], false);
    table.rows = rows.len();
    for (position, column) in table.columns.iter_mut().flatten().enumerate() {
        *column = cells(rows.iter().map(|row| row[position]));
    }
    table
}

fn cells<'a>(values: impl IntoIterator<Item = &'a str>) -> Column {
    let mut column = Column::default();
    for value in values {
        let code = match value {
            "" => MISSING,
            value => column.dictionary.insert(value),
        };
        column.codes.push(code);
    }
    column
}

fn scene<'a>(schema: &'a Schema, released: &'a Table, raw: &'a Table, k: u64) -> Scene<'a> {
    Scene {
        schema,
        released,
        raw,
        people: None,
        k,
    }
}

#[test]
fn tokens_are_no_undeclared_quasi_identifiers() {
    let schema = schema(&json!([
        {"name": "age", "role": "quasi_identifying"},
        {"name": "mrn", "role": "identifying", "subject": true},
        {"name": "bed", "role": "insensitive"}
    ]));
    let released = table(&[&["1", "ta", "x"], &["1", "tb", "y"]]);
    let mut raw = table(&[&["1", "", "x"], &["1", "", "y"]]);
    raw.columns[1] = None;
    let scene = scene(&schema, &released, &raw, 2);
    let report = assess(&scene, &AttackDemand::default()).unwrap();
    let told: Vec<&str> = report
        .undeclared
        .columns
        .iter()
        .map(|one| &*one.column)
        .collect();
    assert_eq!(told, ["bed"]);
    let demand = AttackDemand {
        undeclared: Some(UndeclaredDemand {
            columns: Some(vec!["mrn".to_owned()]),
            limit: None,
        }),
        ..AttackDemand::default()
    };
    assert_eq!(assess(&scene, &demand).unwrap_err().len(), 1);
}

#[test]
fn values_are_those_of_the_rows_that_were_taken() {
    let schema = schema(&json!([
        {"name": "age", "role": "quasi_identifying"},
        {"name": "dx", "role": "sensitive"}
    ]));
    let values = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let rows: Vec<[&str; 2]> = values.iter().map(|value| ["1", value]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
    let raw = table(&rows);
    let classes = Classes::group(&raw, &[0]);
    let search = Search {
        scene: &scene(&schema, &raw, &raw, 2),
        quasi: &[0],
        classes: &classes,
        labels: &[],
    };
    let one = Target {
        known: vec![Known::Nothing],
        class: None,
        value: None,
    };
    // Every fourth of nine rows: three, which every third would be too.
    let people = search.with_values(&vec![one; 3], 4, 1).unwrap();
    let found: Vec<Option<u32>> = people.iter().map(|person| person.value).collect();
    assert_eq!(found, [Some(1), Some(5), Some(9)]);
}
