//! Distances between the distribution of a class and a reference (t-closeness), from exact integers.
//!
//! A class holds `n` of the `N` counted values, `a_v` of each value; the reference holds `q_v` of `N`. Every distance is
//! an integer over a multiple of `n N`, so it does not depend on the order of rows, and equal classes are exactly equal.
//!
//! Source: N. Li, T. Li, S. Venkatasubramanian, "t-closeness", 2007; the reference is a parameter (user-cases D4).

use super::hierarchy::Generalization;

/// Counts of a class: ranks ascending, each with its count, which is positive.
pub(crate) type Counts<'a> = &'a [(u32, u64)];

/// A reference distribution, prepared for all distances. Ranks number the values in their order, missing last.
#[derive(Debug)]
pub(crate) struct Reference {
    counts: Vec<u64>,
    total: i128,
    /// Among the ranks that occur: place of each rank (or of the next that occurs).
    places: Vec<usize>,
    /// By place: values up to and with it.
    cumulated: Vec<i128>,
    /// By place: sum of `cumulated` before it.
    area: Vec<i128>,
}

impl Reference {
    pub(crate) fn new(counts: Vec<u64>) -> Self {
        let (mut total, mut sum) = (0, 0);
        let (mut places, mut cumulated, mut area) = (Vec::new(), Vec::new(), vec![0]);
        for &count in &counts {
            places.push(cumulated.len());
            if count > 0 {
                total += i128::from(count);
                sum += total;
                cumulated.push(total);
                area.push(sum);
            }
        }
        Self {
            counts,
            total,
            places,
            cumulated,
            area,
        }
    }

    /// Half the sum of absolute differences.
    pub(crate) fn equal(&self, class: Counts<'_>) -> f64 {
        let size = size(class);
        let (mut twice, mut covered) = (0, 0);
        for &(rank, count) in class {
            let reference = i128::from(self.counts[rank as usize]);
            twice += (i128::from(count) * self.total - reference * size).abs();
            covered += reference;
        }
        twice += size * (self.total - covered);
        ratio(twice, 2 * size * self.total)
    }

    /// Mean absolute difference of the running sums over the values that occur in the reference, in their order.
    ///
    /// Cost: per value of the class a binary search, however many values the reference has.
    pub(crate) fn ordered(&self, class: Counts<'_>) -> f64 {
        let size = size(class);
        let steps = self.cumulated.len();
        if steps < 2 {
            return 0.0;
        }
        let (mut running, mut from, mut sum) = (0, 0, 0);
        for &(rank, count) in class {
            let to = self.places[rank as usize];
            sum += self.stretch(running, size, from, to);
            running += i128::from(count);
            from = to;
        }
        sum += self.stretch(running, size, from, steps);
        ratio(sum, (steps as i128 - 1) * size * self.total)
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

    /// Mass that must cross the inner nodes of a hierarchy, each weighted by its height over the root's.
    ///
    /// `code_of` gives the value code of each rank. Cost: the number of nodes.
    pub(crate) fn hierarchical(
        &self,
        class: Counts<'_>,
        code_of: &[u32],
        hierarchy: &Generalization,
    ) -> f64 {
        let size = size(class);
        let levels = &hierarchy.levels;
        let node_of = |rank: usize| levels[0].node_of[code_of[rank] as usize] as usize;
        let mut extras = vec![0_i128; levels[0].leaves.len()];
        for (rank, &count) in self.counts.iter().enumerate() {
            extras[node_of(rank)] -= i128::from(count) * size;
        }
        for &(rank, count) in class {
            extras[node_of(rank as usize)] += i128::from(count) * self.total;
        }
        let mut cost = 0;
        for (level, height) in levels.windows(2).zip(1..) {
            let nodes = level[1].leaves.len();
            let (mut surplus, mut deficit) = (vec![0_i128; nodes], vec![0_i128; nodes]);
            for (&extra, &parent) in extras.iter().zip(&level[0].parent) {
                let side = if extra > 0 {
                    &mut surplus
                } else {
                    &mut deficit
                };
                side[parent as usize] += extra.abs();
            }
            let moved = surplus
                .iter()
                .zip(&deficit)
                .map(|(&more, &less)| more.min(less));
            cost += height * moved.sum::<i128>();
            extras = surplus
                .into_iter()
                .zip(deficit)
                .map(|(more, less)| more - less)
                .collect();
        }
        ratio(cost, (levels.len() as i128 - 1) * size * self.total)
    }
}

fn size(class: Counts<'_>) -> i128 {
    class.iter().map(|&(_, count)| i128::from(count)).sum()
}

fn ratio(part: i128, whole: i128) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

/// Two to the power of the entropy of the counts: the number of equally frequent values that would be as diverse.
///
/// Exact for equal counts, and for results within 1e-9 of a whole number, so that `>= 2` means what it says; 0 for no
/// counts. The order of the counts does not matter.
pub(crate) fn effective_values(counts: impl Iterator<Item = u64>) -> f64 {
    let mut counts: Vec<u64> = counts.collect();
    counts.sort_unstable();
    let total: u64 = counts.iter().sum();
    if total == 0 {
        return 0.0;
    }
    let weighted: f64 = counts
        .iter()
        .map(|&count| count as f64 * (count as f64).log2())
        .sum();
    let effective = ((total as f64).log2() - weighted / total as f64).exp2();
    let whole = effective.round();
    if (effective - whole).abs() < 1e-9 {
        whole
    } else {
        effective
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::hierarchy::Level;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
    }

    fn ranks(ranks: &[u32]) -> Vec<(u32, u64)> {
        ranks.iter().map(|&rank| (rank, 1)).collect()
    }

    // algorithms.md F 21: nine salaries, classes {3,4,5} and {6,8,11}.
    #[test]
    fn worked_example_21_ordered_and_equal() {
        let reference = Reference::new(vec![1; 9]);
        close(reference.ordered(&ranks(&[0, 1, 2])), 0.375);
        close(reference.ordered(&ranks(&[3, 5, 8])), 1.0 / 6.0);
        close(reference.equal(&ranks(&[0, 1, 2])), 2.0 / 3.0);
        close(reference.equal(&ranks(&[3, 5, 8])), 2.0 / 3.0);
    }

    // UC-39, appendix 4: wards A, B and C.
    #[test]
    fn uc_39_ordered_and_equal_are_not_confused() {
        let reference = Reference::new(vec![1; 9]);
        let wards = [
            ([1, 2, 3], 0.375),
            ([4, 6, 9], 12.0 / 72.0),
            ([5, 7, 8], 17.0 / 72.0),
        ];
        for (days, ordered) in wards {
            let class = ranks(&days.map(|day| day - 1));
            close(reference.ordered(&class), ordered);
            close(reference.equal(&class), 2.0 / 3.0);
        }
    }

    /// Two groups of two leaves below one root.
    fn two_groups() -> Generalization {
        let level = |node_of: &[u32], parent: &[u32], nodes: usize| Level {
            node_of: node_of.to_vec(),
            parent: parent.to_vec(),
            labels: vec![None; nodes],
            leaves: vec![1; nodes],
        };
        Generalization {
            levels: vec![
                level(&[0, 1, 2, 3, 4], &[0, 1, 1, 2, 2], 5),
                level(&[0, 1, 1, 2, 2], &[0, 0, 0], 3),
                level(&[0; 5], &[], 1),
            ],
            domain: 4,
        }
    }

    // algorithms.md F 22 and UC-41, appendix 9.
    #[test]
    fn worked_example_22_hierarchical() {
        let (reference, codes) = (Reference::new(vec![2; 4]), [1, 2, 3, 4]);
        let distance = |class: &[(u32, u64)]| reference.hierarchical(class, &codes, &two_groups());
        close(distance(&[(0, 8)]), 0.625);
        close(distance(&[(0, 4), (1, 4)]), 0.5);
        close(reference.equal(&[(0, 8)]), 0.75);
        let ward = [(0, 2), (2, 2)];
        close(distance(&ward), 0.25);
        close(reference.equal(&ward), 0.5);
    }

    // algorithms.md F 23 and UC-37, appendix 8.
    #[test]
    fn worked_example_23_entropy() {
        close(effective_values([2, 1, 1].into_iter()), 2.828_427);
        close(effective_values([6, 2, 2].into_iter()), 2.586_409);
    }

    #[test]
    fn uc_36_two_equally_frequent_values_are_two_exactly() {
        for size in 1..200 {
            for values in 1..20 {
                let found = effective_values(std::iter::repeat_n(size, values));
                assert_eq!(found.to_bits(), (values as f64).to_bits());
            }
        }
    }

    // UC-43.
    #[test]
    fn uc_43_a_single_value_is_at_no_distance() {
        let reference = Reference::new(vec![7]);
        close(reference.equal(&[(0, 3)]), 0.0);
        close(reference.ordered(&[(0, 3)]), 0.0);
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
}
