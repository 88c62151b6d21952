//! Scores of steps of the cut (algorithms.md C.2, after Fung, Wang, Yu and Wang, Yu, Chakraborty).

use std::collections::BTreeMap;

/// How often each label occurs; missing is one of them.
pub(super) type Labels<'a> = BTreeMap<Option<&'a str>, u64>;

/// Entropy in bits.
fn entropy(labels: &Labels<'_>) -> f64 {
    let total: u64 = labels.values().sum();
    let bits = labels.values().map(|&count| {
        let share = count as f64 / total as f64;
        -share * share.log2()
    });
    bits.sum()
}

/// Information on the label that is gained by telling the parts apart, and lost by uniting them.
pub(super) fn information<'a>(parts: impl Iterator<Item = &'a Labels<'a>> + Clone) -> f64 {
    let mut whole: Labels<'a> = BTreeMap::new();
    for part in parts.clone() {
        for (label, count) in part {
            *whole.entry(*label).or_insert(0) += count;
        }
    }
    let total: u64 = whole.values().sum();
    if total == 0 {
        return 0.0;
    }
    let of_parts = parts.map(|part| {
        let rows: u64 = part.values().sum();
        rows as f64 / total as f64 * entropy(part)
    });
    entropy(&whole) - of_parts.sum::<f64>()
}

/// The change of the least class size, from that of some classes to that of others; classes without rows do not count.
pub(super) fn size_change(more: impl Iterator<Item = u64>, less: impl Iterator<Item = u64>) -> u64 {
    let more = more.filter(|&rows| rows > 0).min().unwrap_or(0);
    let less = less.filter(|&rows| rows > 0).min().unwrap_or(0);
    more.saturating_sub(less)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(yes: u64, no: u64) -> Labels<'static> {
        BTreeMap::from([(Some("yes"), yes), (Some("no"), no)])
    }

    // algorithms.md F 15 and 17.
    #[test]
    fn worked_examples_15_and_17() {
        let gain = information([labels(5, 1), labels(1, 3)].iter());
        assert!((gain - 0.256_43).abs() < 5e-6);
        let cost = size_change([8].into_iter(), [4, 6, 0].into_iter());
        assert!((gain / (cost as f64 + 1.0) - 0.051_29).abs() < 5e-6);
        let loss = information([labels(7, 1), labels(5, 7)].iter());
        assert!((loss - 0.165_60).abs() < 5e-6);
        assert!((loss / 6.0 - 0.027_60).abs() < 5e-6);
    }
}
