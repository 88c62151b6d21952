//! Keys of the noise that rows are perturbed by.
//!
//! Whoever can draw the noise of a row again can take it off, so it must be as secret as the row: it comes from a key that
//! the operating system drew, never from a request's seed, which stands in records. It is bound to a job, so that another
//! attempt, another worker and every release of one job draw the same, and two jobs nothing in common.

use uuid::Uuid;
use zeroize::Zeroizing;

use super::{DataKey, token};
use crate::anonymize::perturbation::Stream;

/// Derives and holds nothing but what one job needs. `Debug` shows nothing of the key.
pub struct NoiseKey {
    key: Zeroizing<[u8; 32]>,
}

impl DataKey {
    /// The key of a job's noise; this one must be of [`super::Purpose::Token`].
    ///
    /// HMAC-SHA-256 as a key derivation function (NIST SP 800-108): the label, then what the key is bound to, each after its length.
    #[must_use]
    pub fn noise_key(&self, dataset_id: Uuid, job_id: Uuid) -> NoiseKey {
        let fields: [&[u8]; 3] = [b"noise key", dataset_id.as_bytes(), job_id.as_bytes()];
        NoiseKey {
            key: Zeroizing::new(token::hmac(&self.key.0[..], &fields)),
        }
    }
}

impl NoiseKey {
    /// The key of a stream of random numbers.
    #[must_use]
    pub fn stream(&self, stream: Stream<'_>) -> [u8; 32] {
        let fields: [&[u8]; 2] = match stream {
            Stream::Cells(attribute) => [b"cells", attribute.as_bytes()],
            Stream::Rows => [b"rows", b""],
        };
        token::hmac(&self.key[..], &fields)
    }
}

impl std::fmt::Debug for NoiseKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("NoiseKey").finish_non_exhaustive()
    }
}
