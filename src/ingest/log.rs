//! Collects the faults of an upload: one entry per thing that is wrong with a column, one per broken record.
//!
//! A column may have a million bad cells; its entry counts them and keeps the first rows, so memory stays small and the
//! answer readable. Entries stand in the order in which they were first met.

use std::fmt::Write;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::fault::{Fault, FaultCode};

/// Most row numbers that one fault lists.
const ROWS: usize = 20;
/// Distinct values are counted exactly up to here.
const DISTINCT: usize = 10_000;
/// Most column names that one fault lists.
const NAMES: usize = 200;

/// Where something was met.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    /// Record, from 1; none in the header.
    pub row: Option<u64>,
    /// Line of the upload, from 1.
    pub line: Option<u64>,
}

impl Place {
    pub(super) fn of(self, mut fault: Fault) -> Fault {
        fault.row = self.row;
        fault.line = self.line;
        fault
    }
}

/// What can be wrong with a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Problem {
    NotInHierarchy,
    OutOfRange,
    NotAnInteger,
    NotADecimal,
    NotADate,
    /// Of the declared type, but not what the hierarchy can place.
    NotPlaceable,
    /// An object or an array.
    Nested,
    /// A missing subject.
    SubjectMissing,
    /// Undecodable bytes; counted per record.
    Encoding,
}

impl Problem {
    fn code(self) -> FaultCode {
        match self {
            Self::NotInHierarchy => FaultCode::HierarchyMissingValues,
            Self::OutOfRange => FaultCode::ValueOutOfRange,
            Self::Encoding => FaultCode::InvalidEncoding,
            Self::NotAnInteger
            | Self::NotADecimal
            | Self::NotADate
            | Self::NotPlaceable
            | Self::Nested
            | Self::SubjectMissing => FaultCode::InvalidValue,
        }
    }

    fn detail(self, cells: u64, distinct: &str, about: &str) -> String {
        match self {
            Self::NotInHierarchy => {
                format!("{distinct} distinct values ({cells} cells) have no place in the hierarchy")
            }
            Self::OutOfRange => format!(
                "{cells} cells lie outside the range (or length) that the hierarchy declares"
            ),
            Self::NotAnInteger => format!("{cells} cells are not whole numbers"),
            Self::NotADecimal => format!("{cells} cells are not decimal numbers"),
            Self::NotADate => format!("{cells} cells are not dates of the form `{about}`"),
            Self::NotPlaceable => format!("{cells} cells cannot be read by the hierarchy"),
            Self::Nested => format!("{cells} cells are objects or arrays; a cell is one value"),
            Self::SubjectMissing => {
                format!("{cells} cells are missing, and the subject column must not be")
            }
            Self::Encoding => format!(
                "{cells} records hold bytes that are not {about}; declare the upload's charset"
            ),
        }
    }
}

struct Tally {
    problem: Problem,
    column: Option<String>,
    about: String,
    cells: u64,
    rows: Vec<u64>,
    first: Place,
    distinct: FxHashSet<u64>,
    sample: Vec<String>,
}

struct Names {
    code: FaultCode,
    listed: Vec<String>,
    more: u64,
    first: Place,
    hint: String,
}

enum Entry {
    Single(Fault),
    Tally(Tally),
    Names(Names),
}

/// The faults so far.
#[derive(Default)]
pub(super) struct FaultLog {
    entries: Vec<Entry>,
    tallies: FxHashMap<(Problem, Option<usize>), usize>,
    unlisted: u64,
}

impl FaultLog {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// One fault of its own; beyond [`Fault::MOST`] it is only counted.
    pub(super) fn single(&mut self, fault: Fault) {
        if self.entries.len() < Fault::MOST {
            self.entries.push(Entry::Single(fault));
        } else {
            self.unlisted += 1;
        }
    }

    /// A cell's problem, joined with the same problem of the same column.
    ///
    /// `about` completes the wording (a date format, an encoding).
    pub(super) fn cell(
        &mut self,
        problem: Problem,
        column: Option<(usize, &str)>,
        about: &str,
        value: Option<&str>,
        place: Place,
    ) {
        let key = (problem, column.map(|(position, _)| position));
        let entries = &mut self.entries;
        let index = *self.tallies.entry(key).or_insert_with(|| {
            entries.push(Entry::Tally(Tally {
                problem,
                column: column.map(|(_, name)| name.to_owned()),
                about: about.to_owned(),
                cells: 0,
                rows: Vec::new(),
                first: place,
                distinct: FxHashSet::default(),
                sample: Vec::new(),
            }));
            entries.len() - 1
        });
        if let Entry::Tally(tally) = &mut self.entries[index] {
            tally.note(value, place);
        }
    }

    /// A column name that should not be there, or that is not there; one fault lists all of a code.
    pub(super) fn name(&mut self, code: FaultCode, name: &str, hint: &str, place: Place) {
        let known = self.entries.iter_mut().find_map(|entry| match entry {
            Entry::Names(names) if names.code == code => Some(names),
            _ => None,
        });
        let Some(names) = known else {
            self.entries.push(Entry::Names(Names {
                code,
                listed: vec![name.to_owned()],
                more: 0,
                first: place,
                hint: hint.to_owned(),
            }));
            return;
        };
        if names.listed.iter().any(|known| known == name) {
            return;
        }
        if names.listed.len() < NAMES {
            names.listed.push(name.to_owned());
        } else {
            names.more += 1;
        }
    }

    /// The faults, at most [`Fault::MOST`], the last of which says how many more there are.
    pub(super) fn finish(self) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self
            .entries
            .into_iter()
            .map(|entry| match entry {
                Entry::Single(fault) => fault,
                Entry::Tally(tally) => tally.finish(),
                Entry::Names(names) => names.finish(),
            })
            .collect();
        let total = faults.len() as u64 + self.unlisted;
        if total > Fault::MOST as u64 {
            let code = faults[Fault::MOST - 1].code;
            faults.truncate(Fault::MOST - 1);
            let more = total - faults.len() as u64;
            faults.push(Fault::at(
                "",
                code,
                format!("{more} more faults are not listed"),
            ));
        }
        faults
    }
}

impl Tally {
    fn note(&mut self, value: Option<&str>, place: Place) {
        self.cells += 1;
        if let Some(row) = place.row
            && self.rows.len() < ROWS
        {
            self.rows.push(row);
        }
        let Some(value) = value else { return };
        if self.distinct.len() >= DISTINCT {
            return;
        }
        // Fixed keys: the same upload gives the same answer.
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(value);
        if self.distinct.insert(hash) && self.sample.len() < Fault::SAMPLE {
            self.sample.push(value.chars().take(80).collect());
        }
    }

    fn finish(self) -> Fault {
        let distinct = match self.distinct.len() {
            DISTINCT.. => format!("at least {DISTINCT}"),
            fewer => fewer.to_string(),
        };
        let mut detail = self.problem.detail(self.cells, &distinct, &self.about);
        for (index, row) in self.rows.iter().enumerate() {
            let _ = write!(detail, "{} {row}", if index == 0 { "; rows" } else { "," });
        }
        let more = self.cells - self.rows.len() as u64;
        if more > 0 && !self.rows.is_empty() {
            let _ = write!(detail, " and {more} more");
        }
        let mut fault = Fault::at("", self.problem.code(), detail).sample(self.sample);
        fault.column = self.column;
        self.first.of(fault)
    }
}

impl Names {
    fn finish(self) -> Fault {
        let count = self.listed.len() as u64 + self.more;
        let listed: Vec<String> = self
            .listed
            .iter()
            .map(|name| format!("`{}`", name.chars().take(80).collect::<String>()))
            .collect();
        let what = match self.code {
            FaultCode::UndeclaredColumns => "columns are not declared",
            _ => "declared columns are missing",
        };
        let more = if self.more > 0 {
            format!(" and {} more", self.more)
        } else {
            String::new()
        };
        let detail = format!("{count} {what}: {}{more}{}", listed.join(", "), self.hint);
        self.first.of(Fault::at("", self.code, detail))
    }
}
