//! Readers: data keys wrapped for holders of keys of their own, and the sealed partitions that these open.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use uuid::Uuid;

use super::partition::{self, Layout};
use super::statement::{Statement, count, small_count, statement};
use super::{Error, Store, commit, datasets, once};
use crate::anonymize::table::Block;
use crate::declaration::DatasetDeclaration;
use crate::job::{Answer, Once, Partition, Reader};
use crate::vault::{DataKey, Grant, Place, Purpose, ReaderPublicKey};

const INSERT_READER: Statement = statement!("insert_reader");
const INSERT_READER_KEY: Statement = statement!("insert_reader_key");
const LIST_READERS: Statement = statement!("list_readers");
const DELETE_READER: Statement = statement!("delete_reader");

/// Name of the column of subjects' tokens in a sealed partition.
const SUBJECT_TOKEN: &str = "subject_token";

#[derive(sqlx::FromRow)]
struct ReaderRow {
    reader_id: Uuid,
    name: String,
    public_key: Vec<u8>,
    created_at: DateTime<Utc>,
    purpose: Purpose,
    wrapped: Vec<u8>,
}

/// A part of a sealed partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealedPart {
    /// A batch begins.
    Batch {
        /// Its id.
        batch_id: Uuid,
        /// Its sequence.
        sequence: u32,
        /// Its rows.
        rows: u64,
        /// Places of erased rows, ascending: their cells are empty.
        erased: Vec<u64>,
    },
    /// A sealed chunk of the batch.
    Chunk {
        /// What it is bound to.
        place: Place,
        /// Nonce, ciphertext, tag.
        sealed: Vec<u8>,
    },
    /// Everything was read, and no row was erased meanwhile.
    End {
        /// Chunks of all batches.
        chunks: u64,
    },
}

/// Names of a partition's columns, in the order of its blocks.
#[must_use]
pub fn partition_columns(declaration: &DatasetDeclaration, partition: Partition) -> Vec<String> {
    let layout = Layout::of(&declaration.attributes);
    let positions = match partition {
        Partition::Identity => &layout.identity,
        Partition::Quasi => &layout.quasi,
        Partition::Auxiliary => &layout.auxiliary,
    };
    let names = positions.iter();
    let names = names.map(|&position| declaration.attributes[position].name.clone());
    let tokens = layout.subject.filter(|_| partition == Partition::Quasi);
    names
        .chain(tokens.map(|_| SUBJECT_TOKEN.to_owned()))
        .collect()
}

/// Opens a sealed chunk of a partition.
///
/// # Errors
/// [`Error::Sealed`] with another key or at another place, [`Error::Form`] if it holds no block.
pub fn open_chunk(sealed: &[u8], key: &DataKey, place: &Place) -> Result<Block, Error> {
    partition::open(sealed, key, place)
}

impl Store {
    /// Makes a reader of a dataset: wraps the data key of each partition for it.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Sealed`] with another master key, [`Error::KeyReused`]; the database's.
    pub async fn create_reader(
        &self,
        dataset_id: Uuid,
        (name, public_key): (&str, &ReaderPublicKey),
        partitions: &[Partition],
        once: Option<&Once>,
        answer: impl FnOnce(&Reader) -> Answer,
    ) -> Result<Answer, Error> {
        let reader_id = Uuid::now_v7();
        let mut keys = BTreeMap::new();
        for &partition in partitions {
            let purpose = partition.purpose();
            let grant = Grant {
                dataset_id,
                reader_id,
                purpose,
            };
            let key = self.data_key(dataset_id, purpose).await?;
            let wrapped = key.wrap_for(public_key, &grant).map_err(Error::Sealed)?;
            keys.insert(partition, wrapped);
        }
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok(earlier);
        }
        if !datasets::hold(&mut transaction, dataset_id).await? {
            return Err(Error::NotFound("dataset"));
        }
        let text = public_key.text();
        sqlx::query(INSERT_READER.text)
            .bind(reader_id)
            .bind(dataset_id)
            .bind(name)
            .bind(hex::decode(&text).unwrap_or_default())
            .execute(&mut *transaction)
            .await
            .map_err(INSERT_READER.failed())?;
        for (partition, wrapped) in &keys {
            sqlx::query(INSERT_READER_KEY.text)
                .bind(reader_id)
                .bind(partition.purpose())
                .bind(wrapped)
                .execute(&mut *transaction)
                .await
                .map_err(INSERT_READER_KEY.failed())?;
        }
        let reader = Reader {
            reader_id,
            dataset_id,
            name: name.to_owned(),
            public_key: text,
            keys,
            created_at: super::maintenance::now(&mut transaction).await?,
        };
        let answer = answer(&reader);
        once::answered(&mut transaction, once, Some(dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok(answer)
    }

    /// Readers of a dataset, first to last; of this id, if one is given.
    ///
    /// # Errors
    /// The database's.
    pub async fn readers(
        &self,
        dataset_id: Uuid,
        reader_id: Option<Uuid>,
    ) -> Result<Vec<Reader>, Error> {
        let rows: Vec<ReaderRow> = sqlx::query_as(LIST_READERS.text)
            .bind(dataset_id)
            .bind(reader_id)
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_READERS.failed())?;
        let mut readers: Vec<Reader> = Vec::new();
        for row in rows {
            if readers
                .last()
                .is_none_or(|last| last.reader_id != row.reader_id)
            {
                readers.push(Reader {
                    reader_id: row.reader_id,
                    dataset_id,
                    name: row.name,
                    public_key: hex::encode(row.public_key),
                    keys: BTreeMap::new(),
                    created_at: row.created_at,
                });
            }
            if let (Some(reader), Some(partition)) =
                (readers.last_mut(), Partition::of(row.purpose))
            {
                reader.keys.insert(partition, row.wrapped);
            }
        }
        Ok(readers)
    }

    /// Removes a reader with its wrapped keys.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn delete_reader(&self, dataset_id: Uuid, reader_id: Uuid) -> Result<(), Error> {
        let deleted = sqlx::query(DELETE_READER.text)
            .bind(dataset_id)
            .bind(reader_id)
            .execute(&self.pool)
            .await
            .map_err(DELETE_READER.failed())?;
        if deleted.rows_affected() == 1 {
            Ok(())
        } else {
            Err(Error::NotFound("reader"))
        }
    }

    /// The sealed chunks of a partition, batch by batch. Nothing is opened, and no connection is held between them.
    ///
    /// Ends without [`SealedPart::End`] at the first error: [`Error::DatasetChanged`] if rows were erased meanwhile.
    #[must_use]
    pub fn sealed_partition(
        &self,
        dataset_id: Uuid,
        partition: Partition,
    ) -> BoxStream<'static, Result<SealedPart, Error>> {
        let store = self.clone();
        let parts = async_stream::try_stream! {
            let before = store.deletions_so_far(dataset_id).await?;
            let mut chunks = 0;
            for batch in store.complete_batches(dataset_id, u32::MAX).await? {
                let sequence = small_count(batch.sequence);
                yield SealedPart::Batch {
                    batch_id: batch.batch_id,
                    sequence,
                    rows: count(batch.rows),
                    erased: store.erased_rows(dataset_id, sequence).await?,
                };
                let of_batch = match partition {
                    Partition::Identity => batch.identity_chunks,
                    Partition::Quasi => batch.quasi_chunks,
                    Partition::Auxiliary => batch.auxiliary_chunks,
                };
                for sequence in 0..small_count(of_batch) {
                    let place = Place {
                        dataset_id,
                        holder_id: batch.batch_id,
                        purpose: partition.purpose(),
                        sequence,
                    };
                    let sealed = store.batch_chunk(&place).await?;
                    yield SealedPart::Chunk { place, sealed };
                    chunks += 1;
                }
            }
            if before != store.deletions_so_far(dataset_id).await? {
                Err(Error::DatasetChanged)?;
            }
            yield SealedPart::End { chunks };
        };
        parts.boxed()
    }
}
