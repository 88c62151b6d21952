//! Prefixes, dates, no hierarchy; digests; leaves.

use kindred::anonymize::hierarchy::{Generalization, Uncovered};
use kindred::fault::FaultCode;
use serde_json::{Value, json};

use super::{check_tables, compile, integers, leaves_of, only, path, table};

/// Raw share of generalization of one attribute at a level: the first `kept` of the codes released, the others not.
fn raw_share(tables: &Generalization, level: usize, codes: &[usize], kept: usize) -> f64 {
    let leaves: u64 = codes[..kept]
        .iter()
        .map(|code| leaves_of(tables, level, *code))
        .sum();
    let suppressed = (codes.len() - kept) as f64;
    (leaves as f64 / tables.domain as f64 + suppressed) / codes.len() as f64
}

#[test]
fn uc_05_without_a_hierarchy_there_are_the_value_and_the_star() {
    let sex = compile(json!({})).unwrap();
    assert_eq!(sex.levels(), 2);
    assert_eq!(path(&sex, "F"), ["F", "*"]);
    let tables = check_tables(&sex, &["F", "M"]);
    assert_eq!(tables.domain, 2);
    // A domain of one is counted as two: the loss divides by it less one.
    assert_eq!(check_tables(&sex, &["F"]).domain, 2);
    assert_eq!(check_tables(&sex, &[]).domain, 2);
}

#[test]
fn prefixes_mask_one_star_per_character() {
    // algorithms.md F, T8: zip (5, 3, 1 digits, *).
    let prefix = |keep: Value| compile(json!({ "hierarchy": { "kind": "prefix", "keep": keep } }));
    let zip = prefix(json!([5, 3, 1])).unwrap();
    assert_eq!(zip.levels(), 4);
    assert_eq!(path(&zip, "02139"), ["02139", "021**", "0****", "*"]);
    // UC-72: text stays text.
    let fine = prefix(json!([5, 4])).unwrap();
    assert_eq!(path(&fine, "02134"), ["02134", "0213*", "*"]);
    // A ZIP+4 code is longer than level 0 can be.
    assert_eq!(zip.covers("17011-1402"), Err(Uncovered::OutOfRange));
    let both = prefix(json!([10, 5, 3])).unwrap();
    assert_eq!(
        path(&both, "17011-1402"),
        ["17011-1402", "17011*****", "170*******", "*"]
    );
    // Shorter codes stay whole; characters are counted, not bytes.
    assert_eq!(path(&both, "Ä1"), ["Ä1", "Ä1", "Ä1", "*"]);
    assert_eq!(path(&zip, "Äb12"), ["Äb12", "Äb1*", "Ä***", "*"]);
    check_tables(&zip, &["02", "021", "0211", "02139", "02*", "0****", "1"]);
    let faults = prefix(json!([3, 3, 0])).unwrap_err();
    assert_eq!(faults[0].code, FaultCode::HierarchyNotNested);
    assert_eq!(faults[1].code, FaultCode::OutOfRange);
    only(prefix(json!([])));
}

#[test]
fn uc_18_dates_are_read_in_the_declared_format_only() {
    let levels =
        json!({ "kind": "dates", "levels": ["day", "month", "quarter", "year", "decade"] });
    let day = compile(json!({ "type": "date", "hierarchy": levels })).unwrap();
    let expected = ["2020-03-14", "2020-03", "2020-Q1", "2020", "2020s", "*"];
    assert_eq!(path(&day, "2020-03-14"), expected);
    assert_eq!(
        path(&day, "2019-12-31")[2..],
        ["2019-Q4", "2019", "2010s", "*"]
    );
    for wrong in [
        "03/04/2020",
        "2020-13-01",
        "2021-02-29",
        "",
        "2020-03-14 10:00",
    ] {
        assert_eq!(day.covers(wrong), Err(Uncovered::Invalid), "{wrong}");
    }
    check_tables(&day, &["2020-03-14", "2020-03-15", "2019-12-31"]);

    // Without `day` the levels are the same: level 0 is the value.
    let month = json!({ "kind": "dates", "levels": ["month", "year"] });
    let month =
        compile(json!({ "type": "date", "format": "%d.%m.%Y", "hierarchy": month })).unwrap();
    assert_eq!(
        path(&month, "14.03.2020"),
        ["14.03.2020", "2020-03", "2020", "*"]
    );

    // With a time of day the day is a level of its own.
    let stamp = json!({ "kind": "dates", "levels": ["day", "year"] });
    let stamp = json!({ "type": "date", "format": "%Y-%m-%d %H:%M:%S%.3f", "hierarchy": stamp });
    let stamp = compile(stamp).unwrap();
    let expected = ["2020-03-14 01:02:03.456", "2020-03-14", "2020", "*"];
    assert_eq!(path(&stamp, "2020-03-14 01:02:03.456"), expected);

    let wrong = json!({ "kind": "dates", "levels": ["year", "month", "month"] });
    let faults = compile(json!({ "hierarchy": wrong })).unwrap_err();
    let codes: Vec<FaultCode> = faults.iter().map(|fault| fault.code).collect();
    assert_eq!(
        codes,
        [
            FaultCode::TypeConflict,
            FaultCode::HierarchyNotNested,
            FaultCode::HierarchyNotNested
        ]
    );
}

#[test]
fn a_digest_changes_with_the_hierarchy_and_nothing_else() {
    // UC-08: a replaced hierarchy is another version.
    let old = table("A;*\nB;*").unwrap().digest();
    let new = table("A;low;*\nB;low;*").unwrap().digest();
    assert_ne!(old, new);
    let again = json!({ "name": "other", "order": ["A"], "missing": ["?"],
        "hierarchy": { "kind": "table", "text": "A;*\nB;*" } });
    assert_eq!(old, compile(again).unwrap().digest());
    let trimmed = json!({ "trim": true, "hierarchy": { "kind": "table", "text": "A;*\nB;*" } });
    assert_ne!(old, compile(trimmed).unwrap().digest());
}

#[test]
fn leaves_give_the_published_shares_of_the_worked_table() {
    // algorithms.md F, T8 row 8 at levels (2, 2, 1), r8 suppressed; |D| age 60, zip 8, sex 2.
    let age =
        json!({ "kind": "intervals", "origin": 20, "widths": [10, 20], "lower": 20, "upper": 80 });
    let age = integers(&age).unwrap();
    let ages = check_tables(&age, &["23", "27", "25", "28", "41", "45", "48", "62"]);
    let each: Vec<usize> = (1..=8).collect();
    // (7 * 20/60 + 1) / 8
    assert!((raw_share(&ages, 2, &each, 7) - 0.41667).abs() < 1e-5);
    let zip = compile(json!({ "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] } })).unwrap();
    let zips = [
        "10115", "10117", "10119", "10245", "20095", "20099", "20097", "30159",
    ];
    let zips = check_tables(&zip, &zips);
    // (4 * 4/8 + 3 * 3/8 + 1) / 8
    assert!((raw_share(&zips, 2, &each, 7) - 0.51563).abs() < 1e-5);
    let sexes = check_tables(&compile(json!({})).unwrap(), &["F", "M"]);
    assert!((raw_share(&sexes, 1, &[1, 1, 1, 2, 2, 2, 1, 1], 7) - 1.0).abs() < 1e-12);
}

#[test]
fn uc_16_zip_codes_become_three_digits_or_000() {
    let zip = |more: Value| {
        let mut hierarchy = json!({ "kind": "zip3" });
        for (name, value) in more.as_object().unwrap() {
            hierarchy[name] = value.clone();
        }
        compile(json!({ "hierarchy": hierarchy }))
    };
    let newest = zip(json!({})).unwrap();
    assert_eq!(newest.levels(), 3);
    assert_eq!(path(&newest, "02139"), ["02139", "021", "*"]);
    assert_eq!(path(&newest, "10204-1234"), ["10204-1234", "000", "*"]);
    assert_eq!(path(&newest, "06390")[1], "063");
    assert_eq!(
        newest.path(None),
        Ok(vec![None, None, Some("*".to_owned())])
    );
    check_tables(&newest, &["02139", "02140", "10204", "05901"]);
    // 063 was small in 2000 only.
    let older = zip(json!({ "list": "census-2000", "width": "five" })).unwrap();
    assert_eq!(path(&older, "06390")[1], "00000");
    // A lost leading zero cannot be told from a wrong code.
    for wrong in ["2139", "0213", "O2139", "021390", " 02139"] {
        assert_eq!(newest.covers(wrong), Err(Uncovered::Invalid), "{wrong}");
    }
    let number = json!({ "type": "integer", "hierarchy": { "kind": "zip3" } });
    assert_eq!(only(compile(number)).code, FaultCode::TypeConflict);
}
