//! Which classes of a policy are released: the one place that decides it, for searches, figures, releases and measures.
//!
//! A class that fails a criterion by itself is out. Then the table criteria withdraw classes from what is left, until
//! none of them objects. Classes only ever leave, so this ends; and since a mean is settled after distributions are, and
//! ties are broken by labels, it ends the same way for any order of rows and classes.

use super::ClassTable;
use crate::anonymize::cells::Cells;
use crate::anonymize::privacy::{Candidates, Criteria, Judging};

/// What a policy releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// By class, whether it is released.
    pub released: Vec<bool>,
    /// See [`super::Evaluation::core_suppressed_rows`].
    pub core_suppressed_rows: u64,
}

impl ClassTable {
    /// Decides which classes are released.
    #[must_use]
    pub fn release(&self, cells: &Cells, criteria: &Criteria) -> Release {
        let mut judging = Judging::default();
        let mut core_suppressed_rows = 0;
        let mut released: Vec<bool> = Vec::with_capacity(self.len());
        for (class, &rows) in self.rows.iter().enumerate() {
            let view = self.view(class);
            let in_core = criteria.core_ok(&view, &mut judging);
            if !in_core {
                core_suppressed_rows += u64::from(rows);
            }
            released.push(in_core && criteria.rest_ok(&view, &mut judging));
        }
        self.withdraw(cells, criteria, &mut released, &mut judging);
        if criteria.absorbing() {
            let classes = self.rows.iter().zip(&released);
            let suppressed = classes.filter(|&(_, &released)| !released);
            core_suppressed_rows = suppressed.map(|(&rows, _)| u64::from(rows)).sum();
        }
        Release {
            released,
            core_suppressed_rows,
        }
    }

    /// Lets every table criterion withdraw classes until none does; an earlier one is settled before a later one acts.
    fn withdraw(
        &self,
        cells: &Cells,
        criteria: &Criteria,
        released: &mut [bool],
        judging: &mut Judging,
    ) {
        'again: loop {
            for criterion in criteria.of_tables() {
                let candidates = Candidates {
                    table: self,
                    cells,
                    released,
                };
                let failing = criterion.failing(&candidates, judging);
                if !failing.is_empty() {
                    for class in failing {
                        released[class] = false;
                    }
                    continue 'again;
                }
            }
            return;
        }
    }
}
