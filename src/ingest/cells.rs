//! The one way of a cell, whatever file it came from: trim, missing, type, canonical text, hierarchy, code.
//!
//! Every distinct text of a column is judged once per block and its verdict remembered, so a cell costs one look-up.
//! Equal values must be equal texts for classes and counts to be right, so quasi-identifiers, sensitive columns and the
//! subject take the canonical text of their type; every other column keeps the caller's. A canonical text is judged
//! like any other and judges to itself.

use sha2::{Digest, Sha256};

use super::column::{CellColumn, Verdict};
use super::log::{FaultLog, Place, Problem};
use super::{Options, Summary};
use crate::anonymize::table::{Block, BlockBuilder, BlockColumn, MISSING};
use crate::declaration::Role;
use crate::fault::{Fault, FaultCode};

/// Distinct text of a block beyond which it is handed on although it has few rows.
const BLOCK_BYTES: usize = 32 << 20;

/// Takes the cells of an upload and hands on blocks.
pub(super) struct Cells<'a> {
    columns: Vec<CellColumn<'a>>,
    declared: usize,
    added_role: Option<Role>,
    rows_in_block: usize,
    bytes_in_block: usize,
    blocks: u64,
    rows: u64,
    digest: Sha256,
    take: &'a mut dyn FnMut(Block) -> bool,
    abandoned: bool,
    /// What is wrong so far.
    pub(super) log: FaultLog,
    /// Declared columns that the upload lacks, where it may.
    pub(super) absent: Option<Vec<String>>,
}

impl<'a> Cells<'a> {
    pub(super) fn new(options: &Options<'a>, take: &'a mut dyn FnMut(Block) -> bool) -> Self {
        let columns: Vec<_> = options
            .schema
            .attributes()
            .iter()
            .map(CellColumn::declared)
            .collect();
        Self {
            declared: columns.len(),
            columns,
            added_role: options.default_role,
            rows_in_block: 0,
            bytes_in_block: 0,
            blocks: 0,
            rows: 0,
            digest: Sha256::new(),
            take,
            abandoned: false,
            log: FaultLog::default(),
            absent: None,
        }
    }

    /// A declared column that the upload does not have: a fault, unless it may lack columns.
    pub(super) fn lacks(&mut self, name: String, hint: &str, place: Place) {
        match &mut self.absent {
            Some(absent) => absent.push(name),
            None => self.log.name(FaultCode::MissingColumns, &name, hint, place),
        }
    }

    /// Names of the columns known so far: declared ones, then added ones.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Position of a column that is not declared: it is added if that is allowed and not too late, else a fault.
    pub(super) fn undeclared(&mut self, name: &str, hint: &str, place: Place) -> Option<usize> {
        let Some(role) = self
            .added_role
            .filter(|_| self.blocks == 0 && !name.is_empty())
        else {
            self.log
                .name(FaultCode::UndeclaredColumns, name, hint, place);
            return None;
        };
        let mut column = CellColumn::added(name, role);
        column.codes = vec![MISSING; self.rows_in_block];
        column.missing = self.rows_in_block as u64;
        self.columns.push(column);
        Some(self.columns.len() - 1)
    }

    /// Whether the current row has its cell of a column.
    pub(super) fn has(&self, column: usize) -> bool {
        self.columns[column].codes.len() > self.rows_in_block
    }

    /// The current row's cell of a column; `None` is a missing one.
    pub(super) fn cell(&mut self, column: usize, text: Option<&str>, place: Place) {
        let position = column;
        let column = &mut self.columns[position];
        let verdict = match text {
            None => Verdict::default(),
            Some(text) => match column.verdicts.get(text) {
                Some(&verdict) => verdict,
                None => column.judge(text, &mut self.bytes_in_block),
            },
        };
        column.trimmed += u64::from(verdict.trimmed);
        column.normalized += u64::from(verdict.normalized);
        column.codes.push(verdict.code);
        if verdict.code == MISSING {
            self.without_value(position, verdict.problem, text, place);
        }
    }

    /// The current row's cell of a column cannot be a value at all.
    pub(super) fn nested(&mut self, column: usize, place: Place) {
        self.columns[column].codes.push(MISSING);
        self.without_value(column, Some(Problem::Nested), None, place);
    }

    #[cold]
    fn without_value(
        &mut self,
        position: usize,
        problem: Option<Problem>,
        text: Option<&str>,
        place: Place,
    ) {
        let column = &mut self.columns[position];
        let problem = match problem {
            None => {
                column.missing += 1;
                column.subject.then_some(Problem::SubjectMissing)
            }
            problem => problem,
        };
        if let Some(problem) = problem {
            let quoted = (problem != Problem::SubjectMissing)
                .then_some(text)
                .flatten();
            let name = (position, column.name.as_str());
            self.log
                .cell(problem, Some(name), &column.about, quoted, place);
        }
    }

    /// Ends the current row; columns that got no cell are missing in it. False: nobody wants more.
    pub(super) fn end_row(&mut self, place: Place) -> bool {
        for position in 0..self.columns.len() {
            if !self.has(position) {
                self.cell(position, None, place);
            }
        }
        self.rows_in_block += 1;
        self.rows += 1;
        if self.rows_in_block == BlockBuilder::ROWS || self.bytes_in_block > BLOCK_BYTES {
            self.hand_on();
        }
        !self.abandoned
    }

    /// Drops the cells of the current row: the record broke off.
    pub(super) fn forget_row(&mut self) {
        for column in &mut self.columns {
            column.codes.truncate(self.rows_in_block);
        }
    }

    /// Rows so far, broken ones not counted.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    fn hand_on(&mut self) {
        let rows = std::mem::take(&mut self.rows_in_block);
        self.bytes_in_block = 0;
        self.blocks += 1;
        let columns: Vec<BlockColumn> = self
            .columns
            .iter_mut()
            .map(|column| column.take_block(rows))
            .collect();
        if self.log.is_empty() {
            let block = Block { rows, columns };
            self.add_to_digest(&block);
            self.abandoned = self.abandoned || !(self.take)(block);
        }
    }

    /// Row by row, each cell as its length plus one (LEB128) and its bytes; a missing cell as 0.
    fn add_to_digest(&mut self, block: &Block) {
        let mut bytes = Vec::with_capacity(1 << 16);
        for row in 0..block.rows {
            for column in &block.columns {
                let Some(cell) = column.cell(row) else {
                    bytes.push(0);
                    continue;
                };
                let mut rest = cell.len() + 1;
                while rest >= 0x80 {
                    bytes.push(rest.to_le_bytes()[0] | 0x80);
                    rest >>= 7;
                }
                bytes.push(rest.to_le_bytes()[0]);
                bytes.extend_from_slice(cell.as_bytes());
            }
            if bytes.len() >= 1 << 15 {
                self.digest.update(&bytes);
                bytes.clear();
            }
        }
        self.digest.update(&bytes);
    }

    /// Hands on the last block and sums up; the faults if there are any.
    pub(super) fn finish(mut self) -> Result<Option<Summary>, Vec<Fault>> {
        if self.rows_in_block > 0 {
            self.hand_on();
        }
        if !self.log.is_empty() {
            return Err(self.log.finish());
        }
        if self.abandoned {
            return Ok(None);
        }
        let rows = self.rows;
        Ok(Some(Summary {
            rows,
            trimmed_cells: self.columns.iter().map(|column| column.trimmed).sum(),
            added: self.columns[self.declared..]
                .iter()
                .map(CellColumn::declaration)
                .collect(),
            warnings: self
                .columns
                .iter()
                .flat_map(|column| column.warnings(rows))
                .collect(),
            digest: self.digest.finalize().into(),
        }))
    }
}
