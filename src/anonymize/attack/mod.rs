//! Attacks on a release: what someone who knows something about the people in it finds out (algorithms.md B.7, E.3).
//!
//! Everything here is a function of classes: their sizes, their values, and the regions that a release states for them.
//! Attacks on centroids, which need the distances, are in [`crate::anonymize::clusters::record_linkage`].

pub mod inference;
pub mod known;
pub mod linkage;
pub mod simulation;
pub mod undeclared;
