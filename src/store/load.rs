//! Batches back to tables. Opens the quasi and the auxiliary partition; the identity partition only where identifiers are
//! named, to be replaced by tokens.

use std::sync::Arc;

use uuid::Uuid;

use super::batches::BatchRow;
use super::partition::{self, Layout};
use super::statement::{Statement, count, small_count, small_stored, statement};
use super::{Error, Store, aside, erasure};
use crate::anonymize::table::{Block, Column, Population, Schema, Table};
use crate::declaration::Role;
use crate::job::PinnedPopulation;
use crate::vault::{DataKey, Place, Purpose};

const GET_BATCH_CHUNK: Statement = statement!("get_batch_chunk");

impl Store {
    /// Loads the quasi and auxiliary partitions (never the identity partition) of all batches up to a sequence.
    ///
    /// Rows are in order of batch, then of upload; erased ones are not there. Holds no connection while a chunk is opened. Memory: one `u32` per
    /// row and column, the distinct values, one chunk.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Sealed`] if a chunk was changed or moved, [`Error::Form`] if one is lost; the
    /// database's.
    pub async fn load_table(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        through_batch: u32,
    ) -> Result<Table, Error> {
        let loaded = self.load_columns(dataset_id, schema, through_batch, &[]);
        Ok(loaded.await?.0)
    }

    /// As [`Store::load_table`], with identifying attributes at these positions: opens the identity partition if there
    /// are any. Also tells which rows of which batches they are.
    pub(super) async fn load_columns(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        through_batch: u32,
        identifiers: &[usize],
    ) -> Result<(Table, Vec<HeldRows>), Error> {
        let layout = layout(schema);
        let mut partitions = vec![self.quasi(dataset_id, &layout).await?];
        if !layout.auxiliary.is_empty() {
            partitions.push(self.auxiliary(dataset_id, &layout).await?);
        }
        let mut columns = schema.releasable();
        if !identifiers.is_empty() {
            partitions.push(self.identity(dataset_id, &layout).await?);
            for &position in identifiers {
                columns[position] = true;
            }
        }
        let wanted = (columns, schema.subject().is_some());
        self.fill(&wanted, dataset_id, &partitions, through_batch)
            .await
    }

    /// Loads rows as they are, and the populations that they are compared with: their quasi-identifiers only.
    ///
    /// # Errors
    /// As [`Store::load_table`]; [`Error::NotFound`] of a `population`; [`Error::Form`] if one lacks a column.
    pub async fn load_input(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        through_batch: u32,
        populations: &[PinnedPopulation],
    ) -> Result<Table, Error> {
        let mut table = self.load_table(dataset_id, schema, through_batch).await?;
        self.add_populations(&mut table, schema, populations)
            .await?;
        Ok(table)
    }

    pub(super) async fn add_populations(
        &self,
        table: &mut Table,
        schema: &Schema,
        populations: &[PinnedPopulation],
    ) -> Result<(), Error> {
        for pinned in populations {
            let population = self.load_population(pinned, schema).await;
            table
                .populations
                .push(population.map_err(|error| match error {
                    Error::NotFound(_) => Error::NotFound("population"),
                    error => error,
                })?);
        }
        Ok(())
    }

    async fn load_population(
        &self,
        pinned: &PinnedPopulation,
        schema: &Schema,
    ) -> Result<Population, Error> {
        let dataset_id = pinned.dataset_id;
        let own = super::datasets::compile(&pinned.declaration)?;
        let wanted: Vec<bool> = own
            .attributes()
            .iter()
            .map(|attribute| {
                let position = schema.position(&attribute.declaration.name);
                position.is_some_and(|position| {
                    schema.attributes()[position].declaration.role == Role::QuasiIdentifying
                })
            })
            .collect();
        let partitions = [self.quasi(dataset_id, &layout(&own)).await?];
        let wanted = (wanted, own.subject().is_some());
        let (table, _) = self
            .fill(&wanted, dataset_id, &partitions, pinned.through_batch)
            .await?;
        Population::new(dataset_id, table, &own, schema)
            .map_err(|_| Error::Form("a population that lacks a column".to_owned()))
    }

    /// Fills the wanted columns of a table, and its subjects, from partitions of all batches up to a sequence.
    async fn fill(
        &self,
        wanted: &(Vec<bool>, bool),
        dataset_id: Uuid,
        partitions: &[Partition],
        through_batch: u32,
    ) -> Result<(Table, Vec<HeldRows>), Error> {
        loop {
            let before = self.deletions_so_far(dataset_id).await?;
            let table = Table::with_columns(&wanted.0, wanted.1);
            let filled = self
                .fill_once(table, dataset_id, partitions, through_batch)
                .await?;
            // A deletion in between may have left rows of which some cells were read and some not.
            if before == self.deletions_so_far(dataset_id).await? {
                return Ok(filled);
            }
        }
    }

    async fn fill_once(
        &self,
        mut table: Table,
        dataset_id: Uuid,
        partitions: &[Partition],
        through_batch: u32,
    ) -> Result<(Table, Vec<HeldRows>), Error> {
        let mut held = Vec::new();
        for batch in self.complete_batches(dataset_id, through_batch).await? {
            let sequence = small_count(batch.sequence);
            let erased: Arc<[u64]> = self.erased_rows(dataset_id, sequence).await?.into();
            for partition in partitions {
                table = self.append(table, &batch, partition, &erased).await?;
            }
            table.rows += usize::try_from(batch.rows).unwrap_or(0) - erased.len();
            let columns = table.columns.iter().flatten().chain(&table.subjects);
            if columns
                .into_iter()
                .any(|column| column.codes.len() != table.rows)
            {
                return Err(Error::Form(
                    "a batch whose columns are not of one length".to_owned(),
                ));
            }
            held.push(HeldRows {
                batch: sequence,
                rows: count(batch.rows),
                erased,
            });
        }
        Ok((table, held))
    }

    /// Distinct non-missing values of one attribute over all batches, in order of first appearance: to check a new
    /// hierarchy against. Identifying attributes are not opened: no values.
    ///
    /// # Errors
    /// As [`Store::load_table`].
    pub async fn column_values(
        &self,
        dataset_id: Uuid,
        schema: &Schema,
        position: usize,
    ) -> Result<Vec<String>, Error> {
        let layout = layout(schema);
        let partition = if layout.quasi.contains(&position) {
            self.quasi(dataset_id, &layout).await?
        } else if layout.auxiliary.contains(&position) {
            self.auxiliary(dataset_id, &layout).await?
        } else {
            return Ok(Vec::new());
        };
        let wanted: Vec<bool> = (0..schema.attributes().len())
            .map(|index| index == position)
            .collect();
        let mut table = Table::with_columns(&wanted, false);
        for batch in self.complete_batches(dataset_id, u32::MAX).await? {
            table = self
                .append(table, &batch, &partition, &Arc::from([]))
                .await?;
            for column in table.columns.iter_mut().flatten() {
                column.codes.clear();
            }
        }
        let column = table.columns.into_iter().nth(position).flatten();
        let dictionary = column.unwrap_or_default().dictionary;
        Ok(dictionary.iter().map(str::to_owned).collect())
    }

    pub(super) async fn complete_batches(
        &self,
        dataset_id: Uuid,
        through_batch: u32,
    ) -> Result<Vec<BatchRow>, Error> {
        let batches = self.batch_rows(dataset_id, through_batch).await?;
        let sequences = batches.iter().map(|batch| small_count(batch.sequence));
        if sequences.eq(1..=u32::try_from(batches.len()).unwrap_or(u32::MAX)) {
            Ok(batches)
        } else {
            Err(Error::Form("a batch is lost".to_owned()))
        }
    }

    async fn quasi(&self, dataset_id: Uuid, layout: &Layout) -> Result<Partition, Error> {
        let columns = layout.quasi.iter().copied().map(Target::Attribute);
        let subject = layout.subject.map(|_| Target::Subject);
        Ok(Partition {
            dataset_id,
            purpose: Purpose::Quasi,
            key: Arc::new(self.data_key(dataset_id, Purpose::Quasi).await?),
            targets: columns.chain(subject).collect(),
        })
    }

    async fn identity(&self, dataset_id: Uuid, layout: &Layout) -> Result<Partition, Error> {
        let columns = layout.identity.iter().copied().map(Target::Attribute);
        Ok(Partition {
            dataset_id,
            purpose: Purpose::Identity,
            key: Arc::new(self.data_key(dataset_id, Purpose::Identity).await?),
            targets: columns.collect(),
        })
    }

    async fn auxiliary(&self, dataset_id: Uuid, layout: &Layout) -> Result<Partition, Error> {
        let columns = layout.auxiliary.iter().copied().map(Target::Attribute);
        Ok(Partition {
            dataset_id,
            purpose: Purpose::Auxiliary,
            key: Arc::new(self.data_key(dataset_id, Purpose::Auxiliary).await?),
            targets: columns.collect(),
        })
    }

    /// Appends one partition of a batch to the columns of the table that it concerns.
    async fn append(
        &self,
        mut table: Table,
        batch: &BatchRow,
        partition: &Partition,
        erased: &Arc<[u64]>,
    ) -> Result<Table, Error> {
        let chunks = match partition.purpose {
            Purpose::Identity => batch.identity_chunks,
            Purpose::Quasi => batch.quasi_chunks,
            _ => batch.auxiliary_chunks,
        };
        let mut rows = 0;
        for sequence in 0..small_count(chunks) {
            let place = Place {
                dataset_id: partition.dataset_id,
                holder_id: batch.batch_id,
                purpose: partition.purpose,
                sequence,
            };
            let sealed = self.batch_chunk(&place).await?;
            let (key, targets) = (Arc::clone(&partition.key), Arc::clone(&partition.targets));
            let (erased, first) = (Arc::clone(erased), rows);
            let appended = aside(move || {
                let block = partition::open(&sealed, &key, &place)?;
                let more = block.rows as u64;
                append_block(
                    &mut table,
                    &erasure::without(block, first, &erased),
                    &targets,
                )?;
                Ok((table, more))
            });
            let (longer, more) = appended.await?;
            table = longer;
            rows += more;
        }
        if rows == count(batch.rows) {
            Ok(table)
        } else {
            Err(Error::Form("rows of a batch are lost".to_owned()))
        }
    }

    pub(super) async fn batch_chunk(&self, place: &Place) -> Result<Vec<u8>, Error> {
        let payload: Option<Vec<u8>> = sqlx::query_scalar(GET_BATCH_CHUNK.text)
            .bind(place.dataset_id)
            .bind(place.holder_id)
            .bind(place.purpose)
            .bind(small_stored(place.sequence))
            .fetch_optional(&self.pool)
            .await
            .map_err(GET_BATCH_CHUNK.failed())?;
        // A dataset can be deleted while it is read.
        payload.ok_or(Error::NotFound("dataset"))
    }
}

/// Rows of a batch that are still there.
#[derive(Debug, Clone)]
pub(super) struct HeldRows {
    /// Sequence of the batch.
    pub(super) batch: u32,
    /// Rows that it came with.
    pub(super) rows: u64,
    /// Places of those that were erased, ascending.
    pub(super) erased: Arc<[u64]>,
}

/// A partition being read.
struct Partition {
    dataset_id: Uuid,
    purpose: Purpose,
    key: Arc<DataKey>,
    /// Where each column of its blocks goes.
    targets: Arc<[Target]>,
}

#[derive(Clone, Copy)]
enum Target {
    Attribute(usize),
    Subject,
}

pub(super) fn layout(schema: &Schema) -> Layout {
    let attributes = schema.attributes().iter();
    Layout::of(attributes.map(|attribute| &attribute.declaration))
}

/// Appends a block to the table's columns; one that the table does not have is passed over.
fn append_block(table: &mut Table, block: &Block, targets: &[Target]) -> Result<(), Error> {
    if block.columns.len() != targets.len() {
        return Err(Error::Form("a chunk of other columns".to_owned()));
    }
    for (column, target) in block.columns.iter().zip(targets) {
        let own: Option<&mut Column> = match *target {
            Target::Attribute(position) => table.columns.get_mut(position).and_then(Option::as_mut),
            Target::Subject => table.subjects.as_mut(),
        };
        if let Some(own) = own {
            own.append(column);
        }
    }
    Ok(())
}
