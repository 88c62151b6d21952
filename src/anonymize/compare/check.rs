//! The check of releases, made of a solution that nobody releases (algorithms.md A.6, G.3).

use crate::anonymize::release::{Recipe, render};
use crate::anonymize::report::Solution;
use crate::anonymize::verify::verify;
use crate::anonymize::{Error, Task};
use crate::declaration::{RowOrder, SuppressedRows};

/// Renders the rows as a solution releases them and measures them anew; false where a check fails or the counts are not
/// those that the search stated.
///
/// Classes that bear the same labels are one to the verifier: there may be fewer of them then, and none is smaller.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub(super) fn passes(
    task: &Task<'_>,
    solution: &Solution,
    class_of: &[u32],
) -> Result<bool, Error> {
    let recipe = Recipe {
        recoding: solution.recoding.recoded_by(class_of),
        privacy: &task.demand.privacy,
        row_order: RowOrder::Input,
        seed: task.demand.search.seed,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let rendered = render(task.table, task.schema, &recipe)?;
    let limit = task.demand.suppression_limit;
    let Ok(found) = verify(task.table, task.schema, &recipe, limit, &rendered) else {
        return Ok(false);
    };
    Ok(found.released_rows == solution.released_rows
        && found.suppressed_rows == solution.suppressed_rows
        && found.classes <= solution.classes
        && found.k >= solution.privacy.k)
}
