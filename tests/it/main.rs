//! The integration tests, as one binary: one link.

mod counting;
mod declarations;
mod engine;
mod golden;
mod hierarchies;
mod laws;
mod tables;
