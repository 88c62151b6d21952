//! The integration tests, as one binary: one link.

mod api;
mod config;
mod counting;
mod declarations;
mod documents;
mod engine;
mod form;
mod golden;
mod hierarchies;
mod hospital;
mod ingest;
mod laws;
mod layers;
mod openapi;
mod pilot;
mod postgres;
mod process;
mod statements;
mod store;
mod tables;
mod vault;
mod verify;
mod worker;
