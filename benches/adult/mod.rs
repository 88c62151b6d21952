//! The input of the benchmarks: `data/adult/adult.csv` (30,162 rows, 9 columns, all quasi-identifying, the distributed
//! hierarchies), repeated.

use kindred::anonymize::table::Schema;
use kindred::declaration::DatasetDeclaration;
use serde_json::json;

/// Columns of the file, in order.
pub(crate) const COLUMNS: [&str; 9] = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
];

/// The file's text with its rows repeated.
pub(crate) fn csv(times: usize) -> String {
    let path = format!("{}/data/adult/adult.csv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the bundled file");
    let (header, rows) = text.split_once("\r\n").expect("a header line");
    format!("{header}\r\n{}", rows.repeat(times))
}

/// The declaration, compiled.
pub(crate) fn schema() -> Schema {
    let attributes: Vec<_> = COLUMNS
        .iter()
        .map(|name| {
            let path = format!(
                "{}/data/adult/adult_hierarchy_{name}.csv",
                env!("CARGO_MANIFEST_DIR")
            );
            let text = std::fs::read_to_string(path).expect("the bundled hierarchy");
            json!({
                "name": name,
                "role": "quasi_identifying",
                "hierarchy": { "kind": "table", "delimiter": ";", "text": text },
            })
        })
        .collect();
    let body = json!({ "name": "adult", "attributes": attributes });
    let declaration = DatasetDeclaration::parse(&body).expect("a valid declaration");
    Schema::compile(&declaration).expect("valid hierarchies")
}
