//! Worked examples, and small problems against all there is.

mod assignment;
mod search;

use super::decode::{Aim, sse_by_sst};
use super::distance::{LossKind, Space};
use super::partition::Partition;
use super::points::{Feature, Points, Scaling};
use super::privacy_term::EntropyKind;

/// A plain aim for k.
fn aim(k: u64, lambdas: &[f64]) -> Aim<'_> {
    Aim {
        k,
        guard: None,
        lambdas,
        entropy: EntropyKind::SumOfMin,
        normalised: true,
        loss: LossKind::Balanced,
        polish: true,
    }
}

// algorithms.md F 10.
#[test]
fn worked_example_10_information_loss() {
    let numbers = vec![0.0, 20.0, 22.0, 40.0, 44.0, 31.0];
    let points = Points {
        weights: vec![1; 5],
        features: vec![
            Feature::numbers(vec![1, 2, 3, 4, 5], numbers, Scaling::Raw),
            Feature::nominal(vec![1, 1, 2, 2, 1], 2),
        ],
        sensitive: Vec::new(),
    };
    let loss = |classes: &[u32], kind| {
        let space = Space::new(&points, kind);
        let decoder = super::decode::Decoder::new(
            &space,
            Aim {
                loss: kind,
                ..aim(1, &[])
            },
        );
        decoder
            .unwrap()
            .judge(&Partition::of_cells(&points, classes))
            .loss
    };
    let space = Space::new(&points, LossKind::Ratio);
    assert!((space.base()[0] - 451.2).abs() < 1e-9 && (space.base()[1] - 2.0).abs() < 1e-9);
    let (x, y) = ([0, 0, 1, 1, 0], [0, 0, 1, 1, 1]);
    assert!((loss(&x, LossKind::Ratio) - 0.169_17).abs() < 5e-6);
    assert!((loss(&y, LossKind::Ratio) - 0.202_27).abs() < 5e-6);
    assert!((loss(&x, LossKind::Balanced) - 0.084_96).abs() < 5e-6);
    assert!((loss(&y, LossKind::Balanced) - 0.350_47).abs() < 5e-6);
    let ratio = sse_by_sst(&space, &Partition::of_cells(&points, &x));
    assert!((ratio - 0.169_17).abs() < 5e-6);
}
