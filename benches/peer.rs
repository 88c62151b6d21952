//! The exact search on the public tables, timed: from rows in memory to the front, as a peer's `anonymize()` is timed.
//!
//! `cargo bench --profile fast --bench peer -- CASE...` with `KINDRED_BENCH_DATA` naming the folder of the public files
//! (one folder per data set, as in data/README.md). A case is `DATA:OBJECTIVE:LIMIT:K[:ATTRIBUTE=L]`; without any,
//! the two of the bundled adult table are run. Prints the median of five, the mean processor time (what to go by on a
//! machine that is not idle), the most memory held with the table, how many policies were judged and how many
//! classes were read. With `--ablation`, every case is also run with each part of the engine left out.
//! `DATA:OBJECTIVE:LIMIT:K::METHOD=SECONDS` searches by another method for so many seconds, with a seed for each of the
//! five runs, and prints the median value of the first objective; `METHOD=SECONDS,EVALUATIONS` ends after so many
//! evaluations as well.
//!
//! Measured on two shared cores (load 5 to 6, so by processor time, one thread, profile `fast`), beside ARX 3.9.2's optimal
//! search of the same spaces with the same answers on the same machine when idle (one thread, processor time):
//!
//! | case | ms | ARX, ms | ratio | judged | million classes read | peak MiB, two threads |
//! |---|---|---|---|---|---|---|
//! | `adult:geometric:1:5` | 70 | 3,015 | 43 | 350 of 12,960 | 3.3 | 18 |
//! | `adult:geometric:0.3:5` | 68 | 2,235 | 33 | 350 | 3.3 | 18 |
//! | `adult:arithmetic:1:5` | 60 | 2,645 (at load 3 to 6) | 44 | 246 | 2.6 | 14 |
//! | adult enlarged to 500,000 rows, `geometric:0.3:5` | 182 | 5,520 | 30 | 61 | 4.8 | 58 |
//! | `diabetes130:geometric:0.3:5` | 348 | 13,496 | 39 | 654 of 20,736 | 19.8 | 88 |
//! | the same with `diag_1=3` | 1,136 | 45,662 (at load 3 to 6) | 40 | 752 | 23.0 | 195 |
//! | `fars:geometric:0.3:5` | 74 | 976 (at load 3 to 6) | 13 | 897 of 20,736 | 4.2 | 18 |
//!
//! Left out of adult / diabetes130 / fars (processor ms; 70 / 338 / 72 with everything): cells 74 / 410 / 76, prefix tables
//! 80 / 352 / 78, sizes alone 92 / 496 / 104, incumbents 122 / 576 / 92. Prefix tables halve what is read, but bring
//! little time: they cost more to make than to count. On fars, incumbents save judging (897 for 2,411) but not
//! reading (4.2 million classes for 3.0).

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kindred::anonymize::table::{Schema, Table};
use kindred::anonymize::{
    Limits, Observer, Outcome, Progress, Stop, Switches, Task, Unobserved, anonymize_with,
};
use kindred::declaration::{DatasetDeclaration, Demand, Role};
use kindred::ingest::{Format, Options, ingest};
use serde_json::{Value, json};

mod process;

use process::{cpu_ms, peak_mib};

const RUNS: usize = 5;

/// Ends a search at a time, as a worker does.
struct Deadline(Instant);

impl Observer for Deadline {
    fn must_stop(&self) -> Option<Stop> {
        (Instant::now() >= self.0).then_some(Stop::OutOfTime)
    }
    fn report(&self, _: Progress) {}
}

/// A public table.
struct Data {
    declaration: DatasetDeclaration,
    schema: Schema,
    table: Table,
}

fn main() {
    let folder =
        std::env::var_os("KINDRED_BENCH_DATA").map_or_else(|| PathBuf::from("data"), PathBuf::from);
    let cases: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let cases = if cases.is_empty() {
        ["adult:arithmetic:1:5", "adult:geometric:1:5"]
            .map(str::to_owned)
            .to_vec()
    } else {
        cases
    };
    let all = Switches::default();
    let mut runs = vec![("everything", all)];
    if std::env::args().any(|argument| argument == "--ablation") {
        runs.extend([
            (
                "cells",
                Switches {
                    cells: false,
                    ..all
                },
            ),
            (
                "prefix tables",
                Switches {
                    prefixes: false,
                    ..all
                },
            ),
            (
                "sizes alone",
                Switches {
                    sizes: false,
                    ..all
                },
            ),
            (
                "incumbents",
                Switches {
                    incumbents: false,
                    ..all
                },
            ),
        ]);
    }
    for case in cases {
        for &(part, switches) in &runs {
            if switches != all {
                print(&format!("without {part}:"));
            }
            run(&folder, &case, switches);
        }
    }
}

fn run(folder: &Path, case: &str, switches: Switches) {
    let parts: Vec<&str> = case.split(':').collect();
    let (name, objective) = (parts[0], parts[1]);
    let limit: f64 = parts[2].parse().expect("a limit");
    let k: u64 = parts[3].parse().expect("k");
    let model = parts.get(4).copied().filter(|model| !model.is_empty());
    let data = load(
        folder,
        name,
        model.and_then(|model| model.split('=').next()),
    );
    let mut privacy = vec![json!({ "model": "k_anonymity", "k": k })];
    if let Some(model) = model {
        let (attribute, l) = model.split_once('=').expect("attribute=l");
        let l: u64 = l.parse().expect("l");
        privacy.push(json!({ "model": "distinct_l_diversity", "attribute": attribute, "l": l }));
    }
    let mut body =
        json!({ "privacy": privacy, "suppression_limit": limit, "search": { "method": "exact" } });
    match objective {
        "front" => body["objectives"] = json!(["generalization_depth", "suppression"]),
        "front3" => body["objectives"] = json!(["generalization_depth", "loss", "suppression"]),
        aggregate => {
            body["objectives"] = json!(["loss"]);
            body["loss"] = json!({ "aggregate": aggregate });
        }
    }
    let timed = parts.get(5).map(|extra| {
        let (method, ends) = extra.split_once('=').expect("method=seconds");
        let (seconds, evaluations) = ends.split_once(',').unzip();
        let seconds: f64 = seconds.unwrap_or(ends).parse().expect("seconds");
        body["search"] = json!({ "method": method, "max_seconds": seconds });
        if let Some(evaluations) = evaluations {
            let evaluations: u64 = evaluations.parse().expect("evaluations");
            body["search"]["max_evaluations"] = json!(evaluations);
        }
        seconds
    });
    let mut times = Vec::new();
    let mut values = Vec::new();
    let cpu = cpu_ms();
    let mut line = String::new();
    for seed in 0..RUNS {
        if timed.is_some() {
            body["search"]["seed"] = json!(seed);
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
        let deadline = timed.map(|seconds| Deadline(begun + Duration::from_secs_f64(seconds)));
        let observer = deadline
            .as_ref()
            .map_or(&Unobserved as &dyn Observer, |by| by);
        let (outcome, effort) = anonymize_with(&task, observer, switches);
        times.push(begun.elapsed());
        let outcome = outcome.expect("an answer");
        let (Outcome::Front(front) | Outcome::Stopped(front)) = outcome else {
            "infeasible".clone_into(&mut line);
            continue;
        };
        let Some(first) = front.solutions.first() else {
            "nothing found".clone_into(&mut line);
            continue;
        };
        values.push(first.objectives[&front.objectives[0].name]);
        line = format!(
            "{} of {} policies, {} cells, {:.2} million classes read, {} solutions, first {:?} suppressed {} {}",
            front.search.evaluations,
            front.search.search_space,
            effort.cells,
            effort.visits as f64 / 1e6,
            front.solutions.len(),
            first.objectives,
            first.suppressed_rows,
            serde_json::to_string(&first.recoding).expect("JSON"),
        );
    }
    if timed.is_some() && values.len() == RUNS {
        values.sort_by(f64::total_cmp);
        line = format!(
            "{} {:.5} (median of five seeds; {:.5} to {:.5}); the last: {line}",
            parts[1],
            values[RUNS / 2],
            values[0],
            values[RUNS - 1]
        );
    }
    times.sort();
    let median: Duration = times[RUNS / 2];
    print(&format!(
        "{case}: median {:.1} ms (least {:.1}), processor {:.0} ms, peak {:.0} MiB; {line}",
        ms(median),
        ms(times[0]),
        (cpu_ms() - cpu) / RUNS as f64,
        peak_mib(),
    ));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::print_stdout, reason = "a benchmark reports on the terminal")]
fn print(line: &str) {
    println!("{line}");
}

/// File, delimiter, prefix of the hierarchies, quasi-identifiers.
fn source(name: &str) -> (String, u8, &'static str, Vec<&'static str>) {
    let adult = vec![
        "sex",
        "age",
        "race",
        "marital-status",
        "education",
        "native-country",
        "workclass",
        "occupation",
        "salary-class",
    ];
    match name {
        "adult" => ("adult/adult.csv".to_owned(), b';', "adult", adult),
        "fars" => (
            "fars/fars_subset.csv".to_owned(),
            b';',
            "fars",
            vec![
                "iage",
                "irace",
                "ideathmon",
                "ideathday",
                "isex",
                "ihispanic",
                "istatenum",
                "iinjury",
            ],
        ),
        "diabetes130" => (
            "diabetes130/diabetic_data.csv".to_owned(),
            b',',
            "diabetes130",
            vec![
                "race",
                "gender",
                "age",
                "admission_type_id",
                "discharge_disposition_id",
                "admission_source_id",
                "time_in_hospital",
                "payer_code",
                "medical_specialty",
            ],
        ),
        "creditcard_int" => (
            "creditcard_int/creditcard_int.csv".to_owned(),
            b';',
            "creditcard_int",
            Vec::new(),
        ),
        "mach2019_int" => (
            "mach2019_int/mach2019_int.csv".to_owned(),
            b';',
            "mach2019_int",
            Vec::new(),
        ),
        big => (big.to_owned(), b';', "adult", adult),
    }
}

fn load(folder: &Path, name: &str, sensitive: Option<&str>) -> Data {
    let (file, delimiter, prefix, names) = source(name);
    let path = folder.join(&file);
    let header = {
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .from_path(&path)
            .expect("the file");
        reader.headers().expect("a header").clone()
    };
    let directory = folder.join(prefix);
    let attribute = |column: &str| -> Value {
        let is_quasi = names.is_empty() || names.contains(&column);
        if sensitive == Some(column) {
            return json!({ "name": column, "role": "sensitive" });
        }
        if !is_quasi {
            return json!({ "name": column, "role": "identifying" });
        }
        let text =
            std::fs::read_to_string(directory.join(format!("{prefix}_hierarchy_{column}.csv")));
        json!({
            "name": column, "role": "quasi_identifying",
            "hierarchy": { "kind": "table", "text": text.expect("a hierarchy") },
        })
    };
    let attributes: Vec<Value> = header.iter().map(attribute).collect();
    let declaration = DatasetDeclaration::parse(&json!({ "name": name, "attributes": attributes }))
        .expect("a declaration");
    let schema = Schema::compile(&declaration).expect("hierarchies");
    let present: Vec<bool> = declaration
        .attributes
        .iter()
        .map(|attribute| attribute.role != Role::Identifying)
        .collect();
    let mut table = Table::with_columns(&present, false);
    let options = Options {
        format: Format::Csv { delimiter },
        charset: None,
        schema: &schema,
        default_role: None,
    };
    let begun = Instant::now();
    let summary = ingest(
        File::open(&path).expect("the file"),
        &options,
        &mut |block| {
            table.rows += block.rows;
            for (column, part) in table.columns.iter_mut().zip(&block.columns) {
                if let Some(column) = column {
                    column.append(part);
                }
            }
            true
        },
    );
    let summary = summary.expect("an upload without faults");
    print(&format!(
        "{name}: {} rows read in {:.0} ms",
        summary.rows,
        ms(begun.elapsed())
    ));
    Data {
        declaration,
        schema,
        table,
    }
}
