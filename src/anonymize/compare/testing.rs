//! Points and runs for tests.

use std::time::Duration;

use super::report::RunEnd;
use super::runs::Run;
use super::yardstick::Point;

/// A point whose values are its keys.
pub(super) fn point(keys: [u128; 2]) -> Point {
    let value = |key: u128| u32::try_from(key).map_or(f64::NAN, f64::from);
    Point {
        keys,
        values: keys.map(value),
        loss_key: keys[0],
        loss: value(keys[0]),
        k: 5,
        average_risk: 0.1,
        maximum_risk: 0.2,
    }
}

/// A run that found these points.
pub(super) fn run(points: &[Point], is_certified: bool) -> Run {
    Run {
        seed: 0,
        end: RunEnd::Front,
        evaluations: 1,
        elapsed: Duration::from_micros(1500),
        points: points.to_vec(),
        is_certified,
        reason: None,
        verified: None,
    }
}
