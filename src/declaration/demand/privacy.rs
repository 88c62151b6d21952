//! Reads privacy models, and finds the attributes that demands name.

use super::models::model;
use super::{MissingSensitive, PrivacyModel};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::{nearest, quoted};
use crate::declaration::{AttributeDeclaration, DatasetDeclaration, Role};
use crate::fault::{Fault, FaultCode, Faults};

/// Models of a job: at least one of them must bound the size of a class, or a release could hold a person alone.
pub(super) fn binding_models(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Vec<PrivacyModel>> {
    let models = models(cursor, dataset, faults)?;
    if models.is_empty() {
        let detail = "at least one privacy model is wanted here";
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    let has_subject = dataset.attributes.iter().any(|attribute| attribute.subject);
    let bounds = |model: &PrivacyModel| match model {
        PrivacyModel::KAnonymity { .. }
        | PrivacyModel::KMap { .. }
        | PrivacyModel::AlphaK { .. }
        | PrivacyModel::MaximumRisk { .. } => true,
        // One subject may bear several values, and an exempt class may be of any size.
        PrivacyModel::DistinctLDiversity { missing, .. }
        | PrivacyModel::EntropyLDiversity { missing, .. }
        | PrivacyModel::RecursiveClDiversity { missing, .. } => {
            !has_subject && *missing == MissingSensitive::Fails
        }
        // A mean, a share of a population, or a distribution that a single row may have.
        PrivacyModel::AverageRisk { .. }
        | PrivacyModel::TCloseness { .. }
        | PrivacyModel::DeltaDisclosure { .. }
        | PrivacyModel::BetaLikeness { .. }
        | PrivacyModel::DeltaPresence { .. } => false,
    };
    if !models.iter().any(bounds) {
        let detail = if has_subject {
            "no model bounds the number of subjects in a class: add `k_anonymity`"
        } else {
            "no model bounds the size of every class: add `k_anonymity`"
        };
        faults.push(cursor.fault(FaultCode::ClassSizeUnbounded, detail));
    }
    Some(models)
}

/// Models of a list, perhaps none.
pub(super) fn models(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Vec<PrivacyModel>> {
    let models: Vec<Option<PrivacyModel>> = cursor
        .list(faults)?
        .iter()
        .map(|element| model(element, dataset, faults))
        .collect();
    models.into_iter().collect()
}

/// The sensitive attribute that a model names.
pub(super) fn sensitive<'d>(
    object: &Object<'_>,
    dataset: &'d DatasetDeclaration,
    faults: &mut Faults,
) -> Option<&'d AttributeDeclaration> {
    let cursor = object.required("attribute", faults)?;
    let name = cursor.text(faults)?;
    let fault = match declared(dataset, name) {
        Some(attribute) if attribute.role == Role::Sensitive => return Some(attribute),
        Some(_) => cursor
            .fault(
                FaultCode::AttributeRole,
                "the model needs a column whose `role` is `sensitive`",
            )
            .column(name),
        None => unknown_attribute(&cursor, name, dataset, Role::Sensitive),
    };
    faults.push(fault);
    None
}

/// The attribute of a name.
fn declared<'d>(dataset: &'d DatasetDeclaration, name: &str) -> Option<&'d AttributeDeclaration> {
    let mut attributes = dataset.attributes.iter();
    attributes.find(|attribute| attribute.name == name)
}

/// A fault for a name that the dataset does not declare.
fn unknown_attribute(
    cursor: &Cursor<'_>,
    name: &str,
    dataset: &DatasetDeclaration,
    role: Role,
) -> Fault {
    let of_role = dataset.attributes.iter().filter(|one| one.role == role);
    let names: Vec<&str> = of_role.map(|one| one.name.as_str()).take(20).collect();
    let mut detail = String::from("the dataset has no such column");
    if let Some(near) = nearest(name, names.iter().copied()) {
        detail = format!("{detail}; probably `{near}` is meant");
    } else if !names.is_empty() {
        let names = quoted(&names);
        detail = format!("{detail}; columns of the role are {names}");
    }
    let name: String = name.chars().take(80).collect();
    cursor
        .fault(FaultCode::UnknownAttribute, detail)
        .column(name)
}

/// The quasi-identifier that a field's name means.
pub(super) fn quasi_identifier<'d>(
    name: &str,
    cursor: &Cursor<'_>,
    dataset: &'d DatasetDeclaration,
    faults: &mut Faults,
) -> Option<&'d AttributeDeclaration> {
    let fault = match declared(dataset, name) {
        Some(attribute) if attribute.role == Role::QuasiIdentifying => return Some(attribute),
        Some(_) => cursor
            .fault(
                FaultCode::AttributeRole,
                "only a column whose `role` is `quasi_identifying` may stand here",
            )
            .column(name),
        None => unknown_attribute(cursor, name, dataset, Role::QuasiIdentifying),
    };
    faults.push(fault);
    None
}
