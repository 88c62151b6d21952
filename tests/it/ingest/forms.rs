//! Uploads that are broken as files: cut off, badly encoded, not the form they claim to be.

use std::io::{self, Read};

use kindred::fault::FaultCode;
use kindred::ingest::{Format, Options, Rejected, ingest};
use serde_json::json;

use super::{CSV, faults, options, read, rows, schema, zip_country_note};

#[test]
fn uc_76_json_that_is_none_names_the_place() {
    let schema = schema(&json!([{ "name": "x", "role": "quasi_identifying", "type": "decimal" }]));
    for (text, format, place, row) in [
        (
            "[{\"x\": 1},\n {\"x\": NaN}]",
            Format::Json,
            "line 2, column 8",
            2,
        ),
        ("[{\"x\": 1}] []", Format::Json, "line 1, column 12", 2),
        ("[{\"x\": 1}", Format::Json, "line 1, column 10", 2),
        (
            "{\"x\": 1}\n{\"x\": NaN}\n{\"x\": 2}\n",
            Format::Ndjson,
            "line 2, column 7",
            2,
        ),
    ] {
        let found = faults(text.as_bytes(), &options(format, &schema));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].code, FaultCode::MalformedJson, "{text}");
        assert_eq!(found[0].row, Some(row), "{text}");
        assert!(
            found[0].detail.starts_with(place),
            "{text}: {}",
            found[0].detail
        );
    }
    let found = faults(
        br#"[{"x": "NaN"}, {"x": 1}, {"x": "inf"}]"#,
        &options(Format::Json, &schema),
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].code, found[0].column.as_deref()),
        (FaultCode::InvalidValue, Some("x"))
    );
    assert!(
        found[0].detail.ends_with("rows 1, 3"),
        "{}",
        found[0].detail
    );
    let found = faults(br#"[{"x": [1]}]"#, &options(Format::Json, &schema));
    assert_eq!(
        (found[0].code, found[0].row),
        (FaultCode::InvalidValue, Some(1))
    );
    let found = faults(b"{\"x\": 1}", &options(Format::Json, &schema));
    assert_eq!(found[0].code, FaultCode::WrongType);
}

#[test]
fn a_broken_line_of_ndjson_does_not_hide_the_faults_after_it() {
    let schema = schema(&json!([{ "name": "x", "role": "quasi_identifying", "type": "integer" }]));
    let text = b"{\"x\": 1, \"x\"}\n{\"x\": 1}\n[]\n{\"x\": \"one\"}\n{\"x\": 1} 2\n";
    let found = faults(text, &options(Format::Ndjson, &schema));
    let places: Vec<_> = found
        .iter()
        .map(|fault| (fault.code, fault.row, fault.line))
        .collect();
    assert_eq!(
        places,
        [
            (FaultCode::MalformedJson, Some(1), Some(1)),
            (FaultCode::WrongType, Some(3), Some(3)),
            (FaultCode::InvalidValue, Some(4), Some(4)),
            (FaultCode::MalformedJson, Some(5), Some(5)),
        ]
    );
}

#[test]
fn a_file_cut_off_inside_quotes_is_refused_where_the_quote_opens() {
    let schema = zip_country_note();
    let csv = b"zip,country,note\r\n1,DE,\"a\r\nb\"\r\n\r\n2,DE,\"cut\r\n3,DE,x\r\n";
    let found = faults(csv, &options(CSV, &schema));
    let [fault] = &found[..] else {
        panic!("one fault is expected, not {found:?}");
    };
    assert_eq!(fault.code, FaultCode::UnterminatedQuote);
    assert_eq!((fault.row, fault.line), (Some(2), Some(5)));
    // Closed at the very end: nothing is wrong.
    let (_, found) = read(b"zip,country,note\n1,DE,\"a\"", &options(CSV, &schema)).unwrap();
    assert_eq!(found, rows(&[&[Some("1"), Some("DE"), Some("a")]]));
}

#[test]
fn lines_are_counted_through_blank_lines_quotes_and_both_line_ends() {
    let schema = zip_country_note();
    for end in ["\n", "\r\n"] {
        let lines = [
            "zip,country,note",
            "1,DE,\"two",
            "lines\"",
            "",
            "",
            "2,DE",
            "3,DE,x",
            "4",
        ];
        let csv = lines.join(end);
        let found = faults(csv.as_bytes(), &options(CSV, &schema));
        let places: Vec<_> = found.iter().map(|fault| (fault.row, fault.line)).collect();
        assert_eq!(places, [(Some(2), Some(6)), (Some(4), Some(8))], "{end:?}");
    }
}

#[test]
fn undecodable_bytes_are_refused_with_their_records_and_nothing_is_replaced() {
    let schema = zip_country_note();
    let csv = b"zip,country,note\n1,DE,M\xfcller\n2,DE,x\n3,DE,\xff\xff\n4,DE\n";
    let found = faults(csv, &options(CSV, &schema));
    assert_eq!(found[0].code, FaultCode::InvalidEncoding);
    assert_eq!((found[0].row, found[0].line), (Some(1), Some(2)));
    assert!(found[0].detail.contains("UTF-8"), "{}", found[0].detail);
    assert!(
        found[0].detail.ends_with("rows 1, 3"),
        "{}",
        found[0].detail
    );
    assert_eq!(
        (found[1].code, found[1].row),
        (FaultCode::FieldCount, Some(4))
    );
    let json = b"[{\"zip\":\"1\",\"country\":\"\xff\",\"note\":null},{\"zip\":\"1\",\"country\":\"DE\",\"note\":null}]";
    let found = faults(json, &options(Format::Json, &schema));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].code, found[0].row),
        (FaultCode::InvalidEncoding, Some(1))
    );

    let latin = Options {
        charset: encoding_rs::Encoding::for_label(b"iso-8859-1"),
        ..options(CSV, &schema)
    };
    let (_, found) = read(b"zip,country,note\n1,DE,M\xfcller\n", &latin).unwrap();
    assert_eq!(found, rows(&[&[Some("1"), Some("DE"), Some("Müller")]]));
}

#[test]
fn a_record_that_never_ends_is_refused_before_it_fills_memory() {
    struct Endless(&'static [u8], u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if let Some((&byte, rest)) = self.0.split_first() {
                (buffer[0], self.0) = (byte, rest);
                return Ok(1);
            }
            assert!(
                self.1 < 64 << 20,
                "read on although the record is far too long"
            );
            buffer.fill(b'x');
            self.1 += buffer.len() as u64;
            Ok(buffer.len())
        }
    }
    let schema = zip_country_note();
    for (begin, format) in [
        (&b"zip,country,note\n1,2,\""[..], CSV),
        (b"[{\"zip\":\"", Format::Json),
        (b"{\"zip\":\"", Format::Ndjson),
    ] {
        let result = ingest(Endless(begin, 0), &options(format, &schema), &mut |_| true);
        let Err(Rejected::Faults(found)) = result else {
            panic!("faults are expected");
        };
        assert_eq!(
            (found[0].code, found[0].row),
            (FaultCode::InvalidValue, Some(1))
        );
    }
}

#[test]
fn a_reader_that_fails_is_no_fault_of_the_upload() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::ConnectionReset))
        }
    }
    let schema = zip_country_note();
    for format in [CSV, Format::Json, Format::Ndjson] {
        let result = ingest(Broken, &options(format, &schema), &mut |_| true);
        assert!(matches!(result, Err(Rejected::Read(_))));
    }
}
