//! Record linkage by distance: whoever knows a raw row looks for the nearest released centroid (algorithms.md B.7).

use rayon::prelude::*;

use super::distance::{Sites, Space};
use super::partition::Partition;
use super::tree::Tree;

/// How far released centroids give their rows away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DistanceLinkage {
    /// Share of rows whose nearest released centroids stand for fewer than k rows together.
    pub below_k: f64,
    /// Share of rows whose own class is among the nearest.
    pub own_class: f64,
    /// Mean chance of picking the row itself: 1 by the rows of the nearest centroids where its own is among them, else 0.
    pub success: f64,
}

/// Links every row to the centroids released for the classes of a partition; equally near ones count together.
///
/// Cost: per cell a walk of a tree of centroids.
///
/// # Panics
/// There are not as many centroids as classes.
#[must_use]
pub fn distance_linkage(
    space: &Space<'_>,
    partition: &Partition,
    released: &Sites,
    k: u64,
) -> DistanceLinkage {
    assert_eq!(partition.classes(), released.len());
    let sizes = partition.members().sizes();
    let tree = Tree::new(space, released);
    let nearest: Vec<Vec<u32>> = (0..space.points.len())
        .into_par_iter()
        .map(|cell| {
            let site = space.cells().site(cell);
            let best = tree.nearest(space, released, site, &|_| true, None);
            best.map_or_else(Vec::new, |(distance, _)| {
                tree.within(space, released, site, distance)
            })
        })
        .collect();
    let (mut below, mut own, mut success, mut rows) = (0_u64, 0_u64, 0.0, 0_u64);
    for part in partition.parts() {
        let near = &nearest[part.cell as usize];
        let candidates: u64 = near.iter().map(|&class| sizes[class as usize]).sum();
        let count = u64::from(part.rows);
        rows += count;
        if candidates < k {
            below += count;
        }
        if near.binary_search(&part.class).is_ok() {
            own += count;
            success += f64::from(part.rows) / candidates as f64;
        }
    }
    let share = |count: u64| count as f64 / rows.max(1) as f64;
    DistanceLinkage {
        below_k: share(below),
        own_class: share(own),
        success: success / rows.max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::centroid;
    use crate::anonymize::clusters::distance::LossKind;
    use crate::anonymize::clusters::testing::{line, random_points};

    #[test]
    fn rows_of_a_far_class_are_linked_to_it_and_those_between_to_another() {
        let points = line(&[0.0, 4.0, 5.0, 9.0, 10.0, 11.0]);
        let space = Space::new(&points, LossKind::Ratio);
        let partition = Partition::of_cells(&points, &[0, 0, 1, 1, 1, 1]);
        let centers = centroid::centers(&space, &partition.members(), None);
        // Centres 2 and 8.75: the row at 5 lies nearer to 2.
        let found = distance_linkage(&space, &partition, &centers, 3);
        assert!((found.below_k - 3.0 / 6.0).abs() < 1e-12);
        assert!((found.own_class - 5.0 / 6.0).abs() < 1e-12);
        assert!((found.success - (2.0 / 2.0 + 3.0 / 4.0) / 6.0).abs() < 1e-12);
        let one = Partition::of_cells(&points, &[0; 6]);
        let centers = centroid::centers(&space, &one.members(), None);
        let found = distance_linkage(&space, &one, &centers, 3);
        assert!(found.below_k.abs() < 1e-12 && (found.success - 1.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn equal_centroids_hide_each_other() {
        let points = random_points(5, 30);
        let space = Space::new(&points, LossKind::Balanced);
        let classes: Vec<u32> = (0..30).map(|cell| cell % 2).collect();
        let partition = Partition::of_cells(&points, &classes);
        let same = space.cells().select([0, 0]);
        let found = distance_linkage(&space, &partition, &same, 2);
        assert!((found.own_class - 1.0).abs() < 1e-12);
        assert!((found.success - 1.0 / points.rows() as f64).abs() < 1e-12);
    }
}
