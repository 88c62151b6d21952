//! Keyed tokens that stand in a release in the place of identifiers.
//!
//! Their key is derived from the dataset's token key: one per recipient, column and release, so tokens of two releases,
//! of two recipients or of two columns have nothing in common for whoever lacks the key (algorithms.md C.1).

use uuid::Uuid;
use zeroize::Zeroizing;

use super::{DataKey, token};

/// Derives and holds nothing but what one release needs. `Debug` shows nothing of the key.
pub struct IdentifierKey {
    key: Zeroizing<[u8; 32]>,
}

/// What the tokens of a release are bound to, beside the dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenScope<'a> {
    /// Dataset.
    pub dataset_id: Uuid,
    /// Who gets the release; nobody in particular if absent.
    pub recipient: Option<&'a str>,
    /// The release; absent, the tokens are those of every linked release for the recipient.
    pub release_id: Option<Uuid>,
}

impl DataKey {
    /// The key of a release's tokens; this one must be of [`super::Purpose::Token`].
    ///
    /// HMAC-SHA-256 as a key derivation function (NIST SP 800-108): the label, then what the key is bound to, each after its length.
    #[must_use]
    pub fn identifier_key(&self, scope: &TokenScope<'_>) -> IdentifierKey {
        let mut fields: Vec<&[u8]> = vec![b"identifier key", scope.dataset_id.as_bytes()];
        match scope.recipient {
            Some(recipient) => fields.extend([&b"recipient"[..], recipient.as_bytes()]),
            None => fields.push(b"anybody"),
        }
        match &scope.release_id {
            Some(release_id) => fields.extend([&b"release"[..], release_id.as_bytes()]),
            None => fields.push(b"linked"),
        }
        IdentifierKey {
            key: Zeroizing::new(token::hmac(&self.key.0[..], &fields)),
        }
    }

    /// Keyed token of a row of a series, the same in all of its releases.
    #[must_use]
    pub fn row_token(&self, series_id: Uuid, row: &str) -> String {
        let fields: [&[u8]; 3] = [b"series row", series_id.as_bytes(), row.as_bytes()];
        hex::encode(token::cut(&token::hmac(&self.key.0[..], &fields)))
    }
}

impl IdentifierKey {
    /// The token of an identifier in a column: 32 hexadecimal digits, the same for every spelling that differs only in
    /// Unicode form, letter case or outer white space.
    #[must_use]
    pub fn token(&self, column: &str, value: &str) -> String {
        let of_column = Zeroizing::new(token::hmac(&self.key[..], &[b"column", column.as_bytes()]));
        let canonical = token::canonical(value);
        let code = token::hmac(&of_column[..], &[b"identifier", canonical.as_bytes()]);
        hex::encode(token::cut(&code))
    }
}

impl std::fmt::Debug for IdentifierKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("IdentifierKey")
            .finish_non_exhaustive()
    }
}
