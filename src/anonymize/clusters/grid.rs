//! One swarm per weight of the entropies, and what of their answers nothing beats (algorithms.md B.5, B.6).

use super::archive::Archive;
use super::budget;
use super::decode::{Decoder, Solution};
use super::partition::Partition;
use super::swarm::{self, Settings};
use crate::anonymize::{Observer, Stop};

/// The weights that are tried where none are given.
pub const USUAL: [f64; 5] = [0.1, 0.5, 1.0, 2.0, 5.0];

/// The weights of the entropies.
#[derive(Debug, Clone, PartialEq)]
pub enum Lambdas {
    /// One for every sensitive attribute.
    One(f64),
    /// One per sensitive attribute.
    PerAttribute(Vec<f64>),
    /// One after another, each for every sensitive attribute.
    Grid(Vec<f64>),
    /// One after another, each with a weight per sensitive attribute.
    Vectors(Vec<Vec<f64>>),
}

impl Lambdas {
    /// The vectors of weights to try, for a number of sensitive attributes.
    #[must_use]
    pub fn vectors(&self, attributes: usize) -> Vec<Vec<f64>> {
        match self {
            Self::One(lambda) => vec![vec![*lambda; attributes]],
            Self::PerAttribute(lambdas) => vec![lambdas.clone()],
            Self::Grid(lambdas) => lambdas
                .iter()
                .map(|&lambda| vec![lambda; attributes])
                .collect(),
            Self::Vectors(vectors) => vectors.clone(),
        }
    }
}

/// What was found for the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// By vector of weights, as far as the search came: the best for it.
    pub best: Vec<(Vec<f64>, Solution)>,
    /// The non-dominated of all that was decoded.
    pub front: Archive,
    /// Assignments made.
    pub evaluations: u64,
    /// Why it ended before its budget was used up.
    pub stop: Option<Stop>,
}

/// Runs a swarm for each vector of weights, sharing the budget; all start from the same partitions.
///
/// A sum of weighted objectives reaches only the convex part of a front; [`super::front`] reaches the rest.
#[must_use]
pub fn search(
    decoder: &Decoder<'_>,
    lambdas: &Lambdas,
    settings: &Settings,
    starts: &[Partition],
    observer: &dyn Observer,
) -> Found {
    each(decoder, lambdas, settings, |decoder, share| {
        swarm::search(decoder, share, starts, observer)
    })
}

/// The same by random centroids, improved, for each vector of weights.
#[must_use]
pub fn multi_start(
    decoder: &Decoder<'_>,
    lambdas: &Lambdas,
    settings: &Settings,
    observer: &dyn Observer,
) -> Found {
    each(decoder, lambdas, settings, |decoder, share| {
        swarm::multi_start(decoder, share, observer)
    })
}

fn each(
    decoder: &Decoder<'_>,
    lambdas: &Lambdas,
    settings: &Settings,
    search: impl Fn(&Decoder<'_>, &Settings) -> budget::Found,
) -> Found {
    let vectors = lambdas.vectors(decoder.space().points.sensitive.len());
    let mut found = Found {
        best: Vec::new(),
        front: Archive::default(),
        evaluations: 0,
        stop: None,
    };
    for (position, vector) in vectors.iter().enumerate() {
        let left = settings.evaluations.saturating_sub(found.evaluations);
        let share = Settings {
            evaluations: left / (vectors.len() - position) as u64,
            ..settings.clone()
        };
        let one = search(&decoder.with_lambdas(vector), &share);
        found.evaluations += one.evaluations;
        found.front.join(&one.front);
        found
            .best
            .extend(one.best.map(|best| (vector.clone(), best)));
        found.stop = one.stop;
        if found.stop.is_some() {
            break;
        }
    }
    found
}
