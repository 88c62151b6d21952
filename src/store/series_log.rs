//! The log of a series: what each release changed. A release is put together from it when it is first read.

use std::collections::BTreeSet;

use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::series_codec::{decode_nodes, encode_nodes};
use super::series_logged_rows::{RowTokens, append, empty_table};
use super::series_sealed::SeriesKeys;
use super::statement::{Statement, json, small_count, small_stored, statement};
use super::{Error, ReleaseDraft, Store, aside, chunk, commit, datasets, staging};
use crate::anonymize::series::NodeKey;
use crate::anonymize::table::{Block, Schema, Table};
use crate::declaration::{DatasetDeclaration, SeriesDemand};
use crate::job::ReleaseRecord;
use crate::vault::SeriesPart;

const INSERT_SERIES_RELEASE: Statement = statement!("insert_series_release");
const FIND_SERIES_RELEASE: Statement = statement!("find_series_release");
const LIST_SERIES_RELEASES: Statement = statement!("list_series_releases");
const INSERT_SERIES_CHUNK: Statement = statement!("insert_series_chunk");
const GET_SERIES_CHUNK: Statement = statement!("get_series_chunk");
const RENDER_SERIES_RELEASE: Statement = statement!("render_series_release");
const COMPLETE_RELEASE: Statement = statement!("complete_release");
const INSERT_RELEASE: Statement = statement!("insert_release");

/// What a block of the log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows that are new in the version.
    Added = 0,
    /// Rows that stand in another class since.
    Moved = 1,
    /// Ids of rows that stand there no more, or elsewhere.
    Retired = 2,
    /// The cut nodes.
    Cuts = 3,
    /// The signatures of the rows of an m-invariant series.
    Signatures = 4,
}

/// What a release of a series changes, ready to be logged.
#[derive(Debug, Clone)]
pub struct SeriesRelease {
    /// Its record.
    pub record: ReleaseRecord,
    /// Its version.
    pub version: u32,
    /// Rows that are new: releasable cells in declared order, the subject's token if one is declared, the row's id.
    pub added: Vec<Block>,
    /// Rows that stand in another class, in the same form.
    pub moved: Vec<Block>,
    /// Ids of the rows that left and of those in `moved`: one column.
    pub retired: Vec<Block>,
    /// Cut nodes that rows have reached, by quasi-identifier.
    pub cuts: Vec<Vec<NodeKey>>,
}

/// Where a release stands in a series, and what it takes to put it together.
#[derive(Debug, Clone)]
pub struct SeriesVersion {
    /// The release.
    pub release_id: Uuid,
    /// The series.
    pub series_id: Uuid,
    /// Its version.
    pub version: u32,
    /// Whether its rows were put together and verified.
    pub is_rendered: bool,
    /// Its dataset.
    pub dataset_id: Uuid,
    /// Demands of the series.
    pub demand: SeriesDemand,
    /// Declaration of the series.
    pub declaration: DatasetDeclaration,
}

#[derive(sqlx::FromRow)]
struct VersionRow {
    release_id: Uuid,
    series_id: Uuid,
    version: i32,
    is_rendered: bool,
    dataset_id: Uuid,
    demand: Json<SeriesDemand>,
    declaration: Json<DatasetDeclaration>,
}

#[derive(sqlx::FromRow)]
struct LoggedRow {
    version: i32,
    added_chunks: i32,
    moved_chunks: i32,
    retired_chunks: i32,
    record: Json<ReleaseRecord>,
}

/// Stores a release of a series and its part of the log.
pub(super) async fn insert(
    connection: &mut PgConnection,
    release: &SeriesRelease,
    keys: &SeriesKeys,
) -> Result<(), Error> {
    let record = &release.record;
    sqlx::query(INSERT_RELEASE.text)
        .bind(record.release_id)
        .bind(record.dataset_id)
        .bind(record.job_id)
        .bind(json(record)?)
        .bind(0)
        .bind(record.created_at)
        .execute(&mut *connection)
        .await
        .map_err(INSERT_RELEASE.failed())?;
    let mut chunks = [0; 3];
    let kinds = [Kind::Added, Kind::Moved, Kind::Retired];
    let blocks = [&release.added, &release.moved, &release.retired];
    for ((kind, blocks), chunks) in kinds.into_iter().zip(blocks).zip(&mut chunks) {
        for part in blocks.iter().cloned().flat_map(chunk::split) {
            if part.rows > 0 {
                let place = (release.version, kind, *chunks);
                insert_chunk(connection, place, &chunk::encode(&part), keys).await?;
                *chunks += 1;
            }
        }
    }
    let place = (release.version, Kind::Cuts, 0);
    insert_chunk(connection, place, &encode_nodes(&release.cuts), keys).await?;
    sqlx::query(INSERT_SERIES_RELEASE.text)
        .bind(record.release_id)
        .bind(keys.series_id)
        .bind(small_stored(release.version))
        .bind(small_stored(chunks[0]))
        .bind(small_stored(chunks[1]))
        .bind(small_stored(chunks[2]))
        .execute(connection)
        .await
        .map_err(INSERT_SERIES_RELEASE.failed())?;
    Ok(())
}

fn part((version, kind, sequence): (u32, Kind, u32)) -> SeriesPart {
    SeriesPart::Chunk {
        version,
        kind: kind as u8,
        sequence,
    }
}

pub(super) async fn insert_chunk(
    connection: &mut PgConnection,
    place: (u32, Kind, u32),
    plain: &[u8],
    keys: &SeriesKeys,
) -> Result<(), Error> {
    let (version, kind, sequence) = place;
    sqlx::query(INSERT_SERIES_CHUNK.text)
        .bind(keys.series_id)
        .bind(small_stored(version))
        .bind(kind as i16)
        .bind(small_stored(sequence))
        .bind(keys.seal(part(place), plain)?)
        .execute(connection)
        .await
        .map_err(INSERT_SERIES_CHUNK.failed())?;
    Ok(())
}

impl Store {
    /// Where a release stands in a series; `None` if in none.
    ///
    /// # Errors
    /// The database's.
    pub async fn series_version(&self, release_id: Uuid) -> Result<Option<SeriesVersion>, Error> {
        let row: Option<VersionRow> = sqlx::query_as(FIND_SERIES_RELEASE.text)
            .bind(release_id)
            .fetch_optional(&self.pool)
            .await
            .map_err(FIND_SERIES_RELEASE.failed())?;
        Ok(row.map(|row| SeriesVersion {
            release_id: row.release_id,
            series_id: row.series_id,
            version: small_count(row.version),
            is_rendered: row.is_rendered,
            dataset_id: row.dataset_id,
            demand: row.demand.0,
            declaration: row.declaration.0,
        }))
    }

    /// Records of a series' releases, newest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn series_releases(&self, series_id: Uuid) -> Result<Vec<ReleaseRecord>, Error> {
        let rows = self.logged(series_id, u32::MAX).await?;
        Ok(rows.into_iter().map(|row| row.record.0).collect())
    }

    /// The rows of a version with the tokens of their subjects, in no order that means anything.
    ///
    /// `schema` is of the released columns: with `row_linkage` its last attribute is that of the rows' tokens.
    ///
    /// Memory: one `u32` per cell, the distinct values, one chunk. Cost: the whole log up to the version.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Sealed`], [`Error::Form`] if a chunk is lost; the database's.
    pub async fn series_table(
        &self,
        version: &SeriesVersion,
        schema: &Schema,
    ) -> Result<Table, Error> {
        let keys = self
            .series_keys(version.dataset_id, version.series_id)
            .await?;
        let tokens = RowTokens::of(version, &keys);
        let mut table = empty_table(schema);
        let mut retired: BTreeSet<Box<str>> = BTreeSet::new();
        for logged in self.logged(version.series_id, version.version).await? {
            let of_version = small_count(logged.version);
            let kinds = [
                (Kind::Added, logged.added_chunks),
                (Kind::Moved, logged.moved_chunks),
            ];
            for (kind, chunks) in kinds {
                for sequence in 0..small_count(chunks) {
                    let block = self
                        .logged_block(&keys, (of_version, kind, sequence))
                        .await?;
                    let tokens = tokens.clone();
                    (table, retired) = aside(move || {
                        append(&mut table, block, &retired, tokens.as_ref())?;
                        Ok((table, retired))
                    })
                    .await?;
                }
            }
            for sequence in 0..small_count(logged.retired_chunks) {
                let place = (of_version, Kind::Retired, sequence);
                let block = self.logged_block(&keys, place).await?;
                for column in block.columns {
                    retired.extend(column.values);
                }
            }
        }
        Ok(table)
    }

    /// The rows that are new in a version, in the same form.
    ///
    /// # Errors
    /// As [`Store::series_table`].
    pub async fn series_added(
        &self,
        version: &SeriesVersion,
        schema: &Schema,
    ) -> Result<Table, Error> {
        let keys = self
            .series_keys(version.dataset_id, version.series_id)
            .await?;
        let tokens = RowTokens::of(version, &keys);
        let mut table = empty_table(schema);
        let logged = self.logged(version.series_id, version.version).await?;
        let logged = logged.first().ok_or(Error::NotFound("release"))?;
        for sequence in 0..small_count(logged.added_chunks) {
            let place = (version.version, Kind::Added, sequence);
            let block = self.logged_block(&keys, place).await?;
            append(&mut table, block, &BTreeSet::new(), tokens.as_ref())?;
        }
        Ok(table)
    }

    /// The cut nodes of a version, by quasi-identifier.
    ///
    /// # Errors
    /// As [`Store::series_table`].
    pub async fn series_cuts(&self, version: &SeriesVersion) -> Result<Vec<Vec<NodeKey>>, Error> {
        let keys = self
            .series_keys(version.dataset_id, version.series_id)
            .await?;
        let plain = self
            .logged_bytes(&keys, (version.version, Kind::Cuts, 0))
            .await?;
        decode_nodes(&plain)
    }

    /// Makes staged rows those of a release of a series and completes its record. Whatever goes wrong, or if another
    /// request was first, the draft is given up.
    ///
    /// # Errors
    /// [`Error::NotFound`]; the database's.
    pub async fn render_release(
        &self,
        draft: ReleaseDraft,
        record: &ReleaseRecord,
    ) -> Result<(), Error> {
        let rendered = self.try_render_release(&draft, record).await;
        if !matches!(rendered, Ok(true)) {
            // The first error is the one to tell; what cannot be removed now goes with the sweep.
            let _ = self.abandon(draft.release_id()).await;
        }
        rendered.map(|_| ())
    }

    async fn try_render_release(
        &self,
        draft: &ReleaseDraft,
        record: &ReleaseRecord,
    ) -> Result<bool, Error> {
        let mut transaction = self.begin().await?;
        if !datasets::hold(&mut transaction, record.dataset_id).await? {
            return Err(Error::NotFound("release"));
        }
        let first: Option<i32> = sqlx::query_scalar(RENDER_SERIES_RELEASE.text)
            .bind(record.release_id)
            .bind(draft.release_id())
            .fetch_optional(&mut *transaction)
            .await
            .map_err(RENDER_SERIES_RELEASE.failed())?;
        if first.is_none() {
            return Ok(false);
        }
        staging::end(&mut transaction, draft.release_id())
            .await?
            .ok_or(Error::NotFound("release"))?;
        sqlx::query(COMPLETE_RELEASE.text)
            .bind(record.release_id)
            .bind(json(record)?)
            .bind(small_stored(draft.chunks()))
            .execute(&mut *transaction)
            .await
            .map_err(COMPLETE_RELEASE.failed())?;
        commit(transaction).await?;
        Ok(true)
    }

    async fn logged(&self, series_id: Uuid, through: u32) -> Result<Vec<LoggedRow>, Error> {
        sqlx::query_as(LIST_SERIES_RELEASES.text)
            .bind(series_id)
            .bind(small_stored(through))
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_SERIES_RELEASES.failed())
    }

    pub(super) async fn logged_bytes(
        &self,
        keys: &SeriesKeys,
        place: (u32, Kind, u32),
    ) -> Result<Vec<u8>, Error> {
        let (version, kind, sequence) = place;
        let payload: Option<Vec<u8>> = sqlx::query_scalar(GET_SERIES_CHUNK.text)
            .bind(keys.series_id)
            .bind(small_stored(version))
            .bind(kind as i16)
            .bind(small_stored(sequence))
            .fetch_optional(&self.pool)
            .await
            .map_err(GET_SERIES_CHUNK.failed())?;
        // The dataset can be deleted while its release is read.
        let payload = payload.ok_or(Error::NotFound("release"))?;
        keys.open(part(place), &payload)
    }

    async fn logged_block(
        &self,
        keys: &SeriesKeys,
        place: (u32, Kind, u32),
    ) -> Result<Block, Error> {
        let plain = self.logged_bytes(keys, place).await?;
        aside(move || chunk::decode(&plain)).await
    }
}
