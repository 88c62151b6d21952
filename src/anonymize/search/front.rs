//! Candidates, dominance and fronts.
//!
//! A candidate is feasible if it releases something and stays within the suppression limit. Constraint domination
//! (algorithms.md A.3): feasible before infeasible, infeasible by violation, feasible by objectives. Only integers are
//! compared. In a final front, a policy also gives way to one of equal objectives that generalises no attribute more.

use std::cmp::Ordering;

use crate::anonymize::certificate::Pivot;
use crate::anonymize::policy::Policy;
use crate::anonymize::utility::MOST_OBJECTIVES;

/// An evaluated policy.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) policy: Policy,
    /// Orders the objectives; unused places hold zero.
    pub(crate) keys: [u128; MOST_OBJECTIVES],
    pub(crate) values: [f64; MOST_OBJECTIVES],
    pub(crate) suppressed_rows: u64,
    /// Rows that policies which generalise less suppress at least.
    pub(crate) core_suppressed_rows: u64,
    /// Rows suppressed beyond the limit, and all rows more if nothing is released; 0 if feasible.
    pub(crate) violation: u64,
}

impl Candidate {
    pub(crate) fn is_feasible(&self) -> bool {
        self.violation == 0
    }

    /// What a proof keeps of it.
    pub(crate) fn pivot(&self) -> Pivot {
        Pivot {
            levels: self.policy.levels().to_vec(),
            core_suppressed_rows: self.core_suppressed_rows,
        }
    }

    /// Whether this one is as good in every objective and better in one.
    pub(crate) fn dominates(&self, other: &Self) -> bool {
        self.keys != other.keys
            && self
                .keys
                .iter()
                .zip(&other.keys)
                .all(|(own, other)| own <= other)
    }

    /// First objective, second ..., then policy.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.keys
            .cmp(&other.keys)
            .then_with(|| self.policy.cmp(&other.policy))
    }
}

/// The non-dominated feasible candidates, each policy once, by first objective, second ..., then policy.
pub(crate) fn front(mut candidates: Vec<Candidate>, objectives: usize) -> Vec<Candidate> {
    candidates.retain(Candidate::is_feasible);
    candidates.sort_unstable_by(Candidate::order);
    candidates.dedup_by(|later, earlier| later.policy == earlier.policy);
    let mut front: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        // Sorted like this, a later candidate never beats an earlier one.
        let beaten = if objectives <= 2 {
            front.last().is_some_and(|last| last.dominates(&candidate))
        } else {
            front.iter().any(|member| member.dominates(&candidate))
        };
        let mut ties = front
            .iter()
            .rev()
            .take_while(|member| member.keys == candidate.keys);
        if !beaten && !ties.any(|member| member.policy.is_below(&candidate.policy)) {
            front.push(candidate);
        }
    }
    front
}

/// Rank of each candidate under constraint domination, from 0.
///
/// Feasible ones are taken in lexicographic order, each into the first front that holds nothing to beat it (efficient
/// non-dominated sorting); with two objectives only a front's last member can. Infeasible ones follow by violation.
pub(crate) fn ranks(candidates: &[&Candidate], objectives: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_unstable_by(|&left, &right| {
        let (left, right) = (candidates[left], candidates[right]);
        left.violation
            .cmp(&right.violation)
            .then_with(|| left.order(right))
    });
    let mut ranks = vec![0; candidates.len()];
    let mut fronts: Vec<Vec<usize>> = Vec::new();
    let mut violation = 0;
    for index in order {
        let candidate = candidates[index];
        let is_beaten_in = |front: &Vec<usize>| {
            let seen = if objectives <= 2 { 1 } else { front.len() };
            let mut members = front.iter().rev().take(seen);
            members.any(|&member| candidates[member].dominates(candidate))
        };
        let rank = if candidate.is_feasible() {
            fronts
                .iter()
                .position(|front| !is_beaten_in(front))
                .unwrap_or(fronts.len())
        } else if candidate.violation == violation {
            fronts.len() - 1
        } else {
            fronts.len()
        };
        violation = candidate.violation;
        if rank == fronts.len() {
            fronts.push(Vec::new());
        }
        fronts[rank].push(index);
        ranks[index] = rank;
    }
    ranks
}

/// Crowding distance of each member of one front: infinite at the boundary, an objective without range adds nothing.
pub(crate) fn crowding(members: &[&Candidate], objectives: usize) -> Vec<f64> {
    let mut distances = vec![0.0; members.len()];
    for objective in 0..objectives {
        let key = |index: usize| members[index].keys[objective];
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_unstable_by(|&left, &right| {
            key(left)
                .cmp(&key(right))
                .then_with(|| members[left].policy.cmp(&members[right].policy))
        });
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else {
            continue;
        };
        let range = (key(last) - key(first)) as f64;
        if range > 0.0 {
            distances[first] = f64::INFINITY;
            distances[last] = f64::INFINITY;
            for around in order.windows(3) {
                distances[around[1]] += (key(around[2]) - key(around[0])) as f64 / range;
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(keys: &[u128], violation: u64, levels: &[u32]) -> Candidate {
        let mut all = [0; MOST_OBJECTIVES];
        all[..keys.len()].copy_from_slice(keys);
        Candidate {
            policy: Policy::new(levels),
            keys: all,
            values: [0.0; MOST_OBJECTIVES],
            core_suppressed_rows: 0,
            suppressed_rows: 0,
            violation,
        }
    }

    // algorithms.md F 5: (0,1) (.2,.5) (.6,.2) (1,0).
    #[test]
    fn worked_example_5_crowding() {
        let points = [[0, 10], [2, 5], [6, 2], [10, 0]];
        let members: Vec<_> = points
            .iter()
            .zip(0..)
            .map(|(keys, level)| candidate(keys, 0, &[level]))
            .collect();
        let distances = crowding(&members.iter().collect::<Vec<_>>(), 2);
        assert!(distances[0].is_infinite() && distances[3].is_infinite());
        assert!((distances[1] - 1.4).abs() < 1e-12 && (distances[2] - 1.3).abs() < 1e-12);
    }

    #[test]
    fn equal_objectives_are_kept_unless_one_generalises_less_everywhere() {
        let tied = [&[0, 1], &[1, 0], &[1, 1]].map(|levels| candidate(&[3, 3], 0, levels));
        let policies: Vec<_> = front(tied.to_vec(), 2)
            .into_iter()
            .map(|member| member.policy)
            .collect();
        assert_eq!(policies, [Policy::new([1, 0]), Policy::new([0, 1])]);
    }

    proptest! {
        #[test]
        fn ranks_follow_constraint_domination(
            points in prop::collection::vec((prop::collection::vec(0_u128..6, 3), 0_u64..3), 1..40),
            objectives in 1_usize..4,
        ) {
            let candidates: Vec<_> = points
                .iter()
                .zip(0..)
                .map(|((keys, violation), level)| candidate(&keys[..objectives], *violation, &[level]))
                .collect();
            let beats = |left: &Candidate, right: &Candidate| {
                if left.violation == right.violation && left.violation > 0 {
                    return false;
                }
                left.violation < right.violation
                    || (left.violation == right.violation && left.dominates(right))
            };
            let ranks = ranks(&candidates.iter().collect::<Vec<_>>(), objectives);
            for (own, rank) in candidates.iter().zip(&ranks) {
                let above = candidates.iter().zip(&ranks).filter(|(other, _)| beats(other, own));
                let expected = above.map(|(_, rank)| rank + 1).max().unwrap_or(0);
                prop_assert_eq!(*rank, expected);
            }
        }
    }
}
