//! Paired comparisons by seed: Wilcoxon's signed-rank test, and Holm's correction for several of them.
//!
//! Sources: F. Wilcoxon, "Individual comparisons by ranking methods", 1945; M. Hollander, D. Wolfe, "Nonparametric
//! statistical methods", section 3.1 (ties, normal approximation); S. Holm, "A simple sequentially rejective multiple test
//! procedure", 1979.

/// Most differences other than 0 for which the distribution is counted out.
pub const MOST_EXACT: usize = 50;

/// What a signed-rank test found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRanks {
    /// Differences other than 0; the others are left out.
    pub differing: usize,
    /// Sum of the ranks of positive differences; a multiple of one half.
    pub positive: f64,
    /// Sum of the ranks of negative differences.
    pub negative: f64,
    /// Chance of sums as far apart as these, or farther, if neither side were better; two-sided, above 0 and at most 1.
    pub p: f64,
    /// Whether the chance was counted out, over all signs of the ranks at hand (ties share their mean rank); else it is
    /// that of a normal distribution with the variance of these ranks, corrected for continuity.
    pub exact: bool,
}

impl SignedRanks {
    /// Rank-biserial correlation: 1 where every difference is positive, -1 where every one is negative, 0 where none is
    /// other than 0.
    #[must_use]
    pub fn correlation(&self) -> f64 {
        let sum = self.positive + self.negative;
        if sum > 0.0 {
            (self.positive - self.negative) / sum
        } else {
            0.0
        }
    }
}

/// Wilcoxon's signed-rank test of paired differences, two-sided.
///
/// Differences are whole numbers, so that ties are ties. Cost: one sort, and up to [`MOST_EXACT`] differences the cube of
/// their number.
#[must_use]
pub fn signed_ranks(differences: &[i128]) -> SignedRanks {
    let mut ranked: Vec<i128> = differences
        .iter()
        .copied()
        .filter(|&one| one != 0)
        .collect();
    ranked.sort_unstable_by_key(|one| one.unsigned_abs());
    let count = ranked.len();
    // Twice the ranks: the mean of tied ones is whole then.
    let (mut doubled, mut ties) = (Vec::with_capacity(count), 0.0);
    for tied in ranked.chunk_by(|left, right| left.unsigned_abs() == right.unsigned_abs()) {
        let before = doubled.len();
        doubled.extend(std::iter::repeat_n(2 * before + tied.len() + 1, tied.len()));
        let tied = tied.len() as f64;
        ties += tied * tied * tied - tied;
    }
    let positive: usize = ranked
        .iter()
        .zip(&doubled)
        .filter(|(one, _)| **one > 0)
        .map(|(_, &rank)| rank)
        .sum();
    let all = count * (count + 1);
    let exact = count <= MOST_EXACT;
    let p = if exact {
        counted_out(&doubled, positive.min(all - positive))
    } else {
        approximated(count as f64, ties, positive as f64 / 2.0)
    };
    SignedRanks {
        differing: count,
        positive: positive as f64 / 2.0,
        negative: (all - positive) as f64 / 2.0,
        p,
        exact,
    }
}

/// Twice the share of all choices of signs whose sum of doubled ranks is at most `smaller`, at most 1.
fn counted_out(doubled: &[usize], smaller: usize) -> f64 {
    let all: usize = doubled.iter().sum();
    let mut ways = vec![0_u64; all + 1];
    ways[0] = 1;
    let mut reached = 0;
    for &rank in doubled {
        for sum in (0..=reached).rev() {
            ways[sum + rank] += ways[sum];
        }
        reached += rank;
    }
    // At most 2^50 choices: every count is a float without loss.
    let at_most: u64 = ways[..=smaller].iter().sum();
    let choices: u64 = ways.iter().sum();
    (2.0 * at_most as f64 / choices as f64).min(1.0)
}

fn approximated(count: f64, ties: f64, positive: f64) -> f64 {
    let mean = count * (count + 1.0) / 4.0;
    let variance = count * (count + 1.0) * (2.0 * count + 1.0) / 24.0 - ties / 48.0;
    let beyond = ((positive - mean).abs() - 0.5).max(0.0);
    complementary_error(beyond / variance.sqrt() / std::f64::consts::SQRT_2).min(1.0)
}

/// The complementary error function of a number from 0, to about 14 digits.
fn complementary_error(at: f64) -> f64 {
    let scale = (-at * at).exp() / std::f64::consts::PI.sqrt();
    if at < 2.0 {
        // 1 less the series of the error function (Abramowitz and Stegun 7.1.6).
        let (mut term, mut sum, mut number) = (1.0, 1.0, 1.0);
        while term > sum * 1e-17 {
            term *= 2.0 * at * at / (2.0 * number + 1.0);
            sum += term;
            number += 1.0;
        }
        return 1.0 - 2.0 * at * scale * sum;
    }
    // The continued fraction (7.1.14), from its far end.
    let mut fraction = at;
    for number in (1..=60).rev() {
        fraction = at + f64::from(number) / 2.0 / fraction;
    }
    scale / fraction
}

/// Chances of several tests, corrected by Holm's procedure: each is the least level of all tests together at which it
/// would still be told significant. In the order given.
#[must_use]
pub fn holm(chances: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..chances.len()).collect();
    order.sort_by(|&left, &right| chances[left].total_cmp(&chances[right]));
    let mut corrected = vec![0.0; chances.len()];
    let mut before = 0.0_f64;
    for (place, &index) in order.iter().enumerate() {
        let left = (chances.len() - place) as f64;
        before = before.max((left * chances[index]).min(1.0));
        corrected[index] = before;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All signs tried one by one.
    fn by_force(differences: &[i128]) -> f64 {
        let sizes: Vec<u128> = differences
            .iter()
            .filter(|one| **one != 0)
            .map(|one| one.unsigned_abs())
            .collect();
        // Mean ranks by their definition.
        let rank = |size: &u128| {
            let smaller = sizes.iter().filter(|other| *other < size).count() as f64;
            let equal = sizes.iter().filter(|other| *other == size).count() as f64;
            smaller + f64::midpoint(equal, 1.0)
        };
        let ranks: Vec<f64> = sizes.iter().map(rank).collect();
        let all: f64 = ranks.iter().sum();
        let distance = |positive: f64| (2.0 * positive - all).abs();
        let signs = differences.iter().filter(|one| **one != 0);
        let found: f64 = signs
            .zip(&ranks)
            .map(|(&one, &rank)| if one > 0 { rank } else { 0.0 })
            .sum();
        let choices = 1_u32 << ranks.len();
        let as_far = (0..choices).filter(|choice| {
            let chosen = ranks.iter().enumerate();
            let sum: f64 = chosen
                .filter(|(place, _)| choice >> place & 1 == 1)
                .map(|(_, rank)| rank)
                .sum();
            distance(sum) >= distance(found)
        });
        as_far.count() as f64 / f64::from(choices)
    }

    // Hollander and Wolfe, example 3.1: depression scale before and after, nine patients; V = 40, p = 0.03906.
    #[test]
    fn the_depression_scale() {
        let before = [1830, 500, 1620, 2480, 1680, 1880, 1550, 3060, 1300];
        let after = [878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290];
        let differences: Vec<i128> = before
            .iter()
            .zip(after)
            .map(|(one, other)| one - other)
            .collect();
        let found = signed_ranks(&differences);
        assert_eq!((found.differing, found.exact), (9, true));
        assert!((found.positive - 40.0).abs() < 1e-12 && (found.negative - 5.0).abs() < 1e-12);
        assert!((found.p - 20.0 / 512.0).abs() < 1e-12);
        assert!((found.correlation() - 35.0 / 45.0).abs() < 1e-12);
    }

    // Ten pairs of which one is equal and two differ by the same: W+ = 27, W- = 18.
    #[test]
    fn equal_pairs_are_left_out_and_ties_share_their_rank() {
        let found = signed_ranks(&[15, -7, 5, 20, 0, -9, 17, -12, 5, -10]);
        assert_eq!(found.differing, 9);
        assert!((found.positive - 27.0).abs() < 1e-12 && (found.negative - 18.0).abs() < 1e-12);
        assert!((found.p - by_force(&[15, -7, 5, 20, -9, 17, -12, 5, -10])).abs() < 1e-12);
    }

    #[test]
    fn chances_are_those_of_all_signs() {
        // A little generator: values 0 to 9, so that there are ties and zeros.
        let mut state = 7_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            i128::from(state >> 33) % 19 - 9
        };
        for count in 0..=12 {
            for _ in 0..5 {
                let differences: Vec<i128> = (0..count).map(|_| draw()).collect();
                let found = signed_ranks(&differences);
                assert!(found.exact && found.p > 0.0);
                assert!(
                    (found.p - by_force(&differences)).abs() < 1e-12,
                    "{differences:?}"
                );
            }
        }
    }

    // The tables' two-sided critical values at 5 %: the sum 8 of 10 pairs, 89 of 25 (Wilcoxon's table).
    #[test]
    fn critical_values_of_the_tables() {
        let with_smaller_sum = |count: usize, mut sum: usize| {
            let mut differences = vec![0; count];
            for rank in (1..=count).rev() {
                let is_negative = rank <= sum;
                sum -= if is_negative { rank } else { 0 };
                let size = i128::try_from(rank).unwrap();
                differences[rank - 1] = if is_negative { -size } else { size };
            }
            signed_ranks(&differences)
        };
        for (count, critical) in [(6, 0), (8, 3), (10, 8), (20, 52), (25, 89)] {
            let (at, beyond) = (
                with_smaller_sum(count, critical),
                with_smaller_sum(count, critical + 1),
            );
            assert!((at.negative - critical as f64).abs() < 1e-12);
            assert!(
                at.p <= 0.05 && beyond.p > 0.05,
                "{count}: {} {}",
                at.p,
                beyond.p
            );
        }
    }

    #[test]
    fn the_normal_distribution_takes_over_smoothly() {
        // 50 differences counted out, 51 approximated; and an approximation of what can be counted.
        let differences: Vec<i128> = (1..=50)
            .map(|size| if size % 3 == 0 { -size } else { size })
            .collect();
        let found = signed_ranks(&differences);
        let approximate = approximated(50.0, 0.0, found.positive);
        assert!(
            found.exact && (found.p - approximate).abs() < 2e-3,
            "{} {approximate}",
            found.p
        );
        let more: Vec<i128> = (1..=51)
            .map(|size| if size % 3 == 0 { -size } else { size })
            .collect();
        assert!(!signed_ranks(&more).exact);
        // All of one size: the ranks are alike, and the variance is that of their sum, n times the squared rank over 4.
        let alike: Vec<i128> = (0..60)
            .map(|place| if place < 40 { 1 } else { -1 })
            .collect();
        let z = (40.0 * 30.5 - 915.0 - 0.5) / (60.0_f64 * 30.5 * 30.5 / 4.0).sqrt();
        let expected = complementary_error(z / std::f64::consts::SQRT_2);
        assert!((signed_ranks(&alike).p - expected).abs() < 1e-12);
    }

    #[test]
    fn the_error_function_is_that_of_the_tables() {
        for (at, value) in [
            (0.0, 1.0),
            (0.5, 0.479_500_122_186_953_5),
            (1.0, 0.157_299_207_050_285_13),
            (1.999_999, 0.004_677_755_648_073_953),
            (2.0, 0.004_677_734_981_047_266),
            (3.0, 2.209_049_699_858_544e-5),
            (5.0, 1.537_459_794_428_035e-12),
        ] {
            let found = complementary_error(at);
            assert!(
                (found - value).abs() < 1e-12 * value.max(1e-3),
                "{at}: {found}"
            );
        }
    }

    #[test]
    fn holm_steps_down() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12);
        }
        assert!(
            holm(&[0.9, 0.8])
                .iter()
                .all(|found| (found - 1.0).abs() < 1e-12)
        );
        assert!(holm(&[]).is_empty());
    }
}
