//! What stands for a class, reckoned anew from the values of its rows.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use super::values::{Place, Values};
use crate::declaration::{ValueType, seconds_told};

/// Distinct values up to which a medoid is looked for; beyond, the most frequent value stands for a class.
const MOST_CANDIDATES: usize = 2048;
/// Rounding that summed distances forgive.
const ROUNDING: f64 = 1e-9;

/// The centres of one column.
pub(super) struct Center<'a> {
    pub(super) values: &'a Values<'a>,
    /// Whether the output has all quasi-identifiers, so that classes of equal texts are those that centres were made of.
    pub(super) is_whole: bool,
}

impl Center<'_> {
    /// Whether a text stands for a class with these numbers of rows by value code.
    pub(super) fn is_of(&self, counts: &BTreeMap<u32, u64>, text: Option<&str>) -> bool {
        let rows: u64 = counts.values().sum();
        let missing = counts.get(&0).copied().unwrap_or(0);
        if self.values.are_placed() {
            let is_missing = 2 * missing > rows || missing == rows;
            return match text {
                None => is_missing,
                Some(text) => !is_missing && self.is_middle(counts, rows - missing, text),
            };
        }
        if self.values.path(0).is_some() && counts.len() <= MOST_CANDIDATES {
            return self.is_medoid(counts, text);
        }
        self.is_mode(counts, text)
    }

    /// The mean of numbers, the lower median of ordered values.
    fn is_middle(&self, counts: &BTreeMap<u32, u64>, rows: u64, text: &str) -> bool {
        let present = counts.iter().filter_map(|(&code, &rows)| {
            let place = self.values.place(self.values.text(code)?)?;
            Some((place, rows))
        });
        let present: Vec<(Place, u64)> = present.collect();
        match self.values.place(text) {
            None => false,
            Some(Place::Number(found)) => self.is_mean(&present, rows, found),
            Some(Place::Rank(_)) => {
                let Some(median) = self.values.place(text) else {
                    return false;
                };
                let sum = |is: &dyn Fn(&Place) -> bool| -> u64 {
                    let kept = present.iter().filter(|(place, _)| is(place));
                    kept.map(|&(_, rows)| rows).sum()
                };
                let is_borne = present.iter().any(|(place, _)| *place == median);
                is_borne
                    && 2 * sum(&|place| *place < median) < rows
                    && 2 * sum(&|place| *place <= median) >= rows
            }
        }
    }

    /// Within half a unit of the last digit that means are written with.
    fn is_mean(&self, present: &[(Place, u64)], rows: u64, found: Decimal) -> bool {
        let declaration = &self.values.attribute.declaration;
        let half = if declaration.value_type == ValueType::Date {
            let format = declaration.date_format();
            match seconds_told(format) {
                // Days are counted in days.
                86_400 => Decimal::new(5, 1),
                seconds => Decimal::from(seconds) / Decimal::TWO,
            }
        } else {
            let scales = self.values.dictionary().iter().filter_map(|text| {
                match self.values.place(text)? {
                    Place::Number(number) => Some(number.scale()),
                    Place::Rank(_) => None,
                }
            });
            Decimal::new(5, (scales.max().unwrap_or(0) + 3).min(28))
        };
        let mut sum = Some(Decimal::ZERO);
        let mut rough = 0.0;
        for (place, count) in present {
            let Place::Number(number) = place else {
                return false;
            };
            let term = number.checked_mul(Decimal::from(*count));
            sum = sum.zip(term).and_then(|(sum, term)| sum.checked_add(term));
            rough += number.to_f64().unwrap_or(f64::NAN) * *count as f64;
        }
        if let Some(mean) = sum.and_then(|sum| sum.checked_div(Decimal::from(rows))) {
            // A quotient of 28 digits may be off by one in the last.
            return (found - mean).abs() <= half + Decimal::new(1, 24);
        }
        let rough = rough / rows as f64;
        let far = (found.to_f64().unwrap_or(f64::NAN) - rough).abs();
        far <= half.to_f64().unwrap_or(0.0) + ROUNDING * rough.abs()
    }

    /// Most frequent; of equals the first by text, missing before all.
    fn is_mode(&self, counts: &BTreeMap<u32, u64>, text: Option<&str>) -> bool {
        let most = counts.values().max().copied().unwrap_or(0);
        let frequent = counts.iter().filter(|&(_, &rows)| rows == most);
        let first = frequent.map(|(&code, _)| self.values.text(code)).min();
        first == Some(text)
    }

    /// A value of the class; where classes are whole, one with the least summed distance to all.
    fn is_medoid(&self, counts: &BTreeMap<u32, u64>, text: Option<&str>) -> bool {
        let mut codes = counts.keys().copied();
        let Some(code) = codes.find(|&code| self.values.text(code) == text) else {
            return false;
        };
        if !self.is_whole {
            return true;
        }
        let hierarchy = self.values.attribute.hierarchy.as_ref();
        let Some(encoded) =
            hierarchy.and_then(|hierarchy| hierarchy.encode(self.values.dictionary()).ok())
        else {
            return false;
        };
        // From the top down: nodes of a value, those left out that only repeat the one above.
        let way = |code: u32| -> Vec<(usize, u32)> {
            let mut node = encoded.levels[0].node_of[code as usize];
            let mut nodes = vec![(0, node)];
            for level in 1..encoded.levels.len() {
                let parent = encoded.levels[level - 1].parent[node as usize];
                let (below, above) = (&encoded.levels[level - 1], &encoded.levels[level]);
                let (child, own) = (node as usize, parent as usize);
                let repeats = above.labels[own].is_some()
                    && above.labels[own] == below.labels[child]
                    && above.leaves[own] == below.leaves[child];
                if repeats {
                    nodes.pop();
                }
                nodes.push((level, parent));
                node = parent;
            }
            nodes.reverse();
            nodes
        };
        let ways: BTreeMap<u32, Vec<(usize, u32)>> =
            counts.keys().map(|&code| (code, way(code))).collect();
        let distance = |left: u32, right: u32| {
            if left == right {
                return 0.0;
            }
            if left == 0 || right == 0 {
                return 1.0;
            }
            let (left, right) = (&ways[&left], &ways[&right]);
            if left == right {
                return 0.0;
            }
            let common = left
                .iter()
                .zip(right)
                .take_while(|(one, other)| one == other);
            let depths = (left.len() + right.len()) as f64 - 2.0;
            1.0 - 2.0 * (common.count() as f64 - 1.0) / depths
        };
        let sum = |candidate: u32| -> f64 {
            let terms = counts.iter();
            terms
                .map(|(&code, &rows)| rows as f64 * distance(code, candidate))
                .sum()
        };
        let own = sum(code);
        let least = counts
            .keys()
            .map(|&code| sum(code))
            .fold(f64::INFINITY, f64::min);
        own <= least + ROUNDING * least.max(1.0)
    }
}
