//! Average risk: released classes over released subjects (rows where no subject is declared), user-cases D13.
//!
//! The smallest classes leave first, until the mean holds: no other choice of as many classes keeps more. Of equally
//! large ones, the first by labels leave first. The larger the classes that are left, the lower the mean, so on a policy
//! that generalises more, the images of the classes that were left still meet it, and no more rows leave; that is so in
//! rows only, since a subject of two classes counts twice before they merge and once after. A union is no smaller than
//! its parts, so it stays if both do.

use std::cmp::Ordering;

use super::{Candidates, Judging, TableCriterion};
use crate::declaration::Fraction;

#[derive(Debug)]
pub(super) struct AverageRisk {
    pub(super) max: Fraction,
    pub(super) by_subject: bool,
}

impl TableCriterion for AverageRisk {
    fn failing(&self, candidates: &Candidates<'_>, _: &mut Judging) -> Vec<usize> {
        let sized = candidates
            .classes()
            .map(|class| (candidates.table.view(class).size(), class));
        let mut sized: Vec<(u64, usize)> = sized.collect();
        sized.sort_unstable();
        let mut subjects: u64 = sized.iter().map(|&(size, _)| size).sum();
        let mut leaving = 0;
        while (sized.len() - leaving) as u64 > self.max.floor_of(subjects) {
            subjects -= sized[leaving].0;
            leaving += 1;
        }
        if leaving == 0 {
            return Vec::new();
        }
        let last = sized[leaving - 1].0;
        let from = sized.partition_point(|&(size, _)| size < last);
        let to = sized.partition_point(|&(size, _)| size <= last);
        if leaving < to {
            let tied = &mut sized[from..to];
            tied.sort_by(|left, right| by_labels(candidates, left.1, right.1));
        }
        sized.truncate(leaving);
        sized.into_iter().map(|(_, class)| class).collect()
    }
    fn absorbing(&self) -> bool {
        !self.by_subject
    }
    fn merge_closed(&self) -> bool {
        true
    }
}

/// Orders classes by their labels, attribute by attribute; numbers of nodes would depend on the order of rows.
fn by_labels(candidates: &Candidates<'_>, left: usize, right: usize) -> Ordering {
    let Candidates { table, cells, .. } = *candidates;
    let attributes = cells.quasi_identifiers.iter().enumerate();
    let mut orders = attributes.map(|(position, attribute)| {
        let level = table.levels[position] as usize;
        let labels = &attribute.generalization.levels[level].labels;
        let label = |class| &labels[table.node(cells, class, position) as usize];
        label(left).cmp(label(right))
    });
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}
