//! Settings of searches of classes: `recoding`: `local` and `microaggregation`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Objective, Recoding, SearchMethod};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::declaration::{DatasetDeclaration, Role};
use crate::fault::{Fault, FaultCode, Faults};

/// Settings of searches of classes; each absent one is the method's default. Sent as fields of `search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClusterSettings {
    /// Most classes of a solution (`mo_obam`), 1 to 1,000,000; absent: one per k rows, at most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub clusters: Option<u64>,
    /// Weights of the entropies against the information loss (`mo_obam`); absent: 0.1, 0.5, 1, 2 and 5, one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambdas: Option<Lambdas>,
    /// How the entropies of several sensitive attributes are put together; absent: `sum_of_min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<EntropyForm>,
    /// How the deviations of several attributes are put together to the information loss; absent: `balanced`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossForm>,
    /// How `mo_obam` searches; absent: `swarm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimizer: Option<Optimizer>,
    /// Particles of the swarm, genomes of `nsga2`, or starts at a time (`mo_obam`), 2 to 1,000; absent: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 2, maximum = 1_000)]
    pub swarm: Option<u64>,
    /// Inertia of the particles at the first and at the last iteration (`swarm`), each 0 to 1; absent: 0.9 and 0.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inertia: Option<[f64; 2]>,
    /// Swarms that start anew for each weight, 1 to 1,000, sharing the budget; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000)]
    pub restarts: Option<u64>,
    /// Whether rows of one value stay together where numbers and ordered values are cut (`mondrian`); absent: they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

/// Weights of the entropies: one, or several that are tried one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Lambdas {
    /// A number or an object.
    One(Lambda),
    /// A list of 1 to 100 of these, one search each.
    Grid(Vec<Lambda>),
}

/// Weights of the entropies, each 0 to 1,000.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Lambda {
    /// The same for every sensitive attribute.
    All(f64),
    /// By sensitive attribute; those not named weigh nothing.
    Each(BTreeMap<String, f64>),
}

/// How the entropies of several sensitive attributes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntropyForm {
    /// Sum over the attributes of the least entropy of any class.
    #[default]
    SumOfMin,
    /// Least, over the classes, of the sum over the attributes.
    MinOfSum,
}

/// How the deviations of several attributes are put together to the information loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LossForm {
    /// Mean over the attributes of each one's share of its own deviation from the centre of all rows.
    #[default]
    Balanced,
    /// Sum of all deviations over the sum of those from the centre of all rows.
    Ratio,
}

/// How `mo_obam` searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Optimizer {
    /// A particle swarm per weight.
    #[default]
    Swarm,
    /// One genetic search of the trade between loss and entropy; weights are not used.
    Nsga2,
    /// Random centroids, improved, again and again, per weight.
    MultiStart,
}

/// What released rows bear for their class (`recoding`: `local` and `microaggregation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Representation {
    /// Intervals, value sets and common ancestors: every row's own value lies in them.
    Sets,
    /// Means, medians, modes and medoids: true of the class, not of its rows.
    Centroids,
}

impl Representation {
    /// Whether what a row bears is true of that row.
    #[must_use]
    pub fn is_truthful(self) -> bool {
        self == Self::Sets
    }
}

/// Fields of `search` that searches of classes read.
pub(super) const FIELDS: [&str; 9] = [
    "clusters",
    "lambdas",
    "entropy",
    "loss",
    "optimizer",
    "swarm",
    "inertia",
    "restarts",
    "strict",
];

const ENTROPIES: Words<EntropyForm> = Words {
    noun: "way to join entropies",
    legal: &[
        ("sum_of_min", EntropyForm::SumOfMin),
        ("min_of_sum", EntropyForm::MinOfSum),
    ],
    planned: &[],
};

const LOSSES: Words<LossForm> = Words {
    noun: "form of the information loss",
    legal: &[("balanced", LossForm::Balanced), ("ratio", LossForm::Ratio)],
    planned: &[],
};

const OPTIMIZERS: Words<Optimizer> = Words {
    noun: "optimizer",
    legal: &[
        ("swarm", Optimizer::Swarm),
        ("nsga2", Optimizer::Nsga2),
        ("multi_start", Optimizer::MultiStart),
    ],
    planned: &[],
};

const REPRESENTATIONS: Words<Representation> = Words {
    noun: "representation",
    legal: &[
        ("sets", Representation::Sets),
        ("centroids", Representation::Centroids),
    ],
    planned: &[],
};

/// Most weights of a grid.
const MOST_LAMBDAS: usize = 100;

/// Reads the settings.
pub(super) fn settings(
    search: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> ClusterSettings {
    let mut whole = |name: &str, range| search.optional(name)?.whole(&range, faults);
    let clusters = whole("clusters", 1..=1_000_000);
    let swarm = whole("swarm", 2..=1_000);
    let restarts = whole("restarts", 1..=1_000);
    let word = |name: &str| search.optional(name);
    ClusterSettings {
        clusters,
        lambdas: search
            .optional("lambdas")
            .and_then(|cursor| lambdas(&cursor, dataset, faults)),
        entropy: word("entropy").and_then(|cursor| cursor.word(&ENTROPIES, faults)),
        loss: word("loss").and_then(|cursor| cursor.word(&LOSSES, faults)),
        optimizer: word("optimizer").and_then(|cursor| cursor.word(&OPTIMIZERS, faults)),
        swarm,
        inertia: search
            .optional("inertia")
            .and_then(|cursor| inertia(&cursor, faults)),
        restarts,
        strict: word("strict").and_then(|cursor| cursor.boolean(faults)),
    }
}

fn lambdas(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Lambdas> {
    if !cursor.is_list() {
        return lambda(cursor, dataset, faults).map(Lambdas::One);
    }
    let elements = cursor.list(faults)?;
    if !(1..=MOST_LAMBDAS).contains(&elements.len()) {
        let detail = format!("1 to {MOST_LAMBDAS} weights are wanted here");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    let each: Vec<Option<Lambda>> = elements
        .iter()
        .map(|element| lambda(element, dataset, faults))
        .collect();
    each.into_iter().collect::<Option<_>>().map(Lambdas::Grid)
}

fn lambda(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Lambda> {
    let is_legal = |weight: f64| (0.0..=1_000.0).contains(&weight);
    if !cursor.is_object() {
        let wanted = "a number from 0 to 1000, an object with one by sensitive attribute, or a list of these";
        return cursor.number(wanted, is_legal, faults).map(Lambda::All);
    }
    let mut weights = BTreeMap::new();
    for (name, cursor) in cursor.object(faults)?.entries() {
        let mut attributes = dataset.attributes.iter();
        let is_known =
            attributes.any(|attribute| attribute.name == name && attribute.role == Role::Sensitive);
        if !is_known {
            let detail = "the dataset has no such sensitive column";
            let name: String = name.chars().take(80).collect();
            let fault = cursor.fault(FaultCode::UnknownAttribute, detail);
            faults.push(fault.column(name));
        }
        if let Some(weight) = cursor.number("a number from 0 to 1000", is_legal, faults) {
            weights.insert(name.to_owned(), weight);
        }
    }
    Some(Lambda::Each(weights))
}

fn inertia(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<[f64; 2]> {
    let elements = cursor.list(faults)?;
    let [from, to] = &elements[..] else {
        let detail =
            "two numbers are wanted here: the inertia at the first and at the last iteration";
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    };
    let mut one = |cursor: &Cursor<'_>| {
        let is_legal = |value: f64| (0.0..=1.0).contains(&value);
        cursor.number("a number from 0 to 1", is_legal, faults)
    };
    let (from, to) = (one(from), one(to));
    Some([from?, to?])
}

/// Refuses settings that the method would ignore.
pub(super) fn refuse_unused(
    search: &Object<'_>,
    method: SearchMethod,
    recoding: Recoding,
    faults: &mut Faults,
) {
    let method = match (method, recoding) {
        (SearchMethod::Auto, Recoding::Microaggregation) => SearchMethod::MoObam,
        (SearchMethod::Auto, Recoding::Local) => SearchMethod::Mondrian,
        (method, _) => method,
    };
    for name in FIELDS {
        let (is_read, readers) = match name {
            "entropy" | "loss" => (
                recoding.has_classes(),
                "searches of classes, with `recoding`: `local` or `microaggregation`",
            ),
            "strict" => (method == SearchMethod::Mondrian, "`mondrian`"),
            _ => (method == SearchMethod::MoObam, "`mo_obam`"),
        };
        if let Some(cursor) = search.optional(name).filter(|_| !is_read) {
            let detail = format!("`{name}` is a setting of {readers} only");
            faults.push(cursor.fault(FaultCode::UnknownField, detail));
        }
    }
    let optimizer = search.optional("optimizer");
    let is = |word: &str| {
        let is = |cursor: &Cursor<'_>| cursor.is(&serde_json::json!(word));
        optimizer.as_ref().is_some_and(is)
    };
    let (is_genetic, is_restarted) = (is("nsga2"), is("multi_start"));
    for name in ["inertia", "restarts", "lambdas"] {
        let is_ignored = is_genetic || (is_restarted && name != "lambdas");
        if let Some(cursor) = search.optional(name).filter(|_| is_ignored) {
            let detail =
                format!("the optimizer does not use `{name}`; leave it out or use `swarm`");
            faults.push(cursor.fault(FaultCode::UnknownField, detail));
        }
    }
}

/// What released rows bear; told only of classes.
pub(super) fn representation(
    demand: &Object<'_>,
    recoding: Recoding,
    faults: &mut Faults,
) -> Option<Representation> {
    let cursor = demand.optional("representation")?;
    if !recoding.has_classes() {
        let detail = "`representation` is a setting of `recoding`: `local` and `microaggregation`";
        faults.push(cursor.fault(FaultCode::UnknownField, detail));
    }
    cursor.word(&REPRESENTATIONS, faults)
}

/// Refuses what makes no sense of classes that no hierarchy or level describes.
pub(super) fn refuse_unfit(
    demand: &Object<'_>,
    dataset: &DatasetDeclaration,
    objectives: Option<&[Objective]>,
    faults: &mut Faults,
) {
    let has = |role| dataset.attributes.iter().any(|one| one.role == role);
    if !has(Role::QuasiIdentifying)
        && let Some(cursor) = demand.optional("recoding")
    {
        let detail = "classes are formed by quasi-identifiers, and the dataset declares none";
        faults.push(cursor.fault(FaultCode::NotSupported, detail));
    }
    let is_of_entropy = |(_, objective): &(usize, &Objective)| {
        **objective == Objective::SensitiveEntropy && !has(Role::Sensitive)
    };
    let objectives = objectives.unwrap_or_default().iter().enumerate();
    for (index, _) in objectives.filter(is_of_entropy) {
        let detail = "the dataset has no sensitive column to measure the entropy of";
        let place = format!("/objectives/{index}");
        faults.push(Fault::at(place, FaultCode::NotSupported, detail));
    }
    for name in ["weights", "target", "classification", "measures", "loss"] {
        let cursor = demand.optional(name).filter(|cursor| !is_nothing(cursor));
        let is_default = |cursor: &Cursor<'_>| {
            cursor.is(&serde_json::json!(super::LossDemand::default()))
                || cursor.is(&serde_json::json!(super::ClassificationDemand::default()))
        };
        if let Some(cursor) = cursor.filter(|cursor| !is_default(cursor)) {
            let detail =
                format!("`{name}` is not used with `recoding`: `local` and `microaggregation`");
            faults.push(cursor.fault(FaultCode::NotSupported, detail));
        }
    }
}

/// Whether an empty list or object stands here, as where a demand was read back from a job's record.
fn is_nothing(cursor: &Cursor<'_>) -> bool {
    cursor.is(&serde_json::json!({})) || cursor.is(&serde_json::json!([]))
}

impl Recoding {
    /// Whether rows are recoded class by class, not value by value.
    #[must_use]
    pub fn has_classes(self) -> bool {
        matches!(self, Self::Local | Self::Microaggregation)
    }
}
