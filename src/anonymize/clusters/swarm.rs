//! Particle swarms over centroids (algorithms.md B.5), and the multi-start that they have to beat.
//!
//! A particle is a fixed number of centroids; its value is that of the partition it decodes to. Numbers move by velocity;
//! a category, which has no direction, changes with a probability that grows with its speed, to the value of the particle's
//! best, of the swarm's best, or of chance. In the first and every tenth iteration after it the swarm's best is improved by
//! the rounds of the decoder.
//!
//! Source: Kennedy, Eberhart 1995; Shi, Eberhart 1998 (falling inertia); Mirjalili, Lewis 2013 (V-shaped transfer).

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::budget::{Found, Run, random_centroids, start_from};
use super::decode::{Decoder, Solution};
use super::distance::Sites;
use super::partition::Partition;
use super::points::code;
use crate::anonymize::Observer;
use crate::anonymize::search::streams::Streams;

/// Iterations between two improvements of the swarm's best.
const IMPROVE_EVERY: usize = 10;
/// Rounds of an improvement.
const ROUNDS: usize = 20;
/// Greatest speed of a number, as a share of its range.
const SPEED: f64 = 0.2;
/// Greatest speed of a category: it changes with probability 0.97.
const CATEGORY_SPEED: f64 = 4.0;

/// How velocities change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Velocity {
    /// `w v + c r1 (own best - x) + c r2 (swarm's best - x)`, `r1` and `r2` uniform in 0 to 1.
    Inertia {
        /// `w` at the first and at the last iteration; it falls linearly.
        inertia: [f64; 2],
        /// `c`.
        pull: f64,
    },
    /// `(1 - u1 - u2) v + u1 (own best - x) + u2 (swarm's best - x)`, `u1` and `u2` uniform in 0 to `most` per particle.
    Convex {
        /// Greatest share, at most 0.5.
        most: f64,
    },
}

/// Settings of a swarm.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Centroids per particle, an upper bound of the classes; at least 1.
    pub clusters: usize,
    /// Particles; at least 1.
    pub particles: usize,
    /// Runs from new particles; they share the budget. At least 1.
    pub restarts: usize,
    /// Assignments in all.
    pub evaluations: u64,
    /// How velocities change.
    pub velocity: Velocity,
    /// Of all random numbers.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            clusters: 10,
            particles: 64,
            restarts: 1,
            evaluations: 2_000,
            velocity: Velocity::Inertia {
                inertia: [0.9, 0.4],
                pull: 2.0,
            },
            seed: 0,
        }
    }
}

/// One step of a number's velocity under inertia.
#[must_use]
pub fn velocity(inertia: f64, pull: f64, speed: f64, [own, swarm]: [f64; 2], r: [f64; 2]) -> f64 {
    inertia * speed + pull * r[0] * own + pull * r[1] * swarm
}

/// The probability with which a category of a given speed changes (V-shaped transfer).
#[must_use]
pub fn transfer(speed: f64) -> f64 {
    speed.abs() / (1.0 + speed * speed).sqrt()
}

#[derive(Debug, Clone)]
struct Particle {
    place: Sites,
    /// Speed of every number, then of every category, centroid by centroid.
    speed: [Vec<f64>; 2],
    best: Sites,
    best_value: f64,
}

/// Searches by swarms that start from the given partitions and from random cells.
///
/// Velocities follow the guided value, the answer is the best by the reported one. Cost: one assignment per particle and
/// iteration, and twenty per ten iterations.
#[must_use]
pub fn search(
    decoder: &Decoder<'_>,
    settings: &Settings,
    starts: &[Partition],
    observer: &dyn Observer,
) -> Found {
    let mut run = Run::new(decoder, observer, settings.evaluations, "moving centroids");
    let restarts = settings.restarts.max(1) as u64;
    for restart in 0..restarts {
        let share = run.left() / (restarts - restart);
        swarm(&mut run, settings, starts, restart, share);
    }
    run.found
}

fn swarm(run: &mut Run<'_>, settings: &Settings, starts: &[Partition], restart: u64, share: u64) {
    let streams = Streams::new(settings.seed);
    let count = settings.particles.max(1);
    let improvements = ROUNDS as u64 / IMPROVE_EVERY as u64;
    let per_iteration = count as u64 + improvements;
    let iterations = usize::try_from((share / per_iteration).max(1)).unwrap_or(usize::MAX);
    // The upper half of the generations' numbers tells restarts apart.
    let generation = |iteration: usize| (restart << 24) | iteration as u64;
    let places: Vec<Sites> = (0..count)
        .map(|number| {
            let mut random = streams.stream(generation(0), number as u64);
            first_place(run.decoder, settings, starts.get(number), &mut random)
        })
        .collect();
    let mut swarm_best: Option<(f64, Sites)> = None;
    let mut particles: Vec<Particle> = Vec::new();
    let solutions = run.decode(&places, 1);
    for (place, solution) in places.into_iter().zip(&solutions) {
        note(&mut swarm_best, solution.guided(), &place);
        particles.push(Particle {
            speed: [vec![0.0; place.numbers.len()], vec![0.0; place.codes.len()]],
            best: place.clone(),
            best_value: solution.guided(),
            place,
        });
    }
    for iteration in 1..iterations {
        let Some((_, leader)) = &swarm_best else {
            return;
        };
        if run.left() == 0 {
            return;
        }
        let elapsed = iteration as f64 / (iterations - 1).max(1) as f64;
        for (number, particle) in particles.iter_mut().enumerate() {
            let mut random = streams.stream(generation(iteration), number as u64);
            step(
                run.decoder,
                settings,
                elapsed,
                particle,
                leader,
                &mut random,
            );
        }
        let places: Vec<Sites> = particles
            .iter()
            .map(|particle| particle.place.clone())
            .collect();
        let solutions = run.decode(&places, 1);
        for (particle, solution) in particles.iter_mut().zip(&solutions) {
            let value = solution.guided();
            if value < particle.best_value {
                particle.best_value = value;
                particle.best.clone_from(&particle.place);
            }
            note(&mut swarm_best, value, &particle.place);
        }
        if iteration % IMPROVE_EVERY == 1
            && let Some((value, leader)) = &mut swarm_best
        {
            improve(
                run,
                settings,
                value,
                leader,
                &streams,
                generation(iteration),
            );
        }
    }
}

fn note(best: &mut Option<(f64, Sites)>, value: f64, place: &Sites) {
    if best.as_ref().is_none_or(|(least, _)| value < *least) {
        *best = Some((value, place.clone()));
    }
}

/// Replaces the swarm's best by what the decoder's rounds make of it, if that is better.
fn improve(
    run: &mut Run<'_>,
    settings: &Settings,
    value: &mut f64,
    leader: &mut Sites,
    streams: &Streams,
    generation: u64,
) {
    let found = run.decode(std::slice::from_ref(leader), ROUNDS);
    if let Some(solution) = found.first()
        && solution.guided() < *value
    {
        *value = solution.guided();
        let mut random = streams.stream(generation, u64::from(u32::MAX));
        *leader = padded(
            run.decoder,
            solution.centroids.clone(),
            settings,
            &mut random,
        );
    }
}

/// The centroids of a start or of random cells, as many as a particle has.
fn first_place(
    decoder: &Decoder<'_>,
    settings: &Settings,
    start: Option<&Partition>,
    random: &mut ChaCha8Rng,
) -> Sites {
    let clusters = settings.clusters.max(1);
    let place = match start {
        Some(partition) => start_from(decoder, partition, clusters, random),
        None => decoder.space().no_sites(),
    };
    padded(decoder, place, settings, random)
}

/// Filled up with random cells, and in ascending order, so that equal positions of two particles lie near each other.
fn padded(
    decoder: &Decoder<'_>,
    mut place: Sites,
    settings: &Settings,
    random: &mut ChaCha8Rng,
) -> Sites {
    let missing = settings.clusters.max(1).saturating_sub(place.len());
    let more = random_centroids(decoder, missing, random);
    for index in 0..more.len() {
        place.push(more.site(index));
    }
    let mut order: Vec<usize> = (0..place.len()).collect();
    order.sort_by(|&left, &right| {
        let (left_site, right_site) = (place.site(left), place.site(right));
        let numbers = left_site.numbers.iter().zip(right_site.numbers);
        let differs = numbers
            .map(|(left, right)| left.total_cmp(right))
            .find(|order| order.is_ne());
        differs
            .unwrap_or_else(|| left_site.codes.cmp(right_site.codes))
            .then(left.cmp(&right))
    });
    place.select(order)
}

/// Moves a particle.
fn step(
    decoder: &Decoder<'_>,
    settings: &Settings,
    elapsed: f64,
    particle: &mut Particle,
    leader: &Sites,
    random: &mut ChaCha8Rng,
) {
    let space = decoder.space();
    let shares = match settings.velocity {
        Velocity::Convex { most } => {
            [0, 1].map(|_| random.random_range(0.0..=most.clamp(0.0, 0.5)))
        }
        Velocity::Inertia { .. } => [0.0; 2],
    };
    let mut next_speed = |speed: f64, pulls: [f64; 2]| match settings.velocity {
        Velocity::Inertia { inertia, pull } => {
            let now = inertia[0] + (inertia[1] - inertia[0]) * elapsed;
            let r = [random.random::<f64>(), random.random::<f64>()];
            velocity(now, pull, speed, pulls, r)
        }
        Velocity::Convex { .. } => {
            let [own, swarm] = shares;
            (1.0 - own - swarm) * speed + own * pulls[0] + swarm * pulls[1]
        }
    };
    let width = space.numeric.len().max(1);
    for at in 0..particle.place.numbers.len() {
        let [low, high] = space.numeric[at % width].range;
        let here = particle.place.numbers[at];
        let targets = [particle.best.numbers[at], leader.numbers[at]];
        if here.is_nan() {
            // A missing number has no direction: it follows the leader at once.
            particle.place.numbers[at] = targets[1];
            continue;
        }
        let pulls = targets.map(|target| if target.is_nan() { 0.0 } else { target - here });
        let most = SPEED * (high - low);
        let speed = next_speed(particle.speed[0][at], pulls).clamp(-most, most);
        particle.speed[0][at] = speed;
        particle.place.numbers[at] = (here + speed).clamp(low, high);
    }
    let mut speeds = Vec::with_capacity(particle.place.codes.len());
    for at in 0..particle.place.codes.len() {
        let here = particle.place.codes[at];
        let targets = [particle.best.codes[at], leader.codes[at]];
        let pulls = targets.map(|target| f64::from(u8::from(target != here)));
        let speed = next_speed(particle.speed[1][at], pulls);
        speeds.push(speed.clamp(-CATEGORY_SPEED, CATEGORY_SPEED));
    }
    let width = space.categorical.len().max(1);
    for (at, &speed) in speeds.iter().enumerate() {
        if random.random::<f64>() >= transfer(speed) {
            continue;
        }
        let choice: f64 = random.random();
        particle.place.codes[at] = if choice < 0.45 {
            particle.best.codes[at]
        } else if choice < 0.9 {
            leader.codes[at]
        } else {
            // A legal value is one that occurs: that of a random cell.
            let cell = random.random_range(0..space.points.len());
            space.cells().site(cell).codes[at % width]
        };
    }
    particle.speed[1] = speeds;
}

/// Decodes random cells with all rounds, again and again: what a swarm of equal budget has to beat.
#[must_use]
pub fn multi_start(decoder: &Decoder<'_>, settings: &Settings, observer: &dyn Observer) -> Found {
    let mut run = Run::new(decoder, observer, settings.evaluations, "starting anew");
    let streams = Streams::new(settings.seed);
    let batch = settings.particles.max(1);
    let mut generation = 0;
    while run.left() >= ROUNDS as u64 {
        let centroids: Vec<Sites> = (0..code(batch))
            .map(|number| {
                let mut random = streams.stream(generation, u64::from(number));
                random_centroids(decoder, settings.clusters.max(1), &mut random)
            })
            .collect();
        let found: Vec<Solution> = run.decode(&centroids, ROUNDS);
        if found.is_empty() {
            break;
        }
        generation += 1;
    }
    run.found
}
