//! Re-identification risk of released classes (algorithms.md E.2, user-cases D13).
//!
//! The prosecutor's risk is counted. What a journalist or a marketer achieves depends on the population: with nothing
//! known of it the prosecutor's figures bound theirs; with its size they are estimated, and so are its unique members;
//! with its rows they are counted.

use uuid::Uuid;

use super::population::{
    ClassSizes, LinkedClass, PopulationSize, estimate_uniqueness, linked_risk,
};
use super::report::{AttackerFigures, Basis, PopulationRisk, Risk};

/// Reported thresholds: text and the fraction that it means.
const THRESHOLDS: [(&str, u64, u64); 5] = [
    ("0.05", 1, 20),
    ("0.1", 1, 10),
    ("0.2", 1, 5),
    ("0.33", 33, 100),
    ("0.5", 1, 2),
];

/// Risk over released classes, each given as its rows and its size (subjects where declared, else rows).
///
/// The risk of a record is one over its class's size; it is above a threshold strictly. All zero where nothing is
/// released.
#[must_use]
pub fn risk(classes: impl Iterator<Item = (u64, u64)>) -> Risk {
    let (mut count, mut rows_total, mut size_total) = (0_u64, 0_u64, 0_u64);
    let (mut least, mut uniques, mut above) = (u64::MAX, 0, [0_u64; THRESHOLDS.len()]);
    for (rows, size) in classes {
        count += 1;
        rows_total += rows;
        size_total += size;
        least = least.min(size);
        uniques += u64::from(size == 1);
        for (above, (_, part, whole)) in above.iter_mut().zip(THRESHOLDS) {
            if size * part < whole {
                *above += rows;
            }
        }
    }
    let share = |part: u64, whole: u64| {
        if whole == 0 {
            0.0
        } else {
            part as f64 / whole as f64
        }
    };
    let named = || {
        THRESHOLDS
            .iter()
            .zip(above)
            .map(|((name, ..), above)| ((*name).to_owned(), above))
    };
    Risk {
        maximum: if count == 0 { 0.0 } else { share(1, least) },
        average: share(count, size_total),
        rows_above: named().collect(),
        share_above: named()
            .map(|(name, above)| (name, share(above, rows_total)))
            .collect(),
        sample_uniques: uniques,
        prosecutor: None,
        journalist: None,
        marketer: None,
        population_uniqueness: None,
        population: None,
    }
}

/// Adds the three attackers, and estimates where the size of the population is known, to the risk of classes of the
/// given sizes.
///
/// A population that is smaller than the sample gives no estimate.
#[must_use]
pub fn with_attackers(
    risk: Risk,
    sizes: impl Iterator<Item = u64>,
    population: Option<u64>,
) -> Risk {
    let sample = ClassSizes::of(sizes);
    let records = sample.rows();
    let members = population.filter(|&members| members >= records && records > 0);
    // If every class is sampled alike, F = f N / n, so each 1 / F is n / N of 1 / f.
    let (basis, scale) = members.map_or((Basis::UpperBound, 1.0), |members| {
        (Basis::Estimate, records as f64 / members as f64)
    });
    let figures = |basis, scale: f64| AttackerFigures {
        basis,
        maximum: Some(risk.maximum * scale),
        average: risk.average * scale,
    };
    let uniqueness = members
        .and_then(|members| estimate_uniqueness(&sample, PopulationSize::Members(members)).ok());
    Risk {
        prosecutor: Some(figures(Basis::Counted, 1.0)),
        journalist: Some(figures(basis, scale)),
        marketer: Some(AttackerFigures {
            maximum: None,
            ..figures(basis, scale)
        }),
        population_uniqueness: uniqueness,
        ..risk
    }
}

/// Adds what attackers who know the population achieve, counted, to the risk of released classes.
///
/// `classes` are those of the population, each with the records released of it (0 for a class of which none is) and its
/// members. The sample is taken to be part of the population; a class with more records than members is counted as
/// having as many members, and told.
#[must_use]
pub(crate) fn with_population(
    risk: Risk,
    dataset_id: Uuid,
    members: u64,
    classes: impl Iterator<Item = LinkedClass>,
) -> Risk {
    let mut beyond = 0;
    let classes: Vec<LinkedClass> = classes
        .map(|class| {
            beyond += u64::from(class.population < class.sample);
            LinkedClass {
                population: class.population.max(class.sample),
                ..class
            }
        })
        .collect();
    let thresholds = THRESHOLDS.map(|(_, part, whole)| part as f64 / whole as f64);
    let Ok(linked) = linked_risk(&classes, &thresholds) else {
        return risk;
    };
    let at_risk = || {
        let named = THRESHOLDS.iter().zip(&linked.journalist.at_risk);
        named.map(|((name, ..), at)| ((*name).to_owned(), at))
    };
    Risk {
        journalist: Some(AttackerFigures {
            basis: Basis::Counted,
            maximum: Some(linked.journalist.maximum),
            average: linked.journalist.mean,
        }),
        marketer: Some(AttackerFigures {
            basis: Basis::Counted,
            maximum: None,
            average: linked.marketer,
        }),
        population: Some(PopulationRisk {
            dataset_id,
            members,
            k_map: linked.k_map,
            records_above: at_risk().map(|(name, at)| (name, at.rows)).collect(),
            share_above: at_risk().map(|(name, at)| (name, at.share)).collect(),
            population_uniques: linked.population_uniques,
            unique_in_both: linked.unique_in_both,
            classes_beyond_population: beyond,
        }),
        ..risk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_sizes(sizes: &[u64]) -> Risk {
        risk(sizes.iter().map(|&size| (size, size)))
    }

    // UC-25: classes of 1 and 9 rows.
    #[test]
    fn uc_25_average_risk_is_the_mean_over_records() {
        let risk = of_sizes(&[1, 9]);
        assert!((risk.average - 0.2).abs() < 1e-12);
        assert!((risk.maximum - 1.0).abs() < 1e-12);
        assert_eq!(risk.sample_uniques, 1);
    }

    // UC-23, appendix 3: classes 2, 2, 2.
    #[test]
    fn uc_23_three_pairs() {
        let risk = of_sizes(&[2, 2, 2]);
        assert!((risk.maximum - 0.5).abs() < 1e-12 && (risk.average - 0.5).abs() < 1e-12);
        assert_eq!((risk.sample_uniques, risk.rows_above["0.5"]), (0, 0));
        assert_eq!(risk.rows_above["0.33"], 6);
    }

    // algorithms.md F 25: classes 2, 3, 5.
    #[test]
    fn worked_example_25_prosecutor_risk() {
        let risk = of_sizes(&[2, 3, 5]);
        assert!((risk.maximum - 0.5).abs() < 1e-12 && (risk.average - 0.3).abs() < 1e-12);
        // One fifth is not above one fifth.
        assert!((risk.share_above["0.2"] - 0.5).abs() < 1e-12);
        assert_eq!(risk.rows_above["0.5"], 0);
    }

    // Ten records of a hundred: 1/F is a tenth of 1/f.
    #[test]
    fn a_population_turns_the_bound_into_a_labelled_estimate() {
        let sizes = [2, 3, 5];
        let bound = with_attackers(of_sizes(&sizes), sizes.into_iter(), None);
        let journalist = bound.journalist.unwrap();
        assert_eq!(journalist.basis, Basis::UpperBound);
        assert!((journalist.maximum.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(bound.population_uniqueness, None);
        let estimated = with_attackers(of_sizes(&sizes), sizes.into_iter(), Some(100));
        let marketer = estimated.marketer.unwrap();
        assert_eq!((marketer.basis, marketer.maximum), (Basis::Estimate, None));
        assert!((marketer.average - 0.03).abs() < 1e-12);
        assert!((estimated.journalist.unwrap().maximum.unwrap() - 0.05).abs() < 1e-12);
        assert_eq!(estimated.prosecutor.unwrap().basis, Basis::Counted);
        let uniqueness = estimated.population_uniqueness.unwrap();
        assert!(uniqueness.estimates.iter().all(|one| one.estimate));
        let too_small = with_attackers(of_sizes(&sizes), sizes.into_iter(), Some(9));
        assert_eq!(too_small.journalist.unwrap().basis, Basis::UpperBound);
    }

    #[test]
    fn nothing_released_is_no_risk() {
        let risk = of_sizes(&[]);
        assert!(risk.maximum.abs() < f64::EPSILON && risk.average.abs() < f64::EPSILON);
    }

    fn known(pairs: &[(u64, u64)]) -> Risk {
        let classes = pairs
            .iter()
            .map(|&(sample, population)| LinkedClass { sample, population });
        let sizes: Vec<u64> = pairs.iter().map(|&(sample, _)| sample).collect();
        let members = pairs.iter().map(|&(_, population)| population).sum();
        with_population(of_sizes(&sizes), Uuid::nil(), members, classes)
    }

    // algorithms.md F 25: f = 2, 3, 5; F = 4, 3, 10.
    #[test]
    fn worked_example_25_with_the_population() {
        let risk = known(&[(2, 4), (3, 3), (5, 10)]);
        let (journalist, marketer) = (risk.journalist.unwrap(), risk.marketer.unwrap());
        assert_eq!(
            (journalist.basis, marketer.basis),
            (Basis::Counted, Basis::Counted)
        );
        assert!((journalist.maximum.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!((journalist.average - 0.2).abs() < 1e-12 && (marketer.average - 0.2).abs() < 1e-12);
        let population = risk.population.unwrap();
        assert_eq!((population.k_map, population.members), (3, 17));
        // 1/4 and 1/3 are above a fifth, 1/10 is not; 1/3 is above 0.33.
        assert_eq!(
            (
                population.records_above["0.2"],
                population.records_above["0.33"]
            ),
            (5, 3)
        );
    }

    #[test]
    fn a_class_with_more_records_than_members_is_told_and_bounded_by_its_records() {
        let population = known(&[(4, 2), (2, 8), (0, 1)]).population.unwrap();
        assert_eq!(
            (population.classes_beyond_population, population.k_map),
            (1, 4)
        );
        assert_eq!(population.population_uniques, 1);
    }
}
