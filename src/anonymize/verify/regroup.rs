//! Classes formed anew from the texts of the output, without any table of the engine.

use std::collections::HashMap;

use super::super::release::Rendered;
use super::super::table::Schema;
use crate::declaration::Role;

/// The class of each released row, by the texts of the quasi-identifiers in the output.
pub(super) struct Classes {
    pub(super) of_row: Vec<u32>,
    /// How many.
    pub(super) count: usize,
    /// The output's columns that decide.
    columns: Vec<usize>,
    /// By the texts of those columns.
    numbers: HashMap<Box<[u8]>, u32>,
}

impl Classes {
    pub(super) fn of(rendered: &Rendered, schema: &Schema, released: &[usize]) -> Self {
        let columns: Vec<usize> = (0..rendered.columns.len())
            .filter(|&column| {
                let position = rendered.columns[column].position;
                schema.attributes()[position].declaration.role == Role::QuasiIdentifying
            })
            .collect();
        let mut numbers: HashMap<Box<[u8]>, u32> = HashMap::new();
        let mut of_row = Vec::with_capacity(released.len());
        let mut key = Vec::new();
        for &row in released {
            let cells = columns.iter().map(|&column| rendered.cell(row, column));
            Self::write_key(cells, &mut key);
            let class = if let Some(&class) = numbers.get(key.as_slice()) {
                class
            } else {
                let class = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                numbers.insert(key.as_slice().into(), class);
                class
            };
            of_row.push(class);
        }
        Self {
            of_row,
            count: numbers.len(),
            columns,
            numbers,
        }
    }

    /// The texts of a row as one key.
    pub(super) fn write_key<'a>(cells: impl Iterator<Item = Option<&'a str>>, key: &mut Vec<u8>) {
        key.clear();
        for cell in cells {
            match cell {
                None => key.push(0),
                Some(text) => {
                    key.push(1);
                    key.extend_from_slice(&text.len().to_le_bytes());
                    key.extend_from_slice(text.as_bytes());
                }
            }
        }
    }

    /// The class of a key, if the output has it.
    pub(super) fn number(&self, key: &[u8]) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// Attribute position of each column that decides, in the order of a key.
    pub(super) fn positions(&self, rendered: &Rendered) -> Vec<usize> {
        let columns = self.columns.iter();
        columns
            .map(|&column| rendered.columns[column].position)
            .collect()
    }

    /// Distinct items per class; one item, or none, per released row.
    pub(super) fn count_distinct(&self, items: impl Iterator<Item = Option<u32>>) -> Vec<u64> {
        let mut pairs: Vec<(u32, u32)> = self
            .of_row
            .iter()
            .zip(items)
            .filter_map(|(&class, item)| item.map(|item| (class, item)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut counts = vec![0; self.count];
        for (class, _) in pairs {
            counts[class as usize] += 1;
        }
        counts
    }
}
