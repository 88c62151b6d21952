//! Series: one update decided and checked, and a release put together when it is first read.
//!
//! An update costs what its batch touches, so it checks what it changes and no more. Whoever reads a release first has
//! all its rows put together from the log, shuffled, and checked by the same verifier as any other release; it is stored
//! from then on. A release that fails that check cannot be read.

mod first;
mod invariant;
mod logged;
mod rendered;
mod update;

use crate::declaration::SeriesDemand;
pub use rendered::{added, labels, rendered};
pub use update::{Error, update};

/// Seed of the order of a version's rows.
fn seed(demand: &SeriesDemand, version: u32) -> u64 {
    demand.seed.wrapping_add(u64::from(version))
}
