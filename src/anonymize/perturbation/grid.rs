//! Discrete Laplace noise on the points of a declared grid.

use rand_chacha::rand_core::Rng;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use super::exponential::MILLION;
use super::sampler::DiscreteLaplace;
use crate::declaration::exact_text;

/// Most steps from one end of a grid to the other.
pub(super) const MOST_STEPS: u64 = 1 << 32;

/// Equally spaced numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    pub(super) lower: Decimal,
    pub(super) step: Decimal,
    /// From the lower end to the upper one, 1 to [`MOST_STEPS`].
    pub(super) steps: u64,
}

impl Grid {
    /// From `lower` to `upper`; `None` unless that is a whole number of steps, at least one and at most [`MOST_STEPS`].
    pub(super) fn new(lower: Decimal, upper: Decimal, step: Decimal) -> Option<Self> {
        let width = upper.checked_sub(lower)?;
        if step <= Decimal::ZERO || !width.checked_rem(step)?.is_zero() {
            return None;
        }
        let steps = width.checked_div(step)?.to_u64()?;
        (1..=MOST_STEPS).contains(&steps).then_some(Self {
            lower: lower.normalize(),
            step: step.normalize(),
            steps,
        })
    }

    pub(super) fn upper(&self) -> Decimal {
        self.lower + self.step * Decimal::from(self.steps)
    }

    /// The point nearest to a cell, the ends for what lies beyond them. A missing cell, and one that is no number of 28
    /// digits, is in the middle: a value like any other, which nothing gives away.
    pub(super) fn place(&self, cell: Option<&str>) -> u64 {
        let value = cell.and_then(exact_text);
        let Some(value) = value.map(|value| value.clamp(self.lower, self.upper())) else {
            return self.steps / 2;
        };
        let place = value
            .checked_sub(self.lower)
            .and_then(|distance| distance.checked_div(self.step));
        let place = place.and_then(|place| place.round().to_u64());
        place.unwrap_or(self.steps / 2).min(self.steps)
    }

    /// Lower end, upper end and step.
    pub(super) fn numbers(&self) -> [f64; 3] {
        [self.lower, self.upper(), self.step].map(|number| number.to_f64().unwrap_or(0.0))
    }

    /// The point as a cell.
    pub(super) fn text(&self, place: u64) -> String {
        let value = self.lower + self.step * Decimal::from(place);
        value.normalize().to_string()
    }

    /// Noise of scale `(upper - lower) / eps`, in steps; `eps` in millionths.
    pub(super) fn noise(&self, millionths: u64) -> DiscreteLaplace {
        DiscreteLaplace {
            numerator: self.steps * MILLION,
            denominator: millionths,
        }
    }

    /// The point with noise added; what falls beyond an end stands at it.
    pub(super) fn noisy(&self, place: u64, noise: DiscreteLaplace, random: &mut impl Rng) -> u64 {
        match noise.sample(random) {
            (magnitude, true) => place.saturating_sub(magnitude),
            (magnitude, false) => place.saturating_add(magnitude).min(self.steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sampler::tests::{assert_fits, random};
    use super::*;

    fn grid(lower: &str, upper: &str, step: &str) -> Option<Grid> {
        let number = |text: &str| text.parse::<Decimal>().unwrap();
        Grid::new(number(lower), number(upper), number(step))
    }

    #[test]
    fn cells_fall_on_the_points_of_the_grid() {
        let ages = grid("0", "120", "1").unwrap();
        let places = ["34", "-3", "999", "34.4"].map(|cell| ages.place(Some(cell)));
        assert_eq!((places, ages.place(None)), ([34, 0, 120, 34], 60));
        let halves = grid("-1", "1", "0.5").unwrap();
        let texts = [0, 1, 2, 3, 4].map(|place| halves.text(place));
        assert_eq!(texts, ["-1", "-0.5", "0", "0.5", "1"]);
        assert_eq!(halves.place(Some("0.80")), 4);
        assert_eq!(grid("0", "1", "0.3"), None);
        assert_eq!(grid("1", "1", "1"), None);
        assert_eq!(grid("0", "1", "0"), None);
        assert_eq!(grid("0", "5000000000", "1"), None);
    }

    /// Probability of every point, for a cell at a place: the mass of the noise, its tails at the ends.
    fn law(steps: usize, epsilon: f64, place: usize) -> Vec<f64> {
        let rate = epsilon / steps as f64;
        let at = |distance: usize| (rate / 2.0).tanh() * (-rate * distance as f64).exp();
        // Everything at a distance or more, to one side.
        let beyond = |distance: usize| at(distance) / (1.0 - (-rate).exp());
        let point = |point: usize| match point {
            0 => beyond(place),
            _ if point == steps => beyond(steps - place),
            _ => at(point.abs_diff(place)),
        };
        (0..=steps).map(point).collect()
    }

    #[test]
    fn noise_has_its_distribution_and_no_point_is_likelier_than_epsilon_allows() {
        let grid = grid("0", "12", "1").unwrap();
        for (millionths, place) in [(500_000, 0), (1_000_000, 5), (4_000_000, 12)] {
            let epsilon = millionths as f64 / 1e6;
            let noise = grid.noise(millionths);
            assert_eq!(
                (noise.numerator, noise.denominator),
                (12_000_000, millionths)
            );
            let mut random = random(millionths + place);
            let mut observed = [0; 13];
            for _ in 0..60_000 {
                observed[usize::try_from(grid.noisy(place, noise, &mut random)).unwrap()] += 1;
            }
            let place = usize::try_from(place).unwrap();
            assert_fits(&observed, &law(12, epsilon, place));
            for (left, right) in (0..=12).flat_map(|left| (0..=12).map(move |right| (left, right)))
            {
                let both = law(12, epsilon, left)
                    .into_iter()
                    .zip(law(12, epsilon, right));
                for (left, right) in both {
                    assert!(left / right <= epsilon.exp() * (1.0 + 1e-12));
                }
            }
        }
    }
}
