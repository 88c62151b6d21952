//! Plain enumeration of every policy, by a walk that never groups from the cells again.
//!
//! Attributes are raised one after the other: the classes of a policy are merged from those of the policy one level
//! lower in the attribute raised last. The walk is a tree, so a thread needs two class tables per attribute, and its
//! branches run in parallel. Each branch keeps the front of its own policies only, so memory does not grow with the space.

use rayon::prelude::*;

use super::front::{self, Candidate};
use super::problem::{End, Found, Problem};
use crate::anonymize::classes::{ClassTable, Scratch};

/// Branches that the walk is cut into: enough to balance threads, few enough that starting them costs little.
const BRANCHES: u64 = 256;

/// Evaluates every policy, up to the evaluations allowed.
pub(crate) fn search(problem: &Problem<'_>) -> Found {
    let counts = problem.space.counts();
    let size = problem.space.size().unwrap_or(u64::MAX);
    let budget = problem.search.max_evaluations.unwrap_or(u64::MAX);
    // Attributes with the most values first: the tables below them are small then.
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&attribute| {
        let nodes = problem.cells.quasi_identifiers[attribute].from_bottom[0].len();
        (std::cmp::Reverse(nodes), attribute)
    });
    let (mut branches, mut cut) = (1_u64, 0);
    while cut < order.len() && branches < BRANCHES {
        branches *= u64::from(counts[order[cut]]);
        cut += 1;
    }
    let per_branch = size / branches;
    let walked: Vec<Walk<'_, '_>> = (0..branches)
        .into_par_iter()
        .map(|branch| {
            let mut walk = Walk::new(problem, &order);
            walk.left = budget.saturating_sub(branch * per_branch).min(per_branch);
            walk.start(branch, cut);
            walk
        })
        .collect();
    let mut found = Found {
        front: Vec::new(),
        evaluations: 0,
        least_suppressed: None,
        judged: Vec::new(),
        end: if budget < size {
            End::Budget
        } else {
            End::Done
        },
    };
    for walk in walked {
        found.evaluations += walk.evaluations;
        found.least_suppressed = found
            .least_suppressed
            .into_iter()
            .chain(walk.least_suppressed)
            .min();
        if found.end != End::Cancelled {
            found.end = walk.end.unwrap_or(found.end);
        }
        found.front.extend(walk.members);
    }
    found.front = front::front(found.front, problem.objectives.len());
    found
}

/// One thread's part of the walk.
struct Walk<'a, 'p> {
    problem: &'a Problem<'p>,
    order: &'a [usize],
    levels: Vec<u32>,
    scratch: Scratch,
    spare: Vec<ClassTable>,
    members: Vec<Candidate>,
    /// Evaluations still allowed.
    left: u64,
    evaluations: u64,
    least_suppressed: Option<u64>,
    end: Option<End>,
}

impl<'a, 'p> Walk<'a, 'p> {
    fn new(problem: &'a Problem<'p>, order: &'a [usize]) -> Self {
        Self {
            problem,
            order,
            levels: vec![0; order.len()],
            scratch: Scratch::default(),
            spare: Vec::new(),
            members: Vec::new(),
            left: 0,
            evaluations: 0,
            least_suppressed: None,
            end: None,
        }
    }

    /// Walks the branch with this number, which fixes the first `cut` attributes.
    fn start(&mut self, branch: u64, cut: usize) {
        if self.left == 0 {
            return;
        }
        let mut rest = branch;
        for &attribute in &self.order[..cut] {
            let count = u64::from(self.problem.space.counts()[attribute]);
            self.levels[attribute] = u32::try_from(rest % count).unwrap_or(0);
            rest /= count;
        }
        let cells = self.problem.cells;
        let classes = ClassTable::group(cells, &self.levels, &mut self.scratch);
        self.descend(cut, &classes);
        self.members = front::front(
            std::mem::take(&mut self.members),
            self.problem.objectives.len(),
        );
    }

    /// Visits every policy that keeps the attributes before `depth`; their classes at level 0 of the others are given.
    fn descend(&mut self, depth: usize, classes: &ClassTable) {
        if depth == self.order.len() {
            self.visit(classes);
            return;
        }
        self.descend(depth + 1, classes);
        let attribute = self.order[depth];
        let (mut current, mut next) = (self.spare(), self.spare());
        for level in 1..self.problem.space.counts()[attribute] {
            if self.end.is_some() || self.left == 0 {
                break;
            }
            let finer = if level == 1 { classes } else { &current };
            self.levels[attribute] = level;
            let cells = self.problem.cells;
            finer.roll_up_into(cells, &self.levels, &mut self.scratch, &mut next);
            self.problem.meter.visit(finer.len() as u64);
            std::mem::swap(&mut current, &mut next);
            self.descend(depth + 1, &current);
        }
        self.levels[attribute] = 0;
        self.spare.extend([current, next]);
    }

    fn visit(&mut self, classes: &ClassTable) {
        if self.end.is_some() || self.left == 0 {
            return;
        }
        if let Some(stop) = self.problem.observer.must_stop() {
            self.end = Some(stop.into());
            return;
        }
        let candidate = self.problem.judge(classes);
        self.left -= 1;
        self.evaluations += 1;
        let suppressed = candidate.suppressed_rows;
        self.least_suppressed = self.least_suppressed.into_iter().chain([suppressed]).min();
        if candidate.is_feasible() {
            self.members.push(candidate);
        }
        self.problem.meter.count(self.problem.observer);
    }

    fn spare(&mut self) -> ClassTable {
        self.spare
            .pop()
            .unwrap_or_else(|| ClassTable::empty(self.problem.cells))
    }
}
