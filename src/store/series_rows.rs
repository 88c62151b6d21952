//! Rows of batches as a series takes them: each with its place, its subject's token and its cells.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use uuid::Uuid;

use super::partition::{self, Layout};
use super::statement::{count, small_count};
use super::{Error, Store, aside, erasure, load};
use crate::anonymize::series::{RowId, SeriesRow, Value};
use crate::anonymize::table::{Block, Schema};
use crate::vault::{DataKey, Place, Purpose};

/// Texts of a column, each kept once however many blocks hold it.
type Texts = FxHashSet<Arc<str>>;

/// Cells of some columns of a batch, row by row.
struct Rows {
    cells: Vec<Vec<Value>>,
    texts: Vec<Texts>,
}

impl Store {
    /// Rows of the batches after one sequence and up to another that are not erased, in order.
    ///
    /// Opens the quasi and auxiliary partitions, never the identity partition.
    ///
    /// # Errors
    /// As [`Store::load_table`].
    pub(super) async fn series_rows(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        after: u32,
        through: u32,
    ) -> Result<Vec<SeriesRow>, Error> {
        loop {
            let before = self.deletions_so_far(dataset_id).await?;
            let rows = self
                .series_rows_once(dataset_id, schema, after, through)
                .await?;
            if before == self.deletions_so_far(dataset_id).await? {
                return Ok(rows);
            }
        }
    }

    async fn series_rows_once(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        after: u32,
        through: u32,
    ) -> Result<Vec<SeriesRow>, Error> {
        let layout = load::layout(schema);
        let quasi_key = Arc::new(self.data_key(dataset_id, Purpose::Quasi).await?);
        let auxiliary_key = Arc::new(self.data_key(dataset_id, Purpose::Auxiliary).await?);
        let mut rows = Vec::new();
        let batches = self.complete_batches(dataset_id, through).await?;
        for batch in batches {
            let sequence = small_count(batch.sequence);
            if sequence <= after {
                continue;
            }
            let erased: Arc<[u64]> = self.erased_rows(dataset_id, sequence).await?.into();
            let place = |purpose| Place {
                dataset_id,
                holder_id: batch.batch_id,
                purpose,
                sequence: 0,
            };
            let columns = layout.quasi.len() + usize::from(layout.subject.is_some());
            let quasi = self
                .cells(
                    place(Purpose::Quasi),
                    batch.quasi_chunks,
                    columns,
                    &quasi_key,
                    &erased,
                )
                .await?;
            let columns = layout.auxiliary.len();
            let auxiliary = self
                .cells(
                    place(Purpose::Auxiliary),
                    batch.auxiliary_chunks,
                    columns,
                    &auxiliary_key,
                    &erased,
                )
                .await?;
            let numbers = (0..count(batch.rows)).filter(|row| erased.binary_search(row).is_err());
            join(&layout, sequence, numbers, quasi, auxiliary, &mut rows)?;
        }
        Ok(rows)
    }

    /// The cells of one partition of a batch, without erased rows.
    async fn cells(
        &self,
        first: Place,
        chunks: i32,
        columns: usize,
        key: &Arc<DataKey>,
        erased: &Arc<[u64]>,
    ) -> Result<Vec<Vec<Value>>, Error> {
        let mut rows = Rows {
            cells: Vec::new(),
            texts: vec![Texts::default(); columns],
        };
        let mut at = 0;
        for sequence in 0..small_count(chunks) {
            let place = Place { sequence, ..first };
            let sealed = self.batch_chunk(&place).await?;
            let (key, erased) = (Arc::clone(key), Arc::clone(erased));
            (rows, at) = aside(move || {
                let block = partition::open(&sealed, &key, &place)?;
                let next = at + block.rows as u64;
                rows.append(&erasure::without(block, at, &erased))?;
                Ok((rows, next))
            })
            .await?;
        }
        Ok(rows.cells)
    }
}

impl Rows {
    fn append(&mut self, block: &Block) -> Result<(), Error> {
        if block.columns.len() != self.texts.len() {
            return Err(Error::Form("a chunk of other columns".to_owned()));
        }
        let values: Vec<Vec<Value>> = block
            .columns
            .iter()
            .zip(&mut self.texts)
            .map(|(column, texts)| {
                let own = column.values.iter().map(|value| Some(text(texts, value)));
                std::iter::once(None).chain(own).collect()
            })
            .collect();
        self.cells.extend((0..block.rows).map(|row| {
            let columns = block.columns.iter().zip(&values);
            columns
                .map(|(column, values)| values[column.codes[row] as usize].clone())
                .collect()
        }));
        Ok(())
    }
}

fn text(texts: &mut Texts, value: &str) -> Arc<str> {
    if let Some(known) = texts.get(value) {
        return Arc::clone(known);
    }
    let new: Arc<str> = value.into();
    texts.insert(Arc::clone(&new));
    new
}

/// Puts the partitions of a batch together again.
fn join(
    layout: &Layout,
    batch: u32,
    numbers: impl Iterator<Item = u64>,
    quasi: Vec<Vec<Value>>,
    auxiliary: Vec<Vec<Value>>,
    rows: &mut Vec<SeriesRow>,
) -> Result<(), Error> {
    let numbers: Vec<u64> = numbers.collect();
    let has_auxiliary = !layout.auxiliary.is_empty();
    if quasi.len() != numbers.len() || (has_auxiliary && auxiliary.len() != numbers.len()) {
        return Err(Error::Form("rows of a batch are lost".to_owned()));
    }
    let mut auxiliary = auxiliary.into_iter();
    for (number, mut quasi) in numbers.into_iter().zip(quasi) {
        let row = u32::try_from(number)
            .map_err(|_| Error::Form("a batch of more than 2^32 rows".to_owned()))?;
        let token = layout.subject.and_then(|_| quasi.pop().flatten());
        let subject = token.map(|token| parse_token(&token)).transpose()?;
        rows.push(SeriesRow {
            id: RowId { batch, row },
            subject,
            quasi: quasi.into(),
            carried: auxiliary.next().unwrap_or_default().into(),
        });
    }
    Ok(())
}

fn parse_token(text: &str) -> Result<[u8; 16], Error> {
    let mut token = [0; 16];
    hex::decode_to_slice(text, &mut token)
        .map_err(|_| Error::Form("a subject's token is malformed".to_owned()))?;
    Ok(token)
}
