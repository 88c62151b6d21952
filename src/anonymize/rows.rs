//! The rows of a table as an engine reads them: columns of codes with their hierarchies encoded over them.

use super::Error;
use super::hierarchy::{Generalization, Level};
use super::order;
use super::policy::Policy;
use super::table::{Attribute, Column, Dictionary, MISSING, Population, Schema, Table};
use crate::declaration::{Levels, Role, ValueType};
use uuid::Uuid;

/// One quasi-identifier, ready to be grouped by.
#[derive(Debug, Clone)]
pub struct QuasiIdentifier {
    /// Name.
    pub name: String,
    /// Tables over the column's dictionary.
    pub generalization: Generalization,
    /// The same with the values that only a population holds: its nodes are those of `generalization`, by the same
    /// numbers, and then those that no row of the table reaches. Absent without a population.
    united: Option<Generalization>,
    /// Whether its values are declared to be numbers.
    pub(crate) is_numeric: bool,
    /// By level: node of each level-0 node, those of a population included.
    pub(crate) from_bottom: Vec<Vec<u32>>,
}

impl QuasiIdentifier {
    /// Composes the ways from level 0 to every level.
    #[must_use]
    pub fn new(name: impl Into<String>, generalization: Generalization) -> Self {
        Self::with_population(name.into(), generalization, None)
    }

    fn with_population(
        name: String,
        generalization: Generalization,
        united: Option<Generalization>,
    ) -> Self {
        let all = united.as_ref().unwrap_or(&generalization);
        let bottom = all.levels[0].leaves.len();
        let mut from_bottom: Vec<Vec<u32>> = vec![(0..).take(bottom).collect()];
        for level in all.levels.windows(2) {
            let finer = &from_bottom[from_bottom.len() - 1];
            from_bottom.push(
                finer
                    .iter()
                    .map(|&node| level[0].parent[node as usize])
                    .collect(),
            );
        }
        Self {
            name,
            generalization,
            united,
            is_numeric: false,
            from_bottom,
        }
    }

    /// The same attribute under other levels of the same values. No population reaches it.
    pub(crate) fn recoded(
        &self,
        generalization: Generalization,
        from_bottom: Vec<Vec<u32>>,
    ) -> Self {
        Self {
            name: self.name.clone(),
            generalization,
            united: None,
            is_numeric: self.is_numeric,
            from_bottom,
        }
    }

    /// The levels with all nodes, those that only a population reaches included.
    pub(crate) fn all_levels(&self) -> &[Level] {
        &self.united.as_ref().unwrap_or(&self.generalization).levels
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

/// A population as an engine reads it.
#[derive(Debug, Clone)]
pub struct PopulationRows<'a> {
    /// The dataset that it was loaded from.
    pub dataset_id: Uuid,
    /// By quasi-identifier: level-0 node of every row.
    pub(crate) nodes: Vec<Vec<u32>>,
    /// Subject of every row, where one is declared.
    pub(crate) subjects: Option<&'a [u32]>,
    /// Members: distinct subjects where they are declared, else rows.
    pub members: u64,
}

impl PopulationRows<'_> {
    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.nodes.first().map_or(0, Vec::len)
    }
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
    /// The populations that models name.
    pub populations: Vec<PopulationRows<'a>>,
}

impl<'a> Rows<'a> {
    /// Reads a table by its schema.
    ///
    /// # Errors
    /// [`Error::Uncovered`] if a stored value has no place in its hierarchy, [`Error::PopulationUncovered`] if one of a
    /// population has none.
    pub fn of(table: &'a Table, schema: &'a Schema) -> Result<Self, Error> {
        let mut quasi_identifiers = Vec::new();
        let mut sensitive = Vec::new();
        let mut populations: Vec<PopulationRows<'_>> = table
            .populations
            .iter()
            .map(|population| PopulationRows {
                dataset_id: population.dataset_id,
                nodes: Vec::new(),
                subjects: population.subjects.as_ref().map(|column| &*column.codes),
                members: population.members() as u64,
            })
            .collect();
        for (position, attribute) in schema.attributes().iter().enumerate() {
            let name = &attribute.declaration.name;
            let Some(column) = table.columns.get(position).and_then(Option::as_ref) else {
                continue;
            };
            match attribute.declaration.role {
                Role::QuasiIdentifying => {
                    if let Some(generalization) = encode(attribute, &column.dictionary)? {
                        let united = unite(table, position, attribute, &mut populations)?;
                        let mut quasi_identifier =
                            QuasiIdentifier::with_population(name.clone(), generalization, united);
                        quasi_identifier.is_numeric = matches!(
                            attribute.declaration.value_type,
                            ValueType::Integer | ValueType::Decimal
                        );
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
            populations,
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

    /// Position among the populations.
    pub(crate) fn population_slot(&self, dataset_id: Uuid) -> Option<usize> {
        self.populations
            .iter()
            .position(|population| population.dataset_id == dataset_id)
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

/// Encodes an attribute over the values of the table and then those of its populations, whose nodes are appended to
/// `populations`; nothing without a population.
fn unite(
    table: &Table,
    position: usize,
    attribute: &Attribute,
    populations: &mut [PopulationRows<'_>],
) -> Result<Option<Generalization>, Error> {
    if table.populations.is_empty() {
        return Ok(None);
    }
    let nothing = Column::default();
    let column = |population| {
        let population: &Population = population;
        let column = population.columns.get(position);
        column.and_then(Option::as_ref).unwrap_or(&nothing)
    };
    let columns: Vec<&Column> = table.populations.iter().map(column).collect();
    let own = table.columns[position].as_ref();
    // The table's values come first: encoding numbers nodes in the order in which values reach them.
    let mut dictionary = own.map_or_else(Dictionary::default, |own| own.dictionary.clone());
    let codes: Vec<Vec<u32>> = columns
        .iter()
        .map(|column| {
            let values = column.dictionary.iter();
            let codes = values.map(|value| dictionary.insert(value));
            std::iter::once(MISSING).chain(codes).collect()
        })
        .collect();
    let united = encode(attribute, &dictionary).map_err(|error| match error {
        Error::Uncovered { column, values } => Error::PopulationUncovered { column, values },
        other => other,
    })?;
    let Some(united) = united else {
        return Ok(None);
    };
    let node_of = &united.levels[0].node_of;
    for ((population, column), codes) in populations.iter_mut().zip(&columns).zip(&codes) {
        let node = |&code: &u32| node_of[codes[code as usize] as usize];
        population
            .nodes
            .push(column.codes.iter().map(node).collect());
    }
    Ok(Some(united))
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
