//! How good predicted probabilities are (algorithms.md B.7).

/// Least probability that is reckoned with: a sure and wrong model has a finite loss.
const LEAST: f64 = 1e-15;

/// Figures of one model on one test set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// F1 of the positive class, where there is one.
    pub f1_positive: Option<f64>,
    /// Mean F1 over classes.
    pub f1_macro: f64,
    /// Mean F1, weighted by the rows of each class.
    pub f1_weighted: f64,
    /// Area under the ROC curve of the positive class; without one the mean of each class against the others. `None` if
    /// the test set has one class only.
    pub auc: Option<f64>,
    /// Mean negative logarithm (natural) of the probability of the true class.
    pub log_loss: f64,
    /// Share of rows whose most probable class is theirs.
    pub accuracy: f64,
}

/// Scores probabilities: `classes` per row. Of equally probable classes the first is predicted. Cost: a sort per class.
///
/// # Panics
/// There are not as many probabilities as rows times classes.
#[must_use]
pub fn scores(
    truth: &[usize],
    probabilities: &[f64],
    classes: usize,
    positive: Option<usize>,
) -> Scores {
    assert_eq!(truth.len() * classes, probabilities.len());
    let rows = truth.len().max(1) as f64;
    let mut confusion = vec![0_u64; classes * classes];
    let mut loss = 0.0;
    for (&own, row) in truth.iter().zip(probabilities.chunks(classes)) {
        let predicted = (0..classes).fold(
            0,
            |best, class| {
                if row[class] > row[best] { class } else { best }
            },
        );
        confusion[own * classes + predicted] += 1;
        loss -= row[own].clamp(LEAST, 1.0).ln();
    }
    let hits = |class: usize| confusion[class * classes + class] as f64;
    let own = |class: usize| confusion[class * classes..][..classes].iter().sum::<u64>() as f64;
    let told = |class: usize| {
        (0..classes)
            .map(|other| confusion[other * classes + class])
            .sum::<u64>() as f64
    };
    let f1 = |class: usize| {
        let both = own(class) + told(class);
        if both > 0.0 {
            2.0 * hits(class) / both
        } else {
            0.0
        }
    };
    let each = 0..classes;
    let auc_of = |class: usize| {
        let scored = truth.iter().zip(probabilities.chunks(classes));
        let scored = scored.map(|(&own, row)| (row[class], own == class));
        auc(scored.collect())
    };
    let mean_area = || {
        let areas: Vec<f64> = each.clone().filter_map(auc_of).collect();
        let mean = areas.iter().sum::<f64>() / areas.len().max(1) as f64;
        (!areas.is_empty()).then_some(mean)
    };
    let auc = positive.map_or_else(mean_area, auc_of);
    Scores {
        f1_positive: positive.map(f1),
        f1_macro: each.clone().map(f1).sum::<f64>() / classes.max(1) as f64,
        f1_weighted: each
            .clone()
            .map(|class| f1(class) * own(class))
            .sum::<f64>()
            / rows,
        auc,
        log_loss: loss / rows,
        accuracy: each.map(hits).sum::<f64>() / rows,
    }
}

/// Chance that a positive row is scored above a negative one, ties counted half (Mann and Whitney); `None` without both.
fn auc(mut scored: Vec<(f64, bool)>) -> Option<f64> {
    scored.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    let (mut below, mut won) = (0.0, 0.0);
    for tie in scored.chunk_by(|left, right| left.0.total_cmp(&right.0).is_eq()) {
        let positives = tie.iter().filter(|(_, is_positive)| *is_positive).count() as f64;
        let negatives = tie.len() as f64 - positives;
        won += positives * (below + negatives / 2.0);
        below += negatives;
    }
    let positives = scored.len() as f64 - below;
    (positives > 0.0 && below > 0.0).then(|| won / (positives * below))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    #[test]
    fn two_classes_reckoned_by_hand() {
        // Predicted 0 0 1 1 of 0 1 1 0.
        let probabilities = [0.9, 0.1, 0.6, 0.4, 0.2, 0.8, 0.3, 0.7];
        let found = scores(&[0, 1, 1, 0], &probabilities, 2, Some(1));
        assert!(near(found.f1_positive.unwrap(), 0.5) && near(found.f1_macro, 0.5));
        assert!(near(found.accuracy, 0.5));
        // Positives .4 and .8 against .1 and .7: three of four pairs.
        assert!(near(found.auc.unwrap(), 0.75));
        let loss = -(0.9_f64.ln() + 0.4_f64.ln() + 0.8_f64.ln() + 0.3_f64.ln()) / 4.0;
        assert!(near(found.log_loss, loss));
    }

    #[test]
    fn a_constant_prediction_has_half_the_area_and_no_positive() {
        let found = scores(&[0, 0, 0, 1], &[0.75, 0.25].repeat(4), 2, Some(1));
        assert_eq!(
            (found.f1_positive, found.auc, found.accuracy),
            (Some(0.0), Some(0.5), 0.75)
        );
        // 6/7 of class 0, three quarters of the rows.
        assert!(near(found.f1_weighted, 6.0 / 7.0 * 0.75) && near(found.f1_macro, 3.0 / 7.0));
        let one = scores(&[0, 0], &[1.0, 0.0, 1.0, 0.0], 2, None);
        assert_eq!((one.auc, one.f1_positive, one.log_loss), (None, None, 0.0));
    }
}
