//! A reference distribution and classes given sparsely: what many classes of few values are compared with.
//!
//! Values are known by rank, their place in the attribute's order. A class lists only the ranks that it holds, so a
//! comparison costs what the class holds and not what the attribute could: absent values are taken together, because
//! each model but the ordered distance sees their sum only, and the ordered distance jumps over them by bisection.

use super::{AbsentValues, DistanceTree};
use super::{equal_distance, hierarchical_distance, largest_disclosure, largest_gain};
use super::{is_beta_like, is_enhanced_beta_like, keeps_disclosure_below};

/// Counts of a class: ranks ascending, each with its count, which is positive.
pub type ClassCounts<'a> = &'a [(u32, u32)];

/// Counts of a reference by rank, prepared for comparisons.
#[derive(Debug, Clone)]
pub struct Reference {
    counts: Vec<u64>,
    total: u64,
    /// Among the ranks that occur: place of each rank, or of the next one that occurs.
    places: Vec<usize>,
    order: Ordered,
}

/// Buffers of comparisons, kept between classes.
#[derive(Debug, Default)]
pub struct Aligned {
    class: Vec<u64>,
    reference: Vec<u64>,
    extras: Vec<f64>,
}

impl Reference {
    /// A reference from its counts by rank.
    #[must_use]
    pub fn new(counts: Vec<u64>) -> Self {
        let mut places = Vec::with_capacity(counts.len());
        let mut occurring = 0;
        for &count in &counts {
            places.push(occurring);
            occurring += usize::from(count > 0);
        }
        Self {
            total: counts.iter().sum(),
            order: Ordered::new(counts.iter().copied().filter(|&count| count > 0)),
            places,
            counts,
        }
    }

    /// Number of values that occur.
    #[must_use]
    pub fn distinct(&self) -> u64 {
        self.order.cumulated.len() as u64
    }

    /// [`equal_distance`] of a class.
    #[must_use]
    pub fn equal(&self, class: ClassCounts<'_>, aligned: &mut Aligned) -> f64 {
        self.align(class, aligned);
        equal_distance(&aligned.class, &aligned.reference)
    }

    /// [`super::ordered_distance`] of a class over the values that occur in the reference.
    #[must_use]
    pub fn ordered(&self, class: ClassCounts<'_>) -> f64 {
        let placed = |&(rank, count): &(u32, u32)| (self.places[rank as usize], u64::from(count));
        self.order.distance(class.iter().map(placed))
    }

    /// [`hierarchical_distance`] of a class. Cost: the number of values and nodes.
    #[must_use]
    pub fn hierarchical(
        &self,
        class: ClassCounts<'_>,
        tree: &ValueTree,
        aligned: &mut Aligned,
    ) -> f64 {
        let leaves = tree.tree.leaves();
        for counts in [&mut aligned.class, &mut aligned.reference] {
            counts.clear();
            counts.resize(leaves, 0);
        }
        for &(rank, count) in class {
            aligned.class[tree.leaf_of_rank[rank as usize] as usize] += u64::from(count);
        }
        for (&leaf, &count) in tree.leaf_of_rank.iter().zip(&self.counts) {
            aligned.reference[leaf as usize] += count;
        }
        aligned.extras.resize(tree.tree.scratch_len(), 0.0);
        let Aligned {
            class,
            reference,
            extras,
        } = aligned;
        hierarchical_distance(class, reference, &tree.tree, extras)
    }

    /// [`largest_gain`] of a class.
    #[must_use]
    pub fn gain(&self, class: ClassCounts<'_>, aligned: &mut Aligned) -> f64 {
        self.align(class, aligned);
        largest_gain(&aligned.class, &aligned.reference)
    }

    /// [`is_beta_like`], or [`is_enhanced_beta_like`], of a class.
    #[must_use]
    pub fn is_beta_like(
        &self,
        class: ClassCounts<'_>,
        beta: f64,
        enhanced: bool,
        aligned: &mut Aligned,
    ) -> bool {
        self.align(class, aligned);
        if enhanced {
            is_enhanced_beta_like(&aligned.class, &aligned.reference, beta)
        } else {
            is_beta_like(&aligned.class, &aligned.reference, beta)
        }
    }

    /// [`largest_disclosure`] of a class.
    #[must_use]
    pub fn disclosure(
        &self,
        class: ClassCounts<'_>,
        absent: AbsentValues,
        aligned: &mut Aligned,
    ) -> f64 {
        self.align(class, aligned);
        largest_disclosure(&aligned.class, &aligned.reference, absent)
    }

    /// [`keeps_disclosure_below`] of a class.
    #[must_use]
    pub fn keeps_disclosure_below(
        &self,
        class: ClassCounts<'_>,
        delta: f64,
        absent: AbsentValues,
        aligned: &mut Aligned,
    ) -> bool {
        self.align(class, aligned);
        keeps_disclosure_below(&aligned.class, &aligned.reference, delta, absent)
    }

    /// Lays the values of a class beside those of the reference; those that the class lacks are one value at the end.
    fn align(&self, class: ClassCounts<'_>, aligned: &mut Aligned) {
        aligned.class.clear();
        aligned.reference.clear();
        let mut rest = self.total;
        for &(rank, count) in class {
            let expected = self.counts[rank as usize];
            aligned.class.push(u64::from(count));
            aligned.reference.push(expected);
            rest -= expected;
        }
        aligned.class.push(0);
        aligned.reference.push(rest);
    }
}

/// The hierarchy of an attribute's values, by rank.
#[derive(Debug, Clone)]
pub struct ValueTree {
    leaf_of_rank: Vec<u32>,
    tree: DistanceTree,
}

impl ValueTree {
    /// A tree, and the leaf under which the value of each rank stands; `None` if a leaf does not exist.
    #[must_use]
    pub fn new(leaf_of_rank: Vec<u32>, tree: DistanceTree) -> Option<Self> {
        let sound = leaf_of_rank
            .iter()
            .all(|&leaf| (leaf as usize) < tree.leaves());
        sound.then_some(Self { leaf_of_rank, tree })
    }
}

/// A reference in its order, each value one step, with sums of running sums: a stretch of steps on which the class's
/// running sum does not change costs one bisection.
#[derive(Debug, Clone)]
pub(super) struct Ordered {
    total: i128,
    /// By place: values up to and with it.
    cumulated: Vec<i128>,
    /// By place: sum of `cumulated` before it.
    area: Vec<i128>,
}

impl Ordered {
    pub(super) fn new(counts: impl Iterator<Item = u64>) -> Self {
        let (mut total, mut sum) = (0, 0);
        let (mut cumulated, mut area) = (Vec::new(), vec![0]);
        for count in counts {
            total += i128::from(count);
            sum += total;
            cumulated.push(total);
            area.push(sum);
        }
        Self {
            total,
            cumulated,
            area,
        }
    }

    /// `1/(m-1) sum_{i<m} |sum_{j<=i} (p_j - Q_j)|`, exact but for the last division; places ascending.
    pub(super) fn distance(&self, class: impl Iterator<Item = (usize, u64)> + Clone) -> f64 {
        let size: i128 = class.clone().map(|(_, count)| i128::from(count)).sum();
        let steps = self.cumulated.len();
        if steps < 2 || size == 0 {
            return 0.0;
        }
        let (mut running, mut from, mut sum) = (0, 0, 0);
        for (to, count) in class {
            sum += self.stretch(running, size, from, to);
            running += i128::from(count);
            from = to;
        }
        sum += self.stretch(running, size, from, steps);
        let whole = (steps as i128 - 1) * size * self.total;
        if whole == 0 {
            0.0
        } else {
            sum as f64 / whole as f64
        }
    }

    /// Sum over places `from..to` of |running N - cumulated n|, where the class's running sum does not change.
    fn stretch(&self, running: i128, size: i128, from: usize, to: usize) -> i128 {
        if from >= to {
            return 0;
        }
        let level = running * self.total;
        let below = self.cumulated[from..to].partition_point(|&sum| sum * size < level);
        let middle = from + below;
        let left = level * below as i128 - size * (self.area[middle] - self.area[from]);
        let right = size * (self.area[to] - self.area[middle]) - level * (to - middle) as i128;
        left + right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::distribution::ordered_distance;
    use proptest::prelude::*;

    fn close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-12,
            "{found} is not {expected}"
        );
    }

    #[test]
    fn values_that_the_reference_lacks_are_no_steps_of_the_order() {
        let sparse = Reference::new(vec![2, 0, 1, 0, 0, 1]);
        let dense = Reference::new(vec![2, 1, 1]);
        close(sparse.ordered(&[(2, 1)]), dense.ordered(&[(1, 1)]));
        close(
            sparse.ordered(&[(0, 1), (5, 1)]),
            dense.ordered(&[(0, 1), (2, 1)]),
        );
    }

    proptest! {
        #[test]
        fn sparse_classes_are_judged_like_dense_ones(
            pairs in prop::collection::vec((0_u32..4, 1_u64..6), 2..9),
            beta in 0.1_f64..3.0,
        ) {
            let class: Vec<u64> = pairs.iter().map(|&(count, _)| u64::from(count)).collect();
            let all: Vec<u64> = pairs.iter().map(|&(count, rest)| u64::from(count) + rest).collect();
            let counts: Vec<(u32, u32)> = (0..).zip(&pairs).map(|(rank, &(count, _))| (rank, count))
                .filter(|&(_, count)| count > 0).collect();
            prop_assume!(!counts.is_empty());
            let (reference, mut aligned) = (Reference::new(all.clone()), Aligned::default());
            close(reference.equal(&counts, &mut aligned), equal_distance(&class, &all));
            close(reference.ordered(&counts), ordered_distance(&class, &all));
            close(reference.gain(&counts, &mut aligned), largest_gain(&class, &all));
            for enhanced in [false, true] {
                let dense = if enhanced { is_enhanced_beta_like(&class, &all, beta) } else { is_beta_like(&class, &all, beta) };
                prop_assert_eq!(reference.is_beta_like(&counts, beta, enhanced, &mut aligned), dense);
            }
            for absent in [AbsentValues::Fail, AbsentValues::Skip] {
                let dense = keeps_disclosure_below(&class, &all, beta, absent);
                prop_assert_eq!(reference.keeps_disclosure_below(&counts, beta, absent, &mut aligned), dense);
            }
            // Pairs of neighbours under one root.
            let leaves = u32::try_from(class.len()).unwrap();
            let parents = vec![(0..leaves).map(|leaf| leaf / 2).collect(), vec![0; class.len().div_ceil(2)]];
            let tree = DistanceTree::new(parents).unwrap();
            let mut scratch = vec![0.0; tree.scratch_len()];
            let dense = hierarchical_distance(&class, &all, &tree, &mut scratch);
            let tree = ValueTree::new((0..leaves).collect(), tree).unwrap();
            close(reference.hierarchical(&counts, &tree, &mut aligned), dense);
        }
    }
}
