//! Iterated local search of one objective, for spaces too large to be searched whole.
//!
//! Steepest descent by one level of one attribute at a time, from the policy that generalises everything; then, again
//! and again, a few attributes of the best policy get random levels and the descent starts from there. What costs time
//! is grouping, so neighbours are grouped from numbers that they share ([`Around`]), a neighbour whose bound is no
//! better than the policy in the middle is not grouped, and one whose suppression already rules it out is not totalled.
//!
//! Neighbours are judged in parallel and compared in a fixed order: thread count changes nothing.
//!
//! Source: H. R. Lourenço, O. C. Martin, T. Stützle, "Iterated local search", 2003.

use rand::RngExt;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::around::{Around, Buffers};
use super::front::{self, Candidate};
use super::problem::{Budget, End, Found, Problem};
use super::streams::Streams;
use crate::anonymize::Stop;
use crate::anonymize::classes::{ClassTable, Scratch, Wanted};
use crate::anonymize::policy::Policy;
use crate::declaration::Search;

/// Evaluations of a search that names neither evaluations nor seconds.
const USUAL_EVALUATIONS: u64 = 5000;
/// Fewest and most attributes that a perturbation changes.
const CHANGED: std::ops::RangeInclusive<usize> = 2..=5;
/// Perturbations in a row without a new policy after which the search ends.
const IDLE_ROUNDS: u64 = 200;

/// The budget of a demand: its evaluations, else its seconds, else the usual.
pub(super) fn budget(search: &Search) -> Budget {
    match search.max_evaluations {
        Some(evaluations) => Budget {
            evaluations,
            end: End::Budget,
        },
        None => Budget {
            evaluations: search.max_seconds.map_or(USUAL_EVALUATIONS, |_| u64::MAX),
            end: End::Done,
        },
    }
}

/// Searches until its evaluations are used up or nothing new is found.
pub(crate) fn search(problem: &Problem<'_>, budget: Budget) -> Found {
    let mut local = Local::new(problem, budget);
    local.run();
    Found {
        evaluations: local.evaluations,
        least_suppressed: local.least_suppressed,
        judged: Vec::new(),
        front: front::front(local.best, problem.objectives.len()),
        end: local.end.unwrap_or(End::Done),
    }
}

/// What a policy costs: violation of the demands, then the objective.
type Cost = (u64, u128);

/// What is known of a policy.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// Its cost, or one that it is not below.
    cost: Cost,
    is_exact: bool,
    /// Rows that policies which generalise less suppress at least.
    core: u64,
}

/// One judged policy.
struct Judged {
    known: Known,
    suppressed: u64,
    /// Where it was judged in full.
    candidate: Option<Candidate>,
}

struct Local<'a, 'p> {
    problem: &'a Problem<'p>,
    budget: Budget,
    /// Unless that takes more memory than may be used.
    around: Option<Around<'a>>,
    known: FxHashMap<Policy, Known>,
    /// Policies of the least cost found, if they are feasible.
    best: Vec<Candidate>,
    evaluations: u64,
    least_suppressed: Option<u64>,
    end: Option<End>,
}

impl<'a, 'p> Local<'a, 'p> {
    fn new(problem: &'a Problem<'p>, budget: Budget) -> Self {
        let top = problem.space.top();
        let fits = Around::bytes(problem.cells) <= problem.cache_bytes;
        Self {
            problem,
            budget,
            around: fits.then(|| Around::new(problem.cells, top.levels())),
            known: FxHashMap::default(),
            best: Vec::new(),
            evaluations: 0,
            least_suppressed: None,
            end: None,
        }
    }

    fn run(&mut self) {
        let counts = self.problem.space.counts();
        let movable: Vec<usize> = (0..counts.len())
            .filter(|&attribute| counts[attribute] > 1)
            .collect();
        let streams = Streams::new(self.problem.search.seed);
        let Some((mut best, mut least)) = self.descend(self.problem.space.top()) else {
            return;
        };
        let (mut round, mut idle) = (0, 0);
        while self.end.is_none() && idle < IDLE_ROUNDS && !movable.is_empty() {
            round += 1;
            let mut random = streams.stream(round, 0);
            let mut levels = best.levels().to_vec();
            for _ in 0..random.random_range(CHANGED) {
                let attribute = movable[draw(&mut random, movable.len())];
                levels[attribute] = random.random_range(0..counts[attribute]);
            }
            let before = self.evaluations;
            let Some((found, cost)) = self.descend(Policy::new(levels)) else {
                return;
            };
            idle = if self.evaluations == before {
                idle + 1
            } else {
                0
            };
            if (cost, &found) <= (least, &best) {
                (best, least) = (found, cost);
            }
        }
    }

    /// The policy that no neighbour betters, downhill of the given one; `None` if that could not be judged.
    fn descend(&mut self, start: Policy) -> Option<(Policy, Cost)> {
        let mut cost = self.cost_of(&start)?;
        let mut current = start;
        while self.end.is_none() {
            let Some((next, less)) = self.best_neighbour(&current, cost) else {
                break;
            };
            (current, cost) = (next, less);
        }
        Some((current, cost))
    }

    /// Judges one policy in full.
    fn cost_of(&mut self, policy: &Policy) -> Option<Cost> {
        if let Some(known) = self.known.get(policy)
            && known.is_exact
        {
            return Some(known.cost);
        }
        if !self.may_judge(policy) {
            return None;
        }
        let mut scratch = Scratch::default();
        let problem = self.problem;
        let table = match &mut self.around {
            Some(around) => {
                around.focus(policy.levels());
                let mut table = ClassTable::empty(problem.cells);
                around.group(&mut Buffers::default(), &mut table);
                table
            }
            None => ClassTable::group(problem.cells, policy.levels(), &mut scratch),
        };
        let judged = judge(problem, &table, None);
        let cost = judged.known.cost;
        self.join(policy, judged);
        Some(cost)
    }

    /// Whether one more policy may be judged.
    fn may_judge(&mut self, policy: &Policy) -> bool {
        if let Some(stop) = self.problem.observer.must_stop() {
            self.end = Some(stop.into());
        } else if self.evaluations >= self.budget.evaluations && !self.known.contains_key(policy) {
            self.end = Some(self.budget.end);
        }
        self.end.is_none()
    }

    /// The cheapest policy one level from the given one, if it is cheaper; the lowest of several.
    fn best_neighbour(&mut self, current: &Policy, cost: Cost) -> Option<(Policy, Cost)> {
        let core = self.known.get(current).map_or(0, |known| known.core);
        let mut best: Option<(Cost, Policy)> = None;
        let mut open: Vec<(usize, Vec<Policy>)> = Vec::new();
        let mut left = self.budget.evaluations - self.evaluations;
        for (attribute, &count) in self.problem.space.counts().iter().enumerate() {
            let level = current.levels()[attribute];
            let below = level.checked_sub(1).map(|level| (level, core));
            let above = (level + 1 < count).then_some((level + 1, 0));
            let mut wanted = Vec::new();
            for (level, suppressed) in below.into_iter().chain(above) {
                let mut levels = current.levels().to_vec();
                levels[attribute] = level;
                let policy = Policy::new(levels);
                match self.known.get(&policy) {
                    Some(known) if known.cost >= cost => {}
                    Some(known) if known.is_exact => {
                        best = best.into_iter().chain([(known.cost, policy)]).min();
                    }
                    Some(_) => wanted.push(policy),
                    None => {
                        let [bound, ..] = self
                            .problem
                            .objectives
                            .lower_bounds(policy.levels(), suppressed);
                        let excess = suppressed.saturating_sub(self.problem.allowed);
                        if (excess, bound) >= cost {
                            continue;
                        }
                        if left == 0 {
                            self.end = Some(self.budget.end);
                            continue;
                        }
                        left -= 1;
                        wanted.push(policy);
                    }
                }
            }
            if !wanted.is_empty() {
                open.push((attribute, wanted));
            }
        }
        if let Some(around) = self.around.as_mut().filter(|_| !open.is_empty()) {
            around.focus(current.levels());
        }
        let judged: Vec<Result<Vec<Judged>, Stop>> = open
            .par_iter()
            .map_init(
                || (Buffers::default(), ClassTable::empty(self.problem.cells)),
                |(buffers, table), (attribute, policies)| {
                    self.judge_all(*attribute, policies, cost, buffers, table)
                },
            )
            .collect();
        for ((_, policies), judged) in open.iter().zip(judged) {
            match judged {
                Ok(judged) => {
                    for (policy, judged) in policies.iter().zip(judged) {
                        if judged.known.is_exact && judged.known.cost < cost {
                            let found = (judged.known.cost, policy.clone());
                            best = best.into_iter().chain([found]).min();
                        }
                        self.join(policy, judged);
                    }
                }
                Err(stop) => self.end = Some(stop.into()),
            }
        }
        best.map(|(cost, policy)| (policy, cost))
    }

    /// Judges policies that differ from the middle in one attribute, as far as needed to know whether they cost less.
    fn judge_all(
        &self,
        attribute: usize,
        policies: &[Policy],
        cost: Cost,
        buffers: &mut Buffers,
        table: &mut ClassTable,
    ) -> Result<Vec<Judged>, Stop> {
        let problem = self.problem;
        if let Some(stop) = problem.observer.must_stop() {
            return Err(stop);
        }
        let mut judged = Vec::with_capacity(policies.len());
        if let Some(around) = &self.around {
            let levels = policies.iter().map(|policy| policy.levels()[attribute]);
            around.for_levels(attribute, levels, buffers, table, |table| {
                judged.push(judge(problem, table, Some(cost)));
            });
        } else {
            for policy in policies {
                let bottom = &problem.cells.bottom;
                bottom.roll_up_into(problem.cells, policy.levels(), &mut buffers.scratch, table);
                judged.push(judge(problem, table, Some(cost)));
            }
        }
        Ok(judged)
    }

    fn join(&mut self, policy: &Policy, judged: Judged) {
        if self.known.insert(policy.clone(), judged.known).is_none() {
            self.evaluations += 1;
            self.problem.meter.count(self.problem.observer);
        }
        self.least_suppressed = self
            .least_suppressed
            .into_iter()
            .chain([judged.suppressed])
            .min();
        let Some(candidate) = judged.candidate.filter(Candidate::is_feasible) else {
            return;
        };
        match self.best.first() {
            Some(best) if best.keys < candidate.keys => return,
            Some(best) if best.keys > candidate.keys => self.best.clear(),
            _ => {}
        }
        self.best.push(candidate);
    }
}

/// Judges the policy whose classes are given; only whether it costs less than `most`, where that is told.
fn judge(problem: &Problem<'_>, table: &ClassTable, most: Option<Cost>) -> Judged {
    // What is cheap to know first; where criteria look at distributions, it is not cheap.
    if let Some(most) = most.filter(|_| problem.criteria.is_plain()) {
        let counted = table.evaluate(problem.cells, problem.criteria, Wanted::default());
        let suppressed = counted.suppressed_rows;
        let [bound, ..] = problem.objectives.lower_bounds(&table.levels, suppressed);
        let least = (problem.violation(&counted), bound);
        if least >= most {
            return Judged {
                known: Known {
                    cost: least,
                    is_exact: false,
                    core: counted.core_suppressed_rows,
                },
                suppressed,
                candidate: None,
            };
        }
    }
    let candidate = problem.judge(table);
    Judged {
        known: Known {
            cost: (candidate.violation, candidate.keys[0]),
            is_exact: true,
            core: candidate.core_suppressed_rows,
        },
        suppressed: candidate.suppressed_rows,
        candidate: Some(candidate),
    }
}

fn draw(random: &mut impl RngExt, count: usize) -> usize {
    let index = random.random_range(0..count as u64);
    usize::try_from(index).unwrap_or(0)
}
