//! Generalization depth: the mean over quasi-identifiers of level over greatest level, by exact integers.
//!
//! With heights `h` and `L = lcm(h)`, a level of attribute j adds `w_j L / h_j` to the numerator over `L sum(w)`;
//! decimal weights are scaled to integers first.

use rust_decimal::Decimal;

use super::{Cost, Measure};
use crate::anonymize::classes::Evaluation;

pub(super) const DEFINITION: &str =
    "mean over quasi-identifiers of generalization level / greatest level";

#[derive(Debug)]
pub(super) struct GeneralizationDepth {
    /// What one level of each attribute adds.
    units: Vec<u128>,
    whole: f64,
}

impl GeneralizationDepth {
    pub(super) fn new(heights: &[usize], weights: &[f64]) -> Self {
        let (units, whole) = units(heights, weights, 1);
        Self { units, whole }
    }

    fn key(&self, levels: &[u32]) -> u128 {
        let terms = self.units.iter().zip(levels);
        terms.map(|(unit, &level)| unit * u128::from(level)).sum()
    }
}

impl Measure for GeneralizationDepth {
    fn cost(&self, evaluation: &Evaluation) -> Cost {
        let key = self.key(&evaluation.levels);
        Cost {
            key,
            value: key as f64 / self.whole,
        }
    }
    fn lower_bound(&self, levels: &[u32], _: u64) -> u128 {
        self.key(levels)
    }
}

/// What one level of each attribute adds, and the sum over all of the top levels: exact if that times `rows` fits.
pub(super) fn units(heights: &[usize], weights: &[f64], rows: u64) -> (Vec<u128>, f64) {
    exact(heights, weights)
        .filter(|(_, whole)| whole.checked_mul(u128::from(rows)).is_some())
        .map_or_else(
            || rounded(heights, weights),
            |(units, whole)| (units, whole as f64),
        )
}

/// Units and denominator; `None` if they do not fit.
fn exact(heights: &[usize], weights: &[f64]) -> Option<(Vec<u128>, u128)> {
    let weights = whole_weights(weights)?;
    let multiple =
        heights
            .iter()
            .filter(|&&height| height > 0)
            .try_fold(1_u128, |lcm, &height| {
                let height = height as u128;
                lcm.checked_mul(height / gcd(lcm, height))
            })?;
    let unit = |(&weight, &height): (&u128, &usize)| match height {
        0 => Some(0),
        height => weight.checked_mul(multiple / height as u128),
    };
    let units = weights
        .iter()
        .zip(heights)
        .map(unit)
        .collect::<Option<Vec<_>>>()?;
    let total = weights
        .iter()
        .try_fold(0_u128, |sum, &weight| sum.checked_add(weight))?;
    Some((units, total.checked_mul(multiple)?))
}

/// The decimal weights as integers without a common factor.
fn whole_weights(weights: &[f64]) -> Option<Vec<u128>> {
    let decimals = weights
        .iter()
        .map(|weight| weight.to_string().parse::<Decimal>().ok());
    let decimals = decimals.collect::<Option<Vec<_>>>()?;
    let scale = decimals.iter().map(Decimal::scale).max()?;
    let integer = |decimal: &Decimal| {
        let mantissa = u128::try_from(decimal.mantissa()).ok()?;
        mantissa.checked_mul(10_u128.checked_pow(scale - decimal.scale())?)
    };
    let integers = decimals.iter().map(integer).collect::<Option<Vec<_>>>()?;
    let common = integers
        .iter()
        .fold(0, |common, &weight| gcd(common, weight))
        .max(1);
    Some(integers.into_iter().map(|weight| weight / common).collect())
}

/// The same to twelve decimals, for heights or weights whose exact multiple has more than 128 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shares of the weight lie between 0 and 1"
)]
fn rounded(heights: &[usize], weights: &[f64]) -> (Vec<u128>, f64) {
    const WHOLE: f64 = 1e12;
    let total: f64 = weights.iter().sum();
    let unit = |(&weight, &height): (&f64, &usize)| match height {
        0 => 0,
        height => (weight / total / height as f64 * WHOLE).round() as u128,
    };
    (weights.iter().zip(heights).map(unit).collect(), WHOLE)
}

fn gcd(left: u128, right: u128) -> u128 {
    let (mut left, mut right) = (left, right);
    while right > 0 {
        (left, right) = (right, left % right);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(heights: &[usize], weights: &[f64], levels: &[u32]) -> Cost {
        let evaluation = Evaluation {
            levels: levels.to_vec(),
            ..Evaluation::default()
        };
        GeneralizationDepth::new(heights, weights).cost(&evaluation)
    }

    // algorithms.md F 1 and 2: q lcm(3, 3, 1) = 9.
    #[test]
    fn worked_examples_1_and_2() {
        let first = cost(&[3, 3, 1], &[1.0; 3], &[1, 2, 0]);
        let second = cost(&[3, 3, 1], &[1.0; 3], &[2, 2, 1]);
        assert_eq!((first.key, second.key), (3, 7));
        assert!((first.value - 1.0 / 3.0).abs() < 1e-12);
        assert!((second.value - 7.0 / 9.0).abs() < 1e-12);
    }

    // (0.5 * 1/2 + 1.5 * 2/3) / 2 = 0.625; integers: weights 1 and 3, lcm 6, 3 + 12 of 24.
    #[test]
    fn decimal_weights_stay_exact() {
        let cost = cost(&[2, 3], &[0.5, 1.5], &[1, 2]);
        assert_eq!(cost.key, 15);
        assert!((cost.value - 0.625).abs() < 1e-12);
    }

    #[test]
    fn heights_without_a_common_multiple_in_128_bits_are_rounded() {
        let primes = [
            101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181,
            191, 193, 197,
        ];
        let top: Vec<u32> = primes
            .iter()
            .map(|&prime| u32::try_from(prime).unwrap())
            .collect();
        assert!((cost(&primes, &[1.0; 20], &top).value - 1.0).abs() < 1e-6);
    }
}
