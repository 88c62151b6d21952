//! Models of relative gain and of membership: beta-likeness, delta-disclosure, (alpha,k), delta-presence.

use super::{at_least, at_most, below, real, total};

/// The largest relative gain of a value's frequency, `max (p - Q)/Q`; infinite if a value of the class is not in the
/// reference; 0 for an empty class or one distributed as the reference.
///
/// Source: Cao, Karras, Publishing Microdata with a Robust Privacy Guarantee, 2012, Definition 2.
#[must_use]
pub fn largest_gain<C, R>(class: &[C], reference: &[R]) -> f64
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let (rows, all) = (total(class), total(reference));
    let mut largest: f64 = 0.0;
    for (&count, &expected) in class.iter().zip(reference) {
        largest = largest.max(gain(real(count), real(expected), rows, all));
    }
    largest
}

/// Whether no value's frequency gains more than `beta`, relatively. Losses do not count.
#[must_use]
pub fn is_beta_like<C, R>(class: &[C], reference: &[R], beta: f64) -> bool
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    at_most(largest_gain(class, reference), beta)
}

/// Whether no value's frequency gains more than `min(beta, -ln Q)`, relatively: frequent values are held tighter.
///
/// Source: Cao, Karras, 2012, Definition 3.
#[must_use]
pub fn is_enhanced_beta_like<C, R>(class: &[C], reference: &[R], beta: f64) -> bool
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let (rows, all) = (total(class), total(reference));
    class.iter().zip(reference).all(|(&count, &expected)| {
        let (count, expected) = (real(count), real(expected));
        let cap = if expected > 0.0 {
            beta.min((all / expected).ln())
        } else {
            beta
        };
        at_most(gain(count, expected, rows, all), cap)
    })
}

/// `(p - Q)/Q`, not below 0.
fn gain(count: f64, expected: f64, rows: f64, all: f64) -> f64 {
    if count <= 0.0 {
        0.0
    } else if expected <= 0.0 {
        f64::INFINITY
    } else {
        ((count * all - expected * rows) / (expected * rows)).max(0.0)
    }
}

/// What delta-disclosure makes of a value of the reference that a class lacks, and the logarithm that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentValues {
    /// The ratio is 0, its logarithm infinite: the class fails any delta. Natural logarithm, as published.
    Fail,
    /// Skipped, and the logarithm is to base 2, as in ARX. Then merging two classes that pass may give one that fails.
    Skip,
}

/// The largest `|log (p/Q)|` over the values; infinite if a value of the class is not in the reference, or, unless
/// skipped, the other way round; 0 for a class distributed as the reference.
///
/// Source: Brickell, Shmatikov, The Cost of Privacy, 2008, Definition 2.
#[must_use]
pub fn largest_disclosure<C, R>(class: &[C], reference: &[R], absent: AbsentValues) -> f64
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    let (rows, all) = (total(class), total(reference));
    let mut largest: f64 = 0.0;
    for (&count, &expected) in class.iter().zip(reference) {
        let (count, expected) = (real(count), real(expected));
        let distance = match (count > 0.0, expected > 0.0) {
            (false, false) => 0.0,
            (false, true) if absent == AbsentValues::Skip => 0.0,
            (true, false) | (false, true) => f64::INFINITY,
            (true, true) => {
                let ratio = (count * all) / (expected * rows);
                match absent {
                    AbsentValues::Fail => ratio.ln().abs(),
                    AbsentValues::Skip => ratio.log2().abs(),
                }
            }
        };
        largest = largest.max(distance);
    }
    largest
}

/// Whether `|log (p/Q)| < delta` for every value, strictly.
#[must_use]
pub fn keeps_disclosure_below<C, R>(
    class: &[C],
    reference: &[R],
    delta: f64,
    absent: AbsentValues,
) -> bool
where
    C: Copy + Into<u64>,
    R: Copy + Into<u64>,
{
    below(largest_disclosure(class, reference, absent), delta)
}

/// Whether no protected value makes up more than the share `alpha` of a class of `rows` rows: the alpha of (alpha,k).
///
/// `protected` holds the counts of the protected values only; `rows` counts all rows, those with a missing value too.
///
/// Source: Wong et al., (alpha,k)-Anonymity, 2006, Definition 3.
#[must_use]
pub fn is_alpha_bounded<C: Copy + Into<u64>>(protected: &[C], rows: u64, alpha: f64) -> bool {
    let largest = protected.iter().map(|&count| count.into()).max();
    largest.is_none_or(|largest| rows > 0 && at_most(real(largest) / rows as f64, alpha))
}

/// Share of a public class that is in the research subset, `0..=1`; `None` if the public class is empty.
#[must_use]
pub fn presence(in_subset: u64, public: u64) -> Option<f64> {
    (public > 0).then(|| in_subset as f64 / public as f64)
}

/// Whether the share of a public class that is in the research subset lies in `least..=most`.
///
/// Must hold for every class of the public table, those with nobody in the subset too. An empty class holds nobody
/// and passes.
///
/// Source: Nergiz, Atzori, Clifton, Hiding the Presence of Individuals from Shared Databases, 2007, Definition 1.
#[must_use]
pub fn is_present_within(in_subset: u64, public: u64, least: f64, most: f64) -> bool {
    presence(in_subset, public).is_none_or(|share| at_least(share, least) && at_most(share, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() <= 1e-4
    }

    #[test]
    fn a_rise_from_a_tenth_to_a_quarter_is_measured_as_worked_example_24() {
        let (class, reference) = ([1u32, 3], [1u32, 9]);
        assert!(near(largest_gain(&class, &reference), 1.5));
        assert!(is_beta_like(&class, &reference, 1.5));
        assert!(!is_beta_like(&class, &reference, 1.499_999));
        // Enhanced cap -ln 0.1 = 2.3026 does not bind; of a value at 1/2, ln 2 = 0.693 does: 1/2 -> 9/10 gains 0.8.
        assert!(near(-(0.1f64.ln()), std::f64::consts::LN_10));
        assert!(is_enhanced_beta_like(&class, &reference, 1.5));
        assert!(is_beta_like(&[9u32, 1], &[5u32, 5], 0.8));
        assert!(!is_enhanced_beta_like(&[9u32, 1], &[5u32, 5], 0.8));
        // delta: ln 2.5 and log2 2.5 of the first value; the second, .75/.9, is nearer.
        let strict = largest_disclosure(&class, &reference, AbsentValues::Fail);
        let arx = largest_disclosure(&class, &reference, AbsentValues::Skip);
        assert!(near(strict, 0.9163) && near(arx, 1.3219));
        assert!(!keeps_disclosure_below(
            &class,
            &reference,
            2.5f64.ln(),
            AbsentValues::Fail
        ));
        assert!(keeps_disclosure_below(
            &class,
            &reference,
            0.9164,
            AbsentValues::Fail
        ));
    }

    #[test]
    fn losses_are_no_gain() {
        assert!(near(largest_gain(&[0u32, 4], &[1u32, 9]), 1.0 / 9.0));
        assert!(near(largest_gain(&[1u32, 9], &[1u32, 9]), 0.0));
    }

    #[test]
    fn an_absent_value_fails_the_strict_model_and_is_skipped_as_in_arx() {
        let (class, reference) = ([2u32, 0], [1u32, 1]);
        assert!(!keeps_disclosure_below(
            &class,
            &reference,
            1e9,
            AbsentValues::Fail
        ));
        assert!(keeps_disclosure_below(
            &class,
            &reference,
            1.000_001,
            AbsentValues::Skip
        ));
    }

    #[test]
    fn three_of_four_rows_need_alpha_of_three_quarters() {
        // Worked example 26.
        assert!(is_alpha_bounded(&[3u32], 4, 0.75));
        assert!(!is_alpha_bounded(&[3u32], 4, 0.749_999));
        assert!(is_alpha_bounded::<u32>(&[], 4, 0.0));
    }

    #[test]
    fn two_of_six_people_are_present_with_a_third() {
        // Worked example 26.
        assert!(near(presence(2, 6).unwrap(), 1.0 / 3.0));
        assert!(is_present_within(2, 6, 1.0 / 3.0, 1.0 / 3.0));
        assert!(!is_present_within(0, 6, 0.01, 1.0));
        assert!(is_present_within(0, 6, 0.0, 0.5));
        assert_eq!(presence(0, 0), None);
    }

    #[test]
    fn a_value_unknown_to_the_reference_gains_without_bound() {
        assert!(largest_gain(&[1u32, 1], &[4u32, 0]).is_infinite());
        assert!(!is_enhanced_beta_like(&[1u32, 1], &[4u32, 0], 1e9));
    }
}
