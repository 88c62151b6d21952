//! How many rows of each class bear each value of one attribute, in one arena.

/// Per class, (value, rows) ascending by value.
#[derive(Debug, Clone)]
pub(crate) struct LabelCounts {
    /// `entries[ends[class]..ends[class + 1]]` are a class's.
    ends: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

/// What the values of one class say of the most frequent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Majority {
    /// Rows that bear the most frequent value (of several equally frequent ones, one of them).
    pub(crate) rows: u32,
    /// Whether several are equally frequent.
    pub(crate) is_tied: bool,
}

impl LabelCounts {
    pub(crate) fn new() -> Self {
        Self {
            ends: vec![0],
            entries: Vec::new(),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.ends.len() * 4 + self.entries.len() * 8
    }

    /// Counts from the class and the value of every row.
    pub(crate) fn of_rows(classes: usize, rows: impl Iterator<Item = (u32, u32)>) -> Self {
        let mut pairs: Vec<(u32, u32)> = rows.collect();
        pairs.sort_unstable();
        let mut counts = Self::new();
        let mut rest = &pairs[..];
        for class in 0..classes {
            let length = rest.partition_point(|&(other, _)| other as usize <= class);
            let (own, others) = rest.split_at(length);
            rest = others;
            for rows in own.chunk_by(|left, right| left.1 == right.1) {
                let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
                counts.entries.push((rows[0].1, count));
            }
            counts.close();
        }
        counts
    }

    fn close(&mut self) {
        self.ends
            .push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
    }

    /// (value, rows) of a class, ascending by value.
    pub(crate) fn of_class(&self, class: usize) -> &[(u32, u32)] {
        &self.entries[self.ends[class] as usize..self.ends[class + 1] as usize]
    }

    pub(crate) fn majority(&self, class: usize) -> Majority {
        let mut majority = Majority {
            rows: 0,
            is_tied: false,
        };
        for &(_, rows) in self.of_class(class) {
            if rows > majority.rows {
                majority = Majority {
                    rows,
                    is_tied: false,
                };
            } else if rows == majority.rows {
                majority.is_tied = true;
            }
        }
        majority
    }

    /// Rows of a class times the entropy of their values, in [`units`].
    pub(crate) fn entropy(&self, class: usize) -> i128 {
        let own = self.of_class(class).iter();
        units::entropy(own.map(|&(_, rows)| u64::from(rows)))
    }

    /// Adds the rows of a class to those of each value.
    pub(crate) fn add_to(&self, class: usize, rows_of: &mut Vec<u64>) {
        for &(value, rows) in self.of_class(class) {
            let value = value as usize;
            if rows_of.len() <= value {
                rows_of.resize(value + 1, 0);
            }
            rows_of[value] += u64::from(rows);
        }
    }

    /// Writes the counts of the classes with equal number in `class_of`, added up, to `into`.
    pub(crate) fn merge_into(
        &self,
        class_of: &[u32],
        classes: usize,
        scratch: &mut LabelScratch,
        into: &mut Self,
    ) {
        let LabelScratch { next, entries } = scratch;
        next.clear();
        next.resize(classes + 1, 0_u32);
        for (item, &class) in class_of.iter().enumerate() {
            next[class as usize + 1] += self.ends[item + 1] - self.ends[item];
        }
        for class in 0..classes {
            next[class + 1] += next[class];
        }
        entries.clear();
        entries.resize(self.entries.len(), (0, 0));
        for (item, &class) in class_of.iter().enumerate() {
            let own = self.of_class(item);
            let at = next[class as usize] as usize;
            entries[at..at + own.len()].copy_from_slice(own);
            next[class as usize] += self.ends[item + 1] - self.ends[item];
        }
        into.ends.clear();
        into.ends.push(0);
        into.entries.clear();
        let mut from = 0;
        for &end in &next[..classes] {
            let own = &mut entries[from..end as usize];
            own.sort_unstable();
            for value in own.chunk_by(|left, right| left.0 == right.0) {
                let rows = value.iter().map(|&(_, rows)| rows).sum();
                into.entries.push((value[0].0, rows));
            }
            into.close();
            from = end as usize;
        }
    }
}

/// Entropies as integers, so that sums do not depend on the order of their terms.
pub(crate) mod units {
    /// Units in one bit.
    pub(crate) const IN_ONE_BIT: f64 = (1_u64 << 32) as f64;

    /// Rows times the logarithm of their number, in units.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 2^64 rows times 64 bits times 2^32"
    )]
    pub(crate) fn spread(rows: u64) -> i128 {
        let rows = rows as f64;
        if rows < 2.0 {
            return 0;
        }
        (rows * rows.log2() * IN_ONE_BIT).round() as i128
    }

    /// Rows times the entropy of their values, from the rows of each.
    pub(crate) fn entropy(rows: impl Iterator<Item = u64> + Clone) -> i128 {
        let terms: i128 = rows.clone().map(spread).sum();
        spread(rows.sum()) - terms
    }
}

/// Buffers of a merge, kept between merges.
#[derive(Debug, Default)]
pub(crate) struct LabelScratch {
    next: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_adds_and_the_majority_follows() {
        // Classes 0: a a b, 1: b b, 2: c.
        let rows = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 1), (1, 2)];
        let counts = LabelCounts::of_rows(3, rows.into_iter());
        assert_eq!(counts.of_class(0), [(1, 2), (2, 1)]);
        let majority = |rows, is_tied| Majority { rows, is_tied };
        assert_eq!(counts.majority(0), majority(2, false));
        let mut merged = LabelCounts::new();
        counts.merge_into(&[0, 1, 0], 2, &mut LabelScratch::default(), &mut merged);
        assert_eq!(merged.of_class(0), [(1, 2), (2, 1), (3, 1)]);
        counts.merge_into(&[0, 0, 0], 1, &mut LabelScratch::default(), &mut merged);
        assert_eq!(merged.of_class(0), [(1, 2), (2, 3), (3, 1)]);
        assert_eq!(merged.majority(0), majority(3, false));
        counts.merge_into(&[0, 1, 1], 2, &mut LabelScratch::default(), &mut merged);
        assert_eq!(merged.majority(1), majority(2, false));
        let tied = LabelCounts::of_rows(1, [(0, 4), (0, 5)].into_iter());
        assert_eq!(tied.majority(0), majority(1, true));
    }
}
