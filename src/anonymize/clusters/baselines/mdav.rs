//! MDAV: maximum distance to average vector (Domingo-Ferrer, Torra, Data Mining and Knowledge Discovery 2005).
//!
//! While at least 3k rows remain: r is the row farthest from the mean, s the row farthest from r; the k rows nearest to r
//! are a class, then the k nearest to s. If at least 2k remain, one more class around r; the rest is the last class.

use super::blocks;
use crate::anonymize::clusters::budget::Watch;
use crate::anonymize::clusters::centroid;
use crate::anonymize::clusters::decode::everyone;
use crate::anonymize::clusters::distance::{Site, Space};
use crate::anonymize::clusters::partition::{Member, Partition, rows_of};
use crate::anonymize::{Stop, Unobserved};
use rayon::prelude::*;

/// Cells above which a table is cut into blocks by Mondrian first.
pub const USUAL_BLOCK: usize = 20_000;

/// The partition: classes of k rows, the last of each block of k to 2k - 1; `None` for fewer than k rows.
///
/// A cell may be split. Of equally far rows the lowest cell counts. Cost: O(n m / k) distances for n rows in m cells of a
/// block.
#[must_use]
pub fn mdav(space: &Space<'_>, k: u64, block: usize) -> Option<Partition> {
    let watch = Watch::new(&Unobserved, 0, "");
    watched(space, k, block, &watch).ok().flatten()
}

/// The same, watched.
///
/// # Errors
/// It was told to end.
pub fn watched(
    space: &Space<'_>,
    k: u64,
    block: usize,
    watch: &Watch<'_>,
) -> Result<Option<Partition>, Stop> {
    let (points, k) = (space.points, k.max(1));
    if points.rows() < k {
        return Ok(None);
    }
    let blocks = blocks(points, everyone(points), k, None, block.max(1));
    let classes: Vec<Vec<Vec<Member>>> = blocks
        .into_par_iter()
        .map(|block| of_block(space, k, block, watch))
        .collect::<Result<_, _>>()?;
    let classes = classes.iter().flatten();
    Ok(Some(Partition::of_members(classes.map(Vec::as_slice))))
}

fn of_block(
    space: &Space<'_>,
    k: u64,
    mut left: Vec<Member>,
    watch: &Watch<'_>,
) -> Result<Vec<Vec<Member>>, Stop> {
    let cell = |cell: u32| space.cells().site(cell as usize);
    let mut classes = Vec::new();
    let mut rows = rows_of(&left);
    while rows >= 2 * k {
        watch.advance(2 * k)?;
        let center = centroid::center(space, &left, None);
        let Some(first) = farthest(space, &left, center.site(0)) else {
            break;
        };
        let second = farthest(space, &left, cell(first));
        classes.push(take_nearest(space, &mut left, cell(first), k));
        rows -= k;
        if rows < 2 * k {
            break;
        }
        // s was chosen before the rows around r left; if it left with them, the farthest that remains stands in.
        let second = second.filter(|second| left.iter().any(|&(cell, _)| cell == *second));
        let second = second.or_else(|| farthest(space, &left, cell(first)));
        if let Some(second) = second {
            classes.push(take_nearest(space, &mut left, cell(second), k));
            rows -= k;
        }
    }
    if !left.is_empty() {
        classes.push(left);
    }
    Ok(classes)
}

/// The member farthest from a place, of equals the first.
fn farthest(space: &Space<'_>, members: &[Member], from: Site<'_>) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for &(cell, _) in members {
        let distance = space.between(from, space.cells().site(cell as usize));
        if best.is_none_or(|(most, _)| distance > most) {
            best = Some((distance, cell));
        }
    }
    best.map(|(_, cell)| cell)
}

/// Takes the k rows nearest to a place out of the members, which stay in order.
fn take_nearest(space: &Space<'_>, left: &mut Vec<Member>, from: Site<'_>, k: u64) -> Vec<Member> {
    let distance = |&(cell, _): &Member| space.between(from, space.cells().site(cell as usize));
    let mut near: Vec<(f64, usize)> = left.iter().map(distance).zip(0..).collect();
    let order = |one: &(f64, usize), other: &(f64, usize)| {
        one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
    };
    // No more than k cells can be needed.
    let needed = usize::try_from(k).unwrap_or(usize::MAX).min(near.len());
    if needed < near.len() {
        near.select_nth_unstable_by(needed, order);
        near.truncate(needed);
    }
    near.sort_unstable_by(order);
    let (mut need, mut class) = (k, Vec::new());
    for (_, place) in near {
        let (cell, rows) = left[place];
        let taken = u32::try_from(need.min(u64::from(rows))).unwrap_or(rows);
        if taken == 0 {
            break;
        }
        need -= u64::from(taken);
        class.push((cell, taken));
        left[place].1 -= taken;
    }
    left.retain(|&(_, rows)| rows > 0);
    class
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::decode::sse_by_sst;
    use crate::anonymize::clusters::distance::LossKind;
    use crate::anonymize::clusters::testing::{line, random_points};
    use proptest::prelude::*;

    // algorithms.md F 20.
    #[test]
    fn worked_example_20_mdav() {
        let points = line(&[1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]);
        let space = Space::new(&points, LossKind::Ratio);
        let found = mdav(&space, 3, USUAL_BLOCK).unwrap();
        let members = found.members();
        assert_eq!(members.sizes(), [3, 4]);
        assert_eq!(members.of(0), [(0, 1), (1, 1), (2, 1)]);
        let ratio = sse_by_sst(&space, &found);
        assert!((ratio - 0.043_29).abs() < 5e-6);
        assert!((ratio * space.base()[0] - 7.0).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn all_classes_but_one_hold_k_rows(seed in any::<u64>(), cells in 1_usize..60, k in 1_u64..7) {
            let points = random_points(seed, cells);
            let space = Space::new(&points, LossKind::Balanced);
            let Some(found) = mdav(&space, k, USUAL_BLOCK) else {
                prop_assert!(points.rows() < k);
                return Ok(());
            };
            let sizes = found.members().sizes();
            prop_assert_eq!(sizes.iter().sum::<u64>(), points.rows());
            prop_assert!(sizes.iter().all(|&size| (k..2 * k).contains(&size)));
            prop_assert!(sizes.iter().filter(|&&size| size != k).count() <= 1);
        }

        #[test]
        fn blocks_keep_k(seed in any::<u64>(), cells in 20_usize..60, k in 1_u64..5) {
            let points = random_points(seed, cells);
            let space = Space::new(&points, LossKind::Balanced);
            let sizes = mdav(&space, k, 12).unwrap().members().sizes();
            prop_assert_eq!(sizes.iter().sum::<u64>(), points.rows());
            prop_assert!(sizes.iter().all(|&size| (k..2 * k).contains(&size)));
        }
    }
}
