//! The integration tests, as one binary: one link.

mod counting;
mod declarations;
mod engine;
mod form;
mod golden;
mod hierarchies;
mod ingest;
mod laws;
mod pilot;
mod statements;
mod store;
mod tables;
mod vault;
mod verify;
