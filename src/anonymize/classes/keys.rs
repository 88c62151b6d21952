//! Packed class keys: one bit field per quasi-identifier, wide enough for its finest level.
//!
//! The fields keep their places on every level, so a step up is a look-up and a masked write per attribute that
//! changes. Keys of up to 64 bits are `u64`, up to 128 bits `u128`; beyond that a class is known by a representative
//! cell, and its nodes are looked up, so the number of quasi-identifiers has no limit.

use std::borrow::Cow;
use std::ops::{BitAnd, BitOr, Not};

use rustc_hash::FxHashMap;

use crate::anonymize::rows::QuasiIdentifier;

/// Where an attribute's node stands in a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    shift: u32,
    pub(super) mask: u32,
}

/// The width of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Narrow,
    Wide,
    Long,
}

/// The places of all attributes.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub(crate) fields: Vec<Field>,
    pub(crate) width: Width,
    /// Bits of all fields.
    pub(crate) bits: u32,
}

impl Layout {
    /// The first attribute stands highest, so that keys sort like the tuples of nodes.
    pub(crate) fn new(nodes: impl DoubleEndedIterator<Item = usize>) -> Self {
        let mut bits = 0;
        let mut fields: Vec<Field> = nodes
            .rev()
            .map(|nodes| {
                let last = u32::try_from(nodes.saturating_sub(1)).unwrap_or(u32::MAX);
                let width = u32::BITS - last.leading_zeros();
                let mask = u32::MAX.checked_shr(u32::BITS - width).unwrap_or(0);
                let field = Field { shift: bits, mask };
                bits += width;
                field
            })
            .collect();
        fields.reverse();
        let width = match bits {
            0..=64 => Width::Narrow,
            65..=128 => Width::Wide,
            _ => Width::Long,
        };
        // A field without bits may stand just above the last bit, where a shift would overflow.
        for field in &mut fields {
            if field.mask == 0 {
                field.shift = 0;
            }
        }
        Self {
            fields,
            width,
            bits,
        }
    }
}

/// An integer that holds the nodes of all attributes.
pub(crate) trait Packed:
    Copy + Ord + Default + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// The node in a field.
    fn node(self, field: Field) -> u32;
    /// A key with one node placed.
    fn placed(node: u32, field: Field) -> Self;
    /// Bits that differ, well mixed into the high half.
    fn mixed(self) -> u64;
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Packed for u32 {
    #[inline]
    fn node(self, field: Field) -> u32 {
        (self >> field.shift) & field.mask
    }
    #[inline]
    fn placed(node: u32, field: Field) -> Self {
        node << field.shift
    }
    #[inline]
    fn mixed(self) -> u64 {
        u64::from(self).wrapping_mul(GOLDEN)
    }
}

impl Packed for u64 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the mask keeps at most 32 bits"
    )]
    #[inline]
    fn node(self, field: Field) -> u32 {
        (self >> field.shift) as u32 & field.mask
    }
    #[inline]
    fn placed(node: u32, field: Field) -> Self {
        Self::from(node) << field.shift
    }
    #[inline]
    fn mixed(self) -> u64 {
        (self ^ (self >> 32)).wrapping_mul(GOLDEN)
    }
}

impl Packed for u128 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the mask keeps at most 32 bits"
    )]
    #[inline]
    fn node(self, field: Field) -> u32 {
        (self >> field.shift) as u32 & field.mask
    }
    #[inline]
    fn placed(node: u32, field: Field) -> Self {
        Self::from(node) << field.shift
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "both halves are mixed into one"
    )]
    #[inline]
    fn mixed(self) -> u64 {
        let (low, high) = (self as u64, (self >> 64) as u64);
        (low ^ high.wrapping_mul(GOLDEN).rotate_left(29)).mixed()
    }
}

/// The keys of a table of classes.
#[derive(Debug, Clone)]
pub(crate) enum Keys {
    Narrow(Vec<u64>),
    Wide(Vec<u128>),
    /// A cell of each class.
    Long(Vec<u32>),
}

impl Keys {
    pub(crate) fn new(width: Width) -> Self {
        match width {
            Width::Narrow => Self::Narrow(Vec::new()),
            Width::Wide => Self::Wide(Vec::new()),
            Width::Long => Self::Long(Vec::new()),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.len() * 8,
            Self::Wide(keys) => keys.len() * 16,
            Self::Long(cells) => cells.len() * 4,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.len(),
            Self::Wide(keys) => keys.len(),
            Self::Long(cells) => cells.len(),
        }
    }
}

/// One attribute on its way up.
pub(crate) struct Change<'a> {
    pub(crate) attribute: usize,
    /// Node above each node; empty if there is only one above.
    pub(crate) nodes: Cow<'a, [u32]>,
}

impl<'a> Change<'a> {
    /// The way of an attribute from one level to a higher one.
    pub(crate) fn new(
        attribute: usize,
        quasi_identifier: &'a QuasiIdentifier,
        from: u32,
        to: u32,
    ) -> Self {
        debug_assert!(from < to, "classes are only rolled up");
        let levels = quasi_identifier.all_levels();
        let (from, to) = (from as usize, to as usize);
        let nodes = if levels[to].leaves.len() == 1 {
            Cow::Borrowed(&[][..])
        } else if from == 0 {
            Cow::Borrowed(&*quasi_identifier.from_bottom[to])
        } else if to == from + 1 {
            Cow::Borrowed(&*levels[from].parent)
        } else {
            let climb = |node: u32| {
                (from..to).fold(node, |node, level| levels[level].parent[node as usize])
            };
            Cow::Owned(
                levels[from]
                    .parent
                    .iter()
                    .zip(0..)
                    .map(|(_, node)| climb(node))
                    .collect(),
            )
        };
        Self { attribute, nodes }
    }
}

/// Open addressing over the keys of the classes found so far; holds their numbers only.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<u32>,
    shift: u32,
}

impl Slots {
    pub(crate) const FIRST_BITS: u32 = 10;

    /// Forgets all; room for half of 2^`bits` classes before it grows.
    pub(crate) fn reset(&mut self, bits: u32) {
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
        self.shift = u64::BITS - bits;
    }

    #[inline]
    fn start(key: u64, shift: u32) -> usize {
        usize::try_from(key >> shift).unwrap_or(usize::MAX)
    }

    /// The number of the class of `key`, which is appended to `classes` if it is new.
    #[inline]
    pub(crate) fn find<K: Packed>(&mut self, key: K, classes: &mut Vec<K>) -> u32 {
        let last = self.slots.len() - 1;
        let mut slot = Self::start(key.mixed(), self.shift);
        loop {
            match self.slots[slot] {
                0 => break,
                found if classes[found as usize - 1] == key => return found - 1,
                _ => slot = (slot + 1) & last,
            }
        }
        classes.push(key);
        let number = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        self.slots[slot] = number;
        if classes.len() * 2 > self.slots.len() {
            self.grow(classes);
        }
        number - 1
    }

    fn grow<K: Packed>(&mut self, classes: &[K]) {
        let bits = u64::BITS - self.shift + 2;
        self.reset(bits);
        let last = self.slots.len() - 1;
        for (key, number) in classes.iter().zip(1..) {
            let mut slot = Self::start(key.mixed(), self.shift);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & last;
            }
            self.slots[slot] = number;
        }
    }
}

/// Gives every key the number of its class, in order of first appearance, and lists the keys of the classes.
pub(crate) fn assign<K: Packed>(
    keys: &[K],
    changes: &[Change<'_>],
    layout: &Layout,
    slots: &mut Slots,
    class_of: &mut Vec<u32>,
    classes: &mut Vec<K>,
) {
    slots.reset(Slots::FIRST_BITS);
    class_of.clear();
    class_of.reserve(keys.len());
    classes.clear();
    let kept = changes.iter().fold(!K::default(), |kept, change| {
        let field = layout.fields[change.attribute];
        kept & !K::placed(field.mask, field)
    });
    let looked_up: Vec<(Field, &[u32])> = changes
        .iter()
        .filter(|change| !change.nodes.is_empty())
        .map(|change| (layout.fields[change.attribute], &*change.nodes))
        .collect();
    for &key in keys {
        let mut coarser = key & kept;
        for &(field, nodes) in &looked_up {
            coarser = coarser | K::placed(nodes[key.node(field) as usize], field);
        }
        class_of.push(slots.find(coarser, classes));
    }
}

/// The keys of the classes that hold the given keys, on levels above: `node(attribute, node at level 0)`.
pub(crate) fn gather<K: Packed>(
    keys: &[K],
    representatives: &[u32],
    layout: &Layout,
    node: impl Fn(usize, u32) -> u32,
    classes: &mut Vec<K>,
) {
    classes.clear();
    classes.extend(representatives.iter().map(|&representative| {
        let key = keys[representative as usize];
        let fields = layout.fields.iter().enumerate();
        fields.fold(K::default(), |lifted, (attribute, &field)| {
            lifted | K::placed(node(attribute, key.node(field)), field)
        })
    }));
}

/// The same for classes that are known by a cell: attributes are joined some at a time.
///
/// `node(cell, attribute)` is the node on the target level.
pub(crate) fn assign_long(
    cells: &[u32],
    layout: &Layout,
    node: impl Fn(u32, usize) -> u32,
    class_of: &mut Vec<u32>,
    classes: &mut Vec<u32>,
) {
    class_of.clear();
    class_of.resize(cells.len(), 0);
    let mut from = 0;
    while from < layout.fields.len() {
        let (mut bits, mut to) = (0, from);
        while to < layout.fields.len() {
            let width = u32::BITS - layout.fields[to].mask.leading_zeros();
            if bits + width > 96 {
                break;
            }
            bits += width;
            to += 1;
        }
        let mut numbers: FxHashMap<u128, u32> = FxHashMap::default();
        classes.clear();
        for (&cell, class) in cells.iter().zip(class_of.iter_mut()) {
            let key = (from..to).fold(u128::from(*class), |key, attribute| {
                let width = u32::BITS - layout.fields[attribute].mask.leading_zeros();
                (key << width) | u128::from(node(cell, attribute))
            });
            let next = u32::try_from(classes.len()).unwrap_or(u32::MAX);
            *class = *numbers.entry(key).or_insert_with(|| {
                classes.push(cell);
                next
            });
        }
        from = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_grows_from_narrow_to_wide_to_long() {
        assert_eq!(Layout::new([1 << 16; 4].into_iter()).width, Width::Narrow);
        assert_eq!(Layout::new([1 << 16; 5].into_iter()).width, Width::Wide);
        assert_eq!(Layout::new([1 << 16; 9].into_iter()).width, Width::Long);
        assert_eq!(Layout::new([1; 9].into_iter()).width, Width::Narrow);
    }

    #[test]
    fn keys_sort_like_tuples_of_nodes() {
        let layout = Layout::new([3, 5].into_iter());
        let key = |first, second| {
            u64::placed(first, layout.fields[0]) | u64::placed(second, layout.fields[1])
        };
        assert!(key(0, 4) < key(1, 0) && key(1, 0) < key(2, 3));
        assert_eq!(key(2, 3).node(layout.fields[0]), 2);
        assert_eq!(key(2, 3).node(layout.fields[1]), 3);
    }

    #[test]
    fn a_million_keys_get_a_million_numbers() {
        let layout = Layout::new([1 << 20, 2].into_iter());
        let keys: Vec<u64> = (0..1 << 20)
            .map(|node| u64::placed(node, layout.fields[0]))
            .collect();
        let (mut class_of, mut classes) = (Vec::new(), Vec::new());
        assign(
            &keys,
            &[],
            &layout,
            &mut Slots::default(),
            &mut class_of,
            &mut classes,
        );
        assert!(class_of.iter().copied().eq(0..1 << 20));
        assert_eq!(classes, keys);
    }
}
