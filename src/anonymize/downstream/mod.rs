//! What models can still learn from anonymized rows (algorithms.md B.7).
//!
//! Trained on the anonymized form of some rows, tested on the raw form of others. Where the attribute that is predicted
//! is the sensitive one, utility and disclosure are one quantity with two signs: what a model learns of a person by
//! their class, an attacker learns as well.

pub mod classes;
pub mod columns;
pub mod encode;
pub mod evaluate;
pub mod models;
pub mod report;
pub mod score;
pub mod split;
