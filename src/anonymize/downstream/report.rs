//! Downstream utility of a policy: models trained on its rows beside models trained on raw ones.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::classes::{CLASS_PEOPLE, classes_of, people, reason};
use super::columns::{raw, recoded};
use super::encode::Feature;
use super::evaluate::{Arm, Figures, Settings, evaluate};
use super::models::Kind;
use super::split::Split;
use crate::anonymize::release::{Recipe, render};
use crate::anonymize::report::Reason;
use crate::anonymize::subtree::Recoded;
use crate::anonymize::table::{Schema, Table};
use crate::anonymize::{Error, Observer};
use crate::declaration::{FeatureSet, ModelKind, PrivacyModel, Role, UtilityDemand};

/// Fewest people of a test set, where the models of the solution name no greater k.
const TEST_PEOPLE: u64 = 5;

/// What models trained on a solution's rows can do. Figures over whole test sets: no cell value, no prediction of a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UtilityReport {
    /// The attribute predicted.
    pub target: String,
    /// Whether it is sensitive: then what models learn of people, attackers learn too, and utility is disclosure.
    pub target_is_sensitive: bool,
    /// Columns that the models use.
    pub features: Vec<String>,
    /// Rows with a known target.
    pub rows: u64,
    /// Of them, those that the solution releases.
    pub released_rows: u64,
    /// Classes of the target: its values, those of fewer than 50 people (and all but the 20 most frequent) joined.
    pub classes: u64,
    /// Whether a positive class is reckoned with: the one asked for, or the rarer of two.
    pub has_positive: bool,
    /// Splits.
    pub splits: u32,
    /// Share of people held out.
    pub test_share: f64,
    /// Seed of splits and models.
    pub seed: u64,
    /// Figures by what was trained on, then by model.
    pub results: Vec<UtilityResult>,
}

/// One model, one form of the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UtilityResult {
    /// What training rows showed; test rows are the same raw rows for all.
    pub data: TrainingData,
    /// Which model; null where none is trained.
    pub model: Option<ModelKind>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// What training rows showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrainingData {
    /// Raw rows: what there is to lose.
    Raw,
    /// Released rows; test rows are mapped through the same policy, or raw where there are classes instead of one.
    Anonymized,
    /// Raw rows without the quasi-identifiers: what they are worth.
    WithoutQuasiIdentifiers,
    /// Nothing but the target: its shares are predicted for every row.
    Majority,
}

/// How an evaluation ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Evaluated {
    /// With figures.
    Report(UtilityReport),
    /// There is nothing to train or to test.
    Impossible(Reason),
    /// Told to stop.
    Stopped,
}

/// Trains and tests. Rows of one subject fall on one side of every split.
///
/// The policy itself was chosen on all rows; where its search reads no target, that tells it nothing of the held-out ones' targets.
/// Cost: splits times models times up to three forms of the rows.
///
/// # Errors
/// The rows cannot be recoded.
pub fn downstream(
    table: &Table,
    schema: &Schema,
    recipe: &Recipe<'_>,
    demand: &UtilityDemand,
    observer: &dyn Observer,
) -> Result<Evaluated, Error> {
    let rendered = render(table, schema, recipe)?;
    let attributes = schema.attributes();
    let target = schema.position(&demand.target);
    let target = target.and_then(|at| Some((at, table.columns[at].as_ref()?)));
    let Some((at, column)) = target else {
        return Ok(impossible(
            "target_not_found",
            "the target is not there any more",
        ));
    };
    let groups = table.subjects.as_ref().map(|column| &column.codes[..]);
    let classes = match classes_of(column, groups, demand.positive.as_deref()) {
        Ok(classes) => classes,
        Err(reason) => return Ok(Evaluated::Impossible(reason)),
    };
    let released: Vec<bool> = rendered.suppressed.iter().map(|is| !is).collect();
    let is_known = |row: &usize| released[*row] && classes.target.class_of[*row].is_some();
    let known: Vec<usize> = (0..released.len()).filter(is_known).collect();
    if people(groups, known.iter().copied()) < CLASS_PEOPLE {
        return Ok(impossible(
            "too_few_rows",
            "the released rows with a known target are of fewer than 50 people: nothing can be trained",
        ));
    }
    let positions = (0..attributes.len()).filter(|&position| {
        let role = attributes[position].declaration.role;
        position != at && role != Role::Identifying && table.columns[position].is_some()
    });
    let (quasi, others): (Vec<usize>, Vec<usize>) = positions
        .partition(|&position| attributes[position].declaration.role == Role::QuasiIdentifying);
    let others = match demand.features {
        FeatureSet::All => others,
        FeatureSet::QuasiIdentifying => Vec::new(),
    };
    let raw_of = |position: &usize| raw(table, schema, *position);
    let without: Vec<Feature> = others.iter().filter_map(raw_of).collect();
    let with = |first: Vec<Feature>| [first, without.clone()].concat();
    let raw = with(quasi.iter().filter_map(raw_of).collect());
    let anonymized = with(
        quasi
            .iter()
            .filter_map(|position| recoded(&rendered, schema, *position))
            .collect(),
    );
    // A policy says what becomes of any row; classes were made of these rows, so the held-out ones are seen raw.
    let is_policy = !matches!(recipe.recoding, Recoded::Classes { .. });
    let test = if is_policy { &anonymized } else { &raw };
    let sizes = recipe.privacy.iter().filter_map(PrivacyModel::named_size);
    let least_people = sizes.max().unwrap_or(0).max(TEST_PEOPLE);
    let settings = Settings {
        least_people,
        kinds: demand.models.iter().map(|&model| model.into()).collect(),
        splits: demand.splits,
        test_share: demand.test_share,
        seed: demand.seed,
    };
    let arms = |_: &Split| {
        let mut arms = vec![
            Arm::same(&raw, None),
            Arm {
                train: Cow::Borrowed(&anonymized),
                test: Cow::Borrowed(test),
                trainable: Some(Cow::Borrowed(&released)),
            },
        ];
        if !without.is_empty() {
            arms.push(Arm::same(&without, None));
        }
        arms
    };
    let found = evaluate(&classes.target, groups, &settings, arms, observer);
    let Some((found, constant)) = found else {
        if observer.must_stop().is_some() {
            return Ok(Evaluated::Stopped);
        }
        let detail = format!(
            "a split leaves no row to train on, or fewer than {least_people} people to test on: figures would be theirs"
        );
        return Ok(impossible("too_few_rows", &detail));
    };
    let names = quasi.iter().chain(&others);
    Ok(Evaluated::Report(UtilityReport {
        target: demand.target.clone(),
        target_is_sensitive: attributes[at].declaration.role == Role::Sensitive,
        features: names
            .map(|&position| attributes[position].declaration.name.clone())
            .collect(),
        rows: classes.rows,
        released_rows: known.len() as u64,
        classes: classes.target.classes as u64,
        has_positive: classes.target.positive.is_some(),
        splits: demand.splits,
        test_share: demand.test_share,
        seed: demand.seed,
        results: results(&demand.models, found, constant),
    }))
}

fn results(
    models: &[ModelKind],
    found: Vec<Vec<Figures>>,
    constant: Figures,
) -> Vec<UtilityResult> {
    let data = [
        TrainingData::Raw,
        TrainingData::Anonymized,
        TrainingData::WithoutQuasiIdentifiers,
    ];
    let arms = data.into_iter().zip(found);
    let each = arms.flat_map(|(data, figures)| {
        models
            .iter()
            .zip(figures)
            .map(move |(&model, figures)| UtilityResult {
                data,
                model: Some(model),
                figures,
            })
    });
    let majority = UtilityResult {
        data: TrainingData::Majority,
        model: None,
        figures: constant,
    };
    each.chain([majority]).collect()
}

fn impossible(code: &str, detail: &str) -> Evaluated {
    Evaluated::Impossible(reason(code, detail))
}

impl From<ModelKind> for Kind {
    fn from(kind: ModelKind) -> Self {
        match kind {
            ModelKind::LogisticRegression => Self::LogisticRegression,
            ModelKind::RandomForest => Self::RandomForest,
        }
    }
}
