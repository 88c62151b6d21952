//! Hierarchies as plain tables: one line per value, the value first, coarser to the right (ARX files unchanged).
//!
//! The last column is the root if it holds one single label, whatever that is; otherwise a level `*` is added. Lines of
//! texts that mean missing are counted as lines and otherwise left out. Nothing is padded: unequal lines are refused.

use rustc_hash::FxHashMap;

use super::tree::{Tree, TreeLevel};
use super::{TOP, is_missing, trimmed};
use crate::declaration::AttributeDeclaration;
use crate::fault::{Fault, FaultCode, Faults};

/// What some editors write before the first character of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// The table as declared: `text` or `rows`.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) delimiter: Option<&'a str>,
    pub(super) text: Option<&'a str>,
    pub(super) rows: Option<&'a [Vec<String>]>,
}

/// One line, its labels as the attribute reads them.
struct Line {
    number: u64,
    labels: Vec<String>,
}

/// Compiles a table; pushes every fault of it.
pub(super) fn compile(
    source: &Source<'_>,
    attribute: &AttributeDeclaration,
    pointer: &str,
    faults: &mut Faults,
) -> Option<Tree> {
    let before = faults.count();
    let (mut lines, pointer) = match (source.text, source.rows) {
        (Some(text), None) => {
            let delimiter = delimiter(source.delimiter, pointer, faults)?;
            let pointer = format!("{pointer}/text");
            (split(text, delimiter, &pointer, faults)?, pointer)
        }
        (None, Some(rows)) => (numbered(rows), format!("{pointer}/rows")),
        _ => {
            let detail = "a table needs either `text` or `rows`";
            faults.push(Fault::at(pointer, FaultCode::HierarchyInvalid, detail));
            return None;
        }
    };
    if attribute.trim {
        for label in lines.iter_mut().flat_map(|line| &mut line.labels) {
            *label = trimmed(attribute, label);
        }
    }
    let columns = check_lengths(&lines, &pointer, faults)?;
    lines.retain(|line| !is_missing(attribute, &line.labels[0]));
    let linking = Linking::new(columns, &pointer);
    let levels = linking.link(&lines, faults);
    let tree = closed(levels, &lines, &pointer, faults);
    (faults.count() == before).then(|| Tree::new(tree))
}

/// The delimiter as one byte.
fn delimiter(declared: Option<&str>, pointer: &str, faults: &mut Faults) -> Option<u8> {
    match declared.unwrap_or(";").as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Some(*byte),
        _ => {
            let detail = "the delimiter is one ASCII character other than a quote or a line end";
            let place = format!("{pointer}/delimiter");
            faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
            None
        }
    }
}

/// The lines of a text; quoted cells as in CSV, blank lines skipped, a byte order mark removed.
fn split(text: &str, delimiter: u8, pointer: &str, faults: &mut Faults) -> Option<Vec<Line>> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    if let Some(line) = open_quote(text, delimiter) {
        let detail = "a quoted cell is never closed";
        let fault = Fault::at(pointer, FaultCode::UnterminatedQuote, detail);
        faults.push(fault.line(line));
        return None;
    }
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let mut lines = Vec::new();
    let mut record = csv::StringRecord::new();
    // Reading from memory, UTF-8 by type and of flexible length, cannot fail.
    while let Ok(true) = reader.read_record(&mut record) {
        let number = record
            .position()
            .map_or(0, |position| line_of(text, position));
        let labels: Vec<String> = record.iter().map(str::to_owned).collect();
        lines.push(Line { number, labels });
    }
    lines.retain(|line| !is_blank(&line.labels));
    Some(lines)
}

/// Line on which a record begins: the reader's position stands before the blank lines that it skipped.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let start = usize::try_from(position.byte()).unwrap_or(text.len());
    let skipped = text.as_bytes()[start.min(text.len())..]
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'));
    position.line() + skipped.map(|byte| u64::from(*byte == b'\n')).sum::<u64>()
}

/// Line of a quote that is still open at the end.
fn open_quote(text: &str, delimiter: u8) -> Option<u64> {
    let mut line = 1;
    let mut opened = None;
    let mut at_start = true;
    for byte in text.bytes() {
        line += u64::from(byte == b'\n');
        match (opened, byte) {
            (None, b'"') if at_start => opened = Some(line),
            // A doubled quote closes and opens again at once: `at_start` lets it.
            (Some(_), b'"') => {
                opened = None;
                at_start = true;
                continue;
            }
            _ => {}
        }
        at_start = opened.is_none() && (byte == delimiter || byte == b'\n' || byte == b'\r');
    }
    opened
}

fn numbered(rows: &[Vec<String>]) -> Vec<Line> {
    let lines = rows.iter().zip(1..).map(|(labels, number)| Line {
        number,
        labels: labels.clone(),
    });
    let mut lines: Vec<Line> = lines.filter(|line| !is_blank(&line.labels)).collect();
    if let Some(first) = lines.first_mut()
        && first.labels[0].starts_with(BYTE_ORDER_MARK)
    {
        first.labels[0].remove(0);
    }
    lines
}

fn is_blank(labels: &[String]) -> bool {
    match labels {
        [] => true,
        [only] => only.trim().is_empty(),
        _ => false,
    }
}

/// The number of columns that most lines have; lines of another number are faults.
fn check_lengths(lines: &[Line], pointer: &str, faults: &mut Faults) -> Option<usize> {
    let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
    for line in lines {
        *counts.entry(line.labels.len()).or_default() += 1;
    }
    let Some(first) = lines.first().map(|line| line.labels.len()) else {
        let detail = "the table holds no line";
        faults.push(Fault::at(pointer, FaultCode::HierarchyInvalid, detail));
        return None;
    };
    let most = counts.values().copied().max().unwrap_or(0);
    let expected = if counts[&first] == most {
        first
    } else {
        let usual = counts.iter().filter(|(_, count)| **count == most);
        usual.map(|(columns, _)| *columns).max().unwrap_or(first)
    };
    for line in lines.iter().filter(|line| line.labels.len() != expected) {
        let detail = format!(
            "line {} has {} levels, expected are {expected}",
            line.number,
            line.labels.len()
        );
        let fault = Fault::at(pointer, FaultCode::HierarchyRagged, detail);
        faults.push(fault.line(line.number).sample(&line.labels[..1]));
    }
    (counts.len() == 1).then_some(expected)
}

/// Joins lines to levels, checking that a label has one parent only.
struct Linking<'p> {
    pointer: &'p str,
    levels: Vec<TreeLevel>,
    numbers: Vec<FxHashMap<Box<str>, u32>>,
    /// Line that gave each node its parent; 0 once a fault has been told of it.
    lines: Vec<Vec<u64>>,
}

impl<'p> Linking<'p> {
    fn new(columns: usize, pointer: &'p str) -> Self {
        Self {
            pointer,
            levels: vec![TreeLevel::default(); columns],
            numbers: vec![FxHashMap::default(); columns],
            lines: vec![Vec::new(); columns],
        }
    }

    fn link(mut self, lines: &[Line], faults: &mut Faults) -> Vec<TreeLevel> {
        for line in lines {
            for level in (1..line.labels.len()).filter(|level| line.labels[*level].is_empty()) {
                let detail = format!("line {}: the label of level {level} is empty", line.number);
                let fault = Fault::at(self.pointer, FaultCode::HierarchyInvalid, detail);
                faults.push(fault.line(line.number).sample(&line.labels[..1]));
            }
            let mut parent = 0;
            for (level, label) in line.labels.iter().enumerate().rev() {
                parent = self.node(level, label, parent, line.number, faults);
            }
        }
        self.levels
    }

    /// Number of the node of a label, whose parent must be `parent`.
    fn node(
        &mut self,
        level: usize,
        label: &str,
        parent: u32,
        line: u64,
        faults: &mut Faults,
    ) -> u32 {
        let Some(&number) = self.numbers[level].get(label) else {
            let number = self.levels[level].add(label, parent);
            self.numbers[level].insert(Box::from(label), number);
            self.lines[level].push(line);
            return number;
        };
        let first = &mut self.lines[level][number as usize];
        if self.levels[level].parent[number as usize] != parent && *first != 0 {
            let (code, detail) = if level == 0 {
                let detail = format!("a value has different parents on lines {first} and {line}");
                (FaultCode::HierarchyAmbiguous, detail)
            } else {
                let above = level + 1;
                let detail = format!(
                    "a label of level {level} has different parents on level {above}, on lines {first} and {line}"
                );
                (FaultCode::HierarchyNotNested, detail)
            };
            *first = 0;
            faults.push(
                Fault::at(self.pointer, code, detail)
                    .line(line)
                    .sample([label]),
            );
        }
        number
    }
}

/// Ends the levels in one root.
fn closed(
    mut levels: Vec<TreeLevel>,
    lines: &[Line],
    pointer: &str,
    faults: &mut Faults,
) -> Vec<TreeLevel> {
    let last = levels.len() - 1;
    let labels = &levels[last].labels;
    if last > 0 && labels.len() <= 1 {
        return levels;
    }
    if last > 0 && labels.iter().any(|label| &**label == TOP) {
        let others = labels.iter().filter(|label| &***label != TOP);
        let line = lines.iter().find(|line| line.labels[last] != TOP);
        let detail = "the last level holds `*` and other labels: it must be `*` on every line";
        let fault = Fault::at(pointer, FaultCode::HierarchyNotNested, detail).sample(others);
        faults.push(fault.line(line.map_or(0, |line| line.number)));
        return levels;
    }
    levels[last].parent.fill(0);
    let mut top = TreeLevel::default();
    top.add(TOP, 0);
    levels.push(top);
    levels
}
