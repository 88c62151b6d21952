//! One search over cuts: what all of its methods share.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cuts::Cuts;
use super::forest::Forest;
use super::partition::Partition;
use super::scores::Gains;
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::privacy::Criteria;
use crate::anonymize::search::front::Candidate;
use crate::anonymize::search::problem::{self, End, Problem};
use crate::anonymize::utility::Objectives;
use crate::declaration::Demand;

/// A task over cuts.
pub(crate) struct Run<'a> {
    pub(crate) problem: &'a Problem<'a>,
    pub(crate) demand: &'a Demand,
    pub(crate) criteria: &'a Criteria,
    /// Most rows that may be suppressed.
    pub(crate) allowed: u64,
    pub(crate) forest: Forest<'a>,
    /// By attribute and cell.
    pub(crate) leaves: Vec<Vec<u32>>,
    pub(crate) gains: Gains,
    /// Whether a step that is not valid now never will be (algorithms.md C.4, D.2).
    pub(crate) drops_for_good: bool,
    evaluations: AtomicU64,
    /// Whether nothing is counted: steps over a sample are no evaluations.
    is_trial: bool,
}

/// A cut with its classes, ready to be reported.
pub(crate) struct Grouped {
    /// The cells with the cut as their upper level.
    pub(crate) view: Cells,
    pub(crate) table: ClassTable,
    pub(crate) scratch: Scratch,
}

impl<'a> Run<'a> {
    pub(crate) fn new(problem: &'a Problem<'a>, demand: &'a Demand) -> Self {
        let forest = Forest::new(problem.cells);
        let criteria = problem.criteria;
        Self {
            gains: Gains::new(&forest, demand.search.score, &demand.weights),
            leaves: forest.leaves_of_cells(),
            drops_for_good: criteria.absorbing()
                || (criteria.merge_closed() && problem.allowed == 0),
            allowed: problem.allowed,
            evaluations: AtomicU64::new(0),
            is_trial: false,
            forest,
            criteria,
            problem,
            demand,
        }
    }

    /// The same over a sample of one of so many cells.
    pub(crate) fn trial(&self, sampled: u64) -> Self {
        Self {
            allowed: self.allowed / sampled,
            is_trial: true,
            ..Self::new(self.problem, self.demand)
        }
    }

    /// Every cell.
    pub(crate) fn all_cells(&self) -> Vec<u32> {
        (0..).take(self.forest.cells.len()).collect()
    }

    /// Whether to end, and how.
    pub(crate) fn must_end(&self) -> Option<End> {
        self.problem.observer.must_stop().map(End::from)
    }

    /// Evaluations so far: steps, and cuts judged as a whole.
    pub(crate) fn evaluations(&self) -> u64 {
        self.evaluations.load(Ordering::Relaxed)
    }

    /// Counts an evaluation; false if none is left.
    pub(crate) fn count(&self) -> bool {
        if self.is_trial {
            return true;
        }
        let most = self.demand.search.max_evaluations.unwrap_or(u64::MAX);
        if self.evaluations() >= most {
            return false;
        }
        self.evaluations.fetch_add(1, Ordering::Relaxed);
        self.problem.meter.count(self.problem.observer);
        true
    }

    /// Whether a criterion looks at all classes together.
    pub(crate) fn judges_whole_tables(&self) -> bool {
        self.criteria.of_tables().next().is_some()
    }

    pub(crate) fn is_within(&self, violating: u64, rows: u64) -> bool {
        violating <= self.allowed && violating < rows
    }

    /// Whether a state releases something and suppresses no more than is allowed.
    pub(crate) fn is_valid(&self, partition: &Partition<'_>) -> bool {
        if self.judges_whole_tables() {
            // What is withdrawn depends on all classes: nothing short of a judgement tells.
            return self.judge(&partition.cuts).is_feasible();
        }
        self.is_within(partition.violating, partition.rows)
    }

    /// Groups the cells by a cut.
    pub(crate) fn group(&self, cuts: &Cuts) -> Grouped {
        let view = self.forest.view(cuts);
        let mut scratch = Scratch::default();
        let table = ClassTable::group(&view, &self.forest.ones(), &mut scratch);
        Grouped {
            view,
            table,
            scratch,
        }
    }

    /// Judges a cut as any policy is judged.
    pub(crate) fn judge(&self, cuts: &Cuts) -> Candidate {
        let grouped = self.group(cuts);
        let objectives = Objectives::new(self.demand, &grouped.view);
        let judged = problem::judge(
            &grouped.view,
            self.criteria,
            &objectives,
            self.allowed,
            &grouped.table,
        );
        Candidate {
            policy: cuts.to_policy(&self.forest.trees),
            ..judged
        }
    }

    /// The same cut without specialised nodes below which nothing is released. That such a node is specialised, or is
    /// there at all, would tell of rows that are suppressed. Only their classes merge by that, with each other.
    pub(crate) fn without_idle_nodes(&self, candidate: Candidate) -> Candidate {
        let trees = &self.forest.trees;
        let mut cuts = Cuts::from_policy(trees, &candidate.policy);
        let mut is_changed = false;
        loop {
            let idle = self.idle_nodes(&cuts);
            if idle.is_empty() {
                break;
            }
            for (attribute, node) in idle {
                cuts.generalize(attribute, node);
            }
            is_changed = true;
        }
        if is_changed {
            self.judge(&cuts)
        } else {
            candidate
        }
    }

    /// Specialised nodes below which nothing is released, with their attributes.
    fn idle_nodes(&self, cuts: &Cuts) -> Vec<(usize, u32)> {
        let Grouped { view, table, .. } = self.group(cuts);
        let released = table.release(&view, self.criteria).released;
        let mut idle = Vec::new();
        for (attribute, tree) in self.forest.trees.iter().enumerate() {
            let nodes: Vec<u32> = cuts.nodes(tree, attribute).collect();
            let mut in_use = vec![false; tree.len()];
            for class in (0..table.len()).filter(|&class| released[class]) {
                let mut node = nodes[table.node(&view, class, attribute) as usize] as usize;
                while !in_use[node] {
                    in_use[node] = true;
                    node = tree.nodes[node].parent as usize;
                }
            }
            let specialised = tree.inner.iter().copied();
            let specialised = specialised.filter(|&node| cuts.is_specialized(attribute, node));
            let unused = specialised.filter(|&node| !in_use[node as usize]);
            idle.extend(unused.map(|node| (attribute, node)));
        }
        idle
    }

    /// Judges cuts in parallel, in the order given, as far as the budget goes.
    pub(crate) fn judge_all(&self, cuts: &[Cuts]) -> (Vec<Candidate>, Option<End>) {
        let most = self.demand.search.max_evaluations.unwrap_or(u64::MAX);
        let left = usize::try_from(most.saturating_sub(self.evaluations())).unwrap_or(usize::MAX);
        let within = &cuts[..left.min(cuts.len())];
        let judged: Vec<Result<Candidate, End>> = within
            .par_iter()
            .map(|cuts| {
                if let Some(end) = self.must_end() {
                    return Err(end);
                }
                self.count();
                Ok(self.judge(cuts))
            })
            .collect();
        let stopped = judged
            .iter()
            .find_map(|judged| judged.as_ref().err().copied());
        let budget = (within.len() < cuts.len()).then_some(End::Budget);
        (judged.into_iter().flatten().collect(), stopped.or(budget))
    }
}
