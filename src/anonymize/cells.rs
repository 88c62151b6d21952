//! Cells: the distinct tuples of level-0 nodes, with what every search needs to know of their rows.
//!
//! Rows are read once, here. Everything that a search decides is a function of classes, a class is a union of cells,
//! and the table of cells is itself the class table of the policy that generalises nothing. Nothing depends on the
//! order of rows: weights add, sets unite, masks are joined by "or".

use std::sync::Arc;

use super::classes::histograms::Histograms;
use super::classes::keys::{self, Keys, Layout, Packed, Slots, Width};
use super::classes::labels::LabelCounts;
use super::classes::sets::CappedSets;
use super::classes::{ClassTable, Diversity, Members};
use super::order::Ranks;
use super::policy::Space;
use super::rows::{PopulationRows, QuasiIdentifier, Rows};
use super::table::MISSING;

/// What the criteria of a task need to know of every class; the rest is not carried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Count distinct subjects up to here; 0: not at all.
    pub subjects: u64,
    /// Per sensitive attribute, count distinct values up to here; 0: not at all.
    pub values: Vec<u64>,
    /// Per sensitive attribute, whether to count how often each value occurs.
    pub histograms: Vec<bool>,
}

/// The cells of a table; and those that only a population reaches, which hold no rows, come last and count nowhere.
#[derive(Debug, Clone)]
pub struct Cells {
    /// Rows that the cells hold.
    pub rows: u64,
    /// The attributes of the keys.
    pub quasi_identifiers: Vec<QuasiIdentifier>,
    pub(crate) layout: Layout,
    /// Level-0 node of each cell by attribute; only where keys are long.
    pub(crate) long_nodes: Arc<Vec<Vec<u32>>>,
    /// The cells as the classes of the lowest policy.
    pub(crate) bottom: Arc<ClassTable>,
    /// By attribute and level-0 node: rows.
    pub(crate) value_rows: Arc<Vec<Vec<u64>>>,
    /// By attribute and level: sum over all rows of the leaves under their node.
    pub(crate) leaf_sums: Vec<Vec<u128>>,
}

impl Cells {
    /// Groups rows, and those of the populations, into cells; also gives the cell of each row. Cost: one pass over the rows, one sort of the cells.
    #[must_use]
    pub fn build(rows: &Rows<'_>, needs: &Needs) -> (Self, Vec<u32>) {
        Self::group(rows, needs, true)
    }

    /// The same with every row a cell of its own, also where rows are alike: to measure what cells bring.
    #[must_use]
    pub fn of_rows(rows: &Rows<'_>, needs: &Needs) -> Self {
        Self::group(rows, needs, false).0
    }

    fn group(rows: &Rows<'_>, needs: &Needs, join: bool) -> (Self, Vec<u32>) {
        let quasi_identifiers: Vec<QuasiIdentifier> = rows
            .quasi_identifiers
            .iter()
            .map(|(attribute, _)| attribute.clone())
            .collect();
        let nodes_of = |attribute: &QuasiIdentifier| {
            let levels = attribute.all_levels().iter();
            levels.map(|level| level.leaves.len()).max().unwrap_or(1)
        };
        let layout = Layout::new(quasi_identifiers.iter().map(nodes_of));
        let (keys, long_nodes, mut cell_of_row) = match layout.width {
            Width::Narrow => {
                let (keys, cell_of_row) = packed(rows, &layout, join);
                (Keys::Narrow(keys), Vec::new(), cell_of_row)
            }
            Width::Wide => {
                let (keys, cell_of_row) = packed(rows, &layout, join);
                (Keys::Wide(keys), Vec::new(), cell_of_row)
            }
            Width::Long => {
                let (cells, nodes, cell_of_row) = long(rows, &layout, join);
                (Keys::Long(cells), nodes, cell_of_row)
            }
        };
        // The rows of the populations stand after those of the table.
        let cell_of_member = cell_of_row.split_off(rows.rows);
        let count = reached(&cell_of_row);
        let mut weights = vec![0_u32; count];
        for &cell in &cell_of_row {
            weights[cell as usize] += 1;
        }
        let bottom = ClassTable {
            levels: vec![0; quasi_identifiers.len()],
            rows: weights,
            subjects: subjects(rows, needs, count, &cell_of_row),
            diversity: diversity(rows, needs, count, &cell_of_row),
            labels: rows.target.map(|codes| {
                let pairs = cell_of_row.iter().copied().zip(codes.iter().copied());
                LabelCounts::of_rows(count, pairs)
            }),
            histograms: histograms(rows, needs, count, &cell_of_row),
            members: members(rows, keys.len(), &cell_of_member),
            keys,
        };
        let mut cells = Self {
            rows: rows.rows as u64,
            leaf_sums: Vec::new(),
            quasi_identifiers,
            layout,
            long_nodes: Arc::new(long_nodes),
            bottom: Arc::new(bottom),
            value_rows: Arc::default(),
        };
        cells.value_rows = Arc::new(cells.count_values());
        cells.leaf_sums = cells.sum_leaves();
        (cells, cell_of_row)
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bottom.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cells as the classes of the policy that generalises nothing.
    #[must_use]
    pub fn bottom(&self) -> &ClassTable {
        &self.bottom
    }

    /// All policies over these attributes.
    #[must_use]
    pub fn space(&self) -> Space {
        let counts = self
            .quasi_identifiers
            .iter()
            .map(|attribute| attribute.height() + 1);
        Space::new(&counts.collect::<Vec<_>>())
    }

    fn count_values(&self) -> Vec<Vec<u64>> {
        let attributes = self.quasi_identifiers.iter().enumerate();
        let counts = attributes.map(|(position, attribute)| {
            let mut rows_of = vec![0; attribute.from_bottom[0].len()];
            for (cell, &rows) in self.bottom.rows.iter().enumerate() {
                rows_of[self.bottom.node(self, cell, position) as usize] += u64::from(rows);
            }
            rows_of
        });
        counts.collect()
    }

    fn sum_leaves(&self) -> Vec<Vec<u128>> {
        let attributes = self.quasi_identifiers.iter().zip(&*self.value_rows);
        let sums = attributes.map(|(attribute, rows_of)| {
            let reached = attribute.generalization.levels[0].leaves.len();
            let levels = attribute
                .generalization
                .levels
                .iter()
                .zip(&attribute.from_bottom);
            let sum = levels.map(|(level, nodes)| {
                // Nodes that only a population reaches hold no rows and come last.
                let leaves = nodes
                    .iter()
                    .take(reached)
                    .map(|&node| u128::from(level.leaves[node as usize]));
                leaves
                    .zip(rows_of)
                    .map(|(leaves, &rows)| leaves * u128::from(rows))
                    .sum()
            });
            sum.collect()
        });
        sums.collect()
    }
}

/// Number of rows of the table and of its populations.
fn all_rows(rows: &Rows<'_>) -> usize {
    let members = rows.populations.iter().map(PopulationRows::rows);
    rows.rows + members.sum::<usize>()
}

/// Level-0 node of one quasi-identifier of each row of the table, then of each population.
fn all_nodes<'a>(rows: &'a Rows<'_>, position: usize) -> impl Iterator<Item = u32> + 'a {
    let (attribute, codes) = &rows.quasi_identifiers[position];
    let node_of = &attribute.generalization.levels[0].node_of;
    let own = codes.iter().map(|&code| node_of[code as usize]);
    let populations = rows.populations.iter();
    own.chain(populations.flat_map(move |population| population.nodes[position].iter().copied()))
}

/// How many cells rows reach, where cells are numbered in the order in which rows reach them, or are the first ones.
fn reached(cell_of_row: &[u32]) -> usize {
    cell_of_row
        .iter()
        .max()
        .map_or(0, |&last| last as usize + 1)
}

/// Members of each population in each of all cells; `cell_of_member` lists the rows of one population after another.
fn members(rows: &Rows<'_>, cells: usize, cell_of_member: &[u32]) -> Vec<Members> {
    let mut rest = cell_of_member;
    let populations = rows.populations.iter().map(|population| {
        let (own, others) = rest.split_at(population.rows());
        rest = others;
        let Some(of_rows) = population.subjects else {
            let mut counts = vec![0; cells];
            for &cell in own {
                counts[cell as usize] += 1;
            }
            return Members::Rows(counts);
        };
        Members::Subjects(distinct_subjects(u64::MAX, of_rows, cells, own))
    });
    populations.collect()
}

fn packed<K: Packed>(rows: &Rows<'_>, layout: &Layout, join: bool) -> (Vec<K>, Vec<u32>) {
    let mut keys = vec![K::default(); all_rows(rows)];
    for (position, &field) in layout.fields.iter().enumerate() {
        for (key, node) in keys.iter_mut().zip(all_nodes(rows, position)) {
            *key = *key | K::placed(node, field);
        }
    }
    if !join {
        return (keys, (0..).take(all_rows(rows)).collect());
    }
    let (mut cell_of_row, mut found) = (Vec::new(), Vec::new());
    keys::assign(
        &keys,
        &[],
        layout,
        &mut Slots::default(),
        &mut cell_of_row,
        &mut found,
    );
    let mut order: Vec<u32> = (0..).take(found.len()).collect();
    let (own, absent) = order.split_at_mut(reached(&cell_of_row[..rows.rows]));
    own.sort_unstable_by_key(|&cell| found[cell as usize]);
    absent.sort_unstable_by_key(|&cell| found[cell as usize]);
    renumber(&order, &mut cell_of_row);
    let sorted = order.iter().map(|&cell| found[cell as usize]).collect();
    (sorted, cell_of_row)
}

type LongCells = (Vec<u32>, Vec<Vec<u32>>, Vec<u32>);

fn long(rows: &Rows<'_>, layout: &Layout, join: bool) -> LongCells {
    let of_rows: Vec<Vec<u32>> = (0..rows.quasi_identifiers.len())
        .map(|position| all_nodes(rows, position).collect())
        .collect();
    let all: Vec<u32> = (0..).take(all_rows(rows)).collect();
    if !join {
        return (all.clone(), of_rows, all);
    }
    let (mut cell_of_row, mut found) = (Vec::new(), Vec::new());
    let node = |row: u32, attribute: usize| of_rows[attribute][row as usize];
    keys::assign_long(&all, layout, node, &mut cell_of_row, &mut found);
    let mut order: Vec<u32> = (0..).take(found.len()).collect();
    let tuple = |cell: u32| {
        let row = found[cell as usize] as usize;
        of_rows.iter().map(move |nodes| nodes[row])
    };
    let (own, absent) = order.split_at_mut(reached(&cell_of_row[..rows.rows]));
    own.sort_unstable_by(|&left, &right| tuple(left).cmp(tuple(right)));
    absent.sort_unstable_by(|&left, &right| tuple(left).cmp(tuple(right)));
    renumber(&order, &mut cell_of_row);
    let sorted = |nodes: &Vec<u32>| {
        let of_cell = |&cell: &u32| nodes[found[cell as usize] as usize];
        order.iter().map(of_cell).collect()
    };
    let nodes = of_rows.iter().map(sorted).collect();
    ((0..).take(order.len()).collect(), nodes, cell_of_row)
}

/// Replaces each number by its place in `order`.
fn renumber(order: &[u32], numbers: &mut [u32]) {
    let mut place = vec![0; order.len()];
    for (&number, at) in order.iter().zip(0..) {
        place[number as usize] = at;
    }
    for number in numbers {
        *number = place[*number as usize];
    }
}

fn subjects(
    rows: &Rows<'_>,
    needs: &Needs,
    cells: usize,
    cell_of_row: &[u32],
) -> Option<CappedSets> {
    let of_rows = rows.subjects.filter(|_| needs.subjects > 0)?;
    Some(distinct_subjects(
        needs.subjects,
        of_rows,
        cells,
        cell_of_row,
    ))
}

fn distinct_subjects(cap: u64, of_rows: &[u32], cells: usize, cell_of_row: &[u32]) -> CappedSets {
    let pairs = distinct_pairs(cell_of_row.iter().copied().zip(of_rows.iter().copied()));
    let last = of_rows.iter().max().map_or(0, |&subject| subject as usize);
    let mut occurrences = vec![0_u8; last + 1];
    for &(_, subject) in &pairs {
        let count = &mut occurrences[subject as usize];
        *count = count.saturating_add(1);
    }
    let is_shared = |subject: u32| occurrences[subject as usize] > 1;
    CappedSets::from_pairs(cap, cells, &pairs, is_shared)
}

fn diversity(rows: &Rows<'_>, needs: &Needs, cells: usize, cell_of_row: &[u32]) -> Vec<Diversity> {
    let wanted = rows.sensitive.iter().zip(&needs.values);
    let found = wanted.map(|(attribute, &cap)| {
        let codes = &attribute.column.codes;
        if cap == 0 {
            return Diversity::Unknown;
        }
        if attribute.column.dictionary.len() <= 64 {
            let mut masks = vec![0_u64; cells];
            for (&cell, &code) in cell_of_row.iter().zip(codes) {
                masks[cell as usize] |= code.checked_sub(1).map_or(0, |value| 1 << value);
            }
            return Diversity::Mask(masks);
        }
        let present = cell_of_row.iter().copied().zip(codes.iter().copied());
        let pairs = distinct_pairs(present.filter(|&(_, code)| code != MISSING));
        Diversity::Sets(CappedSets::from_pairs(cap, cells, &pairs, |_| true))
    });
    found.collect()
}

fn histograms(
    rows: &Rows<'_>,
    needs: &Needs,
    cells: usize,
    cell_of_row: &[u32],
) -> Vec<Option<Histograms>> {
    let wanted = rows.sensitive.iter().zip(&needs.histograms);
    let found = wanted.map(|(attribute, &wanted)| {
        wanted.then(|| {
            let ranks = Ranks::of(attribute);
            let of_rows = ranks.of_rows(&attribute.column.codes);
            let pairs = cell_of_row.iter().copied().zip(of_rows);
            Histograms::from_rows(cells, pairs, rows.subjects)
        })
    });
    found.collect()
}

/// The pairs, sorted, each once.
fn distinct_pairs(pairs: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
