//! What a series of the mode `m_invariance` takes in the place of models.

use super::PrivacyModel;
use super::model::MissingSensitive;
use crate::declaration::{DatasetDeclaration, Object, Role};
use crate::fault::{Fault, FaultCode, Faults};

/// Column of the numbers of classes in the releases of an m-invariant series.
pub const CLASS_ID: &str = "class_id";

/// Fields of the other mode.
const OTHERS: &[&str] = &[
    "privacy",
    "suppression_limit",
    "recoding",
    "score",
    "specialize_factor",
    "max_pending_releases",
    "row_linkage",
];

/// The demand itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invariance {
    pub(super) m: u64,
    pub(super) attribute: String,
}

impl Invariance {
    /// The models that every class satisfies then, its counterfeits counted.
    pub(super) fn models(&self) -> Vec<PrivacyModel> {
        vec![
            PrivacyModel::KAnonymity { k: self.m },
            PrivacyModel::DistinctLDiversity {
                attribute: self.attribute.clone(),
                l: self.m,
                missing: MissingSensitive::Fails,
            },
        ]
    }
}

/// Refuses fields of this mode in the other one.
pub(super) fn refuse(object: &Object<'_>, faults: &mut Faults) {
    for name in ["m", "attribute"] {
        if let Some(cursor) = object.optional(name) {
            let detail = format!("`{name}` belongs to `mode`: `m_invariance`");
            faults.push(cursor.fault(FaultCode::NotSupported, detail));
        }
    }
}

/// Reads the demand, and refuses fields of the other mode.
pub(super) fn invariance(
    object: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Invariance> {
    for &name in OTHERS {
        if let Some(cursor) = object.optional(name) {
            let detail = format!("`{name}` is not read with `mode`: `m_invariance`; leave it out");
            faults.push(cursor.fault(FaultCode::NotSupported, detail));
        }
    }
    let mut attributes = dataset.attributes.iter();
    if attributes.any(|attribute| attribute.name == CLASS_ID) {
        let detail =
            format!("the dataset has a column `{CLASS_ID}`, the name of the classes' numbers");
        let fault = Fault::at("/mode", FaultCode::DuplicateColumn, detail);
        faults.push(fault.column(CLASS_ID));
    }
    let m = object
        .required("m", faults)
        .and_then(|cursor| cursor.whole(&(2..=1000), faults));
    let sensitive = dataset.attributes.iter();
    let sensitive = sensitive.filter(|attribute| attribute.role == Role::Sensitive);
    let sensitive: Vec<&str> = sensitive.map(|attribute| attribute.name.as_str()).collect();
    let attribute = match (object.optional("attribute"), sensitive.as_slice()) {
        (Some(cursor), _) => cursor.text(faults).and_then(|name| {
            let found = sensitive.contains(&name);
            if !found {
                let known = dataset.attributes.iter().any(|one| one.name == name);
                let (code, detail) = if known {
                    (FaultCode::AttributeRole, "the attribute is not sensitive")
                } else {
                    (
                        FaultCode::UnknownAttribute,
                        "the dataset has no such attribute",
                    )
                };
                faults.push(cursor.fault(code, detail).column(name));
            }
            found.then(|| name.to_owned())
        }),
        (None, [only]) => Some((*only).to_owned()),
        (None, found) => {
            let (code, detail) = if found.is_empty() {
                (
                    FaultCode::AttributeRole,
                    "the dataset has no sensitive attribute",
                )
            } else {
                (
                    FaultCode::MissingField,
                    "the dataset has several sensitive attributes: name one",
                )
            };
            faults.push(object.fault_in("attribute", code, detail));
            None
        }
    };
    Some(Invariance {
        m: m?,
        attribute: attribute?,
    })
}
