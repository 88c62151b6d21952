//! Reads privacy models, and finds the attributes that demands name.

use std::ops::RangeInclusive;

use super::{MissingSensitive, PrivacyModel};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::{Words, nearest, quoted};
use crate::declaration::{AttributeDeclaration, DatasetDeclaration, Role};
use crate::fault::{Fault, FaultCode, Faults};

/// `k` and `l`: beyond the rows of any table that fits, and exact in every reader of JSON.
const CLASS_SIZES: RangeInclusive<u64> = 1..=1 << 32;

#[derive(Clone, Copy)]
enum Model {
    KAnonymity,
    DistinctLDiversity,
}

const MODELS: Words<Model> = Words {
    noun: "privacy model",
    legal: &[
        ("k_anonymity", Model::KAnonymity),
        ("distinct_l_diversity", Model::DistinctLDiversity),
    ],
    planned: &[
        "k_map",
        "entropy_l_diversity",
        "recursive_cl_diversity",
        "t_closeness",
        "delta_disclosure",
        "beta_likeness",
        "alpha_k",
        "delta_presence",
        "average_risk",
        "maximum_risk",
    ],
};

const MISSING: Words<MissingSensitive> = Words {
    noun: "treatment of missing values",
    legal: &[
        ("fails", MissingSensitive::Fails),
        ("exempt", MissingSensitive::Exempt),
    ],
    planned: &[],
};

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
        PrivacyModel::KAnonymity { .. } => true,
        // One subject may bear several values, and an exempt class may be of any size.
        PrivacyModel::DistinctLDiversity { missing, .. } => {
            !has_subject && *missing == MissingSensitive::Fails
        }
    };
    if !models.iter().any(bounds) {
        let detail = if has_subject {
            "no model bounds the number of subjects in a class: add `k_anonymity`"
        } else {
            "no model bounds the size of a class (`missing`: `exempt` lets any through): add `k_anonymity`"
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

fn model(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<PrivacyModel> {
    let object = cursor.object(faults)?;
    let model = object.required("model", faults)?.word(&MODELS, faults)?;
    match model {
        Model::KAnonymity => {
            object.only(&["model", "k"], faults);
            let k = object.required("k", faults)?.whole(&CLASS_SIZES, faults)?;
            Some(PrivacyModel::KAnonymity { k })
        }
        Model::DistinctLDiversity => {
            object.only(&["model", "attribute", "l", "missing"], faults);
            let attribute = sensitive(&object, dataset, faults);
            let l = object
                .required("l", faults)
                .and_then(|cursor| cursor.whole(&CLASS_SIZES, faults));
            let missing = object
                .optional("missing")
                .map_or(Some(MissingSensitive::default()), |cursor| {
                    cursor.word(&MISSING, faults)
                });
            Some(PrivacyModel::DistinctLDiversity {
                attribute: attribute?,
                l: l?,
                missing: missing?,
            })
        }
    }
}

/// The sensitive attribute that a model names.
fn sensitive(
    object: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<String> {
    let cursor = object.required("attribute", faults)?;
    let name = cursor.text(faults)?;
    let fault = match declared(dataset, name) {
        Some(attribute) if attribute.role == Role::Sensitive => return Some(name.to_owned()),
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
