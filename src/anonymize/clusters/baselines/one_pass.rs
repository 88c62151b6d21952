//! OKA: one-pass k-means, then adjustment to k (Lin, Wei, PAIS 2008).
//!
//! One class per k rows starts from a random row. In one pass every row joins the nearest centre, which moves with it.
//! Then classes of more than k rows give off the rows farthest from their centre; each of these joins the nearest class
//! that has fewer than k, or the nearest of all once none has.

use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::collections::BTreeSet;

use super::blocks;
use crate::anonymize::clusters::budget::Watch;
use crate::anonymize::clusters::centroid;
use crate::anonymize::clusters::decode::everyone;
use crate::anonymize::clusters::distance::{Sites, Space};
use crate::anonymize::clusters::partition::{Member, Partition, rows_of};
use crate::anonymize::search::streams::Streams;
use crate::anonymize::{Stop, Unobserved};

/// Rows that join a class between two updates of a centre that is not a mean are few, so centres are recomputed whenever
/// a class has grown by this share.
const GROWTH: f64 = 0.25;

/// Cells above which a table is cut into blocks by Mondrian first.
pub const USUAL_BLOCK: usize = 20_000;

/// The partition: classes of at least k rows; `None` for fewer than k rows.
///
/// Rows of one cell join together in the pass. Of equally near classes the lowest counts. Cost: O(m n / k) distances for
/// n rows in m cells of a block.
#[must_use]
pub fn one_pass(space: &Space<'_>, k: u64, block: usize, seed: u64) -> Option<Partition> {
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
        .par_iter()
        .enumerate()
        .map(|(number, block)| {
            let random = streams.stream(0, number as u64);
            of_block(space, k, block, random, watch)
        })
        .collect::<Result<_, _>>()?;
    let classes = classes.iter().flatten();
    Ok(Some(Partition::of_members(classes.map(Vec::as_slice))))
}

fn of_block(
    space: &Space<'_>,
    k: u64,
    block: &[Member],
    mut random: ChaCha8Rng,
    watch: &Watch<'_>,
) -> Result<Vec<Vec<Member>>, Stop> {
    let rows = rows_of(block);
    let wanted = usize::try_from(rows / k)
        .unwrap_or(usize::MAX)
        .min(block.len());
    let mut seeds = index::sample(&mut random, block.len(), wanted).into_vec();
    seeds.sort_unstable();
    let mut pass = Pass {
        space,
        centers: space
            .cells()
            .select(seeds.into_iter().map(|seed| block[seed].0 as usize)),
        members: vec![Vec::new(); wanted],
        rows: vec![0; wanted],
        counted: vec![0; wanted],
    };
    for &(cell, rows) in block {
        watch.advance(u64::from(rows))?;
        let class = pass.nearest(cell, None);
        pass.join(class, (cell, rows));
    }
    pass.recentre_all();
    pass.adjust(k);
    Ok(pass.members)
}

struct Pass<'p> {
    space: &'p Space<'p>,
    centers: Sites,
    members: Vec<Vec<Member>>,
    rows: Vec<u64>,
    /// Rows of each class when its centre was last computed.
    counted: Vec<u64>,
}

impl Pass<'_> {
    fn distance(&self, cell: u32, class: usize) -> f64 {
        let site = self.space.cells().site(cell as usize);
        self.space.between(site, self.centers.site(class))
    }

    /// The nearest class, of equals the lowest, of those given or of all.
    fn nearest(&self, cell: u32, among: Option<&BTreeSet<usize>>) -> usize {
        let mut best = (f64::INFINITY, 0);
        let mut look = |class: usize| {
            let distance = self.distance(cell, class);
            if distance < best.0 {
                best = (distance, class);
            }
        };
        match among {
            Some(among) => among.iter().copied().for_each(&mut look),
            None => (0..self.members.len()).for_each(&mut look),
        }
        best.1
    }

    fn join(&mut self, class: usize, member: Member) {
        self.members[class].push(member);
        self.rows[class] += u64::from(member.1);
        let (rows, counted) = (self.rows[class] as f64, self.counted[class] as f64);
        if rows >= counted * (1.0 + GROWTH) {
            self.recentre(class);
        }
    }

    fn recentre(&mut self, class: usize) {
        if !self.members[class].is_empty() {
            let center = centroid::center(self.space, &self.members[class], None);
            self.centers.set(class, center.site(0));
        }
        self.counted[class] = self.rows[class];
    }

    fn recentre_all(&mut self) {
        for class in 0..self.members.len() {
            self.recentre(class);
        }
    }

    /// Moves rows from classes of more than k to those of fewer.
    fn adjust(&mut self, k: u64) {
        let mut given_off = Vec::new();
        for class in 0..self.members.len() {
            let mut far: Vec<(f64, Member)> = self.members[class]
                .iter()
                .map(|&member| (self.distance(member.0, class), member))
                .collect();
            far.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
            let mut excess = self.rows[class].saturating_sub(k);
            self.rows[class] -= excess;
            for (_, (cell, rows)) in &mut far {
                let gone = u32::try_from(excess.min(u64::from(*rows))).unwrap_or(*rows);
                excess -= u64::from(gone);
                *rows -= gone;
                given_off.push((*cell, gone));
            }
            self.members[class] = far.into_iter().map(|(_, member)| member).collect();
            self.members[class].retain(|&(_, rows)| rows > 0);
        }
        given_off.retain(|&(_, rows)| rows > 0);
        given_off.sort_unstable();
        let small = (0..self.rows.len()).filter(|&class| self.rows[class] < k);
        let mut small: BTreeSet<usize> = small.collect();
        for (cell, mut rows) in given_off {
            while rows > 0 {
                let among = (!small.is_empty()).then_some(&small);
                let class = self.nearest(cell, among);
                let room = if among.is_some() {
                    k - self.rows[class]
                } else {
                    u64::from(rows)
                };
                let taken = u32::try_from(room.min(u64::from(rows))).unwrap_or(rows);
                self.members[class].push((cell, taken));
                self.rows[class] += u64::from(taken);
                rows -= taken;
                if self.rows[class] >= k {
                    small.remove(&class);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::distance::LossKind;
    use crate::anonymize::clusters::testing::{line, random_points};
    use proptest::prelude::*;

    #[test]
    fn rows_farthest_from_a_full_class_fill_another() {
        let points = line(&[0.0, 1.0, 2.0, 9.0]);
        let space = Space::new(&points, LossKind::Balanced);
        for seed in 0..20 {
            let sizes = one_pass(&space, 2, USUAL_BLOCK, seed)
                .unwrap()
                .members()
                .sizes();
            assert_eq!(sizes, [2, 2]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn classes_keep_k(seed in any::<u64>(), cells in 1_usize..60, k in 1_u64..7) {
            let points = random_points(seed, cells);
            let space = Space::new(&points, LossKind::Balanced);
            let Some(found) = one_pass(&space, k, USUAL_BLOCK, seed) else {
                prop_assert!(points.rows() < k);
                return Ok(());
            };
            let sizes = found.members().sizes();
            prop_assert_eq!(sizes.iter().sum::<u64>(), points.rows());
            prop_assert!(sizes.iter().all(|&size| size >= k));
        }
    }
}
