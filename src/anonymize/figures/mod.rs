//! Exact figures of single policies: the class sizes, diversities, distances and risks that a report states.
//!
//! A search counts up to the numbers asked for only. These figures are uncapped, so they are computed for the policies
//! of a front alone, from lists that are read off the rows once: distinct (cell, subject) pairs, and per sensitive
//! attribute the values of every cell. With a subject column, frequencies count distinct (subject, value) pairs.

mod sensitive;

use super::classes::{ClassTable, Scratch};
use super::population::LinkedClass;
use super::report::{Privacy, Risk};
use super::risk::{risk, with_population};
use super::rows::Rows;
use crate::declaration::{PopulationDemand, PrivacyModel};
use sensitive::Sensitive;
use uuid::Uuid;

/// What the figures of any policy are computed from.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Distinct (cell, subject) pairs.
    subjects: Option<Vec<(u32, u32)>>,
    sensitive: Vec<Sensitive>,
    /// The population that risks are counted on.
    population: Option<Known>,
}

/// A population that risks are counted on.
#[derive(Debug)]
struct Known {
    slot: usize,
    dataset_id: Uuid,
    members: u64,
}

/// The classes of one policy, with exact sizes.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// Rows and size of every class.
    pub(crate) classes: Vec<(u64, u64)>,
}

impl Figures {
    /// Figures of rows, each in its cell; some figures are given for the parameters of `privacy` only.
    ///
    /// Risks are counted on the population asked for, else on the first that a model names.
    pub(crate) fn new(
        rows: &Rows<'_>,
        cell_of_row: &[u32],
        privacy: &[PrivacyModel],
        risk: Option<PopulationDemand>,
    ) -> Self {
        let asked = risk.and_then(|known| known.population);
        let named = asked.or_else(|| privacy.iter().find_map(PrivacyModel::population));
        let slot = named.and_then(|named| rows.population_slot(named));
        let population = slot.map(|slot| Known {
            slot,
            dataset_id: rows.populations[slot].dataset_id,
            members: rows.populations[slot].members,
        });
        let subjects = rows.subjects.map(|subjects| {
            let mut pairs: Vec<_> = cell_of_row
                .iter()
                .copied()
                .zip(subjects.iter().copied())
                .collect();
            pairs.sort_unstable();
            pairs.dedup();
            pairs
        });
        let cells = cell_of_row
            .iter()
            .max()
            .map_or(0, |&last| last as usize + 1);
        let sensitive = rows
            .sensitive
            .iter()
            .map(|column| Sensitive::new(column, rows, cells, cell_of_row, privacy));
        Self {
            subjects,
            sensitive: sensitive.collect(),
            population,
        }
    }

    /// Exact sizes of the classes that were grouped from the cells into `table` with `scratch`.
    pub(crate) fn sizes(&self, table: &ClassTable, scratch: &Scratch) -> Sizes {
        let rows = table.rows.iter().map(|&rows| u64::from(rows));
        let Some(pairs) = &self.subjects else {
            return Sizes {
                classes: rows.map(|rows| (rows, rows)).collect(),
            };
        };
        let class_of = scratch.class_of();
        let mut pairs: Vec<_> = pairs
            .iter()
            .map(|&(cell, subject)| (class_of[cell as usize], subject))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut sizes = vec![0; table.len()];
        for (class, _) in pairs {
            sizes[class as usize] += 1;
        }
        Sizes {
            classes: rows.zip(sizes).collect(),
        }
    }

    /// What attackers who know a population achieve on the released classes, added to their risk.
    pub(crate) fn with_population(
        &self,
        risk: Risk,
        table: &ClassTable,
        sizes: &Sizes,
        released: &[bool],
    ) -> Risk {
        let Some(known) = &self.population else {
            return risk;
        };
        let own = sizes.classes.iter().zip(released).enumerate();
        let own = own.map(|(class, (&(_, size), &released))| LinkedClass {
            sample: if released { size } else { 0 },
            population: table.view(class).members(known.slot),
        });
        let absent = table
            .absent_members(known.slot)
            .map(|population| LinkedClass {
                sample: 0,
                population,
            });
        with_population(risk, known.dataset_id, known.members, own.chain(absent))
    }

    /// Privacy and risk of the released classes.
    pub(crate) fn report(
        &self,
        sizes: &Sizes,
        released: &[bool],
        scratch: &Scratch,
    ) -> (Privacy, Risk) {
        let kept = sizes.classes.iter().zip(released);
        let kept = kept
            .filter(|&(_, &released)| released)
            .map(|(&class, _)| class);
        let sensitive = self.sensitive.iter().map(|attribute| {
            (
                attribute.name.clone(),
                attribute.report(scratch.class_of(), &sizes.classes, released),
            )
        });
        let privacy = Privacy {
            k: kept.clone().map(|(_, size)| size).min().unwrap_or(0),
            sensitive: sensitive.collect(),
        };
        (privacy, risk(kept))
    }
}
