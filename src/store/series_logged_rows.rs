//! Logged rows of a series put into a table, with their tokens where its demand asks for row linkage.

use std::collections::BTreeSet;

use super::Error;
use super::series_log::SeriesVersion;
use super::series_sealed::SeriesKeys;
use crate::anonymize::table::{Block, BlockColumn, Schema, Table};

/// What makes tokens of the ids of a series' rows.
#[derive(Clone)]
pub(super) struct RowTokens {
    keys: SeriesKeys,
    has_subject: bool,
}

impl RowTokens {
    /// Those of a series whose rows are to bear them.
    pub(super) fn of(version: &SeriesVersion, keys: &SeriesKeys) -> Option<Self> {
        let mut attributes = version.declaration.attributes.iter();
        version.demand.row_linkage.then(|| Self {
            keys: keys.clone(),
            has_subject: attributes.any(|attribute| attribute.subject),
        })
    }

    /// Puts the tokens after the cells of a logged block: the subjects' tokens stay last.
    pub(super) fn insert(&self, block: &mut Block, ids: &BlockColumn) -> Result<(), Error> {
        let (tokens, series_id) = (&self.keys.tokens, self.keys.series_id);
        let values = ids.values.iter();
        let values = values.map(|id| tokens.row_token(series_id, id).into());
        let column = BlockColumn {
            values: values.collect(),
            codes: ids.codes.clone(),
        };
        let cells = block.columns.len().checked_sub(self.has_subject.into());
        let cells = cells.ok_or_else(|| Error::Form("a logged block lacks subjects".to_owned()))?;
        block.columns.insert(cells, column);
        Ok(())
    }
}

pub(super) fn empty_table(schema: &Schema) -> Table {
    Table::with_columns(&schema.releasable(), schema.subject().is_some())
}

/// Appends the rows of a logged block that are not retired.
pub(super) fn append(
    table: &mut Table,
    mut block: Block,
    retired: &BTreeSet<Box<str>>,
    tokens: Option<&RowTokens>,
) -> Result<(), Error> {
    let malformed = || Error::Form("a block of a series' log has other columns".to_owned());
    let ids = block.columns.pop().ok_or_else(malformed)?;
    let gone: Vec<u64> = (0..block.rows)
        .filter(|&row| ids.cell(row).is_none_or(|id| retired.contains(id)))
        .map(|row| row as u64)
        .collect();
    if let Some(tokens) = tokens {
        tokens.insert(&mut block, &ids)?;
    }
    let block = super::erasure::without(block, 0, &gone);
    let columns = table
        .columns
        .iter_mut()
        .flatten()
        .chain(&mut table.subjects);
    let mut own: Vec<_> = columns.collect();
    if own.len() != block.columns.len() {
        return Err(malformed());
    }
    for (own, column) in own.iter_mut().zip(&block.columns) {
        own.append(column);
    }
    table.rows += block.rows;
    Ok(())
}
