//! Searches of cuts on the adult table made larger, against the best policy of levels at equal privacy.
//!
//! `cargo bench --profile fast --bench subtree -- [ROWS|diabetes130[:K[:METHOD]]]...`; `KINDRED_BENCH_DATA` names the folder of the
//! public files (as in data/README.md), the bundled ones by default. Without arguments: 50,000, 75,000, 100,000 and
//! 500,000 rows, k of 2, 4 and 12, every method. At most 5 % of the rows may be suppressed, and what is minimised is the
//! arithmetic loss. A larger table is drawn from the rows of the small one, two columns of each row from another row.
//! Prints time, loss, suppressed rows and evaluations of one run; a search ends after 60 seconds with what it has.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kindred::anonymize::table::{BlockBuilder, Schema, Table};
use kindred::anonymize::{Limits, Observer, Outcome, Progress, Stop, Task, anonymize};
use kindred::declaration::{DatasetDeclaration, Demand};
use serde_json::{Value, json};

const SIZES: [usize; 4] = [50_000, 75_000, 100_000, 500_000];
const ANONYMITIES: [u64; 3] = [2, 4, 12];
const METHODS: [&str; 5] = ["exact", "tds", "bug", "hybrid", "genetic_cuts"];
const SECONDS: u64 = 60;

struct Data {
    declaration: DatasetDeclaration,
    schema: Schema,
    table: Table,
}

/// Ends a search after its seconds.
struct Deadline(Instant);

impl Observer for Deadline {
    fn must_stop(&self) -> Option<Stop> {
        (Instant::now() >= self.0).then_some(Stop::OutOfTime)
    }
    fn report(&self, _: Progress) {}
}

fn main() {
    let folder =
        std::env::var_os("KINDRED_BENCH_DATA").map_or_else(|| PathBuf::from("data"), PathBuf::from);
    let cases: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let cases = if cases.is_empty() {
        SIZES.map(|size| size.to_string()).to_vec()
    } else {
        cases
    };
    for case in cases {
        let mut parts = case.split(':');
        let name = parts.next().expect("rows or a table");
        let anonymity = parts.next().map(|k| k.parse::<u64>().expect("k"));
        let method = parts.next();
        let data = match name.parse() {
            Ok(rows) => enlarged(&folder, rows),
            Err(_) => diabetes130(&folder),
        };
        for k in ANONYMITIES
            .into_iter()
            .filter(|&k| anonymity.is_none_or(|only| only == k))
        {
            for name in METHODS
                .into_iter()
                .filter(|&name| method.is_none_or(|only| only == name))
            {
                run(&data, k, name);
            }
        }
    }
}

fn run(data: &Data, k: u64, method: &str) {
    let recoding = if method == "exact" {
        "full_domain"
    } else {
        "subtree"
    };
    let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": k }], "suppression_limit": 0.05,
        "objectives": ["loss"], "recoding": recoding, "search": { "method": method } });
    if method == "genetic_cuts" {
        body["search"]["population"] = json!(30);
        body["search"]["generations"] = json!(30);
    }
    let demand = Demand::parse(&body, &data.declaration).expect("a demand");
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits: Limits {
            exact_search_space: 1 << 24,
            cache_bytes: 256 << 20,
        },
    };
    let begun = Instant::now();
    let deadline = Deadline(begun + Duration::from_secs(SECONDS));
    let outcome = anonymize(&task, &deadline).expect("an answer");
    let seconds = begun.elapsed().as_secs_f64();
    let rows = data.table.rows;
    let (front, ended) = match outcome {
        Outcome::Front(front) => (front, "done"),
        Outcome::Stopped(front) => (front, "out of time"),
        _ => {
            return print(&format!(
                "{rows} rows, k {k}, {method}: no answer, {seconds:.2} s"
            ));
        }
    };
    let search = &front.search;
    let Some(best) = front.solutions.first() else {
        return print(&format!(
            "{rows} rows, k {k}, {method}: nothing found, {seconds:.2} s"
        ));
    };
    print(&format!(
        "{rows} rows, k {k}, {method}: {seconds:.2} s ({ended}), loss {:.4}, {} suppressed, {} classes, {} evaluations{}",
        best.objectives["loss"],
        best.suppressed_rows,
        best.classes,
        search.evaluations,
        if search.certified { ", certified" } else { "" },
    ));
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on the terminal")]
fn print(line: &str) {
    println!("{line}");
}

/// The nine quasi-identifiers of the hospital table that `peer` measures, as they are.
fn diabetes130(folder: &Path) -> Data {
    let folder = folder.join("diabetes130");
    let mut reader =
        csv::Reader::from_path(folder.join("diabetic_data.csv")).expect("the table diabetes130");
    let header = reader.headers().expect("a header").clone();
    let names = [
        "race",
        "gender",
        "age",
        "admission_type_id",
        "discharge_disposition_id",
        "admission_source_id",
        "time_in_hospital",
        "payer_code",
        "medical_specialty",
    ];
    let positions = names.map(|name| header.iter().position(|one| one == name).expect("a column"));
    let attribute = |name: &str| {
        let path = folder.join(format!("diabetes130_hierarchy_{name}.csv"));
        let text = std::fs::read_to_string(path).expect("a hierarchy");
        json!({ "name": name, "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": text } })
    };
    let records = reader.records().map(|record| record.expect("a record"));
    let rows: Vec<Vec<String>> = records
        .map(|record| positions.map(|place| record[place].to_owned()).to_vec())
        .collect();
    tabled("diabetes130", &names.map(attribute), rows.into_iter())
}

/// So many rows like those of the adult table.
fn enlarged(folder: &Path, rows: usize) -> Data {
    let read =
        |name: &str| std::fs::read_to_string(folder.join("adult").join(name)).expect("the file");
    let text = read("adult.csv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(';').collect();
    let source: Vec<Vec<&str>> = lines.map(|line| line.split(';').collect()).collect();
    let attribute = |name: &&str| {
        let hierarchy =
            json!({ "kind": "table", "text": read(&format!("adult_hierarchy_{name}.csv")) });
        json!({ "name": name, "role": "quasi_identifying", "hierarchy": hierarchy })
    };
    let attributes: Vec<Value> = names.iter().map(attribute).collect();
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % below as u64).unwrap_or(0)
    };
    let drawn = (0..rows).map(|_| {
        let mut row = source[draw(source.len())].clone();
        for _ in 0..2 {
            let column = draw(names.len());
            row[column] = source[draw(source.len())][column];
        }
        row
    });
    tabled("adult", &attributes, drawn)
}

fn tabled<T: AsRef<str>>(
    name: &str,
    attributes: &[Value],
    rows: impl Iterator<Item = Vec<T>>,
) -> Data {
    let columns = attributes.len();
    let body = json!({ "name": name, "attributes": attributes });
    let declaration = DatasetDeclaration::parse(&body).expect("a declaration");
    let schema = Schema::compile(&declaration).expect("hierarchies");
    let mut table = Table::with_columns(&schema.releasable(), false);
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let mut builder = BlockBuilder::new(columns);
        for row in rows.by_ref().take(BlockBuilder::ROWS) {
            for (column, cell) in row.iter().enumerate() {
                builder.push(column, Some(cell.as_ref()));
            }
        }
        let block = builder.finish();
        table.rows += block.rows;
        for (column, cells) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(cells);
            }
        }
    }
    Data {
        declaration,
        schema,
        table,
    }
}
