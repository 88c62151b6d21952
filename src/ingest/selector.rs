//! Texts that select cells: what a text of a request stands for in a column.

use super::value::{Checked, Reading};
use crate::declaration::AttributeDeclaration;

/// What a text stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// A missing cell.
    Missing,
    /// Nothing: it is not of the column's type.
    Invalid,
    /// Cells of one of these texts.
    Cells(Vec<String>),
}

/// Reads a text as the cells of a column are read: trimmed if that is declared, equal numbers and dates alike.
///
/// Which of the equal texts a cell bears depends on the column, so both forms are given.
#[must_use]
pub fn selector(attribute: &AttributeDeclaration, raw: &str) -> Selector {
    let text = if attribute.trim { raw.trim() } else { raw };
    let is_missing = |text: &str| attribute.missing.iter().any(|missing| missing == text);
    if is_missing(text) {
        return Selector::Missing;
    }
    match Reading::new(attribute).check(text) {
        Checked::Invalid => Selector::Invalid,
        Checked::Canonical => Selector::Cells(vec![text.to_owned()]),
        Checked::Becomes(canonical) => Selector::Cells(vec![text.to_owned(), canonical]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::DatasetDeclaration;
    use serde_json::json;

    #[test]
    fn a_text_selects_what_the_column_would_have_made_of_it() {
        let declaration = DatasetDeclaration::parse(&json!({"name": "t", "attributes": [
            {"name": "age", "role": "quasi_identifying", "type": "integer", "trim": true, "missing": ["", "?"]}]}));
        let attribute = &declaration.unwrap().attributes[0];
        let cells =
            |texts: &[&str]| Selector::Cells(texts.iter().map(|&text| text.into()).collect());
        assert_eq!(selector(attribute, " 34 "), cells(&["34"]));
        assert_eq!(selector(attribute, "034"), cells(&["034", "34"]));
        assert_eq!(selector(attribute, " ? "), Selector::Missing);
        assert_eq!(selector(attribute, "old"), Selector::Invalid);
    }
}
