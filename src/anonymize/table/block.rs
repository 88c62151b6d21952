//! A run of consecutive rows, self-contained.

use super::{Dictionary, MISSING};

/// Some rows of some columns, each column with a dictionary of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of rows.
    pub rows: usize,
    /// Columns in the order that whoever made the block states.
    pub columns: Vec<BlockColumn>,
}

/// One column of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockColumn {
    /// Value of code `index + 1`, each once.
    pub values: Vec<Box<str>>,
    /// One code per row; 0 is missing.
    pub codes: Vec<u32>,
}

impl BlockColumn {
    /// The cell of a row; `None` if missing.
    #[must_use]
    pub fn cell(&self, row: usize) -> Option<&str> {
        (self.codes[row] as usize)
            .checked_sub(1)
            .map(|index| &*self.values[index])
    }
}

/// Builds blocks cell by cell.
#[derive(Debug)]
pub struct BlockBuilder {
    columns: Vec<(Dictionary, Vec<u32>)>,
}

impl BlockBuilder {
    /// Rows per block: some hundred kilobytes of codes, small enough to stream, large enough to compress.
    pub const ROWS: usize = 1 << 15;

    /// A builder for `columns` columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self {
            columns: (0..columns)
                .map(|_| (Dictionary::default(), Vec::new()))
                .collect(),
        }
    }

    /// Adds a cell to a column; every column must get one per row.
    pub fn push(&mut self, column: usize, cell: Option<&str>) {
        let (dictionary, codes) = &mut self.columns[column];
        codes.push(cell.map_or(MISSING, |value| dictionary.insert(value)));
    }

    /// Rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, codes)| codes.len())
    }

    /// The block so far; the builder starts anew.
    pub fn finish(&mut self) -> Block {
        let rows = self.rows();
        let columns = self.columns.iter_mut().map(|(dictionary, codes)| {
            let values = std::mem::take(dictionary).iter().map(Box::from).collect();
            BlockColumn {
                values,
                codes: std::mem::take(codes),
            }
        });
        Block {
            rows,
            columns: columns.collect(),
        }
    }
}
