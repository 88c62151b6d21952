//! What every search asks: judge policies, count them, stop when told to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::front::Candidate;
use super::supports::Supports;
use super::switches::{Effort, Switches};
use crate::anonymize::cells::Cells;
use crate::anonymize::certificate::Pivot;
use crate::anonymize::classes::{ClassTable, Evaluation, Scratch};
use crate::anonymize::policy::{Policy, Space};
use crate::anonymize::privacy::Criteria;
use crate::anonymize::utility::Objectives;
use crate::anonymize::{Observer, Progress, Stop};
use crate::declaration::Search;

/// A task in the form that searches read.
pub(crate) struct Problem<'a> {
    pub(crate) cells: &'a Cells,
    pub(crate) criteria: &'a Criteria,
    pub(crate) objectives: &'a Objectives,
    pub(crate) space: Space,
    /// Most rows that may be suppressed.
    pub(crate) allowed: u64,
    pub(crate) search: &'a Search,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) meter: Meter,
    /// Bytes of class tables that may be kept.
    pub(crate) cache_bytes: usize,
    pub(crate) switches: Switches,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It did all it meant to do.
    Done,
    /// Its evaluations or seconds were used up.
    Budget,
    /// Cancelled.
    Cancelled,
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::OutOfTime => Self::Budget,
        }
    }
}

/// How many evaluations a search may make, and what it means to have made them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) evaluations: u64,
    pub(crate) end: End,
}

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) front: Vec<Candidate>,
    /// Distinct policies evaluated.
    pub(crate) evaluations: u64,
    /// Least suppression seen, of any policy.
    pub(crate) least_suppressed: Option<u64>,
    /// What was judged, of searches that a proof may start from.
    pub(crate) judged: Vec<Pivot>,
    pub(crate) end: End,
}

impl Problem<'_> {
    /// Judges the policy whose classes are given.
    pub(crate) fn judge(&self, classes: &ClassTable) -> Candidate {
        judge(
            self.cells,
            self.criteria,
            self.objectives,
            self.allowed,
            classes,
        )
    }

    /// See [`Candidate::violation`].
    pub(crate) fn violation(&self, evaluation: &Evaluation) -> u64 {
        violation(self.allowed, evaluation)
    }

    /// Judges policies in parallel, in the order given, from the tables at hand. If told to stop, those judged so far.
    pub(super) fn evaluate(
        &self,
        policies: &[Policy],
        supports: &mut Supports<&Cells>,
    ) -> (Vec<Candidate>, Option<End>) {
        supports.prepare(policies);
        let start = || (Scratch::default(), ClassTable::empty(self.cells));
        let judged: Vec<Result<Candidate, Stop>> = policies
            .par_iter()
            .map_init(start, |(scratch, classes), policy| {
                if let Some(stop) = self.observer.must_stop() {
                    return Err(stop);
                }
                let finer = supports.finest(policy);
                finer.roll_up_into(self.cells, policy.levels(), scratch, classes);
                self.meter.visit(finer.len() as u64);
                let candidate = self.judge(classes);
                self.meter.count(self.observer);
                Ok(candidate)
            })
            .collect();
        let end = judged
            .iter()
            .find_map(|judged| judged.as_ref().err().copied());
        (judged.into_iter().flatten().collect(), end.map(End::from))
    }
}

/// Judges the policy whose classes are given; at most `allowed` rows may be suppressed.
pub(crate) fn judge(
    cells: &Cells,
    criteria: &Criteria,
    objectives: &Objectives,
    allowed: u64,
    classes: &ClassTable,
) -> Candidate {
    let evaluation = classes.evaluate(cells, criteria, objectives.wanted());
    candidate(evaluation, objectives, allowed)
}

/// What an evaluated policy is to a search.
pub(crate) fn candidate(
    evaluation: Evaluation,
    objectives: &Objectives,
    allowed: u64,
) -> Candidate {
    let costs = objectives.costs(&evaluation);
    Candidate {
        keys: costs.map(|cost| cost.key),
        values: costs.map(|cost| cost.value),
        suppressed_rows: evaluation.suppressed_rows,
        core_suppressed_rows: evaluation.core_suppressed_rows,
        violation: violation(allowed, &evaluation),
        policy: Policy::new(evaluation.levels),
    }
}

fn violation(allowed: u64, evaluation: &Evaluation) -> u64 {
    let excess = evaluation.suppressed_rows.saturating_sub(allowed);
    let nothing_released = if evaluation.classes == 0 {
        evaluation.rows.max(1)
    } else {
        0
    };
    excess + nothing_released
}

/// Counts evaluations and reports some hundred times per search.
///
/// The share of the work that is done is that of the evaluations expected or that of the space which is settled,
/// whichever is further; it never shrinks.
#[derive(Debug)]
pub(crate) struct Meter {
    evaluations: AtomicU64,
    visits: AtomicU64,
    kept_bytes: AtomicU64,
    expected: u64,
    /// Policies that are judged or excluded by proof, of how many.
    settled: AtomicU64,
    space: u64,
    phase: &'static str,
    /// The last share reported; held while reporting, so that reports come in order.
    reported: Mutex<f64>,
}

/// Most evaluations between two reports.
const SILENT: u64 = 256;

impl Meter {
    /// For so many evaluations, if they are known, in a space of so many policies.
    pub(crate) fn new(expected: Option<u64>, space: Option<u64>, phase: &'static str) -> Self {
        Self {
            evaluations: AtomicU64::new(0),
            visits: AtomicU64::new(0),
            kept_bytes: AtomicU64::new(0),
            expected: expected.unwrap_or(u64::MAX).max(1),
            settled: AtomicU64::new(0),
            space: space.unwrap_or(u64::MAX).max(1),
            phase,
            reported: Mutex::new(0.0),
        }
    }

    /// Counts classes read to make those of a coarser policy.
    pub(crate) fn visit(&self, classes: u64) {
        self.visits.fetch_add(classes, Ordering::Relaxed);
    }

    /// Notes the most bytes of class tables that were kept.
    pub(crate) fn keep(&self, bytes: usize) {
        self.kept_bytes.fetch_max(bytes as u64, Ordering::Relaxed);
    }

    /// What the search took so far.
    pub(crate) fn effort(&self, cells: usize) -> Effort {
        Effort {
            cells: cells as u64,
            visits: self.visits.load(Ordering::Relaxed),
            kept_bytes: self.kept_bytes.load(Ordering::Relaxed),
        }
    }

    /// Counts one evaluation.
    pub(crate) fn count(&self, observer: &dyn Observer) {
        let evaluations = self.evaluations.fetch_add(1, Ordering::Relaxed) + 1;
        if evaluations.is_multiple_of(self.expected.div_ceil(100).min(SILENT)) {
            self.report(observer);
        }
    }

    /// Notes that so many policies are settled in all.
    pub(crate) fn settle(&self, policies: u64, observer: &dyn Observer) {
        let before = self.settled.fetch_max(policies, Ordering::Relaxed);
        let hundredth = self.space.div_ceil(100);
        if policies / hundredth > before / hundredth {
            self.report(observer);
        }
    }

    fn report(&self, observer: &dyn Observer) {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let evaluations = self.evaluations.load(Ordering::Relaxed);
        let settled = self.settled.load(Ordering::Relaxed);
        let of_expected = evaluations as f64 / self.expected as f64;
        let of_space = settled.max(evaluations) as f64 / self.space as f64;
        *reported = reported.max(of_expected).max(of_space).min(1.0);
        observer.report(Progress {
            evaluations,
            fraction: *reported,
            phase: self.phase.to_owned(),
        });
    }
}
