//! Attacks on a release: what someone who knows something about the people in it finds out (algorithms.md B.7, E.3).
//!
//! Everything here is a function of classes: their sizes, their values, and the regions that a release states for them.
//! Attacks on centroids, which need the distances, are in [`crate::anonymize::clusters::record_linkage`].

mod assess;
pub mod inference;
pub mod known;
mod labels;
pub mod linkage;
mod matching;
mod outcome;
mod reader;
pub mod report;
pub mod simulation;
mod stated;
mod targets;
#[cfg(test)]
mod tests;
mod truth;
pub mod undeclared;

pub use assess::{Scene, assess};
pub use targets::People;
