//! Exact random choices from uniform bits: no floating-point number decides anything.
//!
//! `f64` samplers of Laplace noise leak the value that they hide by their lowest bits (Mironov 2012). Here every
//! probability is a ratio of whole numbers, or `e` to the power of minus such a ratio (Canonne, Kamath and Steinke,
//! "The discrete Gaussian for differential privacy", 2020, algorithms 1 and 2).

use rand_chacha::rand_core::Rng;

/// A whole number below `bound`, each equally likely; `bound` is at least 1.
///
/// Lemire 2019: multiplication, with rejection of what would favour some results.
pub(super) fn below(random: &mut impl Rng, bound: u64) -> u64 {
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        let [low, high] = [product & u128::from(u64::MAX), product >> 64];
        if low >= u128::from(bound.wrapping_neg() % bound) {
            return u64::try_from(high).unwrap_or(0);
        }
    }
}

/// True with probability `numerator / denominator`, at most 1.
fn ratio(random: &mut impl Rng, numerator: u64, denominator: u64) -> bool {
    below(random, denominator) < numerator
}

/// True with probability `e^-(numerator / denominator)`, for a ratio of at most 1.
///
/// The number of successes before the first failure of trials with probabilities `x`, `x/2`, `x/3`, ... is even with
/// that probability.
fn exp_of_minus(random: &mut impl Rng, numerator: u64, denominator: u64) -> bool {
    let mut trial = 1;
    // Both are needed for x / trial; split in two, no product can overflow.
    while ratio(random, numerator, denominator) && ratio(random, 1, trial) {
        trial += 1;
    }
    trial % 2 == 1
}

/// Noise on whole numbers: `z` with probability proportional to `e^-(|z| * denominator / numerator)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiscreteLaplace {
    /// Of the scale, at least 1.
    pub(super) numerator: u64,
    /// Of the scale, at least 1.
    pub(super) denominator: u64,
}

impl DiscreteLaplace {
    /// The magnitude and whether it is to be subtracted.
    ///
    /// Cost: a handful of numbers, whatever the scale.
    pub(super) fn sample(self, random: &mut impl Rng) -> (u64, bool) {
        loop {
            let low = below(random, self.numerator);
            if !exp_of_minus(random, low, self.numerator) {
                continue;
            }
            let mut high = 0_u64;
            while exp_of_minus(random, 1, 1) {
                high += 1;
            }
            let magnitude =
                self.numerator.saturating_mul(high).saturating_add(low) / self.denominator;
            let is_negative = random.next_u64() >> 63 == 1;
            // Zero has one sign only.
            if magnitude > 0 || !is_negative {
                return (magnitude, is_negative);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    pub(crate) fn random(seed: u64) -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(seed)
    }

    /// Pearson's statistic, cells of fewer than 5 expected counts joined.
    pub(crate) fn chi_square(observed: &[u64], probabilities: &[f64]) -> (f64, usize) {
        let total = observed.iter().sum::<u64>() as f64;
        let (mut statistic, mut cells) = (0.0, 0);
        let (mut seen, mut expected) = (0.0, 0.0);
        for (&count, &probability) in observed.iter().zip(probabilities) {
            seen += count as f64;
            expected += probability * total;
            if expected >= 5.0 {
                statistic += (seen - expected) * (seen - expected) / expected;
                cells += 1;
                (seen, expected) = (0.0, 0.0);
            }
        }
        (statistic + seen + expected, cells)
    }

    /// Far beyond what chance gives: mean `cells`, deviation `sqrt(2 cells)`.
    pub(crate) fn assert_fits(observed: &[u64], probabilities: &[f64]) {
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let (statistic, cells) = chi_square(observed, probabilities);
        let bound = cells as f64 + 6.0 * (2.0 * cells as f64).sqrt() + 10.0;
        assert!(statistic < bound, "{statistic} over {cells} cells");
    }

    #[test]
    fn a_trial_succeeds_with_an_exponential_probability() {
        for (numerator, denominator) in [(0, 5), (1, 3), (1, 1), (2, 7)] {
            let mut random = random(numerator + 10);
            let mut observed = [0; 2];
            for _ in 0..40_000 {
                observed[usize::from(exp_of_minus(&mut random, numerator, denominator))] += 1;
            }
            let wanted = (-(numerator as f64) / denominator as f64).exp();
            assert_fits(&observed, &[1.0 - wanted, wanted]);
        }
    }

    #[test]
    fn discrete_laplace_noise_has_its_distribution() {
        // To some 12 scales on either side.
        for (numerator, denominator, most) in
            [(1, 1, 12_usize), (7, 2, 42), (40, 3, 160), (2, 5, 5)]
        {
            let noise = DiscreteLaplace {
                numerator,
                denominator,
            };
            let mut random = random(numerator * 100 + denominator);
            let rate = denominator as f64 / numerator as f64;
            // The mass at 0 is tanh(rate / 2), then it falls by e^-rate per step to either side.
            let at = |distance: usize| (rate / 2.0).tanh() * (-rate * distance as f64).exp();
            let mut probabilities: Vec<f64> = (0..=2 * most)
                .map(|place| at(place.abs_diff(most)))
                .collect();
            let rest = 1.0 - probabilities.iter().sum::<f64>();
            probabilities[0] += rest / 2.0;
            probabilities[2 * most] += rest / 2.0;
            let mut observed = vec![0; 2 * most + 1];
            for _ in 0..60_000 {
                let (magnitude, is_negative) = noise.sample(&mut random);
                let magnitude = usize::try_from(magnitude).unwrap().min(most);
                observed[if is_negative {
                    most - magnitude
                } else {
                    most + magnitude
                }] += 1;
            }
            assert_fits(&observed, &probabilities);
        }
    }

    #[test]
    fn numbers_below_a_bound_are_equally_likely() {
        let mut random = random(3);
        let mut observed = [0; 7];
        for _ in 0..70_000 {
            observed[usize::try_from(below(&mut random, 7)).unwrap()] += 1;
        }
        assert_fits(&observed, &[1.0 / 7.0; 7]);
    }
}
