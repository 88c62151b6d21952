//! Uploads: blocks cut into partitions, sealed and staged as they come.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::partition::{self, Layout};
use super::statement::{Statement, small_stored, statement};
use super::{Error, Store, aside};
use crate::anonymize::table::Block;
use crate::declaration::{DatasetDeclaration, Role};
use crate::job::Dataset;
use crate::vault::{DataKey, Place, Purpose};

const STAGE_BATCH_CHUNK: Statement = statement!("stage_batch_chunk");

pub(super) type Token = [u8; 16];

/// An upload in progress: staged, invisible until committed. One that is dropped is removed by the sweep.
#[derive(Debug)]
pub struct Upload {
    pub(super) batch_id: Uuid,
    pub(super) dataset_id: Uuid,
    /// As it was when the upload began.
    pub(super) declaration: DatasetDeclaration,
    pub(super) keys: Arc<UploadKeys>,
    /// Chunks so far, by partition.
    pub(super) chunks: Chunks,
    pub(super) rows: u64,
    /// Columns of its blocks, once there was one.
    pub(super) columns: Option<usize>,
    /// Tokens of the distinct values seen, by attribute position; of the subject and of what is counted only.
    pub(super) tokens: Vec<HashSet<Token>>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chunks {
    pub(super) identity: u32,
    pub(super) quasi: u32,
    pub(super) auxiliary: u32,
}

#[derive(Debug)]
pub(super) struct UploadKeys {
    identity: DataKey,
    quasi: DataKey,
    auxiliary: DataKey,
    pub(super) token: DataKey,
}

/// What a block becomes.
struct Sealed {
    /// Partition and payloads, which follow those that are there.
    chunks: Vec<(Purpose, Vec<Vec<u8>>)>,
    tokens: Vec<(usize, Vec<Token>)>,
}

impl Upload {
    /// The id that the batch will have.
    #[must_use]
    pub fn batch_id(&self) -> Uuid {
        self.batch_id
    }

    /// Roles of `columns` columns: the declared ones, then the default role's.
    fn roles(&self, columns: usize) -> Result<Vec<(Role, bool)>, Error> {
        let declared = &self.declaration.attributes;
        let mut roles: Vec<_> = declared
            .iter()
            .map(|attribute| (attribute.role, attribute.subject))
            .collect();
        if columns > roles.len() {
            let added = self.declaration.default_role;
            let added =
                added.ok_or_else(|| Error::Form("a block of too many columns".to_owned()))?;
            roles.resize(columns, (added, false));
        }
        if columns < roles.len() || self.columns.is_some_and(|before| before != columns) {
            return Err(Error::Form("a block of another width".to_owned()));
        }
        Ok(roles)
    }

    fn place(&self, purpose: Purpose) -> Place {
        let sequence = match purpose {
            Purpose::Identity => self.chunks.identity,
            Purpose::Quasi => self.chunks.quasi,
            _ => self.chunks.auxiliary,
        };
        Place {
            dataset_id: self.dataset_id,
            holder_id: self.batch_id,
            purpose,
            sequence,
        }
    }

    fn counter(&mut self, purpose: Purpose) -> &mut u32 {
        match purpose {
            Purpose::Identity => &mut self.chunks.identity,
            Purpose::Quasi => &mut self.chunks.quasi,
            _ => &mut self.chunks.auxiliary,
        }
    }
}

impl UploadKeys {
    fn of(&self, purpose: Purpose) -> &DataKey {
        match purpose {
            Purpose::Identity => &self.identity,
            Purpose::Quasi => &self.quasi,
            _ => &self.auxiliary,
        }
    }
}

/// Tokens of the distinct values of what is counted: subject, quasi-identifying and sensitive columns.
fn tokens(block: &Block, roles: &[(Role, bool)], key: &DataKey) -> Vec<(usize, Vec<Token>)> {
    let counted = roles.iter().enumerate().filter(|(_, (role, subject))| {
        *subject || matches!(role, Role::QuasiIdentifying | Role::Sensitive)
    });
    let counted = counted.map(|(position, &(_, subject))| {
        let values = block.columns[position].values.iter();
        let tokens = values.map(|value| {
            if subject {
                key.subject_token(value)
            } else {
                key.value_token(value)
            }
        });
        (position, tokens.collect())
    });
    counted.collect()
}

fn seal(
    block: Block,
    roles: &[(Role, bool)],
    keys: &UploadKeys,
    places: [Place; 3],
) -> Result<Sealed, Error> {
    let layout = Layout::of_roles(roles.iter().copied());
    let tokens = tokens(&block, roles, &keys.token);
    let partitions = partition::cut(block, &layout, &keys.token)?;
    let mut chunks = Vec::with_capacity(partitions.len());
    for ((purpose, block), place) in partitions.into_iter().zip(places) {
        chunks.push((purpose, partition::seal(block, keys.of(purpose), place)?));
    }
    Ok(Sealed { chunks, tokens })
}

impl Store {
    /// Begins an upload of blocks whose columns are the dataset's attributes in order (then added ones).
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's; [`Error::Sealed`] with another master key.
    pub async fn begin_upload(&self, dataset: &Dataset) -> Result<Upload, Error> {
        let dataset_id = dataset.dataset_id;
        let keys = Arc::new(UploadKeys {
            identity: self.data_key(dataset_id, Purpose::Identity).await?,
            quasi: self.data_key(dataset_id, Purpose::Quasi).await?,
            auxiliary: self.data_key(dataset_id, Purpose::Auxiliary).await?,
            token: self.data_key(dataset_id, Purpose::Token).await?,
        });
        Ok(Upload {
            batch_id: self.begin_staging(dataset_id).await?,
            dataset_id,
            declaration: dataset.declaration.clone(),
            keys,
            chunks: Chunks::default(),
            rows: 0,
            columns: None,
            tokens: Vec::new(),
        })
    }

    /// Stages one block: one short statement per chunk, no transaction.
    ///
    /// # Errors
    /// [`Error::DatasetChanged`] if the upload was swept or its dataset deleted; the database's.
    pub async fn stage_block(&self, upload: &mut Upload, block: &Block) -> Result<(), Error> {
        let columns = block.columns.len();
        let roles = upload.roles(columns)?;
        let places = [Purpose::Identity, Purpose::Quasi, Purpose::Auxiliary]
            .map(|purpose| upload.place(purpose));
        let (rows, block) = (block.rows as u64, block.clone());
        let keys = Arc::clone(&upload.keys);
        let sealed = aside(move || seal(block, &roles, &keys, places)).await?;
        for (purpose, payloads) in sealed.chunks {
            for payload in payloads {
                self.stage_batch_chunk(&upload.place(purpose), payload)
                    .await?;
                *upload.counter(purpose) += 1;
            }
        }
        upload.columns = Some(columns);
        upload.rows += rows;
        upload.tokens.resize_with(columns, HashSet::new);
        for (position, tokens) in sealed.tokens {
            upload.tokens[position].extend(tokens);
        }
        Ok(())
    }

    async fn stage_batch_chunk(&self, place: &Place, payload: Vec<u8>) -> Result<(), Error> {
        let staged = sqlx::query(STAGE_BATCH_CHUNK.text)
            .bind(place.holder_id)
            .bind(place.purpose)
            .bind(small_stored(place.sequence))
            .bind(payload)
            .execute(&self.pool)
            .await
            .map_err(STAGE_BATCH_CHUNK.failed())?;
        match staged.rows_affected() {
            1 => Ok(()),
            _ => Err(Error::DatasetChanged),
        }
    }

    /// Drops what was staged.
    ///
    /// # Errors
    /// The database's; the sweep removes what is left then.
    pub async fn abandon_upload(&self, upload: Upload) -> Result<(), Error> {
        self.abandon(upload.batch_id).await.map(|_| ())
    }
}
