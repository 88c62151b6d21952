//! What of a series' index is sealed, and the tokens it is known by.

use std::sync::Arc;

use sqlx::FromRow;
use uuid::Uuid;

use super::Error;
use super::series_codec::{decode_cell, decode_key};
use super::statement::{count, small_count};
use crate::anonymize::series::{
    Cell, Class, ClassId, ClassKey, CohortId, NodeKey, Standing, Subject, Value,
};
use crate::vault::{DataKey, SeriesPart, SeriesPlace};

/// The keys that a series is sealed and known by.
#[derive(Debug, Clone)]
pub(super) struct SeriesKeys {
    pub(super) series_id: Uuid,
    pub(super) sealing: Arc<DataKey>,
    pub(super) tokens: Arc<DataKey>,
}

impl SeriesKeys {
    pub(super) fn seal(&self, part: SeriesPart, plain: &[u8]) -> Result<Vec<u8>, Error> {
        let place = self.place(part);
        self.sealing
            .seal_in_series(&place, plain)
            .map_err(Error::Sealed)
    }

    pub(super) fn open(&self, part: SeriesPart, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        let place = self.place(part);
        self.sealing
            .open_in_series(&place, sealed)
            .map_err(Error::Sealed)
    }

    fn place(&self, part: SeriesPart) -> SeriesPlace {
        SeriesPlace {
            series_id: self.series_id,
            part,
        }
    }

    pub(super) fn tuple(&self, quasi: &[Value]) -> [u8; 16] {
        let cells = quasi.iter().map(Option::as_deref);
        self.tokens.tuple_token(cells)
    }

    pub(super) fn class(&self, key: &ClassKey) -> [u8; 16] {
        let nodes = key.0.iter().map(|node| &*node.0);
        self.tokens.class_token(self.series_id, nodes)
    }

    pub(super) fn node(&self, attribute: usize, node: &NodeKey) -> [u8; 16] {
        self.tokens.node_token(self.series_id, attribute, &node.0)
    }

    pub(super) fn member(&self, subject: &Subject) -> [u8; 16] {
        self.tokens.member_token(self.series_id, subject)
    }
}

#[derive(FromRow)]
pub(super) struct ClassRow {
    class_id: i64,
    pub(super) token: Vec<u8>,
    rows: i64,
    waiting: i64,
    waiting_since: Option<i32>,
    key: Vec<u8>,
}

#[derive(FromRow)]
pub(super) struct CellRow {
    class_id: i64,
    tuple: Vec<u8>,
    standing: i16,
    number: i64,
    payload: Vec<u8>,
}

impl ClassRow {
    pub(super) fn open(self, keys: &SeriesKeys) -> Result<Class, Error> {
        let class_id = count(self.class_id);
        let key = keys.open(SeriesPart::Class { class_id }, &self.key)?;
        Ok(Class {
            id: ClassId(class_id),
            key: decode_key(&key)?,
            rows: count(self.rows),
            waiting: count(self.waiting),
            waiting_since: self.waiting_since.map(small_count),
        })
    }
}

impl CellRow {
    pub(super) fn open(self, keys: &SeriesKeys) -> Result<Cell, Error> {
        let number = count(self.number);
        let (kind, standing) = match self.standing {
            0 => (0, Standing::Published(CohortId(number))),
            1 => (
                1,
                Standing::Waiting {
                    since: u32::try_from(number).unwrap_or(u32::MAX),
                },
            ),
            _ => (2, Standing::Withheld(CohortId(number))),
        };
        let tuple = self.tuple.as_slice().try_into();
        let tuple: [u8; 16] = tuple.map_err(|_| Error::Form("a token is cut".to_owned()))?;
        let part = SeriesPart::Cell {
            tuple,
            standing: kind,
            number,
        };
        let (quasi, rows) = decode_cell(&keys.open(part, &self.payload)?)?;
        Ok(Cell {
            class: ClassId(count(self.class_id)),
            standing,
            quasi,
            rows,
        })
    }
}

/// Kind and number of a standing, as stored.
pub(super) fn stored_standing(standing: Standing) -> (u8, u64) {
    match standing {
        Standing::Published(CohortId(cohort)) => (0, cohort),
        Standing::Waiting { since } => (1, u64::from(since)),
        Standing::Withheld(CohortId(cohort)) => (2, cohort),
    }
}
