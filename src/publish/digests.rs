//! Digests that a record names its configuration and hierarchies by.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::anonymize::table::Schema;
use crate::job::ReleaseConfiguration;

/// Version of each quasi-identifier's hierarchy, by name.
pub(crate) fn hierarchy_digests(schema: &Schema) -> BTreeMap<String, String> {
    let attributes = schema.attributes();
    let quasi = schema.quasi_identifiers().into_iter();
    let digests = quasi.filter_map(|position| {
        let attribute = &attributes[position];
        let digest = attribute.hierarchy.as_ref()?.digest();
        Some((attribute.declaration.name.clone(), hex::encode(digest)))
    });
    digests.collect()
}

/// SHA-256 over the configuration as JSON without spaces, keys sorted at every depth.
pub(crate) fn configuration_digest(configuration: &ReleaseConfiguration) -> String {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let ordered: BTreeMap<String, Value> = map
                    .into_iter()
                    .map(|(key, value)| (key, sorted(value)))
                    .collect();
                Value::Object(ordered.into_iter().collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
            plain => plain,
        }
    }
    // Plain data with text keys: the conversion has nothing to fail on.
    let value = serde_json::to_value(configuration).unwrap_or_default();
    hex::encode(Sha256::digest(sorted(value).to_string()))
}
