//! Partitions of cells into classes.

use super::points::{Points, code};

/// A cell and how many of its rows.
pub type Member = (u32, u32);

/// What a class must satisfy besides its size; merging classes that satisfy it must give one that does.
pub type Guard<'g> = dyn Fn(&[Member]) -> bool + Sync + 'g;

/// Rows of one cell in one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// The cell.
    pub cell: u32,
    /// The class.
    pub class: u32,
    /// Rows, at least 1.
    pub rows: u32,
}

/// Every row of every cell in one class. Classes are numbered from 0 in order of their first cell; none is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Partition {
    parts: Vec<Part>,
    classes: usize,
}

/// The members of every class, classes one after another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Members {
    offsets: Vec<usize>,
    entries: Vec<Member>,
}

impl Partition {
    /// Sorts parts, joins those of one cell in one class, and renumbers the classes.
    #[must_use]
    pub fn new(parts: Vec<Part>) -> Self {
        Self::renumbered(parts).0
    }

    /// The same, with the number that each class bore before.
    #[must_use]
    pub fn renumbered(mut parts: Vec<Part>) -> (Self, Vec<u32>) {
        parts.retain(|part| part.rows > 0);
        parts.sort_unstable();
        parts.dedup_by(|later, earlier| {
            let same = later.cell == earlier.cell && later.class == earlier.class;
            if same {
                earlier.rows += later.rows;
            }
            same
        });
        let last = parts.iter().map(|part| part.class as usize).max();
        let mut number = vec![u32::MAX; last.map_or(0, |last| last + 1)];
        let mut before = Vec::new();
        for part in &mut parts {
            let class = &mut number[part.class as usize];
            if *class == u32::MAX {
                *class = code(before.len());
                before.push(part.class);
            }
            part.class = *class;
        }
        parts.sort_unstable();
        let classes = before.len();
        (Self { parts, classes }, before)
    }

    /// Whole cells by class.
    #[must_use]
    pub fn of_cells(points: &Points, class_of: &[u32]) -> Self {
        let cells = (0..).zip(class_of).zip(&points.weights);
        let parts = cells.map(|((cell, &class), &rows)| Part { cell, class, rows });
        Self::new(parts.collect())
    }

    /// By the members of each class.
    #[must_use]
    pub fn of_members<'m>(classes: impl IntoIterator<Item = &'m [Member]>) -> Self {
        let classes = classes.into_iter().zip(0..);
        let parts = classes.flat_map(|(members, class)| {
            let part = move |&(cell, rows): &Member| Part { cell, class, rows };
            members.iter().map(part)
        });
        Self::new(parts.collect())
    }

    /// Number of classes.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// By cell, then class.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The members of every class, by cell. Cost: linear.
    #[must_use]
    pub fn members(&self) -> Members {
        let mut offsets = vec![0; self.classes + 1];
        for part in &self.parts {
            offsets[part.class as usize + 1] += 1;
        }
        for class in 0..self.classes {
            offsets[class + 1] += offsets[class];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0); self.parts.len()];
        for part in &self.parts {
            let place = &mut next[part.class as usize];
            entries[*place] = (part.cell, part.rows);
            *place += 1;
        }
        Members { offsets, entries }
    }

    /// The class of every row. The rows of a cell that is split are dealt out in the order of a hash of seed and row
    /// number; they agree in all quasi-identifiers and sensitive values, so nothing measured depends on it.
    ///
    /// # Panics
    /// The rows of a cell are not those of the partition.
    #[must_use]
    pub fn class_of_rows(&self, cell_of_row: &[u32], seed: u64) -> Vec<u32> {
        let mut rows: Vec<usize> = (0..cell_of_row.len()).collect();
        rows.sort_unstable_by_key(|&row| (cell_of_row[row], mixed(seed, row as u64), row));
        let dealt = self
            .parts
            .iter()
            .flat_map(|part| std::iter::repeat_n((part.cell, part.class), part.rows as usize));
        let mut class_of = vec![0; cell_of_row.len()];
        let mut dealt = dealt.into_iter();
        for row in rows {
            let (cell, class) = dealt.next().expect("as many rows as the partition has");
            assert_eq!(cell, cell_of_row[row]);
            class_of[row] = class;
        }
        class_of
    }
}

/// `SplitMix64`'s finaliser (Steele, Lea, Flood 2014) over seed and number.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut bits = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Members {
    /// Number of classes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is no class.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The members of one class.
    #[must_use]
    pub fn of(&self, class: usize) -> &[Member] {
        &self.entries[self.offsets[class]..self.offsets[class + 1]]
    }

    /// The members of every class in turn.
    pub fn iter(&self) -> impl Iterator<Item = &[Member]> {
        self.offsets
            .windows(2)
            .map(|ends| &self.entries[ends[0]..ends[1]])
    }

    /// Rows of every class.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        self.iter().map(rows_of).collect()
    }
}

/// Rows of members.
#[must_use]
pub fn rows_of(members: &[Member]) -> u64 {
    members.iter().map(|&(_, rows)| u64::from(rows)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_classes_numbered_by_their_first_cell() {
        let part = |cell, class, rows| Part { cell, class, rows };
        let parts = vec![part(2, 7, 1), part(0, 7, 2), part(0, 3, 1), part(0, 7, 1)];
        let partition = Partition::new(parts);
        assert_eq!(
            partition.parts(),
            [part(0, 0, 1), part(0, 1, 3), part(2, 1, 1)]
        );
        assert_eq!(partition.members().sizes(), [1, 4]);
    }

    #[test]
    fn rows_of_a_split_cell_are_dealt_out_in_number() {
        let part = |cell, class, rows| Part { cell, class, rows };
        let partition = Partition::new(vec![part(0, 0, 2), part(0, 1, 3), part(1, 1, 1)]);
        let cell_of_row = [0, 1, 0, 0, 0, 0];
        let classes = partition.class_of_rows(&cell_of_row, 7);
        assert_eq!(classes[1], 1);
        assert_eq!(classes.iter().filter(|&&class| class == 0).count(), 2);
        assert_eq!(classes, partition.class_of_rows(&cell_of_row, 7));
    }
}
