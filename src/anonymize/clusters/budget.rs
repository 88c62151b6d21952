//! What every search over centroids asks: decode within a budget, keep the best, stop when told to.

use std::sync::atomic::{AtomicU64, Ordering};

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::archive::Archive;
use super::decode::{Decoder, Solution};
use super::distance::Sites;
use super::partition::Partition;
use crate::anonymize::{Observer, Progress, Stop};

/// Watches a method that cannot be left half-way: counts the rows that have their class, and says when to end.
pub struct Watch<'o> {
    observer: &'o dyn Observer,
    phase: &'static str,
    rows: u64,
    done: AtomicU64,
}

impl<'o> Watch<'o> {
    /// Of so many rows.
    #[must_use]
    pub fn new(observer: &'o dyn Observer, rows: u64, phase: &'static str) -> Self {
        Self {
            observer,
            phase,
            rows: rows.max(1),
            done: AtomicU64::new(0),
        }
    }

    /// Notes that so many rows more have their class.
    ///
    /// # Errors
    /// The method must end.
    pub fn advance(&self, rows: u64) -> Result<(), Stop> {
        if let Some(stop) = self.observer.must_stop() {
            return Err(stop);
        }
        let before = self.done.fetch_add(rows, Ordering::Relaxed);
        let hundredth = |done: u64| done.saturating_mul(100) / self.rows;
        if hundredth(before) < hundredth(before + rows) {
            self.observer.report(Progress {
                evaluations: 0,
                fraction: ((before + rows) as f64 / self.rows as f64).min(1.0),
                phase: self.phase.to_owned(),
            });
        }
        Ok(())
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The solution of least `loss - privacy` of all decoded, of equals the first.
    pub best: Option<Solution>,
    /// The non-dominated solutions.
    pub front: Archive,
    /// Assignments made: rounds of decoding.
    pub evaluations: u64,
    /// Why it ended before its budget was used up.
    pub stop: Option<Stop>,
}

/// A search under way.
pub(super) struct Run<'r> {
    pub(super) decoder: &'r Decoder<'r>,
    observer: &'r dyn Observer,
    phase: &'static str,
    budget: u64,
    pub(super) found: Found,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        decoder: &'r Decoder<'r>,
        observer: &'r dyn Observer,
        budget: u64,
        phase: &'static str,
    ) -> Self {
        let found = Found {
            best: None,
            front: Archive::default(),
            evaluations: 0,
            stop: None,
        };
        Self {
            decoder,
            observer,
            phase,
            budget,
            found,
        }
    }

    /// Assignments left.
    pub(super) fn left(&self) -> u64 {
        match self.found.stop {
            Some(_) => 0,
            None => self.budget.saturating_sub(self.found.evaluations),
        }
    }

    /// Decodes in parallel, as many as the budget surely allows; takes note of them in the order given.
    pub(super) fn decode(&mut self, centroids: &[Sites], rounds: usize) -> Vec<Solution> {
        let most = self.left() / rounds.max(1) as u64;
        let most = usize::try_from(most)
            .unwrap_or(usize::MAX)
            .min(centroids.len());
        let decoded: Vec<Result<Solution, Stop>> = centroids[..most]
            .par_iter()
            .map(|centroids| match self.observer.must_stop() {
                Some(stop) => Err(stop),
                None => Ok(self.decoder.decode(centroids, rounds)),
            })
            .collect();
        let mut solutions = Vec::new();
        for decoded in decoded {
            match decoded {
                // Those after the first that was stopped are dropped, so that positions still match.
                Ok(solution) if self.found.stop.is_none() => solutions.push(solution),
                Ok(_) => {}
                Err(stop) => self.found.stop = Some(stop),
            }
        }
        for solution in &solutions {
            self.note(solution);
        }
        self.observer.report(Progress {
            evaluations: self.found.evaluations,
            fraction: (self.found.evaluations as f64 / self.budget.max(1) as f64).min(1.0),
            phase: self.phase.to_owned(),
        });
        solutions
    }

    fn note(&mut self, solution: &Solution) {
        self.found.evaluations += solution.rounds;
        self.found.front.offer(solution);
        let is_better = self
            .found
            .best
            .as_ref()
            .is_none_or(|best| solution.value() < best.value());
        if is_better {
            self.found.best = Some(solution.clone());
        }
    }
}

/// The centroids of a partition, at most `most` of them, drawn at random.
pub(super) fn start_from(
    decoder: &Decoder<'_>,
    partition: &Partition,
    most: usize,
    random: &mut ChaCha8Rng,
) -> Sites {
    let centers = super::centroid::centers(decoder.space(), &partition.members(), None);
    if centers.len() <= most {
        return centers;
    }
    let mut kept = rand::seq::index::sample(random, centers.len(), most).into_vec();
    kept.sort_unstable();
    centers.select(kept)
}

/// Random cells as centroids, each cell as likely as it has rows; cells may repeat.
pub(super) fn random_centroids(
    decoder: &Decoder<'_>,
    count: usize,
    random: &mut ChaCha8Rng,
) -> Sites {
    let space = decoder.space();
    let mut sums: Vec<u64> = Vec::with_capacity(space.points.len());
    let mut total = 0;
    for &rows in &space.points.weights {
        total += u64::from(rows);
        sums.push(total);
    }
    let cells = (0..count).map(|_| {
        let row = random.random_range(0..total);
        sums.partition_point(|&sum| sum <= row)
    });
    space.cells().select(cells.collect::<Vec<_>>())
}
