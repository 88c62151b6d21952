//! Lists newest first, page by page, by the place of the last item: rows that come or go meanwhile shift nothing.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::Error;
use crate::job::{Page, PageRequest};

/// Bytes of a cursor: which list, microseconds since 1970, id.
const CURSOR_BYTES: usize = 1 + 8 + 16;
/// The end of the year 9999: beyond is no time that a list gave.
const LAST_MICROSECOND: i64 = 253_402_300_799_999_999;

/// Which list; a cursor of another one is refused.
#[derive(Debug, Clone, Copy)]
pub(super) enum List {
    Datasets = 1,
    Jobs = 2,
    Releases = 3,
    Series = 4,
    PrivacyLosses = 5,
}

/// A page to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    list: List,
    limit: usize,
    /// Time of the last item of the page before.
    pub(super) created_at: Option<DateTime<Utc>>,
    /// Its id.
    pub(super) id: Option<Uuid>,
}

impl Place {
    /// Reads a request.
    pub(super) fn parse(list: List, request: &PageRequest) -> Result<Self, Error> {
        let limit = request.limit.clamp(1, 500) as usize;
        let place = Self {
            list,
            limit,
            created_at: None,
            id: None,
        };
        let Some(cursor) = &request.cursor else {
            return Ok(place);
        };
        let mut bytes = [0; CURSOR_BYTES];
        hex::decode_to_slice(cursor, &mut bytes).map_err(|_| Error::InvalidCursor)?;
        let [tag, rest @ ..] = bytes;
        let mut microseconds = [0; 8];
        microseconds.copy_from_slice(&rest[..8]);
        let mut id = [0; 16];
        id.copy_from_slice(&rest[8..]);
        let microseconds = i64::from_be_bytes(microseconds);
        if tag != list as u8 || !(0..=LAST_MICROSECOND).contains(&microseconds) {
            return Err(Error::InvalidCursor);
        }
        Ok(Self {
            created_at: DateTime::from_timestamp_micros(microseconds),
            id: Some(Uuid::from_bytes(id)),
            ..place
        })
    }

    /// Rows to read: one more than the page, which tells whether another one follows.
    pub(super) fn rows(&self) -> i64 {
        i64::try_from(self.limit + 1).unwrap_or(i64::MAX)
    }

    /// Makes the page of the rows read. `place_of` gives an item's time and id.
    pub(super) fn page<T>(
        &self,
        mut items: Vec<T>,
        place_of: impl Fn(&T) -> (DateTime<Utc>, Uuid),
    ) -> Page<T> {
        let more = items.len() > self.limit;
        items.truncate(self.limit);
        let next_cursor = items.last().filter(|_| more).map(|item| {
            let (created_at, id) = place_of(item);
            let mut bytes = vec![self.list as u8];
            bytes.extend_from_slice(&created_at.timestamp_micros().to_be_bytes());
            bytes.extend_from_slice(id.as_bytes());
            hex::encode(bytes)
        });
        Page { items, next_cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_any_other_text_is_refused() {
        let request = |cursor: Option<String>| PageRequest { limit: 1, cursor };
        let first = Place::parse(List::Jobs, &request(None)).unwrap();
        let at = DateTime::from_timestamp_micros(1_800_000_000_123_456).unwrap();
        let id = Uuid::from_u128(7);
        let page = first.page(vec![(at, id), (at, id)], |item| *item);
        assert_eq!(page.items.len(), 1);
        let cursor = page.next_cursor.unwrap();
        let next = Place::parse(List::Jobs, &request(Some(cursor.clone()))).unwrap();
        assert_eq!((next.created_at, next.id), (Some(at), Some(id)));
        let foreign = format!("02{}{}", "7f".repeat(8), "00".repeat(16));
        let others = ["", "x", "0", &cursor[2..], &foreign, &format!("{cursor}00")];
        for other in others {
            let parsed = Place::parse(List::Jobs, &request(Some(other.to_owned())));
            assert!(matches!(parsed, Err(Error::InvalidCursor)), "{other:?}");
        }
        let parsed = Place::parse(List::Datasets, &request(Some(cursor)));
        assert!(matches!(parsed, Err(Error::InvalidCursor)));
    }
}
