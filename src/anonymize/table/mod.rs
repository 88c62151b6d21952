//! Tables: rows as columns of dictionary codes.
//!
//! Code 0 means missing in every column and is its own category (user-cases D2). A [`Block`] is a run of consecutive
//! rows with dictionaries of its own: what ingest yields, what is stored as a chunk, what a release is made of. A
//! [`Table`] joins blocks under one dictionary per column; codes are given in order of first appearance, so appending
//! blocks never changes a code.

mod block;
mod dictionary;
mod population;
mod schema;

pub use block::{Block, BlockBuilder, BlockColumn};
pub use dictionary::Dictionary;
pub use population::Population;
pub use schema::{Attribute, Schema};

/// The code of a missing cell.
pub const MISSING: u32 = 0;

/// One column of a table.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Value of each code.
    pub dictionary: Dictionary,
    /// One code per row.
    pub codes: Vec<u32>,
}

/// A table as an engine reads it. Columns that were not loaded are absent: a search never sees identifying ones.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Number of rows.
    pub rows: usize,
    /// By position of the attribute in the schema.
    pub columns: Vec<Option<Column>>,
    /// Dense code of each row's subject, `0..subjects`, where a subject is declared.
    pub subjects: Option<Column>,
    /// The tables that models compare this one with.
    pub populations: Vec<Population>,
}

impl Table {
    /// An empty table with the given columns present (by attribute position) and, if `subjects`, a subject column.
    #[must_use]
    pub fn with_columns(present: &[bool], subjects: bool) -> Self {
        Self {
            rows: 0,
            columns: present
                .iter()
                .map(|&is_present| is_present.then(Column::default))
                .collect(),
            subjects: subjects.then(Column::default),
            populations: Vec::new(),
        }
    }

    /// Number of distinct subjects; the number of rows where no subject is declared.
    #[must_use]
    pub fn subject_count(&self) -> usize {
        self.subjects
            .as_ref()
            .map_or(self.rows, |column| column.dictionary.len())
    }
}

impl Column {
    /// Appends a block's column, mapping its codes to this dictionary's.
    pub fn append(&mut self, block: &BlockColumn) {
        let mut map = Vec::with_capacity(block.values.len() + 1);
        map.push(MISSING);
        map.extend(
            block
                .values
                .iter()
                .map(|value| self.dictionary.insert(value)),
        );
        self.codes
            .extend(block.codes.iter().map(|&code| map[code as usize]));
    }
}
