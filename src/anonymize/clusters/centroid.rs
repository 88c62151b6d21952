//! What stands for a class: mean, median, mode or medoid of each attribute.

use super::distance::{Site, Sites, Space};
use super::partition::{Member, Members};
use super::points::{Center, Domain, Feature, Missing};
use crate::anonymize::table::MISSING;

/// Largest number of candidates for a medoid; beyond it the mode stands in.
pub(super) const MOST_CANDIDATES: usize = 2048;

/// The centre of members, as one place; `before` is a candidate of every medoid, so that recentring does not raise the
/// loss. Members are summed in the order given.
///
/// Cost: a sort of the members per attribute; for a medoid the square of the distinct values, at most 2048.
#[must_use]
pub fn center(space: &Space<'_>, members: &[Member], before: Option<Site<'_>>) -> Sites {
    let mut sites = space.no_sites();
    push_center(space, members, before, &mut sites);
    sites
}

/// The centres of all classes.
#[must_use]
pub fn centers(space: &Space<'_>, members: &Members, before: Option<&Sites>) -> Sites {
    let mut sites = space.no_sites();
    for (class, members) in members.iter().enumerate() {
        let before = before.map(|sites| sites.site(class));
        push_center(space, members, before, &mut sites);
    }
    sites
}

fn push_center(space: &Space<'_>, members: &[Member], before: Option<Site<'_>>, sites: &mut Sites) {
    let features = &space.points.features;
    let coded = |feature: &Feature| -> Vec<Member> {
        let codes = members
            .iter()
            .map(|&(cell, rows)| (feature.codes[cell as usize], rows));
        codes.collect()
    };
    for attribute in &space.numeric {
        let feature = &features[attribute.feature];
        let center = number(feature.center, &coded(feature), &attribute.scaled);
        sites.numbers.push(center);
    }
    for (position, attribute) in space.categorical.iter().enumerate() {
        let feature = &features[attribute.feature];
        let before = before.map(|site| site.codes[position]);
        let distance = |left, right| space.category(attribute, left, right);
        let center = category(feature, counted(coded(feature)), before, &distance);
        sites.codes.push(center);
    }
    sites.count += 1;
}

/// The centre of numbers; NaN (missing) if more than half are missing or none is present.
fn number(center: Center, coded: &[Member], scaled: &[f64]) -> f64 {
    let value = |code: u32| scaled[code as usize];
    let rows = |wanted: &dyn Fn(u32) -> bool| -> u64 {
        let counted = coded.iter().filter(|&&(code, _)| wanted(code));
        counted.map(|&(_, rows)| u64::from(rows)).sum()
    };
    let missing = rows(&|code| code == MISSING);
    let present = rows(&|code| code != MISSING);
    if missing > present || present == 0 {
        return f64::NAN;
    }
    let kept = || coded.iter().filter(|&&(code, _)| code != MISSING);
    let mean = || {
        let sum: f64 = kept()
            .map(|&(code, rows)| value(code) * f64::from(rows))
            .sum();
        sum / present as f64
    };
    match center {
        Center::Mean => mean(),
        Center::Median => {
            let mut sorted: Vec<(f64, u32)> =
                kept().map(|&(code, rows)| (value(code), rows)).collect();
            sorted.sort_by(|left, right| left.0.total_cmp(&right.0));
            middle(&sorted, present)
        }
        Center::Mode => {
            let counts = counted(kept().copied().collect());
            value(most_frequent(&counts))
        }
        Center::Medoid => {
            let mean = mean();
            let nearest = kept().map(|&(code, _)| value(code)).min_by(|left, right| {
                let far = |value: &f64| (value - mean).abs();
                far(left).total_cmp(&far(right)).then(left.total_cmp(right))
            });
            nearest.unwrap_or(f64::NAN)
        }
    }
}

/// The lower weighted median of sorted values.
fn middle<V: Copy>(sorted: &[(V, u32)], rows: u64) -> V {
    let mut below = 0;
    for &(value, count) in sorted {
        below += u64::from(count);
        if 2 * below >= rows {
            return value;
        }
    }
    sorted[sorted.len() - 1].0
}

/// Rows by code, ascending.
fn counted(mut coded: Vec<Member>) -> Vec<Member> {
    let last = coded.iter().map(|&(code, _)| code as usize).max();
    if let Some(last) = last.filter(|&last| last <= 2 * coded.len()) {
        let mut rows = vec![0; last + 1];
        for (code, count) in coded {
            rows[code as usize] += count;
        }
        return (0..).zip(rows).filter(|&(_, rows)| rows > 0).collect();
    }
    coded.sort_unstable();
    coded.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 += later.1;
        }
        same
    });
    coded
}

/// The code with most rows, of equals the lowest; 0 (missing) if there is none.
fn most_frequent(counts: &[Member]) -> u32 {
    let mut best = (MISSING, 0);
    for &(code, rows) in counts {
        if rows > best.1 {
            best = (code, rows);
        }
    }
    best.0
}

fn category(
    feature: &Feature,
    mut counts: Vec<Member>,
    before: Option<u32>,
    distance: &dyn Fn(u32, u32) -> f64,
) -> u32 {
    let total: u64 = counts.iter().map(|&(_, rows)| u64::from(rows)).sum();
    let missing = counts
        .first()
        .filter(|&&(code, _)| code == MISSING)
        .map_or(0, |&(_, rows)| u64::from(rows));
    if feature.missing == Missing::Masked && missing > 0 {
        if 2 * missing > total || missing == total {
            return MISSING;
        }
        counts.remove(0);
    }
    match (feature.center, &feature.domain) {
        (Center::Median, Domain::Ordinal { ranks }) => {
            // As a category of its own, missing has no rank: it is the centre only where it is more than half.
            if 2 * missing > total {
                return MISSING;
            }
            let mut sorted: Vec<(u32, u32)> = counts
                .iter()
                .filter(|&&(code, _)| code != MISSING)
                .map(|&(code, rows)| (code, rows))
                .collect();
            sorted.sort_by_key(|&(code, _)| ranks[code as usize]);
            middle(&sorted, total - missing)
        }
        (Center::Medoid, _) if counts.len() <= MOST_CANDIDATES => medoid(&counts, before, distance),
        (Center::Mean | Center::Median | Center::Mode | Center::Medoid, _) => {
            most_frequent(&counts)
        }
    }
}

/// The candidate with the least summed distance, of equals the lowest code.
fn medoid(counts: &[Member], before: Option<u32>, distance: &dyn Fn(u32, u32) -> f64) -> u32 {
    let mut candidates: Vec<u32> = counts.iter().map(|&(code, _)| code).collect();
    candidates.extend(before.filter(|&code| code != MISSING));
    candidates.sort_unstable();
    candidates.dedup();
    let sum = |candidate: u32| -> f64 {
        let terms = counts
            .iter()
            .map(|&(code, rows)| f64::from(rows) * distance(code, candidate));
        terms.sum()
    };
    let mut best = (MISSING, f64::INFINITY);
    for candidate in candidates {
        let sum = sum(candidate);
        if sum < best.1 {
            best = (candidate, sum);
        }
    }
    best.0
}
