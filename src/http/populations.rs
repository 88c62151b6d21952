//! The populations that demands name: found, compared with the dataset, pinned as they are now.

use uuid::Uuid;

use super::App;
use super::datasets::compiled;
use super::problem::Problem;
use crate::anonymize::table::{Attribute, Schema};
use crate::declaration::{PopulationDemand, PrivacyModel, Role};
use crate::fault::{Fault, FaultCode};
use crate::job::{Dataset, PinnedPopulation};
use crate::store::Error;

/// Looks up the populations that models, or what is known for risks, name; each once, in that order.
///
/// # Errors
/// All faults: a population that is not there, is the dataset itself, has no rows, or whose quasi-identifiers do not cover those of the dataset.
pub(super) async fn pinned(
    app: &App,
    dataset: &Dataset,
    privacy: &[PrivacyModel],
    risk: Option<PopulationDemand>,
) -> Result<Vec<Named>, Problem> {
    let models = privacy.iter().enumerate().filter_map(|(number, model)| {
        Some((format!("/privacy/{number}/population"), model.population()?))
    });
    let risk = risk.and_then(|known| known.population);
    let risk = risk.map(|named| ("/risk/population".to_owned(), named));
    let (mut found, mut faults): (Vec<Named>, Vec<Fault>) = (Vec::new(), Vec::new());
    for (pointer, named) in models.chain(risk) {
        if found.iter().any(|known| known.dataset.dataset_id == named) {
            continue;
        }
        match find(app, dataset, named, &pointer).await? {
            Ok(population) => found.push(population),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() {
        Ok(found)
    } else {
        Err(Problem::faults(faults))
    }
}

/// A population that demands name.
pub(super) struct Named {
    pub(super) dataset: Dataset,
}

impl Named {
    /// As it is now.
    pub(super) fn pin(self) -> PinnedPopulation {
        PinnedPopulation {
            dataset_id: self.dataset.dataset_id,
            through_batch: self.dataset.batches,
            declaration: self.dataset.declaration,
        }
    }

    /// Its members: distinct subjects where they are declared, else rows.
    pub(super) fn members(&self) -> u64 {
        self.dataset.subjects
    }
}

async fn find(
    app: &App,
    dataset: &Dataset,
    named: Uuid,
    pointer: &str,
) -> Result<Result<Named, Vec<Fault>>, Problem> {
    let one = |code, detail: &str| Ok(Err(vec![Fault::at(pointer, code, detail)]));
    if named == dataset.dataset_id {
        let detail = "a dataset is no population of its own: name the one that its rows come from";
        return one(FaultCode::PopulationMismatch, detail);
    }
    let population = match app.services.store.dataset(named).await {
        Ok(population) => population,
        Err(Error::NotFound(_)) => {
            let detail = "there is no such dataset";
            return one(FaultCode::UnknownPopulation, detail);
        }
        Err(error) => return Err(error.into()),
    };
    let schema = compiled(&dataset.declaration)?;
    let own = compiled(&population.declaration)?;
    let mut faults = mismatches(&schema, &own, pointer);
    if population.rows == 0 {
        let detail = "the population has no rows; append a batch to it first";
        faults.push(Fault::at(pointer, FaultCode::DatasetEmpty, detail));
    }
    Ok(if faults.is_empty() {
        Ok(Named {
            dataset: population,
        })
    } else {
        Err(faults)
    })
}

/// Quasi-identifiers of a dataset that a population lacks, or reads or generalises in another way.
fn mismatches(schema: &Schema, population: &Schema, pointer: &str) -> Vec<Fault> {
    let attributes = schema.quasi_identifiers().into_iter();
    let faults = attributes.filter_map(|position| {
        let attribute = &schema.attributes()[position];
        let name = &attribute.declaration.name;
        let own = population.position(name);
        let own = own.map(|position| &population.attributes()[position]);
        let detail = mismatch(attribute, own)?;
        let fault = Fault::at(pointer, FaultCode::PopulationMismatch, detail);
        Some(fault.column(name))
    });
    faults.collect()
}

fn mismatch(attribute: &Attribute, own: Option<&Attribute>) -> Option<&'static str> {
    let Some(own) = own else {
        return Some("the population lacks this quasi-identifier");
    };
    let (wanted, found) = (&attribute.declaration, &own.declaration);
    let digest = |attribute: &Attribute| {
        let hierarchy = attribute.hierarchy.as_ref();
        hierarchy.map(|hierarchy| hierarchy.digest())
    };
    if found.role != Role::QuasiIdentifying {
        Some("the population does not declare this column `quasi_identifying`")
    } else if (wanted.value_type, &wanted.format, wanted.trim)
        != (found.value_type, &found.format, found.trim)
    {
        Some("the population declares another `type`, `format` or `trim` for this column")
    } else if found.hierarchy.is_some() && digest(attribute) != digest(own) {
        Some(
            "the population declares another hierarchy for this column; declare the same one, or none",
        )
    } else {
        None
    }
}
