//! A hash table of keys and counters, for the inner loop over sizes.

use super::keys::Packed;

/// Open addressing: keys and what they count; a slot that counts 0 is free, whatever key it holds.
///
/// There are always half as many slots more than there may be keys. Those in use are listed, so only they are read again
/// and emptied. A key stands beside its counter, in one line of the processor's cache.
#[derive(Debug, Default)]
pub(super) struct Slots<K> {
    /// By column, the part of the key of each of its codes; kept here for its buffers.
    pub(super) maps: Vec<Vec<K>>,
    entries: Vec<(K, u32)>,
    shift: u32,
    /// The first `used` are the slots in use.
    taken: Vec<u32>,
    used: usize,
}

impl<K: Packed> Slots<K> {
    /// Empties the slots; there will be at most `most` keys.
    pub(super) fn reset(&mut self, most: usize) {
        for &slot in &self.taken[..self.used] {
            self.entries[slot as usize].1 = 0;
        }
        self.used = 0;
        let size = (most + most / 2).next_power_of_two().max(2);
        if self.entries.len() < size {
            self.entries.resize(size, (K::default(), 0));
            self.taken.resize(size, 0);
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
        let last = self.entries.len() - 1;
        let mut at = usize::try_from(key.mixed() >> self.shift).unwrap_or(0) & last;
        loop {
            let (own, count) = self.entries[at];
            if count == 0 || own == key {
                return at;
            }
            at = (at + 1) & last;
        }
    }

    /// Adds to what a key counts.
    #[inline]
    pub(super) fn add(&mut self, key: K, rows: u32) {
        let at = self.slot(key);
        let before = self.entries[at].1;
        self.entries[at] = (key, before + rows);
        self.take(at, before);
    }

    /// The number of a key, from 1 in order of first appearance.
    #[inline]
    pub(super) fn number(&mut self, key: K) -> u32 {
        let at = self.slot(key);
        let before = self.entries[at].1;
        let next = u32::try_from(self.used + 1).unwrap_or(u32::MAX);
        let number = if before == 0 { next } else { before };
        self.entries[at] = (key, number);
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
            let (key, count) = self.entries[slot as usize];
            act(key, count);
        }
    }
}
