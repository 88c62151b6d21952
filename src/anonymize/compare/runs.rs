//! Runs every method with every seed, seed by seed, so that methods share whatever else the machine does.

use std::time::Duration;

use super::yardstick::{Point, Yardstick};
use super::{Contest, check};
use crate::anonymize::report::{Front, Reason};
use crate::anonymize::{Error, Observer, Outcome, Progress, Stop, Task};
use crate::declaration::{Demand, Search};

use super::report::RunEnd;

/// One run of a method.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) end: RunEnd,
    pub(super) evaluations: u64,
    pub(super) elapsed: Duration,
    pub(super) points: Vec<Point>,
    pub(super) is_certified: bool,
    /// Why there is no solution.
    pub(super) reason: Option<Reason>,
    /// Whether the recommended solution passed the check; of first runs.
    pub(super) verified: Option<bool>,
}

/// The runs of a method: one per seed, or one for all.
pub(super) type Runs = Vec<Run>;

/// How the runs ended.
pub(super) enum Ended {
    /// With as many seeds, which all methods were run with.
    After(u32, Vec<Runs>),
    /// Cancelled.
    Cancelled,
}

/// Runs them all; what a seed began is dropped if the time runs out within it.
///
/// # Errors
/// A method cannot be run at all.
pub(super) fn all(contest: &Contest<'_>, yardstick: &Yardstick<'_>) -> Result<Ended, Error> {
    let demand = contest.demand;
    let once: Vec<bool> = (0..demand.methods.len())
        .map(|method| demand.is_deterministic(method))
        .collect();
    let drawn = once.iter().filter(|&&once| !once).count() as u64;
    let expected =
        drawn * u64::from(demand.seeds) + once.iter().filter(|&&once| once).count() as u64;
    let mut runs: Vec<Runs> = vec![Vec::new(); demand.methods.len()];
    let (mut done, mut evaluations) = (0, 0);
    for number in 0..demand.seeds {
        for (method, &once) in once.iter().enumerate() {
            if once && number > 0 {
                continue;
            }
            let watch = RunWatch {
                contest,
                until: demand.max_seconds.map(|seconds| {
                    let seconds = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
                    (contest.clock)().saturating_add(seconds)
                }),
                phase: phase(contest, method, number, once),
                done,
                expected,
                evaluations,
            };
            watch.report(Progress {
                evaluations: 0,
                fraction: 0.0,
                phase: String::new(),
            });
            let run = one(contest, yardstick, &runs, (method, number), &watch)?;
            match (run, contest.observer.must_stop()) {
                (_, Some(Stop::Cancelled)) | (None, None) => return Ok(Ended::Cancelled),
                (_, Some(Stop::OutOfTime)) => {
                    for runs in &mut runs {
                        runs.truncate(number as usize);
                    }
                    return Ok(Ended::After(number, runs));
                }
                (Some(run), None) => {
                    evaluations += run.evaluations;
                    runs[method].push(run);
                }
            }
            done += 1;
        }
    }
    Ok(Ended::After(demand.seeds, runs))
}

fn phase(contest: &Contest<'_>, method: usize, number: u32, once: bool) -> String {
    let label = &contest.demand.methods[method].label;
    if once {
        label.clone()
    } else {
        format!("{label}, seed {} of {}", number + 1, contest.demand.seeds)
    }
}

/// One run; `None` if cancelled.
fn one(
    contest: &Contest<'_>,
    yardstick: &Yardstick<'_>,
    before: &[Runs],
    (method, number): (usize, u32),
    watch: &RunWatch<'_>,
) -> Result<Option<Run>, Error> {
    let method = &contest.demand.methods[method];
    let seed = contest.demand.seed.saturating_add(u64::from(number));
    let given = method.evaluations_of.and_then(|other| {
        // A method that runs once has one run for all seeds.
        let runs = &before[other];
        runs.get(number as usize).or(runs.last())
    });
    let most = given.map(|run| run.evaluations.max(1));
    let most = most.into_iter().chain(method.demand.search.max_evaluations);
    let demand = Demand {
        search: Search {
            seed,
            max_evaluations: most.min(),
            ..method.demand.search.clone()
        },
        ..method.demand.clone()
    };
    let task = Task {
        table: contest.table,
        schema: contest.schema,
        demand: &demand,
        limits: contest.limits,
    };
    let begun = (contest.clock)();
    let outcome = (contest.search)(&task, watch)?;
    let elapsed = (contest.clock)().saturating_sub(begun);
    let (end, reason, front) = match outcome {
        Outcome::Cancelled => return Ok(None),
        Outcome::Front(front) => (RunEnd::Front, None, front),
        Outcome::Stopped(front) => (RunEnd::Stopped, None, front),
        Outcome::Infeasible(reason, front) => (RunEnd::Infeasible, Some(reason), front),
    };
    Ok(Some(Run {
        seed,
        end,
        evaluations: front.search.evaluations,
        elapsed,
        points: yardstick.points(&front)?,
        is_certified: front.search.certified,
        reason,
        verified: verified(&task, &front, number)?,
    }))
}

/// Checks what a first run recommends.
fn verified(task: &Task<'_>, front: &Front, number: u32) -> Result<Option<bool>, Error> {
    let place = front
        .solutions
        .iter()
        .position(|solution| Some(solution.solution_id) == front.recommended);
    match place.filter(|_| number == 0) {
        None => Ok(None),
        Some(place) => {
            let class_of = front
                .partitions
                .get(place)
                .map_or(&[][..], |class_of| &**class_of);
            check::passes(task, &front.solutions[place], class_of).map(Some)
        }
    }
}

/// What the search of one run is told, and what becomes of what it tells.
struct RunWatch<'a> {
    contest: &'a Contest<'a>,
    /// When its own seconds are used up, by the caller's clock.
    until: Option<Duration>,
    phase: String,
    /// Runs before it, and in all.
    done: u64,
    expected: u64,
    /// Of the runs before it.
    evaluations: u64,
}

impl Observer for RunWatch<'_> {
    fn must_stop(&self) -> Option<Stop> {
        let own = || {
            let until = self.until?;
            ((self.contest.clock)() >= until).then_some(Stop::OutOfTime)
        };
        self.contest.observer.must_stop().or_else(own)
    }

    fn report(&self, progress: Progress) {
        let done = self.done as f64 + progress.fraction.clamp(0.0, 1.0);
        self.contest.observer.report(Progress {
            evaluations: self.evaluations + progress.evaluations,
            fraction: done / self.expected.max(1) as f64,
            phase: self.phase.clone(),
        });
    }
}
