//! Tables and taxonomies.

use std::path::Path;

use kindred::anonymize::hierarchy::Uncovered;
use kindred::fault::FaultCode;
use serde_json::json;

use super::{check_tables, compile, dictionary, leaves_of, only, path, table};

#[test]
fn uc_01_a_value_without_a_line_is_not_covered() {
    let zip = table("10115;101**;*\n10245;102**;*").unwrap();
    assert_eq!(zip.covers("10115"), Ok(()));
    assert_eq!(zip.covers("20095"), Err(Uncovered::Missing));
    // The code of the first value without a place.
    let codes = dictionary(&["10115", "20095", "30159"]);
    assert_eq!(zip.encode(&codes).unwrap_err(), 2);
}

#[test]
fn uc_02_two_parents_of_one_value_are_ambiguous_and_identical_lines_are_harmless() {
    let fault = only(table("2;A;*\n1;A;*\n1;B;*"));
    assert_eq!(fault.code, FaultCode::HierarchyAmbiguous);
    assert_eq!(fault.line, Some(3));
    assert!(fault.detail.contains("lines 2 and 3"), "{}", fault.detail);
    assert_eq!(fault.sample, ["1"]);
    assert_eq!(fault.column.as_deref(), Some("column"));
    assert_eq!(fault.pointer, "/attributes/3/hierarchy/text");

    let repeated = table("1;A;*\n1;A;*\n2;B;*").unwrap();
    assert_eq!(check_tables(&repeated, &["1", "2"]).domain, 2);
}

#[test]
fn uc_04_a_short_line_is_ragged_and_never_padded() {
    let fault = only(table("a;x;*\nb;*"));
    assert_eq!(fault.code, FaultCode::HierarchyRagged);
    assert_eq!(fault.line, Some(2));
    assert_eq!(fault.detail, "line 2 has 2 levels, expected are 3");
    // The odd one is told, not the many.
    assert_eq!(only(table("a;*\nb;x;*\nc;x;*")).line, Some(1));
    let fault = only(table("a;;*\nb;x;*"));
    assert_eq!(fault.code, FaultCode::HierarchyInvalid);
}

#[test]
fn a_label_with_two_parents_does_not_nest() {
    let fault = only(table("a;x;north;*\nb;x;south;*\nc;x;south;*\nd;y;south;*"));
    assert_eq!(fault.code, FaultCode::HierarchyNotNested);
    assert_eq!(fault.line, Some(2));
    assert!(fault.detail.contains("level 1"), "{}", fault.detail);
    assert!(fault.detail.contains("lines 1 and 2"), "{}", fault.detail);
    assert_eq!(fault.sample, ["x"]);
}

#[test]
fn all_faults_of_a_table_come_at_once_and_are_bounded() {
    let faults = table("a;x;*\na;y;*\nb;x\nc;;*").unwrap_err();
    // The ragged line alone: what it means for the others cannot be said.
    assert_eq!(faults[0].code, FaultCode::HierarchyRagged);
    let text: Vec<String> = (0..200)
        .map(|row| format!("v;{row};*\nw{row};;*"))
        .collect();
    let faults = table(&text.join("\n")).unwrap_err();
    assert_eq!(faults.len(), 51);
    assert_eq!(faults[50].code, FaultCode::MoreFaults);
    assert!(
        faults
            .iter()
            .any(|f| f.code == FaultCode::HierarchyAmbiguous)
    );
}

#[test]
fn a_missing_value_is_a_node_of_its_own_below_the_top() {
    // User-cases D2.
    let zip = table("10115;101**;*\n10245;102**;*").unwrap();
    assert_eq!(zip.path(None).unwrap(), [None, None, Some("*".to_owned())]);
    let tables = check_tables(&zip, &["10115", "10245"]);
    assert!(tables.levels[1].node_of[1..].iter().all(|&node| node != 0));
}

#[test]
fn a_line_for_a_missing_text_is_harmless() {
    let race = compile(json!({ "missing": ["?"], "hierarchy": { "kind": "table",
        "text": "?;unknown;*\nwhite;light;*\nblack;dark;*\n?;other;*" } }))
    .unwrap();
    assert_eq!(race.levels(), 3);
    assert_eq!(check_tables(&race, &["white", "black"]).domain, 2);
    assert_eq!(race.covers("?"), Err(Uncovered::Missing));
}

#[test]
fn tables_are_read_as_files_are_written() {
    let text = "\u{feff}\"a;1\";\"say \"\"x\"\"\";*\r\n\r\n   \r\n b ;y;*\r\n";
    let fields = json!({ "trim": true, "hierarchy": { "kind": "table", "text": text } });
    let hierarchy = compile(fields).unwrap();
    assert_eq!(path(&hierarchy, "a;1"), ["a;1", "say \"x\"", "*"]);
    assert_eq!(path(&hierarchy, "b"), ["b", "y", "*"]);

    let fault = only(table("\n\na;x;*\n\n\nb;*"));
    assert_eq!(fault.line, Some(6));
    let fault = only(table("a;x;*\nb;\"y;*\n"));
    assert_eq!(fault.code, FaultCode::UnterminatedQuote);
    assert_eq!(fault.line, Some(2));

    let comma = json!({ "kind": "table", "delimiter": ",", "text": "a,x,*\nb,y,*" });
    assert_eq!(compile(json!({ "hierarchy": comma })).unwrap().levels(), 3);
    let rows = json!({ "kind": "table", "rows": [["\u{feff}a", "x"], ["b", "y"]] });
    let rows = compile(json!({ "hierarchy": rows })).unwrap();
    assert_eq!(path(&rows, "a"), ["a", "x", "*"]);
    for wrong in [
        json!({ "kind": "table" }),
        json!({ "kind": "table", "text": "a;*", "rows": [["a", "*"]] }),
        json!({ "kind": "table", "text": "\n \n" }),
        json!({ "kind": "table", "delimiter": ";;", "text": "a;*" }),
    ] {
        only(compile(json!({ "hierarchy": wrong })));
    }
}

#[test]
fn the_root_of_a_table_is_the_single_label_of_its_last_column_or_is_added() {
    // As in integer-coded public files: the root bears a number, and is released as `*`.
    let coded = table("0;8;7\n1;8;7\n2;9;7").unwrap();
    assert_eq!(path(&coded, "1"), ["1", "8", "*"]);
    let open = table("a;x\nb;y").unwrap();
    assert_eq!(path(&open, "a"), ["a", "x", "*"]);
    let bare = table("a\nb").unwrap();
    assert_eq!(path(&bare, "a"), ["a", "*"]);
    assert_eq!(table("a").unwrap().levels(), 2);
    let fault = only(table("a;x;*\nb;y;all"));
    assert_eq!(fault.code, FaultCode::HierarchyNotNested);
    assert_eq!(
        (fault.line, fault.sample),
        (Some(2), vec!["all".to_owned()])
    );
}

#[test]
fn nodes_of_one_label_on_two_levels_stay_apart() {
    // A group that is called as the root is: keyed by label they would be one node.
    let coded = table("0;15;15\n1;15;15\n2;14;15").unwrap();
    let tables = check_tables(&coded, &["0", "1", "2"]);
    assert_eq!(leaves_of(&tables, 1, 1), 2);
    assert_eq!(leaves_of(&tables, 1, 3), 1);
    assert_eq!(leaves_of(&tables, 2, 1), 3);
}

#[test]
fn uc_09_a_leading_zero_is_part_of_the_value() {
    let zip = table("1234;123*;*").unwrap();
    assert_eq!(zip.covers("01234"), Err(Uncovered::Missing));
}

#[test]
fn taxonomies_pad_short_branches_upwards() {
    let tree = json!({ "kind": "taxonomy", "label": "all", "children": [
        { "label": "respiratory", "children": [
            { "label": "infection", "children": [{ "label": "flu" }, { "label": "pneumonia" }] },
            { "label": "asthma" } ] },
        { "label": "unknown" } ] });
    let diagnosis = compile(json!({ "hierarchy": tree })).unwrap();
    assert_eq!(
        path(&diagnosis, "flu"),
        ["flu", "infection", "respiratory", "*"]
    );
    assert_eq!(
        path(&diagnosis, "asthma"),
        ["asthma", "asthma", "respiratory", "*"]
    );
    assert_eq!(
        path(&diagnosis, "unknown"),
        ["unknown", "unknown", "unknown", "*"]
    );
    assert_eq!(diagnosis.covers("infection"), Err(Uncovered::Missing));
    let tables = check_tables(&diagnosis, &["asthma", "flu"]);
    // Of the declaration, not of the data.
    assert_eq!(tables.domain, 4);
    assert_eq!(leaves_of(&tables, 2, 1), 3);
    assert_eq!(leaves_of(&tables, 1, 2), 2);
}

#[test]
fn two_inner_nodes_may_share_a_label_and_two_leaves_may_not() {
    let tree = |second: &str| {
        compile(
            json!({ "hierarchy": { "kind": "taxonomy", "label": "all", "children": [
            { "label": "other", "children": [{ "label": "a" }] },
            { "label": "other", "children": [{ "label": second }] } ] } }),
        )
    };
    let tables = check_tables(&tree("b").unwrap(), &["a", "b"]);
    assert_ne!(tables.levels[1].node_of[1], tables.levels[1].node_of[2]);
    let fault = only(tree("a"));
    assert_eq!(fault.code, FaultCode::HierarchyAmbiguous);
    assert_eq!(
        fault.pointer,
        "/attributes/3/hierarchy/children/1/children/0/label"
    );
    assert_eq!(fault.sample, ["a"]);
    only(compile(
        json!({ "hierarchy": { "kind": "taxonomy", "label": "all" } }),
    ));
}

#[test]
fn public_files_are_taken_unchanged() {
    // Leaves and levels as the files' authors state them.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/adult");
    for (column, leaves, levels) in [
        ("sex", 2, 2),
        ("age", 100, 5),
        ("race", 5, 2),
        ("marital-status", 7, 3),
        ("education", 16, 4),
        ("native-country", 41, 3),
        ("workclass", 8, 3),
        ("occupation", 14, 3),
        ("salary-class", 2, 2),
    ] {
        let file = folder.join(format!("adult_hierarchy_{column}.csv"));
        let text = std::fs::read_to_string(file).unwrap();
        let hierarchy = table(&text).unwrap();
        assert_eq!(hierarchy.levels(), levels, "{column}");
        let values: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(';').next())
            .collect();
        assert_eq!(check_tables(&hierarchy, &values).domain, leaves, "{column}");
    }
}
