//! Kindred: an anonymization service for hospital tables.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod anonymize;
pub mod app;
pub mod arguments;
pub mod attacks;
pub mod config;
pub mod declaration;
pub mod fault;
pub mod form;
pub mod http;
pub mod ingest;
pub mod job;
pub mod pool;
pub mod postgres;
pub mod publish;
pub mod reading;
pub mod reproduce;
pub mod rotation;
pub mod series;
pub mod store;
pub mod telemetry;
pub mod vault;
pub mod worker;
