//! Classes as columns of level-0 nodes, and the loop that makes their keys.

use super::keys::Packed;

/// Most combinations of nodes in a column of bytes.
pub(super) const BYTES: usize = 1 << 8;
/// Classes whose keys are made at a time.
const BLOCK: usize = 256;

/// Classes by the level-0 nodes of one cell each, with their rows.
#[derive(Debug, Default)]
pub(crate) struct SizeTable {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<u32>,
}

/// A code per class, one for every combination of the nodes of some attributes.
#[derive(Debug)]
pub(super) enum Column {
    Bytes(Vec<u8>),
    Shorts(Vec<u16>),
}

impl SizeTable {
    /// Number of classes.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(|column| match column {
            Column::Bytes(nodes) => nodes.len(),
            Column::Shorts(nodes) => nodes.len() * 2,
        });
        self.rows.len() * 4 + columns.sum::<usize>()
    }

    /// Calls with the keys and rows of some classes at a time, in order.
    #[inline]
    pub(super) fn each_block<K: Packed>(&self, maps: &[Vec<K>], mut act: impl FnMut(&[K], &[u32])) {
        let mut keys = [K::default(); BLOCK];
        let columns = || {
            self.columns
                .iter()
                .zip(maps)
                .filter(|(_, map)| !map.is_empty())
        };
        let bytes: Vec<(&[u8], &[K; BYTES])> = columns()
            .filter_map(|(column, map)| match column {
                Column::Bytes(nodes) => Some((nodes.as_slice(), map.first_chunk()?)),
                Column::Shorts(_) => None,
            })
            .collect();
        for (block, rows) in self.rows.chunks(BLOCK).enumerate() {
            let keys = &mut keys[..rows.len()];
            let from = block * BLOCK;
            let to = from + rows.len();
            keys.fill(K::default());
            // Two columns at a time: keys are read and written half as often.
            for pair in bytes.chunks(2) {
                if let &[(left, left_map), (right, right_map)] = pair {
                    let nodes = left[from..to].iter().zip(&right[from..to]);
                    for (key, (&left, &right)) in keys.iter_mut().zip(nodes) {
                        *key = *key | left_map[usize::from(left)] | right_map[usize::from(right)];
                    }
                } else if let &[(nodes, map)] = pair {
                    for (key, &node) in keys.iter_mut().zip(&nodes[from..to]) {
                        *key = *key | map[usize::from(node)];
                    }
                }
            }
            for (column, map) in columns() {
                if let Column::Shorts(nodes) = column {
                    for (key, &node) in keys.iter_mut().zip(&nodes[from..to]) {
                        *key = *key | map[usize::from(node)];
                    }
                }
            }
            act(keys, rows);
        }
    }
}

impl Column {
    /// The codes of some classes.
    pub(super) fn of(&self, classes: &[u32]) -> Self {
        fn gather<N: Copy>(nodes: &[N], classes: &[u32]) -> Vec<N> {
            classes.iter().map(|&class| nodes[class as usize]).collect()
        }
        match self {
            Self::Bytes(nodes) => Self::Bytes(gather(nodes, classes)),
            Self::Shorts(nodes) => Self::Shorts(gather(nodes, classes)),
        }
    }
}
