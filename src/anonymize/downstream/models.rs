//! Classifiers, by a library: what is trained on released rows.

use rayon::prelude::*;
use smartcore::ensemble::random_forest_classifier::{
    RandomForestClassifier, RandomForestClassifierParameters,
};
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::linear::logistic_regression::{LogisticRegression, LogisticRegressionParameters};

/// Trees of a forest.
const TREES: u64 = 50;
/// Fewest rows in a leaf.
const LEAF: usize = 5;
/// Greatest depth of a tree.
const DEPTH: u16 = 16;
/// Weight of the squared coefficients (L2).
const RIDGE: f64 = 1.0;

/// A kind of classifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Logistic regression with an L2 penalty of weight 1, by L-BFGS.
    LogisticRegression,
    /// 50 trees (Gini, leaves of at least 5 rows, depth at most 16) on bootstrap samples, the root of the number of
    /// features tried at each split. A probability is the share of trees' votes, one vote added to every class.
    RandomForest,
}

/// Training rows: `width` numbers and one class each.
#[derive(Debug, Clone, Copy)]
pub struct Training<'a> {
    /// Rows one after another.
    pub numbers: &'a [f64],
    /// Numbers per row.
    pub width: usize,
    /// Class per row, below `classes`.
    pub classes_of: &'a [usize],
    /// Number of classes.
    pub classes: usize,
}

/// Trains and gives the probability of every class for each row of a test set, rows one after another.
///
/// Without features, or with one class only, these are the classes' shares of the training rows; so they are where the library
/// refuses to fit. The same for the same seed, whatever the number of threads.
#[must_use]
pub fn probabilities(
    kind: Kind,
    training: &Training<'_>,
    test: &[f64],
    rows: usize,
    seed: u64,
) -> Vec<f64> {
    let shares = shares(training);
    let present = shares.iter().filter(|&&share| share > 0.0).count();
    let found = if training.width == 0 || present < 2 {
        None
    } else {
        match kind {
            Kind::LogisticRegression => regression(training, test, rows),
            Kind::RandomForest => forest(training, test, rows, seed),
        }
    };
    found.unwrap_or_else(|| shares.repeat(rows))
}

/// Share of training rows by class.
#[must_use]
pub fn shares(training: &Training<'_>) -> Vec<f64> {
    let mut shares = vec![0.0; training.classes];
    let rows = training.classes_of.len().max(1) as f64;
    for &class in training.classes_of {
        shares[class] += 1.0 / rows;
    }
    shares
}

type Matrix = DenseMatrix<f64>;

fn matrix(numbers: &[f64], rows: usize, width: usize) -> Option<Matrix> {
    DenseMatrix::new(rows, width, numbers.to_vec(), false).ok()
}

/// The library's classes are numbers.
fn numbers_of(training: &Training<'_>) -> Vec<u32> {
    let number = |&class: &usize| u32::try_from(class).unwrap_or(u32::MAX);
    training.classes_of.iter().map(number).collect()
}

fn regression(training: &Training<'_>, test: &[f64], rows: usize) -> Option<Vec<f64>> {
    let width = training.width;
    let x = matrix(training.numbers, training.classes_of.len(), width)?;
    let parameters = LogisticRegressionParameters::default().with_alpha(RIDGE);
    let fitted = LogisticRegression::fit(&x, &numbers_of(training), parameters).ok()?;
    let (weights, intercepts) = (fitted.coefficients(), fitted.intercept());
    let known = fitted.classes();
    let lines = weights.shape().0;
    let line = |line: usize, row: &[f64]| {
        let terms = row
            .iter()
            .enumerate()
            .map(|(at, value)| value * weights.get((line, at)));
        terms.sum::<f64>() + intercepts.get((line, 0))
    };
    let mut out = vec![0.0; rows * training.classes];
    for (row, out) in test.chunks(width).zip(out.chunks_mut(training.classes)) {
        let mut own = if lines == 1 {
            let upper = 1.0 / (1.0 + (-line(0, row)).exp());
            vec![1.0 - upper, upper]
        } else {
            let lines: Vec<f64> = (0..lines).map(|at| line(at, row)).collect();
            let greatest = lines.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            lines.iter().map(|value| (value - greatest).exp()).collect()
        };
        let sum: f64 = own.iter().sum();
        for value in &mut own {
            *value /= sum;
        }
        for (&class, value) in known.iter().zip(own) {
            out[class as usize] = value;
        }
    }
    out.iter().all(|value| value.is_finite()).then_some(out)
}

/// Forests of one tree: the library tells a forest's vote alone, and probabilities need the trees'.
fn forest(training: &Training<'_>, test: &[f64], rows: usize, seed: u64) -> Option<Vec<f64>> {
    let x = matrix(training.numbers, training.classes_of.len(), training.width)?;
    let test = matrix(test, rows, training.width)?;
    let y = numbers_of(training);
    let trees = (0..TREES).into_par_iter().map(|tree| {
        let parameters = RandomForestClassifierParameters::default()
            .with_n_trees(1)
            .with_min_samples_leaf(LEAF)
            .with_max_depth(DEPTH)
            .with_seed(seed.wrapping_mul(TREES).wrapping_add(tree));
        let fitted = RandomForestClassifier::fit(&x, &y, parameters).ok()?;
        let votes: Vec<u32> = fitted.predict(&test).ok()?;
        Some(votes)
    });
    let trees: Option<Vec<Vec<u32>>> = trees.collect();
    let classes = training.classes;
    let total = TREES as f64 + classes as f64;
    let mut out = vec![1.0 / total; rows * classes];
    for votes in trees? {
        for (row, class) in votes.into_iter().enumerate() {
            out[row * classes + class as usize] += 1.0 / total;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::downstream::score::scores;

    /// Two features, of which the first decides the class but for every ninth row.
    fn rows(classes: usize) -> (Vec<f64>, Vec<usize>) {
        let rows = 0..240_usize;
        let class = |row: usize| {
            if row.is_multiple_of(9) {
                (row + 1) % classes
            } else {
                row % classes
            }
        };
        let numbers = rows
            .clone()
            .flat_map(|row| [(row % classes) as f64, (row * 7 % 13) as f64 / 13.0]);
        (numbers.collect(), rows.map(class).collect())
    }

    #[test]
    fn models_learn_what_there_is_to_learn_and_probabilities_add_up() {
        for classes in [2, 3] {
            let (numbers, classes_of) = rows(classes);
            let training = Training {
                numbers: &numbers,
                width: 2,
                classes_of: &classes_of,
                classes,
            };
            for kind in [Kind::LogisticRegression, Kind::RandomForest] {
                let found = probabilities(kind, &training, &numbers, 240, 1);
                for row in found.chunks(classes) {
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9);
                }
                let found = scores(&classes_of, &found, classes, None);
                assert!(found.accuracy > 0.85, "{kind:?} {classes} {found:?}");
            }
        }
    }

    #[test]
    fn without_features_or_a_choice_shares_are_predicted() {
        let (_, classes_of) = rows(2);
        let training = Training {
            numbers: &[],
            width: 0,
            classes_of: &classes_of,
            classes: 2,
        };
        let found = probabilities(Kind::RandomForest, &training, &[], 2, 1);
        assert_eq!(found.len(), 4);
        assert!((found[0] + found[1] - 1.0).abs() < 1e-9 && found[..2] == found[2..]);
        let training = Training {
            numbers: &[1.0, 2.0],
            width: 1,
            classes_of: &[1, 1],
            classes: 2,
        };
        let found = probabilities(Kind::LogisticRegression, &training, &[3.0], 1, 1);
        assert_eq!(found, [0.0, 1.0]);
    }

    #[test]
    fn a_forest_is_the_same_on_any_number_of_threads() {
        let (numbers, classes_of) = rows(2);
        let training = Training {
            numbers: &numbers,
            width: 2,
            classes_of: &classes_of,
            classes: 2,
        };
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| probabilities(Kind::RandomForest, &training, &numbers, 240, 9))
        };
        assert_eq!(run(1), run(3));
        assert_ne!(
            run(1),
            probabilities(Kind::RandomForest, &training, &numbers, 240, 10)
        );
    }
}
