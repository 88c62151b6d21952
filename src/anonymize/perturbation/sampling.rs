//! Sampling and suppression (Li, Qardaji and Su, "Provably private data anonymization: or, k-anonymity meets differential
//! privacy", 2011; `SafePub`, Bild, Kuhn and Prasser 2018).
//!
//! Rows drawn independently with probability `beta`, recoded by a policy that is chosen without the data, classes of fewer
//! than `k` left out: (eps, delta)-differentially private with
//! `delta = max over N >= ceil(k / gamma - 1) of P(Binomial(N, beta) > gamma N)`, `gamma = (e^eps - 1 + beta) / e^eps`
//! (algorithms.md B.8). Here `beta = 1 - e^-eps`, rounded down, and everything else towards a greater delta.

use super::exponential::{Bounds, ONE, exp_of_minus};

/// Share by which a floating-point sum is raised: beyond what some million roundings can take from it.
const GUARD: f64 = 1.0 + 1e-6;

/// A sampling and the size of classes that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sampling {
    /// Probability of a row to be drawn, in units of 2^-64.
    pub(super) beta: u64,
    /// Classes of fewer drawn rows are left out.
    pub(super) k: u64,
}

impl Sampling {
    /// The sampling for `eps` in millionths, from 1e-3 to 10, and `delta`, from 1e-15 to 0.5; with the least `k`.
    ///
    /// Cost: some milliseconds, a tenth of a second at the least `eps`.
    pub(super) fn new(millionths: u64, delta: f64) -> Self {
        let inverse = exp_of_minus(millionths);
        let beta = ONE - inverse.high;
        // gamma = 1 - e^-eps (1 - beta).
        let rest = ONE - beta;
        let gamma = Bounds {
            low: ONE - ((inverse.high * rest) >> 64) - 1,
            high: ONE - ((inverse.low * rest) >> 64),
        };
        let law = Law::new(beta, gamma.low);
        let last = (1..law.settled(delta))
            .rev()
            .find(|&draws| law.tail(draws) > delta)
            .unwrap_or(0);
        // The least k with ceil(k / gamma - 1) > last; gamma is at most its upper bound.
        let mut k = (u128::from(last) * gamma.high) >> 64;
        while (k << 64).div_ceil(gamma.high) <= u128::from(last) + 1 {
            k += 1;
        }
        Self {
            beta: u64::try_from(beta).unwrap_or(u64::MAX),
            // A class of one is no class.
            k: u64::try_from(k).unwrap_or(u64::MAX).max(2),
        }
    }
}

/// `P(Binomial(N, beta) > gamma N)`, with gamma rounded down.
struct Law {
    beta: f64,
    /// 1 - beta.
    miss: f64,
    /// In units of 2^-64.
    gamma: u128,
    /// Relative entropy of gamma to beta.
    rate: f64,
}

impl Law {
    fn new(beta: u128, gamma: u128) -> Self {
        let unit = 2.0_f64.powi(-64);
        let share = |units: u128| units as f64 * unit;
        let (high, low) = (
            share(gamma) / share(beta),
            share(ONE - gamma) / share(ONE - beta),
        );
        Self {
            beta: share(beta),
            miss: share(ONE - beta),
            gamma,
            rate: share(gamma) * high.ln() + share(ONE - gamma) * low.ln(),
        }
    }

    /// A number of draws from which on no tail exceeds `delta`: the Chernoff bound `e^(-N rate)` falls with N.
    fn settled(&self, delta: f64) -> u64 {
        let wanted = -(delta / GUARD).ln();
        let rate = self.rate * (1.0 - 1e-9);
        let settles = |draws: &u64| *draws as f64 * rate >= wanted;
        (1..u64::MAX).find(settles).unwrap_or(u64::MAX)
    }

    /// An upper bound of the tail, above it by a millionth of it.
    fn tail(&self, draws: u64) -> f64 {
        let first = u64::try_from((self.gamma * u128::from(draws)) >> 64).unwrap_or(draws) + 1;
        if first > draws {
            return 0.0;
        }
        let (mut mass, mut sum) = (self.mass(draws, first), 0.0);
        let odds = self.beta / self.miss;
        let mut number = first;
        loop {
            sum += mass;
            let ratio = odds * (draws - number) as f64 / (number + 1) as f64;
            number += 1;
            // The ratios fall: what is left is below a geometric series.
            if number > draws || (ratio < 1.0 && mass * ratio / (1.0 - ratio) < sum * 1e-9) {
                break;
            }
            mass *= ratio;
        }
        // What underflows is less than this.
        sum * GUARD + 1e-280
    }

    /// `P(Binomial(draws, beta) = number)`, by as few factors as there are.
    fn mass(&self, draws: u64, number: u64) -> f64 {
        let few = number.min(draws - number);
        let (factor, other) = if few == number {
            (self.beta, self.miss)
        } else {
            (self.miss, self.beta)
        };
        let chosen = (1..=few).fold(1.0, |product, place| {
            product * ((draws - few + place) as f64 / place as f64 * factor)
        });
        let rest = i32::try_from(draws - few).unwrap_or(i32::MAX);
        chosen * other.powi(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// algorithms.md, worked numbers, 28.
    #[test]
    fn worked_class_sizes() {
        for (millionths, delta, k) in [
            (1_000_000, 1e-3, 34),
            (1_000_000, 1e-5, 61),
            (2_000_000, 1e-5, 113),
            (2_000_000, 1e-6, 131),
            (500_000, 1e-3, 27),
        ] {
            let found = Sampling::new(millionths, delta);
            assert_eq!(found.k, k, "{millionths} {delta}");
            let beta = found.beta as f64 / 2.0_f64.powi(64);
            let epsilon = millionths as f64 / 1e6;
            assert!((beta - (1.0 - (-epsilon).exp())).abs() < 1e-15);
            // Never above: the loss of the sampling alone is -ln(1 - beta).
            assert!(u128::from(found.beta) + exp_of_minus(millionths).low <= ONE);
        }
    }

    /// Against sums over the whole range of exact coefficients.
    #[test]
    fn tails_bound_the_binomial_law_closely() {
        let sampling = Sampling::new(1_000_000, 1e-3);
        let gamma = ONE * 86 / 100;
        let law = Law::new(u128::from(sampling.beta), gamma);
        for draws in [1_u64, 5, 17, 40, 90] {
            let from = 86 * draws / 100 + 1;
            let choose = |number: u64| {
                (1..=number).fold(1.0, |product, place| {
                    product * (draws - number + place) as f64 / place as f64
                })
            };
            let terms = (from..=draws).map(|number| {
                choose(number)
                    * law.beta.powi(i32::try_from(number).unwrap())
                    * law.miss.powi(i32::try_from(draws - number).unwrap())
            });
            let exact: f64 = terms.sum();
            let found = law.tail(draws);
            assert!(
                found >= exact && found <= exact * (1.0 + 1e-5) + 1e-279,
                "{draws}"
            );
        }
    }

    #[test]
    fn every_parameter_in_range_has_an_answer_and_more_privacy_needs_more() {
        let k = |millionths, delta| Sampling::new(millionths, delta).k;
        assert!(k(1_000_000, 1e-9) > k(1_000_000, 1e-6));
        for millionths in [1_000, 10_000_000] {
            let found = [0.5, 1e-6, 1e-15].map(|delta| k(millionths, delta));
            assert!(found[0] <= found[1] && found[1] < found[2], "{found:?}");
        }
    }
}
