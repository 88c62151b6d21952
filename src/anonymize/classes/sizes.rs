//! Sizes of classes and nothing else: the hot loop of searches whose criteria ask for no more.
//!
//! Level-0 nodes stand in columns, attributes of few nodes several to a column of bytes. A policy becomes one small
//! table per column, from the packed nodes to the policy's nodes placed in a key; the key of a class is the "or" of its
//! entries. Only the bits that the policy's levels need are used, so most keys fit into 32 bits beside the rows that
//! they count, and few bits are an index by themselves. A finer table knows each of its classes by the level-0 nodes of
//! one of its cells: whatever lies above them is the same for all.

use super::keys::{Keys, Layout, Packed};
pub(crate) use super::size_table::SizeTable;
use super::size_table::{BYTES, Column};
use super::slots::Slots;
use super::{ClassTable, Diversity};
use crate::anonymize::cells::Cells;

/// Most nodes in a column of two bytes.
const SHORTS: usize = 1 << 16;
/// Keys of so many bits are an index for any number of classes.
const INDEX_BITS: u32 = 12;

/// The cells as columns.
#[derive(Debug)]
pub(crate) struct SizeColumns<'a> {
    cells: &'a Cells,
    /// Attributes of each column, the fastest first.
    packs: Vec<Vec<usize>>,
    bottom: SizeTable,
}

/// What the sizes of a policy's classes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeSums {
    /// Rows in classes that are too small.
    pub(crate) suppressed_rows: u64,
    /// Classes that are not.
    pub(crate) classes: u64,
}

/// Buffers, one per thread, kept between policies; they hold the classes of the last one.
#[derive(Debug, Default)]
pub(crate) struct SizeScratch {
    layout: Option<Layout>,
    form: Form,
    index: Vec<u32>,
    narrow: Slots<u32>,
    wide: Slots<u64>,
}

/// Where the last classes stand.
#[derive(Debug, Clone, Copy, Default)]
enum Form {
    #[default]
    Index,
    Narrow,
    Wide,
}

impl<'a> SizeColumns<'a> {
    /// `None` where an attribute has too many nodes, or all together.
    pub(crate) fn new(cells: &'a Cells) -> Option<Self> {
        let nodes = |attribute: usize| cells.quasi_identifiers[attribute].from_bottom[0].len();
        let mut order: Vec<usize> = (0..cells.quasi_identifiers.len()).collect();
        order.sort_by_key(|&attribute| (std::cmp::Reverse(nodes(attribute)), attribute));
        let mut packs: Vec<(usize, Vec<usize>)> = Vec::new();
        for attribute in order {
            let own = nodes(attribute).max(1);
            match packs.iter_mut().find(|(all, _)| all * own <= BYTES) {
                Some((all, pack)) => {
                    *all *= own;
                    pack.push(attribute);
                }
                None => packs.push((own, vec![attribute])),
            }
        }
        let fits = packs.iter().all(|&(all, _)| all <= SHORTS);
        if !fits || matches!(cells.bottom.keys, Keys::Long(_)) {
            return None;
        }
        let column = |(all, pack): &(usize, Vec<usize>)| {
            let mut packed = vec![0_u32; cells.len()];
            for &attribute in pack.iter().rev() {
                let own = u32::try_from(nodes(attribute)).unwrap_or(u32::MAX);
                for (cell, packed) in packed.iter_mut().enumerate() {
                    *packed = *packed * own + cells.bottom.node(cells, cell, attribute);
                }
            }
            let packed = packed.into_iter();
            if *all <= BYTES {
                Column::Bytes(packed.map(|code| u8::try_from(code).unwrap_or(0)).collect())
            } else {
                Column::Shorts(
                    packed
                        .map(|code| u16::try_from(code).unwrap_or(0))
                        .collect(),
                )
            }
        };
        Some(Self {
            cells,
            bottom: SizeTable {
                columns: packs.iter().map(column).collect(),
                rows: cells.bottom.rows.clone(),
            },
            packs: packs.into_iter().map(|(_, pack)| pack).collect(),
        })
    }

    /// The cells.
    pub(crate) fn bottom(&self) -> &SizeTable {
        &self.bottom
    }

    /// Counts the rows of a policy's classes, merged from finer ones; `None` if its keys have more than 64 bits.
    ///
    /// `least` is the least size of a class that is released. Cost: per class one look-up per column and one probe.
    pub(crate) fn sums(
        &self,
        finer: &SizeTable,
        levels: &[u32],
        least: u64,
        scratch: &mut SizeScratch,
    ) -> Option<SizeSums> {
        let layout = self.layout(levels);
        let most = finer.len();
        let width = layout.bits;
        if width <= INDEX_BITS || (width < u32::BITS && (1 << width) <= most * 2) {
            scratch.form = Form::Index;
            self.maps(levels, &layout, &mut scratch.narrow.maps);
            let index = &mut scratch.index;
            index.clear();
            index.resize(1 << width, 0);
            finer.each_block(&scratch.narrow.maps, |keys, rows| {
                for (&key, &rows) in keys.iter().zip(rows) {
                    index[key as usize] += rows;
                }
            });
        } else if width <= u32::BITS {
            scratch.form = Form::Narrow;
            self.count(finer, levels, &layout, &mut scratch.narrow);
        } else if width <= u64::BITS {
            scratch.form = Form::Wide;
            self.count(finer, levels, &layout, &mut scratch.wide);
        } else {
            return None;
        }
        scratch.layout = Some(layout);
        let least = u32::try_from(least.max(1)).unwrap_or(u32::MAX);
        // Rows have numbers of 32 bits, so neither sum is longer.
        let (mut suppressed_rows, mut classes) = (0_u32, 0_u32);
        scratch.each(|_, rows| {
            suppressed_rows += if rows < least { rows } else { 0 };
            classes += u32::from(rows >= least);
        });
        Some(SizeSums {
            suppressed_rows: suppressed_rows.into(),
            classes: classes.into(),
        })
    }

    /// The classes last counted, as a table whose sizes alone are known.
    pub(crate) fn table(&self, levels: &[u32], scratch: &SizeScratch) -> ClassTable {
        let bottom = &self.cells.bottom;
        let mut table = ClassTable {
            levels: levels.to_vec(),
            keys: Keys::new(self.cells.layout.width),
            rows: Vec::new(),
            subjects: None,
            diversity: vec![Diversity::Unknown; bottom.diversity.len()],
            labels: None,
            members: Vec::new(),
            histograms: vec![None; bottom.histograms.len()],
        };
        let Some(layout) = &scratch.layout else {
            return table;
        };
        let fields = || layout.fields.iter().zip(&self.cells.layout.fields);
        let (keys, rows_of) = (&mut table.keys, &mut table.rows);
        scratch.each(|key, rows| {
            if rows == 0 {
                return;
            }
            rows_of.push(rows);
            match keys {
                Keys::Narrow(keys) => keys.push(fields().fold(0, |placed, (&own, &field)| {
                    placed | u64::placed(key.node(own), field)
                })),
                Keys::Wide(keys) => keys.push(fields().fold(0, |placed, (&own, &field)| {
                    placed | u128::placed(key.node(own), field)
                })),
                Keys::Long(_) => {}
            }
        });
        table
    }

    /// The classes of a policy, merged from finer ones; `None` if its keys have more than 64 bits.
    pub(crate) fn merge(
        &self,
        finer: &SizeTable,
        levels: &[u32],
        scratch: &mut SizeScratch,
    ) -> Option<SizeTable> {
        let layout = self.layout(levels);
        if layout.bits <= u32::BITS {
            Some(self.merge_by(finer, levels, &layout, &mut scratch.narrow))
        } else if layout.bits <= u64::BITS {
            Some(self.merge_by(finer, levels, &layout, &mut scratch.wide))
        } else {
            None
        }
    }

    fn merge_by<K: Packed>(
        &self,
        finer: &SizeTable,
        levels: &[u32],
        layout: &Layout,
        work: &mut Slots<K>,
    ) -> SizeTable {
        self.maps(levels, layout, &mut work.maps);
        work.reset(finer.len());
        let maps = std::mem::take(&mut work.maps);
        let mut rows_of = vec![0_u32; finer.len()];
        let mut first = vec![0_u32; finer.len()];
        let mut class = 0;
        finer.each_block(&maps, |keys, rows| {
            for (&key, &rows) in keys.iter().zip(rows) {
                let number = work.number(key) as usize - 1;
                // The class is the first of its number as long as there is none: later ones write what stands there.
                let own = &mut rows_of[number];
                first[number] = if *own == 0 { class } else { first[number] };
                *own += rows;
                class += 1;
            }
        });
        rows_of.truncate(work.len());
        rows_of.shrink_to_fit();
        first.truncate(work.len());
        work.maps = maps;
        SizeTable {
            columns: finer
                .columns
                .iter()
                .map(|column| column.of(&first))
                .collect(),
            rows: rows_of,
        }
    }

    fn count<K: Packed>(
        &self,
        finer: &SizeTable,
        levels: &[u32],
        layout: &Layout,
        work: &mut Slots<K>,
    ) {
        self.maps(levels, layout, &mut work.maps);
        work.reset(finer.len());
        let maps = std::mem::take(&mut work.maps);
        finer.each_block(&maps, |keys, rows| {
            for (&key, &rows) in keys.iter().zip(rows) {
                work.add(key, rows);
            }
        });
        work.maps = maps;
    }

    /// The places of the nodes of the given levels.
    fn layout(&self, levels: &[u32]) -> Layout {
        let attributes = self.cells.quasi_identifiers.iter().zip(levels);
        Layout::new(attributes.map(|(attribute, &level)| {
            attribute.generalization.levels[level as usize].leaves.len()
        }))
    }

    /// By column, the part of the key of every combination of nodes; empty where it is 0 for all.
    fn maps<K: Packed>(&self, levels: &[u32], layout: &Layout, maps: &mut Vec<Vec<K>>) {
        maps.resize(self.packs.len(), Vec::new());
        let columns = self.bottom.columns.iter().zip(&self.packs);
        for (map, (column, pack)) in maps.iter_mut().zip(columns) {
            map.clear();
            if pack
                .iter()
                .all(|&attribute| layout.fields[attribute].mask == 0)
            {
                continue;
            }
            map.push(K::default());
            for &attribute in pack {
                let nodes = &self.cells.quasi_identifiers[attribute].from_bottom;
                let nodes = &nodes[levels[attribute] as usize];
                let slower = map.len();
                for &node in nodes.iter().skip(1) {
                    let placed = K::placed(node, layout.fields[attribute]);
                    for faster in 0..slower {
                        map.push(map[faster] | placed);
                    }
                }
                let placed = K::placed(
                    nodes.first().copied().unwrap_or(0),
                    layout.fields[attribute],
                );
                for faster in &mut map[..slower] {
                    *faster = *faster | placed;
                }
            }
            if matches!(column, Column::Bytes(_)) {
                map.resize(BYTES, K::default());
            }
        }
    }
}

impl SizeScratch {
    /// Calls with key and rows of every class last counted; 0 rows stand for no class.
    #[inline]
    fn each(&self, mut act: impl FnMut(u64, u32)) {
        match self.form {
            Form::Index => {
                for (&rows, key) in self.index.iter().zip(0..) {
                    act(key, rows);
                }
            }
            Form::Narrow => {
                self.narrow.each(|key, rows| act(u64::from(key), rows));
            }
            Form::Wide => {
                self.wide.each(act);
            }
        }
    }
}
