//! Seeded splits into training and test rows; all rows of one person fall on one side.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// Training and test rows, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to train on.
    pub training: Vec<u32>,
    /// Rows held out.
    pub test: Vec<u32>,
    /// Which of the splits.
    pub number: u64,
}

/// Splits rows by their group (a person; `None`: every row is one) so that about `test_share` of the groups are held
/// out. Only rows that `takes` accepts are given. A split depends on seed, number and groups alone. Cost: linear.
#[must_use]
pub fn split(
    rows: usize,
    groups: Option<&[u32]>,
    takes: impl Fn(usize) -> bool,
    test_share: f64,
    (seed, number): (u64, u64),
) -> Split {
    let group = |row: usize| groups.map_or(row, |groups| groups[row] as usize);
    let count = groups.map_or(rows, |groups| {
        groups.iter().max().map_or(0, |&most| most as usize + 1)
    });
    let key: [u8; 32] = Sha256::new()
        .chain_update(b"kindred downstream split")
        .chain_update(seed.to_le_bytes())
        .chain_update(number.to_le_bytes())
        .finalize()
        .into();
    let mut random = ChaCha20Rng::from_seed(key);
    // One draw per group, in order of its number: the held-out ones are those with the least draws.
    let draws: Vec<u64> = (0..count).map(|_| random.next_u64()).collect();
    let mut present = vec![false; count];
    for row in 0..rows {
        present[group(row)] = true;
    }
    let mut order: Vec<usize> = (0..count).filter(|&at| present[at]).collect();
    order.sort_unstable_by_key(|&at| (draws[at], at));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number of groups"
    )]
    let held = (order.len() as f64 * test_share).round() as usize;
    let mut is_held = vec![false; count];
    for &at in &order[..held.min(order.len())] {
        is_held[at] = true;
    }
    let mut split = Split {
        training: Vec::new(),
        test: Vec::new(),
        number,
    };
    for row in (0..rows).filter(|&row| takes(row)) {
        let own = u32::try_from(row).unwrap_or(u32::MAX);
        if is_held[group(row)] {
            split.test.push(own);
        } else {
            split.training.push(own);
        }
    }
    split
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_is_of_groups_and_repeats() {
        let groups: Vec<u32> = (0..100).map(|row| row % 20).collect();
        let found = split(100, Some(&groups), |row| row != 3, 0.3, (7, 0));
        assert_eq!(found.training.len() + found.test.len(), 99);
        let held: std::collections::BTreeSet<u32> =
            found.test.iter().map(|&row| groups[row as usize]).collect();
        assert_eq!(held.len(), 6);
        assert!(
            found
                .training
                .iter()
                .all(|&row| !held.contains(&groups[row as usize]))
        );
        assert_eq!(
            found,
            split(100, Some(&groups), |row| row != 3, 0.3, (7, 0))
        );
        assert_ne!(
            found,
            split(100, Some(&groups), |row| row != 3, 0.3, (7, 1))
        );
        assert_eq!(split(10, None, |_| true, 0.25, (1, 1)).test.len(), 3);
    }
}
