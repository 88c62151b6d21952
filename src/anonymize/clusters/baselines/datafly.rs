//! Datafly: generalise the attribute with most values, until few enough rows are left over (Sweeney 1998; 2002).
//!
//! It is a full-domain rule without an objective, known to generalise too much. It stops when at most k rows lie in
//! classes of fewer than k; those are suppressed.

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::policy::Policy;
use crate::anonymize::rows::QuasiIdentifier;

/// What Datafly did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Datafly {
    /// The attribute that was generalised by one level, step by step.
    pub steps: Vec<usize>,
    /// The levels reached.
    pub policy: Policy,
    /// Rows in classes of fewer than k, to be suppressed: at most k, unless everything is generalised to the top.
    pub outliers: u64,
}

/// Runs Datafly. Of attributes with equally many distinct values the first is generalised.
///
/// Cost: one roll-up per step, at most the sum of the heights.
#[must_use]
pub fn datafly(cells: &Cells, k: u64) -> Datafly {
    let small = |table: &ClassTable| {
        let rows = table.rows.iter().map(|&rows| u64::from(rows));
        rows.filter(|&rows| rows < k).sum()
    };
    until(cells, k, &small)
}

/// The same until at most so many rows are left over, as `outliers` counts them.
#[must_use]
pub fn until(cells: &Cells, most: u64, outliers: &dyn Fn(&ClassTable) -> u64) -> Datafly {
    let heights: Vec<usize> = cells
        .quasi_identifiers
        .iter()
        .map(QuasiIdentifier::height)
        .collect();
    let mut levels = vec![0_u32; heights.len()];
    let mut scratch = Scratch::default();
    let mut steps = Vec::new();
    let mut table = ClassTable::group(cells, &levels, &mut scratch);
    loop {
        let outliers = outliers(&table);
        let next = (0..heights.len())
            .filter(|&attribute| (levels[attribute] as usize) < heights[attribute])
            .max_by_key(|&attribute| (distinct(cells, &table, attribute), usize::MAX - attribute));
        let Some(attribute) = next.filter(|_| outliers > most) else {
            return Datafly {
                steps,
                policy: Policy::new(levels),
                outliers,
            };
        };
        levels[attribute] += 1;
        steps.push(attribute);
        table = table.roll_up(cells, &levels, &mut scratch);
    }
}

/// Number of distinct generalised values of an attribute in a table.
fn distinct(cells: &Cells, table: &ClassTable, attribute: usize) -> usize {
    let nodes = (0..table.len()).map(|class| table.node(cells, class, attribute));
    let mut nodes: Vec<u32> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::cells::Needs;
    use crate::anonymize::clusters::testing::generalization;
    use crate::anonymize::rows::Rows;

    // algorithms.md F 7: T8, ties to the first attribute.
    #[test]
    fn worked_example_7_datafly() {
        let ages = [23, 27, 25, 28, 41, 45, 48, 62];
        let zips = [
            "10115", "10117", "10119", "10245", "20095", "20099", "20097", "30159",
        ];
        let sexes = ["F", "F", "F", "M", "M", "M", "F", "F"];
        let top = || "*".to_owned();
        let age = |age: &u32| {
            vec![
                age.to_string(),
                (age / 10).to_string(),
                (age / 20).to_string(),
                top(),
            ]
        };
        let zip = |zip: &&str| {
            vec![
                zip[..5].to_owned(),
                zip[..3].to_owned(),
                zip[..1].to_owned(),
                top(),
            ]
        };
        let sex = |sex: &&str| vec![(*sex).to_owned(), top()];
        let columns = [
            generalization(&ages.iter().map(age).collect::<Vec<_>>()),
            generalization(&zips.iter().map(zip).collect::<Vec<_>>()),
            generalization(&sexes.iter().map(sex).collect::<Vec<_>>()),
        ];
        let quasi_identifiers = columns.iter().zip(["age", "zip", "sex"]);
        let rows = Rows {
            populations: Vec::new(),
            rows: 8,
            quasi_identifiers: quasi_identifiers
                .map(|((generalization, codes), name)| {
                    (QuasiIdentifier::new(name, generalization.clone()), &**codes)
                })
                .collect(),
            subjects: None,
            sensitive: Vec::new(),
            target: None,
        };
        let (cells, _) = Cells::build(&rows, &Needs::default());
        let found = datafly(&cells, 2);
        assert_eq!(found.steps, [0, 1, 1, 0, 0, 1]);
        assert_eq!(found.policy, Policy::new([3, 3, 0]));
        assert_eq!(found.outliers, 0);
        let all = datafly(&cells, 9);
        assert_eq!((all.policy, all.outliers), (Policy::new([0, 0, 0]), 8));
    }
}
