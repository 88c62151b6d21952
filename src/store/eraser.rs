//! The work of a deletion on the chunks of a dataset, within its transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use super::deletions::Selection;
use super::partition::{self, Layout};
use super::statement::{Statement, count, small_count, small_stored, statement};
use super::{Error, aside, chunk, erasure};
use crate::anonymize::table::Block;
use crate::declaration::{DatasetDeclaration, Role};
use crate::vault::{DataKey, Place, Purpose};

const LIST_BATCH_CHUNKS: Statement = statement!("list_batch_chunks");
const GET_BATCH_CHUNK: Statement = statement!("get_batch_chunk");
const REWRITE_BATCH_CHUNK: Statement = statement!("rewrite_batch_chunk");

#[derive(sqlx::FromRow)]
struct BatchChunksRow {
    batch_id: Uuid,
    sequence: i32,
    rows: i64,
    identity_chunks: i32,
    quasi_chunks: i32,
    auxiliary_chunks: i32,
}

impl BatchChunksRow {
    fn chunks(&self, purpose: Purpose) -> u32 {
        small_count(match purpose {
            Purpose::Identity => self.identity_chunks,
            Purpose::Quasi => self.quasi_chunks,
            _ => self.auxiliary_chunks,
        })
    }
}

/// One partition of a dataset, and what its columns are.
struct Partition {
    purpose: Purpose,
    key: Arc<DataKey>,
    columns: Vec<Held>,
}

/// What a column of a partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    Attribute(usize),
    /// Tokens of the subject, which is the attribute at this position.
    SubjectTokens(usize),
}

/// Texts of which a cell must be one; `None` is missing.
type Wanted = Arc<HashSet<Option<String>>>;

/// A deletion under way.
pub(super) struct Eraser<'c> {
    connection: &'c mut PgConnection,
    dataset_id: Uuid,
    partitions: [Partition; 3],
    tokens: Arc<DataKey>,
    /// Columns whose distinct values are counted.
    counted: BTreeSet<Held>,
}

/// What a deletion takes away.
#[derive(Default)]
pub(super) struct Erased {
    /// Batch, row and token of the tuple.
    pub(super) rows: Vec<(u32, u64, [u8; 16])>,
    /// Values that erased rows held, of what is counted.
    pub(super) values: BTreeMap<Held, HashSet<String>>,
}

fn partitions(declaration: &DatasetDeclaration, keys: [Arc<DataKey>; 3]) -> [Partition; 3] {
    let layout = Layout::of(&declaration.attributes);
    let [identity, quasi, auxiliary] = keys;
    let attributes = |positions: &[usize]| positions.iter().copied().map(Held::Attribute).collect();
    let mut with_tokens: Vec<Held> = attributes(&layout.quasi);
    with_tokens.extend(layout.subject.map(Held::SubjectTokens));
    [
        Partition {
            purpose: Purpose::Identity,
            key: identity,
            columns: attributes(&layout.identity),
        },
        Partition {
            purpose: Purpose::Quasi,
            key: quasi,
            columns: with_tokens,
        },
        Partition {
            purpose: Purpose::Auxiliary,
            key: auxiliary,
            columns: attributes(&layout.auxiliary),
        },
    ]
}

/// What uploads count: the subject by its tokens, quasi-identifying and sensitive columns by their values.
fn counted(declaration: &DatasetDeclaration) -> BTreeSet<Held> {
    let attributes = declaration.attributes.iter().enumerate();
    let counted = attributes.filter_map(|(position, attribute)| match attribute.role {
        _ if attribute.subject => Some(Held::SubjectTokens(position)),
        Role::QuasiIdentifying | Role::Sensitive => Some(Held::Attribute(position)),
        Role::Identifying | Role::Insensitive => None,
    });
    counted.collect()
}

impl<'c> Eraser<'c> {
    /// On a transaction that holds the lock of the dataset. `keys` are those of the partitions in order: identity, quasi,
    /// auxiliary.
    pub(super) fn new(
        connection: &'c mut PgConnection,
        dataset_id: Uuid,
        declaration: &DatasetDeclaration,
        keys: [Arc<DataKey>; 3],
        tokens: Arc<DataKey>,
    ) -> Self {
        Self {
            connection,
            dataset_id,
            partitions: partitions(declaration, keys),
            tokens,
            counted: counted(declaration),
        }
    }

    /// Finds the rows, erases them, and keeps of their values those that no row has any more.
    pub(super) async fn erase(&mut self, selection: &Selection) -> Result<Erased, Error> {
        let batches: Vec<BatchChunksRow> = sqlx::query_as(LIST_BATCH_CHUNKS.text)
            .bind(self.dataset_id)
            .fetch_all(&mut *self.connection)
            .await
            .map_err(LIST_BATCH_CHUNKS.failed())?;
        let wanted = self.wanted(selection);
        let mut erased = Erased::default();
        for batch in &batches {
            let rows: Arc<[u64]> = self.matching(batch, &wanted).await?.into();
            if !rows.is_empty() {
                self.erase_from(batch, &rows, &mut erased).await?;
            }
        }
        if !erased.rows.is_empty() {
            for batch in &batches {
                self.keep_gone(batch, &mut erased).await?;
            }
        }
        Ok(erased)
    }

    fn wanted(&self, selection: &Selection) -> Vec<(Held, Wanted)> {
        match selection {
            Selection::Subjects(subjects) => {
                let tokens = subjects.iter();
                let tokens =
                    tokens.map(|subject| Some(hex::encode(self.tokens.subject_token(subject))));
                let mut held = self.counted.iter();
                let held = held.find(|held| matches!(held, Held::SubjectTokens(_)));
                let tokens: Wanted = Arc::new(tokens.collect());
                held.map(|held| (*held, tokens)).into_iter().collect()
            }
            Selection::Cells(cells) => {
                let cells = cells.iter();
                let cells = cells.map(|(position, texts)| {
                    let texts = texts.iter().cloned().collect();
                    (Held::Attribute(*position), Arc::new(texts))
                });
                cells.collect()
            }
        }
    }

    /// Rows of a batch that hold a wanted text in every wanted column, ascending.
    async fn matching(
        &mut self,
        batch: &BatchChunksRow,
        wanted: &[(Held, Wanted)],
    ) -> Result<Vec<u64>, Error> {
        let mut matching: Option<BTreeSet<u64>> = None;
        for index in 0..self.partitions.len() {
            let columns = self.partitions[index].columns.iter();
            let here: Vec<(usize, Wanted)> = wanted
                .iter()
                .filter_map(|(held, texts)| {
                    let column = columns.clone().position(|column| column == held)?;
                    Some((column, Arc::clone(texts)))
                })
                .collect();
            if here.is_empty() {
                continue;
            }
            let mut found = BTreeSet::new();
            let mut first = 0;
            for sequence in 0..batch.chunks(self.partitions[index].purpose) {
                let block = self.open(batch, index, sequence).await?;
                let rows = (0..block.rows).filter(|&row| {
                    here.iter().all(|(column, texts)| {
                        let cell = block.columns[*column].cell(row);
                        texts.contains(&cell.map(str::to_owned))
                    })
                });
                found.extend(rows.map(|row| first + row as u64));
                first += block.rows as u64;
            }
            matching = Some(match matching {
                None => found,
                Some(before) => before.intersection(&found).copied().collect(),
            });
        }
        let mut matching = matching.unwrap_or_default();
        if wanted.iter().any(|(_, texts)| texts.contains(&None)) {
            // What was erased before looks like missing cells.
            let erased =
                erasure::erased_places(&mut *self.connection, self.dataset_id, batch.sequence);
            for row in erased.await? {
                matching.remove(&row);
            }
        }
        Ok(matching.into_iter().collect())
    }

    /// Erases rows of a batch from all partitions.
    async fn erase_from(
        &mut self,
        batch: &BatchChunksRow,
        rows: &Arc<[u64]>,
        erased: &mut Erased,
    ) -> Result<(), Error> {
        let mut tuples: Vec<[u8; 16]> = Vec::new();
        for index in 0..self.partitions.len() {
            let purpose = self.partitions[index].purpose;
            let mut first = 0;
            for sequence in 0..batch.chunks(purpose) {
                let block = self.open(batch, index, sequence).await?;
                let begin = rows.partition_point(|&row| row < first);
                let end = rows.partition_point(|&row| row < first + block.rows as u64);
                for &row in &rows[begin..end] {
                    let row = usize::try_from(row - first).unwrap_or(usize::MAX);
                    self.take_values(index, &block, row, erased);
                    if purpose == Purpose::Quasi {
                        tuples.push(self.tuple(index, &block, row));
                    }
                }
                if let Some(left) = erasure::erase(&block, first, rows) {
                    self.rewrite(batch, index, sequence, left).await?;
                }
                first += block.rows as u64;
            }
            let columns = self.partitions[index].columns.len();
            if columns > 0 && first != count(batch.rows) {
                return Err(Error::Form("rows of a batch are lost".to_owned()));
            }
        }
        let numbered = rows.iter().zip(tuples);
        let sequence = small_count(batch.sequence);
        let places = numbered.map(|(&row, tuple)| (sequence, row, tuple));
        erased.rows.extend(places);
        Ok(())
    }

    fn take_values(&self, index: usize, block: &Block, row: usize, erased: &mut Erased) {
        let columns = self.partitions[index].columns.iter().zip(&block.columns);
        for (held, column) in columns {
            if let (true, Some(cell)) = (self.counted.contains(held), column.cell(row)) {
                let values = erased.values.entry(*held).or_default();
                values.insert(cell.to_owned());
            }
        }
    }

    /// Token of a row's quasi-identifying values.
    fn tuple(&self, index: usize, block: &Block, row: usize) -> [u8; 16] {
        let columns = self.partitions[index].columns.iter().zip(&block.columns);
        let quasi = columns.filter(|(held, _)| !matches!(held, Held::SubjectTokens(_)));
        self.tokens
            .tuple_token(quasi.map(|(_, column)| column.cell(row)))
    }

    /// Drops from the values of erased rows those that a row of this batch still has.
    async fn keep_gone(
        &mut self,
        batch: &BatchChunksRow,
        erased: &mut Erased,
    ) -> Result<(), Error> {
        for index in 0..self.partitions.len() {
            let columns = self.partitions[index].columns.clone();
            let matters = |held: &Held| {
                let values = erased.values.get(held);
                values.is_some_and(|values| !values.is_empty())
            };
            if !columns.iter().any(matters) {
                continue;
            }
            for sequence in 0..batch.chunks(self.partitions[index].purpose) {
                let block = self.open(batch, index, sequence).await?;
                for (held, column) in columns.iter().zip(&block.columns) {
                    if let Some(values) = erased.values.get_mut(held) {
                        for value in &column.values {
                            values.remove(&**value);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    async fn open(
        &mut self,
        batch: &BatchChunksRow,
        index: usize,
        sequence: u32,
    ) -> Result<Block, Error> {
        let place = self.place(batch, index, sequence);
        let payload: Option<Vec<u8>> = sqlx::query_scalar(GET_BATCH_CHUNK.text)
            .bind(place.dataset_id)
            .bind(place.holder_id)
            .bind(place.purpose)
            .bind(small_stored(sequence))
            .fetch_optional(&mut *self.connection)
            .await
            .map_err(GET_BATCH_CHUNK.failed())?;
        let payload = payload.ok_or_else(|| Error::Form("a chunk is lost".to_owned()))?;
        let (key, columns) = (
            Arc::clone(&self.partitions[index].key),
            self.partitions[index].columns.len(),
        );
        aside(move || {
            let block = partition::open(&payload, &key, &place)?;
            if block.columns.len() == columns {
                Ok(block)
            } else {
                Err(Error::Form("a chunk of other columns".to_owned()))
            }
        })
        .await
    }

    async fn rewrite(
        &mut self,
        batch: &BatchChunksRow,
        index: usize,
        sequence: u32,
        block: Block,
    ) -> Result<(), Error> {
        let place = self.place(batch, index, sequence);
        let key = Arc::clone(&self.partitions[index].key);
        let seal = move || {
            let sealed = key.seal(&place, &chunk::encode(&block));
            sealed.map_err(Error::Sealed)
        };
        let payload = aside(seal).await?;
        sqlx::query(REWRITE_BATCH_CHUNK.text)
            .bind(place.dataset_id)
            .bind(place.holder_id)
            .bind(place.purpose)
            .bind(small_stored(sequence))
            .bind(payload)
            .execute(&mut *self.connection)
            .await
            .map_err(REWRITE_BATCH_CHUNK.failed())?;
        Ok(())
    }

    fn place(&self, batch: &BatchChunksRow, index: usize, sequence: u32) -> Place {
        Place {
            dataset_id: self.dataset_id,
            holder_id: batch.batch_id,
            purpose: self.partitions[index].purpose,
            sequence,
        }
    }
}
