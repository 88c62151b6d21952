//! The slow checker's own grouping of the rows.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::privacy::least_distinct;
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::declaration::{DisclosureMode, MissingSensitive, PrivacyModel};

/// The rows as the checker sees them: per attribute and level, which node a code falls under, from the hierarchy's
/// paths; grouping by plain tuples of nodes.
pub(super) struct Naive<'a> {
    rows: usize,
    /// By quasi-identifier.
    attributes: Vec<Coded<'a>>,
    populations: Vec<Population<'a>>,
    subjects: Option<&'a [u32]>,
    sensitive: HashMap<&'a str, &'a [u32]>,
}

/// A population: its dataset, and attributes and subjects like those of the rows.
struct Population<'a> {
    dataset_id: Uuid,
    attributes: Vec<Coded<'a>>,
    subjects: Option<&'a [u32]>,
}

/// One column: a code per row, and by level the node of each code.
struct Coded<'a> {
    codes: &'a [u32],
    nodes: Vec<Vec<u32>>,
}

/// Columns of one attribute, their nodes numbered together.
fn coded<'a>(hierarchy: &Hierarchy, columns: &[&'a Column]) -> Vec<Coded<'a>> {
    // A node is the rest of the path from its level up: labels alone may be shared.
    let paths: Vec<Vec<Vec<Option<String>>>> = columns
        .iter()
        .map(|column| {
            let values = std::iter::once(None).chain(column.dictionary.iter().map(Some));
            values
                .map(|value| hierarchy.path(value).unwrap_or_default())
                .collect()
        })
        .collect();
    let mut coded: Vec<Coded<'a>> = columns
        .iter()
        .map(|column| Coded {
            codes: &column.codes,
            nodes: Vec::new(),
        })
        .collect();
    for level in 0..hierarchy.levels() {
        let mut numbers: HashMap<&[Option<String>], u32> = HashMap::new();
        for (coded, paths) in coded.iter_mut().zip(&paths) {
            let nodes = paths.iter().map(|path| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers
                    .entry(path.get(level..).unwrap_or(&[]))
                    .or_insert(next)
            });
            coded.nodes.push(nodes.collect());
        }
    }
    coded
}

/// The nodes of a row.
fn tuple(attributes: &[Coded<'_>], levels: &[u32], row: usize) -> Vec<u32> {
    let coded = attributes.iter().zip(levels);
    coded
        .map(|(coded, &level)| coded.nodes[level as usize][coded.codes[row] as usize])
        .collect()
}

impl<'a> Naive<'a> {
    pub(super) fn new(table: &'a Table, schema: &'a Schema) -> Self {
        let mut attributes = Vec::new();
        let mut populations: Vec<_> = table
            .populations
            .iter()
            .map(|population| {
                let subjects = population.subjects.as_ref();
                let subjects = subjects.map(|column| column.codes.as_slice());
                Population {
                    dataset_id: population.dataset_id,
                    attributes: Vec::new(),
                    subjects,
                }
            })
            .collect();
        for position in schema.quasi_identifiers() {
            let hierarchy = schema.attributes()[position].hierarchy.as_ref();
            let (Some(hierarchy), Some(own)) = (hierarchy, table.columns[position].as_ref()) else {
                continue;
            };
            let others = table.populations.iter();
            let others = others.filter_map(|population| population.columns[position].as_ref());
            let columns: Vec<&Column> = std::iter::once(own).chain(others).collect();
            let mut coded = coded(hierarchy, &columns).into_iter();
            attributes.extend(coded.next());
            for (population, coded) in populations.iter_mut().zip(coded) {
                population.attributes.push(coded);
            }
        }
        let sensitive = schema.attributes().iter().zip(&table.columns);
        Self {
            rows: table.rows,
            attributes,
            populations,
            subjects: table
                .subjects
                .as_ref()
                .map(|column| column.codes.as_slice()),
            sensitive: sensitive
                .filter_map(|(attribute, column)| {
                    Some((
                        &*attribute.declaration.name,
                        column.as_ref()?.codes.as_slice(),
                    ))
                })
                .collect(),
        }
    }

    /// Rows in classes that fail what every model implies of sizes and distinct values.
    pub(super) fn core_suppressed(&self, levels: &[u32], models: &[PrivacyModel]) -> u64 {
        let mut classes: HashMap<Vec<u32>, Vec<usize>> = HashMap::new();
        for row in 0..self.rows {
            let tuple = tuple(&self.attributes, levels, row);
            classes.entry(tuple).or_default().push(row);
        }
        let members: HashMap<Uuid, HashMap<Vec<u32>, BTreeSet<usize>>> = self
            .populations
            .iter()
            .map(|population| {
                let Population {
                    dataset_id,
                    attributes,
                    subjects,
                } = population;
                let rows = attributes.first().map_or(0, |coded| coded.codes.len());
                let mut classes: HashMap<Vec<u32>, BTreeSet<usize>> = HashMap::new();
                for row in 0..rows {
                    let member = subjects.map_or(row, |subjects| subjects[row] as usize);
                    let tuple = tuple(attributes, levels, row);
                    classes.entry(tuple).or_default().insert(member);
                }
                (*dataset_id, classes)
            })
            .collect();
        let fails = |(tuple, rows): &(&Vec<u32>, &Vec<usize>)| {
            let members = |population: Uuid| {
                let classes = members.get(&population);
                let class = classes.and_then(|classes| classes.get(*tuple));
                class.map_or(0, |members| members.len() as u64)
            };
            let mut models = models.iter();
            !models.all(|model| self.meets_core(rows, model, &members))
        };
        let (failing, kept): (Vec<_>, Vec<_>) = classes.iter().partition(fails);
        let failing: u64 = failing.iter().map(|(_, rows)| rows.len() as u64).sum();
        let kept = kept.iter().map(|(_, rows)| rows.len() as u64).collect();
        failing + self.too_risky(kept, models)
    }

    /// Rows that leave for the mean risk, the smallest classes first. It bounds policies that generalise less where rows
    /// are counted and every other model is absorbing; else it is no part of the core.
    fn too_risky(&self, mut kept: Vec<u64>, models: &[PrivacyModel]) -> u64 {
        let is_absorbing = models.iter().all(|model| {
            matches!(
                model,
                PrivacyModel::KAnonymity { .. }
                    | PrivacyModel::KMap { .. }
                    | PrivacyModel::MaximumRisk { .. }
                    | PrivacyModel::DistinctLDiversity { .. }
                    | PrivacyModel::AverageRisk { .. }
            )
        });
        if !is_absorbing || self.subjects.is_some() {
            return 0;
        }
        let limits = models.iter().filter_map(|model| match model {
            PrivacyModel::AverageRisk { max } => Some(max.to_f64()),
            _ => None,
        });
        let Some(limit) = limits.reduce(f64::min) else {
            return 0;
        };
        kept.sort_unstable_by(|left, right| right.cmp(left));
        let mut left: u64 = kept.iter().sum();
        let mut leaving = 0;
        while kept.len() as f64 > limit * left as f64 + 1e-9 {
            let Some(least) = kept.pop() else { break };
            leaving += least;
            left -= least;
        }
        leaving
    }

    fn meets_core(
        &self,
        rows: &[usize],
        model: &PrivacyModel,
        members: &dyn Fn(Uuid) -> u64,
    ) -> bool {
        let distinct = |codes: &[u32], skip: Option<u32>| {
            let values = rows.iter().map(|&row| codes[row]);
            let values: BTreeSet<u32> = values.filter(|&code| Some(code) != skip).collect();
            values.len() as u64
        };
        let size = || {
            self.subjects
                .map_or(rows.len() as u64, |subjects| distinct(subjects, None))
        };
        let diverse = |attribute: &str, least: u64, missing: MissingSensitive| {
            self.sensitive.get(attribute).is_some_and(|codes| {
                let is_open = missing == MissingSensitive::Exempt && codes.contains(&MISSING);
                is_open || distinct(codes, Some(MISSING)) >= least
            })
        };
        match model {
            PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => size() >= *k,
            PrivacyModel::KMap { k, population } => members(*population) >= *k,
            PrivacyModel::MaximumRisk { max } => size() as f64 * max.to_f64() >= 1.0 - 1e-9,
            PrivacyModel::DistinctLDiversity {
                attribute,
                l,
                missing,
            }
            | PrivacyModel::RecursiveClDiversity {
                attribute,
                l,
                missing,
                ..
            } => diverse(attribute, *l, *missing),
            PrivacyModel::EntropyLDiversity {
                attribute,
                l,
                missing,
            } => diverse(attribute, least_distinct(*l), *missing),
            PrivacyModel::DeltaDisclosure {
                attribute,
                mode: DisclosureMode::Strict,
                ..
            } => self.sensitive.get(&**attribute).is_some_and(|codes| {
                let all: BTreeSet<u32> = codes.iter().copied().collect();
                distinct(codes, None) == all.len() as u64
            }),
            _ => true,
        }
    }
}
