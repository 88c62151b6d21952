//! A hash table of keys and counters, for the inner loop over sizes.

use super::keys::Packed;

/// Open addressing: keys and what they count; a slot that counts 0 is free, whatever key it holds.
///
/// There are always twice as many slots as there may be keys. Those in use are listed, so only they are read again and
/// emptied. Whether a key is new is no branch: for most policies it cannot be predicted.
#[derive(Debug, Default)]
pub(super) struct Slots<K> {
    /// By column, the part of the key of each of its codes; kept here for its buffers.
    pub(super) maps: Vec<Vec<K>>,
    keys: Vec<K>,
    counts: Vec<u32>,
    shift: u32,
    /// The first `used` are the slots in use.
    taken: Vec<u32>,
    used: usize,
}

impl<K: Packed> Slots<K> {
    /// Empties the slots; there will be at most `most` keys.
    pub(super) fn reset(&mut self, most: usize) {
        for &slot in &self.taken[..self.used] {
            self.counts[slot as usize] = 0;
        }
        self.used = 0;
        let size = (most * 2).next_power_of_two().max(2);
        if self.counts.len() < size {
            self.counts.resize(size, 0);
            self.keys.resize(size, K::default());
            self.taken.resize(size / 2, 0);
        }
        self.shift = u64::BITS - size.trailing_zeros();
    }

    /// Number of keys.
    pub(super) fn len(&self) -> usize {
        self.used
    }

    /// The slot of a key, or the free one where it belongs.
    #[inline]
    fn slot(&self, key: K) -> usize {
        let last = self.counts.len() - 1;
        let mut at = usize::try_from(key.mixed() >> self.shift).unwrap_or(0) & last;
        loop {
            // Joined without a branch: whether a slot is free cannot be predicted, that a search goes on seldom happens.
            let is_other = u32::from(self.counts[at] != 0) & u32::from(self.keys[at] != key);
            if is_other == 0 {
                return at;
            }
            at = (at + 1) & last;
        }
    }

    /// Adds to what a key counts.
    #[inline]
    pub(super) fn add(&mut self, key: K, rows: u32) {
        let at = self.slot(key);
        let before = self.counts[at];
        self.keys[at] = key;
        self.counts[at] = before + rows;
        self.take(at, before);
    }

    /// The number of a key, from 1 in order of first appearance.
    #[inline]
    pub(super) fn number(&mut self, key: K) -> u32 {
        let at = self.slot(key);
        let before = self.counts[at];
        let next = u32::try_from(self.used + 1).unwrap_or(u32::MAX);
        let number = if before == 0 { next } else { before };
        self.keys[at] = key;
        self.counts[at] = number;
        self.take(at, before);
        number
    }

    /// Lists a slot if it was free before.
    #[inline]
    fn take(&mut self, at: usize, before: u32) {
        // Written at any rate: the place is free.
        if let Some(slot) = self.taken.get_mut(self.used) {
            *slot = u32::try_from(at).unwrap_or(u32::MAX);
        }
        self.used += usize::from(before == 0);
    }

    /// Calls with every key and what it counts.
    #[inline]
    pub(super) fn each(&self, mut act: impl FnMut(K, u32)) {
        for &slot in &self.taken[..self.used] {
            act(self.keys[slot as usize], self.counts[slot as usize]);
        }
    }
}
