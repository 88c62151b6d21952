//! What every search asks: judge policies, count them, stop when told to.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::front::Candidate;
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
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

/// What a search found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) front: Vec<Candidate>,
    /// Distinct policies evaluated.
    pub(crate) evaluations: u64,
    /// Least suppression seen, of any policy.
    pub(crate) least_suppressed: Option<u64>,
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

    /// Judges policies in parallel, in the order given. If told to stop, those judged so far.
    pub(crate) fn evaluate(&self, policies: &[Policy]) -> (Vec<Candidate>, Option<End>) {
        let start = || (Scratch::default(), ClassTable::empty(self.cells));
        let judged: Vec<Result<Candidate, Stop>> = policies
            .par_iter()
            .map_init(start, |(scratch, classes), policy| {
                if let Some(stop) = self.observer.must_stop() {
                    return Err(stop);
                }
                self.cells
                    .bottom
                    .roll_up_into(self.cells, policy.levels(), scratch, classes);
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
    let costs = objectives.costs(&evaluation);
    let excess = evaluation.suppressed_rows.saturating_sub(allowed);
    let nothing_released = if evaluation.classes == 0 {
        evaluation.rows.max(1)
    } else {
        0
    };
    Candidate {
        keys: costs.map(|cost| cost.key),
        values: costs.map(|cost| cost.value),
        suppressed_rows: evaluation.suppressed_rows,
        violation: excess + nothing_released,
        policy: Policy::new(evaluation.levels),
    }
}

/// Counts evaluations and reports about a hundred times per search.
#[derive(Debug)]
pub(crate) struct Meter {
    evaluations: AtomicU64,
    expected: u64,
    phase: &'static str,
}

impl Meter {
    pub(crate) fn new(expected: u64, phase: &'static str) -> Self {
        Self {
            evaluations: AtomicU64::new(0),
            expected: expected.max(1),
            phase,
        }
    }

    /// Counts one evaluation.
    pub(crate) fn count(&self, observer: &dyn Observer) {
        let evaluations = self.evaluations.fetch_add(1, Ordering::Relaxed) + 1;
        if evaluations.is_multiple_of(self.expected.div_ceil(100)) {
            observer.report(Progress {
                evaluations,
                fraction: (evaluations as f64 / self.expected as f64).min(1.0),
                phase: self.phase.to_owned(),
            });
        }
    }
}
