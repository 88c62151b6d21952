//! Sets of which only "at least `cap`" matters, one per class, in one arena.
//!
//! Distinct subjects are not additive over classes, so classes carry sets. Two things keep them small. Elements that
//! stand in one cell only are counted, not listed: no union can meet them twice. And a class with `cap` elements is
//! full: it drops its list, for whatever it is merged with, it stays full. `min(cap, |A u B|)` follows exactly.

/// One capped set per class.
#[derive(Debug, Clone)]
pub(crate) struct CappedSets {
    cap: u32,
    /// Elements that occur in no other cell, or `cap` if full.
    counted: Vec<u32>,
    /// `members[ends[class]..ends[class + 1]]` are the other elements, ascending.
    ends: Vec<u32>,
    members: Vec<u32>,
}

impl CappedSets {
    pub(crate) fn new(cap: u64) -> Self {
        Self {
            cap: u32::try_from(cap).unwrap_or(u32::MAX),
            counted: Vec::new(),
            ends: vec![0],
            members: Vec::new(),
        }
    }

    /// Sets from (class, element) pairs, sorted and distinct; `is_shared` says whether an element stands in several.
    pub(crate) fn from_pairs(
        cap: u64,
        classes: usize,
        pairs: &[(u32, u32)],
        is_shared: impl Fn(u32) -> bool,
    ) -> Self {
        let mut sets = Self::new(cap);
        let mut rest = pairs;
        for class in 0..classes {
            let length = rest.partition_point(|&(other, _)| other as usize <= class);
            let (own, others) = rest.split_at(length);
            rest = others;
            let before = sets.members.len();
            sets.members.extend(
                own.iter()
                    .map(|&(_, element)| element)
                    .filter(|&element| is_shared(element)),
            );
            let listed = sets.members.len() - before;
            sets.close(before, own.len() - listed);
        }
        sets
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        (self.counted.len() + self.ends.len() + self.members.len()) * 4
    }

    /// Number of elements, at most the cap.
    #[inline]
    pub(crate) fn count(&self, class: usize) -> u64 {
        let listed = self.ends[class + 1] - self.ends[class];
        u64::from(self.counted[class].saturating_add(listed).min(self.cap))
    }

    /// The listed elements of a set that is not full, ascending.
    pub(crate) fn members(&self, class: usize) -> &[u32] {
        &self.members[self.ends[class] as usize..self.ends[class + 1] as usize]
    }

    /// The sets of some classes, in the order given.
    pub(crate) fn select(&self, classes: &[u32]) -> Self {
        let mut chosen = Self::new(u64::from(self.cap));
        for &class in classes {
            chosen
                .members
                .extend_from_slice(self.members(class as usize));
            chosen.counted.push(self.counted[class as usize]);
            let end = u32::try_from(chosen.members.len()).unwrap_or(u32::MAX);
            chosen.ends.push(end);
        }
        chosen
    }

    /// Ends the list that began at `from`, dropping it if the set is full.
    fn close(&mut self, from: usize, counted: usize) {
        let counted = u32::try_from(counted).unwrap_or(u32::MAX);
        let listed = u32::try_from(self.members.len() - from).unwrap_or(u32::MAX);
        if counted.saturating_add(listed) >= self.cap {
            self.members.truncate(from);
            self.counted.push(self.cap);
        } else {
            self.counted.push(counted);
        }
        self.ends
            .push(u32::try_from(self.members.len()).unwrap_or(u32::MAX));
    }

    /// Writes the unions of the sets with equal number in `class_of` to `into`.
    pub(crate) fn merge_into(
        &self,
        class_of: &[u32],
        classes: usize,
        scratch: &mut MergeScratch,
        into: &mut Self,
    ) {
        let MergeScratch {
            counted,
            next,
            members,
        } = scratch;
        counted.clear();
        counted.resize(classes, 0_u32);
        next.clear();
        next.resize(classes + 1, 0_u32);
        for (item, &class) in class_of.iter().enumerate() {
            let class = class as usize;
            counted[class] = counted[class]
                .saturating_add(self.counted[item])
                .min(self.cap);
            next[class + 1] += self.ends[item + 1] - self.ends[item];
        }
        for class in 0..classes {
            next[class + 1] += next[class];
        }
        members.clear();
        members.resize(next[classes] as usize, 0);
        for (item, &class) in class_of.iter().enumerate() {
            let own = &self.members[self.ends[item] as usize..self.ends[item + 1] as usize];
            let at = next[class as usize] as usize;
            members[at..at + own.len()].copy_from_slice(own);
            next[class as usize] += self.ends[item + 1] - self.ends[item];
        }
        into.cap = self.cap;
        into.counted.clear();
        into.ends.clear();
        into.ends.push(0);
        into.members.clear();
        let mut from = 0;
        for class in 0..classes {
            let to = next[class] as usize;
            let before = into.members.len();
            if counted[class] < self.cap {
                let own = &mut members[from..to];
                own.sort_unstable();
                into.members.extend_from_slice(own);
                dedup_from(&mut into.members, before);
            }
            into.close(before, counted[class] as usize);
            from = to;
        }
    }
}

/// Drops repeated neighbours from position `from` on.
fn dedup_from(members: &mut Vec<u32>, from: usize) {
    let mut kept = from;
    for index in from..members.len() {
        if index == from || members[index] != members[kept - 1] {
            members[kept] = members[index];
            kept += 1;
        }
    }
    members.truncate(kept);
}

/// Buffers of a merge, kept between merges.
#[derive(Debug, Default)]
pub(crate) struct MergeScratch {
    counted: Vec<u32>,
    next: Vec<u32>,
    members: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn merging_gives_the_capped_size_of_the_union(
            pairs in prop::collection::btree_set((0_u32..12, 0_u32..20), 0..60),
            first in prop::collection::vec(0_u32..5, 12),
            second in prop::collection::vec(0_u32..3, 5),
            cap in 1_u64..8,
        ) {
            let pairs: Vec<_> = pairs.into_iter().collect();
            let occurrences = |element| pairs.iter().filter(|pair| pair.1 == element).count();
            let cells = CappedSets::from_pairs(cap, 12, &pairs, |element| occurrences(element) > 1);
            let mut scratch = MergeScratch::default();
            let (mut finer, mut coarser) = (CappedSets::new(cap), CappedSets::new(cap));
            cells.merge_into(&first, 5, &mut scratch, &mut finer);
            finer.merge_into(&second, 3, &mut scratch, &mut coarser);
            for class in 0..3 {
                let union: BTreeSet<u32> = pairs
                    .iter()
                    .filter(|pair| second[first[pair.0 as usize] as usize] == class)
                    .map(|pair| pair.1)
                    .collect();
                prop_assert_eq!(coarser.count(class as usize), cap.min(union.len() as u64));
            }
        }
    }
}
