//! Exact figures of single policies: the class sizes, diversities, distances and risks that a report states.
//!
//! A search counts up to the numbers asked for only. These figures are uncapped, so they are computed for the policies
//! of a front alone, from lists that are read off the rows once: distinct (cell, subject) pairs, and per sensitive
//! attribute the values of every cell. With a subject column, frequencies count distinct (subject, value) pairs.

mod sensitive;

use super::classes::{ClassTable, Scratch};
use super::report::{Privacy, Risk};
use super::risk::risk;
use super::rows::Rows;
use crate::declaration::PrivacyModel;
use sensitive::Sensitive;

/// What the figures of any policy are computed from.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Distinct (cell, subject) pairs.
    subjects: Option<Vec<(u32, u32)>>,
    sensitive: Vec<Sensitive>,
}

/// The classes of one policy, with exact sizes.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// Rows and size of every class.
    pub(crate) classes: Vec<(u64, u64)>,
}

impl Figures {
    /// Figures of rows, each in its cell; some figures are given for the parameters of `privacy` only.
    pub(crate) fn new(rows: &Rows<'_>, cell_of_row: &[u32], privacy: &[PrivacyModel]) -> Self {
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
