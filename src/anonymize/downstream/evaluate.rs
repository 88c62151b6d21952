//! Trains on one form of the rows, tests on another, over seeded splits (algorithms.md B.7).

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::encode::{Encoder, Feature};
use super::models::{Kind, Training, probabilities, shares};
use super::score::{Scores, scores};
use super::split::{Split, split};
use crate::anonymize::{Observer, Progress};

/// What is predicted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Class of each row; `None`: the row takes no part.
    pub class_of: Vec<Option<u32>>,
    /// Number of classes, at least 2.
    pub classes: usize,
    /// The positive class, where there is one.
    pub positive: Option<usize>,
}

/// One form of the rows to train on, and one to test on: the same columns in the same order.
#[derive(Debug, Clone)]
pub struct Arm<'a> {
    /// What training rows show.
    pub train: Cow<'a, [Feature]>,
    /// What held-out rows show.
    pub test: Cow<'a, [Feature]>,
    /// Rows that may be trained on; all if absent.
    pub trainable: Option<Cow<'a, [bool]>>,
}

impl<'a> Arm<'a> {
    /// Trained and tested on one form.
    #[must_use]
    pub fn same(features: &'a [Feature], trainable: Option<&'a [bool]>) -> Self {
        Self {
            train: Cow::Borrowed(features),
            test: Cow::Borrowed(features),
            trainable: trainable.map(Cow::Borrowed),
        }
    }
}

/// How often and on what.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The models, each at least once.
    pub kinds: Vec<Kind>,
    /// Splits, at least 1.
    pub splits: u32,
    /// Share of people held out, above 0 and below 1.
    pub test_share: f64,
    /// Seed of splits and models.
    pub seed: u64,
    /// Fewest people (groups, else rows) that a test set holds.
    pub least_people: u64,
}

/// Mean and standard deviation over splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation; 0 for one split.
    pub sd: f64,
}

/// Figures of one model trained on one form of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Figures {
    /// F1 of the positive class; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub f1_positive: Option<Spread>,
    /// Mean F1 over classes.
    pub f1_macro: Spread,
    /// Mean F1 over classes, weighted by their rows.
    pub f1_weighted: Spread,
    /// Area under the ROC curve of the positive class; without one the mean of every class against the others. Absent if a
    /// test set has one class only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auc: Option<Spread>,
    /// Mean negative logarithm (natural) of the probability of the true class.
    pub log_loss: Spread,
    /// Share of rows predicted right.
    pub accuracy: Spread,
}

/// By arm, then by kind of model: figures; last, those of predicting the classes' shares for every row. `None` if told to
/// stop, or if a split holds no row to train on or fewer people to test on than wanted.
///
/// `arms` gives the arms of a split, which may be learnt from its training rows; their order is the same in every split.
/// Runs on the ambient rayon pool; the same answer on any number of threads.
pub fn evaluate<'a>(
    target: &Target,
    groups: Option<&[u32]>,
    settings: &Settings,
    arms: impl Fn(&Split) -> Vec<Arm<'a>> + Sync,
    observer: &dyn Observer,
) -> Option<(Vec<Vec<Figures>>, Figures)> {
    let done = AtomicUsize::new(0);
    let rows = target.class_of.len();
    let numbers: Vec<u32> = (0..settings.splits).collect();
    let found = numbers.par_iter().map(|&number| {
        if observer.must_stop().is_some() {
            return None;
        }
        let parts = split(
            rows,
            groups,
            |row| target.class_of[row].is_some(),
            settings.test_share,
            (settings.seed, u64::from(number)),
        );
        if people(groups, &parts.test) < settings.least_people {
            return None;
        }
        let own = arms(&parts);
        let seed = settings
            .seed
            .wrapping_mul(1_000_003)
            .wrapping_add(u64::from(number));
        let of_arms: Option<Vec<Vec<Scores>>> = own
            .iter()
            .map(|arm| {
                let kinds = settings.kinds.iter();
                kinds
                    .map(|&kind| one(target, arm, &parts, kind, seed, observer))
                    .collect()
            })
            .collect();
        let constant = constant(target, &parts)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        observer.report(Progress {
            evaluations: done as u64,
            fraction: done as f64 / f64::from(settings.splits),
            phase: format!("split {done} of {}", settings.splits),
        });
        Some((of_arms?, constant))
    });
    let found: Option<Vec<(Vec<Vec<Scores>>, Scores)>> = found.collect();
    let found = found?;
    let arms = found.first()?.0.len();
    let of_arm = |arm: usize| {
        let kinds = 0..settings.kinds.len();
        let figures = kinds.map(|kind| {
            let scores: Vec<Scores> = found.iter().map(|(scores, _)| scores[arm][kind]).collect();
            Figures::of(&scores)
        });
        figures.collect()
    };
    let constant: Vec<Scores> = found.iter().map(|&(_, constant)| constant).collect();
    Some(((0..arms).map(of_arm).collect(), Figures::of(&constant)))
}

/// Different people of rows.
fn people(groups: Option<&[u32]>, rows: &[u32]) -> u64 {
    let person = |&row: &u32| groups.map_or(row, |groups| groups[row as usize]);
    let persons: FxHashSet<u32> = rows.iter().map(person).collect();
    persons.len() as u64
}

fn classes_of(target: &Target, rows: &[u32]) -> Vec<usize> {
    let classes = rows.iter().filter_map(|&row| target.class_of[row as usize]);
    classes.map(|class| class as usize).collect()
}

fn one(
    target: &Target,
    arm: &Arm<'_>,
    parts: &Split,
    kind: Kind,
    seed: u64,
    observer: &dyn Observer,
) -> Option<Scores> {
    if observer.must_stop().is_some() || parts.test.is_empty() {
        return None;
    }
    let takes = |row: &u32| {
        arm.trainable
            .as_ref()
            .is_none_or(|takes| takes[*row as usize])
    };
    let training: Vec<u32> = parts.training.iter().copied().filter(takes).collect();
    if training.is_empty() {
        return None;
    }
    let encoder = Encoder::learn(&arm.train, &training);
    let numbers = encoder.encode(&arm.train, &training);
    let classes = classes_of(target, &training);
    let training = Training {
        numbers: &numbers,
        width: encoder.width(),
        classes_of: &classes,
        classes: target.classes,
    };
    let test = encoder.encode(&arm.test, &parts.test);
    let found = probabilities(kind, &training, &test, parts.test.len(), seed);
    let truth = classes_of(target, &parts.test);
    Some(scores(&truth, &found, target.classes, target.positive))
}

/// Predicting the training rows' shares for every row: the most frequent class.
fn constant(target: &Target, parts: &Split) -> Option<Scores> {
    let truth = classes_of(target, &parts.test);
    if truth.is_empty() || parts.training.is_empty() {
        return None;
    }
    let classes = classes_of(target, &parts.training);
    let training = Training {
        numbers: &[],
        width: 0,
        classes_of: &classes,
        classes: target.classes,
    };
    let shares = shares(&training).repeat(truth.len());
    Some(scores(&truth, &shares, target.classes, target.positive))
}

impl Figures {
    fn of(scores: &[Scores]) -> Self {
        let all = |value: &dyn Fn(&Scores) -> Option<f64>| {
            let values: Option<Vec<f64>> = scores.iter().map(value).collect();
            values.map(|values| Spread::of(&values))
        };
        let each = |value: &dyn Fn(&Scores) -> f64| {
            Spread::of(&scores.iter().map(value).collect::<Vec<f64>>())
        };
        Self {
            f1_positive: all(&|scores| scores.f1_positive),
            f1_macro: each(&|scores| scores.f1_macro),
            f1_weighted: each(&|scores| scores.f1_weighted),
            auc: all(&|scores| scores.auc),
            log_loss: each(&|scores| scores.log_loss),
            accuracy: each(&|scores| scores.accuracy),
        }
    }
}

impl Spread {
    /// Of values.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = values
            .iter()
            .map(|value| (value - mean) * (value - mean))
            .sum();
        Self {
            mean,
            sd: (squares / (count - 1.0).max(1.0)).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::Unobserved;

    fn feature(codes: Vec<u32>, labels: u32) -> Feature {
        let labels = (0..labels).map(|label| (label > 0).then(|| label.to_string().into()));
        Feature {
            labels: labels.collect(),
            codes,
            is_number: true,
        }
    }

    #[test]
    fn telling_features_beat_empty_ones_and_those_the_shares() {
        let class: Vec<u32> = (0..300).map(|row| u32::from(row % 10 < 3)).collect();
        let target = Target {
            class_of: class.iter().map(|&class| Some(class)).collect(),
            classes: 2,
            positive: Some(1),
        };
        let telling = [feature(class.iter().map(|class| class + 1).collect(), 3)];
        let empty = [feature(vec![1; 300], 2)];
        let settings = Settings {
            kinds: vec![Kind::LogisticRegression, Kind::RandomForest],
            splits: 3,
            test_share: 0.3,
            seed: 4,
            least_people: 5,
        };
        let arms = |_: &Split| vec![Arm::same(&telling, None), Arm::same(&empty, None)];
        let run = || evaluate(&target, None, &settings, arms, &Unobserved).unwrap();
        let (found, constant) = run();
        for (telling, empty) in found[0].iter().zip(&found[1]) {
            assert!((telling.f1_positive.unwrap().mean - 1.0).abs() < 1e-9);
            assert!((telling.auc.unwrap().mean - 1.0).abs() < 1e-9);
            assert!((empty.auc.unwrap().mean - 0.5).abs() < 1e-9);
            assert!(empty.f1_positive.unwrap().mean.abs() < 1e-9);
        }
        assert!((constant.auc.unwrap().mean - 0.5).abs() < 1e-9);
        assert_eq!(run(), (found, constant));
    }

    #[test]
    fn a_test_set_of_few_people_is_not_told() {
        let class: Vec<u32> = (0..160).map(|row| row % 2).collect();
        let target = Target {
            class_of: class.iter().map(|&class| Some(class)).collect(),
            classes: 2,
            positive: Some(1),
        };
        let features = [feature(class.iter().map(|class| class + 1).collect(), 3)];
        let settings = Settings {
            kinds: vec![Kind::LogisticRegression],
            splits: 2,
            test_share: 0.3,
            seed: 1,
            least_people: 5,
        };
        let arms = |_: &Split| vec![Arm::same(&features, None)];
        let told = |people: u32| {
            let groups: Vec<u32> = (0..160).map(|row| row % people).collect();
            evaluate(&target, Some(&groups), &settings, arms, &Unobserved).is_some()
        };
        // Three tenths of 16 people are five, of 14 four.
        assert_eq!([160, 16, 14, 2].map(told), [true, true, false, false]);
        assert!(evaluate(&target, None, &settings, arms, &Unobserved).is_some());
    }

    #[test]
    fn a_spread_is_mean_and_sample_deviation() {
        let found = Spread::of(&[1.0, 2.0, 3.0]);
        assert!((found.mean - 2.0).abs() < 1e-12 && (found.sd - 1.0).abs() < 1e-12);
        assert!(Spread::of(&[5.0]).sd.abs() < 1e-12);
    }
}
