//! Tests of the series: worked examples, an attacker, a rebuild from the definitions, broken rules.

mod attacker;
mod examples;
mod laws;
mod rebuild;
mod story;
mod subjects;
