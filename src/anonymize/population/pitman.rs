//! Pitman's estimator: class sizes follow Pitman's sampling formula with parameters `0 <= a < 1` and `t > -a`.
//!
//! The likelihood of a sample of `n` rows in `u` classes is
//! `prod_{i=1}^{u-1} (t+ia) / prod_{i=1}^{n-1} (t+i) * prod_j prod_{i=1}^{f_j-1} (i-a)`. Its maximum is found by two
//! nested bisections on its derivatives: `t` for a given `a`, then `a`; no start value, hence no luck. Where the
//! derivative by `a` is not positive at 0, the maximum is at `a = 0` (Ewens' formula). Every sum is one of reciprocals
//! of evenly spaced terms and costs the same for any number of rows.
//!
//! The estimate is the expected number of unique members among N, `N prod_{i=1}^{N-1} (t+a+i-1)/(t+i)`, exactly;
//! Hoshino and ARX use its limit for large N, `N^a Gamma(t+1)/Gamma(t+a)`, which is larger by a share of about `1/N`.
//!
//! Source: Pitman, Exchangeable and partially exchangeable random partitions, 1995; Hoshino, Applying Pitman's
//! sampling formula to microdata disclosure risk assessment, 2001.

use super::gamma::{log_gamma_step, reciprocal_sum};
use super::{ClassSizes, NoEstimate};

/// Estimated number of population uniques, for a population of `population` rows, at least the sample's.
pub(super) fn population_uniques(sample: &ClassSizes, population: u64) -> Result<f64, NoEstimate> {
    let scores = Scores {
        sample,
        rows: sample.rows(),
        classes: sample.classes(),
    };
    if scores.classes == scores.rows {
        return Err(NoEstimate::AllUnique);
    }
    if scores.classes < 2 {
        return Err(NoEstimate::OneClass);
    }
    let (t, a) = scores.maximum().ok_or(NoEstimate::NoSolution)?;
    Ok(expected_uniques(t, a, population as f64))
}

/// Expected number of unique members among `members` under the formula.
fn expected_uniques(t: f64, a: f64, members: f64) -> f64 {
    members * (log_gamma_step(t + members, a - 1.0) - log_gamma_step(t + 1.0, a - 1.0)).exp()
}

/// The derivatives of the log-likelihood.
struct Scores<'a> {
    sample: &'a ClassSizes,
    rows: u64,
    classes: u64,
}

impl Scores<'_> {
    /// `sum_{i=1}^{u-1} 1/(t+ia)`.
    fn class_sum(&self, t: f64, a: f64) -> f64 {
        if a > 0.0 {
            reciprocal_sum(t / a + 1.0, self.classes - 1) / a
        } else {
            (self.classes - 1) as f64 / t
        }
    }

    /// Derivative by `t`.
    fn by_t(&self, t: f64, a: f64) -> f64 {
        self.class_sum(t, a) - reciprocal_sum(t + 1.0, self.rows - 1)
    }

    /// Derivative by `a`.
    fn by_a(&self, t: f64, a: f64) -> f64 {
        let last = (self.classes - 1) as f64;
        let step = a / t;
        // sum_{i=1}^{u-1} i/(t+ia) = ((u-1) - t sum 1/(t+ia))/a; near a = 0 that cancels, and the series in a/t
        // over sums of powers does not.
        let spread = if t > 0.0 && step * last < 1e-4 {
            let squares = last * (last + 1.0) * (2.0 * last + 1.0) / 6.0;
            let first = last * (last + 1.0) / 2.0;
            (first - step * (squares - step * first * first)) / t
        } else {
            (last - t * self.class_sum(t, a)) / a
        };
        let within: f64 = self
            .sample
            .histogram()
            .map(|(size, classes)| classes as f64 * reciprocal_sum(1.0 - a, size - 1))
            .sum();
        spread - within
    }

    /// The `t` that maximises the likelihood for a given `a`.
    fn best_t(&self, a: f64) -> f64 {
        // t = e^x - a; the derivative falls from +infinity to below 0 as there are fewer classes than rows.
        bisect(-40.0, 60.0, |x| self.by_t(x.exp() - a, a)).exp() - a
    }

    /// Both parameters of the maximum; `None` if it is on the far border.
    fn maximum(&self) -> Option<(f64, f64)> {
        let profile = |a: f64| self.by_a(self.best_t(a), a);
        let (zero, most) = (0.0, 1.0 - 1e-9);
        if profile(zero) <= 0.0 {
            return Some((self.best_t(zero), zero));
        }
        if profile(most) >= 0.0 {
            return None;
        }
        let a = bisect(zero, most, profile);
        let t = self.best_t(a);
        (t > -a && t.is_finite()).then_some((t, a))
    }
}

/// Where a function that is positive at `low` and negative at `high` changes its sign.
fn bisect(low: f64, high: f64, value: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (low, high);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if value(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log-likelihood, term by term.
    fn likelihood(sizes: &[u64], t: f64, a: f64) -> f64 {
        let rows: u64 = sizes.iter().sum();
        let classes = (1..sizes.len()).map(|i| (t + i as f64 * a).ln());
        let all = (1..rows).map(|i| (t + i as f64).ln());
        let within = sizes.iter().flat_map(|&size| 1..size);
        classes.sum::<f64>() - all.sum::<f64>() + within.map(|i| (i as f64 - a).ln()).sum::<f64>()
    }

    #[test]
    fn the_solution_maximises_the_likelihood() {
        let mut sizes = vec![1u64; 30];
        sizes.extend([2; 12]);
        sizes.extend([3, 3, 3, 4, 6, 9, 15, 40]);
        let sample = ClassSizes::of(sizes.iter().copied());
        let scores = Scores {
            sample: &sample,
            rows: sample.rows(),
            classes: sample.classes(),
        };
        let (t, a) = scores.maximum().unwrap();
        assert!(a > 0.1 && a < 0.9, "{t} {a}");
        let best = likelihood(&sizes, t, a);
        for (dt, da) in [
            (0.1, 0.0),
            (-0.1, 0.0),
            (0.0, 0.01),
            (0.0, -0.01),
            (0.3, -0.02),
            (-0.3, 0.02),
        ] {
            assert!(likelihood(&sizes, t + dt, a + da) < best, "{dt} {da}");
        }
    }

    #[test]
    fn derivatives_agree_with_differences_of_the_likelihood() {
        let sizes = [1u64, 1, 1, 2, 2, 5, 9];
        let sample = ClassSizes::of(sizes);
        let scores = Scores {
            sample: &sample,
            rows: sample.rows(),
            classes: sample.classes(),
        };
        let h = 1e-6;
        for (t, a) in [(1.5, 0.3), (20.0, 0.01), (300.0, 1e-5), (-0.2, 0.5)] {
            let by_t = (likelihood(&sizes, t + h, a) - likelihood(&sizes, t - h, a)) / (2.0 * h);
            let by_a = (likelihood(&sizes, t, a + h) - likelihood(&sizes, t, a - h)) / (2.0 * h);
            assert!((scores.by_t(t, a) - by_t).abs() < 1e-6 * (1.0 + by_t.abs()));
            assert!((scores.by_a(t, a) - by_a).abs() < 1e-6 * (1.0 + by_a.abs()));
        }
    }

    #[test]
    fn expected_uniques_agree_with_the_product() {
        // N prod (t+a+i-1)/(t+i); Ewens (a = 0): N t/(t+N-1). Limit for large N: N^a Gamma(t+1)/Gamma(t+a).
        for (t, a, members) in [(0.5, 0.5, 10u32), (7.0, 0.2, 1_000), (-0.3, 0.6, 50)] {
            let product: f64 = (1..members)
                .map(|i| (t + a + f64::from(i) - 1.0) / (t + f64::from(i)))
                .product();
            let expected = f64::from(members) * product;
            assert!((expected_uniques(t, a, f64::from(members)) / expected - 1.0).abs() < 1e-11);
        }
        assert!((expected_uniques(3.0, 0.0, 100.0) - 300.0 / 102.0).abs() < 1e-11);
        // t = 1, a = 1/2: Gamma(2)/Gamma(3/2) sqrt N = 2/sqrt(pi) * 1000.
        let limit = 2_000.0 / std::f64::consts::PI.sqrt();
        assert!((expected_uniques(1.0, 0.5, 1e6) / limit - 1.0).abs() < 1e-5);
    }
}
