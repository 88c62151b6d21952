//! Fronts thinned out by boxes (algorithms.md D.9).
//!
//! A policy's box is, per objective, the whole number of sides below its value. A box beats another if it is nowhere
//! higher and somewhere lower. Of the boxes that none beats, each keeps the policy nearest to its lower corner, distances
//! in sides; of several, the first by objectives, then the lowest. That is a function of the policies judged, whatever
//! the order in which they came.
//!
//! Source: M. Laumanns et al., "Combining convergence and diversity in evolutionary multiobjective optimization", 2002.

use super::front::Candidate;
use crate::anonymize::utility;
use crate::declaration::{Demand, Epsilon};

/// The side of a box along each objective of a demand that asks for boxes.
pub(super) fn sides(demand: &Demand) -> Option<Vec<f64>> {
    let epsilon = demand.search.epsilon.as_ref()?;
    let side = |&objective| match epsilon {
        Epsilon::All(side) => *side,
        // A demand that was checked has all of them.
        Epsilon::Each(sides) => sides
            .get(utility::name(objective))
            .copied()
            .unwrap_or(f64::MIN_POSITIVE),
    };
    Some(demand.objectives.iter().map(side).collect())
}

/// The members of a front that stand for the boxes that no box beats. A policy that another beats never does, so it is
/// enough to look at a front.
pub(super) fn thin(front: Vec<Candidate>, sides: &[f64]) -> Vec<Candidate> {
    let placed: Vec<(Vec<f64>, f64)> = front.iter().map(|member| place(member, sides)).collect();
    let stands = |own: usize| {
        let (corner, distance) = &placed[own];
        placed
            .iter()
            .enumerate()
            .all(|(other, (other_corner, other_distance))| {
                if corner == other_corner {
                    // Fronts are in order of objectives, then policies.
                    (*other_distance, other) >= (*distance, own)
                } else {
                    other_corner
                        .iter()
                        .zip(corner)
                        .any(|(other, own)| other > own)
                }
            })
    };
    let kept: Vec<bool> = (0..front.len()).map(stands).collect();
    let mut kept = kept.into_iter();
    let mut front = front;
    front.retain(|_| kept.next().unwrap_or(false));
    front
}

/// The lower corner of a candidate's box, in sides, and its squared distance from there.
fn place(candidate: &Candidate, sides: &[f64]) -> (Vec<f64>, f64) {
    let mut corner = Vec::with_capacity(sides.len());
    let mut distance = 0.0;
    for (value, side) in candidate.values.iter().zip(sides) {
        let scaled = value / side;
        corner.push(scaled.floor());
        distance += (scaled - scaled.floor()).powi(2);
    }
    (corner, distance)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::anonymize::policy::Policy;
    use crate::anonymize::search::front;
    use crate::anonymize::utility::MOST_OBJECTIVES;

    fn candidate(values: &[u32], level: u32) -> Candidate {
        let mut keys = [0; MOST_OBJECTIVES];
        let mut costs = [0.0; MOST_OBJECTIVES];
        for (place, &value) in values.iter().enumerate() {
            keys[place] = u128::from(value);
            costs[place] = f64::from(value) / 8.0;
        }
        Candidate {
            policy: Policy::new(vec![level]),
            keys,
            values: costs,
            suppressed_rows: 0,
            core_suppressed_rows: 0,
            violation: 0,
        }
    }

    proptest! {
        // The definition, word for word, over everything judged: sides are powers of two, so that every quotient is exact.
        #[test]
        fn one_member_stands_for_each_box_that_none_beats(
            points in prop::collection::vec(prop::collection::vec(0_u32..40, 3), 1..40),
            objectives in 1_usize..4,
            sides in prop::collection::vec(prop::sample::select(vec![0.125, 0.25, 0.5, 1.0, 4.0]), 3),
        ) {
            let all: Vec<Candidate> = points
                .iter()
                .zip(0..)
                .map(|(values, level)| candidate(&values[..objectives], level))
                .collect();
            let sides = &sides[..objectives];
            let corner = |one: &Candidate| -> Vec<f64> {
                (0..objectives).map(|place| (one.values[place] / sides[place]).floor()).collect()
            };
            let distance = |one: &Candidate| -> f64 {
                let squares = corner(one).into_iter().enumerate();
                squares.map(|(place, low)| (one.values[place] / sides[place] - low).powi(2)).sum()
            };
            let beats = |left: &[f64], right: &[f64]| {
                left != right && left.iter().zip(right).all(|(left, right)| left <= right)
            };
            let mut wanted: Vec<Candidate> = Vec::new();
            for one in &all {
                let own = corner(one);
                if all.iter().any(|other| beats(&corner(other), &own)) {
                    continue;
                }
                // Equal policies in all but name give way to the lower one, as in every front.
                let rivals = all.iter().filter(|other| corner(other) == own);
                let best = rivals.min_by(|left, right| {
                    distance(left).total_cmp(&distance(right)).then_with(|| left.order(right))
                });
                if best == Some(one) {
                    wanted.push(one.clone());
                }
            }
            wanted.sort_by(Candidate::order);
            let found = thin(front::front(all, objectives), sides);
            prop_assert_eq!(found, wanted);
        }
    }
}
