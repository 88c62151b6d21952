//! What models learn from the classes of a method, fitted on training rows alone.

use std::borrow::Cow;

use super::super::Error;
use super::data::{Source, subset};
use super::methods::{Fitted, Method, fit, rendered};
use crate::anonymize::Unobserved;
use crate::anonymize::downstream::classes::classes_of;
use crate::anonymize::downstream::columns::{raw, recoded};
use crate::anonymize::downstream::encode::Feature;
use crate::anonymize::downstream::evaluate::{Arm, Figures, Settings, evaluate};
use crate::anonymize::downstream::split::{Split, split};
use crate::anonymize::table::{MISSING, Table};

/// Rows that a model is trained on at most; classes are made of all training rows.
const MOST_TRAINING: usize = 6_000;

/// What training rows and held-out rows show.
struct Form {
    train: Vec<Feature>,
    /// Absent: raw rows.
    test: Option<Vec<Feature>>,
    trainable: Vec<bool>,
}

/// Figures by method, then by kind of model; last those of the target's shares.
///
/// # Errors
/// A method cannot run, or there is nothing to predict.
pub(super) fn learn(
    source: &Source,
    k: u64,
    settings: &Settings,
) -> Result<(Vec<Vec<Figures>>, Figures), Error> {
    let column = source.table.columns[source.target].as_ref();
    let column = column.ok_or_else(|| Error::Data("the target is not there".to_owned()))?;
    let classes = classes_of(column, None, None).map_err(|reason| Error::Data(reason.detail))?;
    let takes = |row: usize| classes.target.class_of[row].is_some();
    let parts = (0..settings.splits).map(|number| {
        let key = (settings.seed, u64::from(number));
        split(source.table.rows, None, takes, settings.test_share, key)
    });
    let forms: Result<Vec<Vec<Form>>, Error> = parts
        .map(|parts| {
            let each = Method::ALL.into_iter();
            each.map(|method| form(method, source, &parts, k)).collect()
        })
        .collect();
    let forms = forms?;
    let plain = plain(source);
    let arms = |parts: &Split| {
        let own = forms[usize::try_from(parts.number).unwrap_or(0)].iter();
        own.map(|form| Arm {
            train: Cow::Borrowed(&form.train[..]),
            test: Cow::Borrowed(form.test.as_deref().unwrap_or(&plain)),
            trainable: Some(Cow::Borrowed(&form.trainable[..])),
        })
        .collect()
    };
    let found = evaluate(&classes.target, None, settings, arms, &Unobserved);
    found.ok_or_else(|| Error::Data("a split leaves nothing to train on".to_owned()))
}

fn plain(source: &Source) -> Vec<Feature> {
    let quasi = source.schema.quasi_identifiers();
    let features = quasi.iter();
    features
        .filter_map(|&position| raw(&source.table, &source.schema, position))
        .collect()
}

fn form(method: Method, source: &Source, parts: &Split, k: u64) -> Result<Form, Error> {
    let table = subset(&source.table, &parts.training);
    let fitted = fit(method, source, &table, k)?;
    let mut trainable = vec![false; source.table.rows];
    let step = parts.training.len().div_ceil(MOST_TRAINING).max(1);
    for (place, &row) in parts.training.iter().enumerate().step_by(step) {
        trainable[row as usize] = fitted.class_of[place].is_some();
    }
    let (train, test) = match (&fitted.recoding, method) {
        (Some(recoding), _) => {
            let all = rendered(recoding, source, &source.table, k)?;
            let quasi = source.schema.quasi_identifiers();
            let mapped: Vec<Feature> = quasi
                .iter()
                .filter_map(|&position| recoded(&all, &source.schema, position))
                .collect();
            (mapped.clone(), Some(mapped))
        }
        (None, Method::Raw) => (plain(source), None),
        (None, _) => (centers(source, &table, &fitted, parts), None),
    };
    Ok(Form {
        train,
        test,
        trainable,
    })
}

/// Every training row as the centre of its class: the mean of a number, the most frequent value of another column.
fn centers(source: &Source, table: &Table, fitted: &Fitted, parts: &Split) -> Vec<Feature> {
    let classes = fitted.class_of.iter().flatten().max();
    let classes = classes.map_or(0, |&most| most as usize + 1);
    let mut codes = vec![MISSING; source.table.rows];
    for (&row, class) in parts.training.iter().zip(&fitted.class_of) {
        codes[row as usize] = class.map_or(MISSING, |class| class + 1);
    }
    let quasi = source.schema.quasi_identifiers();
    let features = quasi.iter().filter_map(|&position| {
        let feature = raw(table, &source.schema, position)?;
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); classes];
        for (code, class) in feature.codes.iter().zip(&fitted.class_of) {
            if let Some(class) = class {
                members[*class as usize].push(*code);
            }
        }
        let labels = members.into_iter().map(|codes| center(&feature, codes));
        Some(Feature {
            labels: std::iter::once(None).chain(labels).collect(),
            codes: codes.clone(),
            is_number: feature.is_number,
        })
    });
    features.collect()
}

fn center(feature: &Feature, mut codes: Vec<u32>) -> Option<Box<str>> {
    let label = |code: u32| feature.labels[code as usize].as_deref();
    if feature.is_number {
        let numbers = codes
            .iter()
            .filter_map(|&code| label(code)?.parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect();
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        return (!numbers.is_empty()).then(|| mean.to_string().into());
    }
    codes.sort_unstable();
    let runs = codes.chunk_by(|left, right| left == right);
    // Of equally frequent ones the first.
    let most = runs.rev().max_by_key(|run| run.len())?;
    label(most[0]).map(Box::from)
}
