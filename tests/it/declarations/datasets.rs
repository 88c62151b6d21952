//! Declarations of datasets.

use kindred::anonymize::table::Schema;
use kindred::declaration::{DatasetDeclaration, Role};
use kindred::fault::{Fault, FaultCode};
use serde_json::{Value, json};

use super::{assert_places, dataset};

/// A dataset of these attributes and nothing else of note.
fn declare(attributes: &Value) -> Result<DatasetDeclaration, Vec<Fault>> {
    DatasetDeclaration::parse(&json!({ "name": "d", "attributes": attributes }))
}

#[test]
fn the_example_of_the_contract_is_taken() {
    let declaration = dataset();
    let schema = Schema::compile(&declaration).unwrap();
    assert_eq!(schema.level_counts(), [4, 4, 2]);
    assert_eq!(schema.subject(), Some(0));
    // What is stored reads back as it was.
    let stored = serde_json::to_value(&declaration).unwrap();
    assert_eq!(
        serde_json::from_value::<DatasetDeclaration>(stored.clone()).unwrap(),
        declaration
    );
    // And is itself a legal request with the same meaning.
    assert_eq!(DatasetDeclaration::parse(&stored).unwrap(), declaration);
}

#[test]
fn an_attribute_without_a_role_takes_the_default() {
    let body = json!({ "name": "d", "default_role": "insensitive",
        "attributes": [{ "name": "a", "role": "quasi_identifying" }, { "name": "b" }] });
    let declaration = DatasetDeclaration::parse(&body).unwrap();
    assert_eq!(declaration.attributes[1].role, Role::Insensitive);
    assert_eq!(declaration.attributes[1].missing, [""]);
    assert_places(
        declare(&json!([{ "name": "a", "role": "quasi_identifying" }, { "name": "b" }])),
        &[("/attributes/1/role", FaultCode::MissingField)],
    );
}

#[test]
fn uc_47_one_column_with_two_roles_is_a_conflict() {
    let result = declare(&json!([
        { "name": "age", "role": "quasi_identifying" },
        { "name": "diagnosis", "role": "quasi_identifying" },
        { "name": "diagnosis", "role": "sensitive" },
    ]));
    let faults = result.unwrap_err();
    assert_eq!(faults[0].code, FaultCode::ColumnRoleConflict);
    assert_eq!(faults[0].column.as_deref(), Some("diagnosis"));
    assert_eq!(faults[0].pointer, "/attributes/2");
}

#[test]
fn uc_51_without_a_quasi_identifier_there_is_nothing_to_do_and_one_is_enough() {
    let expected = [("/attributes", FaultCode::NoQuasiIdentifiers)];
    assert_places(declare(&json!([])), &expected);
    assert_places(
        declare(&json!([{ "name": "a", "role": "sensitive" }])),
        &expected,
    );
    assert!(declare(&json!([{ "name": "a", "role": "quasi_identifying" }])).is_ok());
}

#[test]
fn uc_52_a_column_declared_twice_is_refused() {
    let age = json!({ "name": "age", "role": "quasi_identifying" });
    let sex = json!({ "name": "sex", "role": "quasi_identifying" });
    assert_places(
        declare(&json!([age, sex, age])),
        &[("/attributes/2", FaultCode::DuplicateColumn)],
    );
}

#[test]
fn a_subject_is_one_and_identifying() {
    let result = declare(&json!([
        { "name": "a", "role": "quasi_identifying", "subject": true },
        { "name": "b", "role": "identifying", "subject": true },
    ]));
    let faults = result.unwrap_err();
    assert_eq!(faults.len(), 2);
    assert!(faults.iter().all(|f| f.code == FaultCode::SubjectConflict));
    assert_eq!(faults[0].pointer, "/attributes/0/subject");
    assert!(faults[0].detail.contains("`identifying`"));
    assert_eq!(faults[1].column.as_deref(), Some("b"));
}

#[test]
fn fields_must_go_with_the_type_and_the_role() {
    let result = declare(&json!([
        { "name": "a", "role": "quasi_identifying", "type": "text", "format": "%Y" },
        { "name": "b", "role": "sensitive", "type": "integer", "order": ["1", "1"] },
        { "name": "c", "role": "quasi_identifying",
          "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10] } },
        { "name": "d", "role": "identifying", "hierarchy": { "kind": "prefix", "keep": [3] } },
        { "name": "e", "role": "quasi_identifying", "type": "date", "format": "%Y-%m" },
        { "name": "f", "role": "quasi_identifying",
          "hierarchy": { "kind": "dates", "levels": ["year"] } },
    ]));
    assert_places(
        result,
        &[
            ("/attributes/0/format", FaultCode::TypeConflict),
            ("/attributes/1/order", FaultCode::TypeConflict),
            ("/attributes/1/order/1", FaultCode::DuplicateValue),
            ("/attributes/2/hierarchy/kind", FaultCode::TypeConflict),
            ("/attributes/3/hierarchy", FaultCode::AttributeRole),
            ("/attributes/4/format", FaultCode::UnknownValue),
            ("/attributes/5/hierarchy/kind", FaultCode::TypeConflict),
        ],
    );
}

#[test]
fn shape_and_tree_faults_of_a_dataset_come_in_one_answer() {
    let body = json!({
        "name": "", "atributes": [], "default_role": "quasi",
        "attributes": [
            { "name": "zip", "role": "quasi_identifying",
              "hierarchy": { "kind": "table", "text": "1;A;*\n1;B;*" } },
            { "name": "age", "role": "quasi_identifing", "trim": "yes",
              "hierarchy": { "kind": "interval", "widths": [1] } },
            { "name": "", "role": "sensitive", "missing": [1] },
            { "name": "when", "role": "quasi_identifying", "type": "date",
              "hierarchy": { "kind": "dates", "levels": ["week"], "step": 1 } },
            7,
        ],
    });
    let result = DatasetDeclaration::parse(&body);
    let faults = result.clone().unwrap_err();
    assert_places(
        result,
        &[
            ("/atributes", FaultCode::UnknownField),
            ("/name", FaultCode::OutOfRange),
            ("/default_role", FaultCode::UnknownValue),
            (
                "/attributes/0/hierarchy/text",
                FaultCode::HierarchyAmbiguous,
            ),
            ("/attributes/1/role", FaultCode::UnknownValue),
            ("/attributes/1/trim", FaultCode::WrongType),
            ("/attributes/1/hierarchy/kind", FaultCode::UnknownValue),
            ("/attributes/2/name", FaultCode::OutOfRange),
            ("/attributes/2/missing/0", FaultCode::WrongType),
            ("/attributes/3/hierarchy/step", FaultCode::UnknownField),
            ("/attributes/3/hierarchy/levels/0", FaultCode::UnknownValue),
            ("/attributes/4", FaultCode::WrongType),
        ],
    );
    assert!(faults[0].detail.contains("`attributes` is meant"));
    assert!(faults[4].detail.contains("`quasi_identifying` is meant"));
    assert_eq!(faults[4].column.as_deref(), Some("age"));
    assert_eq!(faults[4].sample, ["quasi_identifing"]);
    assert_places(
        DatasetDeclaration::parse(&json!([])),
        &[("", FaultCode::WrongType)],
    );
}

#[test]
fn trim_applies_to_the_order_and_to_the_hierarchy() {
    // UC-78: alike to data and hierarchies.
    let declaration = declare(
        &json!([{ "name": "sex", "role": "quasi_identifying", "trim": true,
        "order": [" F", "M "], "hierarchy": { "kind": "table", "text": " Male; *\n Female; *" } }]),
    )
    .unwrap();
    assert_eq!(
        declaration.attributes[0].order,
        Some(vec!["F".to_owned(), "M".to_owned()])
    );
    let schema = Schema::compile(&declaration).unwrap();
    let hierarchy = schema.attributes()[0].hierarchy.as_ref().unwrap();
    assert_eq!(hierarchy.covers("Male"), Ok(()));
    assert_eq!(hierarchy.levels(), 2);
}

#[test]
fn a_text_that_cannot_be_stored_is_refused() {
    // jsonb has no U+0000; without this the insert would fail.
    let result = declare(&json!([{ "name": "a\u{0}", "role": "quasi_identifying",
        "hierarchy": { "kind": "table", "rows": [["b", "\u{0}"]] } }]));
    assert_places(
        result,
        &[
            ("/attributes/0/name", FaultCode::InvalidValue),
            ("/attributes/0/hierarchy/rows/0/1", FaultCode::InvalidValue),
        ],
    );
}

#[test]
fn numbers_are_stored_in_a_form_that_the_database_keeps() {
    // jsonb writes 1e1 as 10: the digest of a hierarchy must not depend on who wrote it.
    let digest = |width: &str| {
        let body = format!(
            r#"{{ "name": "d", "attributes": [{{ "name": "a", "role": "quasi_identifying", "type": "integer",
                "hierarchy": {{ "kind": "intervals", "origin": 0.0, "widths": [{width}] }} }}] }}"#
        );
        let body: Value = serde_json::from_str(&body).unwrap();
        let declaration = DatasetDeclaration::parse(&body).unwrap();
        let schema = Schema::compile(&declaration).unwrap();
        schema.attributes()[0].hierarchy.as_ref().unwrap().digest()
    };
    assert_eq!(digest("10"), digest("1e1"));
    assert_eq!(digest("10"), digest("10.0"));
    assert_ne!(digest("10"), digest("20"));
}
