//! What a class gives away of its rows' sensitive values (algorithms.md B.7).

use crate::anonymize::table::MISSING;

/// Rows by class and value of one sensitive attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// Class, value code, rows; sorted, each pair once.
    entries: Vec<(u32, u32, u64)>,
}

impl Values {
    /// Counts rows given as class, value code (0: unknown) and number. Cost: one sort.
    #[must_use]
    pub fn count(rows: impl IntoIterator<Item = (u32, u32, u64)>) -> Self {
        let mut entries: Vec<(u32, u32, u64)> = rows.into_iter().collect();
        entries.sort_unstable();
        entries.dedup_by(|later, earlier| {
            let same = (later.0, later.1) == (earlier.0, earlier.1);
            if same {
                earlier.2 += later.2;
            }
            same
        });
        entries.retain(|&(_, _, rows)| rows > 0);
        Self { entries }
    }

    fn classes(&self) -> impl Iterator<Item = &[(u32, u32, u64)]> {
        self.entries.chunk_by(|left, right| left.0 == right.0)
    }

    fn rows(&self) -> u64 {
        rows(&self.entries)
    }

    /// By class number up to `classes`: rows by known value.
    #[must_use]
    pub fn by_class(&self, classes: usize) -> Vec<Vec<(u32, u64)>> {
        let mut found = vec![Vec::new(); classes];
        for &(class, value, rows) in &self.entries {
            if value != MISSING {
                found[class as usize].push((value, rows));
            }
        }
        found
    }

    /// Homogeneity: share of rows in classes with one known value or none. A class of one row is such a class.
    #[must_use]
    pub fn homogeneity(&self) -> f64 {
        let known = |class: &[(u32, u32, u64)]| {
            class
                .iter()
                .filter(|&&(_, value, _)| value != MISSING)
                .count()
        };
        let alike = self.classes().filter(|class| known(class) < 2).map(rows);
        alike.sum::<u64>() as f64 / self.rows().max(1) as f64
    }

    /// Skewness: share of rows whose own known value makes up more than `threshold` of their class.
    #[must_use]
    pub fn skewness(&self, threshold: f64) -> f64 {
        let exposed = self.classes().map(|class| {
            let size = rows(class) as f64;
            let frequent = class
                .iter()
                .filter(|&&(_, value, rows)| value != MISSING && rows as f64 / size > threshold);
            frequent.map(|&(_, _, rows)| rows).sum::<u64>()
        });
        exposed.sum::<u64>() as f64 / self.rows().max(1) as f64
    }
}

fn rows(entries: &[(u32, u32, u64)]) -> u64 {
    entries.iter().map(|&(_, _, rows)| rows).sum()
}

/// One code per distinct tuple of several columns, 0 where all are 0: the joint variant of a measure.
#[must_use]
pub fn joint(columns: &[&[u32]]) -> Vec<u32> {
    let rows = columns.first().map_or(0, |column| column.len());
    let tuple = |row: usize| columns.iter().map(move |column| column[row]);
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|&left, &right| tuple(left).cmp(tuple(right)));
    let mut codes = vec![MISSING; rows];
    let mut last: Option<usize> = None;
    let mut next = 0;
    for row in order {
        if tuple(row).all(|code| code == MISSING) {
            continue;
        }
        if last.is_none_or(|last| !tuple(last).eq(tuple(row))) {
            next += 1;
        }
        last = Some(row);
        codes[row] = next;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    // algorithms.md F 36, with linkage.rs.
    #[test]
    fn worked_example_36_homogeneity_of_singletons() {
        let values = Values::count([(0, 1, 1), (1, 2, 1), (2, 1, 1), (3, 3, 1)]);
        assert!((values.homogeneity() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn unknown_values_make_no_class_mixed() {
        let values = Values::count([(0, 1, 3), (0, 0, 1), (1, 1, 1), (1, 2, 1)]);
        assert!((values.homogeneity() - 4.0 / 6.0).abs() < 1e-12);
        // 3 of 4 in the first class; 1 of 2 is not more than a half.
        assert!((values.skewness(0.5) - 3.0 / 6.0).abs() < 1e-12);
        assert!((values.skewness(0.4) - 5.0 / 6.0).abs() < 1e-12);
        assert_eq!(values.by_class(2), [vec![(1, 3)], vec![(1, 1), (2, 1)]]);
    }

    #[test]
    fn joint_codes_tell_tuples_apart() {
        let found = joint(&[&[1, 1, 0, 2, 1], &[1, 2, 0, 0, 2]]);
        assert_eq!(found[2], 0);
        assert_eq!(found[1], found[4]);
        let mut distinct = found.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
    }
}
