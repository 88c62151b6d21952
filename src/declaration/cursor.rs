//! A walk over a JSON value that collects faults instead of stopping at the first.
//!
//! A [`Cursor`] is a value and its JSON Pointer. Every reader gives `None` after it has pushed a fault, so a caller reads
//! on and joins the pieces at the end: one answer then holds all that is wrong. `null` is the same as an absent field.
//! What the caller wrote is quoted in `sample` alone; `detail` names fields, ranges and legal values.

use std::ops::RangeInclusive;

use serde_json::{Number, Value};
use uuid::Uuid;

use super::number::{Fraction, exact};
use super::object::Object;
use super::words::{Words, nearest};
use crate::fault::{Fault, FaultCode, Faults};

/// A value of the request body and where it stands.
#[derive(Debug, Clone)]
pub struct Cursor<'v> {
    pub(super) value: &'v Value,
    pub(super) pointer: String,
}

impl<'v> Cursor<'v> {
    /// The whole body.
    #[must_use]
    pub fn root(value: &'v Value) -> Self {
        Self {
            value,
            pointer: String::new(),
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn pointer(&self) -> &str {
        &self.pointer
    }

    /// A fault at this place.
    #[must_use]
    pub fn fault(&self, code: FaultCode, detail: impl Into<String>) -> Fault {
        Fault::at(self.pointer.clone(), code, detail)
    }

    /// Whether it is this value.
    #[must_use]
    pub fn is(&self, value: &Value) -> bool {
        self.value == value
    }

    /// Whether an object stands here.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.value.is_object()
    }

    /// Whether a list stands here.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.value.is_array()
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.value.is_null()
    }

    fn wrong_type(&self, wanted: &str) -> Fault {
        let found = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        let detail = format!("{wanted} is wanted here, not {found}");
        self.fault(FaultCode::WrongType, detail)
    }

    /// An object.
    pub fn object(&self, faults: &mut Faults) -> Option<Object<'v>> {
        if let Value::Object(fields) = self.value {
            return Some(Object {
                fields,
                pointer: self.pointer.clone(),
            });
        }
        faults.push(self.wrong_type("an object"));
        None
    }

    /// The elements of a list.
    pub fn list(&self, faults: &mut Faults) -> Option<Vec<Self>> {
        let Value::Array(elements) = self.value else {
            faults.push(self.wrong_type("a list"));
            return None;
        };
        let element = |(position, value)| Self {
            value,
            pointer: format!("{}/{position}", self.pointer),
        };
        Some(elements.iter().enumerate().map(element).collect())
    }

    /// A string without U+0000, which no store of text can keep.
    pub fn text(&self, faults: &mut Faults) -> Option<&'v str> {
        match self.value.as_str() {
            None => faults.push(self.wrong_type("a string")),
            Some(text) if text.contains('\0') => {
                let detail = "the character U+0000 is not allowed";
                faults.push(self.fault(FaultCode::InvalidValue, detail));
            }
            text => return text,
        }
        None
    }

    /// A number as it is written; `None` of anything else.
    #[must_use]
    pub fn number_text(&self) -> Option<String> {
        match self.value {
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A list of strings; an element that is none is a fault.
    pub fn texts(&self, faults: &mut Faults) -> Option<Vec<String>> {
        let elements = self.list(faults)?;
        let texts: Vec<Option<String>> = elements
            .iter()
            .map(|element| element.text(faults).map(str::to_owned))
            .collect();
        texts.into_iter().collect()
    }

    /// `true` or `false`.
    pub fn boolean(&self, faults: &mut Faults) -> Option<bool> {
        let boolean = self.value.as_bool();
        if boolean.is_none() {
            faults.push(self.wrong_type("`true` or `false`"));
        }
        boolean
    }

    /// A whole number of a range. `2.5` is of the wrong type; `2.0` is 2.
    pub fn whole(&self, range: &RangeInclusive<u64>, faults: &mut Faults) -> Option<u64> {
        let wanted = if *range.end() == u64::MAX {
            format!("a whole number from {}", range.start())
        } else {
            format!("a whole number from {} to {}", range.start(), range.end())
        };
        let Value::Number(number) = self.value else {
            faults.push(self.wrong_type(&wanted));
            return None;
        };
        match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) if range.contains(&whole) => return Some(whole),
            (None, Some(float)) if float.fract() != 0.0 => {
                faults.push(self.fault(FaultCode::WrongType, format!("{wanted} is wanted here")));
            }
            (None, Some(float)) if float >= 0.0 => {
                if let Some(whole) = whole_of(number).filter(|whole| range.contains(whole)) {
                    return Some(whole);
                }
                faults.push(self.fault(FaultCode::OutOfRange, format!("{wanted} is wanted here")));
            }
            _ => faults.push(self.fault(FaultCode::OutOfRange, format!("{wanted} is wanted here"))),
        }
        None
    }

    /// A finite number for which `legal` holds; `wanted` says which ones those are.
    pub fn number(
        &self,
        wanted: &str,
        legal: impl Fn(f64) -> bool,
        faults: &mut Faults,
    ) -> Option<f64> {
        let Value::Number(number) = self.value else {
            faults.push(self.wrong_type(wanted));
            return None;
        };
        let value = number
            .as_f64()
            .filter(|value| value.is_finite() && legal(*value));
        if value.is_none() {
            faults.push(self.fault(FaultCode::OutOfRange, format!("{wanted} is wanted here")));
        }
        value
    }

    /// A fraction from 0 to 1; percent are refused with the fraction that is meant (user-cases D7).
    pub fn fraction(&self, faults: &mut Faults) -> Option<Fraction> {
        let Value::Number(number) = self.value else {
            faults.push(self.wrong_type("a fraction from 0 to 1"));
            return None;
        };
        let value = number.as_f64().unwrap_or(f64::NAN);
        let fraction = Fraction::new(value);
        if fraction.is_none() {
            let mut detail = String::from("a fraction from 0 to 1 is wanted here");
            if value > 1.0 && value <= 100.0 {
                detail = format!("{detail}, not percent: {} for {value} %", value / 100.0);
            }
            faults.push(self.fault(FaultCode::OutOfRange, detail));
        }
        fraction
    }

    /// A number that has an exact decimal form of at most 28 digits, in its plainest spelling (`10` for `10.0`), so
    /// that storing it cannot change its text.
    pub fn exact_number(&self, faults: &mut Faults) -> Option<Number> {
        let Value::Number(number) = self.value else {
            faults.push(self.wrong_type("a number"));
            return None;
        };
        let plain = exact(number).and_then(|decimal| {
            let text = decimal.normalize().to_string();
            serde_json::from_str::<Number>(&text).ok()
        });
        if plain.is_none() {
            let detail = "a number of at most 28 decimal digits is wanted here";
            faults.push(self.fault(FaultCode::OutOfRange, detail));
        }
        plain
    }

    /// A list of such numbers.
    pub fn exact_numbers(&self, faults: &mut Faults) -> Option<Vec<Number>> {
        let elements = self.list(faults)?;
        let numbers: Vec<Option<Number>> = elements
            .iter()
            .map(|element| element.exact_number(faults))
            .collect();
        numbers.into_iter().collect()
    }

    /// One word out of a closed set.
    pub fn word<T: Copy>(&self, words: &Words<T>, faults: &mut Faults) -> Option<T> {
        let Some(text) = self.value.as_str() else {
            let wanted = format!("one of {}", words.listed());
            faults.push(self.wrong_type(&wanted));
            return None;
        };
        if let Some((_, meaning)) = words.legal.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let noun = words.noun;
        faults.push(
            if let Some(planned) = words.planned.iter().find(|word| **word == text) {
                let detail = format!(
                    "the {noun} `{planned}` is not supported by this version; there is {}",
                    words.listed()
                );
                self.fault(FaultCode::NotSupported, detail)
            } else {
                let mut detail = format!("unknown {noun}; there is {}", words.listed());
                if let Some(near) = nearest(text, words.legal.iter().map(|(word, _)| *word)) {
                    detail = format!("{detail}; probably `{near}` is meant");
                }
                self.fault(FaultCode::UnknownValue, detail).sample([text])
            },
        );
        None
    }
}

/// Takes `dataset_id` out of a body of job fields, leaving what [`super::Demand::parse`] reads.
///
/// # Errors
/// It is absent or no UUID. A body that is no object gives `wrong_type`, as [`super::Demand::parse`] does.
#[expect(
    clippy::result_large_err,
    reason = "called once per request; the caller joins the fault with the others"
)]
pub fn take_dataset_id(body: &mut Value) -> Result<Uuid, Fault> {
    let pointer = "/dataset_id";
    let Value::Object(fields) = body else {
        return Err(Cursor::root(body).wrong_type("an object"));
    };
    match fields.shift_remove("dataset_id") {
        None | Some(Value::Null) => Err(Fault::at(
            pointer,
            FaultCode::MissingField,
            "`dataset_id` is required",
        )),
        Some(Value::String(text)) => Uuid::parse_str(&text).map_err(|_| {
            Fault::at(pointer, FaultCode::WrongType, "a UUID is wanted here").sample([text])
        }),
        Some(_) => Err(Fault::at(
            pointer,
            FaultCode::WrongType,
            "a string that holds a UUID is wanted here",
        )),
    }
}

/// A whole number written as a decimal (`5.0`, `1e3`), exactly.
fn whole_of(number: &Number) -> Option<u64> {
    use rust_decimal::prelude::ToPrimitive;
    exact(number).and_then(|decimal| decimal.to_u64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole(value: &Value, range: RangeInclusive<u64>) -> Result<u64, Vec<Fault>> {
        let mut faults = Faults::default();
        let found = Cursor::root(value).whole(&range, &mut faults);
        faults.finish(found)
    }

    #[test]
    fn a_fraction_is_no_whole_number_and_zero_may_be_out_of_range() {
        assert_eq!(
            whole(&json!(2.5), 1..=9).unwrap_err()[0].code,
            FaultCode::WrongType
        );
        assert_eq!(
            whole(&json!(0), 1..=9).unwrap_err()[0].code,
            FaultCode::OutOfRange
        );
        assert_eq!(
            whole(&json!(-1), 1..=9).unwrap_err()[0].code,
            FaultCode::OutOfRange
        );
        assert_eq!(whole(&json!(5.0), 1..=9), Ok(5));
        assert_eq!(whole(&json!(u64::MAX), 0..=u64::MAX), Ok(u64::MAX));
        assert!(whole(&json!(1e300), 0..=u64::MAX).is_err());
    }

    #[test]
    fn a_number_is_kept_in_its_plainest_spelling() {
        for (written, kept) in [
            ("10.0", "10"),
            ("1e2", "100"),
            ("0.50", "0.5"),
            ("-3", "-3"),
        ] {
            let body: Value = serde_json::from_str(written).unwrap();
            let number = Cursor::root(&body)
                .exact_number(&mut Faults::default())
                .unwrap();
            assert_eq!(number.to_string(), kept);
        }
        let body = json!(1e300);
        assert!(
            Cursor::root(&body)
                .exact_number(&mut Faults::default())
                .is_none()
        );
    }

    #[test]
    fn dataset_id_is_taken_or_refused_by_name() {
        let mut body =
            json!({ "dataset_id": "0190a5a0-0000-7000-8000-000000000000", "privacy": [] });
        assert!(take_dataset_id(&mut body).is_ok());
        assert_eq!(body, json!({ "privacy": [] }));
        assert_eq!(
            take_dataset_id(&mut body).unwrap_err().code,
            FaultCode::MissingField
        );
        assert_eq!(
            take_dataset_id(&mut json!({ "dataset_id": "x" }))
                .unwrap_err()
                .code,
            FaultCode::WrongType
        );
    }
}
