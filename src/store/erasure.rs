//! Erased rows: their cells are gone from the chunks, their places stay. Loaders pass them over.

use uuid::Uuid;

use super::statement::{Statement, count, small_count, small_stored, statement};
use super::{Error, Store};
use crate::anonymize::table::{Block, BlockBuilder, BlockColumn};

const LIST_ERASED_ROWS: Statement = statement!("list_erased_rows");
const COUNT_DELETIONS: Statement = statement!("count_deletions");

/// Erased places of a batch (by its sequence), ascending.
pub(super) async fn erased_places(
    executor: impl sqlx::PgExecutor<'_>,
    dataset_id: Uuid,
    batch: i32,
) -> Result<Vec<u64>, Error> {
    let rows: Vec<i64> = sqlx::query_scalar(LIST_ERASED_ROWS.text)
        .bind(dataset_id)
        .bind(batch)
        .fetch_all(executor)
        .await
        .map_err(LIST_ERASED_ROWS.failed())?;
    Ok(rows.into_iter().map(count).collect())
}

impl Store {
    /// Erased places of a batch, ascending.
    pub(super) async fn erased_rows(
        &self,
        dataset_id: Uuid,
        batch: u32,
    ) -> Result<Vec<u64>, Error> {
        erased_places(&self.pool, dataset_id, small_stored(batch)).await
    }

    /// Deletions so far. A reader that finds the same number before and after has read no row that was half erased.
    pub(super) async fn deletions_so_far(&self, dataset_id: Uuid) -> Result<u32, Error> {
        let deletions: Option<i32> = sqlx::query_scalar(COUNT_DELETIONS.text)
            .bind(dataset_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(COUNT_DELETIONS.failed())?;
        deletions.map(small_count).ok_or(Error::NotFound("dataset"))
    }
}

/// Positions within a block that begins at row `first` of its batch, of erased places (ascending) that lie in it.
fn within(block: &Block, first: u64, erased: &[u64]) -> Vec<usize> {
    let begin = erased.partition_point(|&row| row < first);
    let end = erased.partition_point(|&row| row < first + block.rows as u64);
    erased[begin..end]
        .iter()
        .filter_map(|row| usize::try_from(row - first).ok())
        .collect()
}

/// The block without the erased rows; `first` is the row of its batch that it begins at, `erased` ascends.
#[must_use]
pub fn without(mut block: Block, first: u64, erased: &[u64]) -> Block {
    let gone = within(&block, first, erased);
    if gone.is_empty() {
        return block;
    }
    let mut stays = vec![true; block.rows];
    for &row in &gone {
        stays[row] = false;
    }
    for BlockColumn { codes, .. } in &mut block.columns {
        let mut row = 0;
        codes.retain(|_| {
            row += 1;
            stays[row - 1]
        });
    }
    block.rows -= gone.len();
    block
}

/// The block with missing cells in the place of erased ones, and without their values; `None` if nothing is in it.
pub(super) fn erase(block: &Block, first: u64, erased: &[u64]) -> Option<Block> {
    let gone = within(block, first, erased);
    if gone.is_empty() {
        return None;
    }
    let mut stays = vec![true; block.rows];
    for row in gone {
        stays[row] = false;
    }
    let mut builder = BlockBuilder::new(block.columns.len());
    for (index, column) in block.columns.iter().enumerate() {
        for (row, stays) in stays.iter().enumerate() {
            builder.push(index, column.cell(row).filter(|_| *stays));
        }
    }
    Some(builder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(cells: &[&str]) -> Block {
        let mut builder = BlockBuilder::new(1);
        for cell in cells {
            builder.push(0, Some(cell));
        }
        builder.finish()
    }

    fn cells(block: &Block) -> Vec<Option<&str>> {
        (0..block.rows)
            .map(|row| block.columns[0].cell(row))
            .collect()
    }

    #[test]
    fn an_erased_row_keeps_its_place_and_loses_its_value() {
        let whole = block(&["a", "b", "c", "b"]);
        assert_eq!(erase(&whole, 10, &[3, 9, 14]), None);
        let erased = erase(&whole, 10, &[9, 10, 12]).unwrap();
        assert_eq!(cells(&erased), [None, Some("b"), None, Some("b")]);
        assert_eq!(erased.columns[0].values, ["b".into()]);
    }

    #[test]
    fn a_loader_passes_erased_rows_over() {
        let left = without(block(&["a", "b", "c"]), 5, &[0, 6, 8]);
        assert_eq!((left.rows, cells(&left)), (2, vec![Some("a"), Some("c")]));
    }
}
