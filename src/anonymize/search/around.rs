//! The classes of all policies one step from a given one, without grouping by every attribute again.
//!
//! Per cell, a *prefix* number says which other cells agree with it in the attributes before some attribute, a *suffix*
//! number the same of those after it. Both belong to the policy in the middle. A neighbour that changes one attribute
//! only groups by three numbers: prefix, suffix, new node. Numbers are dense and exact (no hash decides), given in order
//! of first appearance, so the first cell of each class stands in ascending order. When the middle moves by one attribute,
//! the prefixes before it and the suffixes after it stay.
//!
//! Cost: per attribute that is focused on, three passes over the cells, and one per neighbour. Memory: two numbers of 4
//! bytes per cell and attribute, and one per thread.

use std::borrow::Cow;

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::keys::{Keys, Packed, Slots};
use crate::anonymize::classes::{ClassTable, Scratch};

/// A partition of the cells.
#[derive(Debug, Clone, Default)]
struct Numbers {
    of_cell: Vec<u32>,
    count: usize,
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    slots: Slots,
    /// The distinct pairs found, where they are looked up by hash.
    pairs: Vec<u64>,
    /// The number of each pair plus one, where pairs are few enough to be looked up by place.
    places: Vec<u32>,
    joined: Numbers,
    representatives: Vec<u32>,
    pub(super) scratch: Scratch,
}

/// Pairs that are looked up by place, at most: 256 KiB of numbers stay in a core's cache.
const MOST_PLACES: usize = 1 << 16;

/// The surroundings of one policy.
#[derive(Debug)]
pub(super) struct Around<'a> {
    cells: &'a Cells,
    /// By attribute: level-0 node of each cell.
    nodes: Vec<Cow<'a, [u32]>>,
    levels: Vec<u32>,
    /// `prefixes[i]`: by the attributes before i.
    prefixes: Vec<Numbers>,
    /// `suffixes[i]`: by the attributes from i on.
    suffixes: Vec<Numbers>,
}

impl<'a> Around<'a> {
    /// Bytes that the surroundings of a policy take.
    pub(super) fn bytes(cells: &Cells) -> usize {
        cells
            .len()
            .saturating_mul(cells.quasi_identifiers.len() + 1)
            .saturating_mul(3 * 4)
    }

    /// Those of the policy with these levels.
    pub(super) fn new(cells: &'a Cells, levels: &[u32]) -> Self {
        let attributes = levels.len();
        let whole = Numbers {
            of_cell: vec![0; cells.len()],
            count: usize::from(!cells.is_empty()),
        };
        let mut around = Self {
            cells,
            nodes: (0..attributes)
                .map(|attribute| nodes(cells, attribute))
                .collect(),
            levels: levels.to_vec(),
            prefixes: vec![whole.clone(); attributes + 1],
            suffixes: vec![whole; attributes + 1],
        };
        around.renew(0, attributes);
        around
    }

    /// Moves to another policy.
    pub(super) fn focus(&mut self, levels: &[u32]) {
        let changed = |&attribute: &usize| self.levels[attribute] != levels[attribute];
        let first = (0..levels.len()).find(changed);
        let last = (0..levels.len()).rev().find(changed);
        let (Some(first), Some(last)) = (first, last) else {
            return;
        };
        self.levels.copy_from_slice(levels);
        self.renew(first, last + 1);
    }

    /// Numbers again what the attributes `from..to` have a part in.
    fn renew(&mut self, from: usize, to: usize) {
        let (cells, nodes, levels) = (self.cells, &self.nodes, &self.levels);
        let column = |attribute: usize| Column::new(cells, nodes, attribute, levels[attribute]);
        let (prefixes, suffixes) = (&mut self.prefixes, &mut self.suffixes);
        rayon::join(
            || {
                let mut buffers = Buffers::default();
                for attribute in from..levels.len() {
                    let (done, rest) = prefixes.split_at_mut(attribute + 1);
                    buffers.split(&done[attribute], &column(attribute), &mut rest[0]);
                }
            },
            || {
                let mut buffers = Buffers::default();
                for attribute in (0..to).rev() {
                    let (rest, done) = suffixes.split_at_mut(attribute + 1);
                    buffers.split(&done[0], &column(attribute), &mut rest[attribute]);
                }
            },
        );
    }

    /// The classes of the policy in the middle.
    pub(super) fn group(&self, buffers: &mut Buffers, table: &mut ClassTable) {
        let whole = &self.suffixes[0];
        buffers.gather(self.cells, &self.levels, whole, table);
    }

    /// Gives the classes of every policy that differs from the middle in the level of one attribute alone.
    pub(super) fn for_levels(
        &self,
        attribute: usize,
        levels: impl IntoIterator<Item = u32>,
        buffers: &mut Buffers,
        table: &mut ClassTable,
        mut take: impl FnMut(&ClassTable),
    ) {
        let (prefix, suffix) = (&self.prefixes[attribute], &self.suffixes[attribute + 1]);
        let mut rest = std::mem::take(&mut buffers.joined);
        let column = Column {
            of_cell: &suffix.of_cell,
            nodes: None,
            count: suffix.count,
        };
        buffers.split(prefix, &column, &mut rest);
        let mut classes = Numbers::default();
        let mut policy = self.levels.clone();
        for level in levels {
            policy[attribute] = level;
            let column = Column::new(self.cells, &self.nodes, attribute, level);
            buffers.split(&rest, &column, &mut classes);
            buffers.gather(self.cells, &policy, &classes, table);
            take(table);
        }
        buffers.joined = rest;
    }
}

/// A number per cell to split classes by: those of a partition, or nodes on some level.
struct Column<'a> {
    of_cell: &'a [u32],
    /// What the numbers are looked up in.
    nodes: Option<&'a [u32]>,
    count: usize,
}

impl<'a> Column<'a> {
    fn new(cells: &'a Cells, nodes: &'a [Cow<'_, [u32]>], attribute: usize, level: u32) -> Self {
        let quasi_identifier = &cells.quasi_identifiers[attribute];
        let level = level as usize;
        Self {
            of_cell: &nodes[attribute],
            nodes: (level > 0).then(|| &*quasi_identifier.from_bottom[level]),
            count: quasi_identifier.generalization.levels[level].leaves.len(),
        }
    }

    fn values(&self) -> impl Iterator<Item = u32> + '_ {
        self.of_cell.iter().map(|&number| match self.nodes {
            Some(nodes) => nodes[number as usize],
            None => number,
        })
    }
}

impl Buffers {
    /// The common refinement of a partition and a column.
    fn split(&mut self, numbers: &Numbers, column: &Column<'_>, into: &mut Numbers) {
        into.of_cell.clear();
        if column.count <= 1 {
            into.of_cell.extend_from_slice(&numbers.of_cell);
            into.count = numbers.count;
            return;
        }
        let width = column.count as u64;
        let pairs = numbers.of_cell.iter().zip(column.values());
        let pairs = pairs.map(|(&number, value)| u64::from(number) * width + u64::from(value));
        let most = numbers.count.saturating_mul(column.count);
        if most <= MOST_PLACES {
            self.places.clear();
            self.places.resize(most, 0);
            let (places, mut count) = (&mut self.places, 0);
            into.of_cell.extend(pairs.map(|pair| {
                let place = &mut places[usize::try_from(pair).unwrap_or(usize::MAX)];
                if *place == 0 {
                    count += 1;
                    *place = count;
                }
                *place - 1
            }));
            into.count = count as usize;
        } else {
            let (slots, found) = (&mut self.slots, &mut self.pairs);
            let bits = (numbers.count * 4).next_power_of_two().trailing_zeros();
            slots.reset(bits.max(Slots::FIRST_BITS));
            found.clear();
            into.of_cell
                .extend(pairs.map(|pair| slots.find(pair, found)));
            into.count = found.len();
        }
    }

    /// The classes of a policy, whose numbers are given.
    fn gather(&mut self, cells: &Cells, levels: &[u32], numbers: &Numbers, table: &mut ClassTable) {
        self.representatives.clear();
        for (&number, cell) in numbers.of_cell.iter().zip(0..) {
            // Numbers are given in order of first appearance.
            if number as usize == self.representatives.len() {
                self.representatives.push(cell);
            }
        }
        self.scratch.set_class_of(&numbers.of_cell);
        let (first, scratch) = (&self.representatives, &mut self.scratch);
        cells
            .bottom
            .gather_into(cells, levels, first, scratch, table);
    }
}

/// The level-0 node of each cell.
fn nodes(cells: &Cells, attribute: usize) -> Cow<'_, [u32]> {
    let field = cells.layout.fields[attribute];
    match &cells.bottom.keys {
        Keys::Narrow(keys) => keys.iter().map(|&key| Packed::node(key, field)).collect(),
        Keys::Wide(keys) => keys.iter().map(|&key| Packed::node(key, field)).collect(),
        Keys::Long(_) => Cow::Borrowed(&cells.long_nodes[attribute]),
    }
}
