//! How mixed the sensitive values of the classes are (algorithms.md B.1, B.2, B.6).

use super::partition::{Member, Members};
use super::points::Points;
use crate::anonymize::table::MISSING;

/// How the entropies of several sensitive attributes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntropyKind {
    /// Sum over the attributes of the least entropy of any class.
    SumOfMin,
    /// Least, over the classes, of the sum over the attributes.
    MinOfSum,
}

/// Exponent of the mean that guides a search: close to the least, but it moves with every class.
const EXPONENT: f64 = -8.0;
/// Added to every entropy before the mean and taken off after it: without it one class of entropy 0 hides the others.
const FLOOR: f64 = 0.05;

/// The entropies of one partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Entropies {
    /// By class, then by sensitive attribute.
    by_class: Vec<Vec<f64>>,
    /// Rows of each class.
    sizes: Vec<u64>,
    attributes: usize,
}

/// The entropy of counts, in bits.
#[must_use]
pub fn entropy(counts: &[u64]) -> f64 {
    let total: u64 = counts.iter().sum();
    let terms = counts.iter().filter(|&&count| count > 0).map(|&count| {
        let share = count as f64 / total as f64;
        -share * share.log2()
    });
    // Not the negative zero of a single value.
    terms.sum::<f64>() + 0.0
}

/// Rows by value of one sensitive attribute, unknown ones left out.
///
/// Cost: one sort of the members.
#[must_use]
pub fn value_counts(codes: &[u32], members: &[Member]) -> Vec<(u32, u64)> {
    let mut counts: Vec<(u32, u64)> = members
        .iter()
        .map(|&(cell, rows)| (codes[cell as usize], u64::from(rows)))
        .filter(|&(code, _)| code != MISSING)
        .collect();
    counts.sort_unstable();
    counts.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 += later.1;
        }
        same
    });
    counts
}

impl Entropies {
    /// Entropies of every class; where `normalised`, divided by `log2` of the number of values of the domain, so that
    /// they lie in 0 to 1. Unknown values do not count.
    #[must_use]
    pub fn of(points: &Points, members: &Members, normalised: bool) -> Self {
        let class = |members: &[Member]| -> Vec<f64> {
            let attributes = points.sensitive.iter().map(|attribute| {
                let counts = value_counts(&attribute.codes, members);
                let counts: Vec<u64> = counts.into_iter().map(|(_, rows)| rows).collect();
                let bits = entropy(&counts);
                let most = f64::from(attribute.values.max(2)).log2();
                if normalised { bits / most } else { bits }
            });
            attributes.collect()
        };
        Self {
            by_class: members.iter().map(class).collect(),
            sizes: members.sizes(),
            attributes: points.sensitive.len(),
        }
    }

    /// From given entropies by class and attribute.
    #[must_use]
    pub fn new(by_class: Vec<Vec<f64>>, sizes: Vec<u64>) -> Self {
        let attributes = by_class.first().map_or(0, Vec::len);
        Self {
            by_class,
            sizes,
            attributes,
        }
    }

    /// The least entropy of any class, by attribute.
    #[must_use]
    pub fn least(&self) -> Vec<f64> {
        let least = |attribute: usize| {
            let classes = self.by_class.iter().map(|class| class[attribute]);
            classes.fold(f64::INFINITY, f64::min)
        };
        (0..self.attributes).map(least).collect()
    }

    /// The privacy term: entropies weighted by one lambda per attribute (0 without attributes or classes).
    #[must_use]
    pub fn term(&self, lambdas: &[f64], kind: EntropyKind) -> f64 {
        if self.by_class.is_empty() || self.attributes == 0 {
            return 0.0;
        }
        match kind {
            EntropyKind::SumOfMin => weighted(&self.least(), lambdas),
            EntropyKind::MinOfSum => {
                let sums = self.by_class.iter().map(|class| weighted(class, lambdas));
                sums.fold(f64::INFINITY, f64::min)
            }
        }
    }

    /// The same with the least replaced by a mean of exponent -8, weighted by size: it has a slope where the least is flat.
    #[must_use]
    pub fn guide(&self, lambdas: &[f64], kind: EntropyKind) -> f64 {
        if self.by_class.is_empty() || self.attributes == 0 {
            return 0.0;
        }
        let rows: u64 = self.sizes.iter().sum();
        let mean = |value: &dyn Fn(&[f64]) -> f64| {
            let terms = self.by_class.iter().zip(&self.sizes).map(|(class, &size)| {
                size as f64 / rows as f64 * (value(class) + FLOOR).powf(EXPONENT)
            });
            terms.sum::<f64>().powf(1.0 / EXPONENT) - FLOOR
        };
        match kind {
            EntropyKind::SumOfMin => {
                let means: Vec<f64> = (0..self.attributes)
                    .map(|attribute| mean(&|class| class[attribute]))
                    .collect();
                weighted(&means, lambdas)
            }
            EntropyKind::MinOfSum => mean(&|class| weighted(class, lambdas)),
        }
    }

    /// By attribute: share of rows in classes with one known value or none.
    #[must_use]
    pub fn homogeneity(&self) -> Vec<f64> {
        let rows: u64 = self.sizes.iter().sum();
        let share = |attribute: usize| {
            let classes = self.by_class.iter().zip(&self.sizes);
            let alike = classes.filter(|(class, _)| class[attribute] <= 0.0);
            let alike: u64 = alike.map(|(_, &size)| size).sum();
            alike as f64 / rows.max(1) as f64
        };
        (0..self.attributes).map(share).collect()
    }
}

fn weighted(values: &[f64], lambdas: &[f64]) -> f64 {
    let terms = values.iter().zip(lambdas);
    terms.map(|(value, lambda)| value * lambda).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two classes: SA1 counts [3,1], [2,2]; SA2 [2,2], [3,1].
    fn example() -> Entropies {
        let (uneven, even) = (entropy(&[3, 1]), entropy(&[2, 2]));
        Entropies::new(vec![vec![uneven, even], vec![even, uneven]], vec![4, 4])
    }

    // algorithms.md F 11.
    #[test]
    fn worked_example_11_entropy_term() {
        let term = |kind| example().term(&[1.0, 1.0], kind);
        assert!((term(EntropyKind::SumOfMin) - 1.622_56).abs() < 5e-6);
        assert!((term(EntropyKind::MinOfSum) - 1.811_28).abs() < 5e-6);
        assert!((example().term(&[2.0, 0.0], EntropyKind::SumOfMin) - 1.622_56).abs() < 5e-6);
    }

    #[test]
    fn the_guide_moves_where_the_least_is_flat() {
        let lambdas = [1.0];
        let one = Entropies::new(vec![vec![0.0], vec![1.0], vec![1.0]], vec![4, 4, 4]);
        let two = Entropies::new(vec![vec![0.0], vec![0.0], vec![1.0]], vec![4, 4, 4]);
        let kind = EntropyKind::SumOfMin;
        assert!((one.term(&lambdas, kind) - two.term(&lambdas, kind)).abs() < 1e-12);
        assert!(one.guide(&lambdas, kind) > two.guide(&lambdas, kind));
        let alike = Entropies::new(vec![vec![0.7], vec![0.7]], vec![4, 9]);
        assert!((alike.guide(&lambdas, kind) - 0.7).abs() < 1e-9);
        assert_eq!(two.homogeneity(), [2.0 / 3.0]);
    }
}
