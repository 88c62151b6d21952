//! The rows that a search works on: what its releases are made of and its figures are of, perturbed where that was asked.
//!
//! Whoever needs the rows of a search takes them from here, so that all of them see the same.

use uuid::Uuid;

use super::load::HeldRows;
use super::{Error, Store, aside};
use crate::anonymize::perturbation::Plan;
use crate::anonymize::table::{Schema, Table};
use crate::declaration::Demand;
use crate::job::PinnedPopulation;
use crate::vault::Purpose;

/// What the rows of a search are, and which of their columns are wanted.
#[derive(Debug, Clone, Copy)]
pub struct SearchedRows<'a> {
    /// The search.
    pub job_id: Uuid,
    /// Its dataset.
    pub dataset_id: Uuid,
    /// The attributes as pinned by it.
    pub schema: &'a Schema,
    /// Its demands.
    pub demand: &'a Demand,
    /// Batches up to this sequence.
    pub through_batch: u32,
    /// The populations pinned by it.
    pub populations: &'a [PinnedPopulation],
    /// Positions of identifying attributes that are wanted as they are, to be replaced by tokens; without any the
    /// identity partition stays closed.
    pub identifiers: &'a [usize],
}

impl Store {
    /// Loads the rows of a search, with the populations that it compares them with (their quasi-identifiers only).
    /// Perturbed rows are the same at every call.
    ///
    /// # Errors
    /// As [`Store::load_input`]; [`Error::Form`] if the perturbation does not fit the schema.
    pub async fn load_searched(&self, searched: &SearchedRows<'_>) -> Result<Table, Error> {
        let &SearchedRows {
            job_id,
            dataset_id,
            schema,
            demand,
            through_batch,
            populations,
            identifiers,
        } = searched;
        let loaded = self.load_columns(dataset_id, schema, through_batch, identifiers);
        let (mut table, held) = loaded.await?;
        if let Some(perturbation) = &demand.perturbation {
            let plan = Plan::compile(perturbation, schema).map_err(|faults| {
                let faults = faults.len();
                Error::Form(format!("a perturbation with {faults} faults"))
            })?;
            let key = self.data_key(dataset_id, Purpose::Token).await?;
            let perturbed = aside(move || {
                let key = key.noise_key(dataset_id, job_id);
                plan.apply(&mut table, &numbers(&held)?, |stream| key.stream(stream));
                Ok(table)
            });
            table = perturbed.await?;
        }
        self.add_populations(&mut table, schema, populations)
            .await?;
        Ok(table)
    }
}

/// A number per row: batch and place in it as uploaded, which no erasure changes.
fn numbers(held: &[HeldRows]) -> Result<Vec<u64>, Error> {
    let mut numbers = Vec::new();
    for batch in held {
        let places = u32::try_from(batch.rows)
            .map_err(|_| Error::Form("a batch of more rows than there are numbers".to_owned()))?;
        let is_erased = |place: &u64| batch.erased.binary_search(place).is_ok();
        let places = (0..u64::from(places)).filter(|place| !is_erased(place));
        numbers.extend(places.map(|place| (u64::from(batch.batch) << 32) | place));
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erasure_leaves_the_numbers_of_other_rows_as_they_are() {
        let held = |erased: &[u64]| {
            let batch = |batch, rows, erased: &[u64]| HeldRows {
                batch,
                rows,
                erased: erased.into(),
            };
            numbers(&[batch(1, 3, erased), batch(2, 2, &[])]).unwrap()
        };
        let second = 2_u64 << 32;
        let first = 1_u64 << 32;
        assert_eq!(held(&[]), [first, first + 1, first + 2, second, second + 1]);
        assert_eq!(held(&[1]), [first, first + 2, second, second + 1]);
    }
}
