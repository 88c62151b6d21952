//! Partitions of fronts of classes: the class of every row of each solution, sealed like the rows themselves.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use super::statement::{Statement, small_stored, statement};
use super::{Error, Store, aside};
use crate::anonymize::report::Front;
use crate::vault::{DataKey, FrontPlace, Purpose};

const INSERT_FRONT_PARTITION: Statement = statement!("insert_front_partition");
const LIST_FRONT_PARTITIONS: Statement = statement!("list_front_partitions");

const VERSION: u8 = 1;
/// Rows of one chunk: at most 8 MiB before compression.
const CHUNK_ROWS: usize = 2 << 20;
/// Version, rows, width.
const HEADER_BYTES: usize = 6;

/// One sealed chunk of one solution.
pub(super) struct Chunk {
    solution_id: u32,
    sequence: u32,
    payload: Vec<u8>,
}

/// Stores the chunks of a front that is stored already.
pub(super) async fn insert(
    connection: &mut PgConnection,
    job_id: Uuid,
    chunks: &[Chunk],
) -> Result<(), Error> {
    for chunk in chunks {
        sqlx::query(INSERT_FRONT_PARTITION.text)
            .bind(job_id)
            .bind(small_stored(chunk.solution_id))
            .bind(small_stored(chunk.sequence))
            .bind(&chunk.payload)
            .execute(&mut *connection)
            .await
            .map_err(INSERT_FRONT_PARTITION.failed())?;
    }
    Ok(())
}

impl Store {
    /// Seals the partitions of a front; nothing of a front that has none. Reads the key, so it is called outside of any
    /// transaction.
    pub(super) async fn seal_partitions(
        &self,
        dataset_id: Uuid,
        job_id: Uuid,
        front: &Front,
    ) -> Result<Vec<Chunk>, Error> {
        if front.partitions.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.data_key(dataset_id, Purpose::Quasi).await?;
        let solutions = front.solutions.iter();
        let solutions: Vec<(u32, Arc<[u32]>)> = solutions
            .map(|solution| solution.solution_id)
            .zip(front.partitions.iter().cloned())
            .collect();
        aside(move || {
            let mut chunks = Vec::new();
            for (solution_id, class_of) in solutions {
                for (sequence, part) in (0..).zip(class_of.chunks(CHUNK_ROWS)) {
                    let place = FrontPlace {
                        job_id,
                        solution_id,
                        sequence,
                    };
                    let payload = key.seal_in_front(&place, &encode(part));
                    chunks.push(Chunk {
                        solution_id,
                        sequence,
                        payload: payload.map_err(Error::Sealed)?,
                    });
                }
            }
            Ok(chunks)
        })
        .await
    }

    /// The class of every row of a solution of a front of classes, in the order of the rows then.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the solution has none; [`Error::Sealed`], [`Error::Form`] if it was changed; the
    /// database's.
    pub async fn partition(
        &self,
        dataset_id: Uuid,
        job_id: Uuid,
        solution_id: u32,
    ) -> Result<Vec<u32>, Error> {
        let payloads: Vec<Vec<u8>> = sqlx::query_scalar(LIST_FRONT_PARTITIONS.text)
            .bind(job_id)
            .bind(small_stored(solution_id))
            .fetch_all(&self.pool)
            .await
            .map_err(LIST_FRONT_PARTITIONS.failed())?;
        if payloads.is_empty() {
            return Err(Error::NotFound("solution"));
        }
        let key: DataKey = self.data_key(dataset_id, Purpose::Quasi).await?;
        aside(move || {
            let mut class_of = Vec::new();
            for (sequence, payload) in (0..).zip(&payloads) {
                let place = FrontPlace {
                    job_id,
                    solution_id,
                    sequence,
                };
                let plain = key.open_in_front(&place, payload).map_err(Error::Sealed)?;
                decode(&plain, &mut class_of)?;
            }
            Ok(class_of)
        })
        .await
    }
}

/// Version, number of rows, bytes per row; then the rows' classes, little-endian, compressed by LZ4.
fn encode(class_of: &[u32]) -> Vec<u8> {
    let last = class_of.iter().max().copied().unwrap_or(0);
    let width = (4 - last.leading_zeros() as usize / 8).max(1);
    let mut plain = Vec::with_capacity(class_of.len() * width);
    for class in class_of {
        plain.extend_from_slice(&class.to_le_bytes()[..width]);
    }
    let rows = u32::try_from(class_of.len()).unwrap_or(u32::MAX);
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&rows.to_le_bytes());
    bytes.push(u8::try_from(width).unwrap_or(4));
    bytes.extend_from_slice(&lz4_flex::block::compress(&plain));
    bytes
}

fn decode(bytes: &[u8], into: &mut Vec<u32>) -> Result<(), Error> {
    let wrong = || Error::Form("a stored partition is damaged".to_owned());
    let (header, packed) = bytes
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or_else(wrong)?;
    let [version, a, b, c, d, width] = *header;
    let rows = u32::from_le_bytes([a, b, c, d]) as usize;
    let width = usize::from(width);
    if version != VERSION || !(1..=4).contains(&width) || rows > CHUNK_ROWS {
        return Err(wrong());
    }
    let plain = lz4_flex::block::decompress(packed, rows * width).map_err(|_| wrong())?;
    if plain.len() != rows * width {
        return Err(wrong());
    }
    into.extend(plain.chunks_exact(width).map(|bytes| {
        let mut class = [0; 4];
        class[..width].copy_from_slice(bytes);
        u32::from_le_bytes(class)
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_any_width_come_back() {
        for last in [0, 1, 255, 256, 65_536, 1 << 24, u32::MAX] {
            let class_of = [0, last / 2, last, 0];
            let mut found = Vec::new();
            decode(&encode(&class_of), &mut found).unwrap();
            assert_eq!(found, class_of);
        }
        let mut damaged = encode(&[1, 2, 3]);
        damaged.pop();
        assert!(decode(&damaged, &mut Vec::new()).is_err());
    }
}
