//! What released labels say: which values each of them can stand for.
//!
//! A label is read as an attacker reads it, as a text: it stands for every value that it is on the way to `*` of, in any
//! level of the hierarchy. So any release whose labels come from the declared hierarchies can be read: of levels, of
//! cuts, of a series. Labels that state a closed interval `[a, b]` or a set `{a, b}` are read as such.

use rust_decimal::Decimal;

use crate::anonymize::clusters::extent::Region;
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::table::{Column, Dictionary, MISSING};
use crate::declaration::ValueType;

/// The label of the topmost node.
const TOP: &str = "*";

/// How far a known number may lie from the true one where knowledge is taken to be inexact.
const NOISE: Decimal = Decimal::ONE;

/// The values of one quasi-identifier, with what every released label says of them.
#[derive(Debug, Clone)]
pub(super) struct Labels {
    /// Codes of values; those of numbers are in order of value, so that an error is a range of codes.
    values: Dictionary,
    /// Of numbers: by code - 1.
    numbers: Option<Vec<Decimal>>,
    /// By label code of the released column (0: missing).
    regions: Vec<Region>,
}

impl Labels {
    /// Reads the labels of a released column over the values of other columns of the attribute.
    ///
    /// A value without a place in the hierarchy is compatible with `*` alone. Cost: one path per distinct value, and the
    /// sum of the values under each label.
    pub(super) fn read<'a>(
        released: &Column,
        known: impl IntoIterator<Item = &'a Column>,
        hierarchy: Option<&Hierarchy>,
        value_type: ValueType,
    ) -> Self {
        let texts = known
            .into_iter()
            .flat_map(|column| column.dictionary.iter().map(str::to_owned));
        let mut texts: Vec<String> = texts.collect();
        let is_number = matches!(value_type, ValueType::Integer | ValueType::Decimal);
        let mut numbers = None;
        if is_number {
            let parsed: Option<Vec<Decimal>> = texts.iter().map(|text| text.parse().ok()).collect();
            if let Some(mut parsed) = parsed {
                let ends = parsed
                    .iter()
                    .flat_map(|value| [value.checked_sub(NOISE), value.checked_add(NOISE)]);
                let ends: Vec<Decimal> = ends.flatten().collect();
                parsed.extend(ends);
                let mut parsed: Vec<Decimal> = parsed.iter().map(Decimal::normalize).collect();
                parsed.sort_unstable();
                parsed.dedup();
                texts = parsed.iter().map(Decimal::to_string).collect();
                numbers = Some(parsed);
            }
        }
        let mut values = Dictionary::default();
        for text in &texts {
            values.insert(text);
        }
        let regions = regions(released, &values, numbers.as_deref(), hierarchy);
        Self {
            values,
            numbers,
            regions,
        }
    }

    /// What a label says.
    pub(super) fn region(&self, label: u32) -> &Region {
        &self.regions[label as usize]
    }

    /// Code of each code of another column of the attribute.
    pub(super) fn codes_of(&self, column: &Column) -> Vec<u32> {
        let code = |value: &str| {
            let text = match &self.numbers {
                Some(_) => value.parse::<Decimal>().map_or_else(
                    |_| value.to_owned(),
                    |number| number.normalize().to_string(),
                ),
                None => value.to_owned(),
            };
            self.values.code(&text).unwrap_or(MISSING)
        };
        let values = column.dictionary.iter().map(code);
        std::iter::once(MISSING).chain(values).collect()
    }

    /// The codes within the error of a number; `None` where the attribute is none.
    pub(super) fn around(&self, code: u32) -> Option<(u32, u32)> {
        let numbers = self.numbers.as_ref()?;
        let value = numbers.get((code as usize).checked_sub(1)?)?;
        let first = numbers.partition_point(|other| *other + NOISE < *value);
        let end = numbers.partition_point(|other| *other <= *value + NOISE);
        let code = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Some((code(first + 1), code(end)))
    }

    /// Labels that can stand for each value code, 0 included, ascending.
    pub(super) fn labels_of_values(&self) -> Vec<Vec<u32>> {
        let mut found = vec![Vec::new(); self.values.len() + 1];
        for (label, region) in (0_u32..).zip(&self.regions) {
            match region {
                Region::Any => found.iter_mut().for_each(|labels| labels.push(label)),
                Region::Values(codes) => {
                    for &code in codes {
                        found[code as usize].push(label);
                    }
                }
                Region::Interval { .. } => {}
            }
        }
        found
    }
}

fn regions(
    released: &Column,
    values: &Dictionary,
    numbers: Option<&[Decimal]>,
    hierarchy: Option<&Hierarchy>,
) -> Vec<Region> {
    let labels = released.dictionary.len();
    let mut codes: Vec<Vec<u32>> = vec![Vec::new(); labels + 1];
    codes[MISSING as usize].push(MISSING);
    let mut is_met = vec![false; labels + 1];
    for (value, code) in values.iter().zip(1_u32..) {
        let path = hierarchy.and_then(|hierarchy| hierarchy.path(Some(value)).ok());
        let path = path.unwrap_or_else(|| vec![Some(value.to_owned())]);
        let mut found: Vec<u32> = path
            .iter()
            .flatten()
            .filter_map(|label| released.dictionary.code(label))
            .collect();
        found.sort_unstable();
        found.dedup();
        for label in found {
            codes[label as usize].push(code);
            is_met[label as usize] = true;
        }
    }
    for (label, place) in released.dictionary.iter().zip(1..) {
        if !is_met[place] {
            codes[place] = stated(label, values, numbers);
        }
    }
    let top = released.dictionary.code(TOP);
    let places = (0_u32..).zip(codes);
    places
        .map(|(place, codes)| {
            if Some(place) == top {
                Region::Any
            } else {
                Region::Values(codes)
            }
        })
        .collect()
}

/// The values that a label states itself: `[a, b]` with both ends, or `{a, b}`. Nothing of any other text.
fn stated(label: &str, values: &Dictionary, numbers: Option<&[Decimal]>) -> Vec<u32> {
    let inner = |open, close| label.strip_prefix(open)?.strip_suffix(close);
    if let (Some(numbers), Some(inside)) = (numbers, inner('[', ']')) {
        let ends = inside.split_once(',').and_then(|(low, high)| {
            let end = |text: &str| text.trim().parse::<Decimal>().ok();
            Some((end(low)?, end(high)?))
        });
        if let Some((low, high)) = ends {
            let codes = (1_u32..).zip(numbers);
            let inside = codes.filter(|&(_, number)| (low..=high).contains(number));
            return inside.map(|(code, _)| code).collect();
        }
    }
    let members = inner('{', '}').into_iter();
    let members = members.flat_map(|inside| inside.split(','));
    let mut codes: Vec<u32> = members
        .filter_map(|member| values.code(member.trim()))
        .collect();
    codes.sort_unstable();
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::{AttributeDeclaration, DatasetDeclaration};
    use serde_json::json;

    fn column(values: &[&str]) -> Column {
        let mut column = Column::default();
        for value in values {
            let code = column.dictionary.insert(value);
            column.codes.push(code);
        }
        column
    }

    fn ages() -> (AttributeDeclaration, Hierarchy) {
        let body = json!({"name": "d", "attributes": [{"name": "age", "role": "quasi_identifying",
            "type": "integer", "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10]}}]});
        let declaration = DatasetDeclaration::parse(&body).unwrap();
        let attribute = declaration.attributes[0].clone();
        let hierarchy = Hierarchy::compile(&attribute, "").unwrap();
        (attribute, hierarchy)
    }

    #[test]
    fn a_label_stands_for_the_values_below_it_in_any_level() {
        let (attribute, hierarchy) = ages();
        let released = column(&["[20, 30)", "31", "*"]);
        let raw = column(&["31", "29", "20", "19"]);
        let labels = Labels::read(&released, [&raw], Some(&hierarchy), attribute.value_type);
        let codes = labels.codes_of(&raw);
        let fits = |label: u32, place: usize| match labels.region(label) {
            Region::Values(found) => found.binary_search(&codes[place]).is_ok(),
            _ => true,
        };
        assert!(fits(1, 2) && fits(1, 3) && !fits(1, 1) && !fits(1, 4));
        assert!(fits(2, 1) && !fits(2, 2) && fits(3, 4));
        // 19 with an error of one may be 20; 31 may be 30, which the first label does not hold.
        let (low, high) = labels.around(codes[4]).unwrap();
        let Region::Values(first) = labels.region(1) else {
            panic!("values")
        };
        assert!(first.iter().any(|code| (low..=high).contains(code)));
        let (low, high) = labels.around(codes[1]).unwrap();
        assert!(!first.iter().any(|code| (low..=high).contains(code)));
    }

    #[test]
    fn stated_intervals_and_sets_hold_their_members() {
        let raw = column(&["20", "25", "31"]);
        let released = column(&["[20, 25]"]);
        let labels = Labels::read(&released, [&raw], None, ValueType::Integer);
        let codes = labels.codes_of(&raw);
        let Region::Values(inside) = labels.region(1) else {
            panic!("values")
        };
        let held: Vec<bool> = codes[1..]
            .iter()
            .map(|code| inside.contains(code))
            .collect();
        assert_eq!(held, [true, true, false]);
        let raw = column(&["Ulm", "Bonn", "Kiel"]);
        let released = column(&["{Bonn, Kiel}", "Ulm"]);
        let labels = Labels::read(&released, [&raw], None, ValueType::Text);
        let by_value = labels.labels_of_values();
        assert_eq!(by_value, [vec![0], vec![2], vec![1], vec![1]]);
    }
}
