//! Declarations and demands: every fault in one answer, with its place.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod clusters;
mod datasets;
mod demands;
mod models;
mod searches;

use kindred::declaration::DatasetDeclaration;
use kindred::fault::{Fault, FaultCode};
use serde_json::{Value, json};

/// The dataset of the contract's example.
pub(super) fn admissions() -> Value {
    json!({
      "name": "admissions-2026",
      "attributes": [
        { "name": "patient_nbr", "role": "identifying", "subject": true },
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10, 20], "lower": 0, "upper": 120, "top_from": 90 } },
        { "name": "zip", "role": "quasi_identifying", "type": "text", "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] } },
        { "name": "sex", "role": "quasi_identifying", "type": "text" },
        { "name": "diagnosis", "role": "sensitive", "type": "text",
          "hierarchy": { "kind": "table", "delimiter": ";", "text": "J10;respiratory;*\nJ18;respiratory;*\nK29;digestive;*" } },
        { "name": "charge", "role": "insensitive", "type": "decimal" }
      ],
      "default_role": null
    })
}

pub(super) fn dataset() -> DatasetDeclaration {
    DatasetDeclaration::parse(&admissions()).unwrap()
}

/// Pointer and code of each fault.
fn places<T: std::fmt::Debug>(result: Result<T, Vec<Fault>>) -> Vec<(String, FaultCode)> {
    let faults = result.unwrap_err();
    let place = |fault: Fault| (fault.pointer, fault.code);
    faults.into_iter().map(place).collect()
}

pub(super) fn assert_places<T: std::fmt::Debug>(
    result: Result<T, Vec<Fault>>,
    expected: &[(&str, FaultCode)],
) {
    let expected: Vec<(String, FaultCode)> = expected
        .iter()
        .map(|(pointer, code)| ((*pointer).to_owned(), *code))
        .collect();
    assert_eq!(places(result), expected);
}
