//! NSGA-II over cuts (algorithms.md C.6): the genetic model.
//!
//! A gene per inner node says whether it is specialised. Crossover takes the genes of one subtree per attribute from the
//! other parent; mutation specialises nodes of the cut and generalises parents of them. The first population holds
//! where the two greedy ways led and random cuts between the roots and the values. As with policies, the answer is the
//! front of all that was ever judged, and every cut is judged once.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rustc_hash::{FxHashMap, FxHashSet};

use super::cuts::Cuts;
use super::methods::{self, found};
use super::run::Run;
use crate::anonymize::policy::Policy;
use crate::anonymize::search::front::Candidate;
use crate::anonymize::search::problem::{End, Found};
use crate::anonymize::search::streams::Streams;
use crate::anonymize::search::survival::{self, Standing};

/// Random cuts are drawn so often per place before a population is left smaller.
const ATTEMPTS: u64 = 20;

/// Searches for as many generations as the demand says.
pub(crate) fn search(run: &Run<'_>) -> Found {
    let reached = methods::both(run);
    if reached.end == End::Cancelled {
        return found(run, Vec::new(), End::Cancelled);
    }
    let mut evolution = Evolution {
        run,
        streams: Streams::new(run.demand.search.seed),
        all: Vec::new(),
        places: FxHashMap::default(),
        end: None,
    };
    // Where the greedy ways led is judged even if they used up the budget.
    let mut seeds = reached.cuts;
    seeds.push(Cuts::roots(&run.forest.trees));
    for cuts in &seeds {
        evolution.keep(run.judge(cuts));
    }
    evolution.end = (reached.end != End::Done).then_some(reached.end);
    let mut population = evolution.first_population();
    for generation in 1..=run.demand.search.generations as u64 {
        if evolution.end.is_some() {
            break;
        }
        let offspring = evolution.offspring(&population, generation);
        population = evolution.next_population(&population, &offspring);
    }
    let end = evolution.end.unwrap_or(End::Done);
    found(run, evolution.all, end)
}

struct Evolution<'r, 'a> {
    run: &'r Run<'a>,
    streams: Streams,
    /// Every cut judged, in order.
    all: Vec<Candidate>,
    /// Place of each in `all`.
    places: FxHashMap<Policy, usize>,
    end: Option<End>,
}

impl Evolution<'_, '_> {
    fn size(&self) -> usize {
        self.run.demand.search.population
    }

    fn keep(&mut self, candidate: Candidate) {
        if !self.places.contains_key(&candidate.policy) {
            self.places.insert(candidate.policy.clone(), self.all.len());
            self.all.push(candidate);
        }
    }

    /// What is judged already, and distinct random cuts.
    fn first_population(&mut self) -> Vec<usize> {
        let trees = &self.run.forest.trees;
        let mut seen: FxHashSet<Policy> = self.places.keys().cloned().collect();
        let mut drawn = Vec::new();
        let wanted = self.size().saturating_sub(self.all.len());
        for individual in 0..wanted as u64 * ATTEMPTS {
            if drawn.len() == wanted {
                break;
            }
            let cuts = self.random(&mut self.streams.stream(0, individual));
            if seen.insert(cuts.to_policy(trees)) {
                drawn.push(cuts);
            }
        }
        self.evaluate(&drawn);
        let all: Vec<usize> = (0..self.all.len()).collect();
        self.survivors(all)
    }

    /// Nodes are specialised with one probability per attribute, drawn anew for each cut.
    fn random(&self, random: &mut ChaCha8Rng) -> Cuts {
        let trees = &self.run.forest.trees;
        let mut cuts = Cuts::roots(trees);
        for (attribute, tree) in trees.iter().enumerate() {
            let probability: f64 = random.random_range(0.0..1.0);
            for &node in &tree.inner {
                let is_open =
                    node == 0 || cuts.is_specialized(attribute, tree.nodes[node as usize].parent);
                if is_open && random.random_bool(probability) {
                    cuts.specialize(attribute, node);
                }
            }
        }
        cuts
    }

    /// Judges what is new; gives the places of all that have one, each once.
    fn evaluate(&mut self, cuts: &[Cuts]) -> Vec<usize> {
        let trees = &self.run.forest.trees;
        let policies: Vec<Policy> = cuts.iter().map(|cuts| cuts.to_policy(trees)).collect();
        let mut seen = FxHashSet::default();
        let new = cuts.iter().zip(&policies);
        let new =
            new.filter(|(_, policy)| !self.places.contains_key(policy) && seen.insert(*policy));
        let new: Vec<Cuts> = new.map(|(cuts, _)| cuts.clone()).collect();
        let (judged, end) = self.run.judge_all(&new);
        self.end = end.or(self.end);
        for candidate in judged {
            self.keep(candidate);
        }
        policies
            .iter()
            .filter_map(|policy| self.places.get(policy).copied())
            .collect()
    }

    fn ranked(&self, members: Vec<usize>) -> Vec<(usize, Standing)> {
        let candidates: Vec<&Candidate> = members.iter().map(|&place| &self.all[place]).collect();
        let standings = survival::standings(&candidates, self.run.demand.objectives.len());
        members.into_iter().zip(standings).collect()
    }

    fn order(&self, left: (usize, Standing), right: (usize, Standing)) -> std::cmp::Ordering {
        let own = |(place, standing): (usize, Standing)| (&self.all[place], standing);
        survival::order(own(left), own(right))
    }

    /// The best, as many as a population has.
    fn survivors(&self, members: Vec<usize>) -> Vec<usize> {
        let mut ranked = self.ranked(members);
        ranked.sort_unstable_by(|&left, &right| self.order(left, right));
        ranked.truncate(self.size());
        ranked.into_iter().map(|(place, _)| place).collect()
    }

    /// One child per individual: two tournaments, crossover of subtrees, mutation.
    fn offspring(&self, population: &[usize], generation: u64) -> Vec<Cuts> {
        let trees = &self.run.forest.trees;
        let ranked = self.ranked(population.to_vec());
        let child = |individual: u64| {
            let mut random = self.streams.stream(generation, individual);
            let mut parent = || {
                let mut draw = || {
                    let index = random.random_range(0..ranked.len() as u64);
                    ranked[usize::try_from(index).unwrap_or(0)]
                };
                let (first, second) = (draw(), draw());
                let wins = self.order(first, second).is_le();
                let place = if wins { first.0 } else { second.0 };
                Cuts::from_policy(trees, &self.all[place].policy)
            };
            let (mut child, father) = (parent(), parent());
            for (attribute, tree) in trees.iter().enumerate() {
                if !tree.inner.is_empty() && random.random_bool(0.5) {
                    let index = random.random_range(0..tree.inner.len() as u64);
                    let node = tree.inner[usize::try_from(index).unwrap_or(0)];
                    child.graft(&father, tree, attribute, node);
                }
            }
            child.repair(trees);
            self.mutate(&mut child, &mut random);
            child
        };
        (0..self.size() as u64).map(child).collect()
    }

    /// Specialises nodes of the cut and generalises parents of them, each with the probability asked for.
    fn mutate(&self, cuts: &mut Cuts, random: &mut ChaCha8Rng) {
        let trees = &self.run.forest.trees;
        let inner: usize = trees.iter().map(|tree| tree.inner.len()).sum();
        let usual = 1.0 / inner.max(1) as f64;
        let probability = self
            .run
            .demand
            .search
            .mutation_probability
            .unwrap_or(usual)
            .clamp(0.0, 1.0);
        for (attribute, tree) in trees.iter().enumerate() {
            for &node in &tree.inner {
                if !random.random_bool(probability) {
                    continue;
                }
                let is_open =
                    node == 0 || cuts.is_specialized(attribute, tree.nodes[node as usize].parent);
                if is_open && !cuts.is_specialized(attribute, node) {
                    cuts.specialize(attribute, node);
                } else if cuts.is_parent_of_cut(tree, attribute, node) {
                    cuts.generalize(attribute, node);
                }
            }
        }
    }

    /// The best of parents and offspring.
    fn next_population(&mut self, population: &[usize], offspring: &[Cuts]) -> Vec<usize> {
        let mut seen: FxHashSet<usize> = population.iter().copied().collect();
        let mut pool = population.to_vec();
        let children = self.evaluate(offspring);
        pool.extend(children.into_iter().filter(|&place| seen.insert(place)));
        self.survivors(pool)
    }
}
