//! The three attackers' risks, exactly.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ClassSizes;
use crate::anonymize::distribution::at_most;

/// What an attacker achieves on a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttackerRisk {
    /// Of the row worst off, `0..=1`.
    pub maximum: f64,
    /// Over all rows, `0..=1`.
    pub mean: f64,
    /// Per threshold, in the order asked for.
    pub at_risk: Vec<RowsAtRisk>,
}

/// How many rows are at more than a given risk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RowsAtRisk {
    /// The risk that these rows exceed, strictly.
    pub threshold: f64,
    /// Number of rows.
    pub rows: u64,
    /// Share of all rows, `0..=1`.
    pub share: f64,
}

/// A class of the sample with its size in the population.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkedClass {
    /// Rows in the sample, f; 0 for a class of the population that the sample lacks.
    pub sample: u64,
    /// Members of the population, F, at least as many.
    pub population: u64,
}

/// Risks against attackers who know the population only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LinkedRisk {
    /// The attacker who does not know whether the target is in the sample.
    pub journalist: AttackerRisk,
    /// Expected share of rows that an attacker after all of them names correctly, `0..=1`.
    pub marketer: f64,
    /// Classes of one row in the sample.
    pub sample_uniques: u64,
    /// Classes of one member in the population; complete if the classes that the sample lacks are given too.
    pub population_uniques: u64,
    /// Rows that are unique in the sample and in the population.
    pub unique_in_both: u64,
    /// The k of k-map: smallest population class of a class in the sample; 0 without any.
    pub k_map: u64,
}

/// A class has more rows in the sample than members in the population: the two do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{classes} classes have more rows in the sample than members in the population")]
pub struct LinkageFault {
    /// How many classes.
    pub classes: u64,
}

/// Risk against an attacker who knows that the target is in the sample: `1/f` for each row of a class of `f`.
///
/// Maximum `1/min f`, mean `J/n` (classes over rows, the mean over rows of `1/f`). All 0 for an empty sample.
/// Source: El Emam, 2013, chapter 16.
#[must_use]
pub fn prosecutor_risk(sample: &ClassSizes, thresholds: &[f64]) -> AttackerRisk {
    let rows = sample.rows();
    let smallest = sample.smallest();
    AttackerRisk {
        maximum: share(u64::from(smallest > 0), smallest),
        mean: share(sample.classes(), rows),
        at_risk: rows_at_risk(thresholds, rows, || {
            sample
                .histogram()
                .map(|(size, classes)| (size, size * classes))
        }),
    }
}

/// Risks against attackers who know the population.
///
/// Journalist: maximum `1/min F`, mean `max(J / sum F, 1/n sum f/F)` (the larger of two ways to attack), rows at risk
/// by `1/F`. Marketer: `1/n sum f/F`. Classes that the sample lacks count as population uniques only.
///
/// # Errors
/// A population class is smaller than its sample class.
pub fn linked_risk(
    classes: &[LinkedClass],
    thresholds: &[f64],
) -> Result<LinkedRisk, LinkageFault> {
    let unsound = classes
        .iter()
        .filter(|class| class.population < class.sample);
    match unsound.count() as u64 {
        0 => {}
        classes => return Err(LinkageFault { classes }),
    }
    let sampled = || classes.iter().filter(|class| class.sample > 0);
    let rows: u64 = sampled().map(|class| class.sample).sum();
    let members: u64 = sampled().map(|class| class.population).sum();
    let hits: f64 = sampled()
        .map(|class| share(class.sample, class.population))
        .sum();
    let marketer = if rows > 0 { hits / rows as f64 } else { 0.0 };
    let k_map = sampled().map(|class| class.population).min().unwrap_or(0);
    let count = |matches: fn(&LinkedClass) -> bool| {
        classes.iter().filter(|class| matches(class)).count() as u64
    };
    Ok(LinkedRisk {
        journalist: AttackerRisk {
            maximum: share(u64::from(k_map > 0), k_map),
            mean: share(sampled().count() as u64, members).max(marketer),
            at_risk: rows_at_risk(thresholds, rows, || {
                sampled().map(|class| (class.population, class.sample))
            }),
        },
        marketer,
        sample_uniques: count(|class| class.sample == 1),
        population_uniques: count(|class| class.population == 1),
        unique_in_both: count(|class| class.sample == 1 && class.population == 1),
        k_map,
    })
}

fn share(part: u64, whole: u64) -> f64 {
    if whole > 0 {
        part as f64 / whole as f64
    } else {
        0.0
    }
}

/// Rows above each threshold, from pairs of (class size that sets the risk, rows at that risk).
fn rows_at_risk<I: Iterator<Item = (u64, u64)>>(
    thresholds: &[f64],
    rows: u64,
    sizes: impl Fn() -> I,
) -> Vec<RowsAtRisk> {
    let above = |threshold: f64| {
        sizes()
            .filter(|&(size, _)| !at_most(share(1, size), threshold))
            .map(|(_, rows)| rows)
            .sum()
    };
    thresholds
        .iter()
        .map(|&threshold| {
            let at_risk = above(threshold);
            RowsAtRisk {
                threshold,
                rows: at_risk,
                share: share(at_risk, rows),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-12
    }

    fn linked(pairs: &[(u64, u64)]) -> Vec<LinkedClass> {
        let class = |&(sample, population)| LinkedClass { sample, population };
        pairs.iter().map(class).collect()
    }

    #[test]
    fn risks_of_worked_example_25() {
        // f = 2,3,5; F = 4,3,10. Prosecutor: 1/2, 3/10; 1/5 > .2 is false, so the classes of 2 and 3 are at risk.
        let sample = ClassSizes::of([2, 3, 5]);
        let prosecutor = prosecutor_risk(&sample, &[0.2, 0.5]);
        assert!(near(prosecutor.maximum, 0.5) && near(prosecutor.mean, 0.3));
        assert!(near(prosecutor.at_risk[0].share, 0.5));
        assert_eq!(prosecutor.at_risk[0].rows, 5);
        assert_eq!(prosecutor.at_risk[1].rows, 0);
        // Marketer (2/4 + 3/3 + 5/10)/10; journalist max(3/17, 0.2); 1/F > .2: F = 4 and 3, rows 2 + 3.
        let risk = linked_risk(&linked(&[(2, 4), (3, 3), (5, 10)]), &[0.2, 0.3]).unwrap();
        assert!(near(risk.marketer, 0.2));
        assert!(near(risk.journalist.maximum, 1.0 / 3.0) && near(risk.journalist.mean, 0.2));
        let rows: Vec<u64> = risk.journalist.at_risk.iter().map(|at| at.rows).collect();
        assert_eq!(rows, [5, 3]);
    }

    #[test]
    fn the_journalist_takes_the_better_of_two_attacks() {
        // f = 3,1; F = 30,1: J/sum F = 2/31, marketer (3/30 + 1)/4 = .275. f = 1,9; F = 1,9: 2/10 and 2/10.
        let risk = linked_risk(&linked(&[(3, 30), (1, 1)]), &[]).unwrap();
        assert!(near(risk.journalist.mean, 0.275));
        // f = 9,1; F = 10,10: J/sum F = .1, marketer (.9 + .1)/10 = .1; f = 1,3; F = 2,1000: 2/1002 < .12575.
        let risk = linked_risk(&linked(&[(9, 10), (1, 10)]), &[]).unwrap();
        assert!(near(risk.journalist.mean, 0.1));
    }

    #[test]
    fn classes_that_the_sample_lacks_count_as_population_uniques_only() {
        let risk = linked_risk(&linked(&[(1, 1), (1, 6), (0, 1), (2, 6)]), &[]).unwrap();
        assert_eq!((risk.sample_uniques, risk.population_uniques), (2, 2));
        assert_eq!((risk.unique_in_both, risk.k_map), (1, 1));
        assert!(near(risk.marketer, (1.0 + 1.0 / 6.0 + 2.0 / 6.0) / 4.0));
    }

    #[test]
    fn five_map_holds_with_a_sample_class_of_two() {
        // Worked example 26: f = 2, F = 6.
        assert_eq!(linked_risk(&linked(&[(2, 6)]), &[]).unwrap().k_map, 6);
    }

    #[test]
    fn a_population_smaller_than_its_sample_is_refused() {
        let fault = linked_risk(&linked(&[(2, 1), (2, 2), (5, 0)]), &[]);
        assert_eq!(fault, Err(LinkageFault { classes: 2 }));
    }

    #[test]
    fn uc_23_suppressed_rows_are_outside_and_then_one_class() {
        // Appendix 3: six released rows in three classes, one suppressed.
        let released = ClassSizes::of([2, 2, 2]);
        let risk = prosecutor_risk(&released, &[]);
        assert!(near(risk.maximum, 0.5) && near(risk.mean, 0.5));
        let risk = prosecutor_risk(&released.with_suppressed(1), &[]);
        assert!(near(risk.maximum, 1.0) && near(risk.mean, 4.0 / 7.0));
        assert_eq!(released.with_suppressed(0), released);
    }

    #[test]
    fn an_empty_sample_is_at_no_risk() {
        let risk = prosecutor_risk(&ClassSizes::default(), &[0.2]);
        assert!(near(risk.maximum, 0.0) && near(risk.mean, 0.0));
        assert_eq!(risk.at_risk[0].rows, 0);
        assert!(near(linked_risk(&[], &[]).unwrap().marketer, 0.0));
    }
}
