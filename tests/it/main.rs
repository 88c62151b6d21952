//! The integration tests, as one binary: one link.

mod counting;
mod declarations;
mod engine;
mod golden;
mod hierarchies;
mod ingest;
mod laws;
mod pilot;
mod tables;
mod verify;
