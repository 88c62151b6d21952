//! Binary splits of a numeric column, grown from its values (Fung, Wang and Yu 2005, "Top-down specialization for
//! information and privacy preservation").
//!
//! Without a target a split halves the people; with one it is the split that tells most of the target's value. At least
//! [`LEAST_SUBJECTS`] people are on either side. A point is the roundest number between the two sides: as a rule nobody's
//! value, and never an outermost one.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::Number;

use super::intervals::number_of;
use crate::anonymize::table::{Column, MISSING, Table};
use crate::declaration::exact;

/// The fewest people on one side of a split, whatever the caller asks for.
pub const LEAST_SUBJECTS: u64 = 5;

/// Gains nearer than this, in bits times people, are equal.
const TOLERANCE: f64 = 1e-9;

/// How far to split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growth {
    /// Most splits below one another, and so most levels between the value and `*`.
    pub depth: u32,
    /// Fewest people on one side; at least [`LEAST_SUBJECTS`] are taken.
    pub least_subjects: u64,
}

/// The people of one number.
#[derive(Debug, Clone, Default, PartialEq)]
struct People {
    /// How many have each label that occurs, by code of the target's value.
    labels: BTreeMap<u32, u64>,
}

/// Points of the splits of a column of numbers, one list per level, finest first; empty where nothing can be split.
///
/// `column` and `target` are positions in the table. A person counts once, by the first of their rows that has a number;
/// rows, where no subject is declared. A missing target is a value of its own. Ties go to the lower point.
/// Cost: O(rows * (log values + depth)).
#[must_use]
pub fn grow(
    table: &Table,
    column: usize,
    target: Option<usize>,
    growth: Growth,
) -> Vec<Vec<Number>> {
    let at = |position: usize| table.columns.get(position)?.as_ref();
    let Some(column) = at(column) else {
        return Vec::new();
    };
    let people = people(table, column, target.and_then(at));
    let mut split = Split {
        least: growth.least_subjects.max(LEAST_SUBJECTS),
        tells: target.is_some(),
        points: Vec::new(),
    };
    split.side(&people, 1, growth.depth);
    let deepest = split.points.iter().map(|(depth, ..)| *depth).max();
    let level = |most: u32| {
        let mut points: Vec<&(u32, Decimal, Number)> = split.points.iter().collect();
        points.retain(|(depth, ..)| *depth <= most);
        points.sort_unstable_by_key(|(_, point, _)| *point);
        points
            .into_iter()
            .map(|(.., number)| number.clone())
            .collect()
    };
    (1..=deepest.unwrap_or(0)).rev().map(level).collect()
}

/// The numbers, ascending, with who has them.
fn people(table: &Table, column: &Column, target: Option<&Column>) -> Vec<(Decimal, People)> {
    let number = |value: &str| number_of(value, false).ok();
    let numbers: Vec<Option<Decimal>> = std::iter::once(None)
        .chain(column.dictionary.iter().map(number))
        .collect();
    // Codes of subjects may begin at 1.
    let mut seen = vec![false; table.subject_count() + 1];
    let mut found: BTreeMap<Decimal, People> = BTreeMap::new();
    for (row, &code) in column.codes.iter().enumerate() {
        let Some(number) = numbers[code as usize] else {
            continue;
        };
        let subject = table.subjects.as_ref();
        let subject = subject.map_or(row, |subjects| subjects.codes[row] as usize);
        if std::mem::replace(&mut seen[subject], true) {
            continue;
        }
        let label = target.map_or(MISSING, |target| target.codes[row]);
        *found
            .entry(number)
            .or_default()
            .labels
            .entry(label)
            .or_default() += 1;
    }
    found.into_iter().collect()
}

/// Splits as they are found: depth, point, and the point as JSON has it.
struct Split {
    least: u64,
    tells: bool,
    points: Vec<(u32, Decimal, Number)>,
}

impl Split {
    fn side(&mut self, people: &[(Decimal, People)], depth: u32, deepest: u32) {
        if depth > deepest {
            return;
        }
        let Some(place) = self.best(people) else {
            return;
        };
        let (below, from) = people.split_at(place);
        if let Some((point, number)) = roundest(below[place - 1].0, from[0].0) {
            self.points.push((depth, point, number));
            self.side(below, depth + 1, deepest);
            self.side(from, depth + 1, deepest);
        }
    }

    /// Place of the first number of the upper side.
    fn best(&self, people: &[(Decimal, People)]) -> Option<usize> {
        let (mut lower, mut upper) = (Counts::default(), Counts::default());
        for (_, here) in people {
            for (&label, &count) in &here.labels {
                upper.add(label, count);
            }
        }
        let whole = upper.uncertainty();
        let mut found: Option<(f64, usize)> = None;
        for place in 1..people.len() {
            for (&label, &count) in &people[place - 1].1.labels {
                lower.add(label, count);
                upper.remove(label, count);
            }
            let smaller = lower.total.min(upper.total);
            if smaller < self.least {
                continue;
            }
            // Without a target: the smaller side, which is largest where the people are halved.
            let gain = if self.tells {
                whole - lower.uncertainty() - upper.uncertainty()
            } else {
                smaller as f64
            };
            if gain > found.map_or(0.0, |(greatest, _)| greatest) + TOLERANCE {
                found = Some((gain, place));
            }
        }
        found.map(|(_, place)| place)
    }
}

/// How many people have each label on one side.
#[derive(Default)]
struct Counts {
    total: u64,
    labels: BTreeMap<u32, u64>,
    /// Sum of count times its logarithm.
    weight: f64,
}

impl Counts {
    fn add(&mut self, label: u32, count: u64) {
        let held = self.labels.entry(label).or_default();
        self.weight += weight(*held + count) - weight(*held);
        *held += count;
        self.total += count;
    }

    fn remove(&mut self, label: u32, count: u64) {
        let held = self.labels.entry(label).or_default();
        self.weight += weight(*held - count) - weight(*held);
        *held -= count;
        self.total -= count;
    }

    /// Entropy in bits times people.
    fn uncertainty(&self) -> f64 {
        weight(self.total) - self.weight
    }
}

fn weight(count: u64) -> f64 {
    let count = count as f64;
    if count > 1.0 {
        count * count.log2()
    } else {
        0.0
    }
}

/// The number of fewest digits above `low` and not above `high`; `None` if JSON cannot hold it exactly.
fn roundest(low: Decimal, high: Decimal) -> Option<(Decimal, Number)> {
    let (mantissa, scale) = (high.mantissa(), high.scale());
    (0..=28).rev().find_map(|digits| {
        let floor = mantissa - mantissa.rem_euclid(10_i128.pow(digits));
        let point = Decimal::try_from_i128_with_scale(floor, scale)
            .ok()?
            .normalize();
        let number: Number = serde_json::from_str(&point.to_string()).ok()?;
        (point > low && exact(&number) == Some(point)).then_some((point, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::table::Dictionary;

    fn column(texts: &[String]) -> Column {
        let mut dictionary = Dictionary::default();
        let code = |text: &String| match text.as_str() {
            "" => MISSING,
            text => dictionary.insert(text),
        };
        let codes = texts.iter().map(code).collect();
        Column { dictionary, codes }
    }

    /// Rows of (number, label).
    fn table(rows: &[(&str, &str)]) -> Table {
        let texts = |of: fn(&(&str, &str)) -> String| rows.iter().map(of).collect::<Vec<_>>();
        Table {
            rows: rows.len(),
            columns: vec![
                Some(column(&texts(|row| row.0.to_owned()))),
                Some(column(&texts(|row| row.1.to_owned()))),
            ],
            ..Table::default()
        }
    }

    fn times<'t>(parts: &[(&'t str, &'t str, usize)]) -> Vec<(&'t str, &'t str)> {
        let rows = parts
            .iter()
            .flat_map(|&(number, label, times)| vec![(number, label); times]);
        rows.collect()
    }

    fn points(table: &Table, target: Option<usize>, depth: u32, least_subjects: u64) -> String {
        let growth = Growth {
            depth,
            least_subjects,
        };
        serde_json::json!(grow(table, 0, target, growth)).to_string()
    }

    #[test]
    fn a_target_chooses_the_split_that_tells_most() {
        // 30 people, 15 of each label: 30 bits. At 20: 10 * 0 + 20 * H(1/4) = 16.2, gain 13.8; at 30 the same: the lower
        // one is taken. Of the 20 from 20 on, at 30: 10 * 1 + 10 * 0, gain 6.2.
        let rows = times(&[
            ("10", "a", 10),
            ("20", "a", 5),
            ("20", "b", 5),
            ("30", "b", 10),
        ]);
        assert_eq!(points(&table(&rows), Some(1), 8, 5), "[[20,30],[20]]");
        // Both numbers alike: nothing is told.
        let alike = times(&[("1", "a", 5), ("1", "b", 5), ("2", "a", 5), ("2", "b", 5)]);
        assert_eq!(points(&table(&alike), Some(1), 8, 5), "[]");
    }

    #[test]
    fn people_are_halved_without_a_target() {
        let rows = times(&[
            ("1", "", 6),
            ("2", "", 6),
            ("3", "", 6),
            ("4", "", 6),
            ("900", "", 1),
            ("", "", 9),
        ]);
        let table = table(&rows);
        // 12 of 25 below 3; then 6 and 6; 6 and 7. Never at 900, where one is.
        assert_eq!(points(&table, None, 8, 0), "[[2,3,4],[3]]");
        assert_eq!(points(&table, None, 8, 13), "[]");
        assert_eq!(points(&table, None, 0, 5), "[]");
        assert_eq!(points(&table, None, 1, 5), "[[3]]");
    }

    #[test]
    fn a_person_counts_once() {
        let rows = times(&[("1", "", 5), ("2", "", 5)]);
        let mut table = table(&rows);
        let person = |row: usize| if row < 6 { row } else { 6 };
        let subjects: Vec<String> = (0..10).map(|row| format!("p{}", person(row))).collect();
        // Four of the five rows of 2 are one person's.
        table.subjects = Some(column(&subjects));
        assert_eq!(points(&table, None, 8, 5), "[]");
        table.subjects = None;
        assert_eq!(points(&table, None, 8, 5), "[[2]]");
    }

    #[test]
    fn a_point_is_the_roundest_number_between() {
        let point = |low: &str, high: &str| {
            let (low, high) = (low.parse().unwrap(), high.parse().unwrap());
            roundest(low, high).unwrap().1.to_string()
        };
        assert_eq!(point("123.41", "123.456"), "123.45");
        assert_eq!(point("17", "41"), "40");
        assert_eq!(point("-3", "7"), "0");
        assert_eq!(point("-7.5", "-7.25"), "-7.3");
        assert_eq!(point("34", "35"), "35");
        assert_eq!(point("99", "1234"), "1000");
        let fine = "1.0000000000000000000000000001".parse().unwrap();
        assert_eq!(roundest(Decimal::ONE, fine), None);
    }

    #[test]
    fn every_side_of_every_split_has_enough_people() {
        let mut state = 7_u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut grown = 0;
        for case in 0..200 {
            let labels = 1 + case % 3;
            let rows: Vec<(String, String)> = (0..20 + next(200))
                .map(|_| {
                    (
                        format!("{}.{}", next(30), next(3)),
                        format!("l{}", next(labels)),
                    )
                })
                .collect();
            let rows: Vec<(&str, &str)> = rows
                .iter()
                .map(|(number, label)| (number.as_str(), label.as_str()))
                .collect();
            let least = next(12);
            let growth = Growth {
                depth: 6,
                least_subjects: least,
            };
            let levels = grow(&table(&rows), 0, (labels > 1).then_some(1), growth);
            grown += usize::from(!levels.is_empty());
            for (finer, level) in levels.iter().zip(levels.iter().skip(1)) {
                assert!(
                    level.iter().all(|point| finer.contains(point)) && level.len() < finer.len()
                );
            }
            let Some(finest) = levels.first() else {
                continue;
            };
            let bounds: Vec<f64> = finest.iter().map(|point| point.as_f64().unwrap()).collect();
            let mut sizes = vec![0; bounds.len() + 1];
            for (number, _) in &rows {
                let number: f64 = number.parse().unwrap();
                sizes[bounds.partition_point(|bound| *bound <= number)] += 1;
            }
            assert!(
                sizes.iter().all(|&size| size >= least.max(LEAST_SUBJECTS)),
                "{sizes:?}"
            );
        }
        assert!(grown > 100, "{grown}");
    }
}
