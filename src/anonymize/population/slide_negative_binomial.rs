//! The slide negative binomial estimator.
//!
//! Population class sizes are taken as 1 plus a negative binomial, `P(F = i) = C(a+i-2, i-1) b^a (1-b)^(i-1)`, and the
//! sample as each member drawn with the sampling fraction `q`. Then, with `D = (1-q)(1-b)`, of K population classes
//! `K q (b/(1-D))^a (1 + aD/(1-D))` are expected once in the sample and
//! `K a b^a q^2 (1-b) (2 - (1-a)D) / (2 (1-D)^(a+2))` twice. K is estimated by Haas' and Stokes' third modification of
//! Shlosser's estimator, `a` and `b` by setting both expectations to what was counted; `K b^a` classes are unique.
//!
//! How the equations are solved: their ratio is rising in `a`, so each `b` has one `a`, a root of a quadratic; what
//! remains is one equation in `b`, scanned over the whole range and bisected. No start value, hence no luck. If
//! several `b` solve it, the one whose expected number of sample classes is nearest to the counted number is taken.
//!
//! Source: Chen, Keller-McNulty, Estimation of identification disclosure risk in microdata, 1998; Haas, Stokes,
//! Estimating the number of classes in a finite population, 1998; Dankar et al., 2012, appendix A. ARX 3.9 has the
//! same model with two slips in precedence (the second equation's denominator, the estimator of K) and so other values.

use super::{ClassSizes, NoEstimate};

/// Logit of `b` at both ends of the scan, and steps.
const SCAN: (f64, f64, u32) = (-30.0, 30.0, 1_200);

/// Estimated number of population uniques at a sampling fraction below 1.
pub(super) fn population_uniques(sample: &ClassSizes, fraction: f64) -> Result<f64, NoEstimate> {
    let equations = Equations {
        once: sample.of_size(1) as f64,
        twice: sample.of_size(2) as f64,
        classes: population_classes(sample, fraction),
        fraction,
    };
    if equations.twice <= 0.0 {
        return Err(NoEstimate::NoClassOfTwo);
    }
    if !equations.classes.is_finite() {
        return Err(NoEstimate::NoSolution);
    }
    let (low, high, steps) = SCAN;
    let logit = |step: u32| low + (high - low) * f64::from(step) / f64::from(steps);
    let counted = sample.classes() as f64;
    let mut best: Option<(f64, f64)> = None;
    for step in 0..steps {
        if let Some(root) = equations.root_between(logit(step), logit(step + 1)) {
            let (uniques, drawn) = equations.outcome(root);
            let distance = (drawn - counted).abs();
            if best.is_none_or(|(nearest, _)| distance < nearest) {
                best = Some((distance, uniques));
            }
        }
    }
    best.map(|(_, uniques)| uniques)
        .ok_or(NoEstimate::NoSolution)
}

/// Estimated number of classes in the population, K.
fn population_classes(sample: &ClassSizes, fraction: f64) -> f64 {
    let (q, missed) = (fraction, 1.0 - fraction);
    let squared = q * q;
    let (mut twice_drawn, mut drawn_then_missed, mut unseen, mut seen_once) = (0.0, 0.0, 0.0, 0.0);
    for (size, classes) in sample.real() {
        let missed_all = missed.powf(size);
        twice_drawn += classes * size * squared * (1.0 - squared).powf(size - 1.0);
        drawn_then_missed += classes * ((1.0 - squared).powf(size) - missed_all);
        unseen += classes * missed_all;
        seen_once += classes * size * q * missed.powf(size - 1.0);
    }
    let ratio = unseen / seen_once;
    sample.classes() as f64
        + sample.of_size(1) as f64 * (twice_drawn / drawn_then_missed) * ratio * ratio
}

/// The two equations of the model.
struct Equations {
    once: f64,
    twice: f64,
    classes: f64,
    fraction: f64,
}

impl Equations {
    /// `a`, `ln b` and `1 - b` at a logit of `b`, with the ratio of the two equations met.
    fn parameters(&self, logit: f64) -> (f64, f64, f64) {
        // b and 1-b from the logit, both with full relative precision.
        let (b_log, rest) = (-(-logit).exp().ln_1p(), 1.0 / (1.0 + logit.exp()));
        let slide = (1.0 - self.fraction) * rest;
        // a q (1-b) (2 - D + aD) = 2 c2/c1 (1-D) (1-D + aD): A a^2 + B a - C = 0.
        let target = 2.0 * self.twice / self.once * (1.0 - slide);
        let drawn = self.fraction * rest;
        let square = drawn * slide;
        let linear = drawn * (2.0 - slide) - target * slide;
        let constant = target * (1.0 - slide);
        // The positive root, in the form without cancellation for either sign of B.
        let root = (linear * linear + 4.0 * square * constant).sqrt();
        let a = if linear >= 0.0 {
            2.0 * constant / (linear + root)
        } else {
            (root - linear) / (2.0 * square)
        };
        (a, b_log, rest)
    }

    /// `ln (b/(1-D))`, and `D`. `1 - D = b + q(1-b)`.
    fn drawn(&self, b_log: f64, rest: f64) -> (f64, f64) {
        let slide = (1.0 - self.fraction) * rest;
        (b_log - (-slide).ln_1p(), slide)
    }

    /// Expected sample uniques less those counted.
    fn excess(&self, logit: f64) -> f64 {
        let (a, b_log, rest) = self.parameters(logit);
        let (log, slide) = self.drawn(b_log, rest);
        self.classes * self.fraction * (a * log).exp() * (1.0 + a * slide / (1.0 - slide))
            - self.once
    }

    /// A root between two logits if the excess changes its sign there.
    fn root_between(&self, low: f64, high: f64) -> Option<f64> {
        let (mut low, mut high) = (low, high);
        let below = self.excess(low) < 0.0;
        let other = self.excess(high);
        if other.is_nan() || below == (other < 0.0) {
            return None;
        }
        for _ in 0..80 {
            let middle = f64::midpoint(low, high);
            if (self.excess(middle) < 0.0) == below {
                low = middle;
            } else {
                high = middle;
            }
        }
        let root = f64::midpoint(low, high);
        // A jump is no root.
        (self.excess(root).abs() <= 1e-6 * self.once.max(1.0)).then_some(root)
    }

    /// Population uniques, and expected classes in the sample, at a root.
    fn outcome(&self, logit: f64) -> (f64, f64) {
        let (a, b_log, rest) = self.parameters(logit);
        let (log, _) = self.drawn(b_log, rest);
        let unseen = (1.0 - self.fraction) * (a * log).exp();
        (
            self.classes * (a * b_log).exp(),
            self.classes * (1.0 - unseen),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_counts_of_a_known_model_give_its_parameters_back() {
        // K = 1000, a = 2, b = .4, q = .25: D = .45; b/(1-D) = 8/11; once 250 (8/11)^2 (1 + .9/.55) = 348.6100;
        // twice 1000 * 2 * .16 * .0625 * .6 * (2 + .45) / (2 * .55^4) = 160.6448.
        let once = 250.0 * (64.0 / 121.0) * (1.0 + 0.9 / 0.55);
        let twice = 1000.0 * 2.0 * 0.16 * 0.0625 * 0.6 * 2.45 / (2.0 * 0.55f64.powi(4));
        let equations = Equations {
            once,
            twice,
            classes: 1000.0,
            fraction: 0.25,
        };
        let logit = (0.4f64 / 0.6).ln();
        let (a, ..) = equations.parameters(logit);
        assert!((a - 2.0).abs() < 1e-12, "{a}");
        assert!(equations.excess(logit).abs() < 1e-9);
        let (uniques, drawn) = equations.outcome(logit);
        assert!((uniques - 160.0).abs() < 1e-9);
        assert!((drawn - 1000.0 * (1.0 - 0.75 * 64.0 / 121.0)).abs() < 1e-9);
    }

    #[test]
    fn classes_of_the_population_by_hand() {
        // f = 1,1,2; q = 1/2. twice_drawn = 2*1/4 + 2*1/4*3/4 = 7/8; drawn_then_missed = 2(3/4-1/2) + 9/16-1/4 = 13/16;
        // unseen = 1 + 1/4 = 5/4; seen_once = 1 + 1/2 = 3/2. K = 3 + 2 * 14/13 * 25/36.
        let sample = ClassSizes::of([1, 1, 2]);
        let expected = 3.0 + 2.0 * (14.0 / 13.0) * (25.0 / 36.0);
        assert!((population_classes(&sample, 0.5) - expected).abs() < 1e-12);
    }
}
