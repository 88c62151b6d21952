//! Grouping into equivalence classes and rolling them up: the hot loop.
//!
//! A [`ClassTable`] holds the classes of one policy as a structure of arrays. The classes of a coarser policy are
//! merged from any finer table: keys step up, weights add, sets unite. Merging is exact, so it does not matter from
//! which finer table a policy's classes come, and a search is free to take the smallest that it has.

mod diversity;
pub(crate) mod histograms;
pub(crate) mod keys;
pub(crate) mod labels;
mod members;
mod release;
mod select;
pub(crate) mod sets;
mod size_table;
pub(crate) mod sizes;
mod slots;
mod suppression;
mod tally;

use super::cells::Cells;
use super::privacy::{Criteria, Judging};
pub(crate) use diversity::Diversity;
use histograms::{Histograms, Sums};
use keys::{Change, Keys, Slots};
use labels::{LabelCounts, LabelScratch};
pub(crate) use members::Members;
pub use release::Release;
pub(crate) use select::Verdict;
use sets::{CappedSets, MergeScratch};
pub use suppression::{Suppression, suppress, suppress_recoded};
use tally::Tally;
pub use tally::{Totals, Volumes, Wanted};

/// The classes of one policy.
#[derive(Debug, Clone)]
pub struct ClassTable {
    pub(crate) levels: Vec<u32>,
    /// Of the classes, and after them of those that only a population reaches.
    pub(crate) keys: Keys,
    /// Rows per class.
    pub(crate) rows: Vec<u32>,
    /// Subjects per class; absent where rows are counted or nobody asks.
    pub(crate) subjects: Option<CappedSets>,
    /// By sensitive attribute.
    pub(crate) diversity: Vec<Diversity>,
    /// Rows by value of the target attribute, where one is to be predicted.
    pub(crate) labels: Option<LabelCounts>,
    /// By sensitive attribute; absent where no criterion asks.
    pub(crate) histograms: Vec<Option<Histograms>>,
    /// By population: its members in all classes that have a key.
    pub(crate) members: Vec<Members>,
}

/// Buffers of grouping, one per thread, kept between policies.
#[derive(Debug, Default)]
pub struct Scratch {
    slots: Slots,
    merge: MergeScratch,
    merge_labels: LabelScratch,
    sums: Sums,
    class_of: Vec<u32>,
}

impl Scratch {
    /// Takes the class of each cell from outside, for [`ClassTable::gather_into`].
    pub(crate) fn set_class_of(&mut self, class_of: &[u32]) {
        self.class_of.clear();
        self.class_of.extend_from_slice(class_of);
    }

    /// The class of each cell (or finer class) of the last roll-up.
    #[must_use]
    pub fn class_of(&self) -> &[u32] {
        &self.class_of
    }
}

impl ClassTable {
    /// A table without classes, to be filled by [`ClassTable::roll_up_into`].
    #[must_use]
    pub fn empty(cells: &Cells) -> Self {
        Self {
            levels: Vec::new(),
            keys: Keys::new(cells.layout.width),
            rows: Vec::new(),
            subjects: None,
            diversity: Vec::new(),
            labels: None,
            histograms: Vec::new(),
            members: Vec::new(),
        }
    }

    /// A single class without a key, from what is known of it.
    pub(crate) fn single(
        rows: u32,
        subjects: Option<CappedSets>,
        diversity: Vec<Diversity>,
        histograms: Vec<Option<Histograms>>,
    ) -> Self {
        Self {
            levels: Vec::new(),
            keys: Keys::Narrow(Vec::new()),
            rows: vec![rows],
            subjects,
            diversity,
            labels: None,
            histograms,
            members: Vec::new(),
        }
    }

    /// The classes of a policy, grouped from the cells.
    #[must_use]
    pub fn group(cells: &Cells, levels: &[u32], scratch: &mut Scratch) -> Self {
        let mut table = Self::empty(cells);
        cells
            .bottom
            .roll_up_into(cells, levels, scratch, &mut table);
        table
    }

    /// The classes of a policy, merged from those of this finer one.
    #[must_use]
    pub fn roll_up(&self, cells: &Cells, levels: &[u32], scratch: &mut Scratch) -> Self {
        let mut table = Self::empty(cells);
        self.roll_up_into(cells, levels, scratch, &mut table);
        table
    }

    /// The same into a table whose buffers are used again. No level may be lower than this table's.
    ///
    /// Cost: per class one look-up per attribute that changes, one probe of a hash table, and its sets.
    pub fn roll_up_into(
        &self,
        cells: &Cells,
        levels: &[u32],
        scratch: &mut Scratch,
        into: &mut Self,
    ) {
        self.assign(cells, levels, scratch, into);
        let classes = into.keys.len();
        self.merge_into(classes, scratch, into);
    }

    /// The classes of a policy whose class of each of this table's classes is known already: `scratch` holds it, and
    /// `representatives` a class of this table for each. This table's levels are all 0.
    pub(crate) fn gather_into(
        &self,
        cells: &Cells,
        levels: &[u32],
        representatives: &[u32],
        scratch: &mut Scratch,
        into: &mut Self,
    ) {
        debug_assert!(self.levels.iter().all(|&level| level == 0), "the cells");
        let node = |attribute: usize, bottom: u32| {
            let level = levels[attribute] as usize;
            cells.quasi_identifiers[attribute].from_bottom[level][bottom as usize]
        };
        into.levels.clear();
        into.levels.extend_from_slice(levels);
        match (&self.keys, &mut into.keys) {
            (Keys::Narrow(finer), Keys::Narrow(coarser)) => {
                keys::gather(finer, representatives, &cells.layout, node, coarser);
            }
            (Keys::Wide(finer), Keys::Wide(coarser)) => {
                keys::gather(finer, representatives, &cells.layout, node, coarser);
            }
            (Keys::Long(finer), Keys::Long(coarser)) => {
                coarser.clear();
                coarser.extend(representatives.iter().map(|&class| finer[class as usize]));
            }
            _ => unreachable!("all class tables of one set of cells have keys of one width"),
        }
        let classes = into.keys.len();
        self.merge_into(classes, scratch, into);
    }

    /// Sums up what stands beside the keys, over the classes that `scratch` joins.
    /// `classes` is their number, with those that only populations reach.
    fn merge_into(&self, mut classes: usize, scratch: &mut Scratch, into: &mut Self) {
        let Scratch {
            merge,
            merge_labels,
            sums,
            class_of,
            ..
        } = scratch;
        into.members
            .resize_with(self.members.len(), Members::default);
        for (finer, coarser) in self.members.iter().zip(&mut into.members) {
            finer.merge_into(class_of, classes, merge, coarser);
        }
        if !self.members.is_empty() {
            // Classes are numbered in the order in which finer ones reach them, and the table's own come first.
            class_of.truncate(self.len());
            classes = class_of.iter().max().map_or(0, |&last| last as usize + 1);
        }
        into.rows.clear();
        into.rows.resize(classes, 0);
        for (&class, &rows) in class_of.iter().zip(&self.rows) {
            into.rows[class as usize] += rows;
        }
        match &self.subjects {
            None => into.subjects = None,
            Some(finer) => {
                let coarser = into.subjects.get_or_insert_with(|| CappedSets::new(0));
                finer.merge_into(class_of, classes, merge, coarser);
            }
        }
        into.diversity
            .resize(self.diversity.len(), Diversity::Unknown);
        for (finer, coarser) in self.diversity.iter().zip(&mut into.diversity) {
            finer.merge_into(class_of, classes, merge, coarser);
        }
        match &self.labels {
            None => into.labels = None,
            Some(finer) => {
                let coarser = into.labels.get_or_insert_with(LabelCounts::new);
                finer.merge_into(class_of, classes, merge_labels, coarser);
            }
        }
        into.histograms.resize(self.histograms.len(), None);
        for (finer, coarser) in self.histograms.iter().zip(&mut into.histograms) {
            match finer {
                None => *coarser = None,
                Some(finer) => {
                    let coarser = coarser.get_or_insert_default();
                    finer.merge_into(class_of, classes, merge, sums, coarser);
                }
            }
        }
    }

    /// Sets levels and keys of `into` and the class of each of this table's classes.
    fn assign(&self, cells: &Cells, levels: &[u32], scratch: &mut Scratch, into: &mut Self) {
        let Scratch {
            slots, class_of, ..
        } = scratch;
        let steps = self.levels.iter().zip(levels).enumerate();
        let changes: Vec<Change<'_>> = steps
            .filter(|(_, (from, to))| from < to)
            .map(|(attribute, (&from, &to))| {
                Change::new(attribute, &cells.quasi_identifiers[attribute], from, to)
            })
            .collect();
        into.levels.clear();
        into.levels.extend_from_slice(levels);
        match (&self.keys, &mut into.keys) {
            (Keys::Narrow(finer), Keys::Narrow(coarser)) => {
                keys::assign(finer, &changes, &cells.layout, slots, class_of, coarser);
            }
            (Keys::Wide(finer), Keys::Wide(coarser)) => {
                keys::assign(finer, &changes, &cells.layout, slots, class_of, coarser);
            }
            (Keys::Long(finer), Keys::Long(coarser)) => {
                let node = |cell: u32, attribute: usize| {
                    let nodes = &cells.quasi_identifiers[attribute].from_bottom;
                    let bottom = cells.long_nodes[attribute][cell as usize];
                    nodes[levels[attribute] as usize][bottom as usize]
                };
                keys::assign_long(finer, &cells.layout, node, class_of, coarser);
            }
            _ => unreachable!("all class tables of one set of cells have keys of one width"),
        }
    }

    /// Members of a population in each class that only populations reach.
    pub(crate) fn absent_members(&self, slot: usize) -> impl Iterator<Item = u64> + '_ {
        let absent = self.len()..self.keys.len();
        absent.map(move |class| self.members[slot].count(class))
    }

    /// Number of classes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// One class.
    #[must_use]
    #[inline]
    pub fn view(&self, class: usize) -> ClassView<'_> {
        ClassView { table: self, class }
    }

    /// The node of an attribute in a class, on this table's level.
    #[inline]
    pub(crate) fn node(&self, cells: &Cells, class: usize, attribute: usize) -> u32 {
        let field = cells.layout.fields[attribute];
        match &self.keys {
            Keys::Narrow(keys) => keys::Packed::node(keys[class], field),
            Keys::Wide(keys) => keys::Packed::node(keys[class], field),
            Keys::Long(representatives) => {
                let bottom = cells.long_nodes[attribute][representatives[class] as usize];
                let level = self.levels[attribute] as usize;
                cells.quasi_identifiers[attribute].from_bottom[level][bottom as usize]
            }
        }
    }

    /// Bytes held.
    #[must_use]
    pub(crate) fn bytes(&self) -> usize {
        let sets = |sets: &CappedSets| sets.bytes();
        let diversity = |diversity: &Diversity| match diversity {
            Diversity::Unknown => 0,
            Diversity::Mask(masks) => masks.len() * 8,
            Diversity::Sets(sets) => sets.bytes(),
        };
        self.keys.bytes()
            + self.rows.len() * 4
            + self.subjects.as_ref().map_or(0, sets)
            + self.diversity.iter().map(diversity).sum::<usize>()
            + self.labels.as_ref().map_or(0, LabelCounts::bytes)
            + self.members.iter().map(Members::bytes).sum::<usize>()
            + self
                .histograms
                .iter()
                .flatten()
                .map(Histograms::bytes)
                .sum::<usize>()
    }

    /// What a policy releases and costs, in exact integers.
    ///
    /// Only the sums that are wanted are made; each costs a look at every attribute of the suppressed classes (`leaves`,
    /// `nodes`) or of all (`volumes`), or less.
    #[must_use]
    pub fn evaluate(&self, cells: &Cells, criteria: &Criteria, wanted: Wanted) -> Evaluation {
        // Without histograms and table criteria, classes are judged as they pass by.
        if criteria.is_plain() {
            let mut judging = Judging::default();
            return self.total(cells, wanted, |class| {
                criteria.ok(&self.view(class), &mut judging)
            });
        }
        let decided = self.release(cells, criteria);
        Evaluation {
            core_suppressed_rows: decided.core_suppressed_rows,
            ..self.total(cells, wanted, |class| decided.released[class])
        }
    }

    /// The same where it is decided which classes are released, by criteria that all are absorbing.
    pub(crate) fn total(
        &self,
        cells: &Cells,
        wanted: Wanted,
        mut is_released: impl FnMut(usize) -> bool,
    ) -> Evaluation {
        let mut tally = Tally::new(self, cells, wanted);
        for class in 0..self.len() {
            if is_released(class) {
                tally.release(class);
            } else {
                tally.suppress(class);
            }
        }
        tally.finish()
    }
}

/// One class, as a criterion sees it.
#[derive(Debug, Clone, Copy)]
pub struct ClassView<'a> {
    table: &'a ClassTable,
    class: usize,
}

impl ClassView<'_> {
    /// Its rows.
    #[must_use]
    #[inline]
    pub fn rows(&self) -> u64 {
        u64::from(self.table.rows[self.class])
    }

    /// Its size: distinct subjects where a subject is declared, counted up to the largest number that a criterion of
    /// the task asks for; else rows.
    #[must_use]
    #[inline]
    pub fn size(&self) -> u64 {
        match &self.table.subjects {
            Some(subjects) => subjects.count(self.class),
            None => self.rows(),
        }
    }

    /// How often it holds each value of a sensitive attribute, by rank; missing is the last rank. In rows, or in
    /// distinct pairs of a subject and a value where a subject is declared. Empty if no criterion asks.
    pub(crate) fn counts<'b>(
        &'b self,
        slot: usize,
        buffer: &'b mut Vec<(u32, u32)>,
    ) -> &'b [(u32, u32)] {
        match &self.table.histograms[slot] {
            Some(histograms) => histograms.counts(self.class, buffer),
            None => &[],
        }
    }

    /// Its members in a population, exactly.
    pub(crate) fn members(&self, slot: usize) -> u64 {
        self.table.members[slot].count(self.class)
    }

    /// Its distinct non-missing values of a sensitive attribute, counted at least up to the largest number asked for.
    #[must_use]
    #[inline]
    pub fn distinct_values(&self, slot: usize) -> u64 {
        match &self.table.diversity[slot] {
            Diversity::Unknown => 0,
            Diversity::Mask(masks) => u64::from(masks[self.class].count_ones()),
            Diversity::Sets(sets) => sets.count(self.class),
        }
    }
}

/// What a policy releases and costs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// The policy.
    pub levels: Vec<u32>,
    /// Rows of the input.
    pub rows: u64,
    /// Rows in classes that are not released.
    pub suppressed_rows: u64,
    /// Rows that the absorbing core of the criteria alone would suppress: at most `suppressed_rows`, equal if all
    /// criteria are absorbing, and never more for a policy that generalises more.
    pub core_suppressed_rows: u64,
    /// Classes that are released.
    pub classes: u64,
    /// What was asked for besides.
    pub totals: Totals,
}
