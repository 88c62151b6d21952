//! The forms of released rows.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use kindred::anonymize::table::{Block, BlockBuilder};
use kindred::form::{Form, Writer};

fn block(rows: &[&[Option<&str>]]) -> Block {
    let mut builder = BlockBuilder::new(rows[0].len());
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            builder.push(column, *cell);
        }
    }
    builder.finish()
}

fn written(form: Form, columns: &[&str], escape: &[bool], blocks: &[Block]) -> String {
    let columns = columns.iter().map(|&name| name.to_owned()).collect();
    let mut writer = Writer::new(form, columns, escape.to_vec());
    let mut out = Vec::new();
    writer.begin(&mut out);
    for block in blocks {
        writer.write(block, &mut out);
    }
    writer.end(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_quotes_only_what_needs_it_and_tells_empty_from_missing() {
    let rows = block(&[
        &[Some("01234"), Some("a, b"), None],
        &[Some("say \"ah\""), Some(""), Some("two\nlines")],
    ]);
    let text = written(
        Form::Csv,
        &["zip", "free, text", "note"],
        &[false; 3],
        &[rows],
    );
    assert_eq!(
        text,
        "zip,\"free, text\",note\n01234,\"a, b\",\n\"say \"\"ah\"\"\",\"\",\"two\nlines\"\n"
    );
}

#[test]
fn json_and_ndjson_hold_the_same_cells_as_csv_with_null_for_missing() {
    let blocks = [
        block(&[&[Some("01234"), None]]),
        block(&[&[Some("é\"\\\u{1}"), Some("")], &[None, Some("x")]]),
    ];
    let array = written(Form::Json, &["zip", "a\"b"], &[false; 2], &blocks);
    let lines = written(Form::Ndjson, &["zip", "a\"b"], &[false; 2], &blocks);
    let expected = serde_json::json!([
        { "zip": "01234", "a\"b": null },
        { "zip": "é\"\\\u{1}", "a\"b": "" },
        { "zip": null, "a\"b": "x" },
    ]);
    let parsed: serde_json::Value = serde_json::from_str(&array).unwrap();
    assert_eq!(parsed, expected);
    let parsed: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(serde_json::Value::from(parsed), expected);
}

#[test]
fn no_rows_are_a_header_an_empty_array_and_nothing() {
    assert_eq!(written(Form::Csv, &["a", "b"], &[false; 2], &[]), "a,b\n");
    assert_eq!(written(Form::Json, &["a"], &[false], &[]), "[]\n");
    assert_eq!(written(Form::Ndjson, &["a"], &[false], &[]), "");
}

#[test]
fn a_missing_cell_of_a_single_column_is_still_a_row_to_a_reader() {
    let rows = block(&[&[Some("x")], &[None], &[Some("y")]]);
    let text = written(Form::Csv, &["only"], &[false], &[rows]);
    assert_eq!(text, "only\nx\n\"\"\ny\n");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    assert_eq!(reader.records().count(), 3);
}

// UC-81
#[test]
fn uc_81_formulas_stay_as_they_are_unless_escaping_is_asked_for() {
    let rows = [
        block(&[&[Some("=cmd|' /C calc'!A0"), Some("-5")]]),
        block(&[&[Some("@sum(1,2)"), Some("+1")]]),
    ];
    let plain = written(Form::Csv, &["text", "number"], &[false, false], &rows);
    assert_eq!(
        plain,
        "text,number\n=cmd|' /C calc'!A0,-5\n\"@sum(1,2)\",+1\n"
    );
    let escaped = written(Form::Csv, &["text", "number"], &[true, false], &rows);
    assert_eq!(
        escaped,
        "text,number\n'=cmd|' /C calc'!A0,-5\n\"'@sum(1,2)\",+1\n"
    );
}

// UC-80
#[test]
fn uc_80_csv_and_json_hold_the_same_rows_and_cells() {
    let blocks = [block(&[
        &[Some("[20, 30)"), Some("*")],
        &[Some("021**"), Some("\u{feff}odd\r")],
        &[Some("90+"), Some("*")],
    ])];
    let text = written(Form::Csv, &["age", "zip"], &[false; 2], &blocks);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let from_csv: Vec<Vec<String>> = reader
        .records()
        .map(|record| record.unwrap().iter().map(str::to_owned).collect())
        .collect();
    let text = written(Form::Json, &["age", "zip"], &[false; 2], &blocks);
    let objects: Vec<std::collections::BTreeMap<String, String>> =
        serde_json::from_str(&text).unwrap();
    let from_json: Vec<Vec<String>> = objects
        .into_iter()
        .map(|object| object.into_values().collect())
        .collect();
    assert_eq!(from_csv, from_json);
}
