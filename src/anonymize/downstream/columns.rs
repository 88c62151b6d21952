//! Columns of a table as features: raw, or as a policy releases them.

use super::encode::Feature;
use crate::anonymize::release::Rendered;
use crate::anonymize::table::{Schema, Table};
use crate::declaration::ValueType;

fn is_number(schema: &Schema, position: usize) -> bool {
    let value_type = schema.attributes()[position].declaration.value_type;
    matches!(value_type, ValueType::Integer | ValueType::Decimal)
}

/// A column as it is.
#[must_use]
pub fn raw(table: &Table, schema: &Schema, position: usize) -> Option<Feature> {
    let column = table.columns[position].as_ref()?;
    let labels = column.dictionary.iter().map(|value| Some(value.into()));
    Some(Feature {
        labels: std::iter::once(None).chain(labels).collect(),
        codes: column.codes.clone(),
        is_number: is_number(schema, position),
    })
}

/// A column as it is released, also of rows that are not.
#[must_use]
pub fn recoded(rendered: &Rendered, schema: &Schema, position: usize) -> Option<Feature> {
    let mut columns = rendered.columns.iter();
    let column = columns.find(|column| column.position == position)?;
    Some(Feature {
        labels: column.labels.clone(),
        codes: column.codes.clone(),
        is_number: is_number(schema, position),
    })
}
