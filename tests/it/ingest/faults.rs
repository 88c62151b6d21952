//! What is refused, and with which places.

use kindred::declaration::Role;
use kindred::fault::{Fault, FaultCode};
use kindred::ingest::{Format, Options, Rejected, ingest};
use serde_json::{Value, json};

use super::{CSV, faults, options, read, rows, schema, zip_country_note};

#[test]
fn uc_01_uc_09_values_without_a_place_in_the_hierarchy_are_one_fault_per_column() {
    // UC-65: the same for every batch.
    let schema = schema(&json!([
        { "name": "zip", "role": "quasi_identifying",
          "hierarchy": { "kind": "table", "text": "1234;12**;*\n5678;56**;*" } },
    ]));
    let csv = b"zip\n01234\n1234\n9999\n01234\n\n5678\n,\n";
    let csv = &csv[..csv.len() - 2];
    let mut handed_on = 0;
    let result = ingest(csv, &options(CSV, &schema), &mut |_| {
        handed_on += 1;
        true
    });
    let Err(Rejected::Faults(faults)) = result else {
        panic!("faults are expected");
    };
    assert_eq!(handed_on, 0);
    let [fault] = &faults[..] else {
        panic!("one fault is expected, not {faults:?}");
    };
    assert_eq!(fault.code, FaultCode::HierarchyMissingValues);
    assert_eq!(fault.column.as_deref(), Some("zip"));
    assert_eq!((fault.row, fault.line), (Some(1), Some(2)));
    assert_eq!(fault.sample, ["01234", "9999"]);
    assert!(
        fault.detail.starts_with("2 distinct values (3 cells)"),
        "{}",
        fault.detail
    );
    assert!(fault.detail.ends_with("rows 1, 3, 4"), "{}", fault.detail);
    assert!(!fault.detail.contains("01234"));
}

#[test]
fn uc_13_values_out_of_range_name_their_rows() {
    let schema = schema(&json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100 } },
    ]));
    let faults = faults(b"age\n5\n105\n99\n100\n-1\n", &options(CSV, &schema));
    let [fault] = &faults[..] else {
        panic!("one fault is expected, not {faults:?}");
    };
    assert_eq!(fault.code, FaultCode::ValueOutOfRange);
    assert_eq!((fault.row, fault.line), (Some(2), Some(3)));
    assert!(fault.detail.starts_with("3 cells"), "{}", fault.detail);
    assert!(fault.detail.ends_with("rows 2, 4, 5"), "{}", fault.detail);
    assert_eq!(fault.sample, ["105", "100", "-1"]);
}

#[test]
fn uc_18_dates_follow_the_declared_format_and_missing_stays_missing() {
    let schema = schema(&json!([
        { "name": "seen", "role": "quasi_identifying", "type": "date",
          "hierarchy": { "kind": "dates", "levels": ["day", "month", "year"] } },
    ]));
    let (_, found) = read(
        b"seen,x\n2020-03-04,\n,\n".as_slice(),
        &Options {
            default_role: Some(Role::Insensitive),
            ..options(CSV, &schema)
        },
    )
    .unwrap();
    assert_eq!(found, rows(&[&[Some("2020-03-04"), None], &[None, None]]));
    let faults = faults(
        b"seen\n2020-03-04\n03/04/2020\n2020-13-01\n",
        &options(CSV, &schema),
    );
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].code, FaultCode::InvalidValue);
    assert!(
        faults[0].detail.contains("`%Y-%m-%d`"),
        "{}",
        faults[0].detail
    );
    assert!(
        faults[0].detail.ends_with("rows 2, 3"),
        "{}",
        faults[0].detail
    );
}

#[test]
fn uc_49_an_upload_without_records_is_refused() {
    let schema = zip_country_note();
    for (text, format) in [
        ("", CSV),
        ("\r\n", CSV),
        ("zip,country,note\r\n", CSV),
        ("zip,country,note", CSV),
        ("", Format::Json),
        (" [ ] ", Format::Json),
        ("", Format::Ndjson),
        ("\n \n", Format::Ndjson),
    ] {
        let faults = faults(text.as_bytes(), &options(format, &schema));
        let codes: Vec<_> = faults.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, [FaultCode::DatasetEmpty], "{text:?}");
    }
}

#[test]
fn uc_54_columns_without_a_role_are_all_named_or_take_the_default() {
    let schema = schema(&json!([
        { "name": "age", "role": "quasi_identifying" },
        { "name": "sex", "role": "quasi_identifying" },
        { "name": "survived", "role": "sensitive" },
    ]));
    let csv = b"id,name,age,sex,fare,survived,ticket,cabin\n1,a,2,F,3,x,t,c\n";
    let refused = faults(csv, &options(CSV, &schema));
    let [fault] = &refused[..] else {
        panic!("one fault is expected, not {refused:?}");
    };
    assert_eq!(fault.code, FaultCode::UndeclaredColumns);
    assert!(
        fault
            .detail
            .contains("5 columns are not declared: `id`, `name`, `fare`, `ticket`, `cabin`"),
        "{}",
        fault.detail
    );
    let taken = Options {
        default_role: Some(Role::Insensitive),
        ..options(CSV, &schema)
    };
    let (summary, found) = read(csv, &taken).unwrap();
    let added: Vec<_> = summary
        .added
        .iter()
        .map(|added| (&*added.name, added.role))
        .collect();
    let names = ["id", "name", "fare", "ticket", "cabin"];
    assert_eq!(added, names.map(|name| (name, Role::Insensitive)));
    let expected: Vec<_> = ["2", "F", "x", "1", "a", "3", "t", "c"]
        .iter()
        .map(|cell| Some((*cell).to_owned()))
        .collect();
    assert_eq!(found, std::slice::from_ref(&expected));
    let object = br#"[{"id":1,"name":"a","age":2,"sex":"F","fare":3,"survived":"x","ticket":"t","cabin":"c"}]"#;
    let (from_json, json_rows) = read(
        object,
        &Options {
            format: Format::Json,
            ..taken
        },
    )
    .unwrap();
    assert_eq!(json_rows, [expected]);
    assert_eq!(from_json.digest, summary.digest);
    assert_eq!(from_json.added, summary.added);
}

#[test]
fn missing_columns_are_all_named() {
    let schema = zip_country_note();
    for (text, format) in [
        ("country\nDE\n", CSV),
        (r#"[{"country": "DE"}]"#, Format::Json),
        (r#"{"country": "DE"}"#, Format::Ndjson),
    ] {
        let faults = faults(text.as_bytes(), &options(format, &schema));
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(faults[0].code, FaultCode::MissingColumns);
        assert!(
            faults[0].detail.contains("`zip`, `note`"),
            "{}",
            faults[0].detail
        );
    }
}

#[test]
fn uc_68_a_header_of_one_field_hints_at_the_delimiter() {
    let schema = schema(&json!([
        { "name": "a", "role": "quasi_identifying" },
        { "name": "b", "role": "insensitive" },
    ]));
    let found = faults(b"a;b\n1;2\n", &options(CSV, &schema));
    assert_eq!(found[0].code, FaultCode::UndeclaredColumns);
    assert!(found[0].detail.contains("holds `;`"), "{}", found[0].detail);
    assert_eq!(found[1].code, FaultCode::MissingColumns);
    let semicolon = Format::Csv { delimiter: b';' };
    let (_, rows_found) = read(b"a;b\n1;2\n", &options(semicolon, &schema)).unwrap();
    assert_eq!(rows_found, rows(&[&[Some("1"), Some("2")]]));
    let found = faults(b"a\tb\n1\t2\n", &options(semicolon, &schema));
    assert!(
        found[0].detail.contains("holds a tab"),
        "{}",
        found[0].detail
    );
}

#[test]
fn uc_73_field_counts_and_repeated_names_are_exact() {
    let names: Vec<String> = (1..16).map(|number| format!("c{number}")).collect();
    let attributes: Vec<_> = names
        .iter()
        .map(|name| json!({ "name": name, "role": "quasi_identifying" }))
        .collect();
    let schema = schema(&Value::Array(attributes));
    let csv = format!("{},\n{}\n", names.join(","), vec!["1"; 15].join(","));
    let found = faults(csv.as_bytes(), &options(CSV, &schema));
    let count = found
        .iter()
        .find(|fault| fault.code == FaultCode::FieldCount)
        .unwrap();
    assert_eq!(count.detail, "header has 16 fields, record 1 has 15");
    assert_eq!((count.row, count.line), (Some(1), Some(2)));

    let schema = zip_country_note();
    let found = faults(
        b"zip,country,zip,note,zip\n1,2,3,4,5\n",
        &options(CSV, &schema),
    );
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code, FaultCode::DuplicateHeader);
    assert_eq!(found[0].column.as_deref(), Some("zip"));
    assert!(
        found[0].detail.contains("positions 1, 3, 5"),
        "{}",
        found[0].detail
    );

    let found = faults(
        br#"[{"zip":"1","zip":"2","country":"","note":""}]"#,
        &options(Format::Json, &schema),
    );
    assert_eq!(
        (found[0].code, found[0].row),
        (FaultCode::DuplicateHeader, Some(1))
    );
}

#[test]
fn a_missing_subject_is_refused() {
    let schema = schema(&json!([
        { "name": "patient", "role": "identifying", "subject": true },
        { "name": "age", "role": "quasi_identifying" },
    ]));
    // White space around an identifier does not matter, so white space alone is none.
    for none in ["", "  ", "\u{a0}"] {
        let csv = format!("patient,age\n1,2\n{none},3\n");
        let found = faults(csv.as_bytes(), &options(CSV, &schema));
        assert_eq!(
            (found[0].code, found[0].row),
            (FaultCode::InvalidValue, Some(2))
        );
        assert_eq!(found[0].column.as_deref(), Some("patient"));
        assert!(found[0].sample.is_empty());
    }
}

#[test]
fn many_faults_are_counted_and_the_first_are_listed() {
    let schema = zip_country_note();
    let csv = format!("zip,country,note\n{}", "1,2\n".repeat(5_000));
    let found = faults(csv.as_bytes(), &options(CSV, &schema));
    assert_eq!(found.len(), Fault::MOST);
    assert!(
        found[Fault::MOST - 1].detail.starts_with("4801 more"),
        "{}",
        found[Fault::MOST - 1].detail
    );

    let integer =
        self::schema(&json!([{ "name": "x", "role": "quasi_identifying", "type": "integer" }]));
    let csv = format!("x\n{}", "none\n".repeat(100_000));
    let found = faults(csv.as_bytes(), &options(CSV, &integer));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].detail.starts_with("100000 cells"),
        "{}",
        found[0].detail
    );
    assert!(
        found[0].detail.ends_with("19, 20 and 99980 more"),
        "{}",
        found[0].detail
    );
    assert_eq!(found[0].sample, ["none"]);
}
