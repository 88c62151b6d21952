//! NSGA-II over sets of centroids: the trade between information loss and mixed sensitive values (algorithms.md B.5).
//!
//! A genome is a set of centroids of any number up to a limit, decoded to a partition that keeps k; what is inherited are
//! the centres of its classes. Ranks go by loss and the guiding mean of entropies, the answer by loss, homogeneity and
//! least entropies over all that was ever decoded. A front by weights reaches only its convex part; this one does not.
//!
//! Source: Deb et al. 2002.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::archive::{crowding, ranks};
use super::budget::{Found, Run, random_centroids, start_from};
use super::decode::{Decoder, Solution};
use super::distance::Sites;
use super::partition::Partition;
use crate::anonymize::Observer;
use crate::anonymize::search::streams::Streams;

/// Rounds of decoding a child: recentring once makes children of two parents whole.
const ROUNDS: usize = 2;

/// Settings of an evolution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Most centroids of a genome; at least 1.
    pub clusters: usize,
    /// Genomes; at least 2.
    pub population: usize,
    /// Assignments in all.
    pub evaluations: u64,
    /// Of all random numbers.
    pub seed: u64,
}

/// Searches from the given partitions and from random cells.
///
/// Cost: two assignments per child, and the square of the population per generation.
#[must_use]
pub fn search(
    decoder: &Decoder<'_>,
    settings: &Settings,
    starts: &[Partition],
    observer: &dyn Observer,
) -> Found {
    let mut run = Run::new(
        decoder,
        observer,
        settings.evaluations,
        "evolving centroids",
    );
    let streams = Streams::new(settings.seed);
    let size = settings.population.max(2);
    let most = settings.clusters.max(1);
    let first: Vec<Sites> = (0..size)
        .map(|number| {
            let mut random = streams.stream(0, number as u64);
            match starts.get(number) {
                Some(partition) => start_from(decoder, partition, most, &mut random),
                None => random_centroids(decoder, some_count(most, &mut random), &mut random),
            }
        })
        .collect();
    let mut population = run.decode(&first, ROUNDS);
    let mut generation = 0;
    while run.left() >= ROUNDS as u64 && population.len() > 1 {
        generation += 1;
        let standings = standings(&population);
        let children: Vec<Sites> = (0..size)
            .map(|number| {
                let mut random = streams.stream(generation, number as u64);
                let mut parent = || {
                    let mut draw = || random.random_range(0..population.len());
                    let (first, second) = (draw(), draw());
                    if comes_first(&standings, first, second) {
                        first
                    } else {
                        second
                    }
                };
                let parents = [parent(), parent()].map(|parent| &population[parent].centroids);
                child(decoder, parents, most, &mut random)
            })
            .collect();
        let children = run.decode(&children, ROUNDS);
        if children.is_empty() {
            break;
        }
        population = survivors(population, children, size);
    }
    run.found
}

/// A number of centroids, each order of magnitude as likely as the next.
fn some_count(most: usize, random: &mut ChaCha8Rng) -> usize {
    let share: f64 = random.random();
    // At most `most`, which is a count: no digits are lost that matter.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let count = (most as f64).powf(share).round() as usize;
    count.clamp(1, most)
}

/// Rank and crowding distance.
type Standing = (usize, f64);

fn standings(population: &[Solution]) -> Vec<Standing> {
    let points: Vec<Vec<f64>> = population
        .iter()
        .map(|solution| vec![solution.loss, -solution.guide])
        .collect();
    let ranks = ranks(&points);
    let mut standings: Vec<Standing> = ranks.iter().map(|&rank| (rank, 0.0)).collect();
    for rank in 0..=ranks.iter().max().copied().unwrap_or(0) {
        let members: Vec<usize> = (0..points.len())
            .filter(|&one| ranks[one] == rank)
            .collect();
        for (&member, distance) in members.iter().zip(crowding(&points, &members)) {
            standings[member].1 = distance;
        }
    }
    standings
}

/// Whether the first is better by rank, then by crowding, then by number.
fn comes_first(standings: &[Standing], first: usize, second: usize) -> bool {
    let (left, right) = (standings[first], standings[second]);
    let by_rank = left.0.cmp(&right.0);
    let by_crowding = by_rank.then(right.1.total_cmp(&left.1));
    by_crowding.then(first.cmp(&second)).is_le()
}

/// The best of parents and children, each set of values once.
fn survivors(parents: Vec<Solution>, children: Vec<Solution>, size: usize) -> Vec<Solution> {
    let mut pool: Vec<Solution> = Vec::new();
    for solution in parents.into_iter().chain(children) {
        if !pool
            .iter()
            .any(|other| other.partition == solution.partition)
        {
            pool.push(solution);
        }
    }
    let standings = standings(&pool);
    let mut order: Vec<usize> = (0..pool.len()).collect();
    order.sort_by(|&left, &right| {
        let (left_standing, right_standing) = (standings[left], standings[right]);
        let by_rank = left_standing.0.cmp(&right_standing.0);
        by_rank
            .then(right_standing.1.total_cmp(&left_standing.1))
            .then(left.cmp(&right))
    });
    order.truncate(size);
    order.sort_unstable();
    let mut kept = order.into_iter().peekable();
    let numbered = pool.into_iter().enumerate();
    let survivors = numbered.filter(|(number, _)| kept.next_if_eq(number).is_some());
    survivors.map(|(_, solution)| solution).collect()
}

/// Half of each parent's centroids; some replaced by cells, sometimes fewer, sometimes more.
fn child(
    decoder: &Decoder<'_>,
    parents: [&Sites; 2],
    most: usize,
    random: &mut ChaCha8Rng,
) -> Sites {
    let mut picked = decoder.space().no_sites();
    for parent in parents {
        for index in 0..parent.len() {
            if random.random_bool(0.5) {
                picked.push(parent.site(index));
            }
        }
    }
    let keep = if random.random_bool(0.25) {
        random.random_range(0.2..1.0)
    } else {
        1.0
    };
    let kept: Vec<usize> = (0..picked.len())
        .filter(|_| random.random_bool(keep))
        .collect();
    let mut child = picked.select(kept.into_iter().take(most));
    let mutation = 1.0 / child.len().max(1) as f64;
    for index in 0..child.len() {
        if random.random_bool(mutation) {
            let cell = random_centroids(decoder, 1, random);
            child.set(index, cell.site(0));
        }
    }
    let room = most - child.len();
    let added = if random.random_bool(0.25) {
        random.random_range(0..=room.min(child.len() / 2 + 1))
    } else {
        usize::from(child.is_empty())
    };
    let more = random_centroids(decoder, added.max(usize::from(child.is_empty())), random);
    for index in 0..more.len() {
        child.push(more.site(index));
    }
    child
}
