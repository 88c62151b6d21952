//! Rendered rows, staged block by block; their CSV form is hashed on the way.

use std::sync::Arc;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::Error;
use crate::anonymize::release::Rendered;
use crate::anonymize::table::{Block, BlockBuilder};
use crate::form::{Form, Writer};
use crate::pool::CpuPool;
use crate::store::{ReleaseDraft, Store};
use crate::telemetry::chain;

/// The CSV form of a release as it grows.
pub(crate) struct CsvDigest {
    writer: Writer,
    buffer: Vec<u8>,
    hash: Sha256,
    bytes: u64,
}

impl CsvDigest {
    fn new(columns: Vec<String>) -> Self {
        let plain = vec![false; columns.len()];
        let mut digest = Self {
            writer: Writer::new(Form::Csv, columns, plain),
            buffer: Vec::new(),
            hash: Sha256::new(),
            bytes: 0,
        };
        digest.writer.begin(&mut digest.buffer);
        digest.take();
        digest
    }

    fn add(&mut self, block: &Block) {
        self.writer.write(block, &mut self.buffer);
        self.take();
    }

    fn end(&mut self) {
        self.writer.end(&mut self.buffer);
        self.take();
    }

    /// SHA-256, hexadecimal, and bytes of the whole form.
    pub(crate) fn finish(self) -> (String, u64) {
        (hex::encode(self.hash.finalize()), self.bytes)
    }

    fn take(&mut self) {
        self.hash.update(&self.buffer);
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
    }
}

/// Stages the rows block by block and hashes their CSV form on the way.
pub(crate) async fn stage(
    store: &Store,
    pool: &CpuPool,
    dataset_id: Uuid,
    rendered: &Arc<Rendered>,
) -> Result<(ReleaseDraft, CsvDigest), Error> {
    let draft = store.begin_release(dataset_id).await;
    fill(store, pool, draft.map_err(Error::Store)?, rendered).await
}

/// Stages the rows into a draft; it is given up if that fails.
pub(super) async fn fill(
    store: &Store,
    pool: &CpuPool,
    mut draft: ReleaseDraft,
    rendered: &Arc<Rendered>,
) -> Result<(ReleaseDraft, CsvDigest), Error> {
    let mut csv = CsvDigest::new(column_names(rendered));
    let rows = rendered.order.len();
    let mut from = 0;
    while from < rows {
        let count = BlockBuilder::ROWS.min(rows - from);
        let source = Arc::clone(rendered);
        let work = move || {
            let block = source.block(from, count);
            csv.add(&block);
            (block, csv)
        };
        let block;
        (block, csv) = match pool.run(work).await {
            Ok(done) => done,
            Err(error) => return Err(give_up(store, draft, error.into()).await),
        };
        if let Err(error) = store.stage_release_block(&mut draft, &block).await {
            return Err(give_up(store, draft, Error::Store(error)).await);
        }
        from += count;
    }
    csv.end();
    Ok((draft, csv))
}

/// Drops what is staged and hands the error on.
pub(crate) async fn give_up(store: &Store, draft: ReleaseDraft, error: Error) -> Error {
    if let Err(failure) = store.abandon_release(draft).await {
        // The sweep removes it later.
        tracing::warn!(
            error = chain(&failure),
            "a release that was given up is still staged"
        );
    }
    error
}

pub(crate) fn column_names(rendered: &Rendered) -> Vec<String> {
    let names = rendered.columns.iter().map(|column| column.name.clone());
    names.collect()
}
