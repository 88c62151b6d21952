//! NSGA-II over level vectors, with an archive of every policy ever evaluated (algorithms.md A.4).
//!
//! The answer is the front of all that was evaluated, not of the last population. Every policy is evaluated once.
//!
//! Source: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", 2002; the lowest policy wins
//! where rank and crowding tie, so that nothing depends on the order of evaluation.

use rand::RngExt;
use rustc_hash::{FxHashMap, FxHashSet};

use super::front::{self, Candidate};
use super::problem::{Budget, End, Found, Problem};
use super::streams::{Streams, random_policy};
use super::supports::Supports;
use super::survival::{self, Standing};
use super::{exact, least};
use crate::anonymize::cells::Cells;
use crate::anonymize::policy::Policy;
use crate::declaration::Search;

/// The budget of a demand: its evaluations.
pub(super) fn budget(search: &Search) -> Budget {
    Budget {
        evaluations: search.max_evaluations.unwrap_or(u64::MAX),
        end: End::Budget,
    }
}

/// Searches for as many generations as the demand says, within the budget.
pub(crate) fn search(problem: &Problem<'_>, budget: Budget) -> Found {
    let population = problem.search.population.max(1) as u64;
    if problem.space.size().is_some_and(|size| size <= population) {
        return exact::search(problem);
    }
    let mut evolution = Evolution::new(problem, budget);
    let mut population = evolution.first_population();
    for generation in 1..=problem.search.generations as u64 {
        if evolution.end.is_some() {
            break;
        }
        let offspring = evolution.offspring(&population, generation);
        population = evolution.next_population(&population, &offspring, generation);
    }
    Found {
        evaluations: evolution.all.len() as u64,
        least_suppressed: least(None, &evolution.all),
        judged: evolution.all.iter().map(Candidate::pivot).collect(),
        front: front::front(evolution.all, problem.objectives.len()),
        end: evolution.end.unwrap_or(End::Done),
    }
}

struct Evolution<'a, 'p> {
    problem: &'a Problem<'p>,
    budget: Budget,
    streams: Streams,
    supports: Supports<&'a Cells>,
    mutation_probability: f64,
    /// Every policy evaluated, in order of evaluation.
    all: Vec<Candidate>,
    /// Place of each in `all`.
    places: FxHashMap<Policy, usize>,
    end: Option<End>,
}

impl<'a, 'p> Evolution<'a, 'p> {
    fn new(problem: &'a Problem<'p>, budget: Budget) -> Self {
        let attributes = problem.space.counts().len().max(1);
        let usual = (1.0 / attributes as f64).max(0.05);
        let probability = problem.search.mutation_probability.unwrap_or(usual);
        Self {
            problem,
            budget,
            streams: Streams::new(problem.search.seed),
            supports: Supports::new(problem.cells, problem.cells, problem.cache_bytes),
            mutation_probability: probability.clamp(0.0, 1.0),
            all: Vec::new(),
            places: FxHashMap::default(),
            end: None,
        }
    }

    /// Top, bottom and distinct random policies.
    fn first_population(&mut self) -> Vec<usize> {
        let space = &self.problem.space;
        let mut policies = vec![space.top()];
        if space.bottom() != policies[0] {
            policies.push(space.bottom());
        }
        let mut seen: FxHashSet<Policy> = policies.iter().cloned().collect();
        self.fill(&mut policies, &mut seen, 0, 0);
        self.evaluate(&policies)
    }

    /// Adds distinct random policies up to the size of the population.
    fn fill(
        &self,
        policies: &mut Vec<Policy>,
        seen: &mut FxHashSet<Policy>,
        generation: u64,
        first: u64,
    ) {
        let mut individual = first;
        while policies.len() < self.problem.search.population {
            let mut random = self.streams.stream(generation, individual);
            individual += 1;
            loop {
                let policy = random_policy(&self.problem.space, &mut random);
                if seen.insert(policy.clone()) {
                    policies.push(policy);
                    break;
                }
            }
        }
    }

    /// Evaluates policies that are new, as far as the budget goes; gives the places of all that have one.
    fn evaluate(&mut self, policies: &[Policy]) -> Vec<usize> {
        let mut seen = FxHashSet::default();
        let mut new: Vec<Policy> = policies
            .iter()
            .filter(|policy| !self.places.contains_key(policy) && seen.insert(*policy))
            .cloned()
            .collect();
        let left = usize::try_from(self.budget.evaluations)
            .unwrap_or(usize::MAX)
            .saturating_sub(self.all.len());
        if new.len() > left {
            new.truncate(left);
            self.end = Some(self.budget.end);
        }
        let (judged, end) = self.problem.evaluate(&new, &mut self.supports);
        self.end = end.or(self.end);
        for candidate in judged {
            self.places.insert(candidate.policy.clone(), self.all.len());
            self.all.push(candidate);
        }
        policies
            .iter()
            .filter_map(|policy| self.places.get(policy).copied())
            .collect()
    }

    fn standings(&self, members: &[usize]) -> Vec<Standing> {
        let candidates: Vec<&Candidate> = members.iter().map(|&place| &self.all[place]).collect();
        survival::standings(&candidates, self.problem.objectives.len())
    }

    fn order(&self, left: (usize, Standing), right: (usize, Standing)) -> std::cmp::Ordering {
        let own = |(place, standing): (usize, Standing)| (&self.all[place], standing);
        survival::order(own(left), own(right))
    }

    /// One child per individual: two tournaments, uniform crossover, mutation.
    fn offspring(&self, population: &[usize], generation: u64) -> Vec<Policy> {
        let standings = self.standings(population);
        let counts = self.problem.space.counts();
        let child = |individual: u64| {
            let mut random = self.streams.stream(generation, individual);
            let mut parent = || {
                let mut draw = || {
                    let index = random.random_range(0..population.len() as u64);
                    let index = usize::try_from(index).unwrap_or(0);
                    (population[index], standings[index])
                };
                let (first, second) = (draw(), draw());
                let wins = self.order(first, second).is_le();
                &self.all[if wins { first.0 } else { second.0 }].policy
            };
            let (mother, father) = (parent(), parent());
            let genes = mother.levels().iter().zip(father.levels()).zip(counts);
            let levels = genes.map(|((&mother, &father), &count)| {
                let level = if random.random_bool(0.5) {
                    mother
                } else {
                    father
                };
                if count < 2 || !random.random_bool(self.mutation_probability) {
                    return level;
                }
                // Uniform over the other levels.
                let other = random.random_range(0..count - 1);
                if other < level { other } else { other + 1 }
            });
            Policy::new(levels.collect::<Vec<_>>())
        };
        (0..self.problem.search.population as u64)
            .map(child)
            .collect()
    }

    /// The best of parents and offspring, front by front; random policies where there are not enough distinct ones.
    fn next_population(
        &mut self,
        population: &[usize],
        offspring: &[Policy],
        generation: u64,
    ) -> Vec<usize> {
        let mut seen: FxHashSet<usize> = population.iter().copied().collect();
        let mut pool = population.to_vec();
        let children = self.evaluate(offspring);
        pool.extend(children.into_iter().filter(|&place| seen.insert(place)));
        let size = self.problem.search.population;
        if pool.len() < size && self.end.is_none() {
            let mut policies: Vec<Policy> = pool
                .iter()
                .map(|&place| self.all[place].policy.clone())
                .collect();
            let mut known = policies.iter().cloned().collect();
            self.fill(&mut policies, &mut known, generation, size as u64);
            pool = self.evaluate(&policies);
        }
        let standings = self.standings(&pool);
        let mut ranked: Vec<(usize, Standing)> = pool.into_iter().zip(standings).collect();
        ranked.sort_unstable_by(|&left, &right| self.order(left, right));
        ranked.truncate(size);
        ranked.into_iter().map(|(place, _)| place).collect()
    }
}
