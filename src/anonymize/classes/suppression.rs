//! Which rows a policy suppresses: the classes of rows, decided and handed back to the rows.

use super::{ClassTable, Scratch};
use crate::anonymize::Error;
use crate::anonymize::cells::Cells;
use crate::anonymize::clusters::by_class;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::rows::Rows;
use crate::anonymize::subtree::{Forest, Recoded};
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
    suppress_recoded(table, schema, Recoded::FullDomain(levels), privacy)
}

/// The same for a policy of any kind.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub fn suppress_recoded(
    table: &Table,
    schema: &Schema,
    recoded: Recoded<'_>,
    privacy: &[PrivacyModel],
) -> Result<Suppression, Error> {
    if let Recoded::Classes { class_of, .. } = recoded
        && class_of.len() != table.rows
    {
        return Err(Error::PartitionMissing);
    }
    Ok(suppress_rows(&Rows::of(table, schema)?, recoded, privacy))
}

fn suppress_rows(rows: &Rows<'_>, recoded: Recoded<'_>, privacy: &[PrivacyModel]) -> Suppression {
    if let Recoded::Classes { class_of, .. } = recoded {
        let codes = by_class::codes(class_of);
        let levels = Levels::new();
        let rows = by_class::rows(rows, &codes);
        return suppress_rows(&rows, Recoded::FullDomain(&levels), privacy);
    }
    let (criteria, needs) = Criteria::new(privacy, rows);
    let (cells, cell_of_row) = Cells::build(rows, &needs);
    let mut scratch = Scratch::default();
    let mut release = |cells: &Cells, levels: &[u32]| {
        let classes = ClassTable::group(cells, levels, &mut scratch);
        classes.release(cells, &criteria).released
    };
    let released = match recoded {
        Recoded::FullDomain(levels) => release(&cells, rows.policy(levels).levels()),
        Recoded::Subtree { specialized, .. } => {
            let forest = Forest::new(&cells);
            let view = forest.view(&forest.cuts(specialized));
            release(&view, &forest.ones())
        }
        Recoded::Classes { .. } => unreachable!("made a policy of levels above"),
    };
    let is_out = |&cell: &u32| !released[scratch.class_of()[cell as usize] as usize];
    Suppression {
        suppressed: cell_of_row.iter().map(is_out).collect(),
        classes: released.iter().filter(|&&released| released).count() as u64,
    }
}
