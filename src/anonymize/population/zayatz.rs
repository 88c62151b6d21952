//! Zayatz' estimator: the sample's own class sizes stand for the population's.
//!
//! By Bayes' rule a class that is unique in the sample is unique in the population with probability
//! `q_1 P(1|1) / sum_i q_i P(1|i)`, where `P(1|i)` is the hypergeometric probability that exactly one of `i` members
//! is drawn and `q_i` the share of classes of size `i`, taken from the sample. The estimate is the number of sample
//! uniques, times that, over the sampling fraction.
//!
//! Source: Zayatz, Estimation of the number of unique population elements using a sample, 1991.

use super::ClassSizes;

/// Estimated number of population uniques, for a population of `population` rows, at least the sample's.
///
/// Cost: one step per row of the largest class.
pub(super) fn population_uniques(sample: &ClassSizes, population: u64) -> f64 {
    let (rows, all) = (sample.rows() as f64, population as f64);
    let uniques = sample.of_size(1) as f64;
    if uniques <= 0.0 {
        return 0.0;
    }
    // P(1|i) = i n/N * prod_{j=0}^{i-2} (N-n-j)/(N-1-j); n/N cancels in Bayes' rule.
    let mut once = 0.0;
    let mut none_of_the_others = 1.0;
    let mut at = 1.0;
    for (size, classes) in sample.real() {
        while at < size && none_of_the_others > 0.0 {
            let drawn = at - 1.0;
            none_of_the_others *= ((all - rows - drawn) / (all - 1.0 - drawn)).max(0.0);
            at += 1.0;
        }
        once += classes * size * none_of_the_others;
    }
    uniques * (uniques / once) * (all / rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_case_by_hand() {
        // f = 1,1,2 (n = 4), N = 8. P(1|1) = 1/2, P(1|2) = 2*4*4/(8*7) = 4/7.
        // P(F=1|f=1) = (2/3 * 1/2) / (2/3 * 1/2 + 1/3 * 4/7) = 7/11; estimate 2 * 7/11 * 8/4 = 28/11.
        let sample = ClassSizes::of([1, 1, 2]);
        assert!((population_uniques(&sample, 8) - 28.0 / 11.0).abs() < 1e-12);
    }

    #[test]
    fn a_size_that_cannot_be_drawn_once_does_not_count() {
        // n = 6, N = 7: P(1|3) = 3 * 6/7 * 1/6 * 0/5 = 0, so every sample unique is a population unique: 3 * 7/6.
        let sample = ClassSizes::of([1, 1, 1, 3]);
        assert!((population_uniques(&sample, 7) - 3.5).abs() < 1e-12);
    }
}
