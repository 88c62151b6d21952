//! The committed document is the one that the routes yield, and it says what it should of every operation.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;

fn document() -> Value {
    serde_json::to_value(kindred::http::openapi()).unwrap()
}

/// Every operation with its path and method.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let mut operations = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            if operation.is_object() {
                operations.push((format!("{method} {path}"), operation));
            }
        }
    }
    operations
}

#[test]
fn the_committed_document_is_the_one_generated() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi/openapi.json");
    let generated = kindred::http::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("KINDRED_UPDATE").is_some() {
        std::fs::write(file, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == generated,
        "openapi/openapi.json is out of date: run the test with KINDRED_UPDATE=1"
    );
}

#[test]
fn every_operation_of_the_contract_is_there() {
    let document = document();
    let found: Vec<String> = operations(&document)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    for expected in [
        "post /v1/datasets",
        "get /v1/datasets",
        "get /v1/datasets/{dataset_id}",
        "delete /v1/datasets/{dataset_id}",
        "post /v1/datasets/{dataset_id}/batches",
        "post /v1/datasets/{dataset_id}/measure",
        "post /v1/jobs",
        "get /v1/jobs",
        "get /v1/jobs/{job_id}",
        "delete /v1/jobs/{job_id}",
        "get /v1/jobs/{job_id}/events",
        "get /v1/jobs/{job_id}/front",
        "post /v1/anonymize",
        "post /v1/releases",
        "get /v1/releases/{release_id}",
        "get /v1/releases/{release_id}/data",
        "get /healthz",
        "get /readyz",
        "get /metrics",
    ] {
        assert!(
            found.iter().any(|name| name == expected),
            "{expected} is missing: {found:?}"
        );
    }
}

#[test]
fn every_operation_has_summary_description_tag_and_problems() {
    let document = document();
    for (name, operation) in operations(&document) {
        for field in ["summary", "description", "operationId"] {
            let text = operation[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{name} has no {field}");
        }
        assert_eq!(
            operation["tags"].as_array().map(Vec::len),
            Some(1),
            "{name}"
        );
        let responses = operation["responses"].as_object().unwrap();
        let refers = |response: &Value| response["$ref"] == "#/components/responses/Problem";
        assert!(
            responses.values().any(refers),
            "{name} documents no failure"
        );
        assert!(
            responses.keys().any(|status| status.starts_with('2')),
            "{name}"
        );
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                references.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| walk(value, references));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, references)),
            _ => {}
        }
    }
    let document = document();
    let mut references = Vec::new();
    walk(&document, &mut references);
    assert!(references.len() > 50);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(
            document.pointer(pointer).is_some(),
            "{reference} leads nowhere"
        );
    }
}
