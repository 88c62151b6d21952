//! Parts of the engine that can be left out, to measure what each brings.
//!
//! Whatever is left out, the front is the same; only its cost differs, and how many policies have to be judged.

/// Which parts are used; all by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a set of four independent parts"
)]
pub struct Switches {
    /// Rows that are alike are grouped into cells before the search; else every row is a cell.
    pub cells: bool,
    /// Tables of prefixes are kept to start from; else every policy is grouped from the cells.
    pub prefixes: bool,
    /// Sizes are counted alone where nothing else decides.
    pub sizes: bool,
    /// Good policies are sought before the proof begins.
    pub incumbents: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            cells: true,
            prefixes: true,
            sizes: true,
            incumbents: true,
        }
    }
}

/// What a search took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Cells of the table.
    pub cells: u64,
    /// Classes read to make those of coarser policies.
    pub visits: u64,
    /// Most bytes of class tables kept to start from.
    pub kept_bytes: u64,
}
