//! k-member: grow classes row by row, each time by the row that widens the class least (Byun, Kamra, Bertino, Li,
//! DASFAA 2007).
//!
//! The first class grows from a random cell, every next from the cell farthest from the seed of the one before. Rows that
//! are left over each join the class whose loss (rows by summed certainty penalty) they raise least.

use rand::RngExt;

use super::blocks;
use crate::anonymize::clusters::budget::Watch;
use crate::anonymize::clusters::decode::everyone;
use crate::anonymize::clusters::distance::Space;
use crate::anonymize::clusters::extent::{Extent, Widths};
use crate::anonymize::clusters::partition::{Member, Partition, rows_of};
use crate::anonymize::search::streams::Streams;
use crate::anonymize::{Stop, Unobserved};
use rayon::prelude::*;

/// Cells above which a table is cut into blocks by Mondrian first.
pub const USUAL_BLOCK: usize = 2_048;

/// The partition: classes of at least k rows; `None` for fewer than k rows.
///
/// A cell may be split. Of equally good cells the lowest counts. Cost: O(n m) penalties for n rows in m cells of a block.
#[must_use]
pub fn k_member(space: &Space<'_>, k: u64, block: usize, seed: u64) -> Option<Partition> {
    let watch = Watch::new(&Unobserved, 0, "");
    watched(space, k, block, seed, &watch).ok().flatten()
}

/// The same, watched.
///
/// # Errors
/// It was told to end.
pub fn watched(
    space: &Space<'_>,
    k: u64,
    block: usize,
    seed: u64,
    watch: &Watch<'_>,
) -> Result<Option<Partition>, Stop> {
    let (points, k) = (space.points, k.max(1));
    if points.rows() < k {
        return Ok(None);
    }
    let streams = Streams::new(seed);
    let blocks = blocks(points, everyone(points), k, None, block.max(1));
    let classes: Vec<Vec<Vec<Member>>> = blocks
        .into_par_iter()
        .enumerate()
        .map(|(number, block)| {
            let first = streams
                .stream(0, number as u64)
                .random_range(0..block.len());
            of_block(space, k, block, first, watch)
        })
        .collect::<Result<_, _>>()?;
    let classes = classes.iter().flatten();
    Ok(Some(Partition::of_members(classes.map(Vec::as_slice))))
}

/// A class that grows.
struct Growing {
    members: Vec<Member>,
    extent: Extent,
    rows: u64,
}

impl Growing {
    fn take(&mut self, space: &Space<'_>, member: &mut Member, rows: u64) {
        let rows = u32::try_from(rows).unwrap_or(member.1).min(member.1);
        self.members.push((member.0, rows));
        self.extent.add(space.points, member.0);
        self.rows += u64::from(rows);
        member.1 -= rows;
    }
}

fn of_block(
    space: &Space<'_>,
    k: u64,
    mut left: Vec<Member>,
    first: usize,
    watch: &Watch<'_>,
) -> Result<Vec<Vec<Member>>, Stop> {
    let points = space.points;
    let widths = Widths::of(points);
    let site = |cell: u32| space.cells().site(cell as usize);
    let mut classes: Vec<Growing> = Vec::new();
    let mut rows = rows_of(&left);
    let mut seed = left[first].0;
    while rows >= k {
        watch.advance(k)?;
        let mut class = Growing {
            members: Vec::new(),
            extent: Extent::empty(points),
            rows: 0,
        };
        // The first class grows from the random cell itself, which is the one at no distance from it.
        let distance = |&(cell, _): &Member| space.between(site(seed), site(cell));
        let place = if classes.is_empty() {
            left.iter().position(|&(cell, _)| cell == seed)
        } else {
            least(left.iter().map(|member| -distance(member)))
        };
        let Some(mut place) = place else { break };
        seed = left[place].0;
        loop {
            class.take(space, &mut left[place], k - class.rows);
            if left[place].1 == 0 {
                left.remove(place);
            }
            if class.rows >= k {
                break;
            }
            let penalty = |&(cell, _): &Member| class.extent.penalty_with(points, &widths, cell);
            let Some(next) = least(left.iter().map(penalty)) else {
                break;
            };
            place = next;
        }
        rows -= class.rows;
        classes.push(class);
    }
    for (cell, rows) in left {
        let mut member = (cell, rows);
        while member.1 > 0 {
            let rise = |class: &Growing| {
                let now: f64 = class.extent.penalties(points, &widths).sum();
                let then = class.extent.penalty_with(points, &widths, cell);
                then + class.rows as f64 * (then - now)
            };
            let Some(best) = least(classes.iter().map(rise)) else {
                break;
            };
            classes[best].take(space, &mut member, 1);
        }
    }
    Ok(classes.into_iter().map(|class| class.members).collect())
}

/// Position of the first least value.
fn least(values: impl Iterator<Item = f64>) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (position, value) in values.enumerate() {
        if best.is_none_or(|(_, least)| value < least) {
            best = Some((position, value));
        }
    }
    best.map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::distance::LossKind;
    use crate::anonymize::clusters::testing::{line, random_points};
    use proptest::prelude::*;

    #[test]
    fn classes_grow_by_their_nearest() {
        let points = line(&[1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]);
        let space = Space::new(&points, LossKind::Balanced);
        let watch = Watch::new(&Unobserved, 7, "");
        let classes = of_block(&space, 3, everyone(&points), 0, &watch).unwrap();
        // From 1: {1, 2, 3}; farthest from it 13: {13, 12, 11}; 10 is left and widens the second least.
        assert_eq!(classes[0], [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(classes[1], [(6, 1), (5, 1), (4, 1), (3, 1)]);
        assert_eq!(classes.len(), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn classes_keep_k(seed in any::<u64>(), cells in 1_usize..40, k in 1_u64..7, block in 8_usize..60) {
            let points = random_points(seed, cells);
            let space = Space::new(&points, LossKind::Balanced);
            let Some(found) = k_member(&space, k, block, seed) else {
                prop_assert!(points.rows() < k);
                return Ok(());
            };
            let sizes = found.members().sizes();
            prop_assert_eq!(sizes.iter().sum::<u64>(), points.rows());
            prop_assert!(sizes.iter().all(|&size| size >= k));
        }
    }
}
