//! The classes that a reader of a release tells apart: rows whose labels are equal.

use rustc_hash::FxHashMap;

use super::labels::Labels;
use crate::anonymize::clusters::extent::Region;
use crate::anonymize::table::{Column, Table};

/// Classes as a reader of the labels tells them apart.
pub(super) struct Classes {
    pub(super) of_row: Vec<u32>,
    labels: Vec<Vec<u32>>,
    pub(super) number: FxHashMap<Vec<u32>, u32>,
    pub(super) rows: Vec<u64>,
}

impl Classes {
    pub(super) fn group(released: &Table, quasi: &[usize]) -> Self {
        let columns: Vec<&Column> = quasi
            .iter()
            .filter_map(|&position| released.columns[position].as_ref())
            .collect();
        let mut classes = Self {
            of_row: Vec::with_capacity(released.rows),
            labels: Vec::new(),
            number: FxHashMap::default(),
            rows: Vec::new(),
        };
        for row in 0..released.rows {
            let labels: Vec<u32> = columns.iter().map(|column| column.codes[row]).collect();
            let next = u32::try_from(classes.rows.len()).unwrap_or(u32::MAX);
            let class = if let Some(&class) = classes.number.get(&labels) {
                class
            } else {
                classes.labels.push(labels.clone());
                classes.rows.push(0);
                classes.number.insert(labels, next);
                next
            };
            classes.rows[class as usize] += 1;
            classes.of_row.push(class);
        }
        classes
    }

    /// What each class says of each attribute; `None` if that cannot be told of some.
    pub(super) fn regions(&self, labels: &[Labels]) -> Option<Vec<Vec<Region>>> {
        let class = |own: &Vec<u32>| {
            let both = own.iter().zip(labels);
            both.map(|(&label, labels)| labels.region(label).cloned())
                .collect()
        };
        self.labels.iter().map(class).collect()
    }
}
