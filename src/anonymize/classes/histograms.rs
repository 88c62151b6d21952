//! How often each sensitive value stands in each class, in one arena.
//!
//! Without a subject column, rows are counted and counts add. With one, distinct (subject, value) pairs are, and those
//! are not additive: a pair that stands in several cells is listed by number, and lists unite. Pairs of one cell only
//! are counted, no union can meet them twice.

use std::sync::Arc;

use super::sets::{CappedSets, MergeScratch};

/// One histogram per class.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histograms {
    /// `entries[ends[class]..ends[class + 1]]`: (rank, count), ranks ascending, counts positive.
    ends: Vec<u32>,
    entries: Vec<(u32, u32)>,
    shared: Option<Shared>,
}

/// The pairs that stand in several cells.
#[derive(Debug, Clone)]
struct Shared {
    sets: CappedSets,
    /// Rank of each pair's value; pairs are numbered by rank, then subject.
    rank_of: Arc<[u32]>,
}

impl Histograms {
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let shared = self.shared.as_ref().map_or(0, |shared| shared.sets.bytes());
        self.ends.len() * 4 + self.entries.len() * 8 + shared
    }

    /// Histograms of `cells` cells from the cell, the rank and, where declared, the subject of every row.
    pub(crate) fn from_rows(
        cells: usize,
        rows: impl Iterator<Item = (u32, u32)>,
        subjects: Option<&[u32]>,
    ) -> Self {
        let mut histograms = Self::default();
        let Some(subjects) = subjects else {
            let mut pairs: Vec<(u32, u32)> = rows.collect();
            pairs.sort_unstable();
            histograms.fill(cells, &pairs);
            return histograms;
        };
        let triples = rows.zip(subjects);
        let mut triples: Vec<(u32, u32, u32)> = triples
            .map(|((cell, rank), &subject)| (cell, rank, subject))
            .collect();
        triples.sort_unstable();
        triples.dedup();
        let shared = repeated(&triples);
        let (mut single, mut members) = (Vec::new(), Vec::new());
        for &(cell, rank, subject) in &triples {
            match shared.binary_search(&(rank, subject)) {
                Ok(number) => members.push((cell, u32::try_from(number).unwrap_or(u32::MAX))),
                Err(_) => single.push((cell, rank)),
            }
        }
        histograms.fill(cells, &single);
        if !shared.is_empty() {
            histograms.shared = Some(Shared {
                sets: CappedSets::from_pairs(u64::MAX, cells, &members, |_| true),
                rank_of: shared.iter().map(|&(rank, _)| rank).collect(),
            });
        }
        histograms
    }

    /// The histogram of one class from the count of every rank.
    pub(crate) fn single(counts: Vec<u32>) -> Self {
        let mut histograms = Self::default();
        histograms.ends.push(0);
        let counted = (0..).zip(counts).filter(|&(_, count)| count > 0);
        histograms.entries = counted.collect();
        histograms.close();
        histograms
    }

    /// Counts (cell, rank) pairs, sorted.
    fn fill(&mut self, cells: usize, pairs: &[(u32, u32)]) {
        self.ends.push(0);
        let mut rest = pairs;
        for cell in 0..cells {
            let (own, others) = rest.split_at(rest.partition_point(|pair| pair.0 as usize <= cell));
            rest = others;
            for value in own.chunk_by(|left, right| left.1 == right.1) {
                let count = u32::try_from(value.len()).unwrap_or(u32::MAX);
                self.entries.push((value[0].1, count));
            }
            self.close();
        }
    }

    fn close(&mut self) {
        let end = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        self.ends.push(end);
    }

    fn counted(&self, class: usize) -> &[(u32, u32)] {
        &self.entries[self.ends[class] as usize..self.ends[class + 1] as usize]
    }

    /// The histograms of some classes, in the order given.
    pub(crate) fn select(&self, classes: &[u32]) -> Self {
        let mut chosen = Self::default();
        chosen.ends.push(0);
        for &class in classes {
            chosen
                .entries
                .extend_from_slice(self.counted(class as usize));
            chosen.close();
        }
        chosen.shared = self.shared.as_ref().map(|shared| Shared {
            sets: shared.sets.select(classes),
            rank_of: Arc::clone(&shared.rank_of),
        });
        chosen
    }

    /// The counts of a class: ranks ascending, counts positive. `buffer` is used where counts must be put together.
    pub(crate) fn counts<'a>(
        &'a self,
        class: usize,
        buffer: &'a mut Vec<(u32, u32)>,
    ) -> &'a [(u32, u32)] {
        let counted = self.counted(class);
        let Some(shared) = &self.shared else {
            return counted;
        };
        buffer.clear();
        let mut rest = counted.iter().copied().peekable();
        for &pair in shared.sets.members(class) {
            let rank = shared.rank_of[pair as usize];
            while let Some(entry) = rest.next_if(|entry| entry.0 <= rank) {
                buffer.push(entry);
            }
            match buffer.last_mut() {
                Some(last) if last.0 == rank => last.1 += 1,
                _ => buffer.push((rank, 1)),
            }
        }
        buffer.extend(rest);
        buffer
    }

    /// The counts over some classes by rank, as if they were one.
    pub(crate) fn total(&self, kept: &[bool], ranks: usize) -> Vec<u64> {
        let mut counts = vec![0; ranks];
        let mut seen = vec![
            false;
            self.shared
                .as_ref()
                .map_or(0, |shared| shared.rank_of.len())
        ];
        for (class, _) in kept.iter().enumerate().filter(|&(_, &kept)| kept) {
            for &(rank, count) in self.counted(class) {
                counts[rank as usize] += u64::from(count);
            }
            if let Some(shared) = &self.shared {
                for &pair in shared.sets.members(class) {
                    let seen = &mut seen[pair as usize];
                    counts[shared.rank_of[pair as usize] as usize] += u64::from(!*seen);
                    *seen = true;
                }
            }
        }
        counts
    }

    /// Writes the sums of the histograms with equal number in `class_of` to `into`.
    pub(crate) fn merge_into(
        &self,
        class_of: &[u32],
        classes: usize,
        scratch: &mut MergeScratch,
        sums: &mut Sums,
        into: &mut Self,
    ) {
        sums.arrange(class_of, classes);
        into.entries.clear();
        into.ends.clear();
        into.ends.push(0);
        let mut from = 0;
        for class in 0..classes {
            let to = sums.starts[class] as usize;
            if let [item] = sums.items[from..to] {
                into.entries.extend_from_slice(self.counted(item as usize));
            } else {
                for &item in &sums.items[from..to] {
                    sums.counts.add(self.counted(item as usize));
                }
                sums.counts.take_into(&mut into.entries);
            }
            into.close();
            from = to;
        }
        match (&self.shared, &mut into.shared) {
            (None, shared) => *shared = None,
            (Some(finer), Some(coarser)) if Arc::ptr_eq(&finer.rank_of, &coarser.rank_of) => {
                finer
                    .sets
                    .merge_into(class_of, classes, scratch, &mut coarser.sets);
            }
            (Some(finer), coarser) => {
                let mut sets = CappedSets::new(u64::MAX);
                finer.sets.merge_into(class_of, classes, scratch, &mut sets);
                *coarser = Some(Shared {
                    sets,
                    rank_of: Arc::clone(&finer.rank_of),
                });
            }
        }
    }
}

/// The (rank, subject) pairs that stand in several cells, ascending.
fn repeated(triples: &[(u32, u32, u32)]) -> Vec<(u32, u32)> {
    let mut pairs: Vec<(u32, u32)> = triples
        .iter()
        .map(|&(_, rank, subject)| (rank, subject))
        .collect();
    pairs.sort_unstable();
    let runs = pairs.chunk_by(|left, right| left == right);
    runs.filter(|run| run.len() > 1).map(|run| run[0]).collect()
}

/// Buffers of a merge, kept between merges.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Finer classes in the order of their class, and where each class's end.
    items: Vec<u32>,
    starts: Vec<u32>,
    counts: Counts,
}

impl Sums {
    fn arrange(&mut self, class_of: &[u32], classes: usize) {
        self.starts.clear();
        self.starts.resize(classes + 1, 0);
        for &class in class_of {
            self.starts[class as usize + 1] += 1;
        }
        for class in 0..classes {
            self.starts[class + 1] += self.starts[class];
        }
        self.items.clear();
        self.items.resize(class_of.len(), 0);
        for (&class, item) in class_of.iter().zip(0..) {
            let at = &mut self.starts[class as usize];
            self.items[*at as usize] = item;
            *at += 1;
        }
    }
}

/// A counter per rank, and the ranks that are not zero.
#[derive(Debug, Default)]
struct Counts {
    of_rank: Vec<u32>,
    touched: Vec<u32>,
}

impl Counts {
    fn add(&mut self, entries: &[(u32, u32)]) {
        if let Some(&(last, _)) = entries.last()
            && last as usize >= self.of_rank.len()
        {
            self.of_rank.resize(last as usize + 1, 0);
        }
        for &(rank, count) in entries {
            let sum = &mut self.of_rank[rank as usize];
            if *sum == 0 {
                self.touched.push(rank);
            }
            *sum += count;
        }
    }

    fn take_into(&mut self, entries: &mut Vec<(u32, u32)>) {
        self.touched.sort_unstable();
        for rank in self.touched.drain(..) {
            entries.push((rank, std::mem::take(&mut self.of_rank[rank as usize])));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Distinct (subject, rank) pairs, or rows, per rank.
    fn expected(rows: &[(u32, u32, u32)], by_subject: bool) -> Vec<(u32, u32)> {
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        let distinct: BTreeSet<_> = rows.iter().map(|row| (row.1, row.2)).collect();
        if by_subject {
            for pair in distinct {
                *counts.entry(pair.0).or_default() += 1;
            }
        } else {
            for row in rows {
                *counts.entry(row.1).or_default() += 1;
            }
        }
        counts.into_iter().collect()
    }

    proptest! {
        #[test]
        fn merging_gives_the_histogram_of_the_union(
            rows in prop::collection::vec((0_u32..12, 0_u32..6, 0_u32..5), 0..60),
            first in prop::collection::vec(0_u32..5, 12),
            second in prop::collection::vec(0_u32..3, 5),
            kept in prop::collection::vec(any::<bool>(), 3),
            by_subject in any::<bool>(),
        ) {
            let subjects: Vec<u32> = rows.iter().map(|row| row.2).collect();
            let pairs = rows.iter().map(|row| (row.0, row.1));
            let cells = Histograms::from_rows(12, pairs, by_subject.then_some(&subjects));
            let (mut scratch, mut sums) = (MergeScratch::default(), Sums::default());
            let (mut finer, mut coarser) = (Histograms::default(), Histograms::default());
            cells.merge_into(&first, 5, &mut scratch, &mut sums, &mut finer);
            finer.merge_into(&second, 3, &mut scratch, &mut sums, &mut coarser);
            let class_of = |row: &(u32, u32, u32)| second[first[row.0 as usize] as usize] as usize;
            let mut buffer = Vec::new();
            for class in 0..3 {
                let own: Vec<_> = rows.iter().copied().filter(|row| class_of(row) == class).collect();
                prop_assert_eq!(coarser.counts(class, &mut buffer), expected(&own, by_subject));
            }
            let own: Vec<_> = rows.iter().copied().filter(|row| kept[class_of(row)]).collect();
            let total = coarser.total(&kept, 6);
            let total = (0..).zip(total).filter(|&(_, count)| count > 0);
            let total: Vec<_> = total.map(|(rank, count)| (rank, u32::try_from(count).unwrap())).collect();
            prop_assert_eq!(total, expected(&own, by_subject));
        }
    }
}
