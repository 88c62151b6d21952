//! Blocks as bytes: what is sealed and stored.
//!
//! Version byte, size of the plain form (u64), then the plain form compressed by LZ4. Plain form: rows (u32), columns
//! (u32); per column the number of values (u32), their lengths (u32 each), their texts one after the other, the width
//! of a code (1, 2 or 4) and one code per row. Integers are little-endian. Decoding is total: whatever the bytes are,
//! it ends in a block or an error, and allocates no more than a constant multiple of the input.

use super::Error;
use crate::anonymize::table::{Block, BlockBuilder, BlockColumn};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 9;
/// LZ4 writes at most 255 bytes per byte read.
const EXPANSION: u64 = 255;
/// Plain bytes beyond which a block is split. Codes and repeated texts compress to about a quarter.
const SPLIT_BYTES: usize = 4 << 20;

/// The bytes of a block.
pub(super) fn encode(block: &Block) -> Vec<u8> {
    let mut plain = Vec::with_capacity(plain_size(block));
    put_u32(&mut plain, block.rows);
    put_u32(&mut plain, block.columns.len());
    for column in &block.columns {
        put_u32(&mut plain, column.values.len());
        for value in &column.values {
            put_u32(&mut plain, value.len());
        }
        for value in &column.values {
            plain.extend_from_slice(value.as_bytes());
        }
        put_codes(&mut plain, column);
    }
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&lz4_flex::block::compress(&plain));
    bytes
}

/// The block of the bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<Block, Error> {
    let (header, compressed) = bytes
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or_else(malformed)?;
    let [version, size @ ..] = *header;
    if version != VERSION {
        return Err(Error::Form(format!("chunk version {version}")));
    }
    let size = u64::from_le_bytes(size);
    if size > (compressed.len() as u64).saturating_mul(EXPANSION) {
        return Err(malformed());
    }
    let size = usize::try_from(size).map_err(|_| malformed())?;
    let plain = lz4_flex::block::decompress(compressed, size).map_err(|_| malformed())?;
    if plain.len() != size {
        return Err(malformed());
    }
    let mut reader = Reader(&plain);
    let rows = reader.length()?;
    let columns = reader.length()?;
    let columns = (0..columns)
        .map(|_| reader.column(rows))
        .collect::<Result<Vec<_>, _>>()?;
    if reader.0.is_empty() {
        Ok(Block { rows, columns })
    } else {
        Err(malformed())
    }
}

/// Cuts a block until each part is small enough for one chunk, or one row.
pub(super) fn split(block: Block) -> Vec<Block> {
    let mut parts = Vec::new();
    let mut open = vec![block];
    while let Some(block) = open.pop() {
        if block.rows < 2 || plain_size(&block) <= SPLIT_BYTES {
            parts.push(block);
        } else {
            let middle = block.rows / 2;
            open.push(part(&block, middle..block.rows));
            open.push(part(&block, 0..middle));
        }
    }
    parts
}

fn part(block: &Block, rows: std::ops::Range<usize>) -> Block {
    let mut builder = BlockBuilder::new(block.columns.len());
    for (index, column) in block.columns.iter().enumerate() {
        for row in rows.clone() {
            builder.push(index, column.cell(row));
        }
    }
    builder.finish()
}

fn plain_size(block: &Block) -> usize {
    let columns = block.columns.iter().map(|column| {
        let texts: usize = column.values.iter().map(|value| value.len() + 4).sum();
        texts + 5 + usize::from(code_width(column)) * block.rows
    });
    8 + columns.sum::<usize>()
}

fn code_width(column: &BlockColumn) -> u8 {
    match column.values.len() {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the width was chosen so that every code fits"
)]
fn put_codes(bytes: &mut Vec<u8>, column: &BlockColumn) {
    let width = code_width(column);
    bytes.push(width);
    for &code in &column.codes {
        match width {
            1 => bytes.push(code as u8),
            2 => bytes.extend_from_slice(&(code as u16).to_le_bytes()),
            _ => bytes.extend_from_slice(&code.to_le_bytes()),
        }
    }
}

/// A block has fewer rows, columns and values than 2^32, and a cell fewer bytes: uploads are limited far below.
fn put_u32(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<usize, Error> {
        let (bytes, rest) = self.0.split_first_chunk::<4>().ok_or_else(malformed)?;
        self.0 = rest;
        usize::try_from(u32::from_le_bytes(*bytes)).map_err(|_| malformed())
    }

    fn column(&mut self, rows: usize) -> Result<BlockColumn, Error> {
        let count = self.length()?;
        let lengths = self.take(count.checked_mul(4).ok_or_else(malformed)?)?;
        let values = lengths
            .chunks_exact(4)
            .map(|length| self.value(Reader(length).length()?))
            .collect::<Result<Vec<_>, _>>()?;
        let width = self.take(1)?[0];
        let codes = self.codes(rows, width)?;
        if codes.iter().any(|&code| code as usize > values.len()) {
            return Err(malformed());
        }
        Ok(BlockColumn { values, codes })
    }

    fn value(&mut self, length: usize) -> Result<Box<str>, Error> {
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| malformed())?;
        Ok(text.into())
    }

    fn codes(&mut self, rows: usize, width: u8) -> Result<Vec<u32>, Error> {
        if !matches!(width, 1 | 2 | 4) {
            return Err(malformed());
        }
        let bytes = self.take(rows.checked_mul(usize::from(width)).ok_or_else(malformed)?)?;
        let codes = bytes.chunks_exact(usize::from(width)).map(|code| {
            let mut wide = [0; 4];
            wide[..code.len()].copy_from_slice(code);
            u32::from_le_bytes(wide)
        });
        Ok(codes.collect())
    }
}

fn malformed() -> Error {
    Error::Form("a chunk is malformed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(columns: &[&[Option<&str>]]) -> Block {
        let mut builder = BlockBuilder::new(columns.len());
        for (index, cells) in columns.iter().enumerate() {
            for cell in *cells {
                builder.push(index, *cell);
            }
        }
        builder.finish()
    }

    #[test]
    fn a_block_comes_back_as_it_was() {
        let block = block(&[
            &[Some("01234"), None, Some("line 1\nline 2")],
            &[None, None, None],
            &[Some(""), Some("é"), Some("")],
        ]);
        assert_eq!(decode(&encode(&block)).unwrap(), block);
        let empty = Block::default();
        assert_eq!(decode(&encode(&empty)).unwrap(), empty);
    }

    /// 255 values fit a byte beside missing, 256 do not; the same at 65,535.
    #[test]
    fn codes_are_as_wide_as_their_values_demand() {
        for values in [254_usize, 255, 256, 257, 65_534, 65_535, 65_536] {
            let mut builder = BlockBuilder::new(1);
            for value in 0..values {
                builder.push(0, Some(&value.to_string()));
            }
            builder.push(0, None);
            let block = builder.finish();
            assert_eq!(decode(&encode(&block)).unwrap(), block, "{values} values");
        }
    }

    #[test]
    fn long_cells_split_a_block_without_changing_a_cell() {
        let long = "x".repeat(1 << 20);
        let mut builder = BlockBuilder::new(2);
        for row in 0..20 {
            builder.push(0, Some(&format!("{row}{long}")));
            builder.push(1, (row % 2 == 0).then_some("even"));
        }
        let block = builder.finish();
        let parts = split(block.clone());
        assert!(parts.len() >= 5 && parts.iter().all(|part| plain_size(part) <= SPLIT_BYTES));
        let cells = parts.iter().flat_map(|part| {
            (0..part.rows).map(|row| (part.columns[0].cell(row), part.columns[1].cell(row)))
        });
        let expected = (0..20).map(|row| (block.columns[0].cell(row), block.columns[1].cell(row)));
        assert!(cells.eq(expected));
    }

    #[test]
    fn a_forged_size_allocates_nothing() {
        let mut bytes = encode(&block(&[&[Some("a")]]));
        bytes[1..9].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(decode(&bytes).is_err());
    }

    #[test]
    fn a_forged_row_count_allocates_nothing() {
        let mut plain = Vec::new();
        put_u32(&mut plain, usize::MAX);
        put_u32(&mut plain, 1);
        put_u32(&mut plain, 0);
        plain.push(1);
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&lz4_flex::block::compress(&plain));
        assert!(decode(&bytes).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_block_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn any_change_ends_in_a_block_or_an_error(position in 0_usize..200, byte in any::<u8>()) {
            let mut bytes = encode(&block(&[
                &[Some("a"), Some("b"), None],
                &[Some("c"), Some("c"), Some("d")],
            ]));
            let position = position % bytes.len();
            bytes[position] = byte;
            if let Ok(block) = decode(&bytes) {
                for column in &block.columns {
                    prop_assert_eq!(column.codes.len(), block.rows);
                    for row in 0..block.rows {
                        let _ = column.cell(row);
                    }
                }
            }
        }

        #[test]
        fn any_plain_form_ends_in_a_block_or_an_error(plain in proptest::collection::vec(0_u8..4, 0..100)) {
            let mut bytes = vec![VERSION];
            bytes.extend_from_slice(&(plain.len() as u64).to_le_bytes());
            bytes.extend_from_slice(&lz4_flex::block::compress(&plain));
            let _ = decode(&bytes);
        }
    }
}
