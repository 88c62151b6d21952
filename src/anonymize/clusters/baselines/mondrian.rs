//! Mondrian: cut the table in two again and again (`LeFevre`, `DeWitt`, Ramakrishnan, ICDE 2006).
//!
//! A class is cut along its widest attribute (normalised as in the certainty penalty) that can be cut: numbers and ranks
//! between two values, nearest to the median; categories of a taxonomy into the branches below their lowest common
//! ancestor; categories without order into single values. A cut stands if all sides hold k rows and satisfy the guard.

use std::collections::BTreeMap;

use rayon::join;

use crate::anonymize::clusters::decode::everyone;
use crate::anonymize::clusters::extent::{Extent, Widths, position};
use crate::anonymize::clusters::partition::{Guard, Member, Partition, rows_of};
use crate::anonymize::clusters::points::{Domain, Points};
use crate::anonymize::table::MISSING;

/// Whether rows of one value may part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Rows of one value stay together: classes are boxes that do not overlap.
    Strict,
    /// Rows of the median value are dealt to both sides, so that both hold half. Categories are cut as in `Strict`.
    Relaxed,
}

/// Places of a cut that are tried per attribute, the most balanced first, where a guard may refuse them.
const MOST_CUTS: usize = 16;

/// The partition; `None` if all rows as one class do not satisfy `k` and the guard.
///
/// With k alone no class of a strict partition can be cut further; with a guard, at most 16 places per attribute are
/// tried. Cost: O(m log m) per level of the cuts for m cells and a fixed number of attributes.
#[must_use]
pub fn mondrian(
    points: &Points,
    k: u64,
    variant: Variant,
    guard: Option<&Guard<'_>>,
) -> Option<Partition> {
    let satisfies = |members: &[Member]| {
        rows_of(members) >= k.max(1) && guard.is_none_or(|guard| guard(members))
    };
    let all = everyone(points);
    if !satisfies(&all) {
        return None;
    }
    let cutter = Cutter {
        points,
        widths: Widths::of(points),
        k: k.max(1),
        variant,
        satisfies: &satisfies,
    };
    let classes = cutter.classes(all);
    Some(Partition::of_members(classes.iter().map(Vec::as_slice)))
}

/// The sides of the best cut of members, if there is one; widths are those of all points.
pub(super) fn cut(
    points: &Points,
    members: &[Member],
    variant: Variant,
    k: u64,
    satisfies: &Guard<'_>,
) -> Option<Vec<Vec<Member>>> {
    let cutter = Cutter {
        points,
        widths: Widths::of(points),
        k,
        variant,
        satisfies,
    };
    cutter.cut(members)
}

struct Cutter<'c> {
    points: &'c Points,
    widths: Widths,
    k: u64,
    variant: Variant,
    satisfies: &'c Guard<'c>,
}

impl Cutter<'_> {
    fn classes(&self, members: Vec<Member>) -> Vec<Vec<Member>> {
        let Some(mut sides) = self.cut(&members) else {
            return vec![members];
        };
        drop(members);
        if sides.len() != 2 {
            return sides
                .into_iter()
                .flat_map(|side| self.classes(side))
                .collect();
        }
        let (second, first) = (
            sides.pop().unwrap_or_default(),
            sides.pop().unwrap_or_default(),
        );
        let (mut found, more) = join(|| self.classes(first), || self.classes(second));
        found.extend(more);
        found
    }

    fn cut(&self, members: &[Member]) -> Option<Vec<Vec<Member>>> {
        if rows_of(members) < 2 * self.k {
            return None;
        }
        let extent = Extent::of(self.points, members);
        let penalties = extent.penalties(self.points, &self.widths);
        let mut order: Vec<(usize, f64)> = penalties.enumerate().collect();
        // Stable: of equal widths the first attribute.
        order.sort_by(|left, right| right.1.total_cmp(&left.1));
        let wide = order.into_iter().filter(|&(_, width)| width > 0.0);
        let mut cuts = wide.map(|(feature, _)| self.cut_along(members, feature, &extent));
        cuts.find_map(|cut| cut)
    }

    fn cut_along(
        &self,
        members: &[Member],
        feature: usize,
        extent: &Extent,
    ) -> Option<Vec<Vec<Member>>> {
        match &self.points.features[feature].domain {
            Domain::Numbers { .. } | Domain::Ordinal { .. } => self.cut_axis(members, feature),
            Domain::Nominal { .. } | Domain::Taxonomy { .. } => {
                let sides = self.branches(members, feature, extent);
                let stands = sides.len() > 1 && sides.iter().all(|side| (self.satisfies)(side));
                stands.then_some(sides)
            }
        }
    }

    /// Members by branch of the taxonomy below their common ancestor, or by value; missing ones are a branch.
    fn branches(&self, members: &[Member], feature: usize, extent: &Extent) -> Vec<Vec<Member>> {
        let codes = &self.points.features[feature].codes;
        let mut sides: BTreeMap<u32, Vec<Member>> = BTreeMap::new();
        for &member in members {
            let code = codes[member.0 as usize];
            let branch = match (&self.points.features[feature].domain, extent.node(feature)) {
                (_, _) if code == MISSING => 0,
                (Domain::Taxonomy { taxonomy, .. }, Some(node)) => {
                    let below = taxonomy.branch(node, taxonomy.leaf_of[code as usize]);
                    below.map_or(1, |branch| branch + 2)
                }
                _ => code,
            };
            sides.entry(branch).or_default().push(member);
        }
        sides.into_values().collect()
    }

    /// Members below and above a place on the axis; missing ones lie below all.
    fn cut_axis(&self, members: &[Member], feature: usize) -> Option<Vec<Vec<Member>>> {
        let attribute = &self.points.features[feature];
        let place = |&(cell, _): &Member| {
            let code = attribute.codes[cell as usize];
            if code == MISSING {
                return f64::NEG_INFINITY;
            }
            position(attribute, code).unwrap_or(f64::NEG_INFINITY)
        };
        let mut sorted: Vec<(f64, Member)> = members
            .iter()
            .map(|member| (place(member), *member))
            .collect();
        sorted.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
        if self.variant == Variant::Relaxed {
            let sides = halves(&sorted);
            return sides
                .iter()
                .all(|side| (self.satisfies)(side))
                .then_some(sides);
        }
        let rows = rows_of(members);
        let mut below = 0;
        let mut cuts: Vec<(u64, usize)> = Vec::new();
        for (at, window) in sorted.windows(2).enumerate() {
            below += u64::from(window[0].1.1);
            let parts = window[0].0 < window[1].0;
            if parts && below >= self.k && rows - below >= self.k {
                cuts.push((below.abs_diff(rows - below), at + 1));
            }
        }
        cuts.sort_unstable();
        let sides = |&(_, at): &(u64, usize)| {
            let side = |part: &[(f64, Member)]| -> Vec<Member> {
                let mut side: Vec<Member> = part.iter().map(|&(_, member)| member).collect();
                side.sort_unstable();
                side
            };
            let sides = vec![side(&sorted[..at]), side(&sorted[at..])];
            sides
                .iter()
                .all(|side| (self.satisfies)(side))
                .then_some(sides)
        };
        cuts.iter().take(MOST_CUTS).find_map(sides)
    }
}

/// The rows in two halves, the first the greater by at most one; a cell at the middle is split.
fn halves(sorted: &[(f64, Member)]) -> Vec<Vec<Member>> {
    let rows: u64 = sorted.iter().map(|&(_, (_, rows))| u64::from(rows)).sum();
    let mut left = rows.div_ceil(2);
    let mut sides = vec![Vec::new(), Vec::new()];
    for &(_, (cell, rows)) in sorted {
        let first = u32::try_from(left.min(u64::from(rows))).unwrap_or(rows);
        left -= u64::from(first);
        for (side, rows) in sides.iter_mut().zip([first, rows - first]) {
            if rows > 0 {
                side.push((cell, rows));
            }
        }
    }
    for side in &mut sides {
        side.sort_unstable();
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::extent::global_certainty_penalty;
    use crate::anonymize::clusters::testing::{line, random_points};
    use proptest::prelude::*;

    // algorithms.md F 19.
    #[test]
    fn worked_example_19_mondrian() {
        let points = line(&[20.0, 22.0, 25.0, 31.0, 40.0, 44.0]);
        let found = mondrian(&points, 2, Variant::Strict, None).unwrap();
        let members = found.members();
        assert_eq!(members.of(0), [(0, 1), (1, 1), (2, 1)]);
        assert_eq!(members.of(1), [(3, 1), (4, 1), (5, 1)]);
        assert_eq!(members.len(), 2);
        assert!((global_certainty_penalty(&points, &members) - 0.375).abs() < 1e-12);
    }

    #[test]
    fn too_few_rows_have_no_partition() {
        assert_eq!(mondrian(&line(&[1.0, 2.0]), 3, Variant::Strict, None), None);
        let refuses = |members: &[Member]| members.len() != 2;
        assert_eq!(
            mondrian(&line(&[1.0, 2.0]), 1, Variant::Relaxed, Some(&refuses)),
            None
        );
    }

    /// Whether some attribute can still be cut between values, or into branches, with k rows on every side.
    fn can_be_cut(points: &Points, members: &[Member], k: u64) -> bool {
        points
            .features
            .iter()
            .enumerate()
            .any(|(feature, attribute)| {
                let code = |cell: u32| attribute.codes[cell as usize];
                if attribute.is_number() || matches!(attribute.domain, Domain::Ordinal { .. }) {
                    let place = |cell: u32| match code(cell) {
                        MISSING => f64::NEG_INFINITY,
                        code => position(attribute, code).unwrap(),
                    };
                    return members.iter().any(|&(border, _)| {
                        let below = members
                            .iter()
                            .filter(|&&(cell, _)| place(cell) < place(border));
                        let below: u64 = below.map(|&(_, rows)| u64::from(rows)).sum();
                        below >= k && rows_of(members) - below >= k
                    });
                }
                let extent = Extent::of(points, members);
                let cutter = Cutter {
                    points,
                    widths: Widths::of(points),
                    k,
                    variant: Variant::Strict,
                    satisfies: &|_| true,
                };
                let sides = cutter.branches(members, feature, &extent);
                sides.len() > 1 && sides.iter().all(|side| rows_of(side) >= k)
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn strict_classes_keep_k_and_cannot_be_cut(seed in any::<u64>(), cells in 1_usize..60, k in 1_u64..6) {
            let points = random_points(seed, cells);
            let Some(found) = mondrian(&points, k, Variant::Strict, None) else {
                prop_assert!(points.rows() < k);
                return Ok(());
            };
            let members = found.members();
            prop_assert_eq!(found.parts().len(), points.len());
            for class in members.iter() {
                prop_assert!(rows_of(class) >= k);
                prop_assert!(!can_be_cut(&points, class, k));
            }
        }

        #[test]
        fn relaxed_classes_keep_k_and_the_guard(seed in any::<u64>(), cells in 1_usize..60, k in 1_u64..6) {
            let points = random_points(seed, cells);
            let two_values = |members: &[Member]| {
                let mut codes: Vec<u32> = members
                    .iter()
                    .map(|&(cell, _)| points.sensitive[0].codes[cell as usize])
                    .filter(|&code| code != MISSING)
                    .collect();
                codes.sort_unstable();
                codes.dedup();
                codes.len() >= 2
            };
            let Some(found) = mondrian(&points, k, Variant::Relaxed, Some(&two_values)) else {
                prop_assert!(points.rows() < k || !two_values(&everyone(&points)));
                return Ok(());
            };
            let members = found.members();
            prop_assert_eq!(members.sizes().iter().sum::<u64>(), points.rows());
            for class in members.iter() {
                prop_assert!(rows_of(class) >= k && two_values(class));
            }
        }
    }
}
