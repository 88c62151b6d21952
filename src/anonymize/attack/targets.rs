//! Who is looked for.

use rustc_hash::{FxHashMap, FxHashSet};

use super::assess::Scene;
use super::known::{Known, Target};
use super::labels::Labels;
use super::reader::Classes;
use super::report::{PeopleReport, PeopleSource};
use super::truth::Truth;
use crate::anonymize::table::{Column, Table};
use crate::fault::{Fault, FaultCode};

/// Most rows of the dataset that are looked for.
const MOST_ROWS: usize = 10_000;
/// Word operations of a simulation over all sets of known attributes: some seconds.
const MOST_WORK: u64 = 8_000_000_000;

/// Known people, from an auxiliary file.
#[derive(Debug, Clone)]
pub struct People {
    /// Their quasi-identifiers and sensitive values; columns by attribute, absent where not known.
    pub table: Table,
    /// Their subject in the form of the raw rows' subjects, where known.
    pub subjects: Option<Column>,
}

/// What the attacks share.
pub(super) struct Search<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) quasi: &'a [usize],
    pub(super) classes: &'a Classes,
    pub(super) labels: &'a [Labels],
}

impl Search<'_> {
    /// By quasi-identifier: value code of each row; `None` where the table lacks the column.
    pub(super) fn values(&self, table: &Table) -> Vec<Option<Vec<u32>>> {
        let both = self.quasi.iter().zip(self.labels);
        both.map(|(&position, labels)| {
            let column = table.columns[position].as_ref()?;
            let code_of = labels.codes_of(column);
            let codes = column.codes.iter().map(|&code| code_of[code as usize]);
            Some(codes.collect())
        })
        .collect()
    }

    /// Who is looked for.
    pub(super) fn people(
        &self,
        truth: &Truth,
        sets: u64,
    ) -> Result<(Vec<Target>, PeopleReport), Vec<Fault>> {
        let words = self.classes.rows.len().div_ceil(64).max(1) as u64;
        let cost = (words * sets * self.quasi.len().max(1) as u64).max(1);
        let most = usize::try_from(MOST_WORK / cost)
            .unwrap_or(usize::MAX)
            .max(1);
        match self.scene.people {
            None => {
                let raw = self.scene.raw;
                let step = raw.rows.div_ceil(most.clamp(1_000, MOST_ROWS)).max(1);
                let person = |row: usize| match &raw.subjects {
                    Some(subjects) => subjects.codes[row],
                    None => u32::try_from(row).unwrap_or(u32::MAX),
                };
                let targets: Vec<Target> = (0..raw.rows)
                    .step_by(step)
                    .map(|row| Target {
                        person: person(row),
                        known: truth
                            .values
                            .iter()
                            .map(|column| Known::Code(column[row]))
                            .collect(),
                        class: truth.class_of(row),
                        value: None,
                    })
                    .collect();
                let report = PeopleReport {
                    source: PeopleSource::Dataset,
                    records: targets.len() as u64,
                    persons: persons(&targets),
                    step: step as u64,
                };
                if report.persons < self.scene.k {
                    return Err(vec![too_few("the dataset has", self.scene.k)]);
                }
                Ok((targets, report))
            }
            Some(people) => {
                if people.table.rows > most {
                    let detail = format!(
                        "so many sets of known columns can be tried for at most {most} records; try smaller sets or fewer records"
                    );
                    let fault = Fault::at("/subsets_up_to", FaultCode::OutOfRange, detail);
                    return Err(vec![fault]);
                }
                self.known_people(people, truth)
            }
        }
    }

    fn known_people(
        &self,
        people: &People,
        truth: &Truth,
    ) -> Result<(Vec<Target>, PeopleReport), Vec<Fault>> {
        let values = self.values(&people.table);
        let index = Index::new(self, people, truth, &values);
        let mut met: FxHashMap<Identity, u32> = FxHashMap::default();
        let rows = 0..people.table.rows;
        let targets: Vec<Target> = rows
            .map(|row| {
                let known = values.iter().map(|column| match column {
                    Some(column) => Known::Code(column[row]),
                    None => Known::Nothing,
                });
                let own = index.row_of(row);
                let next = u32::try_from(met.len()).unwrap_or(u32::MAX);
                Target {
                    // Records of one person would make shares of many people theirs.
                    person: *met.entry(index.identity(row, own)).or_insert(next),
                    known: known.collect(),
                    class: own.and_then(|own| truth.class_of(own)),
                    value: None,
                }
            })
            .collect();
        if (met.len() as u64) < self.scene.k {
            return Err(vec![too_few("the auxiliary file has", self.scene.k)]);
        }
        let report = PeopleReport {
            source: PeopleSource::Auxiliary,
            records: targets.len() as u64,
            persons: met.len() as u64,
            step: 1,
        };
        Ok((targets, report))
    }

    /// The same people with numbers known up to an error.
    pub(super) fn inexact(&self, people: &[Target]) -> Vec<Target> {
        let blurred = |target: &Target| {
            let both = target.known.iter().zip(self.labels);
            let known = both.map(|(known, labels)| match known {
                Known::Code(code) => match labels.around(*code) {
                    Some((least, most)) => Known::Codes(least, most),
                    None => *known,
                },
                _ => *known,
            });
            Target {
                known: known.collect(),
                ..target.clone()
            }
        };
        people.iter().map(blurred).collect()
    }

    /// The people, every `step`-th row, with their values of a sensitive attribute in the codes of the release; `None`
    /// where it is not known.
    pub(super) fn with_values(
        &self,
        people: &[Target],
        step: usize,
        position: usize,
    ) -> Option<Vec<Target>> {
        let released = self.scene.released.columns[position].as_ref()?;
        let table = self
            .scene
            .people
            .map_or(self.scene.raw, |people| &people.table);
        let known = table.columns[position].as_ref()?;
        let codes = known.codes.iter().step_by(step.max(1)).map(|&code| {
            let value = known.dictionary.value(code)?;
            // A value that is not released is no one's guess.
            Some(released.dictionary.code(value).unwrap_or(u32::MAX))
        });
        let both = people.iter().zip(codes);
        Some(
            both.map(|(target, value)| Target {
                value,
                ..target.clone()
            })
            .collect(),
        )
    }
}

/// Which raw row a known person is.
struct Index<'a> {
    values: &'a [Option<Vec<u32>>],
    truth: &'a Truth,
    raw_subjects: Option<&'a Column>,
    /// By row of the people: code of their subject among the raw rows' (absent: in none of them).
    subjects: Option<(Vec<Option<u32>>, &'a Column)>,
    rows_of_subject: FxHashMap<u32, Vec<u32>>,
    first_row: FxHashMap<Vec<u32>, u32>,
}

impl<'a> Index<'a> {
    fn new(
        search: &Search<'a>,
        people: &'a People,
        truth: &'a Truth,
        values: &'a [Option<Vec<u32>>],
    ) -> Self {
        let mut index = Self {
            values,
            truth,
            raw_subjects: search.scene.raw.subjects.as_ref(),
            subjects: None,
            rows_of_subject: FxHashMap::default(),
            first_row: FxHashMap::default(),
        };
        let rows = 0..u32::try_from(search.scene.raw.rows).unwrap_or(u32::MAX);
        if let (Some(own), Some(raw)) = (&people.subjects, &search.scene.raw.subjects) {
            let code = |&code: &u32| raw.dictionary.code(own.dictionary.value(code)?);
            index.subjects = Some((own.codes.iter().map(code).collect(), own));
            for row in rows {
                let subject = raw.codes[row as usize];
                index.rows_of_subject.entry(subject).or_default().push(row);
            }
        } else {
            for row in rows {
                let known = truth.values.iter().zip(values);
                let known = known.filter(|(_, values)| values.is_some());
                let key = known.map(|(column, _)| column[row as usize]).collect();
                index.first_row.entry(key).or_insert(row);
            }
        }
        index
    }

    /// All that is known.
    fn key(&self, row: usize) -> Vec<u32> {
        let known = self.values.iter().flatten();
        known.map(|column| column[row]).collect()
    }

    /// What tells a person from others: the subject that the file names, else that of the raw row, else all that is known.
    fn identity(&self, row: usize, own: Option<usize>) -> Identity {
        match (&self.subjects, self.raw_subjects, own) {
            (Some((_, column)), _, _) => Identity::Named(column.codes[row]),
            (None, Some(raw), Some(own)) => Identity::Subject(raw.codes[own]),
            (None, _, _) => Identity::Known(self.key(row)),
        }
    }

    /// The raw row that agrees with most of what is known; the first of equals.
    fn row_of(&self, row: usize) -> Option<usize> {
        let Some((subjects, _)) = &self.subjects else {
            return self.first_row.get(&self.key(row)).map(|&raw| raw as usize);
        };
        let agreement = |raw: &&u32| {
            let both = self.truth.values.iter().zip(self.values);
            both.filter(|(raw_values, values)| {
                values
                    .as_ref()
                    .is_some_and(|values| values[row] == raw_values[**raw as usize])
            })
            .count()
        };
        let own = self.rows_of_subject.get(&subjects[row]?)?;
        // `max_by_key` gives the last of equals.
        let best = own.iter().rev().max_by_key(agreement)?;
        Some(*best as usize)
    }
}

/// Who a record is of.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// A subject that the file names.
    Named(u32),
    /// The subject of a raw row.
    Subject(u32),
    /// Nobody but whoever is known by these values.
    Known(Vec<u32>),
}

fn persons(targets: &[Target]) -> u64 {
    let persons: FxHashSet<u32> = targets.iter().map(|target| target.person).collect();
    persons.len() as u64
}

fn too_few(what: &str, k: u64) -> Fault {
    let detail = format!(
        "{what} fewer than {k} different people, the k of this release: figures would be theirs"
    );
    Fault::at("", FaultCode::TooFewRecords, detail)
}
