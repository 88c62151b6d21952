//! l-diversity: how many values a class holds, and how evenly.

use super::{TOLERANCE, at_least, below, real, total};

/// Number of distinct values of a class.
///
/// Source: Machanavajjhala et al., l-diversity, 2007.
#[must_use]
pub fn distinct<C: Copy + Into<u64>>(counts: &[C]) -> u64 {
    counts.iter().filter(|&&count| count.into() > 0).count() as u64
}

/// Shannon entropy of a class in bits, `sum p log2(1/p)`; 0 for an empty class.
///
/// Every term is positive, so nothing cancels; equally frequent values give the exact logarithm.
#[must_use]
pub fn entropy_bits<C: Copy + Into<u64>>(counts: &[C]) -> f64 {
    let rows = total(counts);
    let mut bits = 0.0;
    for &count in counts {
        let count = real(count);
        if count > 0.0 {
            bits += count / rows * (rows / count).log2();
        }
    }
    bits
}

/// The l of entropy l-diversity that a class reaches, `2^entropy`; 0 for an empty class, else at least 1.
///
/// Within 1e-9 of a whole number it is that number, so that `>= 2` means what it says.
#[must_use]
pub fn entropy_l<C: Copy + Into<u64>>(counts: &[C]) -> f64 {
    if total(counts) <= 0.0 {
        return 0.0;
    }
    let effective = entropy_bits(counts).exp2();
    let whole = effective.round();
    if (effective - whole).abs() < 1e-9 {
        whole
    } else {
        effective
    }
}

/// Whether the entropy of a class is at least `log2 l`. `l` may be a fraction; an empty class fails any `l > 0`.
///
/// Source: Machanavajjhala et al., l-diversity, 2007, Definition 4.1.
#[must_use]
pub fn is_entropy_diverse<C: Copy + Into<u64>>(counts: &[C], l: f64) -> bool {
    if total(counts) > 0.0 {
        at_least(entropy_bits(counts), l.log2())
    } else {
        l <= 0.0
    }
}

/// Whether `r_1 < c (r_l + ... + r_m)` for the counts `r` in falling order, strictly.
///
/// `l = 1` puts the sum over all rows. A class of fewer than `l` values has an empty sum and fails.
/// Cost: at most `l` passes, no sorting.
///
/// Source: Machanavajjhala et al., l-diversity, 2007, Definition 4.2.
#[must_use]
pub fn is_recursively_diverse<C: Copy + Into<u64>>(counts: &[C], c: f64, l: u64) -> bool {
    let (largest, tail) = largest_and_tail(counts, l);
    tail > 0.0 && below(largest, c * tail)
}

/// The bound that `c` of recursive (c,l)-diversity must exceed, `r_1 / (r_l + ... + r_m)`.
///
/// `None` if no `c` is large enough: the class has fewer than `l` values.
#[must_use]
pub fn recursive_c<C: Copy + Into<u64>>(counts: &[C], l: u64) -> Option<f64> {
    let (largest, tail) = largest_and_tail(counts, l);
    (tail > TOLERANCE).then(|| largest / tail)
}

/// The largest count, and the sum of all but the `l - 1` largest.
fn largest_and_tail<C: Copy + Into<u64>>(counts: &[C], l: u64) -> (f64, f64) {
    let mut rows: u64 = 0;
    let mut largest: u64 = 0;
    for &count in counts {
        rows += count.into();
        largest = largest.max(count.into());
    }
    // Takes the l - 1 largest away, one distinct count with all its repetitions at a time.
    let mut to_drop = l.saturating_sub(1);
    let mut level = largest;
    while to_drop > 0 && level > 0 {
        let mut times: u64 = 0;
        let mut next: u64 = 0;
        for &count in counts {
            let count = count.into();
            if count == level {
                times += 1;
            } else if count < level {
                next = next.max(count);
            }
        }
        let dropped = times.min(to_drop);
        rows -= dropped * level;
        to_drop -= dropped;
        level = next;
    }
    (largest as f64, rows as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64, width: f64) -> bool {
        (left - right).abs() <= width
    }

    #[test]
    fn entropy_of_two_one_one_is_one_and_a_half_bits() {
        // Worked example 23: 1/2 * 1 + 2 * 1/4 * 2 = 1.5; 2^1.5 = 2.828427.
        let counts = [2u32, 1, 1];
        assert!(near(entropy_bits(&counts), 1.5, 1e-15));
        assert!(near(entropy_l(&counts), 2.828_427_124_746, 1e-12));
        assert!(is_entropy_diverse(&counts, 2.828));
        assert!(!is_entropy_diverse(&counts, 2.829));
        assert!(is_entropy_diverse(&counts, 1.5f64.exp2()));
    }

    #[test]
    fn uc_36_equally_frequent_values_reach_their_number_exactly() {
        for values in 1..=200usize {
            for times in [1u64, 3, 7, 999_983] {
                let counts = vec![times; values];
                assert!(near(entropy_l(&counts), values as f64, 1e-9));
                assert!(is_entropy_diverse(&counts, values as f64));
                assert!(!is_entropy_diverse(&counts, values as f64 + 1e-6));
            }
        }
        assert!(near(entropy_l(&[5u64, 5]), 2.0, 1e-6));
    }

    #[test]
    fn uc_37_counts_six_two_two_need_the_bounds_worked_by_hand() {
        // Appendix 8: (c,2) needs c > 6/4, (c,3) needs c > 6/2, both strictly; 2^0.950271 is the entropy in nats.
        let counts = [2u32, 6, 0, 2];
        assert_eq!(distinct(&counts), 3);
        assert!(near(entropy_l(&counts), 2.586_409, 1e-6));
        assert!(near(
            entropy_bits(&counts) * std::f64::consts::LN_2,
            0.950_271,
            1e-6
        ));
        assert_eq!(recursive_c(&counts, 2), Some(1.5));
        assert_eq!(recursive_c(&counts, 3), Some(3.0));
        assert_eq!(recursive_c(&counts, 4), None);
        assert!(!is_recursively_diverse(&counts, 3.0, 3));
        assert!(is_recursively_diverse(&counts, 3.000_001, 3));
        assert!(!is_recursively_diverse(&counts, 1e9, 4));
    }

    #[test]
    fn recursive_diversity_drops_the_most_frequent_values() {
        // Worked example 23: counts 5,3,2,1: (2,2): 5 < 2*6; (1,3): 5 < 1*3 is false.
        let counts = [1u32, 5, 2, 3];
        assert!(is_recursively_diverse(&counts, 2.0, 2));
        assert!(!is_recursively_diverse(&counts, 1.0, 3));
        assert!(is_recursively_diverse(&counts, 1.0, 1));
    }

    #[test]
    fn a_strict_limit_is_not_met_by_rounding() {
        // 1.1 * 10 is 11.000000000000002 in binary; 11 < 11 is false all the same.
        assert!(!is_recursively_diverse(&[11u32, 10], 1.1, 2));
        assert!(is_recursively_diverse(&[11u32, 10], 1.100_001, 2));
    }

    #[test]
    fn an_empty_class_has_no_diversity() {
        assert_eq!(distinct(&[0u32, 0]), 0);
        assert!(entropy_l(&[0u32; 3]).abs() < 1e-15);
        assert!(!is_entropy_diverse(&[0u32; 3], 1.0));
        assert!(!is_recursively_diverse::<u32>(&[], 5.0, 1));
    }

    #[test]
    fn a_class_of_one_value_has_entropy_l_of_one() {
        // UC-43
        assert!(near(entropy_l(&[7u32]), 1.0, 1e-15));
        assert!(is_entropy_diverse(&[7u32], 1.0));
        assert!(!is_entropy_diverse(&[7u32], 1.001));
    }
}
