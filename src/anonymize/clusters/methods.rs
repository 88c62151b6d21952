//! The methods of jobs of classes: each gives partitions that keep the demand.

use super::baselines::{k_member, mdav, mondrian, one_pass};
use super::budget::{self, Watch};
use super::decode::{Aim, Decoder, Solution};
use super::distance::Space;
use super::grid::{self, Lambdas};
use super::partition::{Guard, Partition};
use super::privacy_term::EntropyKind;
use super::repair::repair;
use super::{front, swarm};
use crate::anonymize::{Observer, Stop};
use crate::declaration::{EntropyForm, Lambda, LossForm, Optimizer, Search, SearchMethod};

use super::distance::LossKind;

/// Classes of a solution where nothing is said, at most.
const USUAL_CLUSTERS: u64 = 1_000;
/// Particles where nothing is said.
const USUAL_SWARM: u64 = 16;
/// Assignments of cells to centroids where nothing is said: so many cells in all, within the two bounds.
const USUAL_CELLS: u64 = 1_000_000;
const USUAL_EVALUATIONS: [u64; 2] = [100, 1_000];
/// Cells of a block of the partitions that a search starts from: they need not be the best that their methods can do.
const START_BLOCK: usize = 2_048;
/// Classes up to which the best assignment to an open set of centroids is looked for.
const POLISHED: u64 = 64;

/// What a method reads.
pub(super) struct Problem<'a> {
    pub(super) space: &'a Space<'a>,
    pub(super) search: &'a Search,
    pub(super) method: SearchMethod,
    pub(super) k: u64,
    pub(super) guard: Option<&'a Guard<'a>>,
    /// Names of the sensitive attributes, in the order of the points.
    pub(super) sensitive: &'a [String],
    /// Classes of a cut, one more partition that a search starts from.
    pub(super) cut: Option<&'a Partition>,
    pub(super) observer: &'a dyn Observer,
}

/// A partition, and the weights that it is the best for, if it was searched by weights.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) partition: Partition,
    pub(super) lambdas: Option<Vec<f64>>,
}

/// What a method found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) candidates: Vec<Candidate>,
    pub(super) evaluations: u64,
    pub(super) stop: Option<Stop>,
}

impl From<LossForm> for LossKind {
    fn from(form: LossForm) -> Self {
        match form {
            LossForm::Balanced => Self::Balanced,
            LossForm::Ratio => Self::Ratio,
        }
    }
}

impl From<EntropyForm> for EntropyKind {
    fn from(form: EntropyForm) -> Self {
        match form {
            EntropyForm::SumOfMin => Self::SumOfMin,
            EntropyForm::MinOfSum => Self::MinOfSum,
        }
    }
}

/// Runs the method.
pub(super) fn search(problem: &Problem<'_>) -> Found {
    if problem.method == SearchMethod::MoObam {
        return mo_obam(problem);
    }
    match baseline(problem, problem.method, mdav::USUAL_BLOCK) {
        Err(stop) => Found {
            stop: Some(stop),
            ..Found::default()
        },
        Ok(partition) => Found {
            candidates: partition.into_iter().map(unweighted).collect(),
            evaluations: 1,
            stop: None,
        },
    }
}

fn unweighted(partition: Partition) -> Candidate {
    Candidate {
        partition,
        lambdas: None,
    }
}

/// The one partition of a method that does not search.
fn baseline(
    problem: &Problem<'_>,
    method: SearchMethod,
    mdav_block: usize,
) -> Result<Option<Partition>, Stop> {
    let Problem {
        space, k, search, ..
    } = *problem;
    let watch = |phase| Watch::new(problem.observer, space.points.rows(), phase);
    let partition = match method {
        SearchMethod::Mdav => mdav::watched(space, k, mdav_block, &watch("forming classes of k"))?,
        SearchMethod::KMember => {
            let watch = watch("growing classes");
            k_member::watched(space, k, k_member::USUAL_BLOCK, search.seed, &watch)?
        }
        SearchMethod::Oka => {
            let watch = watch("assigning rows to centres");
            one_pass::watched(space, k, one_pass::USUAL_BLOCK, search.seed, &watch)?
        }
        _ => {
            let variant = if search.clusters.strict == Some(false) {
                mondrian::Variant::Relaxed
            } else {
                mondrian::Variant::Strict
            };
            // Its guard is part of every cut: there is nothing to merge.
            watch("cutting").advance(0)?;
            return Ok(mondrian::mondrian(space.points, k, variant, problem.guard));
        }
    };
    watch("merging").advance(0)?;
    Ok(match problem.guard {
        None => partition,
        Some(guard) => partition.map(|partition| repair(space, partition, k, guard)),
    })
}

fn mo_obam(problem: &Problem<'_>) -> Found {
    let Problem {
        space, k, search, ..
    } = *problem;
    let settings = &search.clusters;
    let lambdas = Lambdas::Vectors(weights(problem));
    let clusters = settings
        .clusters
        .unwrap_or_else(|| (space.points.rows() / k).clamp(1, USUAL_CLUSTERS));
    let none = vec![0.0; problem.sensitive.len()];
    let aim = Aim {
        k,
        guard: problem.guard,
        lambdas: &none,
        entropy: settings.entropy.unwrap_or_default().into(),
        normalised: true,
        loss: settings.loss.unwrap_or_default().into(),
        polish: clusters <= POLISHED,
    };
    let Some(decoder) = Decoder::new(space, aim) else {
        return Found::default();
    };
    let mut starts = Vec::new();
    for method in [
        SearchMethod::Mdav,
        SearchMethod::Mondrian,
        SearchMethod::KMember,
    ] {
        match baseline(problem, method, START_BLOCK) {
            Ok(partition) => starts.extend(partition),
            Err(stop) => {
                return Found {
                    candidates: starts.into_iter().map(unweighted).collect(),
                    evaluations: 0,
                    stop: Some(stop),
                };
            }
        }
    }
    starts.extend(problem.cut.cloned());
    let cells = space.points.len().max(1) as u64;
    let [least, most] = USUAL_EVALUATIONS;
    let evaluations = search
        .max_evaluations
        .unwrap_or_else(|| (USUAL_CELLS / cells).clamp(least, most));
    let count = |number: Option<u64>, usual: u64| {
        usize::try_from(number.unwrap_or(usual)).unwrap_or(usize::MAX)
    };
    let particles = count(settings.swarm, USUAL_SWARM);
    let clusters = usize::try_from(clusters).unwrap_or(usize::MAX);
    let swarm = swarm::Settings {
        clusters,
        particles,
        restarts: count(settings.restarts, 1),
        evaluations,
        velocity: swarm::Velocity::Inertia {
            inertia: settings.inertia.unwrap_or([0.9, 0.4]),
            pull: 2.0,
        },
        seed: search.seed,
    };
    let observer = problem.observer;
    let mut found = match settings.optimizer.unwrap_or_default() {
        Optimizer::Swarm => of_grid(grid::search(&decoder, &lambdas, &swarm, &starts, observer)),
        Optimizer::MultiStart => of_grid(grid::multi_start(&decoder, &lambdas, &swarm, observer)),
        Optimizer::Nsga2 => {
            let settings = front::Settings {
                clusters,
                population: particles,
                evaluations,
                seed: search.seed,
            };
            // Entropies guide it by their plain sum.
            let ones = vec![1.0; problem.sensitive.len()];
            let decoder = decoder.with_lambdas(&ones);
            let found: budget::Found = front::search(&decoder, &settings, &starts, observer);
            Found {
                candidates: members(found.front.members()),
                evaluations: found.evaluations,
                stop: found.stop,
            }
        }
    };
    found.candidates.extend(starts.into_iter().map(unweighted));
    found
}

fn members(solutions: &[Solution]) -> Vec<Candidate> {
    let solutions = solutions.iter();
    solutions
        .map(|solution| unweighted(solution.partition.clone()))
        .collect()
}

fn of_grid(found: grid::Found) -> Found {
    let best = found.best.into_iter().map(|(lambdas, solution)| Candidate {
        partition: solution.partition,
        lambdas: Some(lambdas),
    });
    Found {
        candidates: best.chain(members(found.front.members())).collect(),
        evaluations: found.evaluations,
        stop: found.stop,
    }
}

/// The vectors of weights to try, one weight per sensitive attribute.
fn weights(problem: &Problem<'_>) -> Vec<Vec<f64>> {
    use crate::declaration::Lambdas as Asked;
    let one = |lambda: &Lambda| -> Vec<f64> {
        let weight = |name: &String| match lambda {
            Lambda::All(weight) => *weight,
            Lambda::Each(weights) => weights.get(name).copied().unwrap_or(0.0),
        };
        problem.sensitive.iter().map(weight).collect()
    };
    // Without anything to mix all weights are the same.
    if problem.sensitive.is_empty() {
        return vec![Vec::new()];
    }
    match &problem.search.clusters.lambdas {
        None => grid::USUAL
            .iter()
            .map(|&weight| one(&Lambda::All(weight)))
            .collect(),
        Some(Asked::One(lambda)) => vec![one(lambda)],
        Some(Asked::Grid(lambdas)) => lambdas.iter().map(one).collect(),
    }
}
