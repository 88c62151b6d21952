//! What a ciphertext is bound to.

use uuid::Uuid;

/// What a data key is for. Each dataset has one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(type_name = "key_purpose", rename_all = "snake_case")]
pub enum Purpose {
    /// Identifying columns, with the raw subject.
    Identity,
    /// Quasi-identifying columns, with the subject's tokens.
    Quasi,
    /// Sensitive and insensitive columns.
    Auxiliary,
    /// Released rows.
    Release,
    /// Keyed tokens; seals nothing.
    Token,
    /// Index and log of series.
    Series,
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Identity,
        Self::Quasi,
        Self::Auxiliary,
        Self::Release,
        Self::Token,
        Self::Series,
    ];

    /// Its number in associated data; never changed, or nothing sealed before would open.
    fn number(self) -> u8 {
        match self {
            Self::Identity => 1,
            Self::Quasi => 2,
            Self::Auxiliary => 3,
            Self::Release => 4,
            Self::Token => 5,
            Self::Series => 6,
        }
    }
}

/// Where a chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Dataset.
    pub dataset_id: Uuid,
    /// Batch or release within it.
    pub holder_id: Uuid,
    /// Partition.
    pub purpose: Purpose,
    /// Position within the partition, from 0.
    pub sequence: u32,
}

impl Place {
    /// A fixed-width form, so that two places never share one.
    #[must_use]
    pub fn associated_data(&self) -> Vec<u8> {
        let mut bytes = b"kindred chunk 1".to_vec();
        bytes.extend_from_slice(self.dataset_id.as_bytes());
        bytes.extend_from_slice(self.holder_id.as_bytes());
        bytes.push(self.purpose.number());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}

/// Where something of a series stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeriesPlace {
    /// Series.
    pub series_id: Uuid,
    /// What within it.
    pub part: SeriesPart,
}

/// What of a series is sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesPart {
    /// What it keeps between updates, as of a version.
    State {
        /// Version of its last release.
        version: u32,
    },
    /// The cut nodes of a class.
    Class {
        /// The class.
        class_id: u64,
    },
    /// The rows of a cell.
    Cell {
        /// Keyed token of its tuple.
        tuple: [u8; 16],
        /// Kind of its standing.
        standing: u8,
        /// Cohort or clock.
        number: u64,
    },
    /// A block of the log.
    Chunk {
        /// Version that it belongs to.
        version: u32,
        /// Kind of the block.
        kind: u8,
        /// Position within the kind, from 0.
        sequence: u32,
    },
}

impl SeriesPlace {
    /// A form of fixed width per part, so that two places never share one.
    pub(super) fn associated_data(&self) -> Vec<u8> {
        let mut bytes = b"kindred series 1".to_vec();
        bytes.extend_from_slice(self.series_id.as_bytes());
        match self.part {
            SeriesPart::State { version } => {
                bytes.push(1);
                bytes.extend_from_slice(&version.to_be_bytes());
            }
            SeriesPart::Class { class_id } => {
                bytes.push(2);
                bytes.extend_from_slice(&class_id.to_be_bytes());
            }
            SeriesPart::Cell {
                tuple,
                standing,
                number,
            } => {
                bytes.push(3);
                bytes.extend_from_slice(&tuple);
                bytes.push(standing);
                bytes.extend_from_slice(&number.to_be_bytes());
            }
            SeriesPart::Chunk {
                version,
                kind,
                sequence,
            } => {
                bytes.push(4);
                bytes.extend_from_slice(&version.to_be_bytes());
                bytes.push(kind);
                bytes.extend_from_slice(&sequence.to_be_bytes());
            }
        }
        bytes
    }
}

/// Where the classes of the rows of a solution stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrontPlace {
    /// Job that found it.
    pub job_id: Uuid,
    /// Solution.
    pub solution_id: u32,
    /// Position of the chunk, from 0.
    pub sequence: u32,
}

impl FrontPlace {
    /// A fixed-width form, so that two places never share one.
    pub(super) fn associated_data(&self) -> Vec<u8> {
        let mut bytes = b"kindred front 1".to_vec();
        bytes.extend_from_slice(self.job_id.as_bytes());
        bytes.extend_from_slice(&self.solution_id.to_be_bytes());
        bytes.extend_from_slice(&self.sequence.to_be_bytes());
        bytes
    }
}

/// The place of a wrapped data key.
pub(super) fn of_key(dataset_id: Uuid, purpose: Purpose) -> Vec<u8> {
    let mut bytes = b"kindred key 1".to_vec();
    bytes.extend_from_slice(dataset_id.as_bytes());
    bytes.push(purpose.number());
    bytes
}
