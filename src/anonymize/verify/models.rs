//! The privacy models from their definitions, on shares: plain and slow, shared with nothing.

use rust_decimal::Decimal;

/// Rounding that a limit forgives.
const ROUNDING: f64 = 1e-9;

/// Whether a figure is not above an inclusive limit.
pub(super) fn within(figure: f64, limit: f64) -> bool {
    figure <= limit + ROUNDING * limit.max(1.0)
}

/// Shares of counts; all zero of nothing.
pub(super) fn shares(counts: &[u64]) -> Vec<f64> {
    let total: u64 = counts.iter().sum();
    let share = |&count: &u64| {
        if total == 0 {
            0.0
        } else {
            count as f64 / total as f64
        }
    };
    counts.iter().map(share).collect()
}

/// Entropy in bits.
pub(super) fn entropy(counts: &[u64]) -> f64 {
    let shares = shares(counts);
    let held = shares.iter().filter(|&&share| share > 0.0);
    -held.map(|share| share * share.log2()).sum::<f64>()
}

/// Whether `r_1 < c (r_l + ... + r_m)`, strictly.
pub(super) fn is_recursively_diverse(counts: &[u64], c: f64, l: u64) -> bool {
    let mut falling = counts.to_vec();
    falling.sort_unstable_by(|left, right| right.cmp(left));
    let skipped = usize::try_from(l.saturating_sub(1)).unwrap_or(usize::MAX);
    let tail: u64 = falling.iter().skip(skipped).sum();
    let first = falling.first().copied().unwrap_or(0);
    (first as f64) < c * tail as f64
}

/// Half the sum of differences.
pub(super) fn equal_distance(class: &[f64], reference: &[f64]) -> f64 {
    let differences = class.iter().zip(reference).map(|(p, q)| (p - q).abs());
    differences.sum::<f64>() / 2.0
}

/// Mean difference of the running sums, values in their order.
pub(super) fn ordered_distance(class: &[f64], reference: &[f64]) -> f64 {
    if reference.len() < 2 {
        return 0.0;
    }
    let (mut running, mut sum) = (0.0, 0.0_f64);
    for (p, q) in class.iter().zip(reference).take(reference.len() - 1) {
        running += p - q;
        sum += f64::abs(running);
    }
    sum / (reference.len() - 1) as f64
}

/// A hierarchy over values: by level the node above each node, the values being the lowest nodes.
pub(super) struct Tree {
    above: Vec<Vec<usize>>,
}

impl Tree {
    /// A tree from the values' ways to the top; a node is what it is called and all that stands above it.
    pub(super) fn of_paths(paths: &[Vec<Option<String>>]) -> Option<Self> {
        let levels = paths.first()?.len();
        let mut nodes: Vec<&[Option<String>]> = paths.iter().map(Vec::as_slice).collect();
        let mut above = Vec::new();
        for _ in 1..levels {
            let mut upper: Vec<&[Option<String>]> = Vec::new();
            let mut place = std::collections::HashMap::new();
            let mut of_node = Vec::new();
            for node in nodes {
                let suffix = node.get(1..)?;
                let number = *place.entry(suffix).or_insert_with(|| {
                    upper.push(suffix);
                    upper.len() - 1
                });
                of_node.push(number);
            }
            above.push(of_node);
            nodes = upper;
        }
        Some(Self { above })
    }
}

/// Per inner node, its height over the root's times the lesser of what its children have too much and too little.
pub(super) fn hierarchical_distance(class: &[f64], reference: &[f64], tree: &Tree) -> f64 {
    let mut extras: Vec<f64> = class.iter().zip(reference).map(|(p, q)| p - q).collect();
    let mut cost = 0.0;
    for (level, above) in tree.above.iter().enumerate() {
        let nodes = above.iter().max().map_or(0, |last| last + 1);
        let (mut surplus, mut deficit) = (vec![0.0; nodes], vec![0.0; nodes]);
        for (&extra, &node) in extras.iter().zip(above) {
            if extra > 0.0 {
                surplus[node] += extra;
            } else {
                deficit[node] -= extra;
            }
        }
        let moved: f64 = surplus
            .iter()
            .zip(&deficit)
            .map(|(more, less)| f64::min(*more, *less))
            .sum();
        cost += (level + 1) as f64 / tree.above.len() as f64 * moved;
        extras = surplus
            .iter()
            .zip(&deficit)
            .map(|(more, less)| more - less)
            .collect();
    }
    cost
}

/// Whether no share gains more than `beta` of itself (or `-ln` of itself, if that is less and `enhanced`).
pub(super) fn is_beta_like(class: &[f64], reference: &[f64], beta: f64, enhanced: bool) -> bool {
    class.iter().zip(reference).all(|(&p, &q)| {
        let cap = if enhanced { beta.min(-q.ln()) } else { beta };
        p <= q || within((p - q) / q, cap)
    })
}

/// Whether `|log (p/q)| < delta` for all values, or for all of the class's to base 2 where `skips_absent`.
pub(super) fn keeps_disclosure_below(
    class: &[f64],
    reference: &[f64],
    delta: f64,
    skips_absent: bool,
) -> bool {
    class.iter().zip(reference).all(|(&p, &q)| {
        if p <= 0.0 {
            return skips_absent || q <= 0.0;
        }
        let ratio = p / q;
        let logarithm = if skips_absent {
            ratio.log2()
        } else {
            ratio.ln()
        };
        logarithm.abs() < delta
    })
}

/// Places of values in their order: numbers by value, or as declared; `None` if one has no place. Missing is last.
pub(super) fn places(values: &[Option<&str>], declared: Option<&[String]>) -> Option<Vec<usize>> {
    let mut keyed = Vec::new();
    for (number, value) in values.iter().enumerate() {
        let key = match (value, declared) {
            (None, _) => (1, 0, Decimal::ZERO),
            (Some(value), Some(order)) => {
                let place = order
                    .iter()
                    .position(|named| named.trim() == value.trim())?;
                (0, place, Decimal::ZERO)
            }
            (Some(value), None) => {
                let number = value
                    .parse::<Decimal>()
                    .or_else(|_| Decimal::from_scientific(value));
                (0, 0, number.ok()?)
            }
        };
        keyed.push((key, *value, number));
    }
    keyed.sort_unstable();
    Some(keyed.into_iter().map(|(_, _, number)| number).collect())
}
