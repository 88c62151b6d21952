//! NSGA-II's order of survival: rank, then crowding, then policy.

use std::cmp::Ordering;

use super::front::{self, Candidate};

/// A candidate's place in the order by which parents and survivors are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    rank: usize,
    crowding: f64,
}

/// The standing of each of some candidates among them.
pub(crate) fn standings(candidates: &[&Candidate], objectives: usize) -> Vec<Standing> {
    let ranks = front::ranks(candidates, objectives);
    let last = ranks.iter().copied().max().unwrap_or(0);
    let mut fronts: Vec<Vec<usize>> = vec![Vec::new(); last + 1];
    for (index, &rank) in ranks.iter().enumerate() {
        fronts[rank].push(index);
    }
    let none = Standing {
        rank: 0,
        crowding: 0.0,
    };
    let mut standings = vec![none; candidates.len()];
    for (rank, front) in fronts.iter().enumerate() {
        let of_front: Vec<&Candidate> = front.iter().map(|&index| candidates[index]).collect();
        let distances = front::crowding(&of_front, objectives);
        for (&index, crowding) in front.iter().zip(distances) {
            standings[index] = Standing { rank, crowding };
        }
    }
    standings
}

/// Lower rank, then larger crowding, then lower policy.
pub(crate) fn order(
    (left, left_standing): (&Candidate, Standing),
    (right, right_standing): (&Candidate, Standing),
) -> Ordering {
    let by_rank = left_standing.rank.cmp(&right_standing.rank);
    let by_crowding = right_standing.crowding.total_cmp(&left_standing.crowding);
    by_rank
        .then(by_crowding)
        .then_with(|| left.policy.cmp(&right.policy))
}
