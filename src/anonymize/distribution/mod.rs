//! The arithmetic of the privacy models: functions of one class's counts and of a reference's counts.
//!
//! Every function takes slices of counts, one entry per value of the sensitive attribute, the same value at the same
//! place in every slice, and allocates nothing. Counts stay integers as long as possible: a difference of frequencies
//! `c/n - Q/N` is taken as `c*N - Q*n` over `n*N`, whose parts are whole numbers and exact in an `f64` up to 2^53
//! (67 million rows in one class of a table of as many); only the last division rounds.
//!
//! Not here: grouping rows, missing values (the caller leaves them out of the counts of the diversity models and keeps
//! them as one value for distances, user-cases D3), and what a search makes of a verdict.
//!
//! How a verdict behaves when classes merge, which decides what a search may prove (algorithms.md D.2):
//!
//! | model | absorbing | merge-closed |
//! |---|---|---|
//! | k-anonymity, k-map, distinct l | yes | yes |
//! | entropy l, recursive (c,l), t-closeness, beta-likeness, (alpha,k), delta-presence, strict delta-disclosure | no | yes |
//! | delta-disclosure as in ARX | no | no |

mod closeness;
mod diversity;
mod likeness;
mod reference;

pub use closeness::{DistanceTree, equal_distance, hierarchical_distance, ordered_distance};
pub use diversity::{
    distinct, entropy_bits, entropy_l, is_entropy_diverse, is_recursively_diverse, recursive_c,
};
pub use likeness::{
    AbsentValues, is_alpha_bounded, is_beta_like, is_enhanced_beta_like, is_present_within,
    keeps_disclosure_below, largest_disclosure, largest_gain, presence,
};
pub use reference::{Aligned, ClassCounts, Reference, ValueTree};

/// How far a computed figure may lie beyond a limit and still count as equal to it, relative to the limit above 1.
///
/// A figure here is the result of a few thousand roundings of 1.1e-16 at most, so equal numbers differ by less than
/// 1e-12; figures of different counts differ by more, since counts below 10^6 make fractions at least 1e-12 apart.
/// An inclusive limit (`<=`, `>=`) is met at equality, a strict one (`<`) is not, whatever the last bit says: two
/// equally frequent values have entropy l of 2, and 6 is not less than 3 times 2 (user-cases UC-36, UC-37).
pub const TOLERANCE: f64 = 1e-12;

/// Whether `value <= limit`, equality within [`TOLERANCE`] included.
#[must_use]
pub fn at_most(value: f64, limit: f64) -> bool {
    value <= limit + slack(limit)
}

/// Whether `value >= limit`, equality within [`TOLERANCE`] included.
#[must_use]
pub fn at_least(value: f64, limit: f64) -> bool {
    value >= limit - slack(limit)
}

/// Whether `value < limit`, equality within [`TOLERANCE`] excluded.
#[must_use]
pub fn below(value: f64, limit: f64) -> bool {
    value < limit - slack(limit)
}

fn slack(limit: f64) -> f64 {
    TOLERANCE * limit.abs().max(1.0)
}

fn real<C: Into<u64>>(count: C) -> f64 {
    let count: u64 = count.into();
    count as f64
}

/// Sum of the counts; exact up to 2^53.
fn total<C: Copy + Into<u64>>(counts: &[C]) -> f64 {
    let sum: u64 = counts.iter().map(|&count| count.into()).sum();
    sum as f64
}
