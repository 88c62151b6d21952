//! Non-dominated solutions: less loss, less homogeneity, more entropy (algorithms.md B.6, D.9).

use super::decode::Solution;

/// Most members kept; of more, those in the densest places go.
const MOST: usize = 64;

/// Solutions none of which another beats in all of loss, greatest homogeneity and sum of least entropies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Archive {
    members: Vec<Solution>,
}

/// What is minimised.
pub(super) fn objectives(solution: &Solution) -> [f64; 3] {
    let homogeneity = solution.homogeneity.iter().copied().fold(0.0, f64::max);
    let entropy: f64 = solution.least_entropies.iter().sum();
    [solution.loss, homogeneity, -entropy]
}

/// Whether `left` is nowhere worse than `right` and somewhere better.
pub(super) fn dominates(left: &[f64], right: &[f64]) -> bool {
    let pairs = || left.iter().zip(right);
    pairs().all(|(left, right)| left <= right) && pairs().any(|(left, right)| left < right)
}

impl Archive {
    /// The members, by loss.
    #[must_use]
    pub fn members(&self) -> &[Solution] {
        &self.members
    }

    /// Takes a solution in, unless a member is as good; whether it did. Of equals the first stays.
    pub fn offer(&mut self, solution: &Solution) -> bool {
        let own = objectives(solution);
        let is_beaten = |member: &Solution| {
            let other = objectives(member);
            other.iter().zip(&own).all(|(other, own)| other <= own)
        };
        if self.members.iter().any(is_beaten) {
            return false;
        }
        self.members
            .retain(|member| !dominates(&own, &objectives(member)));
        let place = self.members.partition_point(|member| member.loss <= own[0]);
        self.members.insert(place, solution.clone());
        if self.members.len() > MOST {
            let points: Vec<Vec<f64>> = self
                .members
                .iter()
                .map(|member| objectives(member).to_vec())
                .collect();
            let everyone: Vec<usize> = (0..points.len()).collect();
            let crowding = crowding(&points, &everyone);
            let densest = (0..crowding.len())
                .min_by(|&left, &right| crowding[left].total_cmp(&crowding[right]));
            self.members.remove(densest.unwrap_or(0));
        }
        true
    }

    /// Takes in the members of another.
    pub fn join(&mut self, other: &Self) {
        for member in &other.members {
            self.offer(member);
        }
    }
}

/// Rank of each point by non-domination, from 0. Cost: the square of the number of points per front.
pub(super) fn ranks(points: &[Vec<f64>]) -> Vec<usize> {
    let mut ranks = vec![usize::MAX; points.len()];
    let mut rank = 0;
    let mut left: Vec<usize> = (0..points.len()).collect();
    while !left.is_empty() {
        let is_beaten = |point: usize| {
            left.iter()
                .any(|&other| dominates(&points[other], &points[point]))
        };
        let (beaten, front): (Vec<usize>, Vec<usize>) =
            left.iter().partition(|&&point| is_beaten(point));
        for point in front {
            ranks[point] = rank;
        }
        left = beaten;
        rank += 1;
    }
    ranks
}

/// Crowding distance of the given points: infinite at the ends of an objective that has a range.
pub(super) fn crowding(points: &[Vec<f64>], members: &[usize]) -> Vec<f64> {
    let mut distances = vec![0.0; members.len()];
    let objectives = points.first().map_or(0, Vec::len);
    let column = |objective: usize| -> Vec<f64> {
        let values = members.iter().map(|&member| points[member][objective]);
        values.collect()
    };
    for values in (0..objectives).map(column) {
        let value = |member: usize| values[member];
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by(|&left, &right| value(left).total_cmp(&value(right)));
        let (Some(&first), Some(&last)) = (order.first(), order.last()) else {
            continue;
        };
        let range = value(last) - value(first);
        if range > 0.0 {
            distances[first] = f64::INFINITY;
            distances[last] = f64::INFINITY;
            for around in order.windows(3) {
                distances[around[1]] += (value(around[2]) - value(around[0])) / range;
            }
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::distance::Sites;
    use crate::anonymize::clusters::partition::Partition;

    fn solution(loss: f64, homogeneity: f64, entropy: f64) -> Solution {
        Solution {
            partition: Partition::default(),
            centroids: Sites::default(),
            loss,
            free_loss: None,
            privacy: 0.0,
            guide: 0.0,
            least_entropies: vec![entropy],
            homogeneity: vec![homogeneity],
            rounds: 1,
        }
    }

    #[test]
    fn only_what_nothing_beats_stays() {
        let mut archive = Archive::default();
        assert!(archive.offer(&solution(0.5, 0.1, 0.2)));
        assert!(!archive.offer(&solution(0.5, 0.1, 0.2)));
        assert!(!archive.offer(&solution(0.6, 0.1, 0.2)));
        assert!(archive.offer(&solution(0.6, 0.0, 0.2)));
        assert!(archive.offer(&solution(0.4, 0.1, 0.3)));
        let losses: Vec<f64> = archive.members().iter().map(|member| member.loss).collect();
        assert_eq!(losses, [0.4, 0.6]);
    }

    #[test]
    fn a_full_archive_thins_out_its_densest_place() {
        let mut archive = Archive::default();
        for step in 0..200 {
            let share = f64::from(step) / 199.0;
            archive.offer(&solution(share, 0.0, share.sqrt()));
        }
        assert_eq!(archive.members().len(), MOST);
        let ends = (archive.members()[0].loss, archive.members()[MOST - 1].loss);
        assert_eq!(ends, (0.0, 1.0));
    }

    #[test]
    fn ranks_are_layers() {
        let points = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 2.0]].map(|point| point.to_vec());
        assert_eq!(ranks(&points), [0, 0, 1, 2]);
    }
}
