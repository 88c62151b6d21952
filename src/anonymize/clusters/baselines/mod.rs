//! Partitions by the well-known methods that every other is compared with (algorithms.md B.10).

pub mod datafly;
pub mod k_member;
pub mod mdav;
pub mod mondrian;
pub mod one_pass;

use super::partition::{Guard, Member, rows_of};
use super::points::Points;

/// Splits members into blocks of at most `most` cells, by Mondrian's cuts, so that a method of quadratic cost can work
/// on each; every block holds at least `k` rows and satisfies the guard, if all members do. One block if they fit, larger
/// ones where no cut stands.
#[must_use]
pub fn blocks(
    points: &Points,
    members: Vec<Member>,
    k: u64,
    guard: Option<&Guard<'_>>,
    most: usize,
) -> Vec<Vec<Member>> {
    if members.len() <= most {
        return vec![members];
    }
    let keeps_k = |side: &[Member]| rows_of(side) >= k && guard.is_none_or(|guard| guard(side));
    match mondrian::cut(points, &members, mondrian::Variant::Strict, k, &keeps_k) {
        None => vec![members],
        Some(sides) => {
            let sides = sides.into_iter();
            sides
                .flat_map(|side| blocks(points, side, k, guard, most))
                .collect()
        }
    }
}
