//! What a rendered release holds.

use std::collections::BTreeMap;

use kindred::anonymize::release::{Recipe, render};
use kindred::declaration::{RowOrder, SuppressedRows};
use serde_json::json;

use super::{Case, cells, relabel, six};

#[test]
fn uc_29_uc_30_a_release_holds_the_declared_columns_and_accounts_for_every_row() {
    let case = six();
    let rendered = case.render();
    let names: Vec<_> = rendered
        .columns
        .iter()
        .map(|column| &*column.name)
        .collect();
    assert_eq!(names, ["age", "sex", "dx", "note"]);
    assert_eq!(
        cells(&rendered),
        [
            [Some("[20, 30)"), Some("F"), Some("flu"), Some("a")],
            [Some("[20, 30)"), Some("F"), Some("cold"), None],
            [Some("[30, 40)"), Some("M"), Some("flu"), Some("b")],
            [Some("[30, 40)"), Some("M"), Some("cold"), Some("d")],
        ]
    );
    assert_eq!(
        (
            rendered.released_rows,
            rendered.suppressed_rows,
            rendered.classes
        ),
        (4, 2, 2)
    );
    let verification = case.verify(&rendered).unwrap();
    assert!(verification.passed);
    assert_eq!(verification.released_rows + verification.suppressed_rows, 6);
    assert_eq!((verification.classes, verification.k), (2, 2));
    for check in [
        "2-anonymity",
        "distinct 2-diversity of `dx`",
        "suppression limit",
        "labels of `age`",
        "cells of `note`",
    ] {
        assert!(
            verification.checks.iter().any(|made| made == check),
            "{check}"
        );
    }
}

#[test]
fn blocks_hold_the_same_cells_in_output_order() {
    let mut case = six();
    case.row_order = RowOrder::Shuffled;
    let rendered = case.render();
    let mut joined = Vec::new();
    for from in [0, 3, 6] {
        let block = rendered.block(from, 3);
        for row in 0..block.rows {
            let row: Vec<_> = block
                .columns
                .iter()
                .map(|column| column.cell(row).map(ToOwned::to_owned))
                .collect();
            joined.push(row);
        }
    }
    let expected: Vec<Vec<_>> = cells(&rendered)
        .into_iter()
        .map(|row| {
            row.into_iter()
                .map(|cell| cell.map(ToOwned::to_owned))
                .collect()
        })
        .collect();
    assert_eq!(joined, expected);
}

#[test]
fn uc_30_the_shuffle_follows_the_seed_and_keeps_every_row() {
    let rows: Vec<String> = (0..1000).map(|row| row.to_string()).collect();
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| vec!["x", row.as_str()]).collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    let attributes = json!([
        { "name": "ward", "role": "quasi_identifying" },
        { "name": "number", "role": "insensitive" },
    ]);
    let mut case = Case::new(&attributes, &cells, &[("ward", 0)]);
    case.row_order = RowOrder::Shuffled;
    let order = |seed| {
        let recipe = Recipe {
            seed,
            ..case.recipe()
        };
        render(&case.table, &case.schema, &recipe).unwrap().order
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(8));
    let mut sorted = order(7);
    assert!(!sorted.is_sorted());
    sorted.sort_unstable();
    assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
    case.verify(&case.render()).unwrap();
}

// Whoever knows the seed can undo the shuffle: what is left must say nothing of the input's order.
#[test]
fn the_order_of_a_shuffled_release_does_not_depend_on_the_order_of_the_input() {
    let attributes = json!([
        { "name": "ward", "role": "quasi_identifying" },
        { "name": "number", "role": "insensitive" },
    ]);
    let released = |rows: &[u32]| {
        let rows: Vec<String> = rows.iter().map(u32::to_string).collect();
        let cells: Vec<Vec<&str>> = rows.iter().map(|row| vec!["x", row.as_str()]).collect();
        let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
        let mut case = Case::new(&attributes, &cells, &[("ward", 0)]);
        case.row_order = RowOrder::Shuffled;
        let rendered = case.render();
        let numbers = (0..rendered.order.len()).map(|row| rendered.cell(row, 1).map(str::to_owned));
        numbers.collect::<Vec<_>>()
    };
    let forward: Vec<u32> = (0..200).collect();
    let backward: Vec<u32> = (0..200).rev().collect();
    assert_eq!(released(&forward), released(&backward));
    let sorted = |mut cells: Vec<Option<String>>| {
        cells.sort();
        cells
    };
    assert_ne!(released(&forward), sorted(released(&forward)));
}

#[test]
fn uc_22_missing_quasi_identifiers_stay_missing_and_form_a_class() {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [5] } },
    ]);
    let rows: [&[&str]; 6] = [&["1"], &["2"], &["3"], &[""], &[""], &[""]];
    let case = Case::new(&attributes, &rows, &[("age", 1)]);
    let rendered = case.render();
    let verification = case.verify(&rendered).unwrap();
    assert_eq!(
        (
            verification.classes,
            verification.k,
            verification.suppressed_rows
        ),
        (2, 3, 0)
    );
    assert_eq!(rendered.cell(0, 0), Some("[0, 5)"));
    assert_eq!(rendered.cell(3, 0), None);
    let top = Case::new(&attributes, &rows, &[("age", 2)]);
    let rendered = top.render();
    assert_eq!(top.verify(&rendered).unwrap().k, 6);
    assert!((0..6).all(|row| rendered.cell(row, 0) == Some("*")));
}

#[test]
fn masked_rows_stay_as_stars_and_count_in_no_class() {
    // UC-23: the sensitive cells are masked too.
    let mut case = six();
    case.suppressed_rows = SuppressedRows::Mask;
    let rendered = case.render();
    assert_eq!(cells(&rendered)[3], [Some("*"); 4]);
    assert_eq!(cells(&rendered)[5], [Some("*"); 4]);
    let verification = case.verify(&rendered).unwrap();
    assert_eq!(
        (verification.released_rows, verification.suppressed_rows),
        (4, 2)
    );
    assert_eq!((verification.classes, verification.k), (2, 2));
    // A masked row that keeps a value.
    let failures = case.refused(|rendered| relabel(rendered, 2, 3, "gout"));
    assert_eq!(
        failures,
        ["masked rows hold only `*`: 1 masked rows hold something else than `*`"]
    );
    // A masked row that is gone.
    let failures = case.refused(|rendered| rendered.order.retain(|&row| row != 5));
    assert_eq!(
        failures,
        ["suppressed rows left out or masked: 1 stand in the output, not 2"]
    );
}

#[test]
fn columns_can_be_left_out() {
    let mut case = six();
    case.columns = Some(vec!["dx".to_owned(), "sex".to_owned()]);
    let rendered = case.render();
    let names: Vec<_> = rendered
        .columns
        .iter()
        .map(|column| &*column.name)
        .collect();
    assert_eq!(names, ["sex", "dx"]);
    // Without ages the classes are F and M.
    assert_eq!(case.verify(&rendered).unwrap().classes, 2);
    // Without the sensitive column its diversity is that of the input.
    case.columns = Some(vec!["sex".to_owned()]);
    case.verify(&case.render()).unwrap();
    // Without any quasi-identifier all rows are one class.
    case.columns = Some(vec!["note".to_owned()]);
    assert_eq!(case.verify(&case.render()).unwrap().k, 4);
}

#[test]
fn nodes_that_share_a_label_are_one_text_in_the_output() {
    let attributes = json!([
        { "name": "code", "role": "quasi_identifying",
          "hierarchy": { "kind": "table", "text": "a;x;*\nb;x;*\nc;y;*\nd;z;*" } },
    ]);
    let rows: [&[&str]; 4] = [&["a"], &["b"], &["c"], &["c"]];
    let case = Case::new(&attributes, &rows, &[("code", 1)]);
    let rendered = case.render();
    let labels: BTreeMap<_, usize> =
        cells(&rendered)
            .iter()
            .fold(BTreeMap::new(), |mut count, row| {
                *count.entry(row[0]).or_default() += 1;
                count
            });
    assert_eq!(labels, BTreeMap::from([(Some("x"), 2), (Some("y"), 2)]));
    case.verify(&rendered).unwrap();
}

#[test]
fn five_hundred_thousand_rows_render_and_verify() {
    let rows: Vec<[String; 3]> = (0..5_000u32)
        .map(|row| {
            [
                (row % 90).to_string(),
                ["F", "M"][row as usize % 2].to_owned(),
                format!("d{}", row % 40),
            ]
        })
        .collect();
    let cells: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    let cells: Vec<&[&str]> = cells.iter().map(Vec::as_slice).collect();
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10, 20] } },
        { "name": "sex", "role": "quasi_identifying" },
        { "name": "dx", "role": "sensitive" },
    ]);
    let mut case = Case::new(&attributes, &cells, &[("age", 1), ("sex", 0)]);
    for column in case.table.columns.iter_mut().flatten() {
        column.codes = column.codes.repeat(100);
    }
    case.table.rows *= 100;
    case.row_order = RowOrder::Shuffled;
    let rendered = case.render();
    let verification = case.verify(&rendered).unwrap();
    // Nine decades and two sexes: 500,000 / 18 rows each, give or take the remainder of 5,000 by 90.
    assert_eq!(verification.released_rows, 500_000);
    assert_eq!(verification.classes, 18);
    assert_eq!(verification.k, 27_500);
}
