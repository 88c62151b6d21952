use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::super::baselines::{k_member, mdav, mondrian, one_pass};
use super::super::decode::{Aim, Decoder};
use super::super::distance::{LossKind, Space};
use super::super::partition::Partition;
use super::super::points::Points;
use super::super::testing::random_points;
use super::super::{budget, front, grid, swarm};
use super::aim;
use crate::anonymize::{Observer, Progress, Stop, Unobserved};

// algorithms.md F 13.
#[test]
fn worked_example_13_swarm_step() {
    let speed = swarm::velocity(0.9, 2.0, 1.0, [34.0 - 30.0, 26.0 - 30.0], [0.5, 0.25]);
    assert!((speed - 2.9).abs() < 1e-12);
    assert!((30.0 + speed - 32.9).abs() < 1e-12);
}

// algorithms.md F 14.
#[test]
fn worked_example_14_transfer() {
    assert!((swarm::transfer(1.5) - 0.832_05).abs() < 5e-6);
    assert!((swarm::transfer(-1.5) - 0.832_05).abs() < 5e-6);
}

fn settings(clusters: usize, evaluations: u64) -> swarm::Settings {
    swarm::Settings {
        clusters,
        particles: 8,
        restarts: 2,
        evaluations,
        seed: 11,
        ..swarm::Settings::default()
    }
}

fn starts(space: &Space<'_>, k: u64) -> Vec<Partition> {
    let found = [
        mdav::mdav(space, k, mdav::USUAL_BLOCK),
        k_member::k_member(space, k, k_member::USUAL_BLOCK, 1),
        mondrian::mondrian(space.points, k, mondrian::Variant::Strict, None),
        one_pass::one_pass(space, k, one_pass::USUAL_BLOCK, 1),
    ];
    found.into_iter().flatten().collect()
}

struct Everything {
    swarm: budget::Found,
    multi_start: budget::Found,
    front: budget::Found,
    grid: grid::Found,
    starts: Vec<Partition>,
}

fn everything(points: &Points) -> Everything {
    let space = Space::new(points, LossKind::Balanced);
    let starts = starts(&space, 3);
    let decoder = Decoder::new(
        &space,
        Aim {
            polish: false,
            ..aim(3, &[0.5])
        },
    )
    .unwrap();
    let settings = settings(12, 200);
    let lambdas = grid::Lambdas::Grid(vec![0.1, 2.0]);
    let evolution = front::Settings {
        clusters: 12,
        population: 8,
        evaluations: 160,
        seed: 5,
    };
    Everything {
        swarm: swarm::search(&decoder, &settings, &starts, &Unobserved),
        multi_start: swarm::multi_start(&decoder, &settings, &Unobserved),
        front: front::search(&decoder, &evolution, &starts, &Unobserved),
        grid: grid::search(&decoder, &lambdas, &settings, &starts, &Unobserved),
        starts,
    }
}

#[test]
fn the_same_on_one_and_two_threads() {
    let points = random_points(42, 120);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| everything(&points))
    };
    let (one, two) = (on(1), on(2));
    assert_eq!(one.starts, two.starts);
    assert_eq!(one.swarm, two.swarm);
    assert_eq!(one.multi_start, two.multi_start);
    assert_eq!(one.front, two.front);
    assert_eq!(one.grid, two.grid);
}

#[test]
fn every_answer_keeps_k_within_its_budget() {
    let points = random_points(7, 120);
    let found = everything(&points);
    let kept = |partition: &Partition| {
        let sizes = partition.members().sizes();
        sizes.iter().all(|&size| size >= 3) && sizes.iter().sum::<u64>() == points.rows()
    };
    for found in [&found.swarm, &found.multi_start, &found.front] {
        assert!(found.evaluations <= 200 && found.evaluations > 100);
        let best = found.best.as_ref().unwrap();
        assert!(kept(&best.partition) && best.loss <= 1.0 + 1e-9);
        for member in found.front.members() {
            assert!(kept(&member.partition) && member.value() >= best.value());
        }
    }
    // More weight on entropy buys more of it, or as much.
    let [(_, low), (_, high)] = &found.grid.best[..] else {
        panic!("one best per weight");
    };
    assert!(high.least_entropies[0] >= low.least_entropies[0]);
    assert!(found.front.front.members().len() > 1);
}

#[test]
fn a_swarm_is_no_worse_than_where_it_starts() {
    let points = random_points(9, 100);
    let space = Space::new(&points, LossKind::Balanced);
    let starts = starts(&space, 3);
    let decoder = Decoder::new(&space, aim(3, &[0.0])).unwrap();
    let clusters = starts.iter().map(Partition::classes).max().unwrap();
    let found = swarm::search(&decoder, &settings(clusters, 100), &starts, &Unobserved);
    let best = found.best.unwrap();
    let decoded = starts.iter().map(|start| {
        let centers = decoder.judge(start).centroids;
        decoder.decode(&centers, 1).loss
    });
    let least = decoded.fold(f64::INFINITY, f64::min);
    assert!(best.loss <= least + 0.02, "{} against {least}", best.loss);
}

#[test]
fn the_order_of_rows_changes_nothing() {
    let cells = random_points(3, 80);
    let mut rows: Vec<usize> = (0..cells.len())
        .flat_map(|cell| vec![cell; cells.weights[cell] as usize])
        .collect();
    let read = |rows: &[usize]| {
        let mut features = cells.features.clone();
        for feature in &mut features {
            feature.codes = rows.iter().map(|&cell| feature.codes[cell]).collect();
        }
        let mut sensitive = cells.sensitive.clone();
        sensitive[0].codes = rows.iter().map(|&cell| sensitive[0].codes[cell]).collect();
        Points::group(&features, &sensitive)
    };
    let (first, cell_of_row) = read(&rows);
    assert!((0..rows.len()).all(|row| {
        let cell = cell_of_row[row] as usize;
        first.features[0].codes[cell] == cells.features[0].codes[rows[row]]
    }));
    rows.shuffle(&mut ChaCha8Rng::seed_from_u64(1));
    let (second, _) = read(&rows);
    assert_eq!(first, second);
    assert_eq!(everything(&first).swarm, everything(&second).swarm);
}

/// Stops after some questions.
struct Impatient(std::sync::atomic::AtomicU32);

impl Observer for Impatient {
    fn must_stop(&self) -> Option<Stop> {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        (before >= 20).then_some(Stop::OutOfTime)
    }
    fn report(&self, progress: Progress) {
        assert!((0.0..=1.0).contains(&progress.fraction));
    }
}

#[test]
fn a_search_that_is_stopped_gives_its_best() {
    let points = random_points(1, 60);
    let space = Space::new(&points, LossKind::Balanced);
    let decoder = Decoder::new(&space, aim(2, &[0.5])).unwrap();
    let impatient = || Impatient(std::sync::atomic::AtomicU32::new(0));
    let found = swarm::search(&decoder, &settings(8, 10_000), &[], &impatient());
    assert_eq!(found.stop, Some(Stop::OutOfTime));
    assert!(found.best.is_some() && found.evaluations <= 40);
    let lambdas = grid::Lambdas::Grid(grid::USUAL.to_vec());
    let found = grid::search(&decoder, &lambdas, &settings(8, 10_000), &[], &impatient());
    assert_eq!((found.stop, found.best.len()), (Some(Stop::OutOfTime), 1));
}

#[test]
fn impossible_aims_have_no_decoder() {
    let points = random_points(1, 6);
    let space = Space::new(&points, LossKind::Balanced);
    assert!(Decoder::new(&space, aim(points.rows() + 1, &[])).is_none());
    let never = |_: &[(u32, u32)]| false;
    let guarded = Aim {
        guard: Some(&never),
        ..aim(1, &[])
    };
    assert!(Decoder::new(&space, guarded).is_none());
}
