//! Downstream utility of a policy: models trained on its rows beside models trained on raw ones.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::columns::{raw, recoded};
use super::encode::Feature;
use super::evaluate::{Arm, Figures, Settings, Target, evaluate};
use super::models::Kind;
use super::split::Split;
use crate::anonymize::release::{Recipe, render};
use crate::anonymize::report::Reason;
use crate::anonymize::subtree::Recoded;
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::anonymize::{Error, Observer};
use crate::declaration::{FeatureSet, ModelKind, Role, UtilityDemand};

/// Fewest rows of a class of the target; rarer values are joined to one class.
pub const CLASS_ROWS: usize = 50;
/// Most classes of the target; the values of all but the most frequent ones are joined.
pub const MOST_CLASSES: usize = 20;

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
    /// Classes of the target: its values, those of fewer than 50 rows (and all but the 20 most frequent) joined.
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

/// The target and its classes.
#[derive(Debug, Clone)]
pub struct Classes {
    /// For the models.
    pub target: Target,
    /// Rows with a known value.
    pub rows: u64,
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
    let classes = match classes_of(column, demand.positive.as_deref()) {
        Ok(classes) => classes,
        Err(reason) => return Ok(Evaluated::Impossible(reason)),
    };
    let released: Vec<bool> = rendered.suppressed.iter().map(|is| !is).collect();
    let known = classes.target.class_of.iter().zip(&released);
    let released_rows = known
        .filter(|(class, released)| class.is_some() && **released)
        .count();
    if released_rows < CLASS_ROWS {
        return Ok(impossible(
            "too_few_rows",
            "fewer than 50 released rows have a known target: nothing can be trained",
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
    let settings = Settings {
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
    let groups = table.subjects.as_ref().map(|column| &column.codes[..]);
    let found = evaluate(&classes.target, groups, &settings, arms, observer);
    let Some((found, constant)) = found else {
        if observer.must_stop().is_some() {
            return Ok(Evaluated::Stopped);
        }
        return Ok(impossible(
            "too_few_rows",
            "a split leaves no row to train on or none to test on",
        ));
    };
    let names = quasi.iter().chain(&others);
    Ok(Evaluated::Report(UtilityReport {
        target: demand.target.clone(),
        target_is_sensitive: attributes[at].declaration.role == Role::Sensitive,
        features: names
            .map(|&position| attributes[position].declaration.name.clone())
            .collect(),
        rows: classes.rows,
        released_rows: released_rows as u64,
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

fn reason(code: &str, detail: &str) -> Reason {
    Reason {
        code: code.to_owned(),
        detail: detail.to_owned(),
    }
}

/// The classes of a target: its values, rare ones joined; a joined class of too few rows is left out. The positive class is
/// the one that bears one of the texts, or without texts the rarer one of two.
///
/// # Errors
/// Fewer than two classes; the positive value does not occur often enough.
pub fn classes_of(column: &Column, positive: Option<&[String]>) -> Result<Classes, Reason> {
    let mut counts = vec![0_usize; column.dictionary.len() + 1];
    for &code in &column.codes {
        counts[code as usize] += 1;
    }
    let mut values: Vec<u32> = (1_u32..)
        .zip(&counts[1..])
        .filter(|&(_, &count)| count > 0)
        .map(|(code, _)| code)
        .collect();
    let value = |code: u32| column.dictionary.value(code);
    values.sort_unstable_by(|&left, &right| {
        let count = |code: u32| counts[code as usize];
        count(right)
            .cmp(&count(left))
            .then(value(left).cmp(&value(right)))
    });
    let is_frequent = |code: u32| counts[code as usize] >= CLASS_ROWS;
    let mut own: Vec<u32> = values
        .iter()
        .copied()
        .filter(|&code| is_frequent(code))
        .collect();
    own.truncate(MOST_CLASSES);
    let joined: usize = values
        .iter()
        .filter(|code| !own.contains(code))
        .map(|&code| counts[code as usize])
        .sum();
    let has_joined = joined >= CLASS_ROWS;
    let classes = own.len() + usize::from(has_joined);
    if classes < 2 {
        return Err(reason(
            "target_has_one_class",
            "the target has fewer than two classes of at least 50 rows",
        ));
    }
    let mut class_of = vec![None; counts.len()];
    for &code in &values {
        let place = own.iter().position(|&own| own == code);
        let place = place.or(has_joined.then_some(own.len()));
        class_of[code as usize] = place.and_then(|place| u32::try_from(place).ok());
    }
    class_of[MISSING as usize] = None;
    let positive = match positive {
        Some(texts) => {
            let named = texts.iter().find_map(|text| column.dictionary.code(text));
            let place = named.and_then(|code| own.iter().position(|&own| own == code));
            Some(place.ok_or_else(|| {
                reason(
                    "positive_too_rare",
                    "fewer than 50 rows bear the positive value of the target",
                )
            })?)
        }
        // The most frequent come first.
        None => (classes == 2).then_some(1),
    };
    let class_of: Vec<Option<u32>> = column
        .codes
        .iter()
        .map(|&code| class_of[code as usize])
        .collect();
    Ok(Classes {
        rows: class_of.iter().flatten().count() as u64,
        target: Target {
            class_of,
            classes,
            positive,
        },
    })
}

impl From<ModelKind> for Kind {
    fn from(kind: ModelKind) -> Self {
        match kind {
            ModelKind::LogisticRegression => Self::LogisticRegression,
            ModelKind::RandomForest => Self::RandomForest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[(&str, usize)]) -> Column {
        let mut column = Column::default();
        for (value, count) in values {
            let code = if value.is_empty() {
                MISSING
            } else {
                column.dictionary.insert(value)
            };
            column.codes.extend(vec![code; *count]);
        }
        column
    }

    #[test]
    fn rare_values_are_one_class_or_none() {
        let found = classes_of(
            &column(&[("a", 60), ("", 9), ("b", 200), ("c", 30), ("d", 20)]),
            None,
        )
        .unwrap();
        assert_eq!(
            (found.target.classes, found.rows, found.target.positive),
            (3, 310, None)
        );
        assert_eq!(found.target.class_of[0], Some(1));
        assert_eq!(found.target.class_of[60], None);
        assert_eq!(found.target.class_of[69], Some(0));
        assert_eq!(found.target.class_of[300], found.target.class_of[269]);
        let found = classes_of(&column(&[("a", 60), ("b", 200), ("c", 30)]), None).unwrap();
        assert_eq!(
            (found.target.classes, found.rows, found.target.positive),
            (2, 260, Some(1))
        );
    }

    #[test]
    fn a_target_without_a_choice_or_a_positive_value_is_told() {
        let one = classes_of(&column(&[("a", 60), ("b", 3)]), None).unwrap_err();
        assert_eq!(one.code, "target_has_one_class");
        let two = column(&[("a", 60), ("b", 60), ("c", 3)]);
        let rare = classes_of(&two, Some(&["c".to_owned()])).unwrap_err();
        assert_eq!(rare.code, "positive_too_rare");
        let named = classes_of(&two, Some(&["b".to_owned()])).unwrap();
        assert_eq!(named.target.positive, Some(1));
    }
}
