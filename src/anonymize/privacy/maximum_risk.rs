//! Maximum risk: one over the size of a class is at most a limit, which is k-anonymity under another name.

use crate::declaration::Fraction;

/// The least size of a class whose risk is not above the limit.
pub(super) fn least_size(max: Fraction) -> u64 {
    max.least_inverse().unwrap_or(u64::MAX)
}
