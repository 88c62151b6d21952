//! From runs to figures: per run, per method, per pair of methods.

use super::reference::{Reference, values};
use super::report::{MedianRange, MethodReport, PairReport, PairedTests, RunEnd, RunReport};
use super::runs::{Run, Runs};
use super::wilcoxon::{holm, signed_ranks};
use super::yardstick::Point;
use crate::declaration::CompareDemand;

/// What fronts are held against.
pub(super) struct Standards {
    pub(super) reference: Reference,
    /// Subjects that a class has at least.
    pub(super) demanded_k: u64,
    /// The loss at which risks are compared, and its key.
    pub(super) common_loss: Option<(u128, f64)>,
}

/// The least loss of solutions that hold the demanded k, with its key. What is infeasible is in no front.
fn best_loss(points: &[Point], demanded_k: u64) -> Option<(u128, f64)> {
    let private = points.iter().filter(|point| point.k >= demanded_k);
    let losses = private.map(|point| (point.loss_key, point.loss));
    losses.min_by_key(|&(key, _)| key)
}

impl Standards {
    pub(super) fn new(runs: &[Runs], reference: Reference, demanded_k: u64) -> Self {
        let of_method = |runs: &Runs| {
            let best: Vec<(u128, f64)> = runs
                .iter()
                .filter_map(|run| best_loss(&run.points, demanded_k))
                .collect();
            lower_median(best)
        };
        Self {
            reference,
            demanded_k,
            common_loss: lower_median(runs.iter().filter_map(of_method).collect()),
        }
    }

    fn run(&self, run: &Run) -> RunReport {
        let front = super::reference::front(run.points.clone());
        let near: Vec<&Point> = run
            .points
            .iter()
            .filter(|point| point.k >= self.demanded_k)
            .filter(|point| {
                self.common_loss
                    .is_some_and(|(key, _)| point.loss_key <= key)
            })
            .collect();
        let least = |risk: fn(&Point) -> f64| {
            let risks = near.iter().map(|point| risk(point));
            risks.min_by(f64::total_cmp)
        };
        RunReport {
            seed: run.seed,
            end: run.end,
            evaluations: run.evaluations,
            elapsed_ms: milliseconds(run.elapsed),
            hits: self.reference.hits(&front),
            hypervolume: self.reference.area(&front),
            igd_plus: finite(self.reference.behind(&front)),
            best_loss: best_loss(&run.points, self.demanded_k).map(|(_, loss)| loss),
            average_risk: least(|point| point.average_risk),
            maximum_risk: least(|point| point.maximum_risk),
            points: values(&front),
        }
    }

    /// Whether areas can be divided by that of the reference.
    fn ratio(&self, hypervolume: f64) -> f64 {
        if self.reference.hypervolume > 0.0 {
            hypervolume / self.reference.hypervolume
        } else {
            0.0
        }
    }

    pub(super) fn method(
        &self,
        demand: &CompareDemand,
        method: usize,
        runs: &[Run],
    ) -> MethodReport {
        let by_run: Vec<RunReport> = runs.iter().map(|run| self.run(run)).collect();
        let figure = |of: &dyn Fn(&RunReport) -> Option<f64>| range(by_run.iter().map(of));
        let count = |end: RunEnd| {
            let such = runs.iter().filter(|run| run.end == end);
            u32::try_from(such.count()).unwrap_or(u32::MAX)
        };
        let empty = runs.iter().filter(|run| run.points.is_empty()).count();
        let asked = &demand.methods[method];
        let all = self.reference.points.len().max(1) as f64;
        MethodReport {
            label: asked.label.clone(),
            recoding: asked.demand.recoding,
            search: asked.demand.search.clone(),
            evaluations_of: asked
                .evaluations_of
                .map(|other| demand.methods[other].label.clone()),
            deterministic: demand.is_deterministic(method),
            runs: u32::try_from(runs.len()).unwrap_or(u32::MAX),
            ended: count(RunEnd::Front),
            stopped: count(RunEnd::Stopped),
            without_solution: u32::try_from(empty).unwrap_or(u32::MAX),
            verified: runs.first().and_then(|run| run.verified),
            evaluations: figure(&|run| Some(run.evaluations as f64)),
            elapsed_ms: figure(&|run| Some(run.elapsed_ms)),
            points: figure(&|run| Some(run.points.len() as f64)),
            hits: figure(&|run| Some(run.hits as f64)),
            hit_rate: figure(&|run| Some(run.hits as f64 / all)),
            hypervolume_ratio: figure(&|run| Some(self.ratio(run.hypervolume))),
            igd_plus: figure(&|run| run.igd_plus),
            best_loss: figure(&|run| run.best_loss),
            average_risk: figure(&|run| run.average_risk),
            maximum_risk: figure(&|run| run.maximum_risk),
            by_run,
        }
    }

    /// All pairs of methods, over so many seeds.
    pub(super) fn tests(&self, methods: &[MethodReport], seeds: u32) -> PairedTests {
        let mut pairs = Vec::new();
        for (place, first) in methods.iter().enumerate() {
            for second in &methods[place + 1..] {
                pairs.push(self.pair(first, second, seeds));
            }
        }
        let chances: Vec<f64> = pairs.iter().filter_map(|pair| pair.p).collect();
        let tested = pairs.iter_mut().filter(|pair| pair.p.is_some());
        for (pair, corrected) in tested.zip(holm(&chances)) {
            pair.p_holm = Some(corrected);
        }
        PairedTests {
            of: "hypervolume".to_owned(),
            test: "Wilcoxon signed-rank, two-sided, paired by seed".to_owned(),
            correction: "Holm".to_owned(),
            pairs,
        }
    }

    fn pair(&self, first: &MethodReport, second: &MethodReport, seeds: u32) -> PairReport {
        let areas = |method: &MethodReport| -> Vec<f64> {
            // A method that ran once is the same with every seed.
            let runs = method.by_run.iter().map(|run| run.hypervolume);
            let last = method.by_run.last().map_or(0.0, |run| run.hypervolume);
            runs.chain(std::iter::repeat(last))
                .take(seeds as usize)
                .collect()
        };
        let (own, other) = (areas(first), areas(second));
        let both = || own.iter().zip(&other);
        let differences: Vec<i128> = both().map(|(own, other)| decimals(own - other)).collect();
        let ratios = both().map(|(own, other)| Some(self.ratio(*own) - self.ratio(*other)));
        let found = signed_ranks(&differences);
        let is_tested = !(first.deterministic && second.deterministic);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        PairReport {
            first: first.label.clone(),
            second: second.label.clone(),
            seeds,
            differing: count(found.differing),
            first_better: count(differences.iter().filter(|&&one| one > 0).count()),
            median_difference: range(ratios).median.unwrap_or(0.0),
            rank_sum_first: found.positive,
            rank_sum_second: found.negative,
            correlation: found.correlation(),
            p: is_tested.then_some(found.p),
            p_holm: None,
            exact: is_tested && found.exact,
        }
    }
}

/// Twelve decimals as a whole number, so that areas of equal fronts are equal and equal differences are ties.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounded, and a float is converted by saturation"
)]
fn decimals(value: f64) -> i128 {
    (value * 1e12).round() as i128
}

/// Milliseconds with three decimals.
fn milliseconds(elapsed: std::time::Duration) -> f64 {
    u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX) as f64 / 1e3
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// The least of those that are above at most half of all; of equals any.
fn lower_median(mut keyed: Vec<(u128, f64)>) -> Option<(u128, f64)> {
    keyed.sort_by_key(|&(key, _)| key);
    let middle = keyed.len().checked_sub(1)? / 2;
    keyed.get(middle).copied()
}

/// Median, least and greatest; of runs that have none, the figure counts as greater than any.
fn range(figures: impl Iterator<Item = Option<f64>>) -> MedianRange {
    let mut sorted: Vec<f64> = figures.map(|one| one.unwrap_or(f64::INFINITY)).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let median = match count {
        0 => None,
        _ if count % 2 == 1 => finite(sorted[count / 2]),
        _ => finite(f64::midpoint(sorted[count / 2 - 1], sorted[count / 2])),
    };
    MedianRange {
        median,
        least: sorted.first().copied().and_then(finite),
        greatest: sorted.last().copied().and_then(finite),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{point, run};
    use super::*;

    #[test]
    fn ranges_are_medians_and_ends_and_what_is_missing_counts_as_greatest() {
        let of = |figures: &[Option<f64>]| range(figures.iter().copied());
        let found = of(&[Some(3.0), Some(1.0), Some(2.0), Some(10.0)]);
        assert_eq!(
            (found.median, found.least, found.greatest),
            (Some(2.5), Some(1.0), Some(10.0))
        );
        let found = of(&[Some(3.0), None, Some(2.0)]);
        assert_eq!(
            (found.median, found.least, found.greatest),
            (Some(3.0), Some(2.0), None)
        );
        assert_eq!(of(&[None, Some(1.0)]).median, None);
        assert_eq!(of(&[]).median, None);
    }

    /// A point of a loss, a k and risks.
    fn solution(keys: [u128; 2], loss: u64, k: u64, risk: f64) -> Point {
        Point {
            loss_key: u128::from(loss),
            loss: loss as f64,
            k,
            average_risk: risk,
            maximum_risk: 2.0 * risk,
            ..point(keys)
        }
    }

    #[test]
    fn risks_are_compared_at_the_median_of_the_best_losses() {
        // Best losses 2 (its other seed: 4), 5 and 9: the lower median over methods of 2, 5, 9 is 5.
        let first = vec![
            run(
                &[solution([2, 5], 2, 5, 0.3), solution([4, 1], 4, 9, 0.1)],
                false,
            ),
            run(&[solution([4, 1], 4, 9, 0.1)], false),
        ];
        let second = vec![run(
            &[solution([5, 5], 5, 6, 0.2), solution([5, 6], 3, 4, 0.1)],
            false,
        )];
        let third = vec![run(&[solution([9, 9], 9, 9, 0.01)], false)];
        let runs = vec![first, second, third, vec![run(&[], false)]];
        let reference = Reference::of(&runs, false, [10.0, 10.0]);
        let standards = Standards::new(&runs, reference, 5);
        assert_eq!(standards.common_loss, Some((5, 5.0)));
        let risks = |run: &Run| {
            let report = standards.run(run);
            (report.best_loss, report.average_risk, report.maximum_risk)
        };
        assert_eq!(risks(&runs[0][0]), (Some(2.0), Some(0.1), Some(0.2)));
        // The second solution of the second method loses less, but its k is not that demanded.
        assert_eq!(risks(&runs[1][0]), (Some(5.0), Some(0.2), Some(0.4)));
        assert_eq!(risks(&runs[2][0]), (Some(9.0), None, None));
        assert_eq!(risks(&runs[3][0]), (None, None, None));
    }
}
