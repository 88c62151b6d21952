//! From checked demands to a job: sizes, demands that cannot be met, what the caller should know.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::App;
use super::compare::Kind;
use super::datasets::compiled;
use super::populations::{Named, pinned};
use super::problem::Problem;
use crate::anonymize::report::Reason;
use crate::anonymize::{empty_front, impossible, search_space};
use crate::declaration::{
    AttributeDeclaration, CompareDemand, DatasetDeclaration, Demand, Perturbation,
    PopulationDemand, PrivacyModel, Recoding, Role, SearchMethod,
};
use crate::fault::{Fault, FaultCode};
use crate::ingest::Warning;
use crate::job::{Dataset, JobSpec};
use crate::store::NewJob;

/// A job on a dataset as it is now.
pub(super) async fn prepare(
    app: &App,
    dataset: &Dataset,
    demand: Demand,
) -> Result<NewJob, Problem> {
    let config = &app.services.config;
    let schema = compiled(&dataset.declaration)?;
    if dataset.rows == 0 {
        let detail = "the dataset has no rows; append a batch first";
        let fault = Fault::at("/dataset_id", FaultCode::DatasetEmpty, detail);
        return Err(Problem::fault(fault));
    }
    if let Some(fault) = too_small_a_population(dataset, demand.risk) {
        return Err(Problem::fault(fault));
    }
    if let Some(fault) = several_rows_in_sample(dataset, &demand) {
        return Err(Problem::fault(fault));
    }
    let populations = pinned(app, dataset, &demand.privacy, demand.risk).await?;
    let search_space = search_space(&schema.level_counts());
    let limit = config.search.exact_search_space;
    if let Some(detail) = too_large_for(demand.search.method, &search_space, limit) {
        let fault = Fault::at("/search/method", FaultCode::SearchSpaceTooLarge, detail);
        return Err(Problem::fault(fault));
    }
    // Only the rows tell how many cuts there are.
    let search_space = match demand.recoding {
        Recoding::FullDomain => search_space,
        Recoding::Subtree | Recoding::Local | Recoding::Microaggregation => String::new(),
    };
    let known = cannot_be_met(dataset, &demand);
    let infeasible = known.or_else(|| too_few_members(&demand, &populations));
    let infeasible = infeasible.map(|reason| {
        (
            reason,
            empty_front(&demand, &schema, dataset.rows, dataset.subjects),
        )
    });
    Ok(NewJob {
        dataset_id: dataset.dataset_id,
        warnings: warnings(
            dataset,
            &demand.privacy,
            &populations,
            demand.perturbation.as_ref(),
        ),
        spec: JobSpec::Search {
            demand,
            through_batch: dataset.batches,
            declaration: dataset.declaration.clone(),
            populations: populations.into_iter().map(Named::pin).collect(),
        },
        search_space,
        infeasible,
        max_attempts: config.worker.max_attempts,
        max_queued: config.worker.max_queued,
    })
}

/// Rows are drawn one by one: a person of several rows would lose as many times what is promised.
fn several_rows_in_sample(dataset: &Dataset, demand: &Demand) -> Option<Fault> {
    let is_sample = matches!(demand.perturbation, Some(Perturbation::SafePub { .. }));
    (is_sample && has_several_rows(dataset)).then(|| {
        let detail = "subjects have several rows; `safepub` protects one row of each";
        Fault::at("/perturbation", FaultCode::NotSupported, detail)
    })
}

/// Whether some declared subject has more than one row.
fn has_several_rows(dataset: &Dataset) -> bool {
    let mut attributes = dataset.declaration.attributes.iter();
    attributes.any(|attribute| attribute.subject) && dataset.subjects < dataset.rows
}

/// Whether cells of an attribute are answered at random: then what is known of the rows' cells is not of the answers.
fn is_perturbed(perturbation: Option<&Perturbation>, name: &str) -> bool {
    match perturbation {
        Some(Perturbation::Local { attributes }) => attributes.contains_key(name),
        Some(Perturbation::SafePub { .. }) | None => false,
    }
}

/// A population that has fewer members than the dataset has subjects.
pub(super) fn too_small_a_population(
    dataset: &Dataset,
    known: Option<PopulationDemand>,
) -> Option<Fault> {
    let members = known?.population_size?;
    let subjects = dataset.subjects;
    (members < subjects).then(|| {
        let detail = format!("the dataset has {subjects} subjects: no fewer are in its population");
        Fault::at("/risk/population_size", FaultCode::OutOfRange, detail)
    })
}

/// Why no policy can meet the demands, as far as counts alone tell.
fn cannot_be_met(dataset: &Dataset, demand: &Demand) -> Option<Reason> {
    let attributes = &dataset.declaration.attributes;
    let perturbation = demand.perturbation.as_ref();
    let has_subject = attributes.iter().any(|attribute| attribute.subject);
    let distinct_values: BTreeMap<String, u64> = attributes
        .iter()
        .zip(&dataset.distinct_values)
        .filter(|(attribute, _)| {
            attribute.role == Role::Sensitive && !is_perturbed(perturbation, &attribute.name)
        })
        .map(|(attribute, &distinct)| (attribute.name.clone(), distinct))
        .collect();
    let subjects = has_subject.then_some(dataset.subjects);
    impossible(&demand.privacy, dataset.rows, subjects, &distinct_values)
}

/// Why no policy meets a k-map, as far as the population's members tell.
fn too_few_members(demand: &Demand, populations: &[Named]) -> Option<Reason> {
    demand.privacy.iter().find_map(|model| {
        let PrivacyModel::KMap { k, population } = model else {
            return None;
        };
        let mut named = populations.iter();
        let members = named
            .find(|named| named.dataset.dataset_id == *population)?
            .members();
        (*k > members).then(|| Reason {
            code: "k_exceeds_population".to_owned(),
            detail: format!("k = {k} asks for more than the {members} members of the population"),
        })
    })
}

/// Why a method cannot search a space of this size.
pub(super) fn too_large_for(
    method: SearchMethod,
    search_space: &str,
    limit: u64,
) -> Option<String> {
    (method == SearchMethod::Exact && exceeds(search_space, limit)).then(|| {
        format!(
            "the search space of {search_space} policies exceeds the {limit} that `exact` may search; use `auto`, `local_search` or `nsga2`"
        )
    })
}

/// Whether a number in decimal, of any length, is above a limit.
fn exceeds(decimal: &str, limit: u64) -> bool {
    decimal.parse::<u64>().map_or(true, |size| size > limit)
}

pub(super) fn warning(code: &str, column: Option<&str>, detail: impl Into<String>) -> Warning {
    Warning {
        code: code.to_owned(),
        detail: detail.into(),
        column: column.map(str::to_owned),
    }
}

/// One warning per quasi-identifier without a hierarchy (user-cases UC-05).
pub(super) fn implicit_hierarchies(declaration: &DatasetDeclaration) -> Vec<Warning> {
    let bare = |attribute: &&AttributeDeclaration| {
        attribute.role == Role::QuasiIdentifying && attribute.hierarchy.is_none()
    };
    let detail = "no hierarchy is declared: the column has two levels, the value and `*`";
    declaration
        .attributes
        .iter()
        .filter(bare)
        .map(|attribute| warning("implicit_hierarchy", Some(&attribute.name), detail))
        .collect()
}

pub(super) fn warnings(
    dataset: &Dataset,
    privacy: &[PrivacyModel],
    populations: &[Named],
    perturbation: Option<&Perturbation>,
) -> Vec<Warning> {
    let declaration = &dataset.declaration;
    let mut warnings = implicit_hierarchies(declaration);
    if !declaration.attributes.iter().any(|found| found.subject) {
        let detail = "no subject column is declared: every row is taken for a person of its own";
        warnings.push(warning("rows_are_subjects", None, detail));
    }
    if perturbation.is_some() && has_several_rows(dataset) {
        let detail = "epsilon is per row: a subject of several rows loses as many times of it";
        warnings.push(warning("loss_is_per_row", None, detail));
    }
    for (attribute, &distinct) in declaration.attributes.iter().zip(&dataset.distinct_values) {
        let name = Some(attribute.name.as_str());
        let is_unique = distinct == dataset.rows && distinct > 1;
        let is_perturbed = is_perturbed(perturbation, &attribute.name);
        if attribute.role == Role::QuasiIdentifying && is_unique && !is_perturbed {
            warnings.push(warning(
                "unique_quasi_identifier",
                name,
                unique(attribute, distinct),
            ));
        }
        let has_model = privacy.iter().any(|model| model.attribute() == name);
        if attribute.role == Role::Sensitive && !has_model {
            let detail = "no model protects this sensitive column: a class may share one value";
            warnings.push(warning("sensitive_without_model", name, detail));
        }
        if attribute.role == Role::Sensitive && is_known(attribute, populations) {
            let detail = "the population holds this sensitive column too: whoever knows the population can tell rows \
                          apart by it; no model counts that";
            warnings.push(warning("sensitive_in_population", name, detail));
        }
    }
    warnings
}

/// Whether a population has a column of an attribute's name.
fn is_known(attribute: &AttributeDeclaration, populations: &[Named]) -> bool {
    populations.iter().any(|population| {
        let mut columns = population.dataset.declaration.attributes.iter();
        columns.any(|column| column.name == attribute.name)
    })
}

/// User-cases UC-55.
fn unique(attribute: &AttributeDeclaration, rows: u64) -> String {
    let way_out = if attribute.hierarchy.is_some() {
        "only its upper levels can help"
    } else {
        "only `*` can help"
    };
    format!(
        "the column has {rows} distinct values in {rows} rows: {way_out}; if it names persons or records, declare it `identifying`"
    )
}

/// The faults of job fields that can be told without a valid declaration.
pub(super) fn faults_of_shape(fields: &Map<String, Value>, kind: Kind) -> Vec<Fault> {
    let nameless = DatasetDeclaration {
        name: String::new(),
        attributes: Vec::new(),
        default_role: None,
        privacy_budget: None,
    };
    let shape = |fault: &Fault| {
        matches!(
            fault.code,
            FaultCode::UnknownField
                | FaultCode::MissingField
                | FaultCode::WrongType
                | FaultCode::OutOfRange
                | FaultCode::UnknownValue
                | FaultCode::NotSupported
        )
    };
    let fields = Value::Object(fields.clone());
    let faults = match kind {
        Kind::Search => Demand::parse(&fields, &nameless).err(),
        Kind::Compare => CompareDemand::parse(&fields, &nameless).err(),
    };
    let faults = faults.unwrap_or_default().into_iter();
    faults.filter(shape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_space_beyond_64_bits_exceeds_every_limit() {
        // UC-56: 40 quasi-identifiers of 5 levels, 5^40.
        assert!(exceeds("9094947017729282379150390625", u64::MAX));
        assert!(exceeds("11", 10));
        assert!(!exceeds("10", 10));
    }
}
