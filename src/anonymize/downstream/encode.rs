//! Labels as numbers that a model can be trained on.
//!
//! The encoding is learnt on training labels alone. A column whose training labels are numbers, intervals and `*` becomes
//! one number (an interval by its middle, a set by the mean of its members, what is unknown by the training mean),
//! standardised; another column becomes one 0/1 number per frequent label. Rare, new and missing labels are no label: all 0.

use crate::anonymize::clusters::wording::{self, Stated};

/// Most labels of a column that get a number of their own.
const MOST_LABELS: usize = 30;

/// A column of labels, by code.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feature {
    /// Label of each code; `None`: missing.
    pub labels: Vec<Option<Box<str>>>,
    /// Code of each row.
    pub codes: Vec<u32>,
    /// Whether numbers are read as numbers; else they are names.
    pub is_number: bool,
}

/// How one column is encoded.
#[derive(Debug, Clone, PartialEq)]
enum Column {
    Number { mean: f64, deviation: f64 },
    Labels(Vec<Box<str>>),
}

/// How all columns are encoded, learnt on some rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoder {
    columns: Vec<Column>,
}

impl Encoder {
    /// Learns from rows. Cost: one pass over the codes of the rows.
    #[must_use]
    pub fn learn(features: &[Feature], rows: &[u32]) -> Self {
        let columns = features.iter().map(|feature| column(feature, rows));
        Self {
            columns: columns.collect(),
        }
    }

    /// Numbers per row.
    #[must_use]
    pub fn width(&self) -> usize {
        let width = |column: &Column| match column {
            Column::Number { .. } => 1,
            Column::Labels(labels) => labels.len(),
        };
        self.columns.iter().map(width).sum()
    }

    /// The rows, one after another. The features may be others than those learnt from, but stand for the same columns.
    #[must_use]
    pub fn encode(&self, features: &[Feature], rows: &[u32]) -> Vec<f64> {
        let width = self.width();
        let mut out = vec![0.0; width * rows.len()];
        let mut at = 0;
        for (column, feature) in self.columns.iter().zip(features) {
            match column {
                Column::Number { mean, deviation } => {
                    let scaled = |label: &Option<Box<str>>| {
                        let number = label.as_deref().and_then(middle);
                        number.map_or(0.0, |number| (number - mean) / deviation)
                    };
                    let by_code: Vec<f64> = feature.labels.iter().map(scaled).collect();
                    for (place, &row) in rows.iter().enumerate() {
                        out[place * width + at] = by_code[feature.codes[row as usize] as usize];
                    }
                    at += 1;
                }
                Column::Labels(known) => {
                    let place_of = |label: &Option<Box<str>>| {
                        known.iter().position(|known| Some(known) == label.as_ref())
                    };
                    let by_code: Vec<Option<usize>> = feature.labels.iter().map(place_of).collect();
                    for (place, &row) in rows.iter().enumerate() {
                        if let Some(label) = by_code[feature.codes[row as usize] as usize] {
                            out[place * width + at + label] = 1.0;
                        }
                    }
                    at += known.len();
                }
            }
        }
        out
    }
}

fn column(feature: &Feature, rows: &[u32]) -> Column {
    let mut counts = vec![0_u64; feature.labels.len()];
    for &row in rows {
        counts[feature.codes[row as usize] as usize] += 1;
    }
    let present: Vec<(&str, u64)> = feature
        .labels
        .iter()
        .zip(&counts)
        .filter(|&(_, &count)| count > 0)
        .filter_map(|(label, &count)| Some((label.as_deref()?, count)))
        .collect();
    let numbers: Option<Vec<(f64, u64)>> = present
        .iter()
        .filter(|(label, _)| *label != "*")
        .map(|&(label, count)| Some((middle(label)?, count)))
        .collect();
    if let Some(numbers) = numbers.filter(|_| feature.is_number) {
        let total = numbers
            .iter()
            .map(|&(_, count)| count as f64)
            .sum::<f64>()
            .max(1.0);
        let sum = |term: &dyn Fn(f64) -> f64| {
            let terms = numbers
                .iter()
                .map(|&(number, count)| term(number) * count as f64);
            terms.sum::<f64>()
        };
        let mean = sum(&|number| number) / total;
        let variance = sum(&|number| (number - mean) * (number - mean)) / total;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        return Column::Number { mean, deviation };
    }
    let mut present: Vec<(&str, u64)> = present;
    present.sort_unstable_by(|left, right| right.1.cmp(&left.1).then(left.0.cmp(right.0)));
    // One code may stand for a label of another: equal texts are one label.
    let mut known: Vec<Box<str>> = Vec::new();
    for (label, _) in present {
        if known.len() < MOST_LABELS && !known.iter().any(|known| &**known == label) {
            known.push(label.into());
        }
    }
    known.sort_unstable();
    Column::Labels(known)
}

/// The number that a label stands for: itself, the middle of `[a, b)`, `[a, b]`, `[a-b]` or `a-b`, the mean of `{a, b}`
/// or of the middle in `{\N, [a, b]}`, the end of `a+`, `>=a` or `<a`. `None` of any other text.
#[must_use]
pub fn middle(label: &str) -> Option<f64> {
    let text = label.trim();
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some(number);
    }
    if let Some(set) = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    {
        // A hierarchy may write its sets without a space.
        let members = || set.split(',').map(middle).collect::<Option<Vec<f64>>>();
        return of_class(text).or_else(|| mean(&members()?));
    }
    if let Some(end) = text.strip_suffix('+') {
        return end.trim().parse().ok();
    }
    for sign in [">=", "<=", "<", ">"] {
        if let Some(end) = text.strip_prefix(sign) {
            return end.trim().parse().ok();
        }
    }
    let inside = text
        .trim_start_matches(['[', '('])
        .trim_end_matches(['[', ']', ')']);
    // A minus sign at the beginning is no separator.
    let separator = inside
        .char_indices()
        .skip(1)
        .find(|&(_, letter)| matches!(letter, ',' | '-' | '\u{2013}'))?;
    let (low, high) = (
        &inside[..separator.0],
        &inside[separator.0 + separator.1.len_utf8()..],
    );
    let (low, high): (f64, f64) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
    Some(low.midpoint(high))
}

/// The mean of the members of a class's set, missing cells left out.
fn of_class(text: &str) -> Option<f64> {
    let members = wording::stated(text)?.into_iter();
    let present = members.filter(|member| *member != Stated::Missing);
    let numbers: Option<Vec<f64>> = present
        .map(|member| match member {
            Stated::Missing => None,
            Stated::Value(value) => middle(&value),
            Stated::Interval(low, high) => {
                let end = |text: &str| text.parse::<f64>().ok().filter(|end| end.is_finite());
                Some(end(&low)?.midpoint(end(&high)?))
            }
        })
        .collect();
    mean(&numbers?)
}

fn mean(numbers: &[f64]) -> Option<f64> {
    let sum: f64 = numbers.iter().sum();
    (!numbers.is_empty()).then(|| sum / numbers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_with_missing_cells_stands_for_its_numbers() {
        let found = [r"{\N, [0, 1]}", r"{\N, 19}", r"{\N, -2.5, 3.5}", r"{\N}"].map(middle);
        assert_eq!(found, [Some(0.5), Some(19.0), Some(0.5), None]);
        // One such class does not turn the column's numbers into names.
        let train = feature(
            &[None, Some("[0, 4]"), Some(r"{\N, [9, 11]}")],
            &[1, 2],
            true,
        );
        let encoder = Encoder::learn(std::slice::from_ref(&train), &[0, 1]);
        let raw = feature(
            &[None, Some("2"), Some("10"), Some("6")],
            &[1, 2, 3, 0],
            true,
        );
        assert_eq!(encoder.encode(&[raw], &[0, 1, 2, 3]), [-1.0, 1.0, 0.0, 0.0]);
    }

    fn feature(labels: &[Option<&str>], codes: &[u32], is_number: bool) -> Feature {
        Feature {
            labels: labels.iter().map(|label| label.map(Box::from)).collect(),
            codes: codes.to_vec(),
            is_number,
        }
    }

    #[test]
    fn labels_of_every_kind_have_their_middle() {
        let found = [
            "7",
            "[20, 30)",
            "[20, 30]",
            "[20-30[",
            "-5--3",
            "90+",
            "<18",
            "{1, 2, 6}",
        ]
        .map(middle);
        let expected = [7.0, 25.0, 25.0, 25.0, -4.0, 90.0, 18.0, 3.0].map(Some);
        assert_eq!(found, expected);
        assert_eq!(
            ["*", "", "young", "NaN", "{}", "1-x"].map(middle),
            [None; 6]
        );
    }

    #[test]
    fn numbers_are_standardised_by_training_rows_and_unknown_ones_are_their_mean() {
        let ages = feature(
            &[None, Some("[0, 10)"), Some("[10, 20)"), Some("*")],
            &[1, 2, 0, 3, 2],
            true,
        );
        let encoder = Encoder::learn(std::slice::from_ref(&ages), &[0, 1]);
        assert_eq!(encoder.width(), 1);
        assert_eq!(
            encoder.encode(&[ages], &[0, 1, 2, 3, 4]),
            [-1.0, 1.0, 0.0, 0.0, 1.0]
        );
    }

    #[test]
    fn names_are_one_of_the_labels_met_in_training() {
        let towns = feature(
            &[None, Some("Ulm"), Some("Bonn"), Some("Kiel")],
            &[1, 2, 2, 3, 0],
            false,
        );
        let encoder = Encoder::learn(std::slice::from_ref(&towns), &[0, 1, 2]);
        let encoded = encoder.encode(&[towns], &[0, 1, 3, 4]);
        assert_eq!(encoded, [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let codes = feature(&[None, Some("1"), Some("2")], &[1, 2], false);
        assert_eq!(Encoder::learn(&[codes], &[0, 1]).width(), 2);
    }
}
