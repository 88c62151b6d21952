//! Exact fronts without judging every policy: bounds, pivots and a certificate.
//!
//! With absorbing criteria, suppression never grows along the lattice, so the suppression of a judged policy bounds
//! that of every policy below it. Together with the least cost of a policy's levels this bounds every objective; a
//! policy whose bound a judged one beats need not be judged. Policies are taken from costly to cheap, so that each
//! judged one (a *pivot*) bounds as many others as possible. Of criteria that are not absorbing, the absorbing core
//! gives the bound. What was judged is the certificate: whoever replays it finds every other policy excluded.
//!
//! Batches have a fixed size and are joined in a fixed order: thread count changes nothing.
//!
//! Source: algorithms.md D.4; bounds by predecessors as in F. Prasser, F. Kohlmayer, K. A. Kuhn, "Efficient and
//! effective pruning strategies for health data de-identification", 2016.

use rayon::prelude::*;

use super::front::{self, Candidate};
use super::problem::{End, Found, Problem, candidate};
use super::supports::{PerThread, Supports};
use crate::anonymize::cells::Cells;
use crate::anonymize::certificate::Pivot;
use crate::anonymize::classes::sizes::{SizeColumns, SizeScratch};
use crate::anonymize::classes::{ClassTable, Evaluation, Scratch, Wanted};
use crate::anonymize::policy::Policy;
use crate::anonymize::utility::MOST_OBJECTIVES;

/// Policies judged at a time.
const BATCH: usize = 16;

/// Searches until every policy is judged or excluded, or the budget ends; from what a heuristic found, if it is given.
pub(crate) fn search(
    problem: &Problem<'_>,
    size: usize,
    incumbents: Option<Found>,
) -> (Found, Vec<Pivot>) {
    let mut proof = Proof::new(problem, size);
    match incumbents {
        Some(found) => proof.take(found),
        None if problem.switches.incumbents => proof.seek_incumbents(),
        None => {}
    }
    proof.settle();
    let (visits, bytes) = proof.grouping.kept();
    problem.meter.visit(visits);
    problem.meter.keep(bytes);
    let found = Found {
        evaluations: proof.pivots.len() as u64,
        least_suppressed: proof.least_suppressed,
        judged: Vec::new(),
        front: front::front(proof.archive, problem.objectives.len()),
        end: proof.end.unwrap_or(End::Done),
    };
    (found, proof.pivots)
}

/// How the classes of policies are made.
enum Grouping<'a> {
    /// With all that any criterion asks for.
    Classes(Supports<&'a Cells>),
    /// Their sizes alone, where a least size is all that decides.
    Sizes {
        supports: Supports<SizeColumns<'a>>,
        least: u64,
    },
}

/// Buffers of one thread.
struct Buffers {
    scratch: Scratch,
    table: ClassTable,
    sizes: SizeScratch,
}

struct Proof<'a, 'p> {
    problem: &'a Problem<'p>,
    grouping: Grouping<'a>,
    /// By thread.
    buffers: PerThread<Buffers>,
    /// By place: rows that a policy suppresses at least.
    floors: Vec<u32>,
    judged: Vec<bool>,
    /// Feasible judged policies that no other beats, and perhaps some that one does.
    archive: Vec<Candidate>,
    pivots: Vec<Pivot>,
    least_suppressed: Option<u64>,
    end: Option<End>,
}

/// A policy judged as far as needed.
enum Judgement {
    /// Its suppression alone excludes it.
    Excluded { suppressed: u64, core: u64 },
    /// Judged in full.
    Judged { candidate: Candidate, core: u64 },
}

impl<'a> Grouping<'a> {
    fn new(problem: &Problem<'a>) -> Self {
        let (cells, budget) = (problem.cells, problem.cache_bytes);
        // Sizes are rows only where no subjects are counted, and a target is counted in full.
        let is_plain = cells.bottom.subjects.is_none() && cells.bottom.labels.is_none();
        let is_plain = is_plain && problem.switches.sizes;
        let least = problem.criteria.least_size().filter(|_| is_plain);
        match least.zip(SizeColumns::new(cells)) {
            Some((least, columns)) => Self::Sizes {
                supports: Supports::new(columns, cells, budget),
                least,
            },
            None => Self::Classes(Supports::new(cells, cells, budget)),
        }
    }

    fn prepare(&mut self, policies: &[Policy]) {
        match self {
            Self::Classes(supports) => supports.prepare(policies),
            Self::Sizes { supports, .. } => supports.prepare(policies),
        }
    }

    /// Classes read to make the tables kept, and most bytes of them.
    fn kept(&self) -> (u64, usize) {
        match self {
            Self::Classes(supports) => (supports.visits, supports.most_bytes),
            Self::Sizes { supports, .. } => (supports.visits, supports.most_bytes),
        }
    }
}

impl<'a, 'p> Proof<'a, 'p> {
    fn new(problem: &'a Problem<'p>, size: usize) -> Self {
        let buffers = || Buffers {
            scratch: Scratch::default(),
            table: ClassTable::empty(problem.cells),
            sizes: SizeScratch::default(),
        };
        Self {
            problem,
            grouping: Grouping::new(problem),
            buffers: PerThread::new(buffers),
            floors: vec![0; size],
            judged: vec![false; size],
            archive: Vec::new(),
            pivots: Vec::new(),
            least_suppressed: None,
            end: None,
        }
    }

    /// Joins what another search judged.
    fn take(&mut self, found: Found) {
        self.least_suppressed = found.least_suppressed;
        self.archive = found.front;
        for pivot in found.judged {
            let policy = Policy::new(pivot.levels.clone());
            self.judged[self.problem.space.place(&policy)] = true;
            self.raise_floors(&policy, pivot.core_suppressed_rows);
            self.pivots.push(pivot);
        }
    }

    /// Climbs from the bottom, each time by the step that costs least in the last objective: cheap, and near the best
    /// of a single objective. Whatever it finds only makes the proof shorter.
    fn seek_incumbents(&mut self) {
        let Some(objective) = self.problem.objectives.len().checked_sub(1) else {
            return;
        };
        let mut current = self.problem.space.bottom();
        let mut least = u128::MAX;
        while self.end.is_none() {
            let steps: Vec<Policy> = (0..current.levels().len())
                .filter_map(|attribute| self.problem.space.step(&current, attribute))
                .filter(|next| {
                    self.problem.objectives.lower_bounds(next.levels(), 0)[objective] < least
                })
                .collect();
            let costs = self.judge_all(&steps, true);
            let best = costs.into_iter().zip(steps).min();
            let Some((cost, next)) = best else {
                return;
            };
            if let Some(cost) = cost.feasible {
                least = least.min(cost);
            }
            current = next;
        }
    }

    /// Judges or excludes every policy, from costly to cheap.
    fn settle(&mut self) {
        let mut batch: Vec<Policy> = Vec::with_capacity(BATCH);
        let order = self.costly_first();
        let mut order = order.into_iter();
        let all = self.floors.len();
        while self.end.is_none() {
            batch.clear();
            while batch.len() < BATCH {
                let Some(place) = order.next() else {
                    break;
                };
                // Whatever is not to come in the order is judged or excluded, but for this batch.
                let settled = (all - order.len() - 1 - batch.len()) as u64;
                self.problem.meter.settle(settled, self.problem.observer);
                let place = place as usize;
                if self.judged[place] || u64::from(self.floors[place]) > self.problem.allowed {
                    continue;
                }
                let policy = self.problem.space.at(place);
                if !self.is_excluded(&policy, u64::from(self.floors[place])) {
                    batch.push(policy);
                }
            }
            if batch.is_empty() {
                return;
            }
            self.judge_all(&batch, false);
        }
    }

    /// Places of what is still open, in descending order of the least costs of their levels.
    fn costly_first(&self) -> Vec<u32> {
        let places = (0..u32::try_from(self.floors.len()).unwrap_or(u32::MAX)).into_par_iter();
        let mut bounds: Vec<([u128; MOST_OBJECTIVES], u32)> = places
            .filter_map(|place| {
                let policy = self.problem.space.at(place as usize);
                let floor = u64::from(self.floors[place as usize]);
                if self.is_excluded(&policy, floor) {
                    return None;
                }
                let bounds = self.problem.objectives.lower_bounds(policy.levels(), 0);
                Some((bounds, place))
            })
            .collect();
        bounds.par_sort_unstable_by(|left, right| right.cmp(left));
        bounds.into_iter().map(|(_, place)| place).collect()
    }

    /// Whether a judged policy beats whatever this one may cost if it suppresses at least so many rows.
    fn is_excluded(&self, policy: &Policy, suppressed: u64) -> bool {
        if suppressed > self.problem.allowed {
            return true;
        }
        let bounds = self
            .problem
            .objectives
            .lower_bounds(policy.levels(), suppressed);
        self.archive.iter().any(|member| {
            let reaches = member
                .keys
                .iter()
                .zip(&bounds)
                .all(|(key, bound)| key <= bound);
            reaches && (member.keys != bounds || member.policy.is_below(policy))
        })
    }

    /// Judges policies in parallel and joins what they prove in the order given.
    ///
    /// Gives the cost of each in the last objective.
    fn judge_all(&mut self, policies: &[Policy], in_full: bool) -> Vec<StepCost> {
        let budget = self.problem.search.max_evaluations.unwrap_or(u64::MAX);
        let new: Vec<Policy> = policies
            .iter()
            .filter(|policy| !self.judged[self.problem.space.place(policy)])
            .cloned()
            .collect();
        let left = usize::try_from(budget.saturating_sub(self.pivots.len() as u64));
        let left = left.unwrap_or(usize::MAX);
        if new.len() > left {
            self.end = Some(End::Budget);
        }
        let new = &new[..new.len().min(left)];
        self.grouping.prepare(new);
        let judgements: Vec<_> = new
            .par_iter()
            .map(|policy| {
                if let Some(stop) = self.problem.observer.must_stop() {
                    return Err(stop);
                }
                let mut buffers = self.buffers.get();
                let judgement = self.judge(policy, &mut buffers, in_full);
                self.problem.meter.count(self.problem.observer);
                Ok(judgement)
            })
            .collect();
        let mut costs = Vec::with_capacity(new.len());
        for (policy, judgement) in new.iter().zip(judgements) {
            match judgement {
                Ok(judgement) => costs.push(self.join(policy, judgement)),
                Err(stop) => self.end = self.end.or(Some(stop.into())),
            }
        }
        costs
    }

    fn judge(&self, policy: &Policy, buffers: &mut Buffers, in_full: bool) -> Judgement {
        let cells = self.problem.cells;
        let finer = match &self.grouping {
            Grouping::Classes(supports) => supports.finest(policy),
            Grouping::Sizes { supports, least } => {
                let judged =
                    self.judge_sizes(supports, *least, policy, &mut buffers.sizes, in_full);
                if let Some(judgement) = judged {
                    return judgement;
                }
                &cells.bottom
            }
        };
        self.problem.meter.visit(finer.len() as u64);
        let Buffers { scratch, table, .. } = buffers;
        finer.roll_up_into(cells, policy.levels(), scratch, table);
        // What is cheap to know first: most policies need no more.
        let counted = table.evaluate(cells, self.problem.criteria, Wanted::default());
        let core = counted.core_suppressed_rows;
        if !in_full && self.is_excluded(policy, counted.suppressed_rows) {
            return Judgement::Excluded {
                suppressed: counted.suppressed_rows,
                core,
            };
        }
        let wanted = self.problem.objectives.wanted();
        let candidate = if wanted == Wanted::default() {
            candidate(counted, self.problem.objectives, self.problem.allowed)
        } else {
            self.problem.judge(table)
        };
        Judgement::Judged { candidate, core }
    }

    /// The same by sizes alone; `None` if the policy's keys are too long for that.
    fn judge_sizes(
        &self,
        supports: &Supports<SizeColumns<'_>>,
        least: u64,
        policy: &Policy,
        scratch: &mut SizeScratch,
        in_full: bool,
    ) -> Option<Judgement> {
        let (finer, columns) = (supports.finest(policy), &supports.merging);
        let sums = columns.sums(finer, policy.levels(), least, scratch)?;
        self.problem.meter.visit(finer.len() as u64);
        let (suppressed, core) = (sums.suppressed_rows, sums.suppressed_rows);
        if !in_full && self.is_excluded(policy, suppressed) {
            return Some(Judgement::Excluded { suppressed, core });
        }
        let candidate = if self.problem.objectives.wanted() == Wanted::default() {
            let evaluation = Evaluation {
                levels: policy.levels().to_vec(),
                rows: self.problem.cells.rows,
                suppressed_rows: suppressed,
                core_suppressed_rows: core,
                classes: sums.classes,
                ..Evaluation::default()
            };
            candidate(evaluation, self.problem.objectives, self.problem.allowed)
        } else {
            self.problem.judge(&columns.table(policy.levels(), scratch))
        };
        Some(Judgement::Judged { candidate, core })
    }

    fn join(&mut self, policy: &Policy, judgement: Judgement) -> StepCost {
        let last = self.problem.objectives.len().saturating_sub(1);
        let (suppressed, core, cost) = match judgement {
            Judgement::Excluded { suppressed, core } => (suppressed, core, u128::MAX),
            Judgement::Judged { candidate, core } => {
                let suppressed = candidate.suppressed_rows;
                let cost = candidate.keys[last];
                if candidate.is_feasible() {
                    self.admit(candidate);
                }
                (suppressed, core, cost)
            }
        };
        self.judged[self.problem.space.place(policy)] = true;
        self.least_suppressed = self.least_suppressed.into_iter().chain([suppressed]).min();
        self.pivots.push(Pivot {
            levels: policy.levels().to_vec(),
            core_suppressed_rows: core,
        });
        self.raise_floors(policy, core);
        StepCost {
            cost,
            feasible: (suppressed <= self.problem.allowed).then_some(cost),
        }
    }

    /// Adds a feasible candidate unless one beats it; drops those that it beats.
    fn admit(&mut self, candidate: Candidate) {
        if self
            .archive
            .iter()
            .any(|member| member.dominates(&candidate))
        {
            return;
        }
        self.archive.retain(|member| !candidate.dominates(member));
        self.archive.push(candidate);
    }

    /// Every policy below suppresses at least as many rows.
    fn raise_floors(&mut self, policy: &Policy, core: u64) {
        let floor = u32::try_from(core).unwrap_or(u32::MAX);
        if floor == 0 {
            return;
        }
        for place in self.problem.space.places_below(policy) {
            let before = &mut self.floors[place];
            *before = (*before).max(floor);
        }
    }
}

/// What a step of the climb costs; ordered by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StepCost {
    cost: u128,
    feasible: Option<u128>,
}
