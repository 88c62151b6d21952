//! Makes a partition that knows k alone keep a guard: classes that fail are merged with their nearest.

use rayon::prelude::*;

use super::baselines::blocks;
use super::centroid;
use super::decode::{everyone, merged};
use super::distance::Space;
use super::partition::{Guard, Member, Partition};
use super::points::code;

/// Cells above which classes are merged within blocks first: among all of them every merge would look at every class.
const MOST_CELLS: usize = 20_000;

/// The partition after merging: every class satisfies the guard, if all rows as one class do.
///
/// Cost: for every class that fails, a distance to every class of its block.
#[must_use]
pub fn repair(space: &Space<'_>, partition: Partition, k: u64, guard: &Guard<'_>) -> Partition {
    let points = space.points;
    let blocks = blocks(points, everyone(points), k, Some(guard), MOST_CELLS);
    let partition = if blocks.len() > 1 {
        let mut block_of = vec![0; points.len()];
        for (block, members) in blocks.iter().enumerate() {
            for &(cell, _) in members {
                block_of[cell as usize] = block;
            }
        }
        let members = partition.members();
        let mut of_blocks: Vec<Vec<&[Member]>> = vec![Vec::new(); blocks.len()];
        for class in members.iter() {
            // A class that reaches into two blocks belongs to that of its first cell.
            of_blocks[block_of[class[0].0 as usize]].push(class);
        }
        let repaired: Vec<Partition> = of_blocks
            .into_par_iter()
            .map(|classes| within(space, Partition::of_members(classes), guard))
            .collect();
        joined(&repaired)
    } else {
        partition
    };
    within(space, partition, guard)
}

fn within(space: &Space<'_>, partition: Partition, guard: &Guard<'_>) -> Partition {
    let centroids = centroid::centers(space, &partition.members(), None);
    merged(space, guard, partition, centroids).0
}

fn joined(partitions: &[Partition]) -> Partition {
    let mut first = 0;
    let mut parts = Vec::new();
    for partition in partitions {
        parts.extend(partition.parts().iter().map(|part| {
            let mut part = *part;
            part.class += first;
            part
        }));
        first += code(partition.classes());
    }
    Partition::new(parts)
}
