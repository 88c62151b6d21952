//! t-closeness: the earth mover's distance from a class's distribution to the reference's, under three ground
//! distances.
//!
//! Source: Li, Li, Venkatasubramanian, t-Closeness, 2007, section 3.

use super::reference::Ordered;
use super::{real, total};

/// Variational distance, `1/2 sum |p - Q|`: every two values are equally far apart. `0..=1`; 0 for an empty class.
///
/// # Panics
/// Never; a longer slice's rest is ignored.
#[must_use]
pub fn equal_distance<C, R>(class: &[C], reference: &[R]) -> f64
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let (rows, all) = (total(class), total(reference));
    let mut moved = 0.0;
    for (&count, &expected) in class.iter().zip(reference) {
        moved += (real(count) * all - real(expected) * rows).abs();
    }
    share(moved, 2.0 * rows * all)
}

/// Ordered distance, `1/(m-1) sum_{i<m} |sum_{j<=i} (p_j - Q_j)|` for `m` values in their order. `0..=1`.
///
/// The slice's length is `m`: values that occur nowhere must be left out of both slices, or they stretch the scale.
/// 0 for a single value and for an empty class.
#[must_use]
pub fn ordered_distance<C, R>(class: &[C], reference: &[R]) -> f64
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let expected = reference.iter().map(|&count| count.into());
    let counts = class.iter().map(|&count| count.into());
    let steps = class.len().min(reference.len());
    Ordered::new(expected.take(steps)).distance(counts.take(steps).enumerate())
}

/// The shape of a value hierarchy, for [`hierarchical_distance`]: all leaves on level 0, one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistanceTree {
    /// Parent of each node of a level among the nodes of the next level; the root's level has no table.
    parents: Vec<Vec<u32>>,
    /// Nodes per level, from the leaves to the root's 1.
    widths: Vec<usize>,
}

impl DistanceTree {
    /// A tree from the parent table of each level below the root, leaves first.
    ///
    /// `None` if a parent does not exist on the next level (whose nodes are the entries of the next table, or the one
    /// root after the last), or a table is empty. No table at all is a single leaf.
    #[must_use]
    pub fn new(parents: Vec<Vec<u32>>) -> Option<Self> {
        let mut widths: Vec<usize> = parents.iter().map(Vec::len).collect();
        widths.push(1);
        let sound = parents.iter().zip(&widths[1..]).all(|(table, &above)| {
            !table.is_empty() && table.iter().all(|&parent| (parent as usize) < above)
        });
        sound.then_some(Self { parents, widths })
    }

    /// Number of leaves: the length of the count slices.
    #[must_use]
    pub fn leaves(&self) -> usize {
        self.widths[0]
    }

    /// Length of the scratch space that [`hierarchical_distance`] needs.
    #[must_use]
    pub fn scratch_len(&self) -> usize {
        2 * self.widths[1..].iter().sum::<usize>()
    }
}

/// Hierarchical distance: mass moved between two values costs the height of their least common ancestor over the
/// root's height. `0..=1`; 0 for an empty class.
///
/// Per inner node, `height/height(root) * min(pos, neg)` of the sums of its children's positive and negative extras;
/// a leaf's extra is `p - Q`, an inner node's the sum of its children's. `scratch` holds at least
/// [`DistanceTree::scratch_len`] entries; what stands in it does not matter.
///
/// # Panics
/// If a slice is shorter than the tree's leaves, or `scratch` than its length.
#[must_use]
pub fn hierarchical_distance<C, R>(
    class: &[C],
    reference: &[R],
    tree: &DistanceTree,
    scratch: &mut [f64],
) -> f64
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let (rows, all) = (total(class), total(reference));
    let Some(first) = tree.parents.first() else {
        return 0.0;
    };
    let scratch = &mut scratch[..tree.scratch_len()];
    scratch.fill(0.0);
    for (leaf, &parent) in first.iter().enumerate() {
        let extra = real(class[leaf]) * all - real(reference[leaf]) * rows;
        add(&mut scratch[2 * parent as usize..], extra);
    }
    let mut moved = 0.0;
    let mut start = 0;
    for (height, &width) in tree.widths.iter().enumerate().skip(1) {
        let (level, above) = scratch[start..].split_at_mut(2 * width);
        for node in 0..width {
            let (positive, negative) = (level[2 * node], level[2 * node + 1]);
            moved += height as f64 * positive.min(negative);
            if let Some(table) = tree.parents.get(height) {
                add(&mut above[2 * table[node] as usize..], positive - negative);
            }
        }
        start += 2 * width;
    }
    share(moved, tree.parents.len() as f64 * rows * all)
}

/// Adds an extra to a node's pair of positive and negative sums.
fn add(pair: &mut [f64], extra: f64) {
    if extra >= 0.0 {
        pair[0] += extra;
    } else {
        pair[1] -= extra;
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::distribution::at_most;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-9
    }

    /// Two groups of two leaves under one root.
    fn two_groups() -> DistanceTree {
        DistanceTree::new(vec![vec![0, 0, 1, 1], vec![0, 0]]).unwrap()
    }

    fn hierarchical(class: &[u32], reference: &[u32], tree: &DistanceTree) -> f64 {
        // Not zeroed on purpose: the contents must not matter.
        let mut scratch = vec![7.5; tree.scratch_len()];
        hierarchical_distance(class, reference, tree, &mut scratch)
    }

    #[test]
    fn uc_39_nine_stays_have_the_ordered_distances_worked_by_hand() {
        // Appendix 4 and worked example 21: 27/9/8, 12/9/8, 17/9/8; equal 2/3 each.
        let all = [1u32; 9];
        let wards = [[0, 1, 2], [3, 5, 8], [4, 6, 7]];
        for (days, ordered) in wards.into_iter().zip([0.375, 12.0 / 72.0, 17.0 / 72.0]) {
            let mut class = [0u32; 9];
            for day in days {
                class[day] = 1;
            }
            assert!(near(ordered_distance(&class, &all), ordered));
            assert!(near(equal_distance(&class, &all), 2.0 / 3.0));
        }
    }

    #[test]
    fn uc_21_salaries_have_the_published_distances() {
        // The paper's example: {3,4,5} and {6,8,11} of 3..=11 (thousands).
        let all = [1u32; 9];
        let low = [1u32, 1, 1, 0, 0, 0, 0, 0, 0];
        let spread = [0u32, 0, 0, 1, 0, 1, 0, 0, 1];
        assert!(near(ordered_distance(&low, &all), 0.375));
        assert!(near(ordered_distance(&spread, &all), 1.0 / 6.0));
        assert!(near(equal_distance(&spread, &all), 2.0 / 3.0));
    }

    #[test]
    fn hierarchical_distance_matches_worked_example_22() {
        // p = (1,0,0,0): 1/2 * min(3/4, 1/4) in the group + min(1/2, 1/2) between = 0.625; equal distance 0.75.
        let (tree, quarter) = (two_groups(), [1u32; 4]);
        assert!(near(hierarchical(&[1, 0, 0, 0], &quarter, &tree), 0.625));
        assert!(near(hierarchical(&[1, 1, 0, 0], &quarter, &tree), 0.5));
        assert!(near(equal_distance(&[1u32, 0, 0, 0], &quarter), 0.75));
    }

    #[test]
    fn uc_41_nothing_crosses_groups_when_each_holds_its_share() {
        // Appendix 9: (1/2, 0, 1/2, 0) against quarters: 1/2*1/4 + 1/2*1/4.
        let (tree, two_each) = (two_groups(), [2u32; 4]);
        for class in [[2u32, 0, 2, 0], [0, 2, 0, 2]] {
            assert!(near(hierarchical(&class, &two_each, &tree), 0.25));
            assert!(near(equal_distance(&class, &two_each), 0.5));
        }
    }

    #[test]
    fn uc_44_the_reference_decides() {
        // Appendix 11: values f, c, z. Released rows as reference: 0; input: 1/2 (1/6 + 1/12 + 1/4).
        let class = [2u32, 1, 0];
        assert!(near(equal_distance(&class, &[4u32, 2, 0]), 0.0));
        assert!(near(equal_distance(&class, &[4u32, 2, 2]), 0.25));
        assert!(at_most(equal_distance(&class, &[4u32, 2, 2]), 0.25));
    }

    #[test]
    fn uc_43_a_constant_attribute_is_at_distance_zero() {
        let single = DistanceTree::new(Vec::new()).unwrap();
        let chain = DistanceTree::new(vec![vec![0], vec![0]]).unwrap();
        assert!(near(equal_distance(&[3u32], &[9u32]), 0.0));
        assert!(near(ordered_distance(&[3u32], &[9u32]), 0.0));
        assert!(near(hierarchical(&[3], &[9], &single), 0.0));
        assert!(near(hierarchical(&[3], &[9], &chain), 0.0));
    }

    #[test]
    fn a_flat_tree_gives_the_equal_distance() {
        let flat = DistanceTree::new(vec![vec![0; 5]]).unwrap();
        let (class, reference) = ([4u32, 0, 1, 9, 2], [11u32, 5, 7, 10, 30]);
        assert!(near(
            hierarchical(&class, &reference, &flat),
            equal_distance(&class, &reference)
        ));
    }

    #[test]
    fn the_whole_table_is_at_distance_exactly_zero() {
        // Thirds and sevenths are not exact in binary; integer arithmetic gives 0 and not 1e-17.
        let all = [1u64, 2, 4, 700_001];
        assert_eq!(equal_distance(&all, &all).to_bits(), 0);
        assert_eq!(ordered_distance(&all, &all).to_bits(), 0);
        let triple = all.map(|count| 3 * count);
        assert_eq!(equal_distance(&all, &triple).to_bits(), 0);
    }

    #[test]
    fn a_tree_with_a_missing_parent_is_refused() {
        assert_eq!(DistanceTree::new(vec![vec![0, 1]]), None);
        assert_eq!(DistanceTree::new(vec![vec![0, 2], vec![0, 0]]), None);
        assert_eq!(DistanceTree::new(vec![Vec::new()]), None);
    }
}
