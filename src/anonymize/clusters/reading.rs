//! Points of a table, by its schema.

use std::collections::BTreeMap;

use rust_decimal::prelude::ToPrimitive;

use super::points::{Center, Domain, Feature, Missing, Points, Scaling, Semantic, Sensitive, code};
use super::scale::{self, Scale};
use super::taxonomy::Taxonomy;
use crate::anonymize::Error;
use crate::anonymize::order;
use crate::anonymize::rows::Rows;
use crate::anonymize::table::{Attribute, MISSING, Schema, Table};
use crate::declaration::Role;

/// How attributes are measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Centres of numbers.
    pub numbers: Center,
    /// Centres of texts with a declared order.
    pub ordinals: Center,
    /// Centres of values with a declared hierarchy.
    pub taxonomies: Center,
    /// Distance of values with a declared hierarchy.
    pub semantic: Semantic,
    /// Missing cells of categories; those of numbers are masked.
    pub missing: Missing,
    /// Declared bounds of numbers by name, to scale with instead of mean and deviation.
    pub bounds: BTreeMap<String, [f64; 2]>,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            numbers: Center::Mean,
            ordinals: Center::Median,
            taxonomies: Center::Medoid,
            semantic: Semantic::WuPalmer,
            missing: Missing::Category,
            bounds: BTreeMap::new(),
        }
    }
}

/// A table as points.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its cells.
    pub points: Points,
    /// The cell of each row.
    pub cell_of_row: Vec<u32>,
    /// By feature: name, and the table's code of each of its codes.
    pub features: Vec<(String, Vec<u32>)>,
    /// Names of the sensitive attributes.
    pub sensitive: Vec<String>,
    /// Attribute position of each feature.
    pub positions: Vec<usize>,
}

/// Reads quasi-identifiers and sensitive attributes.
///
/// Integers and decimals without a declared order are numbers, and dates by their days; what has a declared order is
/// ordinal; else what has a declared hierarchy is a taxonomy, and the rest nominal. Where a subject is declared, rows of
/// different subjects are different cells. Values are numbered in their order (by text where they have
/// none), so the points do not depend on the order of rows. Cost: a sort of every dictionary and one of the rows.
///
/// # Errors
/// [`Error::Uncovered`] if a stored value has no place in its hierarchy.
pub fn read(table: &Table, schema: &Schema, choice: &Choice) -> Result<Reading, Error> {
    let rows = Rows::of(table, schema)?;
    let (mut features, mut named, mut positions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sensitive, mut sensitive_names) = (Vec::new(), Vec::new());
    let mut generalizations = rows
        .quasi_identifiers
        .iter()
        .map(|(attribute, _)| attribute);
    for (position, attribute) in schema.attributes().iter().enumerate() {
        let Some(column) = table.columns.get(position).and_then(Option::as_ref) else {
            continue;
        };
        let declaration = &attribute.declaration;
        match declaration.role {
            Role::QuasiIdentifying => {
                let (scale, order) = scale::of(attribute, &column.dictionary);
                let (table_codes, codes) = numbering(order);
                let taxonomy = generalizations
                    .next()
                    .filter(|_| declaration.hierarchy.is_some())
                    .map(|attribute| Taxonomy::of(&attribute.generalization));
                let (domain, center) = domain(attribute, &scale, &table_codes, taxonomy, choice);
                positions.push(position);
                features.push(Feature {
                    codes: column
                        .codes
                        .iter()
                        .map(|&old| codes[old as usize])
                        .collect(),
                    domain,
                    center,
                    missing: choice.missing,
                });
                named.push((declaration.name.clone(), table_codes));
            }
            Role::Sensitive => {
                let order = order::ascending(declaration, &column.dictionary);
                let order = order.unwrap_or_else(|| order::by_text(&column.dictionary));
                let (_, codes) = numbering(order);
                sensitive.push(Sensitive {
                    codes: column
                        .codes
                        .iter()
                        .map(|&old| codes[old as usize])
                        .collect(),
                    values: code(column.dictionary.len()),
                });
                sensitive_names.push(declaration.name.clone());
            }
            Role::Identifying | Role::Insensitive => {}
        }
    }
    if let Some(subjects) = rows.subjects {
        sensitive.push(Sensitive {
            codes: subjects.to_vec(),
            values: 0,
        });
    }
    let (mut points, cell_of_row) = Points::group(&features, &sensitive);
    points.sensitive.truncate(sensitive_names.len());
    Ok(Reading {
        points,
        cell_of_row,
        features: named,
        sensitive: sensitive_names,
        positions,
    })
}

/// Old codes by new code, and new codes by old code, for values in the given order; missing stays 0.
fn numbering(order: Vec<u32>) -> (Vec<u32>, Vec<u32>) {
    let mut new_of = vec![MISSING; order.len() + 1];
    for (&old, new) in order.iter().zip(1..) {
        new_of[old as usize] = new;
    }
    let old_of = [MISSING].into_iter().chain(order).collect();
    (old_of, new_of)
}

fn domain(
    attribute: &Attribute,
    scale: &Scale,
    table_codes: &[u32],
    taxonomy: Option<Taxonomy>,
    choice: &Choice,
) -> (Domain, Center) {
    match (scale, taxonomy) {
        (Scale::Ordinal, _) => {
            let ranks = (0..code(table_codes.len())).map(|new| new.saturating_sub(1));
            let ranks = ranks.collect();
            (Domain::Ordinal { ranks }, choice.ordinals)
        }
        (Scale::Numbers(values), _) => {
            let bounds = choice.bounds.get(&attribute.declaration.name);
            let scaling = bounds.map_or(Scaling::Standard, |&[low, high]| Scaling::Bounds {
                low,
                high,
            });
            let value = |&old: &u32| values[old as usize].to_f64().unwrap_or(0.0);
            let values = table_codes.iter().map(value).collect();
            (Domain::Numbers { values, scaling }, choice.numbers)
        }
        (Scale::Taxonomy, Some(taxonomy)) => {
            let taxonomy = taxonomy.renumbered(table_codes);
            let semantic = choice.semantic;
            (Domain::Taxonomy { taxonomy, semantic }, choice.taxonomies)
        }
        (Scale::Taxonomy | Scale::Nominal, _) => {
            let values = code(table_codes.len() - 1);
            (Domain::Nominal { values }, Center::Mode)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::table::BlockBuilder;
    use crate::declaration::DatasetDeclaration;
    use serde_json::json;

    fn schema() -> Schema {
        let leaf = |label: &str| json!({ "label": label });
        let body = json!({ "name": "t", "attributes": [
            { "name": "age", "role": "quasi_identifying", "type": "integer" },
            { "name": "size", "role": "quasi_identifying", "order": ["s", "m", "l"] },
            { "name": "city", "role": "quasi_identifying", "hierarchy": { "kind": "taxonomy", "label": "*", "children": [
                { "label": "north", "children": [leaf("Kiel"), leaf("Bonn")] },
                { "label": "south", "children": [leaf("Ulm")] },
            ] } },
            { "name": "sex", "role": "quasi_identifying" },
            { "name": "dx", "role": "sensitive" },
        ] });
        let declaration = DatasetDeclaration::parse(&body);
        Schema::compile(&declaration.expect("a valid declaration")).expect("valid hierarchies")
    }

    fn table(schema: &Schema, rows: &[[&str; 5]]) -> Table {
        let mut table = Table::with_columns(&schema.releasable(), false);
        table.rows = rows.len();
        for (position, column) in table.columns.iter_mut().enumerate() {
            let mut block = BlockBuilder::new(1);
            for row in rows {
                block.push(0, Some(row[position]).filter(|value| !value.is_empty()));
            }
            let block = block.finish();
            column.as_mut().unwrap().append(&block.columns[0]);
        }
        table
    }

    #[test]
    fn attributes_are_read_by_their_declaration() {
        let schema = schema();
        let mut rows = vec![
            ["30", "l", "Ulm", "F", "flu"],
            ["4", "s", "Kiel", "M", "flu"],
            ["30", "l", "Ulm", "F", "flu"],
            ["", "m", "Bonn", "F", "asthma"],
        ];
        let found = read(&table(&schema, &rows), &schema, &Choice::default()).unwrap();
        let points = &found.points;
        assert_eq!(points.weights, [1, 1, 2]);
        let codes: Vec<&[u32]> = points.features.iter().map(|one| &*one.codes).collect();
        assert_eq!(codes, [&[0, 1, 2][..], &[2, 1, 3], &[1, 2, 3], &[1, 2, 1]]);
        assert!(points.features[0].is_number());
        let distance =
            |feature: usize, left, right| points.features[feature].category_distance(left, right);
        assert!((distance(1, 1, 3) - 1.0).abs() < 1e-12 && (distance(1, 1, 2) - 0.5).abs() < 1e-12);
        // Bonn and Kiel lie in the north, Ulm in the south.
        assert!((distance(2, 1, 2) - 0.5).abs() < 1e-12 && (distance(2, 1, 3) - 1.0).abs() < 1e-12);
        assert_eq!(points.sensitive[0].codes, [1, 2, 2]);
        assert_eq!(found.cell_of_row, [2, 1, 2, 0]);
        rows.reverse();
        let again = read(&table(&schema, &rows), &schema, &Choice::default()).unwrap();
        assert_eq!(again.points, found.points);
        let name = |column: usize, code: u32| {
            let old = again.features[column].1[code as usize];
            table(&schema, &rows).columns[column]
                .as_ref()
                .unwrap()
                .dictionary
                .value(old)
                .map(str::to_owned)
        };
        assert_eq!(name(2, 1).as_deref(), Some("Bonn"));
    }
}
