//! Exact figures of single policies: the class sizes, diversities, distances and risks that a report states.
//!
//! A search counts up to the numbers asked for only. These figures are uncapped, so they are computed for the policies
//! of a front alone, from lists that are read off the rows once: distinct (cell, subject) pairs, and per sensitive
//! attribute the values of every cell. With a subject column, frequencies count distinct (subject, value) pairs.

use std::collections::BTreeMap;

use super::classes::{ClassTable, Scratch};
use super::distance::{Counts, Reference, effective_values};
use super::order;
use super::report::{Privacy, Risk, SensitivePrivacy};
use super::risk::risk;
use super::rows::{Rows, SensitiveColumn};
use super::table::MISSING;

/// What the figures of any policy are computed from.
#[derive(Debug)]
pub(crate) struct Figures<'a> {
    /// Distinct (cell, subject) pairs.
    subjects: Option<Vec<(u32, u32)>>,
    sensitive: Vec<Sensitive<'a>>,
}

#[derive(Debug)]
struct Sensitive<'a> {
    column: &'a SensitiveColumn<'a>,
    /// Value code of each rank; missing is the last.
    code_of: Vec<u32>,
    entries: Vec<Entry>,
    /// Whether entries are distinct by subject.
    by_subject: bool,
    input: Reference,
}

/// A value in a cell: once per subject, or with its number of rows where no subject is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    class: u32,
    rank: u32,
    subject: u32,
    count: u32,
}

/// The classes of one policy, with exact sizes.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// Rows and size of every class.
    pub(crate) classes: Vec<(u64, u64)>,
}

impl<'a> Figures<'a> {
    pub(crate) fn new(rows: &'a Rows<'_>, cell_of_row: &[u32]) -> Self {
        let subjects = rows.subjects.map(|subjects| {
            let mut pairs: Vec<_> = cell_of_row
                .iter()
                .copied()
                .zip(subjects.iter().copied())
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        });
        let sensitive = rows
            .sensitive
            .iter()
            .map(|column| Sensitive::new(column, rows.subjects, cell_of_row));
        Self {
            subjects,
            sensitive: sensitive.collect(),
        }
    }

    /// Exact sizes of the classes that were grouped from the cells into `table` with `scratch`.
    pub(crate) fn sizes(&self, table: &ClassTable, scratch: &Scratch) -> Sizes {
        let rows = table.rows.iter().map(|&rows| u64::from(rows));
        let Some(pairs) = &self.subjects else {
            return Sizes {
                classes: rows.map(|rows| (rows, rows)).collect(),
            };
        };
        let class_of = scratch.class_of();
        let mut pairs: Vec<_> = pairs
            .iter()
            .map(|&(cell, subject)| (class_of[cell as usize], subject))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut sizes = vec![0; table.len()];
        for (class, _) in pairs {
            sizes[class as usize] += 1;
        }
        Sizes {
            classes: rows.zip(sizes).collect(),
        }
    }

    /// Privacy and risk of the released classes.
    pub(crate) fn report(
        &self,
        sizes: &Sizes,
        released: &[bool],
        scratch: &Scratch,
    ) -> (Privacy, Risk) {
        let kept = sizes.classes.iter().zip(released);
        let kept = kept
            .filter(|&(_, &released)| released)
            .map(|(&class, _)| class);
        let sensitive = self.sensitive.iter().map(|attribute| {
            (
                attribute.column.name.to_owned(),
                attribute.report(scratch.class_of(), released),
            )
        });
        let privacy = Privacy {
            k: kept.clone().map(|(_, size)| size).min().unwrap_or(0),
            sensitive: sensitive.collect(),
        };
        (privacy, risk(kept))
    }
}

impl<'a> Sensitive<'a> {
    fn new(column: &'a SensitiveColumn<'a>, subjects: Option<&[u32]>, cell_of_row: &[u32]) -> Self {
        let dictionary = &column.column.dictionary;
        let mut code_of = column
            .order
            .clone()
            .unwrap_or_else(|| order::by_text(dictionary));
        code_of.push(MISSING);
        let mut rank_of = vec![0; code_of.len()];
        for (&code, rank) in code_of.iter().zip(0..) {
            rank_of[code as usize] = rank;
        }
        let cells = cell_of_row.iter().zip(&column.column.codes).enumerate();
        let mut entries: Vec<Entry> = cells
            .map(|(row, (&cell, &code))| Entry {
                class: cell,
                rank: rank_of[code as usize],
                subject: subjects.map_or(0, |subjects| subjects[row]),
                count: 1,
            })
            .collect();
        let counts = totals(&entries, code_of.len(), subjects.is_some());
        join(&mut entries, subjects.is_some());
        Self {
            column,
            input: Reference::new(counts),
            code_of,
            entries,
            by_subject: subjects.is_some(),
        }
    }

    fn report(&self, class_of: &[u32], released: &[bool]) -> SensitivePrivacy {
        let mut entries: Vec<Entry> = self
            .entries
            .iter()
            .map(|entry| Entry {
                class: class_of[entry.class as usize],
                ..*entry
            })
            .filter(|entry| released[entry.class as usize])
            .collect();
        let by_subject = self.by_subject;
        let reference = Reference::new(totals(&entries, self.code_of.len(), by_subject));
        join(&mut entries, by_subject);
        let mut worst = Worst::default();
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for class in entries.chunk_by(|left, right| left.class == right.class) {
            counts.clear();
            for value in class.chunk_by(|left, right| left.rank == right.rank) {
                let count = value.iter().map(|entry| u64::from(entry.count)).sum();
                counts.push((value[0].rank, count));
            }
            self.judge(&counts, &reference, &mut worst);
        }
        worst.report(
            self.column.order.is_some(),
            self.column.generalization.is_some(),
        )
    }

    fn judge(&self, counts: Counts<'_>, reference: &Reference, worst: &mut Worst) {
        let missing = self.code_of.len() - 1;
        let values = || counts.iter().filter(|(rank, _)| *rank as usize != missing);
        let distinct = values().count() as u64;
        worst.any = true;
        worst.distinct_l = worst.distinct_l.min(distinct);
        worst.entropy_l = worst
            .entropy_l
            .min(effective_values(values().map(|&(_, count)| count)));
        worst.classes_without_value += u64::from(distinct == 0);
        worst.t_equal = worst.t_equal.max(reference.equal(counts));
        worst.t_equal_input = worst.t_equal_input.max(self.input.equal(counts));
        if self.column.order.is_some() {
            worst.t_ordered = worst.t_ordered.max(reference.ordered(counts));
        }
        if let Some(hierarchy) = &self.column.generalization {
            let distance = reference.hierarchical(counts, &self.code_of, hierarchy);
            worst.t_hierarchical = worst.t_hierarchical.max(distance);
        }
    }
}

/// Counts by rank: rows, or distinct (subject, value) pairs over all classes.
fn totals(entries: &[Entry], ranks: usize, by_subject: bool) -> Vec<u64> {
    let mut counts = vec![0; ranks];
    if by_subject {
        let mut pairs: Vec<_> = entries
            .iter()
            .map(|entry| (entry.rank, entry.subject))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        for (rank, _) in pairs {
            counts[rank as usize] += 1;
        }
    } else {
        for entry in entries {
            counts[entry.rank as usize] += u64::from(entry.count);
        }
    }
    counts
}

/// Sorts entries and joins those of one class, value and subject.
fn join(entries: &mut Vec<Entry>, by_subject: bool) {
    entries.sort_unstable();
    entries.dedup_by(|later, earlier| {
        let same = (later.class, later.rank, later.subject)
            == (earlier.class, earlier.rank, earlier.subject);
        if same && !by_subject {
            earlier.count += later.count;
        }
        same
    });
}

/// The worst class so far.
struct Worst {
    any: bool,
    distinct_l: u64,
    entropy_l: f64,
    t_equal: f64,
    t_equal_input: f64,
    t_ordered: f64,
    t_hierarchical: f64,
    classes_without_value: u64,
}

impl Default for Worst {
    fn default() -> Self {
        Self {
            any: false,
            distinct_l: u64::MAX,
            entropy_l: f64::INFINITY,
            t_equal: 0.0,
            t_equal_input: 0.0,
            t_ordered: 0.0,
            t_hierarchical: 0.0,
            classes_without_value: 0,
        }
    }
}

impl Worst {
    fn report(self, has_order: bool, has_hierarchy: bool) -> SensitivePrivacy {
        SensitivePrivacy {
            distinct_l: if self.any { self.distinct_l } else { 0 },
            entropy_l: if self.any { self.entropy_l } else { 0.0 },
            t_equal: self.t_equal,
            t_equal_input: self.t_equal_input,
            t_ordered: has_order.then_some(self.t_ordered),
            t_hierarchical: has_hierarchy.then_some(self.t_hierarchical),
            classes_without_value: self.classes_without_value,
        }
    }
}

/// Number of classes by size, ascending.
pub(crate) fn histogram(sizes: &Sizes) -> Vec<super::report::ClassSizes> {
    let mut by_size: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for &(rows, size) in &sizes.classes {
        let (classes, total) = by_size.entry(size).or_default();
        *classes += 1;
        *total += rows;
    }
    by_size
        .into_iter()
        .map(|(size, (classes, rows))| super::report::ClassSizes {
            size,
            classes,
            rows,
        })
        .collect()
}
