//! What rows that are recoded class by class bear: read back from the output's texts and compared with the rows' own values.
//!
//! Nothing of the engine's grouping or writing is used: texts are parsed here, classes are those of equal texts, and what
//! stands for a class is reckoned anew from its rows.

use std::collections::{BTreeMap, HashMap};

use super::Verifier;
use super::center::Center;
use super::regroup::Classes;
use super::values::Values;
use super::wording::{self, Element};
use crate::anonymize::subtree::Recoded;
use crate::declaration::{Representation, Role};

impl Verifier<'_> {
    /// Checks every quasi-identifier of the output, if the policy is one of classes.
    pub(super) fn check_classes(&mut self, classes: &Classes, released: &[usize]) {
        let Recoded::Classes { representation, .. } = self.recipe.recoding else {
            return;
        };
        let quasi_identifiers = self.schema.quasi_identifiers();
        let columns = self.rendered.columns.iter();
        let columns: Vec<(usize, usize)> = columns
            .enumerate()
            .map(|(column, rendered)| (column, rendered.position))
            .filter(|(_, position)| quasi_identifiers.contains(position))
            .collect();
        let is_whole = columns.len() == quasi_identifiers.len();
        for (column, position) in columns {
            let attribute = &self.schema.attributes()[position];
            let name = attribute.declaration.name.clone();
            let Some(source) = &self.table.columns[position] else {
                continue;
            };
            let Some(values) = Values::of(attribute, &source.dictionary) else {
                let failure = Some("the input has no place in its hierarchy".to_owned());
                self.check(&format!("values of `{name}`"), failure);
                continue;
            };
            let code = |row: usize| source.codes[self.rendered.order[row] as usize];
            let (check, wrong, what) = match representation {
                Representation::Sets => {
                    let cells = released
                        .iter()
                        .map(|&row| (code(row), self.rendered.cell(row, column)));
                    (
                        format!("values of `{name}` lie in what their rows bear"),
                        outside(&values, cells),
                        "cells do not hold the input",
                    )
                }
                Representation::Centroids => {
                    let mut counts: Vec<BTreeMap<u32, u64>> = vec![BTreeMap::new(); classes.count];
                    let mut texts: Vec<Option<&str>> = vec![None; classes.count];
                    for (&class, &row) in classes.of_row.iter().zip(released) {
                        *counts[class as usize].entry(code(row)).or_insert(0) += 1;
                        texts[class as usize] = self.rendered.cell(row, column);
                    }
                    let center = Center {
                        values: &values,
                        is_whole,
                    };
                    let pairs = counts.iter().zip(texts);
                    let wrong = pairs.filter(|(counts, text)| !center.is_of(counts, *text));
                    (
                        format!("centres of `{name}`"),
                        wrong.count(),
                        "classes bear another centre than that of their rows",
                    )
                }
            };
            let failure = (wrong > 0).then(|| format!("{wrong} {what}"));
            self.check(&check, failure);
        }
    }

    /// Whether a column is checked class by class.
    pub(super) fn is_by_class(&self, position: usize) -> bool {
        let role = self.schema.attributes()[position].declaration.role;
        role == Role::QuasiIdentifying && matches!(self.recipe.recoding, Recoded::Classes { .. })
    }
}

/// Number of cells that do not hold their value.
fn outside<'c>(values: &Values<'_>, cells: impl Iterator<Item = (u32, Option<&'c str>)>) -> usize {
    let mut known: HashMap<(u32, Option<&str>), bool> = HashMap::new();
    let wrong = cells.filter(|&(code, cell)| {
        let holds = known.entry((code, cell));
        !*holds.or_insert_with(|| holds_value(values, code, cell))
    });
    wrong.count()
}

fn holds_value(values: &Values<'_>, code: u32, cell: Option<&str>) -> bool {
    let value = values.text(code);
    let Some(cell) = cell else {
        return value.is_none();
    };
    if let Some(path) = values.path(code) {
        return path.iter().any(|label| label.as_deref() == Some(cell));
    }
    let Some(elements) = wording::parse(cell) else {
        return false;
    };
    elements.iter().any(|element| match (element, value) {
        (Element::Missing, value) => value.is_none(),
        (_, None) => false,
        (Element::Value(text), Some(value)) => text == value || values.are_equal(text, value),
        (Element::Interval(low, high), Some(value)) => values.is_between(low, value, high),
    })
}
