//! What objectives mean, in words and ranges (user-cases UC-60).

use super::{
    ambiguity, average_class_size, average_risk, classification, discernibility,
    generalization_depth, information_gain, loss, non_uniform_entropy, precision, suppression,
    weights,
};
use crate::anonymize::report::ObjectiveReport;
use crate::anonymize::table::{Attribute, Schema};
use crate::declaration::{Demand, Objective};

/// What the objectives of a demand mean for a table of so many rows.
#[must_use]
pub fn describe(demand: &Demand, schema: &Schema, rows: u64) -> Vec<ObjectiveReport> {
    let positions = schema.quasi_identifiers();
    let attributes: Vec<&Attribute> = positions
        .iter()
        .map(|&position| &schema.attributes()[position])
        .collect();
    let describe = |&objective: &Objective| {
        let (range, definition) = meaning(objective, demand, &attributes, rows);
        let weighted = if is_weighted(objective) {
            weighting(demand)
        } else {
            String::new()
        };
        ObjectiveReport {
            name: name(objective).to_owned(),
            direction: match objective {
                Objective::InformationGain => "maximize".to_owned(),
                _ => "minimize".to_owned(),
            },
            range,
            definition: format!("{definition}{weighted}"),
        }
    };
    demand.objectives.iter().map(describe).collect()
}

/// Range and definition.
fn meaning(
    objective: Objective,
    demand: &Demand,
    attributes: &[&Attribute],
    rows: u64,
) -> ([f64; 2], String) {
    let share = |definition: &str| ([0.0, 1.0], definition.to_owned());
    let count = rows as f64;
    match objective {
        Objective::GeneralizationDepth => share(generalization_depth::DEFINITION),
        Objective::Suppression => share(suppression::DEFINITION),
        Objective::Precision => share(precision::DEFINITION),
        Objective::AverageRisk => share(average_risk::DEFINITION),
        Objective::Classification => {
            let target = demand.target.as_deref();
            share(&classification::definition(
                target,
                demand.classification.arx_tie,
            ))
        }
        Objective::InformationGain => {
            let most = (count.max(1.0)).log2();
            (
                [0.0, most],
                information_gain::definition(demand.target.as_deref()),
            )
        }
        Objective::Loss => {
            let names = attributes
                .iter()
                .map(|attribute| &*attribute.declaration.name);
            let (most, definition) = loss::describe(demand.loss, &weights(demand, names));
            ([0.0, most], definition)
        }
        Objective::Discernibility => (
            [count, discernibility::most(rows)],
            discernibility::DEFINITION.to_owned(),
        ),
        Objective::AverageClassSize => {
            let definition = average_class_size::DEFINITION.to_owned();
            ([1.0, count.max(1.0)], definition)
        }
        Objective::NonUniformEntropy => {
            let most = non_uniform_entropy::most(rows, attributes.len());
            ([0.0, most], non_uniform_entropy::DEFINITION.to_owned())
        }
        Objective::Ambiguity => {
            let domains = attributes
                .iter()
                .map(|attribute| attribute.hierarchy.as_ref()?.domain());
            let most = ambiguity::most(rows, domains);
            ([count, most], ambiguity::DEFINITION.to_owned())
        }
    }
}

fn is_weighted(objective: Objective) -> bool {
    matches!(
        objective,
        Objective::GeneralizationDepth | Objective::Loss | Objective::Precision
    )
}

fn weighting(demand: &Demand) -> String {
    if demand.weights.is_empty() {
        return String::new();
    }
    let weights = demand.weights.iter();
    let pairs: Vec<String> = weights
        .map(|(name, weight)| format!("{name} {weight}"))
        .collect();
    format!("; weights: {}, others 1", pairs.join(", "))
}

/// The name of an objective in demands and reports.
#[must_use]
pub fn name(objective: Objective) -> &'static str {
    match objective {
        Objective::GeneralizationDepth => "generalization_depth",
        Objective::Suppression => "suppression",
        Objective::Loss => "loss",
        Objective::Discernibility => "discernibility",
        Objective::AverageClassSize => "average_class_size",
        Objective::NonUniformEntropy => "non_uniform_entropy",
        Objective::Precision => "precision",
        Objective::Ambiguity => "ambiguity",
        Objective::Classification => "classification",
        Objective::InformationGain => "information_gain",
        Objective::AverageRisk => "average_risk",
    }
}
