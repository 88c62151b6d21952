//! Readers of a dataset's partitions.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::vault::Purpose;

/// A partition of a dataset's stored rows.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Partition {
    /// Sensitive and insensitive columns.
    Auxiliary,
    /// Quasi-identifying columns, with the subjects' tokens.
    Quasi,
    /// Identifying columns.
    Identity,
}

impl Partition {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Auxiliary, Self::Quasi, Self::Identity];

    /// What its data key is for.
    #[must_use]
    pub fn purpose(self) -> Purpose {
        match self {
            Self::Auxiliary => Purpose::Auxiliary,
            Self::Quasi => Purpose::Quasi,
            Self::Identity => Purpose::Identity,
        }
    }

    /// The partition of a purpose.
    #[must_use]
    pub fn of(purpose: Purpose) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.purpose() == purpose)
    }

    /// The word of the HTTP contract.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auxiliary => "auxiliary",
            Self::Quasi => "quasi",
            Self::Identity => "identity",
        }
    }
}

/// A holder of a key of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// Its id.
    pub reader_id: Uuid,
    /// Dataset.
    pub dataset_id: Uuid,
    /// As named.
    pub name: String,
    /// X25519 public key, 64 hexadecimal digits.
    pub public_key: String,
    /// By partition, its data key wrapped for the reader.
    pub keys: BTreeMap<Partition, Vec<u8>>,
    /// When granted.
    pub created_at: DateTime<Utc>,
}
