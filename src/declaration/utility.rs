//! What to train on a solution's rows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cursor::Cursor;
use super::object::Object;
use super::words::Words;
use super::{AttributeDeclaration, DatasetDeclaration, Role};
use crate::fault::{Fault, FaultCode, Faults};
use crate::ingest::{Selector, selector};

/// Most splits.
const MOST_SPLITS: u64 = 50;

const MODELS: Words<ModelKind> = Words {
    noun: "model",
    legal: &[
        ("logistic_regression", ModelKind::LogisticRegression),
        ("random_forest", ModelKind::RandomForest),
    ],
    planned: &[],
};

const FEATURES: Words<FeatureSet> = Words {
    noun: "set of features",
    legal: &[
        ("all", FeatureSet::All),
        ("quasi_identifying", FeatureSet::QuasiIdentifying),
    ],
    planned: &[],
};

/// A kind of model.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Logistic regression with an L2 penalty.
    LogisticRegression,
    /// A forest of decision trees.
    RandomForest,
}

/// What models may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeatureSet {
    /// Every released column but the target.
    #[default]
    All,
    /// The quasi-identifiers alone.
    QuasiIdentifying,
}

/// Demand of a job that trains models on a solution's rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UtilityDemand {
    /// Which solution of the front.
    pub solution_id: u32,
    /// The attribute predicted, sensitive or insensitive.
    pub target: String,
    /// Texts of the positive value; absent: the rarer one of two values.
    pub positive: Option<Vec<String>>,
    /// The models, each once.
    pub models: Vec<ModelKind>,
    /// Splits into training and test people, 1 to 50.
    pub splits: u32,
    /// Share of people held out, 0.05 to 0.95.
    pub test_share: f64,
    /// Seed of splits and models.
    pub seed: u64,
    /// What models may use.
    pub features: FeatureSet,
}

impl UtilityDemand {
    /// Parses a request body against the declaration that the solution was found with.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value, dataset: &DatasetDeclaration) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        let demand = demand(body, dataset, &mut faults);
        faults.finish(demand)
    }
}

fn demand(
    body: &Value,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<UtilityDemand> {
    let object = Cursor::root(body).object(faults)?;
    let known = [
        "solution_id",
        "target",
        "positive",
        "models",
        "splits",
        "test_share",
        "seed",
        "features",
    ];
    object.only(&known, faults);
    let solution = match object.optional("solution_id") {
        None => Some(0),
        Some(cursor) => cursor
            .whole(&(0..=u64::from(u32::MAX)), faults)
            .and_then(|id| u32::try_from(id).ok()),
    };
    let target = target(&object, dataset, faults);
    let positive = match (object.optional("positive"), target) {
        (None, _) => Some(None),
        (Some(cursor), Some(target)) => positive(&cursor, target, faults).map(Some),
        (Some(_), None) => None,
    };
    let models = match object.optional("models") {
        None => Some(vec![ModelKind::LogisticRegression, ModelKind::RandomForest]),
        Some(cursor) => models(&cursor, faults),
    };
    let splits = match object.optional("splits") {
        None => Some(10),
        Some(cursor) => cursor
            .whole(&(1..=MOST_SPLITS), faults)
            .and_then(|splits| u32::try_from(splits).ok()),
    };
    let legal = |share: f64| (0.05..=0.95).contains(&share);
    let test_share = match object.optional("test_share") {
        None => Some(0.3),
        Some(cursor) => cursor.number("a fraction from 0.05 to 0.95", legal, faults),
    };
    let seed = match object.optional("seed") {
        None => Some(0),
        Some(cursor) => cursor.whole(&(0..=u64::MAX), faults),
    };
    let features = match object.optional("features") {
        None => Some(FeatureSet::default()),
        Some(cursor) => cursor.word(&FEATURES, faults),
    };
    Some(UtilityDemand {
        solution_id: solution?,
        target: target?.name.clone(),
        positive: positive?,
        models: models?,
        splits: splits?,
        test_share: test_share?,
        seed: seed?,
        features: features?,
    })
}

fn target<'d>(
    object: &Object<'_>,
    dataset: &'d DatasetDeclaration,
    faults: &mut Faults,
) -> Option<&'d AttributeDeclaration> {
    let cursor = object.required("target", faults)?;
    let name = cursor.text(faults)?;
    let found = dataset.attributes.iter().find(|found| found.name == name);
    let (code, detail) = match found.map(|found| found.role) {
        Some(Role::Sensitive | Role::Insensitive) => return found,
        Some(Role::Identifying | Role::QuasiIdentifying) => (
            FaultCode::AttributeRole,
            "the target must be sensitive or insensitive: it is compared as it is",
        ),
        None => (
            FaultCode::UnknownAttribute,
            "the dataset has no such attribute",
        ),
    };
    faults.push(cursor.fault(code, detail));
    None
}

fn positive(
    cursor: &Cursor<'_>,
    target: &AttributeDeclaration,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    let number = cursor.number_text();
    let raw = match &number {
        Some(text) => text.as_str(),
        None => cursor.text(faults)?,
    };
    if let Selector::Cells(texts) = selector(target, raw) {
        return Some(texts);
    }
    let detail = "a value of the target is wanted here";
    faults.push(cursor.fault(FaultCode::InvalidValue, detail));
    None
}

fn models(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Vec<ModelKind>> {
    let elements = cursor.list(faults)?;
    if elements.is_empty() {
        faults.push(cursor.fault(FaultCode::OutOfRange, "at least one model is wanted here"));
        return None;
    }
    let mut found = Some(Vec::new());
    for element in elements {
        let kind = element.word(&MODELS, faults);
        if let (Some(kind), Some(known)) = (kind, &found)
            && known.contains(&kind)
        {
            faults.push(element.fault(FaultCode::DuplicateValue, "the model is named twice"));
        }
        found = match (found, kind) {
            (Some(mut known), Some(kind)) => {
                known.push(kind);
                Some(known)
            }
            _ => None,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn dataset() -> DatasetDeclaration {
        DatasetDeclaration::parse(&json!({"name": "d", "attributes": [
            {"name": "age", "role": "quasi_identifying", "type": "integer"},
            {"name": "default", "role": "sensitive", "type": "integer"}]}))
        .unwrap()
    }

    #[test]
    fn a_demand_has_defaults_and_reads_the_positive_value_as_a_cell() {
        let demand =
            UtilityDemand::parse(&json!({"target": "default", "positive": 1}), &dataset()).unwrap();
        assert_eq!(demand.positive, Some(vec!["1".to_owned()]));
        assert_eq!(
            (demand.splits, demand.seed, demand.models.len()),
            (10, 0, 2)
        );
        let again: UtilityDemand =
            serde_json::from_value(serde_json::to_value(&demand).unwrap()).unwrap();
        assert_eq!(again, demand);
    }

    #[test]
    fn every_fault_is_told() {
        let body = json!({"target": "age", "models": ["svm", "random_forest", "random_forest"], "splits": 0,
            "test_share": 1, "features": "some", "seeds": 1});
        let faults = UtilityDemand::parse(&body, &dataset()).unwrap_err();
        let mut pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        pointers.sort_unstable();
        assert_eq!(
            pointers,
            [
                "/features",
                "/models/0",
                "/seeds",
                "/splits",
                "/target",
                "/test_share"
            ]
        );
        let twice = json!({"target": "default", "models": ["random_forest", "random_forest"], "positive": "x"});
        let faults = UtilityDemand::parse(&twice, &dataset()).unwrap_err();
        assert_eq!(faults.len(), 2);
    }
}
