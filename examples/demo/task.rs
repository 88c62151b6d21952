//! What the hospital asks for: the declaration of its table and the demands on its release.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Quasi-identifiers of the sample: what somebody who knows the patient may know too.
pub(crate) const QUASI_IDENTIFIERS: [&str; 9] = [
    "race",
    "gender",
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
    "time_in_hospital",
    "payer_code",
    "medical_specialty",
];
/// Column that names the patient.
pub(crate) const SUBJECT: &str = "patient_nbr";
/// Column that nobody may learn about a patient.
pub(crate) const SENSITIVE: &str = "diag_1";
/// Text of a missing value in the sample.
pub(crate) const MISSING: &str = "?";
/// Every released class holds at least this many patients.
pub(crate) const K: u64 = 5;
/// Every released class holds at least this many different diagnoses.
pub(crate) const L: u64 = 2;

/// Text of a column's hierarchy file.
pub(crate) fn hierarchy(data: &Path, column: &str) -> Result<String> {
    let path = data.join(format!("diabetes130_hierarchy_{column}.csv"));
    std::fs::read_to_string(&path).with_context(|| path.display().to_string())
}

/// Body of `POST /v1/datasets`.
pub(crate) fn declaration(data: &Path) -> Result<Value> {
    let table = |column: &str, role: &str| -> Result<Value> {
        Ok(json!({
            "name": column,
            "role": role,
            "missing": [MISSING],
            "hierarchy": { "kind": "table", "delimiter": ";", "text": hierarchy(data, column)? },
        }))
    };
    let mut attributes = vec![
        json!({ "name": "encounter_id", "role": "identifying" }),
        json!({ "name": SUBJECT, "role": "identifying", "subject": true }),
    ];
    for column in QUASI_IDENTIFIERS {
        attributes.push(table(column, "quasi_identifying")?);
    }
    for column in ["num_lab_procedures", "num_medications"] {
        attributes.push(json!({ "name": column, "role": "insensitive", "type": "integer" }));
    }
    attributes.push(table(SENSITIVE, "sensitive")?);
    attributes.push(json!({ "name": "readmitted", "role": "insensitive" }));
    Ok(json!({ "name": "diabetes-130-us-hospitals", "attributes": attributes }))
}

/// Body of `POST /v1/jobs`.
pub(crate) fn job(dataset_id: &str) -> Value {
    json!({
        "dataset_id": dataset_id,
        "privacy": [
            { "model": "k_anonymity", "k": K },
            { "model": "distinct_l_diversity", "attribute": SENSITIVE, "l": L },
        ],
        "suppression_limit": 0.10,
        "recoding": "full_domain",
        "search": { "method": "auto", "seed": 7 },
        "objectives": ["generalization_depth", "suppression"],
    })
}

/// An upload with two wrong lines: an age group that no hierarchy line knows, and a row with a field too many.
pub(crate) fn broken_upload(sample: &str) -> String {
    let mut lines: Vec<String> = sample.lines().take(5).map(str::to_owned).collect();
    if let Some(line) = lines.get_mut(2) {
        *line = replace_field(line, 4, "[45-55)");
    }
    if let Some(line) = lines.get_mut(4) {
        line.push_str(",oops");
    }
    lines.join("\n") + "\n"
}

fn replace_field(line: &str, position: usize, with: &str) -> String {
    let mut fields: Vec<&str> = line.split(',').collect();
    if let Some(field) = fields.get_mut(position) {
        *field = with;
    }
    fields.join(",")
}
