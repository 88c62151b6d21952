//! Random numbers by (seed, generation, individual): no draw depends on which thread made the one before.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::anonymize::policy::{Policy, Space};

/// The random streams of one seed.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    base: ChaCha8Rng,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            base: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// The stream of one individual of one generation.
    pub(crate) fn stream(&self, generation: u64, individual: u64) -> ChaCha8Rng {
        let mut stream = self.base.clone();
        stream.set_stream((generation << 32) | individual);
        stream
    }
}

/// A uniformly random policy.
pub(super) fn random_policy(space: &Space, random: &mut ChaCha8Rng) -> Policy {
    let levels = space
        .counts()
        .iter()
        .map(|&count| random.random_range(0..count));
    Policy::new(levels.collect::<Vec<_>>())
}
