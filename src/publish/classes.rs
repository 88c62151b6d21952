//! The classes that a solution puts rows into.

use std::sync::Arc;

use crate::anonymize::report::Solution;
use crate::store::{Error, Store, StoredFront};

/// The class of every row of a solution of classes: of a front that was just found, or as stored with it; `None` of a
/// policy.
///
/// # Errors
/// [`Error::DatasetChanged`] if rows were erased since; the store's.
pub(crate) async fn class_of(
    store: &Store,
    front: &StoredFront,
    solution: &Solution,
) -> Result<Option<Arc<[u32]>>, Error> {
    if solution.recoding.classes().is_none() {
        return Ok(None);
    }
    let solutions = front.front.solutions.iter().zip(&front.front.partitions);
    let mut held = solutions.filter(|(one, _)| one.solution_id == solution.solution_id);
    if let Some((_, class_of)) = held.next() {
        return Ok(Some(Arc::clone(class_of)));
    }
    let stored = store.partition(front.dataset_id, front.job_id, solution.solution_id);
    match stored.await {
        Ok(class_of) => Ok(Some(class_of.into())),
        // Erasures forget the partitions of what was found before them.
        Err(Error::NotFound(_)) => Err(Error::DatasetChanged),
        Err(error) => Err(error),
    }
}
