//! What a series keeps, as bytes: cells, class keys, state.
//!
//! Integers are little-endian; a text is its length (u32) and its bytes, a value a flag and, if it is not missing, a
//! text. Decoding is total: whatever the bytes are, it ends in a value or an error.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::Error;
use crate::anonymize::series::{
    ClassKey, Counts, CutSet, NodeKey, NodeState, RowId, SeriesRow, State, Value,
};

const VERSION: u8 = 1;

/// The bytes of a cell: its tuple, then its rows.
pub(super) fn encode_cell(quasi: &[Value], rows: &[SeriesRow]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.values(quasi);
    writer.length(rows.len());
    for row in rows {
        writer.u32(row.id.batch);
        writer.u32(row.id.row);
        writer.flag(row.subject.is_some());
        if let Some(subject) = &row.subject {
            writer.0.extend_from_slice(subject);
        }
        writer.values(&row.carried);
    }
    writer.0
}

/// The tuple and the rows of a cell.
pub(super) fn decode_cell(bytes: &[u8]) -> Result<(Arc<[Value]>, Vec<SeriesRow>), Error> {
    let mut reader = Reader::new(bytes)?;
    let quasi: Arc<[Value]> = reader.values()?.into();
    let rows = reader.list(|reader| {
        let id = RowId {
            batch: reader.u32()?,
            row: reader.u32()?,
        };
        let subject = if reader.flag()? {
            Some(reader.array::<16>()?)
        } else {
            None
        };
        Ok(SeriesRow {
            id,
            subject,
            quasi: Arc::clone(&quasi),
            carried: reader.values()?.into(),
        })
    })?;
    reader.end()?;
    Ok((quasi, rows))
}

/// The bytes of a class's key.
pub(super) fn encode_key(key: &ClassKey) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.nodes(key.0.iter());
    writer.0
}

/// The key of a class.
pub(super) fn decode_key(bytes: &[u8]) -> Result<ClassKey, Error> {
    let mut reader = Reader::new(bytes)?;
    let nodes = reader.list(Reader::node)?;
    reader.end()?;
    Ok(ClassKey(nodes.into()))
}

/// The bytes of some lists of nodes.
pub(super) fn encode_nodes(lists: &[Vec<NodeKey>]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.length(lists.len());
    for nodes in lists {
        writer.nodes(nodes.iter());
    }
    writer.0
}

/// The lists of nodes.
pub(super) fn decode_nodes(bytes: &[u8]) -> Result<Vec<Vec<NodeKey>>, Error> {
    let mut reader = Reader::new(bytes)?;
    let lists = reader.list(|reader| reader.list(Reader::node))?;
    reader.end()?;
    Ok(lists)
}

/// The bytes of a state.
pub(super) fn encode_state(state: &State) -> Vec<u8> {
    let State {
        version,
        cuts,
        nodes,
        next_class,
        next_cohort,
        updates,
        waiting,
        counts,
    } = state;
    let mut writer = Writer::new();
    writer.u32(*version);
    writer.u32(*updates);
    writer.u64(*next_class);
    writer.u64(*next_cohort);
    let Counts {
        received,
        released,
        pending,
        suppressed,
        classes,
    } = *counts;
    for count in [received, released, pending, suppressed, classes] {
        writer.u64(count);
    }
    writer.length(waiting.len());
    for (&since, &rows) in waiting {
        writer.u32(since);
        writer.u64(rows);
    }
    writer.length(cuts.specialised.len());
    for specialised in &cuts.specialised {
        writer.nodes(specialised.iter());
    }
    writer.length(nodes.len());
    for known in nodes {
        writer.length(known.len());
        for (node, of_node) in known {
            let NodeState {
                classes,
                small_classes,
                blocked,
            } = *of_node;
            writer.text(&node.0);
            writer.u64(classes);
            writer.u64(small_classes);
            writer.flag(blocked);
        }
    }
    writer.0
}

/// The state.
pub(super) fn decode_state(bytes: &[u8]) -> Result<State, Error> {
    let mut reader = Reader::new(bytes)?;
    let (version, updates) = (reader.u32()?, reader.u32()?);
    let (next_class, next_cohort) = (reader.u64()?, reader.u64()?);
    let counts = Counts {
        received: reader.u64()?,
        released: reader.u64()?,
        pending: reader.u64()?,
        suppressed: reader.u64()?,
        classes: reader.u64()?,
    };
    let waiting = reader.list(|reader| Ok((reader.u32()?, reader.u64()?)))?;
    let specialised = reader.list(|reader| {
        let nodes = reader.list(Reader::node)?;
        Ok(nodes.into_iter().collect::<BTreeSet<_>>())
    })?;
    let nodes = reader.list(|reader| {
        let known = reader.list(|reader| {
            let node = reader.node()?;
            let of_node = NodeState {
                classes: reader.u64()?,
                small_classes: reader.u64()?,
                blocked: reader.flag()?,
            };
            Ok((node, of_node))
        })?;
        Ok(known.into_iter().collect::<BTreeMap<_, _>>())
    })?;
    reader.end()?;
    Ok(State {
        version,
        cuts: CutSet { specialised },
        nodes,
        next_class,
        next_cohort,
        updates,
        waiting: waiting.into_iter().collect(),
        counts,
    })
}

struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Self {
        Self(vec![VERSION])
    }
    fn u32(&mut self, number: u32) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }
    fn u64(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }
    fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }
    /// No list and no cell comes near 2^32: uploads are limited far below.
    fn length(&mut self, length: usize) {
        self.u32(u32::try_from(length).unwrap_or(u32::MAX));
    }
    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
    fn values(&mut self, values: &[Value]) {
        self.length(values.len());
        for value in values {
            self.flag(value.is_some());
            if let Some(text) = value {
                self.text(text);
            }
        }
    }
    fn nodes<'a>(&mut self, nodes: impl ExactSizeIterator<Item = &'a NodeKey>) {
        self.length(nodes.len());
        for node in nodes {
            self.text(&node.0);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        match bytes.split_first() {
            Some((&VERSION, rest)) => Ok(Self(rest)),
            _ => Err(malformed()),
        }
    }
    fn end(&self) -> Result<(), Error> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(malformed())
        }
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(*taken)
    }
    fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }
    fn flag(&mut self) -> Result<bool, Error> {
        match self.array::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(malformed()),
        }
    }
    fn text(&mut self) -> Result<&'a str, Error> {
        let length = usize::try_from(self.u32()?).map_err(|_| malformed())?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(malformed)?;
        self.0 = rest;
        std::str::from_utf8(taken).map_err(|_| malformed())
    }
    fn node(&mut self) -> Result<NodeKey, Error> {
        self.text().map(|text| NodeKey(text.into()))
    }
    /// Grows as it reads: a forged length allocates nothing.
    fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let length = self.u32()?;
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(read(self)?);
        }
        Ok(items)
    }
    fn values(&mut self) -> Result<Vec<Value>, Error> {
        self.list(|reader| {
            Ok(if reader.flag()? {
                Some(reader.text()?.into())
            } else {
                None
            })
        })
    }
}

fn malformed() -> Error {
    Error::Form("a part of a series is malformed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Value {
        (text != "-").then(|| text.into())
    }

    fn row(batch: u32, number: u32, subject: Option<u8>, carried: &[&str]) -> SeriesRow {
        SeriesRow {
            id: RowId { batch, row: number },
            subject: subject.map(|byte| [byte; 16]),
            quasi: [value("34"), value("-")].into(),
            carried: carried.iter().map(|text| value(text)).collect(),
        }
    }

    #[test]
    fn a_cell_comes_back_as_it_was() {
        let rows = vec![
            row(1, 7, Some(9), &["flu", "-"]),
            row(2, 0, None, &["", "é"]),
        ];
        let bytes = encode_cell(&rows[0].quasi, &rows);
        let (quasi, found) = decode_cell(&bytes).unwrap();
        assert_eq!((quasi, found), (Arc::clone(&rows[0].quasi), rows));
    }

    #[test]
    fn a_state_comes_back_as_it_was() {
        let node = |text: &str| NodeKey(text.into());
        let known = NodeState {
            classes: 3,
            small_classes: 1,
            blocked: true,
        };
        let state = State {
            version: 3,
            cuts: CutSet {
                specialised: vec![[node("[\"*\"]")].into(), BTreeSet::new()],
            },
            nodes: vec![[(node("[\"a\",\"*\"]"), known)].into(), BTreeMap::new()],
            next_class: u64::MAX,
            next_cohort: 5,
            updates: 4,
            waiting: [(0, 2), (3, 1)].into(),
            counts: Counts {
                received: 10,
                released: 7,
                pending: 2,
                suppressed: 1,
                classes: 3,
            },
        };
        assert_eq!(decode_state(&encode_state(&state)).unwrap(), state);
        assert_eq!(
            decode_state(&encode_state(&State::default())).unwrap(),
            State::default()
        );
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_a_value_or_an_error(mut bytes in proptest::collection::vec(any::<u8>(), 1..200)) {
            bytes[0] = VERSION;
            let _ = (decode_cell(&bytes), decode_key(&bytes), decode_state(&bytes));
        }
    }
}
