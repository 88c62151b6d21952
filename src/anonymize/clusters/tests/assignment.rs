use proptest::prelude::*;

use super::super::assignment::{Assigner, cost, parts};
use super::super::decode::{Aim, Decoder, everyone};
use super::super::distance::{LossKind, Sites, Space};
use super::super::partition::{Member, Part, Partition, rows_of};
use super::super::polish::polish;
use super::super::testing::{line, random_points};
use super::aim;

/// Numbers as places of a space over one raw column.
fn places(space: &Space<'_>, values: &[f64]) -> Sites {
    let mut sites = space.no_sites();
    sites.numbers = values.to_vec();
    sites.count = values.len();
    sites
}

fn cost_of(space: &Space<'_>, sites: &Sites, parts: &[Part]) -> f64 {
    let one = |part: &Part| {
        let site = space.cells().site(part.cell as usize);
        f64::from(part.rows) * space.between(site, sites.site(part.class as usize))
    };
    parts.iter().map(one).sum()
}

// algorithms.md F 12: the nearest cost 2.75, dissolving 75, filling 49.5.
#[test]
fn worked_example_12_assignment() {
    let points = line(&[0.0, 1.0, 2.0, 9.0]);
    let space = Space::new(&points, LossKind::Ratio).with_weights(vec![1.0]);
    let centroids = places(&space, &[0.5, 9.0]);
    let nearest = Assigner::new(&space, 1).assign(&centroids);
    assert!((cost(&nearest) - 2.75).abs() < 1e-12);
    let units = Assigner::new(&space, 2).assign(&centroids);
    let of_cells: Vec<u32> = units.iter().map(|unit| unit.cluster).collect();
    assert_eq!(of_cells, [0, 0, 1, 1]);
    assert!((cost(&units) - (0.25 + 0.25 + 49.0)).abs() < 1e-12);
    let aim = Aim {
        k: 2,
        loss: LossKind::Ratio,
        ..aim(2, &[])
    };
    let solution = Decoder::new(&space, aim).unwrap().decode(&centroids, 1);
    assert!((solution.loss * space.base()[0] - 25.0).abs() < 1e-9);
}

#[test]
fn a_far_row_is_dissolved_where_that_is_cheaper() {
    // One row at 4 with its own centroid: filling it takes a row from far away.
    let points = line(&[0.0, 0.0, 0.0, 4.0]);
    let space = Space::new(&points, LossKind::Ratio).with_weights(vec![1.0]);
    let units = Assigner::new(&space, 2).assign(&places(&space, &[0.0, 9.0]));
    // Dissolve: 16 - 25 < 0; fill: 81.
    assert!(units.iter().all(|unit| unit.cluster == 0));
}

/// Rows, one cell each.
fn single_rows(seed: u64, cells: usize) -> super::Points {
    let mut points = random_points(seed, cells);
    points.weights.fill(1);
    points
}

/// The least cost of all assignments of rows to the open places with k in each; by trying all.
fn exhaustive(space: &Space<'_>, sites: &Sites, open: &[u32], k: u64) -> f64 {
    let rows = space.points.len();
    let mut best = f64::INFINITY;
    for number in 0..open.len().pow(u32::try_from(rows).unwrap()) {
        let mut rest = number;
        let mut sizes = vec![0; open.len()];
        let mut sum = 0.0;
        for row in 0..rows {
            let choice = rest % open.len();
            rest /= open.len();
            sizes[choice] += 1;
            let site = sites.site(open[choice] as usize);
            sum += space.between(space.cells().site(row), site);
        }
        if sizes.iter().all(|&size| size >= k) && sum < best {
            best = sum;
        }
    }
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]
    #[test]
    fn polish_is_the_optimum(seed in any::<u64>(), rows in 2_usize..8, open in 1_usize..4, k in 1_u64..4) {
        prop_assume!(rows as u64 >= k);
        let points = single_rows(seed, rows);
        let others = random_points(seed ^ 7, open);
        let space = Space::new(&points, LossKind::Balanced);
        let foreign = Space::new(&others, LossKind::Balanced);
        let sites = foreign.cells();
        let units = Assigner::new(&space, k).assign(sites);
        let mut used: Vec<u32> = units.iter().map(|unit| unit.cluster).collect();
        used.sort_unstable();
        used.dedup();
        let polished = polish(&space, sites, &units, k).unwrap();
        let found = cost_of(&space, sites, &polished);
        prop_assert!(found <= cost(&units) + 1e-9);
        let best = exhaustive(&space, sites, &used, k);
        prop_assert!((found - best).abs() < 1e-9, "{found} against {best}");
    }

    #[test]
    fn weights_polish_like_single_rows(seed in any::<u64>(), cells in 2_usize..12, open in 1_usize..5, k in 1_u64..6) {
        let points = random_points(seed, cells);
        prop_assume!(points.rows() >= k);
        let sites = random_points(seed ^ 7, open);
        let foreign = Space::new(&sites, LossKind::Balanced);
        let space = Space::new(&points, LossKind::Balanced);
        let units = Assigner::new(&space, k).assign(foreign.cells());
        let whole = polish(&space, foreign.cells(), &units, k).unwrap();
        let mut spread = points.clone();
        let copies: Vec<usize> = points
            .weights
            .iter()
            .enumerate()
            .flat_map(|(cell, &rows)| vec![cell; rows as usize])
            .collect();
        spread.weights = vec![1; copies.len()];
        for feature in &mut spread.features {
            feature.codes = copies.iter().map(|&cell| feature.codes[cell]).collect();
        }
        let single = Space::new(&spread, LossKind::Balanced);
        let mut opened: Vec<u32> = units.iter().map(|unit| unit.cluster).collect();
        opened.sort_unstable();
        opened.dedup();
        // The same open set: the single rows are polished over the places that the cells use.
        let kept = foreign.cells().select(opened.iter().map(|&place| place as usize));
        let again = Assigner::new(&single, 1).assign(&kept);
        let mut forced = again.clone();
        for (unit, place) in forced.iter_mut().zip((0..u32::try_from(opened.len()).unwrap()).cycle()) {
            unit.cluster = place;
        }
        prop_assume!(forced.len() >= opened.len());
        let rows = polish(&single, &kept, &forced, k).unwrap();
        let (left, right) = (cost_of(&space, foreign.cells(), &whole), cost_of(&single, &kept, &rows));
        prop_assert!((left - right).abs() < 1e-9, "{left} against {right}");
    }

    #[test]
    fn repair_keeps_k_and_every_row(seed in any::<u64>(), cells in 1_usize..60, open in 1_usize..25, k in 1_u64..12) {
        let points = random_points(seed, cells);
        prop_assume!(points.rows() >= k);
        let places = random_points(seed ^ 3, open);
        let space = Space::new(&points, LossKind::Balanced);
        let foreign = Space::new(&places, LossKind::Balanced);
        let units = Assigner::new(&space, k).assign(foreign.cells());
        let partition = Partition::new(parts(&units));
        let members = partition.members();
        prop_assert!(members.sizes().iter().all(|&size| size >= k));
        let mut by_cell = vec![0; points.len()];
        for part in partition.parts() {
            by_cell[part.cell as usize] += part.rows;
        }
        prop_assert_eq!(&by_cell, &points.weights);
        let told = cost_of(&space, foreign.cells(), &parts(&units));
        prop_assert!((told - cost(&units)).abs() < 1e-9);
    }

    #[test]
    fn filling_follows_the_plain_rule(seed in any::<u64>(), cells in 2_usize..40, open in 2_usize..12, k in 2_u64..9) {
        let points = random_points(seed, cells);
        prop_assume!(points.rows() >= k);
        let places = random_points(seed ^ 5, open);
        let space = Space::new(&points, LossKind::Balanced);
        let foreign = Space::new(&places, LossKind::Balanced);
        let units = Assigner::new(&space, k).assign(foreign.cells());
        let plain = plain_repair(&space, foreign.cells(), k);
        let found = cost(&units);
        prop_assert!((found - plain).abs() < 1e-9, "{found} against {plain}");
    }

    #[test]
    fn recentring_never_raises_the_loss(seed in any::<u64>(), cells in 4_usize..50, open in 1_usize..12, k in 1_u64..6) {
        let mut points = random_points(seed, cells);
        prop_assume!(points.rows() >= k);
        // Masked attributes may publish missing, and the lower median of a category of its own is not a mode.
        for feature in &mut points.features {
            for code in &mut feature.codes {
                *code = (*code).max(1);
            }
        }
        let space = Space::new(&points, LossKind::Balanced);
        let decoder = Decoder::new(&space, aim(k, &[0.0])).unwrap();
        let start = space.cells().select((0..open).map(|number| number * 7 % cells));
        let (mut sites, mut last) = (start.clone(), f64::INFINITY);
        for _ in 0..6 {
            let found = decoder.decode(&sites, 1);
            prop_assert!(found.loss <= found.free_loss.unwrap() + 1e-9);
            prop_assert!(found.loss <= 1.0 + 1e-9);
            sites = found.centroids.clone();
            last = last.min(found.loss);
        }
        prop_assert!(decoder.decode(&start, 6).value() <= last + 1e-9);
    }

    #[test]
    fn guarded_classes_satisfy_the_guard(seed in any::<u64>(), cells in 4_usize..50, open in 1_usize..12) {
        let points = random_points(seed, cells);
        let codes = &points.sensitive[0].codes;
        let mixed = |members: &[Member]| {
            let first = codes[members[0].0 as usize];
            members.iter().any(|&(cell, _)| codes[cell as usize] != first)
        };
        prop_assume!(mixed(&everyone(&points)) && points.rows() >= 2);
        let space = Space::new(&points, LossKind::Balanced);
        let aim = Aim { guard: Some(&mixed), ..aim(2, &[1.0]) };
        let decoder = Decoder::new(&space, aim).unwrap();
        let start = space.cells().select((0..open).map(|number| number * 5 % cells));
        let members = decoder.decode(&start, 3).partition.members();
        prop_assert!(members.iter().all(|class| rows_of(class) >= 2 && mixed(class)));
    }
}

/// The repair as it is told, row by row, without trees; gives the cost.
fn plain_repair(space: &Space<'_>, sites: &Sites, k: u64) -> f64 {
    let distance = |cell: u32, place: usize| {
        space.between(space.cells().site(cell as usize), sites.site(place))
    };
    let mut used = vec![true; sites.len()];
    let mut rows: Vec<(u32, usize)> = Vec::new();
    let best = |cell: u32, used: &[bool], except: Option<usize>| {
        let open = (0..sites.len()).filter(|&place| used[place] && Some(place) != except);
        open.min_by(|&left, &right| {
            distance(cell, left)
                .total_cmp(&distance(cell, right))
                .then(left.cmp(&right))
        })
    };
    for (cell, &weight) in (0..).zip(&space.points.weights) {
        let place = best(cell, &used, None).unwrap();
        rows.extend(vec![(cell, place); weight as usize]);
    }
    loop {
        let sizes: Vec<u64> = (0..sites.len())
            .map(|place| rows.iter().filter(|row| row.1 == place).count() as u64)
            .collect();
        for place in 0..sites.len() {
            used[place] &= sizes[place] > 0;
        }
        let small = (0..sites.len()).filter(|&place| used[place] && sizes[place] < k);
        let Some(small) = small.min_by_key(|&place| (sizes[place], place)) else {
            return rows
                .iter()
                .map(|&(cell, place)| distance(cell, place))
                .sum();
        };
        let own: Vec<usize> = (0..rows.len())
            .filter(|&row| rows[row].1 == small)
            .collect();
        let targets: Option<Vec<usize>> = own
            .iter()
            .map(|&row| best(rows[row].0, &used, Some(small)))
            .collect();
        let dissolve = targets.as_ref().map(|targets| -> f64 {
            let rise = own.iter().zip(targets);
            rise.map(|(&row, &to)| distance(rows[row].0, to) - distance(rows[row].0, small))
                .sum()
        });
        let mut regrets: Vec<(f64, usize)> = (0..rows.len())
            .filter(|&row| sizes[rows[row].1] > k)
            .map(|row| {
                (
                    distance(rows[row].0, small) - distance(rows[row].0, rows[row].1),
                    row,
                )
            })
            .collect();
        regrets.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        let mut spare: Vec<u64> = sizes.iter().map(|size| size.saturating_sub(k)).collect();
        let (mut fill, mut taken) = (0.0, Vec::new());
        for (regret, row) in regrets {
            if taken.len() as u64 + sizes[small] < k && spare[rows[row].1] > 0 {
                spare[rows[row].1] -= 1;
                fill += regret;
                taken.push(row);
            }
        }
        let is_full = taken.len() as u64 + sizes[small] == k;
        if is_full && dissolve.is_none_or(|dissolve| fill < dissolve - 1e-12) {
            for row in taken {
                rows[row].1 = small;
            }
        } else {
            for (row, to) in own.into_iter().zip(targets.unwrap()) {
                rows[row].1 = to;
            }
            used[small] = false;
        }
    }
}
