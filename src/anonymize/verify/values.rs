//! The values of a column as a reader of the declaration understands them.

use std::cmp::Ordering;

use chrono::{NaiveDate, NaiveDateTime, Timelike};
use rust_decimal::Decimal;

use crate::anonymize::table::{Attribute, Dictionary};
use crate::declaration::{ValueType, has_offset, has_time_of_day};

/// What a value is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// A number; of a date its days, of a moment its seconds.
    Number(Decimal),
    /// Place in the declared order.
    Rank(usize),
}

/// The values of one column.
pub(super) struct Values<'a> {
    pub(super) attribute: &'a Attribute,
    dictionary: &'a Dictionary,
    /// Whether all values have a place.
    is_placed: bool,
    /// By code: labels from level 0 up; of columns that are generalised by their hierarchy only.
    paths: Option<Vec<Vec<Option<String>>>>,
}

impl<'a> Values<'a> {
    /// `None` if a value has no place in the hierarchy.
    pub(super) fn of(attribute: &'a Attribute, dictionary: &'a Dictionary) -> Option<Self> {
        let mut values = Self {
            attribute,
            dictionary,
            is_placed: true,
            paths: None,
        };
        values.is_placed = attribute.declaration.order.is_some()
            || attribute.declaration.value_type != ValueType::Text;
        values.is_placed &= dictionary.iter().all(|text| values.place(text).is_some());
        if !values.is_placed && attribute.declaration.hierarchy.is_some() {
            let hierarchy = attribute.hierarchy.as_ref()?;
            let texts = std::iter::once(None).chain(dictionary.iter().map(Some));
            let paths = texts.map(|text| hierarchy.path(text).ok());
            values.paths = Some(paths.collect::<Option<_>>()?);
        }
        Some(values)
    }

    pub(super) fn text(&self, code: u32) -> Option<&'a str> {
        self.dictionary.value(code)
    }

    pub(super) fn dictionary(&self) -> &'a Dictionary {
        self.dictionary
    }

    /// Labels of a value from level 0 to `*`, of columns that are generalised by their hierarchy.
    pub(super) fn path(&self, code: u32) -> Option<&[Option<String>]> {
        let paths = self.paths.as_ref()?;
        Some(&paths[code as usize])
    }

    /// Whether values are compared by place: numbers, dates, declared orders.
    pub(super) fn are_placed(&self) -> bool {
        self.is_placed
    }

    /// The place of a text, if it has one.
    pub(super) fn place(&self, text: &str) -> Option<Place> {
        let declaration = &self.attribute.declaration;
        if let Some(order) = &declaration.order {
            let trim = |text: &str| {
                let text = if declaration.trim { text.trim() } else { text };
                text.to_owned()
            };
            let place = order.iter().position(|value| trim(value) == trim(text));
            return place.map(Place::Rank);
        }
        let number = match declaration.value_type {
            ValueType::Text => None,
            ValueType::Integer | ValueType::Decimal => {
                let plain = text.parse::<Decimal>();
                plain.or_else(|_| Decimal::from_scientific(text)).ok()
            }
            ValueType::Date => {
                let format = declaration.date_format();
                if has_offset(format) {
                    return None;
                }
                if has_time_of_day(format) {
                    let moment = NaiveDateTime::parse_from_str(text, format).ok()?;
                    (moment.nanosecond() == 0).then_some(())?;
                    Some(Decimal::from(moment.and_utc().timestamp()))
                } else {
                    let date = NaiveDate::parse_from_str(text, format).ok()?;
                    let days = date.signed_duration_since(NaiveDate::default()).num_days();
                    Some(Decimal::from(days))
                }
            }
        };
        number.map(Place::Number)
    }

    /// Whether two texts say the same.
    pub(super) fn are_equal(&self, left: &str, right: &str) -> bool {
        let places = self.place(left).zip(self.place(right));
        self.is_placed && places.is_some_and(|(left, right)| left.cmp(&right) == Ordering::Equal)
    }

    /// Whether a value lies between two others, both included.
    pub(super) fn is_between(&self, low: &str, value: &str, high: &str) -> bool {
        let places = [low, value, high].map(|text| self.place(text));
        let [Some(low), Some(value), Some(high)] = places else {
            return false;
        };
        self.is_placed && low <= value && value <= high
    }
}
