//! The last check, from disk: the released file against its record, by nothing but its own lines.
//!
//! The file alone tells its digest, rows, labels, classes and diagnoses per class. How many *patients* stand in a class it
//! cannot tell, since nobody in it has a number; for that, and for "no row was altered", the bundled input is recoded
//! here once more and the two are compared as bags of rows.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::task::{K, L, MISSING, QUASI_IDENTIFIERS, SENSITIVE, SUBJECT, hierarchy};

type Row = HashMap<String, String>;

/// A hierarchy file: labels by value, and the level that the release states.
struct Ladder {
    labels: HashMap<String, Vec<String>>,
    level: usize,
}

impl Ladder {
    fn read(data: &Path, column: &str, record: &Value) -> Result<Self> {
        let text = hierarchy(data, column)?;
        let lines = text.lines().map(|line| {
            let labels: Vec<String> = line.split(';').map(str::to_owned).collect();
            (labels[0].clone(), labels)
        });
        let level = record["recoding"]["levels"][column]
            .as_u64()
            .with_context(|| format!("the record states no level of {column}"))?;
        Ok(Self {
            labels: lines.collect(),
            level: usize::try_from(level)?,
        })
    }

    /// A missing value stays missing (an empty cell) until the top, where all is `*`.
    fn recode(&self, value: &str) -> Result<String> {
        let top = self
            .labels
            .values()
            .all(|labels| labels.len() == self.level + 1);
        if value == MISSING {
            return Ok(if top { "*".to_owned() } else { String::new() });
        }
        let labels = self.labels.get(value).context("a value without a line")?;
        Ok(labels
            .get(self.level)
            .context("a level beyond the hierarchy")?
            .clone())
    }

    /// Every cell that this level can show.
    fn possible(&self) -> Result<HashSet<String>> {
        let values = self.labels.keys().map(String::as_str).chain([MISSING]);
        values.map(|value| self.recode(value)).collect()
    }
}

/// Checks the file; gives one line per finding, or the first mismatch.
pub(crate) fn release(file: &Path, record: &Value, data: &Path) -> Result<Vec<String>> {
    let mut findings = vec![digest(file, record)?];
    let released = read(file)?;
    let input = read(&data.join("sample.csv"))?;
    findings.push(shape(file, &released, &input, record)?);
    let mut ladders = HashMap::new();
    for column in QUASI_IDENTIFIERS {
        ladders.insert(column, Ladder::read(data, column, record)?);
    }
    findings.push(labels(&released, &ladders)?);
    findings.push(classes(&released, record)?);
    findings.push(truth(&released, &input, &ladders, record)?);
    Ok(findings)
}

fn digest(file: &Path, record: &Value) -> Result<String> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let found = hex::encode(Sha256::digest(&bytes));
    ensure!(
        record["csv_sha256"] == found.as_str(),
        "SHA-256 {found} is not that of the record"
    );
    Ok(format!("SHA-256 {found} is that of the record"))
}

fn shape(file: &Path, released: &[Row], input: &[Row], record: &Value) -> Result<String> {
    let header = csv::Reader::from_path(file)?.headers()?.clone();
    let columns: Vec<Value> = header.iter().map(Value::from).collect();
    ensure!(
        record["columns"] == Value::from(columns),
        "the columns are not those of the record"
    );
    for name in ["encounter_id", SUBJECT] {
        ensure!(
            header.iter().all(|column| column != name),
            "{name} was released"
        );
    }
    let count = |key: &str| record[key].as_u64().unwrap_or(u64::MAX);
    ensure!(
        released.len() as u64 == count("released_rows"),
        "the rows are not as many as the record says"
    );
    ensure!(
        input.len() as u64 == count("rows_in")
            && count("rows_in") == count("released_rows") + count("suppressed_rows"),
        "the record's counts do not add up"
    );
    Ok(format!(
        "{} rows of {}, {} withheld; no identifying column",
        released.len(),
        input.len(),
        count("suppressed_rows")
    ))
}

fn labels(released: &[Row], ladders: &HashMap<&str, Ladder>) -> Result<String> {
    for (column, ladder) in ladders {
        let possible = ladder.possible()?;
        for (index, row) in released.iter().enumerate() {
            ensure!(
                possible.contains(&row[*column]),
                "row {}: {column} is not a label of level {}",
                index + 1,
                ladder.level
            );
        }
    }
    Ok(format!(
        "{} quasi-identifying cells are labels of their hierarchy at the stated level",
        released.len() * ladders.len()
    ))
}

fn classes(released: &[Row], record: &Value) -> Result<String> {
    let mut classes: HashMap<Vec<&str>, (u64, HashSet<&str>)> = HashMap::new();
    for row in released {
        let class = classes.entry(key(row)).or_default();
        class.0 += 1;
        let diagnosis = row[SENSITIVE].as_str();
        if !diagnosis.is_empty() {
            class.1.insert(diagnosis);
        }
    }
    ensure!(
        record["verification"]["classes"] == classes.len() as u64,
        "{} classes are not as many as the record says",
        classes.len()
    );
    let smallest = classes.values().map(|class| class.0).min().unwrap_or(0);
    let poorest = classes.values().map(|class| class.1.len()).min();
    let poorest = poorest.unwrap_or(0) as u64;
    ensure!(smallest >= K, "a class has {smallest} rows");
    ensure!(poorest >= L, "a class has {poorest} different diagnoses");
    Ok(format!(
        "{} classes, the smallest of {smallest} rows, each with {poorest} or more different diagnoses",
        classes.len()
    ))
}

fn truth(
    released: &[Row],
    input: &[Row],
    ladders: &HashMap<&str, Ladder>,
    record: &Value,
) -> Result<String> {
    let kept: HashSet<Vec<&str>> = released.iter().map(key).collect();
    let mut patients: HashMap<Vec<String>, HashSet<&str>> = HashMap::new();
    let mut balance: HashMap<Vec<String>, i64> = HashMap::new();
    let columns: Vec<&str> = record["columns"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for row in input {
        let mut recoded = row.clone();
        for (column, value) in &mut recoded {
            *value = match ladders.get(column.as_str()) {
                Some(ladder) => ladder.recode(value)?,
                None if column == SENSITIVE && value == MISSING => String::new(),
                None => value.clone(),
            };
        }
        if kept.contains(&key(&recoded)) {
            let class = key(&recoded).into_iter().map(str::to_owned).collect();
            patients.entry(class).or_default().insert(&row[SUBJECT]);
            *balance.entry(cells(&recoded, &columns)).or_default() += 1;
        }
    }
    for row in released {
        *balance.entry(cells(row, &columns)).or_default() -= 1;
    }
    ensure!(
        balance.values().all(|&count| count == 0),
        "the released rows are not the recoded input rows of their classes"
    );
    let fewest = patients.values().map(HashSet::len).min().unwrap_or(0) as u64;
    ensure!(fewest >= K, "a class has {fewest} patients");
    ensure!(
        record["privacy"]["k"] == fewest,
        "{fewest} patients in the smallest class is not what the record says"
    );
    Ok(format!(
        "every row is an input row recoded, whole classes; {fewest} or more patients in each (k = {K})"
    ))
}

fn key(row: &Row) -> Vec<&str> {
    QUASI_IDENTIFIERS
        .iter()
        .map(|column| row[*column].as_str())
        .collect()
}

fn cells(row: &Row, columns: &[&str]) -> Vec<String> {
    columns.iter().map(|column| row[*column].clone()).collect()
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| path.display().to_string())?;
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}
