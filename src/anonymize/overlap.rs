//! What releases of the same rows tell together: whoever holds several can combine the classes in which a person stands.
//!
//! Releases of overlapping data under different policies count as successive ones (algorithms.md C.7, last line). A
//! group is what all of them show alike: the same class in each, or left out of the same ones.

use rustc_hash::{FxHashMap, FxHashSet};

use super::release::{Rendered, RenderedColumn};
use super::table::Table;

/// The groups that releases tell apart together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// Groups of rows that are in at least one of the releases.
    pub groups: u64,
    /// Those of fewer subjects than asked.
    pub small_groups: u64,
    /// Subjects of the smallest; 0 if there is none.
    pub least: u64,
}

/// Combines releases that were rendered of the same table; `quasi` are the positions of its quasi-identifiers. Subjects
/// are counted where the table has them, else rows.
///
/// Cost: rows times quasi-identifiers times releases.
#[must_use]
pub fn overlap(table: &Table, quasi: &[usize], releases: &[Rendered], k: u64) -> Overlap {
    let mut group_of = vec![0_u32; table.rows];
    let mut is_released = vec![false; table.rows];
    for release in releases {
        for (row, released) in is_released.iter_mut().enumerate() {
            *released |= !release.suppressed[row];
        }
        let columns = release.columns.iter();
        for column in columns.filter(|column| quasi.contains(&column.position)) {
            refine(&mut group_of, column, &release.suppressed);
        }
    }
    let mut subjects: FxHashMap<u32, u64> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for (row, &group) in group_of.iter().enumerate() {
        if !is_released[row] {
            continue;
        }
        let subject = table.subjects.as_ref().map(|column| column.codes[row]);
        if subject.is_none_or(|subject| seen.insert((group, subject))) {
            *subjects.entry(group).or_insert(0) += 1;
        }
    }
    Overlap {
        groups: subjects.len() as u64,
        small_groups: subjects.values().filter(|&&count| count < k).count() as u64,
        least: subjects.values().copied().min().unwrap_or(0),
    }
}

/// Tells rows of one group apart by their label in a column; rows that are left out have one of their own.
fn refine(group_of: &mut [u32], column: &RenderedColumn, suppressed: &[bool]) {
    // Codes of one label look alike to whoever reads the release.
    let mut numbers: FxHashMap<Option<&str>, u32> = FxHashMap::default();
    let mut label_of = Vec::with_capacity(column.labels.len());
    for label in &column.labels {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        label_of.push(*numbers.entry(label.as_deref()).or_insert(next));
    }
    let mut groups: FxHashMap<(u32, Option<u32>), u32> = FxHashMap::default();
    for (row, group) in group_of.iter_mut().enumerate() {
        let label = (!suppressed[row]).then(|| label_of[column.codes[row] as usize]);
        let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        *group = *groups.entry((*group, label)).or_insert(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(position: usize, labels: &[&str]) -> RenderedColumn {
        let mut names: Vec<Option<Box<str>>> = Vec::new();
        let mut codes = Vec::new();
        for label in labels {
            // Every row has a code of its own: equal labels under different codes must count as one.
            codes.push(u32::try_from(names.len()).unwrap());
            names.push(Some((*label).into()));
        }
        RenderedColumn {
            position,
            name: format!("c{position}"),
            labels: names,
            codes,
        }
    }

    fn release(columns: Vec<RenderedColumn>, suppressed: &[usize], rows: usize) -> Rendered {
        let suppressed: Vec<bool> = (0..rows).map(|row| suppressed.contains(&row)).collect();
        Rendered {
            columns,
            order: Vec::new(),
            released_rows: 0,
            suppressed_rows: 0,
            classes: 0,
            suppressed,
        }
    }

    fn table(rows: usize) -> Table {
        let mut table = Table::with_columns(&[false, false], false);
        table.rows = rows;
        table
    }

    #[test]
    fn two_policies_together_tell_what_neither_tells_alone() {
        // Four people; by age {1,2},{3,4}, by sex {1,3},{2,4}: together everyone alone.
        let by_age = release(
            vec![column(0, &["y", "y", "o", "o"]), column(1, &["*"; 4])],
            &[],
            4,
        );
        let by_sex = release(
            vec![column(0, &["*"; 4]), column(1, &["F", "M", "F", "M"])],
            &[],
            4,
        );
        let alone = overlap(&table(4), &[0, 1], std::slice::from_ref(&by_age), 2);
        assert_eq!((alone.groups, alone.small_groups, alone.least), (2, 0, 2));
        let both = overlap(&table(4), &[0, 1], &[by_age, by_sex], 2);
        assert_eq!((both.groups, both.small_groups, both.least), (4, 4, 1));
    }

    #[test]
    fn whoever_is_left_out_of_one_release_only_is_told_by_that() {
        let all = release(vec![column(0, &["*"; 4])], &[], 4);
        let less = release(vec![column(0, &["*"; 4])], &[3], 4);
        let both = overlap(&table(4), &[0], &[all, less.clone()], 2);
        assert_eq!((both.groups, both.small_groups, both.least), (2, 1, 1));
        // Left out of all: not there.
        let none = overlap(&table(4), &[0], &[less.clone(), less], 2);
        assert_eq!((none.groups, none.least), (1, 3));
    }
}
