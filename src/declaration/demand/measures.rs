//! Reads what is minimised and reported: objectives, their settings, the population, the recommendation.

use std::collections::BTreeMap;

use super::parse::uuid;
use super::privacy::quasi_identifier;
use super::{
    Aggregate, ClassificationDemand, LossDemand, Objective, PopulationDemand, Recoding, Recommend,
    ReportedMeasure, Score,
};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::{Words, nearest};
use crate::declaration::{DatasetDeclaration, Role};
use crate::fault::{FaultCode, Faults};

/// The most objectives of one search.
const MOST_OBJECTIVES: usize = 4;

/// Members of a population: exact in every reader of JSON.
const MOST_MEMBERS: u64 = 1 << 53;

const OBJECTIVES: Words<Objective> = Words {
    noun: "objective",
    legal: &[
        ("generalization_depth", Objective::GeneralizationDepth),
        ("suppression", Objective::Suppression),
        ("loss", Objective::Loss),
        ("discernibility", Objective::Discernibility),
        ("average_class_size", Objective::AverageClassSize),
        ("non_uniform_entropy", Objective::NonUniformEntropy),
        ("precision", Objective::Precision),
        ("ambiguity", Objective::Ambiguity),
        ("classification", Objective::Classification),
        ("average_risk", Objective::AverageRisk),
        ("information_gain", Objective::InformationGain),
        ("information_loss", Objective::InformationLoss),
        ("sensitive_entropy", Objective::SensitiveEntropy),
    ],
    planned: &[],
};

const MEASURES: Words<ReportedMeasure> = Words {
    noun: "measure",
    legal: &[
        ("query_error", ReportedMeasure::QueryError),
        ("sum_of_squares", ReportedMeasure::SumOfSquares),
    ],
    planned: &[],
};

const AGGREGATES: Words<Aggregate> = Words {
    noun: "aggregate",
    legal: &[
        ("arithmetic", Aggregate::Arithmetic),
        ("geometric", Aggregate::Geometric),
        ("maximum", Aggregate::Maximum),
        ("sum", Aggregate::Sum),
    ],
    planned: &[],
};

const RECOMMENDATIONS: Words<Recommend> = Words {
    noun: "recommendation",
    legal: &[
        ("first_objective", Recommend::FirstObjective),
        ("knee", Recommend::Knee),
        ("knee_bend_angle", Recommend::KneeBendAngle),
        ("knee_marginal_rate", Recommend::KneeMarginalRate),
        ("knee_equal_weights", Recommend::KneeEqualWeights),
    ],
    planned: &[],
};

/// The objectives of a demand.
pub(super) fn objectives(
    demand: &Object<'_>,
    recoding: Recoding,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Vec<Objective>> {
    let Some(cursor) = demand.optional("objectives") else {
        let has_sensitive = || {
            let mut attributes = dataset.attributes.iter();
            attributes.any(|attribute| attribute.role == Role::Sensitive)
        };
        let usual = match recoding {
            Recoding::FullDomain => [Objective::GeneralizationDepth, Objective::Suppression],
            Recoding::Subtree => [Objective::Loss, Objective::Suppression],
            Recoding::Local | Recoding::Microaggregation if has_sensitive() => {
                [Objective::InformationLoss, Objective::SensitiveEntropy]
            }
            Recoding::Local | Recoding::Microaggregation => {
                [Objective::InformationLoss, Objective::Suppression]
            }
        };
        return Some(usual.to_vec());
    };
    let elements = cursor.list(faults)?;
    if !(1..=MOST_OBJECTIVES).contains(&elements.len()) {
        let detail = format!("1 to {MOST_OBJECTIVES} objectives are wanted here");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    }
    let mut objectives: Vec<Option<Objective>> = Vec::with_capacity(elements.len());
    for element in &elements {
        let objective = element.word(&OBJECTIVES, faults);
        if objective.is_some() && objectives.contains(&objective) {
            let detail = "the objective is already named";
            faults.push(element.fault(FaultCode::DuplicateValue, detail));
        }
        if let Some(detail) = objective.and_then(|objective| unfit(objective, recoding)) {
            faults.push(element.fault(FaultCode::NotSupported, detail));
        }
        objectives.push(objective);
    }
    objectives.into_iter().collect()
}

/// Why an objective makes no sense of a recoding, if it makes none.
fn unfit(objective: Objective, recoding: Recoding) -> Option<&'static str> {
    let is_by_level = matches!(
        objective,
        Objective::GeneralizationDepth | Objective::Precision
    );
    let is_of_classes = matches!(
        objective,
        Objective::InformationLoss | Objective::SensitiveEntropy
    );
    let is_of_any = matches!(
        objective,
        Objective::Suppression
            | Objective::Loss
            | Objective::Discernibility
            | Objective::AverageClassSize
            | Objective::AverageRisk
    );
    if recoding == Recoding::Subtree && is_by_level {
        return Some(
            "the objective measures the level of an attribute, and a cut has none; use `loss`",
        );
    }
    if !recoding.has_classes() {
        return is_of_classes
            .then_some("the objective goes with `recoding`: `local` and `microaggregation` only");
    }
    (!is_of_classes && !is_of_any).then_some(
        "the objective measures labels of a hierarchy; with `local` and `microaggregation` use `information_loss`, `sensitive_entropy`, `loss`, `suppression`, `discernibility`, `average_class_size` or `average_risk`",
    )
}

/// Measures that are reported where they are asked for.
pub(super) fn reported(demand: &Object<'_>, faults: &mut Faults) -> Option<Vec<ReportedMeasure>> {
    let Some(cursor) = demand.optional("measures") else {
        return Some(Vec::new());
    };
    let mut measures: Vec<Option<ReportedMeasure>> = Vec::new();
    for element in &cursor.list(faults)? {
        let measure = element.word(&MEASURES, faults);
        if measure.is_some() && measures.contains(&measure) {
            let detail = "the measure is already named";
            faults.push(element.fault(FaultCode::DuplicateValue, detail));
        }
        measures.push(measure);
    }
    measures.into_iter().collect()
}

/// The name of an objective in a demand.
pub(super) fn name(objective: Objective) -> &'static str {
    let mut words = OBJECTIVES.legal.iter();
    words
        .find(|(_, meaning)| *meaning == objective)
        .map_or("", |&(name, _)| name)
}

/// How `loss` is computed.
pub(super) fn loss(demand: &Object<'_>, faults: &mut Faults) -> Option<LossDemand> {
    let neutral = LossDemand::default();
    let Some(cursor) = demand.optional("loss") else {
        return Some(neutral);
    };
    let object = cursor.object(faults)?;
    object.only(&["aggregate", "factor"], faults);
    let aggregate = object
        .optional("aggregate")
        .map_or(Some(neutral.aggregate), |cursor| {
            cursor.word(&AGGREGATES, faults)
        });
    let factor = object
        .optional("factor")
        .map_or(Some(neutral.factor), |cursor| {
            let wanted = "a number from 0 to 1";
            cursor.number(wanted, |value| (0.0..=1.0).contains(&value), faults)
        });
    Some(LossDemand {
        aggregate: aggregate?,
        factor: factor?,
    })
}

/// Weight per quasi-identifier.
pub(super) fn weights(
    demand: &Object<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<BTreeMap<String, f64>> {
    let mut weights = BTreeMap::new();
    let Some(cursor) = demand.optional("weights") else {
        return Some(weights);
    };
    let object = cursor.object(faults)?;
    for (name, cursor) in object.entries() {
        quasi_identifier(name, &cursor, dataset, faults);
        // Bounded so that sums of weights stay finite.
        let is_legal = |value| value > 0.0 && value <= 1e9;
        let wanted = "a number above 0, at most 1000000000";
        if let Some(weight) = cursor.number(wanted, is_legal, faults) {
            weights.insert(name.to_owned(), weight);
        }
    }
    Some(weights)
}

/// Tells that `classification` is an objective and no attribute is named that it predicts.
pub(super) fn require_target(
    demand: &Object<'_>,
    objectives: Option<&[Objective]>,
    faults: &mut Faults,
) {
    let is_needed = objectives.is_some_and(|names| names.contains(&Objective::Classification));
    if is_needed && demand.optional("target").is_none() {
        let detail = "the objective `classification` needs the attribute that it predicts";
        faults.push(demand.fault_in("target", FaultCode::MissingField, detail));
    }
}

/// The attribute that information is told of where none is named: the first sensitive one.
pub(super) fn usual_target(
    demand: &Object<'_>,
    dataset: &DatasetDeclaration,
    objectives: &[Objective],
    score: Score,
    faults: &mut Faults,
) -> Option<String> {
    let mut attributes = dataset.attributes.iter();
    let sensitive = attributes.find(|attribute| attribute.role == Role::Sensitive);
    let is_needed = objectives.contains(&Objective::InformationGain) || score == Score::Information;
    if is_needed && sensitive.is_none() {
        let detail = "information is told of an attribute, and the dataset has no sensitive one to be it by default";
        faults.push(demand.fault_in("target", FaultCode::MissingField, detail));
    }
    sensitive.map(|attribute| attribute.name.clone())
}

/// The attribute that `classification` predicts.
pub(super) fn target(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<String> {
    let name = cursor.text(faults)?;
    let is_target = |role| matches!(role, Role::Sensitive | Role::Insensitive);
    let attributes = dataset.attributes.iter();
    let fault = match attributes.clone().find(|attribute| attribute.name == name) {
        Some(attribute) if is_target(attribute.role) => return Some(name.to_owned()),
        Some(_) => cursor
            .fault(
                FaultCode::AttributeRole,
                "only a column whose `role` is `sensitive` or `insensitive` may stand here",
            )
            .column(name),
        None => {
            let candidates = attributes.filter(|attribute| is_target(attribute.role));
            let near = nearest(name, candidates.map(|attribute| &*attribute.name));
            let near =
                near.map_or_else(String::new, |near| format!("; probably `{near}` is meant"));
            let detail = format!("the dataset has no such column{near}");
            let name: String = name.chars().take(80).collect();
            cursor
                .fault(FaultCode::UnknownAttribute, detail)
                .column(name)
        }
    };
    faults.push(fault);
    None
}

/// How `classification` is computed.
pub(super) fn classification(
    demand: &Object<'_>,
    faults: &mut Faults,
) -> Option<ClassificationDemand> {
    let Some(cursor) = demand.optional("classification") else {
        return Some(ClassificationDemand::default());
    };
    let object = cursor.object(faults)?;
    object.only(&["arx_tie"], faults);
    let arx_tie = object
        .optional("arx_tie")
        .map_or(Some(false), |cursor| cursor.boolean(faults));
    Some(ClassificationDemand { arx_tie: arx_tie? })
}

/// What is known of the population.
pub(super) fn population(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<PopulationDemand> {
    const FIELDS: [&str; 3] = ["population_size", "sampling_fraction", "population"];
    let object = cursor.object(faults)?;
    object.only(&FIELDS, faults);
    let given = FIELDS.iter().filter(|name| object.optional(name).is_some());
    let given = given.count();
    if given != 1 {
        let detail =
            "one of `population_size`, `sampling_fraction` and `population` is wanted here";
        let code = if given > 1 {
            FaultCode::UnknownField
        } else {
            FaultCode::MissingField
        };
        faults.push(cursor.fault(code, detail));
        return None;
    }
    let mut known = PopulationDemand::default();
    if let Some(cursor) = object.optional("population_size") {
        known.population_size = Some(cursor.whole(&(1..=MOST_MEMBERS), faults)?);
    }
    if let Some(cursor) = object.optional("sampling_fraction") {
        let wanted = "a number above 0, at most 1";
        // Bounded below so that a population stays countable.
        let is_legal = |value| (1e-9..=1.0).contains(&value);
        known.sampling_fraction = Some(cursor.number(wanted, is_legal, faults)?);
    }
    if let Some(cursor) = object.optional("population") {
        known.population = Some(uuid(&cursor, faults)?);
    }
    Some(known)
}

/// Which solution is recommended.
pub(super) fn recommend(demand: &Object<'_>, faults: &mut Faults) -> Option<Recommend> {
    demand
        .optional("recommend")
        .map_or(Some(Recommend::default()), |cursor| {
            cursor.word(&RECOMMENDATIONS, faults)
        })
}
