//! Time and memory of searches of classes, by rows and by method.
//!
//! `cargo bench --profile fast --bench clusters -- --data <folder> [method ...]`: the folder holds
//! `credit_default/UCI_Credit_Card.csv` (30,000 rows). Every case runs in a process of its own, so its peak memory is its
//! own. Quasi-identifiers: age, sex, education, marriage, limit (numbers: age and limit); sensitive: `PAY_0`; k = 5 and
//! distinct 2-diversity. Fewer rows are the first ones; more rows are drawn from these with a fixed seed, ages moved by up to
//! three years and limits by up to 20,000. One run per case, all threads.
//!
//! `... --data <folder> optimizers` puts the three optimizers of `mo_obam` side by side at equal evaluations, ten seeds each, on
//! the first 3,000 rows, 100 classes at most, without l-diversity: medians (least, most) of the front's hypervolume and of loss less lambda times entropy.

use std::process::Command;
use std::time::Instant;

use kindred::anonymize::Outcome;
use serde_json::{Value, json};

#[path = "../tests/it/tables.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod tables;

mod process;

use process::{cpu_ms, peak_mib};
use tables::{Data, table};

const ROWS: [usize; 4] = [10_000, 30_000, 100_000, 500_000];
const METHODS: [&str; 5] = ["mondrian", "mdav", "k_member", "oka", "mo_obam"];
const COLUMNS: [&str; 6] = ["AGE", "SEX", "EDUCATION", "MARRIAGE", "LIMIT_BAL", "PAY_0"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let place = arguments.iter().position(|argument| argument == "--data");
    let Some(folder) = place.and_then(|place| arguments.get(place + 1)) else {
        print("--data <folder> is wanted");
        return;
    };
    if let Some(at) = arguments.iter().position(|argument| argument == "case") {
        return run(
            folder,
            &arguments[at + 1],
            arguments[at + 2].parse().expect("a number"),
        );
    }
    if arguments.iter().any(|argument| argument == "optimizers") {
        return optimizers(&credit(folder, 3_000));
    }
    let asked = |method: &&str| arguments.iter().any(|argument| argument == method);
    let is_any = METHODS.iter().any(&asked);
    print(
        "method       rows |      ms |     CPU | peak MiB | cells of work | solutions | least loss | most entropy | homogeneity",
    );
    for method in METHODS.iter().filter(|method| !is_any || asked(method)) {
        for rows in ROWS {
            let output = Command::new(std::env::current_exe().expect("this program"))
                .args(["--data", folder, "case", method, &rows.to_string()])
                .output()
                .expect("it can be started");
            print(String::from_utf8_lossy(&output.stdout).trim_end());
        }
    }
}

fn run(folder: &str, method: &str, rows: usize) {
    let data = credit(folder, rows);
    let body = json!({ "recoding": "microaggregation", "search": { "method": method, "seed": 1 }, "privacy": [
        { "model": "k_anonymity", "k": 5 }, { "model": "distinct_l_diversity", "attribute": "PAY_0", "l": 2 }] });
    let (begun, before) = (Instant::now(), cpu_ms());
    let Outcome::Front(front) = data.search(&body) else {
        print(&format!("{method} {rows}: no front"));
        return;
    };
    let (ms, cpu) = (begun.elapsed().as_millis(), cpu_ms() - before);
    let (first, last) = (
        &front.solutions[0],
        &front.solutions[front.solutions.len() - 1],
    );
    let homogeneity = first
        .recoding
        .classes()
        .map_or(0.0, |one| one.homogeneity["PAY_0"]);
    print(&format!(
        "{method:<9} {rows:>7} | {ms:>7} | {cpu:>7.0} | {:>8.0} | {:>13} | {:>9} | {:>10.4} | {:>12.4} | {homogeneity:.4}",
        peak_mib(),
        front.search.evaluations,
        front.solutions.len(),
        first.objectives["information_loss"],
        last.objectives["sensitive_entropy"],
    ));
}

/// Three optimizers on equal terms: the same evaluations in all, over all weights.
fn optimizers(data: &Data) {
    print(
        "evaluations  optimizer   | hypervolume            | lambda 0.1             | lambda 1               | lambda 5",
    );
    for evaluations in [100, 300, 1_000] {
        for optimizer in ["swarm", "multi_start", "nsga2"] {
            let mut figures = [const { Vec::new() }; 4];
            for seed in 0..10 {
                let body = json!({ "recoding": "microaggregation", "privacy": [{ "model": "k_anonymity", "k": 5 }],
                    "search": { "method": "mo_obam", "optimizer": optimizer, "clusters": 100, "seed": seed,
                        "max_evaluations": evaluations } });
                let Outcome::Front(front) = data.search(&body) else {
                    return print("no front");
                };
                let points: Vec<[f64; 2]> = front
                    .solutions
                    .iter()
                    .map(|one| {
                        ["information_loss", "sensitive_entropy"].map(|name| one.objectives[name])
                    })
                    .collect();
                let weighed = |lambda: f64| {
                    let values = points.iter().map(|[loss, entropy]| loss - lambda * entropy);
                    values.fold(f64::INFINITY, f64::min)
                };
                let found = [
                    hypervolume(&points),
                    weighed(0.1),
                    weighed(1.0),
                    weighed(5.0),
                ];
                for (list, figure) in figures.iter_mut().zip(found) {
                    list.push(figure);
                }
            }
            let spread = |list: &mut Vec<f64>| {
                list.sort_by(f64::total_cmp);
                let (least, most) = (list[0], list[list.len() - 1]);
                let median = f64::midpoint(list[(list.len() - 1) / 2], list[list.len() / 2]);
                format!("{median:.4} ({least:.4}, {most:.4})")
            };
            let cells: Vec<String> = figures.iter_mut().map(spread).collect();
            print(&format!(
                "{evaluations:>11}  {optimizer:<11} | {}",
                cells.join(" | ")
            ));
        }
    }
}

/// Area that a front of (loss, entropy) dominates, against loss 1 and entropy 0.
fn hypervolume(points: &[[f64; 2]]) -> f64 {
    let mut points = points.to_vec();
    points.sort_by(|left, right| left[0].total_cmp(&right[0]));
    let (mut area, mut most) = (0.0, 0.0);
    for [loss, entropy] in points {
        if entropy > most {
            area += (1.0 - loss) * (entropy - most);
            most = entropy;
        }
    }
    area
}

/// The table, with fewer or more rows than the file.
fn credit(folder: &str, rows: usize) -> Data {
    let path = format!("{folder}/credit_default/UCI_Credit_Card.csv");
    let text = std::fs::read_to_string(path).expect("the file");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let places = COLUMNS.map(|name| {
        header
            .iter()
            .position(|other| *other == name)
            .expect("a column")
    });
    let own: Vec<Vec<String>> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            places
                .iter()
                .map(|&place| cells[place].to_owned())
                .collect()
        })
        .collect();
    let mut state = 7_u64;
    let mut draw = |below: i64| -> i64 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(state >> 33).expect("31 bits") % below
    };
    let moved = |cell: &str, by: i64| {
        (cell.parse::<i64>().expect("a number") + by)
            .max(1)
            .to_string()
    };
    let mut found = own[..rows.min(own.len())].to_vec();
    while found.len() < rows {
        let count = i64::try_from(own.len()).expect("few rows");
        let mut row = own[usize::try_from(draw(count)).expect("in range")].clone();
        row[0] = moved(&row[0], draw(7) - 3);
        row[4] = moved(&row[4], 10_000 * (draw(5) - 2));
        found.push(row);
    }
    let attributes: Value = COLUMNS
        .iter()
        .map(|name| match *name {
            "AGE" | "LIMIT_BAL" => {
                json!({ "name": name, "role": "quasi_identifying", "type": "integer" })
            }
            "PAY_0" => json!({ "name": name, "role": "sensitive" }),
            _ => json!({ "name": name, "role": "quasi_identifying" }),
        })
        .collect();
    table(
        &attributes,
        found
            .iter()
            .map(|row| row.iter().map(String::as_str).collect()),
    )
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn print(line: &str) {
    println!("{line}");
}
