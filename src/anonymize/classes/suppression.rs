//! Which rows a policy suppresses: the classes of rows, decided and handed back to the rows.

use super::{ClassTable, Scratch};
use crate::anonymize::Error;
use crate::anonymize::cells::Cells;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::rows::Rows;
use crate::anonymize::table::{Schema, Table};
use crate::declaration::{Levels, PrivacyModel};

/// Which rows a policy suppresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// One flag per row of the table.
    pub suppressed: Vec<bool>,
    /// Released classes.
    pub classes: u64,
}

/// Decides, per row, whether its class fails a model under a policy (whole classes are suppressed).
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub fn suppress(
    table: &Table,
    schema: &Schema,
    levels: &Levels,
    privacy: &[PrivacyModel],
) -> Result<Suppression, Error> {
    Ok(suppress_rows(&Rows::of(table, schema)?, levels, privacy))
}

fn suppress_rows(rows: &Rows<'_>, levels: &Levels, privacy: &[PrivacyModel]) -> Suppression {
    let (criteria, needs) = Criteria::new(privacy, rows);
    let (cells, cell_of_row) = Cells::build(rows, &needs);
    let policy = rows.policy(levels);
    let mut scratch = Scratch::default();
    let classes = ClassTable::group(&cells, policy.levels(), &mut scratch);
    let released = classes.release(&cells, &criteria).released;
    let is_out = |&cell: &u32| !released[scratch.class_of()[cell as usize] as usize];
    Suppression {
        suppressed: cell_of_row.iter().map(is_out).collect(),
        classes: released.iter().filter(|&&released| released).count() as u64,
    }
}
