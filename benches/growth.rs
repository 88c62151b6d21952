//! How the certified search grows with rows and with quasi-identifiers: time, memory and work.
//!
//! `cargo bench --profile fast --bench growth -- [rows] [attributes]`, both without an argument. Every case runs in a
//! process of its own, so its peak memory is its own; the input is adult (bundled), enlarged by a generator with a fixed
//! seed: ages move by up to three years, every other cell is drawn again with probability 1/20. Beyond nine
//! quasi-identifiers, columns are repeated with the cells of other rows. Demand: k = 5, least geometric loss, no limit on
//! suppression. Prints a line per case (time: median of three; processor time: mean) and the slopes fitted to the logarithms.
//!
//! Measured on two shared cores (load 5 to 6; processor time, one thread, profile `fast`): 10,000 rows 47 ms, 100,000
//! rows 123 ms, 1,000,000 rows 240 ms, 5,000,000 rows 647 ms and 274 MiB; slopes: time 0.40, cells 0.60, classes read
//! 0.16, memory 0.43. More rows suppress less, so fewer policies are judged (544, 234, 44, 23). With 5 to 12
//! quasi-identifiers 3, 7, 13, 47, 70, 293, 470 and 1,987 ms and up to 254 MiB: the time grows more slowly than the number
//! of policies (240 to 233,280), but as a power of it, so exponentially with the quasi-identifiers.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use kindred::anonymize::table::{BlockBuilder, Schema, Table};
use kindred::anonymize::{Limits, Outcome, Switches, Task, Unobserved, anonymize_with};
use kindred::declaration::{DatasetDeclaration, Demand};
use serde_json::{Value, json};

#[path = "../tests/it/tables.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod tables;

mod process;

use process::{cpu_ms, peak_mib};
use tables::ADULT;

const ROWS: [usize; 4] = [10_000, 100_000, 1_000_000, 5_000_000];
const ATTRIBUTES: [usize; 8] = [5, 6, 7, 8, 9, 10, 11, 12];
/// Columns that stand a second time, by their place in [`ADULT`].
const REPEATED: [usize; 3] = [6, 2, 3];
/// Rows of adult.
const OWN_ROWS: usize = 30_162;
const BLOCK: usize = 1 << 16;
const RUNS: usize = 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "case") {
        let number = |place: usize| arguments[at + place].parse().expect("a number");
        return run(number(1), number(2));
    }
    let asked = |name: &str| arguments.iter().any(|argument| argument == name);
    let both = !asked("rows") && !asked("attributes");
    if both || asked("rows") {
        grow("rows", &ROWS.map(|rows| (rows, 9)));
    }
    if both || asked("attributes") {
        grow(
            "attributes",
            &ATTRIBUTES.map(|attributes| (OWN_ROWS, attributes)),
        );
    }
}

/// Runs every case with one and two threads and prints the slopes against the first or second number of the cases.
fn grow(name: &str, cases: &[(usize, usize)]) {
    print(
        "      rows QIs threads |     ms |    CPU | policies | judged | cells | million classes read | peak MiB",
    );
    for threads in [1, 2] {
        let mut found: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
        for &(rows, attributes) in cases {
            let case = [rows.to_string(), attributes.to_string()];
            let output = Command::new(std::env::current_exe().expect("this program"))
                .arg("case")
                .args(&case)
                .env("RAYON_NUM_THREADS", threads.to_string())
                .output()
                .expect("it can be started");
            let text = String::from_utf8(output.stdout).expect("text");
            let line: Value = serde_json::from_str(&text).expect("JSON");
            let figure = |key: &str| line[key].as_f64().expect("a figure");
            print(&format!(
                "{rows:>10} {attributes:>3} {threads:>7} | {:>6.0} | {:>6.0} | {:>8} | {:>6} | {:>5} | {:>6.2} | {:>5.0}",
                figure("ms"),
                figure("cpu_ms"),
                line["policies"].as_str().expect("a number"),
                line["judged"],
                line["cells"],
                figure("visits") / 1e6,
                figure("peak_mib"),
            ));
            let size = if name == "rows" { rows } else { attributes };
            for key in ["ms", "cpu_ms", "cells", "visits", "peak_mib"] {
                let point = ((size as f64).ln(), figure(key).max(1.0).ln());
                found.entry(key).or_default().push(point);
            }
        }
        for (key, points) in found {
            print(&format!(
                "slope of log {key} against log {name}: {:.2}",
                slope(&points)
            ));
        }
    }
}

/// Least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let both: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    both / points
        .iter()
        .map(|point| (point.0 - x).powi(2))
        .sum::<f64>()
}

/// One case: prints its figures as JSON.
fn run(rows: usize, attributes: usize) {
    let (declaration, schema, table) = enlarged(rows, attributes);
    let demand = json!({
        "privacy": [{ "model": "k_anonymity", "k": 5 }],
        "suppression_limit": 1.0,
        "search": { "method": "exact" },
        "objectives": ["loss"],
        "loss": { "aggregate": "geometric" },
    });
    let demand = Demand::parse(&demand, &declaration).expect("a demand");
    let task = Task {
        table: &table,
        schema: &schema,
        demand: &demand,
        limits: Limits {
            exact_search_space: 1 << 24,
            cache_bytes: 256 << 20,
        },
    };
    let mut times = Vec::new();
    let cpu = cpu_ms();
    let mut line = json!({});
    for _ in 0..RUNS {
        let begun = Instant::now();
        let (outcome, effort) = anonymize_with(&task, &Unobserved, Switches::default());
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let Ok(Outcome::Front(front)) = outcome else {
            panic!("no front");
        };
        line = json!({
            "policies": front.search.search_space,
            "judged": front.search.evaluations,
            "cells": effort.cells,
            "visits": effort.visits,
        });
    }
    times.sort_by(f64::total_cmp);
    line["ms"] = json!(times[RUNS / 2]);
    line["cpu_ms"] = json!((cpu_ms() - cpu) / RUNS as f64);
    line["peak_mib"] = json!(peak_mib());
    print(&line.to_string());
}

/// Knuth's MMIX generator, its upper 31 bits.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from((self.next() * bound as u64) >> 31).unwrap_or(0)
    }
}

fn enlarged(rows: usize, attributes: usize) -> (DatasetDeclaration, Schema, Table) {
    let read = |name: &str| {
        let path = format!("{}/data/adult/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the bundled file")
    };
    let columns: Vec<usize> = (0..9).chain(REPEATED).take(attributes).collect();
    let declared = columns.iter().enumerate().map(|(place, &column)| {
        let (name, copy) = (ADULT[column], if place < 9 { "" } else { "-again" });
        let text = read(&format!("adult_hierarchy_{name}.csv"));
        json!({
            "name": format!("{name}{copy}"), "role": "quasi_identifying",
            "hierarchy": { "kind": "table", "text": text },
        })
    });
    let body = json!({ "name": "adult", "attributes": declared.collect::<Vec<_>>() });
    let declaration = DatasetDeclaration::parse(&body).expect("a declaration");
    let schema = Schema::compile(&declaration).expect("hierarchies");
    let text = read("adult.csv");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(';').collect();
    let places = ADULT.map(|name| {
        let place = header.iter().position(|other| *other == name);
        place.expect("a column")
    });
    let own: Vec<Vec<&str>> = lines.map(|line| line.split(';').collect()).collect();
    let mut table = Table::with_columns(&vec![true; attributes], false);
    let mut builder = BlockBuilder::new(attributes);
    let mut random = Lcg(20_240_601);
    for row in 0..rows {
        let source = row % own.len();
        let is_own = row < own.len() && rows == OWN_ROWS;
        for (place, &column) in columns.iter().enumerate() {
            let cell = own[source][places[column]];
            if place >= 9 {
                let other = (source * 7 + place * 1009) % own.len();
                builder.push(place, Some(own[other][places[column]]));
            } else if is_own {
                builder.push(place, Some(cell));
            } else if ADULT[column] == "age" {
                let age: usize = cell.parse().expect("a number");
                let age = (age + random.below(7)).clamp(20, 93) - 3;
                builder.push(place, Some(&age.to_string()));
            } else if random.below(20) == 0 {
                let other = random.below(own.len());
                builder.push(place, Some(own[other][places[column]]));
            } else {
                builder.push(place, Some(cell));
            }
        }
        if builder.rows() == BLOCK || row + 1 == rows {
            let block = builder.finish();
            table.rows += block.rows;
            for (column, cells) in table.columns.iter_mut().flatten().zip(&block.columns) {
                column.append(cells);
            }
        }
    }
    (declaration, schema, table)
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on the terminal")]
fn print(line: &str) {
    println!("{line}");
}
