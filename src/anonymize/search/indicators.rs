//! What a front is worth and where it bends (algorithms.md D.9), and which of its solutions is recommended.
//!
//! Knees are looked for on two objectives, each scaled to its range on the front, over its different points: ties are
//! one point, of which the first policy stands for all. With fewer than three points there is none.

use crate::anonymize::report::{Front, Hypervolume, Knee, ObjectiveReport};
use crate::declaration::{Demand, Recommend};

/// A point of two objectives, both to be minimised.
pub type Point = [f64; 2];

/// The area that a front dominates within a reference point; points that reach beyond it add nothing there.
///
/// Cost: one sort.
#[must_use]
pub fn hypervolume(points: &[Point], reference: Point) -> f64 {
    let mut sorted = points.to_vec();
    sorted.sort_by(|left, right| {
        left[0]
            .total_cmp(&right[0])
            .then(left[1].total_cmp(&right[1]))
    });
    let (mut area, mut lowest) = (0.0, reference[1]);
    for [first, second] in sorted {
        if first < reference[0] && second < lowest {
            area += (reference[0] - first) * (lowest - second);
            lowest = second;
        }
    }
    area
}

/// IGD+ (Ishibuchi and others 2015): the mean, over the points of a reference front, of how far the nearest point of a
/// front is behind them; 0 if none is. Infinite for an empty front, 0 for an empty reference.
#[must_use]
pub fn inverted_generational_distance_plus(front: &[Point], reference: &[Point]) -> f64 {
    let behind = |point: &Point, target: &Point| {
        let by = |objective: usize| (point[objective] - target[objective]).max(0.0);
        by(0).hypot(by(1))
    };
    let nearest = |target: &Point| {
        let distances = front.iter().map(|point| behind(point, target));
        distances.fold(f64::INFINITY, f64::min)
    };
    let total: f64 = reference.iter().map(nearest).sum();
    if reference.is_empty() {
        0.0
    } else {
        total / reference.len() as f64
    }
}

/// The knee of a front by four rules, as positions in `points`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Knees {
    /// Farthest from the line between the two ends, towards the origin.
    pub chord: usize,
    /// Sharpest bend between its neighbours.
    pub bend_angle: usize,
    /// Greatest ratio of the rate at which the second objective falls before it to that after it.
    pub marginal_rate: usize,
    /// Least sum.
    pub equal_weights: usize,
}

/// The knees of a front; `None` for fewer than three different points. Of equals the one with the least first objective.
#[must_use]
pub fn knees(points: &[Point]) -> Option<Knees> {
    let kept = different(points);
    let (first, last) = (*kept.first()?, *kept.last()?);
    if kept.len() < 3 {
        return None;
    }
    let scaled: Vec<Point> = kept
        .iter()
        .map(|&index| {
            let [low, high] = [
                [points[first][0], points[last][1]],
                [points[last][0], points[first][1]],
            ];
            [0, 1].map(|objective| {
                (points[index][objective] - low[objective]) / (high[objective] - low[objective])
            })
        })
        .collect();
    // The ends are (0, 1) and (1, 0): the distance from the line between them is (1 - x - y) / sqrt 2.
    let sums = || scaled.iter().map(|[x, y]| 1.0 - x - y);
    let rate = |from: Point, to: Point| (from[1] - to[1]) / (to[0] - from[0]);
    let rates = || {
        scaled
            .windows(3)
            .map(|around| (rate(around[0], around[1]), rate(around[1], around[2])))
    };
    let bends = rates().map(|(before, after)| before.atan() - after.atan());
    let ratios = rates().map(|(before, after)| before / after);
    let farthest = kept[greatest(sums())];
    Some(Knees {
        chord: farthest,
        bend_angle: kept[1 + greatest(bends)],
        marginal_rate: kept[1 + greatest(ratios)],
        // The same order as the distance from the chord: on scaled objectives the two rules agree.
        equal_weights: farthest,
    })
}

/// Positions of points that rise in the first objective and fall in the second.
fn different(points: &[Point]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&left, &right| {
        let (left_point, right_point) = (points[left], points[right]);
        left_point[0]
            .total_cmp(&right_point[0])
            .then(left_point[1].total_cmp(&right_point[1]))
            .then(left.cmp(&right))
    });
    let mut kept: Vec<usize> = Vec::new();
    for index in order {
        let advances = kept.last().is_none_or(|&last| {
            points[last][0] < points[index][0] && points[last][1] > points[index][1]
        });
        if advances {
            kept.push(index);
        }
    }
    kept
}

/// Position of the first greatest value.
fn greatest(values: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (position, value) in values.enumerate() {
        if value > best.1 {
            best = (position, value);
        }
    }
    best.0
}

/// Sets hypervolume, knee and recommendation of a front whose solutions are in order.
pub(crate) fn describe(front: &mut Front, demand: &Demand) {
    let points = points(front);
    if let Some((points, reference)) = points.zip(reference(front, demand))
        && !points.is_empty()
    {
        front.hypervolume = Some(Hypervolume {
            value: hypervolume(&points, reference),
            reference,
        });
        let id = |index: usize| front.solutions[index].solution_id;
        if let Some(knees) = knees(&points) {
            front.knee = Knee::Defined {
                chord: id(knees.chord),
                bend_angle: id(knees.bend_angle),
                marginal_rate: id(knees.marginal_rate),
                equal_weights: id(knees.equal_weights),
            };
        }
    }
    recommend(front, demand.recommend);
}

/// The solutions as points, of fronts of two objectives; of one that is maximised, what it lacks.
fn points(front: &Front) -> Option<Vec<Point>> {
    let [first, second] = &front.objectives[..] else {
        return None;
    };
    let solutions = front.solutions.iter();
    solutions
        .map(|solution| {
            let value = |objective: &ObjectiveReport| {
                let value = solution.objectives.get(&objective.name).copied()?;
                Some(match &*objective.direction {
                    "maximize" => objective.range[1] - value,
                    _ => value,
                })
            };
            Some([value(first)?, value(second)?])
        })
        .collect()
}

fn reference(front: &Front, demand: &Demand) -> Option<Point> {
    let [first, second] = &front.objectives[..] else {
        return None;
    };
    Some(
        [first, second].map(|objective| match objective.name.as_str() {
            "suppression" => demand.suppression_limit.to_f64(),
            _ if objective.direction == "maximize" => objective.range[1] - objective.range[0],
            _ => objective.range[1],
        }),
    )
}

/// Marks the recommended solution and says why; keeps the front's rule where that decides.
fn recommend(front: &mut Front, rule: Recommend) {
    let first = front.solutions.first().map(|solution| solution.solution_id);
    let chosen = match (rule, &front.knee) {
        (Recommend::FirstObjective, _) => None,
        (_, Knee::Undefined) => {
            front.recommendation_rule.push_str(
                "; the knee is undefined: it takes two objectives and three different points",
            );
            None
        }
        (Recommend::Knee, Knee::Defined { chord, .. }) => {
            Some((*chord, "knee: farthest from the line between the two ends"))
        }
        (Recommend::KneeBendAngle, Knee::Defined { bend_angle, .. }) => {
            Some((*bend_angle, "knee: sharpest bend"))
        }
        (Recommend::KneeMarginalRate, Knee::Defined { marginal_rate, .. }) => Some((
            *marginal_rate,
            "knee: greatest ratio of the rates of exchange before and after it",
        )),
        (Recommend::KneeEqualWeights, Knee::Defined { equal_weights, .. }) => {
            Some((*equal_weights, "knee: least sum of both objectives"))
        }
    };
    if let Some((_, reason)) = chosen {
        let scaling = "objectives scaled to their range on the front";
        front.recommendation_rule = format!("{reason}, {scaling}");
    }
    front.recommended = chosen.map(|(solution, _)| solution).or(first);
    for solution in &mut front.solutions {
        solution.recommended = front.recommended == Some(solution.solution_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // algorithms.md F 6.
    #[test]
    fn worked_example_6_hypervolume() {
        let points = [[0.2, 0.5], [0.0, 1.0], [1.0, 0.0], [0.6, 0.2]];
        assert!((hypervolume(&points, [1.1, 1.1]) - 0.73).abs() < 1e-12);
        let beyond = [&points[..], &[[0.7, 0.6], [2.0, -1.0]]].concat();
        assert!((hypervolume(&beyond, [1.1, 1.1]) - 0.73).abs() < 1e-12);
        assert!(hypervolume(&points, [0.0, 0.0]).abs() < 1e-12);
    }

    // algorithms.md F 30.
    #[test]
    fn worked_example_30_knee() {
        let points = [[0.1, 0.9], [0.2, 0.5], [0.3, 0.3], [0.5, 0.2], [0.9, 0.1]];
        let third = Knees {
            chord: 2,
            bend_angle: 2,
            marginal_rate: 2,
            equal_weights: 2,
        };
        assert_eq!(knees(&points), Some(third));
        assert_eq!(knees(&points[..2]), None);
        assert_eq!(knees(&[points[0], points[0], points[1]]), None);
    }

    #[test]
    fn igd_plus_counts_only_what_a_front_is_behind() {
        let reference = [[0.0, 1.0], [1.0, 0.0]];
        let found = inverted_generational_distance_plus(&[[0.3, 1.4], [0.5, 0.0]], &reference);
        // (0.3, 0.4) behind the first point, ahead of the second.
        assert!((found - 0.25).abs() < 1e-12);
        assert!(inverted_generational_distance_plus(&reference, &reference).abs() < 1e-12);
        assert!(inverted_generational_distance_plus(&[], &reference).is_infinite());
    }
}
