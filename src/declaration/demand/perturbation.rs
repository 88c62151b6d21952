//! Perturbation: chance that rows are released under, with its loss of privacy.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Number;
use utoipa::ToSchema;

use super::{PopulationDemand, PrivacyModel, Recoding, SearchMethod};
use crate::anonymize::perturbation::Plan;
use crate::anonymize::table::Schema;
use crate::declaration::amount::{Amount, AmountRange};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::declaration::{DatasetDeclaration, Fraction, PrivacyLoss, Role};
use crate::fault::{Fault, FaultCode, Faults};

/// What chance does to the rows before anything else is done with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Perturbation {
    /// Cells of some attributes are answered at random, row by row: local differential privacy for these attributes.
    Local {
        /// At least one attribute, none of them identifying.
        attributes: BTreeMap<String, LocalPerturbation>,
    },
    /// Rows are drawn at random and classes that are too small left out: (epsilon, delta)-differential privacy for the
    /// released rows, under a policy that is chosen without the data.
    #[serde(rename = "safepub")]
    SafePub {
        /// 0.001 to 10.
        #[schema(value_type = f64)]
        epsilon: Amount,
        /// 1e-15 to 0.5.
        #[schema(value_type = f64)]
        delta: Amount,
    },
}

/// How cells of one attribute are answered. Texts and dates: randomised response over the declared values. Numbers:
/// discrete Laplace noise on declared bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LocalPerturbation {
    /// Loss of privacy, 0.001 to 20.
    #[schema(value_type = f64)]
    pub epsilon: Amount,
    /// Least number, inclusive; absent: that of the attribute's intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub lower: Option<Number>,
    /// Greatest number, inclusive; absent: that of the attribute's intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub upper: Option<Number>,
    /// Distance of the numbers that are answered; of whole numbers 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>)]
    pub step: Option<Number>,
}

/// Words of `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Local,
    SafePub,
}

const KINDS: Words<Kind> = Words {
    noun: "kind of perturbation",
    legal: &[("local", Kind::Local), ("safepub", Kind::SafePub)],
    planned: &[],
};

impl Perturbation {
    /// Its loss of privacy: epsilon (of local perturbation the sum over attributes, per row) and delta.
    #[must_use]
    pub fn loss(&self) -> PrivacyLoss {
        match self {
            Self::Local { attributes } => {
                let epsilons = attributes.values().map(|found| found.epsilon);
                PrivacyLoss {
                    epsilon: epsilons.fold(Amount::ZERO, Amount::plus),
                    delta: Amount::ZERO,
                }
            }
            Self::SafePub { epsilon, delta } => PrivacyLoss {
                epsilon: *epsilon,
                delta: *delta,
            },
        }
    }

    /// Whether released cells are those of their rows.
    #[must_use]
    pub fn is_truthful(&self) -> bool {
        matches!(self, Self::SafePub { .. })
    }
}

/// Reads the field; `None` if it is absent or faulty.
pub(super) fn perturbation(
    object: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Perturbation> {
    let object = object.optional("perturbation")?.object(faults)?;
    let kind = object
        .required("kind", faults)
        .and_then(|cursor| cursor.word(&KINDS, faults))?;
    match kind {
        Kind::Local => {
            object.only(&["kind", "attributes"], faults);
            let attributes = object.required("attributes", faults)?.object(faults)?;
            let read: Vec<_> = attributes
                .entries()
                .map(|(name, cursor)| Some((name.to_owned(), local(&cursor, faults)?)))
                .collect();
            if read.is_empty() {
                let detail = "name at least one attribute, or leave `perturbation` out";
                faults.push(attributes.fault(FaultCode::OutOfRange, detail));
                return None;
            }
            if read.iter().all(Option::is_some) {
                let attributes = read.into_iter().flatten().collect();
                return Some(Perturbation::Local { attributes });
            }
            // What could be read is judged all the same: a caller wants every fault at once.
            let attributes = read.into_iter().flatten().collect();
            let readable = Perturbation::Local { attributes };
            let schema = Schema::compile(dataset).ok()?;
            faults.extend(Plan::compile(&readable, &schema).err()?);
            None
        }
        Kind::SafePub => {
            object.only(&["kind", "epsilon", "delta"], faults);
            let epsilon = object
                .required("epsilon", faults)
                .and_then(|cursor| AmountRange::SAMPLE_EPSILON.read(&cursor, faults));
            let delta = object
                .required("delta", faults)
                .and_then(|cursor| AmountRange::SAMPLE_DELTA.read(&cursor, faults));
            Some(Perturbation::SafePub {
                epsilon: epsilon?,
                delta: delta?,
            })
        }
    }
}

fn local(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<LocalPerturbation> {
    let object = cursor.object(faults)?;
    object.only(&["epsilon", "lower", "upper", "step"], faults);
    let epsilon = object
        .required("epsilon", faults)
        .and_then(|cursor| AmountRange::LOCAL_EPSILON.read(&cursor, faults));
    let mut number = |name: &str| match object.optional(name) {
        None => Some(None),
        Some(cursor) => cursor.exact_number(faults).map(Some),
    };
    let (lower, upper, step) = (number("lower"), number("upper"), number("step"));
    Some(LocalPerturbation {
        epsilon: epsilon?,
        lower: lower?,
        upper: upper?,
        step: step?,
    })
}

/// Whether a body asks for a sample: it then needs no models of its own.
pub(super) fn is_sample(object: &Object<'_>) -> bool {
    let named = object.optional("perturbation");
    let kind = named.and_then(|cursor| cursor.value.get("kind"));
    kind.and_then(serde_json::Value::as_str) == Some("safepub")
}

/// The models of a sample: classes of as many rows as it needs.
pub(super) fn usual_privacy(
    perturbation: &Perturbation,
    dataset: &DatasetDeclaration,
) -> Option<Vec<PrivacyModel>> {
    let schema = Schema::compile(dataset).ok()?;
    let k = Plan::compile(perturbation, &schema).ok()?.least_class()?;
    Some(vec![PrivacyModel::KAnonymity { k }])
}

/// What was asked for beside a perturbation, as far as it could be read.
pub(super) struct Beside<'a> {
    pub(super) privacy: Option<&'a [PrivacyModel]>,
    pub(super) recoding: Option<Recoding>,
    pub(super) method: Option<SearchMethod>,
    pub(super) suppression_limit: Option<Fraction>,
    pub(super) risk: Option<PopulationDemand>,
}

/// What the dataset, and what is asked for beside it, do not allow of a perturbation; all of it.
pub(super) fn refuse_unfit(
    perturbation: &Perturbation,
    beside: &Beside<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) {
    let models = beside.privacy.unwrap_or_default();
    let populations = models.iter().enumerate();
    let populations = populations.filter(|(_, model)| model.population().is_some());
    let known = beside.risk.and_then(|known| known.population);
    let places = populations
        .map(|(index, _)| format!("/privacy/{index}/population"))
        .chain(known.map(|_| "/risk/population".to_owned()));
    for place in places {
        let detail = "a population holds true values: perturbed rows are not compared with one";
        faults.push(Fault::at(place, FaultCode::NotSupported, detail));
    }
    let Ok(schema) = Schema::compile(dataset) else {
        return;
    };
    match Plan::compile(perturbation, &schema) {
        Err(found) => faults.extend(found),
        Ok(plan) => {
            if let Some(k) = plan.least_class() {
                refuse_unfit_for_sample(k, beside, dataset, faults);
            }
        }
    }
}

/// What would let the policy, or what is left out, depend on more of the data than the sizes of classes.
fn refuse_unfit_for_sample(
    k: u64,
    beside: &Beside<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) {
    let mut refuse = |pointer: &str, code: FaultCode, detail: &str| {
        faults.push(Fault::at(pointer, code, detail));
    };
    if beside
        .recoding
        .is_some_and(|recoding| recoding != Recoding::FullDomain)
    {
        let detail = "`safepub` takes `recoding`: `full_domain` only";
        refuse("/recoding", FaultCode::NotSupported, detail);
    }
    if beside
        .method
        .is_some_and(|method| method != SearchMethod::Fixed)
    {
        let detail = "a search chooses its policy by the data: `safepub` takes `method`: `fixed`, with levels chosen \
                      without them";
        refuse("/search/method", FaultCode::NotSupported, detail);
    }
    if beside
        .suppression_limit
        .is_some_and(|limit| limit != Fraction::ONE)
    {
        let detail = "a limit makes the answer depend on the data: `safepub` takes a `suppression_limit` of 1";
        refuse("/suppression_limit", FaultCode::OutOfRange, detail);
    }
    match beside.privacy {
        None => {}
        Some([PrivacyModel::KAnonymity { k: asked }]) if *asked >= k => {}
        Some([PrivacyModel::KAnonymity { .. }]) => {
            let detail = format!("this epsilon and delta need classes of at least {k}");
            refuse("/privacy/0/k", FaultCode::OutOfRange, &detail);
        }
        Some(_) => {
            let detail = "`safepub` leaves out classes by their size alone: `privacy` is one `k_anonymity`, or absent";
            refuse("/privacy", FaultCode::NotSupported, detail);
        }
    }
    let is_beside_key = |role| matches!(role, Role::Sensitive | Role::Insensitive);
    let attributes = dataset.attributes.iter();
    for attribute in attributes.filter(|attribute| is_beside_key(attribute.role)) {
        let detail = "with `safepub` classes are of all released columns alike: attributes are `quasi_identifying`, or \
                      `identifying` and not released";
        let fault = Fault::at("/perturbation", FaultCode::AttributeRole, detail);
        faults.push(fault.column(&attribute.name));
    }
}
