//! What objectives mean, in words and ranges (user-cases UC-60).

use super::{
    ambiguity, average_class_size, average_risk, classification, discernibility,
    generalization_depth, information_gain, loss, non_uniform_entropy, precision, suppression,
    weights,
};
use crate::anonymize::report::ObjectiveReport;
use crate::anonymize::table::{Attribute, Schema};
use crate::declaration::{Demand, EntropyForm, LossForm, Objective, Role};

const CERTAINTY: &str = "mean over rows and quasi-identifiers of the width of the row's class: range / range of all, leaves under the common ancestor / all leaves, values / all values (1 value: 0); 1 where some of the class are missing and others not, and for suppressed rows";
const BALANCED: &str = "mean over the quasi-identifiers of: deviation of rows from the centre of their class / deviation from the centre of all rows; suppressed rows deviate from the centre of all";
const RATIO: &str = "deviation of rows from the centres of their classes, summed over the quasi-identifiers / that from the centre of all rows; suppressed rows deviate from the centre of all";
const SUM_OF_MIN: &str = "sum over the sensitive attributes of the least entropy of any released class, divided by log2 of the number of values; missing cells are not counted";
const MIN_OF_SUM: &str = "least, over the released classes, of the sum over the sensitive attributes of their entropies, each divided by log2 of the number of values; missing cells are not counted";

/// What the objectives of a demand mean for a table of so many rows.
#[must_use]
pub fn describe(demand: &Demand, schema: &Schema, rows: u64) -> Vec<ObjectiveReport> {
    let positions = schema.quasi_identifiers();
    let attributes: Vec<&Attribute> = positions
        .iter()
        .map(|&position| &schema.attributes()[position])
        .collect();
    let sensitive = schema.attributes().iter();
    let sensitive = sensitive
        .filter(|attribute| attribute.declaration.role == Role::Sensitive)
        .count();
    let describe = |&objective: &Objective| {
        let (range, definition) = meaning(objective, demand, &attributes, sensitive, rows);
        let weighted = if is_weighted(objective) {
            weighting(demand)
        } else {
            String::new()
        };
        ObjectiveReport {
            name: name(objective).to_owned(),
            direction: match objective {
                Objective::InformationGain | Objective::SensitiveEntropy => "maximize".to_owned(),
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
    sensitive: usize,
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
        Objective::Loss if demand.recoding.has_classes() => share(CERTAINTY),
        Objective::InformationLoss => {
            share(match demand.search.clusters.loss.unwrap_or_default() {
                LossForm::Balanced => BALANCED,
                LossForm::Ratio => RATIO,
            })
        }
        Objective::SensitiveEntropy => {
            let form = demand.search.clusters.entropy.unwrap_or_default();
            (
                [0.0, sensitive as f64],
                match form {
                    EntropyForm::SumOfMin => SUM_OF_MIN,
                    EntropyForm::MinOfSum => MIN_OF_SUM,
                }
                .to_owned(),
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
        Objective::InformationLoss => "information_loss",
        Objective::SensitiveEntropy => "sensitive_entropy",
    }
}
