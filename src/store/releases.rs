//! Releases: staged like uploads, sealed under a key of their own.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::page::{List, Place as PagePlace};
use super::statement::{Statement, json, small_count, small_stored, statement};
use super::{Error, Store, aside, commit, datasets, once, partition, staging};
use crate::anonymize::table::Block;
use crate::job::{Answer, Once, Page, PageRequest, ReleaseRecord};
use crate::vault::{DataKey, Place, Purpose};

const STAGE_RELEASE_CHUNK: Statement = statement!("stage_release_chunk");
const INSERT_RELEASE: Statement = statement!("insert_release");
const FIND_RELEASE: Statement = statement!("find_release");
const LIST_RELEASES: Statement = statement!("list_releases");
const FIND_RELEASE_CHUNKS: Statement = statement!("find_release_chunks");
const GET_RELEASE_CHUNK: Statement = statement!("get_release_chunk");

/// A release in progress: staged like an upload.
#[derive(Debug)]
pub struct ReleaseDraft {
    release_id: Uuid,
    dataset_id: Uuid,
    key: Arc<DataKey>,
    chunks: u32,
}

#[derive(sqlx::FromRow)]
struct ReleaseRow {
    release_id: Uuid,
    record: Json<ReleaseRecord>,
    created_at: DateTime<Utc>,
}

impl ReleaseDraft {
    /// The id that the release will have.
    #[must_use]
    pub fn release_id(&self) -> Uuid {
        self.release_id
    }

    pub(super) fn chunks(&self) -> u32 {
        self.chunks
    }

    fn place(&self, sequence: u32) -> Place {
        Place {
            dataset_id: self.dataset_id,
            holder_id: self.release_id,
            purpose: Purpose::Release,
            sequence,
        }
    }
}

/// Makes a draft a release; the transaction holds the dataset.
pub(super) async fn insert(
    connection: &mut PgConnection,
    draft: &ReleaseDraft,
    record: &ReleaseRecord,
) -> Result<(), Error> {
    if (record.release_id, record.dataset_id) != (draft.release_id, draft.dataset_id) {
        return Err(Error::Form("a record of another release".to_owned()));
    }
    staging::end(connection, draft.release_id)
        .await?
        .ok_or(Error::NotFound("release"))?;
    sqlx::query(INSERT_RELEASE.text)
        .bind(record.release_id)
        .bind(record.dataset_id)
        .bind(record.job_id)
        .bind(json(record)?)
        .bind(small_stored(draft.chunks))
        .bind(record.created_at)
        .execute(connection)
        .await
        .map_err(INSERT_RELEASE.failed())?;
    Ok(())
}

impl Store {
    /// Begins to stage a release.
    ///
    /// # Errors
    /// [`Error::NotFound`] without the dataset; the database's; [`Error::Sealed`] with another master key.
    pub async fn begin_release(&self, dataset_id: Uuid) -> Result<ReleaseDraft, Error> {
        let key = Arc::new(self.data_key(dataset_id, Purpose::Release).await?);
        Ok(ReleaseDraft {
            release_id: self.begin_staging(dataset_id).await?,
            dataset_id,
            key,
            chunks: 0,
        })
    }

    /// Stages one block of released rows.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the dataset was deleted or the draft swept; the database's.
    pub async fn stage_release_block(
        &self,
        draft: &mut ReleaseDraft,
        block: &Block,
    ) -> Result<(), Error> {
        let (block, key, place) = (
            block.clone(),
            Arc::clone(&draft.key),
            draft.place(draft.chunks),
        );
        let payloads = aside(move || partition::seal(block, &key, place)).await?;
        for payload in payloads {
            let staged = sqlx::query(STAGE_RELEASE_CHUNK.text)
                .bind(draft.release_id)
                .bind(small_stored(draft.chunks))
                .bind(payload)
                .execute(&self.pool)
                .await
                .map_err(STAGE_RELEASE_CHUNK.failed())?;
            if staged.rows_affected() != 1 {
                return Err(Error::NotFound("dataset"));
            }
            draft.chunks += 1;
        }
        Ok(())
    }

    /// Makes the draft a release. Whatever goes wrong, the draft is given up.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the dataset or the job is gone, [`Error::KeyReused`]; the database's.
    pub async fn commit_release(
        &self,
        draft: ReleaseDraft,
        record: &ReleaseRecord,
        once: Option<&Once>,
        answer: impl FnOnce(&ReleaseRecord) -> Answer,
    ) -> Result<Answer, Error> {
        let committed = self.try_commit_release(&draft, record, once, answer).await;
        match committed {
            Ok((answer, true)) => Ok(answer),
            Ok((answer, false)) => self.abandon(draft.release_id).await.map(|_| answer),
            Err(error) => {
                // The first error is the one to tell; what cannot be removed now goes with the sweep.
                let _ = self.abandon(draft.release_id).await;
                Err(error)
            }
        }
    }

    /// The answer, and whether this draft is what it answers.
    async fn try_commit_release(
        &self,
        draft: &ReleaseDraft,
        record: &ReleaseRecord,
        once: Option<&Once>,
        answer: impl FnOnce(&ReleaseRecord) -> Answer,
    ) -> Result<(Answer, bool), Error> {
        let mut transaction = self.begin().await?;
        if let Some(earlier) = once::take(&mut transaction, once).await? {
            return Ok((earlier, false));
        }
        if !datasets::hold(&mut transaction, draft.dataset_id).await? {
            return Err(Error::NotFound("dataset"));
        }
        insert(&mut transaction, draft, record).await?;
        let answer = answer(record);
        once::answered(&mut transaction, once, Some(draft.dataset_id), &answer).await?;
        commit(transaction).await?;
        Ok((answer, true))
    }

    /// Drops a draft that is not to become a release.
    ///
    /// # Errors
    /// The database's; the sweep removes what is left then.
    pub async fn abandon_release(&self, draft: ReleaseDraft) -> Result<(), Error> {
        self.abandon(draft.release_id).await.map(|_| ())
    }

    /// A release's record.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn release(&self, release_id: Uuid) -> Result<ReleaseRecord, Error> {
        let row: Option<ReleaseRow> = sqlx::query_as(FIND_RELEASE.text)
            .bind(release_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_RELEASE.failed())?;
        row.map(|row| row.record.0)
            .ok_or(Error::NotFound("release"))
    }

    /// Newest first.
    ///
    /// # Errors
    /// [`Error::InvalidCursor`]; the database's.
    pub async fn list_releases(
        &self,
        dataset_id: Option<Uuid>,
        page: &PageRequest,
    ) -> Result<Page<ReleaseRecord>, Error> {
        let place = PagePlace::parse(List::Releases, page)?;
        let rows: Vec<ReleaseRow> = sqlx::query_as(LIST_RELEASES.text)
            .bind(dataset_id)
            .bind(place.created_at)
            .bind(place.id)
            .bind(place.rows())
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_RELEASES.failed())?;
        let page = place.page(rows, |row: &ReleaseRow| (row.created_at, row.release_id));
        Ok(Page {
            items: page.items.into_iter().map(|row| row.record.0).collect(),
            next_cursor: page.next_cursor,
        })
    }

    /// Blocks of a release in order, opened one at a time. No connection is held between them, however slow the reader.
    ///
    /// Yields [`Error::NotFound`] without the release, [`Error::Sealed`] if a chunk was changed or moved,
    /// [`Error::Form`] if one is lost; ends at the first error.
    #[must_use]
    pub fn release_blocks(&self, release_id: Uuid) -> BoxStream<'static, Result<Block, Error>> {
        let store = self.clone();
        let blocks = async_stream::try_stream! {
            let (draft, chunks) = store.stored_release(release_id).await?;
            for sequence in 0..chunks {
                yield store.release_block(&draft, sequence).await?;
            }
        };
        blocks.boxed()
    }

    async fn stored_release(&self, release_id: Uuid) -> Result<(ReleaseDraft, u32), Error> {
        let row: Option<(Uuid, Uuid, i32)> = sqlx::query_as(FIND_RELEASE_CHUNKS.text)
            .bind(release_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_RELEASE_CHUNKS.failed())?;
        let (dataset_id, holder_id, chunks) = row.ok_or(Error::NotFound("release"))?;
        let chunks = small_count(chunks);
        let draft = ReleaseDraft {
            release_id: holder_id,
            dataset_id,
            key: Arc::new(self.data_key(dataset_id, Purpose::Release).await?),
            chunks,
        };
        Ok((draft, chunks))
    }

    async fn release_block(&self, draft: &ReleaseDraft, sequence: u32) -> Result<Block, Error> {
        let payload: Option<Vec<u8>> = sqlx::query_scalar(GET_RELEASE_CHUNK.text)
            .bind(draft.dataset_id)
            .bind(draft.release_id)
            .bind(small_stored(sequence))
            .fetch_optional(&self.pool)
            .await
            .map_err(GET_RELEASE_CHUNK.failed())?;
        // The dataset can be deleted while its release is read; a chunk lost otherwise ends the stream all the same.
        let payload = payload.ok_or(Error::NotFound("release"))?;
        let (key, place) = (Arc::clone(&draft.key), draft.place(sequence));
        aside(move || partition::open(&payload, &key, &place)).await
    }
}
