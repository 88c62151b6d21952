//! What released labels say: which values each of them can stand for.
//!
//! A label is read as an attacker reads it, as a text: it stands for every value that it is on the way to `*` of, in any
//! level of the hierarchy. So any release whose labels come from the declared hierarchies can be read: of levels, of
//! cuts, of a series. Labels of classes state intervals and sets ([`super::stated`]), below a hierarchy a node of it; a
//! centroid states nothing of any single value.

use rust_decimal::Decimal;

use super::stated;
use crate::anonymize::clusters::extent::Region;
use crate::anonymize::clusters::scale::{self, Scale};
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::table::{Attribute, Column, Dictionary, MISSING};
use crate::declaration::{Representation, ValueType};

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
    /// By label code of the released column (0: missing); `None` if what some label says cannot be told.
    regions: Option<Vec<Region>>,
}

impl Labels {
    /// Reads the labels of a released column over the values of other columns of the attribute, the raw one first.
    ///
    /// `representation` is that of classes, absent where values are recoded by a policy. A value without a place in the
    /// hierarchy is compatible with `*` alone. Cost: one path per distinct value, and the sum of the values under each
    /// label.
    pub(super) fn read(
        released: &Column,
        known: &[&Column],
        attribute: &Attribute,
        representation: Option<Representation>,
    ) -> Self {
        let texts = known
            .iter()
            .flat_map(|column| column.dictionary.iter().map(str::to_owned));
        let mut texts: Vec<String> = texts.collect();
        let declaration = &attribute.declaration;
        let is_number = matches!(
            declaration.value_type,
            ValueType::Integer | ValueType::Decimal
        );
        let mut numbers = None;
        // A hierarchy may list numbers as they were written.
        let written = texts.clone();
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
        let is_below_hierarchy = || {
            let raw = known.first().map(|column| &column.dictionary);
            raw.is_some_and(|raw| scale::of(attribute, raw).0 == Scale::Taxonomy)
        };
        let regions = match representation {
            Some(Representation::Centroids) => None,
            Some(Representation::Sets) if !is_below_hierarchy() => {
                stated::regions(&released.dictionary, &values, declaration)
            }
            _ => {
                let canonical = values.iter().zip(1..);
                let written = written.iter().map(String::as_str);
                let known = canonical.chain(written.filter_map(|text| {
                    let number = text.parse::<Decimal>().ok()?.normalize();
                    let code = values.code(&number.to_string())?;
                    numbers.is_some().then_some((text, code))
                }));
                Some(regions(released, known, attribute.hierarchy.as_deref()))
            }
        };
        Self {
            values,
            numbers,
            regions,
        }
    }

    /// What a label says; `None` if that cannot be told.
    pub(super) fn region(&self, label: u32) -> Option<&Region> {
        Some(&self.regions.as_ref()?[label as usize])
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

    /// Labels that can stand for each value code, 0 included, ascending; `None` if that cannot be told.
    pub(super) fn labels_of_values(&self) -> Option<Vec<Vec<u32>>> {
        let mut found = vec![Vec::new(); self.values.len() + 1];
        for (label, region) in (0_u32..).zip(self.regions.as_ref()?) {
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
        Some(found)
    }
}

/// By label code: the codes below it, of texts with their codes.
fn regions<'a>(
    released: &Column,
    known: impl Iterator<Item = (&'a str, u32)>,
    hierarchy: Option<&Hierarchy>,
) -> Vec<Region> {
    let labels = released.dictionary.len();
    let mut codes: Vec<Vec<u32>> = vec![Vec::new(); labels + 1];
    codes[MISSING as usize].push(MISSING);
    for (value, code) in known {
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
        }
    }
    for codes in &mut codes {
        codes.sort_unstable();
        codes.dedup();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::table::Schema;
    use crate::declaration::DatasetDeclaration;
    use serde_json::{Value, json};

    fn column(values: &[&str]) -> Column {
        let mut column = Column::default();
        for value in values {
            let code = column.dictionary.insert(value);
            column.codes.push(code);
        }
        column
    }

    fn attribute(body: &Value) -> Attribute {
        let body = json!({"name": "d", "attributes": [body]});
        let declaration = DatasetDeclaration::parse(&body).unwrap();
        let schema = Schema::compile(&declaration).unwrap();
        schema.attributes()[0].clone()
    }

    fn ages() -> Attribute {
        attribute(
            &json!({"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10]}}),
        )
    }

    fn values(labels: &Labels, label: u32) -> &[u32] {
        let Some(Region::Values(found)) = labels.region(label) else {
            panic!("values")
        };
        found
    }

    #[test]
    fn a_label_stands_for_the_values_below_it_in_any_level() {
        let released = column(&["[20, 30)", "31", "*"]);
        let raw = column(&["31", "29", "20", "19"]);
        let labels = Labels::read(&released, &[&raw], &ages(), None);
        let codes = labels.codes_of(&raw);
        let fits =
            |label: u32, place: usize| values(&labels, label).binary_search(&codes[place]).is_ok();
        assert!(fits(1, 2) && fits(1, 3) && !fits(1, 1) && !fits(1, 4));
        assert!(fits(2, 1) && !fits(2, 2));
        assert_eq!(labels.region(3), Some(&Region::Any));
        // 19 with an error of one may be 20; 31 may be 30, which the first label does not hold.
        let (low, high) = labels.around(codes[4]).unwrap();
        let first = values(&labels, 1);
        assert!(first.iter().any(|code| (low..=high).contains(code)));
        let (low, high) = labels.around(codes[1]).unwrap();
        assert!(!first.iter().any(|code| (low..=high).contains(code)));
    }

    /// By label from 1: the raw values that it holds.
    fn held(more: &Value, labels: &[&str], raw: &[&str]) -> Vec<Vec<String>> {
        let mut body = json!({"name": "x", "role": "quasi_identifying"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (released, raw) = (column(labels), column(raw));
        let sets = Some(Representation::Sets);
        let found = Labels::read(&released, &[&raw], &attribute(&body), sets);
        let codes = found.codes_of(&raw);
        let of_label = |label: u32| {
            let held = values(&found, label);
            let inside = |code: &u32| held.contains(&codes[*code as usize]);
            let values = (0..).take(codes.len()).filter(inside);
            let text = |code: u32| raw.dictionary.value(code).unwrap_or("missing").to_owned();
            values.map(text).collect()
        };
        (1..).take(labels.len()).map(of_label).collect()
    }

    #[test]
    fn labels_of_classes_hold_what_they_state() {
        let integers = held(
            &json!({"type": "integer"}),
            &["[20, 25]", r"{\N, [25, 31]}", r"{\N, 20}", "31"],
            &["20", "25", "31"],
        );
        assert_eq!(
            integers,
            [
                vec!["20", "25"],
                vec!["missing", "25", "31"],
                vec!["missing", "20"],
                vec!["31"]
            ]
        );
        let dates = held(
            &json!({"type": "date", "format": "%d.%m.%Y"}),
            &["[30.01.2020, 02.02.2020]"],
            &["01.02.2020", "03.02.2020", "30.01.2020"],
        );
        assert_eq!(dates, [["01.02.2020", "30.01.2020"]]);
        let sizes = held(
            &json!({"order": ["s", "m", "l", "xl"]}),
            &["[m, xl]", "s"],
            &["s", "xl", "l", "m"],
        );
        assert_eq!(sizes, [vec!["xl", "l", "m"], vec!["s"]]);
        let texts = held(
            &json!({}),
            &[r"{\N, a\, b, \{c\}}", "a", r"{\[1\, 2\]}", "*"],
            &["a, b", "a", "b", "{c}", "[1, 2]", "*"],
        );
        assert_eq!(
            texts,
            [
                vec!["missing", "a, b", "{c}"],
                vec!["a"],
                vec!["[1, 2]"],
                vec!["*"]
            ]
        );
        let towns = json!({"hierarchy": {"kind": "taxonomy", "label": "*", "children": [
            {"label": "north", "children": [{"label": "Kiel"}, {"label": "Bonn"}]}, {"label": "Ulm"}]}});
        let towns = held(&towns, &["north", "Ulm"], &["Bonn", "Kiel", "Ulm"]);
        assert_eq!(towns, [vec!["Bonn", "Kiel"], vec!["Ulm"]]);
    }

    #[test]
    fn a_hierarchy_lists_numbers_as_they_were_written() {
        let doses = attribute(
            &json!({"name": "dose", "role": "quasi_identifying", "type": "decimal",
            "hierarchy": {"kind": "table", "text": "1.50;low;*\n2.50;low;*\n9;high;*"}}),
        );
        let (released, raw) = (column(&["low", "9"]), column(&["1.50", "2.50", "9"]));
        let labels = Labels::read(&released, &[&raw], &doses, None);
        let codes = labels.codes_of(&raw);
        let low = values(&labels, 1);
        assert!(low.contains(&codes[1]) && low.contains(&codes[2]) && !low.contains(&codes[3]));
        assert_eq!(values(&labels, 2), [codes[3]]);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let raw = column(&["20", "25"]);
        let read = |label: &str, representation| {
            let released = column(&[label]);
            let number =
                attribute(&json!({"name": "x", "role": "quasi_identifying", "type": "integer"}));
            let labels = Labels::read(&released, &[&raw], &number, Some(representation));
            (
                labels.region(1).is_some(),
                labels.labels_of_values().is_some(),
            )
        };
        assert_eq!(read("22.5", Representation::Centroids), (false, false));
        assert_eq!(read("[a, b]", Representation::Sets), (false, false));
        assert_eq!(read("[20, 25]", Representation::Sets), (true, true));
    }
}
