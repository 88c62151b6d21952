//! What the demo shows: steps, progress, the front as a table. Prints only what the service answered.
#![expect(clippy::print_stdout, reason = "a demo prints")]

use std::io::{IsTerminal, Write};
use std::time::Duration;

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Table};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::task::QUASI_IDENTIFIERS;

/// A numbered heading.
pub(crate) fn step(number: usize, text: &str) {
    println!("\n{number}. {text}");
}

/// A line under a heading.
pub(crate) fn line(text: &str) {
    println!("   {text}");
}

/// A bar over bytes.
pub(crate) fn bytes_bar(total: u64, what: &'static str) -> ProgressBar {
    bar(
        total,
        what,
        "   {msg:<11} [{bar:32}] {bytes:>10} of {total_bytes} ({bytes_per_sec})",
    )
}

/// A bar over evaluated policies.
pub(crate) fn search_bar(total: u64) -> ProgressBar {
    bar(
        total,
        "searching",
        "   {msg:<24!} [{bar:32}] {pos:>7} of {len} policies, {elapsed}",
    )
}

fn bar(total: u64, what: &'static str, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    let bar = ProgressBar::new(total).with_style(style).with_message(what);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Whether bars are seen: without a terminal the demo prints lines in their stead.
pub(crate) fn bars_are_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// Ends a bar; says in a line what it showed where it could not be seen.
pub(crate) fn end_bar(bar: &ProgressBar, summary: &str) {
    bar.finish_and_clear();
    line(summary);
    let _ = std::io::stdout().flush();
}

/// The faults of a problem document.
pub(crate) fn problem(status: u16, problem: &Value) {
    line(&format!(
        "status {status}, code {}, {}",
        text(&problem["code"]),
        text(&problem["detail"])
    ));
    for fault in problem["errors"].as_array().into_iter().flatten() {
        let place: Vec<String> = ["column", "row", "line"]
            .into_iter()
            .filter(|key| !fault[key].is_null())
            .map(|key| format!("{key} {}, ", text(&fault[key])))
            .collect();
        let place = place.concat();
        line(&format!(
            "- {}: {place}{} {}",
            text(&fault["code"]),
            text(&fault["detail"]),
            sample(&fault["sample"])
        ));
    }
}

fn sample(values: &Value) -> String {
    let quoted: Vec<String> = values
        .as_array()
        .into_iter()
        .flatten()
        .map(|value| format!("{:?}", text(value)))
        .collect();
    if quoted.is_empty() {
        String::new()
    } else {
        format!("(sent: {})", quoted.join(", "))
    }
}

/// The front, one line per solution.
pub(crate) fn front(front: &Value, dataset: &Value, rows_in: u64) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    let mut header = vec!["#".to_owned()];
    header.extend(QUASI_IDENTIFIERS.iter().map(|name| shortened(name)));
    header.extend(
        [
            "H",
            "suppressed\nrows",
            "classes",
            "k",
            "l",
            "risk\nmax",
            "",
        ]
        .map(str::to_owned),
    );
    table.set_header(header);
    for solution in front["solutions"].as_array().into_iter().flatten() {
        table.add_row(row(solution, dataset, rows_in));
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((0, 0));
    }
    table
}

fn row(solution: &Value, dataset: &Value, rows_in: u64) -> Vec<Cell> {
    let mut cells = vec![Cell::new(text(&solution["solution_id"]))];
    for name in QUASI_IDENTIFIERS {
        let level = solution["recoding"]["levels"][name].as_u64().unwrap_or(0);
        let top = levels(dataset, name).saturating_sub(1);
        cells.push(Cell::new(format!("{level}/{top}")));
    }
    let suppressed = solution["suppressed_rows"].as_u64().unwrap_or(0);
    let share = 100.0 * suppressed as f64 / rows_in.max(1) as f64;
    let depth = solution["objectives"]["generalization_depth"]
        .as_f64()
        .unwrap_or(0.0);
    let risk = solution["risk"]["maximum"].as_f64().unwrap_or(0.0);
    cells.push(Cell::new(format!("{depth:.4}")));
    cells.push(Cell::new(format!("{suppressed} ({share:.1} %)")));
    cells.push(Cell::new(text(&solution["classes"])));
    cells.push(Cell::new(text(&solution["privacy"]["k"])));
    cells.push(Cell::new(text(
        &solution["privacy"]["sensitive"][crate::task::SENSITIVE]["distinct_l"],
    )));
    cells.push(Cell::new(format!("{risk:.3}")));
    let recommended = solution["recommended"].as_bool().unwrap_or(false);
    cells.push(Cell::new(if recommended { "<-" } else { "" }));
    cells
}

/// Number of levels of a quasi-identifier, from `GET /v1/datasets/{id}`.
fn levels(dataset: &Value, name: &str) -> u64 {
    let found = dataset["attributes"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|attribute| attribute["name"] == name);
    found
        .and_then(|attribute| attribute["levels"].as_u64())
        .unwrap_or(0)
}

/// A column name that fits over two digits: its words below each other, long ones cut.
fn shortened(name: &str) -> String {
    let words = name.trim_end_matches("_id").split('_');
    let cut = words.map(|word| {
        if word.chars().count() > 6 {
            word.chars().take(5).chain(['.']).collect()
        } else {
            word.to_owned()
        }
    });
    cut.collect::<Vec<String>>().join("\n")
}

/// A JSON value without quotes.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}
