//! Bytes to UTF-8 text, chunk by chunk, never silently replacing what cannot be decoded.
//!
//! A malformed sequence becomes U+FFFD so that the records around it can still be checked, and its place in the text is
//! noted: whoever splits the text into records asks for those places and refuses the records that hold one.

use std::collections::VecDeque;
use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

const CHUNK_BYTES: usize = 1 << 16;
/// Room that is kept for a replacement character.
const MARGIN_BYTES: usize = 4;

/// A reader's text as UTF-8, without its byte order mark.
pub(super) struct Text<R> {
    reader: R,
    decoder: Decoder,
    raw: Box<[u8]>,
    raw_from: usize,
    raw_to: usize,
    out: Box<[u8]>,
    out_from: usize,
    out_to: usize,
    /// Bytes of text handed on (consumed) so far.
    offset: u64,
    at_end: bool,
    malformed: VecDeque<u64>,
}

impl<R: Read> Text<R> {
    /// The text of `reader` in an encoding; UTF-8 if none is declared.
    ///
    /// In UTF-16 a byte order mark decides which byte comes first, whatever was declared (RFC 2781, 3.3).
    pub(super) fn new(reader: R, charset: Option<&'static Encoding>) -> Self {
        let encoding = charset.unwrap_or(UTF_8);
        let decoder = if encoding == UTF_16LE || encoding == UTF_16BE {
            encoding.new_decoder()
        } else {
            encoding.new_decoder_with_bom_removal()
        };
        Self {
            reader,
            decoder,
            raw: vec![0; CHUNK_BYTES].into_boxed_slice(),
            raw_from: 0,
            raw_to: 0,
            // The longest expansion is threefold; less room only means one more turn.
            out: vec![0; 2 * CHUNK_BYTES].into_boxed_slice(),
            out_from: 0,
            out_to: 0,
            offset: 0,
            at_end: false,
            malformed: VecDeque::new(),
        }
    }

    /// Text not yet consumed; empty at the end.
    pub(super) fn chunk(&mut self) -> io::Result<&[u8]> {
        while self.out_from == self.out_to && !(self.at_end && self.raw_from == self.raw_to) {
            self.fill()?;
        }
        Ok(&self.out[self.out_from..self.out_to])
    }

    /// Takes note that the first `bytes` of the chunk are dealt with.
    pub(super) fn consume(&mut self, bytes: usize) {
        self.out_from += bytes;
        self.offset += bytes as u64;
    }

    /// Whether the text consumed since the last call holds a malformed sequence.
    pub(super) fn was_malformed(&mut self) -> bool {
        let mut any = false;
        while self.malformed.front().is_some_and(|&at| at < self.offset) {
            self.malformed.pop_front();
            any = true;
        }
        any
    }

    fn fill(&mut self) -> io::Result<()> {
        if self.raw_from == self.raw_to {
            self.raw_from = 0;
            self.raw_to = read(&mut self.reader, &mut self.raw)?;
            self.at_end = self.raw_to == 0;
        }
        let room = self.out.len() - MARGIN_BYTES;
        let (result, read, mut written) = self.decoder.decode_to_utf8_without_replacement(
            &self.raw[self.raw_from..self.raw_to],
            &mut self.out[..room],
            self.at_end,
        );
        self.raw_from += read;
        if let DecoderResult::Malformed(..) = result {
            self.malformed.push_back(self.offset + written as u64);
            written += char::REPLACEMENT_CHARACTER
                .encode_utf8(&mut self.out[written..])
                .len();
        }
        self.out_from = 0;
        self.out_to = written;
        Ok(())
    }
}

fn read(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8], charset: Option<&'static Encoding>) -> (String, bool) {
        let mut text = Text::new(bytes, charset);
        let mut all = Vec::new();
        let mut malformed = false;
        loop {
            let chunk = text.chunk().unwrap();
            if chunk.is_empty() {
                break;
            }
            all.extend_from_slice(chunk);
            let bytes = chunk.len();
            text.consume(bytes);
            malformed |= text.was_malformed();
        }
        (String::from_utf8(all).unwrap(), malformed)
    }

    #[test]
    fn utf_16_is_read_in_the_byte_order_of_its_mark() {
        let little: Vec<u8> = "\u{feff}é,1"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let big: Vec<u8> = "\u{feff}é,1"
            .encode_utf16()
            .flat_map(u16::to_be_bytes)
            .collect();
        assert_eq!(decode(&little, Some(UTF_16LE)), ("é,1".into(), false));
        assert_eq!(decode(&big, Some(UTF_16LE)), ("é,1".into(), false));
    }

    #[test]
    fn a_sequence_cut_off_at_the_end_is_malformed() {
        assert_eq!(decode(b"a\xc3", None), ("a\u{fffd}".into(), true));
    }

    #[test]
    fn text_longer_than_a_chunk_comes_whole() {
        let long = "äöü,".repeat(100_000);
        assert_eq!(decode(long.as_bytes(), None), (long, false));
    }
}
