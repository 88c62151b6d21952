//! The front that all others are measured by, and what a front is worth beside it.

use super::report::ReferenceKind;
use super::runs::Runs;
use super::yardstick::Point;
use crate::anonymize::search::indicators::{self, hypervolume};

/// The reference front.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reference {
    pub(super) kind: ReferenceKind,
    /// Its different points, by the first objective.
    pub(super) points: Vec<Point>,
    pub(super) corner: [f64; 2],
    pub(super) hypervolume: f64,
}

/// The different points that no other beats, by the first objective.
pub(super) fn front(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by_key(|point| point.keys);
    let mut front: Vec<Point> = Vec::new();
    for point in points {
        // Sorted like this, only a point before it beats one, and then the last does.
        if front.last().is_none_or(|last| point.keys[1] < last.keys[1]) {
            front.push(point);
        }
    }
    front
}

impl Reference {
    /// The certified front, where every method searches levels and one proved its front; else the union of all fronts.
    pub(super) fn of(runs: &[Runs], is_of_levels: bool, corner: [f64; 2]) -> Self {
        let all = || runs.iter().flatten();
        let certified = all().find(|run| is_of_levels && run.is_certified);
        let (kind, points) = if let Some(run) = certified {
            (ReferenceKind::Certified, front(run.points.clone()))
        } else {
            let points = all().flat_map(|run| run.points.iter().copied());
            (ReferenceKind::Union, front(points.collect()))
        };
        Self {
            kind,
            corner,
            hypervolume: hypervolume(&values(&points), corner),
            points,
        }
    }

    /// How many of its points a front has.
    pub(super) fn hits(&self, front: &[Point]) -> u64 {
        let mut keys: Vec<[u128; 2]> = front.iter().map(|point| point.keys).collect();
        keys.sort_unstable();
        let is_hit = |point: &&Point| keys.binary_search(&point.keys).is_ok();
        self.points.iter().filter(is_hit).count() as u64
    }

    /// The area that a front covers.
    pub(super) fn area(&self, front: &[Point]) -> f64 {
        hypervolume(&values(front), self.corner)
    }

    /// How far a front lies behind; infinite without a point.
    pub(super) fn behind(&self, front: &[Point]) -> f64 {
        indicators::inverted_generational_distance_plus(&values(front), &values(&self.points))
    }
}

pub(super) fn values(points: &[Point]) -> Vec<[f64; 2]> {
    points.iter().map(|point| point.values).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{point, run};
    use super::*;

    #[test]
    fn a_front_holds_each_point_once_and_none_that_is_beaten() {
        let points = [[3, 5], [1, 9], [3, 5], [2, 9], [4, 5], [1, 9], [7, 1]].map(point);
        let keys: Vec<[u128; 2]> = front(points.to_vec())
            .iter()
            .map(|point| point.keys)
            .collect();
        assert_eq!(keys, [[1, 9], [3, 5], [7, 1]]);
    }

    #[test]
    fn a_certified_front_is_the_reference_and_hits_are_exact() {
        let exact = [[1, 9], [3, 5], [7, 1]].map(point);
        // A second method that misses one point and is told of one that nobody else has.
        let other = [[1, 9], [3, 6], [7, 1]].map(point);
        let runs = vec![vec![run(&exact, true)], vec![run(&other, false)]];
        let reference = Reference::of(&runs, true, [10.0, 10.0]);
        assert_eq!(reference.kind, ReferenceKind::Certified);
        assert_eq!(
            (
                reference.hits(&exact),
                reference.hits(&other),
                reference.hits(&[])
            ),
            (3, 2, 0)
        );
        // 9 * 1 + 7 * 4 + 3 * 4 = 49, and 9 * 1 + 7 * 3 + 3 * 5 = 45.
        assert!((reference.hypervolume - 49.0).abs() < 1e-12);
        assert!((reference.area(&other) - 45.0).abs() < 1e-12);
        // Behind (3,5) by (0,1): a third of 1.
        assert!((reference.behind(&other) - 1.0 / 3.0).abs() < 1e-12);
        assert!(reference.behind(&exact).abs() < 1e-12 && reference.behind(&[]).is_infinite());
        let union = Reference::of(&runs, false, [10.0, 10.0]);
        assert_eq!((union.kind, union.points.len()), (ReferenceKind::Union, 3));
        let beyond = vec![vec![run(&[point([0, 0])], false)], runs[0].clone()];
        assert_eq!(Reference::of(&beyond, false, [10.0, 10.0]).points.len(), 1);
    }
}
