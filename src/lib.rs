//! Kindred: an anonymization service for hospital tables.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod anonymize;
pub mod declaration;
pub mod fault;
pub mod ingest;
pub mod job;
pub mod reproduce;
pub mod store;
pub mod vault;
