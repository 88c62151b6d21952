//! What arrives of an upload without faults.

use kindred::anonymize::table::BlockBuilder;
use kindred::ingest::{Format, Rejected, ingest};
use serde_json::json;

use super::{CSV, Rows, options, read, rows, schema, zip_country_note};

#[test]
fn appendix_14_every_cell_arrives_as_it_was_written() {
    // UC-67, UC-70, UC-71, UC-72
    let bytes = "\u{feff}\"zip\",country,note\r\n02134,NA,\"line 1\nline 2\"\r\n00501,,\"say \"\"no\"\", leave\"\r\n";
    let schema = zip_country_note();
    let (summary, found) = read(bytes.as_bytes(), &options(CSV, &schema)).unwrap();
    let expected = rows(&[
        &[Some("02134"), Some("NA"), Some("line 1\nline 2")],
        &[Some("00501"), None, Some("say \"no\", leave")],
    ]);
    assert_eq!(found, expected);
    assert_eq!(summary.rows, 2);
    assert_eq!(summary.trimmed_cells, 0);
}

#[test]
fn uc_42_the_same_rows_have_one_digest_in_every_form() {
    let schema = zip_country_note();
    let csv = "note,zip,country\nx,02134,NA\n,00501,\n";
    let array =
        r#"[{"zip": "02134", "country": "NA", "note": "x"}, {"zip": "00501", "country": null}]"#;
    let lines = "{\"country\":\"NA\",\"zip\":\"02134\",\"note\":\"x\"}\n\n{\"zip\":\"00501\",\"note\":null}\n";
    let read = |text: &str, format| read(text.as_bytes(), &options(format, &schema)).unwrap();
    let (from_csv, csv_rows) = read(csv, CSV);
    let (from_array, array_rows) = read(array, Format::Json);
    let (from_lines, line_rows) = read(lines, Format::Ndjson);
    assert_eq!(csv_rows, array_rows);
    assert_eq!(csv_rows, line_rows);
    assert_eq!(from_csv.digest, from_array.digest);
    assert_eq!(from_csv.digest, from_lines.digest);
    let (other, _) = read("zip,country,note\n02134,NA,x\n,00501,\n", CSV);
    assert_ne!(from_csv.digest, other.digest);
}

#[test]
fn uc_71_missing_is_what_the_caller_lists() {
    let listed = schema(&json!([
        { "name": "country", "role": "quasi_identifying", "missing": ["", "NA"] },
    ]));
    let plain = schema(&json!([{ "name": "country", "role": "quasi_identifying" }]));
    let csv = b"country\nNA\n\"NA\"\n\"\"\nDE\n";
    let (_, found) = read(csv, &options(CSV, &listed)).unwrap();
    assert_eq!(found, rows(&[&[None], &[None], &[None], &[Some("DE")]]));
    let (_, found) = read(csv, &options(CSV, &plain)).unwrap();
    assert_eq!(
        found,
        rows(&[&[Some("NA")], &[Some("NA")], &[None], &[Some("DE")]])
    );
    let (_, found) = read(
        br#"[{"country":null},{"country":"NA"}]"#,
        &options(Format::Json, &plain),
    )
    .unwrap();
    assert_eq!(found, rows(&[&[None], &[Some("NA")]]));
}

#[test]
fn uc_72_a_json_number_keeps_its_text() {
    let schema = schema(&json!([
        { "name": "a", "role": "quasi_identifying" },
        { "name": "b", "role": "insensitive", "type": "decimal" },
        { "name": "c", "role": "insensitive" },
    ]));
    let body =
        br#"[{"a": 2134, "b": 1.50, "c": true}, {"a": "02134", "b": "1e3", "c": "a\u00e9\n"}]"#;
    let (_, found) = read(body, &options(Format::Json, &schema)).unwrap();
    let expected = rows(&[
        &[Some("2134"), Some("1.50"), Some("true")],
        &[Some("02134"), Some("1e3"), Some("aé\n")],
    ]);
    assert_eq!(found, expected);
}

#[test]
fn equal_numbers_and_dates_become_equal_texts_where_classes_depend_on_them() {
    let schema = schema(&json!([
        { "name": "id", "role": "identifying", "type": "integer" },
        { "name": "age", "role": "quasi_identifying", "type": "integer" },
        { "name": "weight", "role": "sensitive", "type": "decimal" },
        { "name": "born", "role": "quasi_identifying", "type": "date", "format": "%d.%m.%Y" },
        { "name": "charge", "role": "insensitive", "type": "decimal" },
    ]));
    let csv = b"id,age,weight,born,charge\n01,+7,1.50,5.3.2020,1.50\n2,7,1.5,05.03.2020,1e2\n";
    let (summary, found) = read(csv, &options(CSV, &schema)).unwrap();
    let born = Some("05.03.2020");
    let expected = rows(&[
        &[Some("01"), Some("7"), Some("1.5"), born, Some("1.50")],
        &[Some("2"), Some("7"), Some("1.5"), born, Some("1e2")],
    ]);
    assert_eq!(found, expected);
    let normalized: Vec<_> = summary
        .warnings
        .iter()
        .map(|warning| (&*warning.code, warning.column.as_deref()))
        .collect();
    assert_eq!(
        normalized,
        [
            ("normalized_cells", Some("age")),
            ("normalized_cells", Some("weight")),
            ("normalized_cells", Some("born"))
        ]
    );
}

#[test]
fn uc_78_outer_spaces_go_where_trim_is_declared_and_are_counted() {
    let attribute =
        |trim: bool| schema(&json!([{ "name": "sex", "role": "quasi_identifying", "trim": trim }]));
    let csv = b"sex\n Male\nMale\n  \n";
    let (summary, found) = read(csv, &options(CSV, &attribute(true))).unwrap();
    assert_eq!(found, rows(&[&[Some("Male")], &[Some("Male")], &[None]]));
    assert_eq!(summary.trimmed_cells, 2);
    let (summary, found) = read(csv, &options(CSV, &attribute(false))).unwrap();
    assert_eq!(
        found,
        rows(&[&[Some(" Male")], &[Some("Male")], &[Some("  ")]])
    );
    assert_eq!(summary.trimmed_cells, 0);
}

#[test]
fn uc_55_a_record_number_as_quasi_identifier_is_warned_of() {
    let schema = schema(&json!([
        { "name": "record", "role": "quasi_identifying" },
        { "name": "ward", "role": "quasi_identifying" },
        { "name": "dx", "role": "sensitive" },
    ]));
    let table = |rows: usize| {
        let lines = (0..rows).map(|row| {
            format!(
                "{row},{},{}\n",
                row % 7,
                if row % 5 == 0 { "" } else { "x" }
            )
        });
        format!("record,ward,dx\n{}", lines.collect::<String>())
    };
    let warnings = |rows| {
        let (summary, _) = read(table(rows).as_bytes(), &options(CSV, &schema)).unwrap();
        let pairs = summary
            .warnings
            .into_iter()
            .map(|warning| (warning.code, warning.column.unwrap(), warning.detail));
        pairs.collect::<Vec<_>>()
    };
    let found = warnings(2 * BlockBuilder::ROWS + 5);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((&*found[0].0, &*found[0].1), ("unique_values", "record"));
    assert!(
        found[0].2.contains("65541 distinct values in 65541 rows"),
        "{}",
        found[0].2
    );
    assert!(found[0].2.contains("`identifying`"));
    assert_eq!((&*found[1].0, &*found[1].1), ("missing_sensitive", "dx"));
    assert!(found[1].2.contains("\"missing\": \"exempt\""));
    // Too few rows say nothing about a column.
    assert!(
        warnings(19)
            .iter()
            .all(|warning| warning.0 != "unique_values")
    );
}

#[test]
fn a_value_that_returns_blocks_later_is_not_unique() {
    let schema = schema(&json!([{ "name": "record", "role": "quasi_identifying" }]));
    let mut csv = String::from("record\n");
    for row in 0..BlockBuilder::ROWS + 10 {
        csv += &row.to_string();
        csv.push('\n');
    }
    csv += "3\n";
    let (summary, _) = read(csv.as_bytes(), &options(CSV, &schema)).unwrap();
    assert_eq!(summary.warnings, []);
}

#[test]
fn uc_75_types_and_missing_markers_never_touch_the_header() {
    let schema = schema(&json!([
        { "name": "int", "role": "quasi_identifying", "type": "integer", "missing": ["int", ""] },
    ]));
    let (_, found) = read(b"int\n4\nint\n", &options(CSV, &schema)).unwrap();
    assert_eq!(found, rows(&[&[Some("4")], &[None]]));
}

#[test]
fn blocks_are_bounded_and_join_to_all_rows() {
    let schema = zip_country_note();
    let rows = BlockBuilder::ROWS + 17;
    let csv = format!("zip,country,note\n{}", "00501,DE,x\n".repeat(rows));
    let mut sizes = Vec::new();
    let summary = ingest(csv.as_bytes(), &options(CSV, &schema), &mut |block| {
        sizes.push(block.rows);
        true
    })
    .unwrap();
    assert_eq!(sizes, [BlockBuilder::ROWS, 17]);
    assert_eq!(summary.rows, rows as u64);
    let refused = ingest(csv.as_bytes(), &options(CSV, &schema), &mut |_| false);
    assert!(matches!(refused, Err(Rejected::Abandoned)));
}

proptest::proptest! {
    /// UC-70: whatever a CSV writer quotes, and whatever JSON escapes, arrives as it was.
    #[test]
    fn any_text_arrives_as_it_was(table in proptest::collection::vec([".*", "[\"\r\n,;a]*"], 1..20)) {
        let schema = schema(&json!([
            { "name": "a", "role": "quasi_identifying" },
            { "name": "b", "role": "insensitive" },
        ]));
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["a", "b"]).unwrap();
        let mut objects = Vec::new();
        for [a, b] in &table {
            writer.write_record([a, b]).unwrap();
            objects.push(json!({ "b": b, "a": a }));
        }
        let (from_csv, found) = read(&writer.into_inner().unwrap(), &options(CSV, &schema)).unwrap();
        let cell = |text: &String| (!text.is_empty()).then(|| text.clone());
        let expected: Rows = table.iter().map(|row| row.iter().map(cell).collect()).collect();
        proptest::prop_assert_eq!(&found, &expected);
        let array = serde_json::to_vec(&objects).unwrap();
        let (from_json, found) = read(&array, &options(Format::Json, &schema)).unwrap();
        proptest::prop_assert_eq!(&found, &expected);
        proptest::prop_assert_eq!(from_csv.digest, from_json.digest);
    }

    /// No bytes whatever make the reader panic.
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), quotes in "[\\[{\":,\\}\\]\r\n ab]*") {
        let schema = schema(&json!([{ "name": "a", "role": "quasi_identifying" }]));
        for format in [CSV, Format::Json, Format::Ndjson] {
            let _ = read(&bytes, &options(format, &schema));
            let _ = read(quotes.as_bytes(), &options(format, &schema));
            let _ = read(format!("a\n{quotes}").as_bytes(), &options(format, &schema));
            let _ = read(format!("[{quotes}").as_bytes(), &options(format, &schema));
        }
    }
}
