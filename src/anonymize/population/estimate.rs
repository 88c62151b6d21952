//! How many members of the population are unique, estimated from the sample alone.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ClassSizes, pitman, slide_negative_binomial, zayatz};

/// Up to this sampling fraction the decision rule takes Pitman's model.
const SMALL_FRACTION: f64 = 0.1;

/// How large the population is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PopulationSize {
    /// Number of members, N.
    Members(u64),
    /// Sample over population, above 0 and at most 1; N is the rounded quotient.
    SamplingFraction(f64),
}

/// The population's size cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeFault {
    /// Fewer members than rows in the sample.
    #[error("the population has fewer members than the sample has rows")]
    Smaller,
    /// Not a fraction above 0 and at most 1.
    #[error("the sampling fraction is not above 0 and at most 1")]
    Fraction,
}

/// A statistical model of population class sizes, or the rule that chooses among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UniquenessModel {
    /// Hypergeometric, with the sample's class sizes for the population's (Zayatz 1991).
    Zayatz,
    /// Class sizes 1 plus negative binomial (Chen, Keller-McNulty 1998).
    SlideNegativeBinomial,
    /// Pitman's sampling formula (Hoshino 2001).
    Pitman,
    /// A rule that takes one of the others (Dankar et al. 2012).
    Dankar,
}

/// Why a model has no estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoEstimate {
    /// The sample has no rows.
    EmptySample,
    /// Every row of the sample is unique: nothing tells rare from common.
    AllUnique,
    /// All rows of the sample are in one class.
    OneClass,
    /// The sample has no class of two rows, which the model is fitted to.
    NoClassOfTwo,
    /// The model's equations have no solution for this sample: it did not converge.
    NoSolution,
    /// The solution is no possible number of uniques.
    OutOfRange,
}

/// One model's estimate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// Always true: a model's guess, not a count.
    pub estimate: bool,
    /// The model.
    pub model: UniquenessModel,
    /// The model whose figure the decision rule took; only for `dankar`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<UniquenessModel>,
    /// Estimated number of unique members of the population; absent without an estimate.
    pub population_uniques: Option<f64>,
    /// The same over the population's size, `0..=1`.
    pub population_unique_share: Option<f64>,
    /// Why there is no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_estimate: Option<NoEstimate>,
}

/// All models' estimates, beside what was counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UniquenessEstimates {
    /// Members of the population, as declared.
    pub population: u64,
    /// Rows of the sample over members of the population.
    pub sampling_fraction: f64,
    /// Classes of one row in the sample: counted, not estimated.
    pub sample_uniques: u64,
    /// Zayatz, slide negative binomial, Pitman, Dankar, in this order.
    pub estimates: Vec<Estimate>,
}

/// Estimates how many members of the population are unique in the attributes that the classes are made of.
///
/// All models: 0 without sample uniques, and the sample's own number if the sample is the population. Dankar's rule:
/// Pitman up to a sampling fraction of 0.1 (Zayatz if Pitman has none), above it the smaller of the slide negative
/// binomial and Zayatz (Zayatz if the former has none). Deterministic. Cost: some 10^5 operations and one step per row
/// of the largest class.
///
/// # Errors
/// The size is impossible.
///
/// Source: Dankar, El Emam, Neisa, Roffey, Estimating the re-identification risk of clinical data sets, 2012.
pub fn estimate_uniqueness(
    sample: &ClassSizes,
    size: PopulationSize,
) -> Result<UniquenessEstimates, SizeFault> {
    let rows = sample.rows();
    let population = members(rows, size)?;
    let sampling_fraction = if population > 0 {
        rows as f64 / population as f64
    } else {
        1.0
    };
    let figure = |model| (model, uniques(sample, population, sampling_fraction, model));
    let zayatz = figure(UniquenessModel::Zayatz);
    let slide = figure(UniquenessModel::SlideNegativeBinomial);
    let pitman = figure(UniquenessModel::Pitman);
    let (taken, dankar) = dankars_choice(sampling_fraction, zayatz, slide, pitman);
    let chosen = dankar.is_ok().then_some(taken);
    Ok(UniquenessEstimates {
        population,
        sampling_fraction,
        sample_uniques: sample.of_size(1),
        estimates: vec![
            report(zayatz, None, population),
            report(slide, None, population),
            report(pitman, None, population),
            report((UniquenessModel::Dankar, dankar), chosen, population),
        ],
    })
}

type Figure = (UniquenessModel, Result<f64, NoEstimate>);

fn dankars_choice(fraction: f64, zayatz: Figure, slide: Figure, pitman: Figure) -> Figure {
    let preferred = if fraction <= SMALL_FRACTION {
        pitman
    } else {
        slide
    };
    match (preferred.1, zayatz.1) {
        (Err(_), _) => zayatz,
        (Ok(slide), Ok(zayatz_uniques)) if fraction > SMALL_FRACTION && slide > zayatz_uniques => {
            zayatz
        }
        _ => preferred,
    }
}

fn report(figure: Figure, chosen: Option<UniquenessModel>, population: u64) -> Estimate {
    let (model, uniques) = figure;
    let share = |uniques: f64| uniques / population.max(1) as f64;
    Estimate {
        estimate: true,
        model,
        chosen,
        population_uniques: uniques.ok(),
        population_unique_share: uniques.ok().map(share),
        no_estimate: uniques.err(),
    }
}

fn members(rows: u64, size: PopulationSize) -> Result<u64, SizeFault> {
    match size {
        PopulationSize::Members(members) if members >= rows => Ok(members),
        PopulationSize::Members(_) => Err(SizeFault::Smaller),
        PopulationSize::SamplingFraction(fraction) if fraction > 0.0 && fraction <= 1.0 => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a float to integer cast saturates, and the quotient is not negative"
            )]
            let quotient = (rows as f64 / fraction).round() as u64;
            Ok(quotient.max(rows))
        }
        PopulationSize::SamplingFraction(_) => Err(SizeFault::Fraction),
    }
}

fn uniques(
    sample: &ClassSizes,
    population: u64,
    fraction: f64,
    model: UniquenessModel,
) -> Result<f64, NoEstimate> {
    let counted = sample.of_size(1);
    if sample.rows() == 0 {
        return Err(NoEstimate::EmptySample);
    }
    if counted == 0 || population == sample.rows() {
        return Ok(counted as f64);
    }
    let uniques = match model {
        UniquenessModel::Zayatz => zayatz::population_uniques(sample, population),
        UniquenessModel::Pitman => pitman::population_uniques(sample, population)?,
        UniquenessModel::SlideNegativeBinomial | UniquenessModel::Dankar => {
            slide_negative_binomial::population_uniques(sample, fraction)?
        }
    };
    let most = population as f64 * (1.0 + 1e-9);
    if (0.0..=most).contains(&uniques) {
        Ok(uniques.min(population as f64))
    } else {
        Err(NoEstimate::OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: Option<f64>, right: f64) -> bool {
        left.is_some_and(|left| (left - right).abs() <= 1e-9 * right.max(1.0))
    }

    fn estimates(sizes: &[u64], size: PopulationSize) -> Vec<Estimate> {
        let sample = ClassSizes::of(sizes.iter().copied());
        let report = estimate_uniqueness(&sample, size).unwrap();
        assert!(report.estimates.iter().all(|estimate| estimate.estimate));
        report.estimates
    }

    #[test]
    fn a_sample_that_is_the_population_is_counted() {
        for estimate in estimates(&[1, 1, 1, 2, 4], PopulationSize::Members(9)) {
            assert!(near(estimate.population_uniques, 3.0));
            assert!(near(estimate.population_unique_share, 1.0 / 3.0));
        }
    }

    #[test]
    fn without_sample_uniques_none_are_expected() {
        for estimate in estimates(&[2, 2, 5], PopulationSize::Members(90)) {
            assert!(near(estimate.population_uniques, 0.0));
        }
    }

    #[test]
    fn when_all_are_unique_only_zayatz_has_an_estimate() {
        // P(F=1|f=1) = 1, so Zayatz says that everybody is unique: 5 * 1 / (5/100).
        let all = estimates(&[1; 5], PopulationSize::SamplingFraction(0.05));
        assert!(near(all[0].population_uniques, 100.0));
        assert_eq!(all[1].no_estimate, Some(NoEstimate::NoClassOfTwo));
        assert_eq!(all[2].no_estimate, Some(NoEstimate::AllUnique));
        assert_eq!(all[2].population_uniques, None);
        // Dankar's rule falls back and says on what.
        assert_eq!(all[3].chosen, Some(UniquenessModel::Zayatz));
        assert!(near(all[3].population_uniques, 100.0));
    }

    #[test]
    fn dankars_rule_changes_model_at_a_tenth() {
        let mut sizes = vec![1u64; 60];
        sizes.extend([2; 20]);
        sizes.extend([3, 3, 3, 4, 5, 8, 12, 12]);
        let at = |fraction| estimates(&sizes, PopulationSize::SamplingFraction(fraction));
        assert_eq!(at(0.1)[3].chosen, Some(UniquenessModel::Pitman));
        let above = at(0.11);
        let value = |index: usize| above[index].population_uniques.unwrap_or(f64::INFINITY);
        assert!((value(3) - value(0).min(value(1))).abs() < 1e-9);
        assert_ne!(above[3].chosen, Some(UniquenessModel::Pitman));
    }

    #[test]
    fn an_impossible_size_is_refused_and_an_empty_sample_has_no_estimate() {
        let sample = ClassSizes::of([1, 2]);
        let with = |size| estimate_uniqueness(&sample, size).map(|report| report.population);
        assert_eq!(with(PopulationSize::Members(2)), Err(SizeFault::Smaller));
        for fraction in [0.0, -0.1, 1.1, f64::NAN] {
            let size = PopulationSize::SamplingFraction(fraction);
            assert_eq!(with(size), Err(SizeFault::Fraction));
        }
        assert_eq!(with(PopulationSize::SamplingFraction(0.3)), Ok(10));
        let none = estimates(&[], PopulationSize::Members(0));
        assert_eq!(none[3].no_estimate, Some(NoEstimate::EmptySample));
        assert_eq!(none[3].chosen, None);
    }
}
