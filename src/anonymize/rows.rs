//! The rows of a table as an engine reads them: columns of codes with their hierarchies encoded over them.

use super::Error;
use super::hierarchy::Generalization;
use super::order;
use super::policy::Policy;
use super::table::{Attribute, Column, Dictionary, Schema, Table};
use crate::declaration::{Levels, Role};

/// One quasi-identifier, ready to be grouped by.
#[derive(Debug, Clone)]
pub struct QuasiIdentifier {
    /// Name.
    pub name: String,
    /// Tables over the column's dictionary.
    pub generalization: Generalization,
    /// By level: node of each level-0 node.
    pub(crate) from_bottom: Vec<Vec<u32>>,
}

impl QuasiIdentifier {
    /// Composes the ways from level 0 to every level.
    #[must_use]
    pub fn new(name: impl Into<String>, generalization: Generalization) -> Self {
        let bottom = generalization.levels[0].leaves.len();
        let mut from_bottom: Vec<Vec<u32>> = vec![(0..).take(bottom).collect()];
        for level in generalization.levels.windows(2) {
            let finer = &from_bottom[from_bottom.len() - 1];
            from_bottom.push(
                finer
                    .iter()
                    .map(|&node| level[0].parent[node as usize])
                    .collect(),
            );
        }
        Self {
            name: name.into(),
            generalization,
            from_bottom,
        }
    }

    /// The highest level.
    #[must_use]
    pub fn height(&self) -> usize {
        self.generalization.levels.len() - 1
    }
}

/// One sensitive attribute of the rows.
#[derive(Debug, Clone)]
pub struct SensitiveColumn<'a> {
    /// Name.
    pub name: &'a str,
    /// Its cells.
    pub column: &'a Column,
    /// The value codes in ascending order, where the values have one: numbers by value, text as declared.
    pub order: Option<Vec<u32>>,
    /// Its hierarchy over the column's dictionary, where one is declared.
    pub generalization: Option<Generalization>,
}

/// The rows as an engine reads them.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    /// Number of rows.
    pub rows: usize,
    /// The quasi-identifiers in declared order, each with the value code of every row.
    pub quasi_identifiers: Vec<(QuasiIdentifier, &'a [u32])>,
    /// Subject of every row, where one is declared.
    pub subjects: Option<&'a [u32]>,
    /// The sensitive attributes in declared order.
    pub sensitive: Vec<SensitiveColumn<'a>>,
    /// Value code of every row of the attribute that is to be predicted, where one is.
    pub target: Option<&'a [u32]>,
}

impl<'a> Rows<'a> {
    /// Reads a table by its schema.
    ///
    /// # Errors
    /// [`Error::Uncovered`] if a stored value has no place in its hierarchy.
    pub fn of(table: &'a Table, schema: &'a Schema) -> Result<Self, Error> {
        let mut quasi_identifiers = Vec::new();
        let mut sensitive = Vec::new();
        for (position, attribute) in schema.attributes().iter().enumerate() {
            let name = &attribute.declaration.name;
            let Some(column) = table.columns.get(position).and_then(Option::as_ref) else {
                continue;
            };
            match attribute.declaration.role {
                Role::QuasiIdentifying => {
                    if let Some(generalization) = encode(attribute, &column.dictionary)? {
                        let quasi_identifier = QuasiIdentifier::new(name.clone(), generalization);
                        quasi_identifiers.push((quasi_identifier, &*column.codes));
                    }
                }
                Role::Sensitive => sensitive.push(SensitiveColumn {
                    name,
                    column,
                    order: order::ascending(&attribute.declaration, &column.dictionary),
                    generalization: encode(attribute, &column.dictionary)?,
                }),
                Role::Identifying | Role::Insensitive => {}
            }
        }
        Ok(Self {
            rows: table.rows,
            quasi_identifiers,
            subjects: table.subjects.as_ref().map(|column| &*column.codes),
            sensitive,
            target: None,
        })
    }

    /// The same with an attribute that is to be predicted; one that is not loaded is none.
    #[must_use]
    pub fn with_target(self, table: &'a Table, schema: &Schema, name: Option<&str>) -> Self {
        let position = name.and_then(|name| schema.position(name));
        let column = position.and_then(|position| table.columns.get(position)?.as_ref());
        Self {
            target: column.map(|column| &*column.codes),
            ..self
        }
    }

    /// Number of distinct subjects; the rows where none is declared.
    #[must_use]
    pub fn subject_count(&self) -> u64 {
        let Some(subjects) = self.subjects else {
            return self.rows as u64;
        };
        let last = subjects.iter().max().map_or(0, |&subject| subject as usize);
        let mut seen = vec![false; last + 1];
        for &subject in subjects {
            seen[subject as usize] = true;
        }
        seen.into_iter().filter(|&seen| seen).count() as u64
    }

    /// Position among the sensitive attributes.
    pub(crate) fn sensitive_slot(&self, name: &str) -> Option<usize> {
        self.sensitive
            .iter()
            .position(|attribute| attribute.name == name)
    }

    /// A policy from levels by name; absent attributes stay at level 0, levels above the top are the top.
    pub(crate) fn policy(&self, levels: &Levels) -> Policy {
        let level = |(attribute, _): &(QuasiIdentifier, _)| {
            let level = levels.get(&attribute.name).copied().unwrap_or(0);
            u32::try_from(level.min(attribute.height())).unwrap_or(0)
        };
        Policy::new(self.quasi_identifiers.iter().map(level).collect::<Vec<_>>())
    }
}

fn encode(attribute: &Attribute, dictionary: &Dictionary) -> Result<Option<Generalization>, Error> {
    let encoded = attribute.hierarchy.as_ref().map(|hierarchy| {
        hierarchy.encode(dictionary).map_err(|_| {
            let values = dictionary.iter();
            let uncovered = values.filter(|value| hierarchy.covers(value).is_err());
            Error::Uncovered {
                column: attribute.declaration.name.clone(),
                values: uncovered.count() as u64,
            }
        })
    });
    encoded.transpose()
}
