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
}

impl Purpose {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Identity,
        Self::Quasi,
        Self::Auxiliary,
        Self::Release,
        Self::Token,
    ];

    /// Its number in associated data; never changed, or nothing sealed before would open.
    fn number(self) -> u8 {
        match self {
            Self::Identity => 1,
            Self::Quasi => 2,
            Self::Auxiliary => 3,
            Self::Release => 4,
            Self::Token => 5,
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
    pub(super) fn associated_data(&self) -> Vec<u8> {
        let mut bytes = b"kindred chunk 1".to_vec();
        bytes.extend_from_slice(self.dataset_id.as_bytes());
        bytes.extend_from_slice(self.holder_id.as_bytes());
        bytes.push(self.purpose.number());
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
