//! m-invariance as a mode of a series: every release holds all placed rows and counterfeits, in classes of m rows or more
//! with pairwise different sensitive values; the set of values of a row's class never changes (algorithms.md C.7).
//!
//! [`step`] makes one release out of the rows that are there and the signatures that were published before. The grouping is
//! that of [`super::series::m_invariance`]; here rows become subjects, and classes get the smallest nodes that cover them.
//!
//! Source: X. Xiao and Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", 2007.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::series::m_invariance::{self, Signature, Subject};
use super::series::{RowId, SeriesRow, Value};
use super::table::Schema;

/// What such a series keeps between updates: the signature of every row of its last release. Size: one entry per row.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Signatures {
    /// Distinct signatures, ascending.
    pub sets: Vec<Signature>,
    /// Batch, row, position of its signature in `sets`; ascending.
    pub rows: Vec<(u32, u32, u32)>,
}

/// A class as it is released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedClass {
    /// Per quasi-identifier in declared order, the labels from the smallest node that covers the class up to the top.
    pub nodes: Vec<Vec<Option<String>>>,
    /// Its rows.
    pub rows: Vec<SeriesRow>,
    /// Sensitive values of its counterfeits.
    pub counterfeits: Vec<Arc<str>>,
}

/// One release.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvariantStep {
    /// Classes in the order of their labels and values.
    pub classes: Vec<ReleasedClass>,
    /// Signatures to keep.
    pub signatures: Signatures,
    /// Rows that wait for others.
    pub waiting: u64,
    /// Rows without a sensitive value: never released.
    pub without_value: u64,
    /// Rows of the last release that are there no more.
    pub left: u64,
    /// Rows that no release showed before.
    pub added: u64,
}

impl InvariantStep {
    /// Rows released, counterfeits not counted.
    #[must_use]
    pub fn released(&self) -> u64 {
        self.classes
            .iter()
            .map(|class| class.rows.len() as u64)
            .sum()
    }

    /// Counterfeit rows.
    #[must_use]
    pub fn counterfeits(&self) -> u64 {
        let classes = self.classes.iter();
        classes.map(|class| class.counterfeits.len() as u64).sum()
    }
}

impl Signatures {
    /// The signature of every row.
    #[must_use]
    pub fn by_row(&self) -> BTreeMap<RowId, &Signature> {
        let rows = self.rows.iter().filter_map(|&(batch, row, set)| {
            Some((RowId { batch, row }, self.sets.get(set as usize)?))
        });
        rows.collect()
    }

    fn of(classes: &[ReleasedClass], sensitive: usize) -> Self {
        let signature = |class: &ReleasedClass| -> Signature {
            let values = class
                .rows
                .iter()
                .filter_map(|row| row.carried[sensitive].clone());
            values.chain(class.counterfeits.iter().cloned()).collect()
        };
        let all: Vec<Signature> = classes.iter().map(signature).collect();
        let sets: BTreeSet<Signature> = all.iter().cloned().collect();
        let place: BTreeMap<&Signature, u32> = sets.iter().zip(0..).collect();
        let mut rows = Vec::new();
        for (class, signature) in classes.iter().zip(&all) {
            let set = place[signature];
            rows.extend(class.rows.iter().map(|row| (row.id.batch, row.id.row, set)));
        }
        rows.sort_unstable();
        drop(place);
        Self {
            sets: sets.into_iter().collect(),
            rows,
        }
    }
}

/// The ways of the values of one quasi-identifier to the top, and their order: values under one node stand together.
struct Ways {
    of_value: BTreeMap<Value, (u64, Vec<Option<String>>)>,
}

impl Ways {
    fn of(schema: &Schema, position: usize, values: BTreeSet<Value>) -> Option<Self> {
        let hierarchy = schema.attributes()[position].hierarchy.as_ref()?;
        let mut ways = Vec::new();
        for value in values {
            let path = hierarchy.path(value.as_deref()).ok()?;
            ways.push((value, path));
        }
        // From the top down; missing has empty labels below the top and stands first.
        ways.sort_by(|left, right| left.1.iter().rev().cmp(right.1.iter().rev()));
        let numbered = (0..).zip(ways);
        Some(Self {
            of_value: numbered
                .map(|(place, (value, path))| (value, (place, path)))
                .collect(),
        })
    }

    fn place(&self, value: &Value) -> u64 {
        self.of_value.get(value).map_or(0, |(place, _)| *place)
    }

    /// Labels from the smallest node that covers these values up to the top.
    fn cover<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Vec<Option<String>> {
        let mut ways = values.filter_map(|value| self.of_value.get(value));
        let mut cover = ways.next().map_or_else(Vec::new, |(_, path)| path.clone());
        for (_, path) in ways {
            let shared = cover.iter().rev().zip(path.iter().rev());
            let shared = shared.take_while(|(left, right)| left == right).count();
            cover.drain(..cover.len() - shared);
        }
        cover
    }
}

/// The next release. `rows` are all rows that are there, each another person; `sensitive` is the place of the sensitive
/// attribute among their carried cells. `None` if a value has no place in its hierarchy.
///
/// A row of the last release keeps its signature; one that was erased has none any more. Nothing depends on the order of
/// the rows. Cost: a few sorts of the rows.
#[must_use]
pub fn step(
    schema: &Schema,
    m: usize,
    sensitive: usize,
    before: &Signatures,
    rows: &[SeriesRow],
) -> Option<InvariantStep> {
    let mut ways = Vec::new();
    for (place, position) in schema.quasi_identifiers().into_iter().enumerate() {
        let values = rows.iter().map(|row| row.quasi[place].clone()).collect();
        ways.push(Ways::of(schema, position, values)?);
    }
    let known = before.by_row();
    let number = |row: &SeriesRow| (u64::from(row.id.batch) << 32) | u64::from(row.id.row);
    let subject = |row: &SeriesRow| {
        let places = ways.iter().zip(row.quasi.iter());
        Some(Subject {
            place: places.map(|(ways, value)| ways.place(value)).collect(),
            id: number(row),
            value: row.carried[sensitive].clone()?,
        })
    };
    let (mut survivors, mut newcomers, mut without_value) = (Vec::new(), Vec::new(), 0);
    for row in rows {
        match (subject(row), known.get(&row.id)) {
            (Some(subject), Some(signature)) => survivors.push((subject, (*signature).clone())),
            (Some(subject), None) => newcomers.push(subject),
            (None, _) => without_value += 1,
        }
    }
    let release = m_invariance::republish(m, &survivors, &newcomers);
    let by_number: BTreeMap<u64, &SeriesRow> = rows.iter().map(|row| (number(row), row)).collect();
    let mut classes: Vec<ReleasedClass> = release
        .classes
        .iter()
        .map(|class| {
            let rows = class.subjects.iter();
            let rows: Vec<SeriesRow> = rows.map(|one| by_number[&one.id].clone()).collect();
            let nodes = ways.iter().enumerate();
            let nodes =
                nodes.map(|(place, ways)| ways.cover(rows.iter().map(|row| &row.quasi[place])));
            ReleasedClass {
                nodes: nodes.collect(),
                counterfeits: class.counterfeits.clone(),
                rows,
            }
        })
        .collect();
    // An order of what is published alone: the number of a class tells nothing else.
    classes.sort_by_cached_key(|class| {
        let values = class
            .rows
            .iter()
            .filter_map(|row| row.carried[sensitive].clone());
        let values: BTreeSet<Arc<str>> = values.chain(class.counterfeits.iter().cloned()).collect();
        let real: BTreeSet<RowId> = class.rows.iter().map(|row| row.id).collect();
        (class.nodes.clone(), values, class.counterfeits.len(), real)
    });
    let signatures = Signatures::of(&classes, sensitive);
    Some(InvariantStep {
        left: (known.len() - survivors.len()) as u64,
        added: (newcomers.len() - release.waiting.len()) as u64,
        waiting: release.waiting.len() as u64,
        without_value,
        signatures,
        classes,
    })
}
