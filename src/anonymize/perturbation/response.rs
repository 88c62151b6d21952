//! Randomised response over `d` values (Warner 1965; Kairouz, Oh and Viswanath 2014): the true one with probability
//! `e^eps / (e^eps + d - 1)`, every other one with the same share of the rest.

use rand_chacha::rand_core::Rng;

use super::exponential::{ONE, exp_of_minus};
use super::sampler::below;

/// Randomised response with probabilities that are whole multiples of 2^-64 and of the rest's share.
///
/// The probability of the true value is rounded down, so the loss of privacy is at most `eps`, never more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RandomizedResponse {
    /// Number of values, at least 2.
    pub(super) values: u64,
    /// Probability of the true one, in units of 2^-64.
    keep: u64,
}

impl RandomizedResponse {
    /// For `eps` in millionths, at least 1, and at least two values, at most 2^32.
    pub(super) fn new(millionths: u64, values: u64) -> Self {
        // e^eps / (e^eps + d - 1) = 1 / (1 + (d - 1) e^-eps), at least this with the exponential rounded up.
        let divisor = ONE + u128::from(values - 1) * exp_of_minus(millionths).high.max(1);
        Self {
            values,
            keep: u64::try_from(u128::MAX / divisor).unwrap_or(u64::MAX),
        }
    }

    /// A value for the true one; a true one outside the values is answered by any of them, each equally likely.
    ///
    /// For the latter no answer is likelier or less likely than `e^eps` times as for any value, so it tells no more.
    pub(super) fn answer(self, truth: Option<u64>, random: &mut impl Rng) -> u64 {
        let Some(truth) = truth else {
            return below(random, self.values);
        };
        if random.next_u64() < self.keep {
            return truth;
        }
        let other = below(random, self.values - 1);
        other + u64::from(other >= truth)
    }

    /// Probabilities of the true value and of every other one.
    pub(super) fn probabilities(self) -> (f64, f64) {
        let unit = 2.0_f64.powi(-64);
        let keep = self.keep as f64 * unit;
        let rest = (ONE - u128::from(self.keep)) as f64 * unit;
        (keep, rest / (self.values - 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sampler::tests::{assert_fits, random};
    use super::*;

    /// algorithms.md, worked numbers, 27.
    #[test]
    fn worked_probabilities_and_estimate() {
        let (keep, other) = RandomizedResponse::new(1_000_000, 4).probabilities();
        assert!((keep - 0.47537).abs() < 5e-6, "{keep}");
        assert!((other - 0.17488).abs() < 5e-6, "{other}");
        let estimate = (0.40 - other) / (keep - other);
        assert!((estimate - 0.74919).abs() < 5e-6, "{estimate}");
    }

    /// In whole numbers: keep * (d - 1) * e^-eps <= 1 - keep, with the exponential rounded up; and
    /// the rounding takes next to nothing.
    #[test]
    fn no_answer_is_likelier_than_epsilon_allows() {
        for millionths in [1_000, 250_000, 1_000_000, 3_141_593, 20_000_000] {
            for values in [2, 3, 4, 17, 1_000, 1 << 20] {
                let response = RandomizedResponse::new(millionths, values);
                let high = exp_of_minus(millionths).high;
                // keep * (d - 1) * e^-eps, rounded up, in units of 2^-64.
                let others = u128::from(values - 1) * high;
                let (whole, part) = (others >> 64, others & u128::from(u64::MAX));
                let holds = |keep: u64| {
                    let keep = u128::from(keep);
                    keep * whole + (keep * part).div_ceil(ONE) <= ONE - keep
                };
                assert!(holds(response.keep), "{millionths} {values}");
                let keep = response.keep as f64 / 2.0_f64.powi(64);
                let exact = 1.0 / (1.0 + (values - 1) as f64 * (-(millionths as f64) / 1e6).exp());
                assert!((keep - exact).abs() < 1e-12, "{keep} {exact}");
                let (keep, other) = response.probabilities();
                assert!(other / keep <= (millionths as f64 / 1e6).exp() && keep * 1.001 > other);
                // Of an unknown value: uniform.
                let uniform = 1.0 / values as f64;
                let most = (millionths as f64 / 1e6).exp() * (1.0 + 1e-12);
                assert!(keep / uniform <= most && uniform / other <= most);
            }
        }
    }

    #[test]
    fn answers_have_their_distribution() {
        let response = RandomizedResponse::new(1_000_000, 4);
        let (keep, other) = response.probabilities();
        let mut random = random(5);
        let mut observed = [0; 4];
        for _ in 0..50_000 {
            observed[usize::try_from(response.answer(Some(2), &mut random)).unwrap()] += 1;
        }
        assert_fits(&observed, &[other, other, keep, other]);
        let mut unknown = [0; 4];
        for _ in 0..50_000 {
            unknown[usize::try_from(response.answer(None, &mut random)).unwrap()] += 1;
        }
        assert_fits(&unknown, &[0.25; 4]);
    }
}
