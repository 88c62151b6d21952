//! Amounts of privacy loss: epsilon and delta, and sums of them, exactly as decimals.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cursor::Cursor;
use super::number::exact_text;
use crate::fault::{FaultCode, Faults};

/// An epsilon or a delta, not below 0: sums and comparisons of them are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Amount(Decimal);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(Decimal::ZERO);
    /// The least epsilon other than 0, and the unit of all.
    const MILLIONTH: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
    /// The unit of deltas.
    const FINEST: Decimal = Decimal::from_parts(1, 0, 0, false, 18);

    /// The amount that a decimal text says; `None` if it is no number, below 0 or finer than 1e-18.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let value = exact_text(text)?.normalize();
        (value >= Decimal::ZERO && value.scale() <= Self::FINEST.scale()).then_some(Self(value))
    }

    /// The sum; that of amounts in their ranges always fits.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0).normalize())
    }

    /// What is left after taking another away; 0 if that is more.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self(
            self.0
                .saturating_sub(other.0)
                .max(Decimal::ZERO)
                .normalize(),
        )
    }

    /// In millionths, for an epsilon: whole, by the ranges that it is read in.
    #[must_use]
    pub fn millionths(self) -> u64 {
        let parts = self.0.checked_div(Self::MILLIONTH);
        parts.and_then(|parts| parts.to_u64()).unwrap_or(0)
    }

    /// In floating point.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0.to_f64().unwrap_or(0.0)
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        let found = Self::parse(&value.to_string());
        found.ok_or_else(|| serde::de::Error::custom("an amount is a decimal not below 0"))
    }
}

/// Reads amounts of a range.
pub(super) struct AmountRange {
    least: Decimal,
    most: Decimal,
    /// Digits after the point.
    scale: u32,
    wanted: &'static str,
}

impl AmountRange {
    /// Of one attribute.
    pub(super) const LOCAL_EPSILON: Self = Self {
        least: Decimal::from_parts(1, 0, 0, false, 3),
        most: Decimal::from_parts(20, 0, 0, false, 0),
        scale: 6,
        wanted: "a number from 0.001 to 20 of at most 6 digits after the point",
    };
    /// Of a sample.
    pub(super) const SAMPLE_EPSILON: Self = Self {
        least: Decimal::from_parts(1, 0, 0, false, 3),
        most: Decimal::from_parts(10, 0, 0, false, 0),
        scale: 6,
        wanted: "a number from 0.001 to 10 of at most 6 digits after the point",
    };
    /// Of a sample.
    pub(super) const SAMPLE_DELTA: Self = Self {
        least: Decimal::from_parts(1, 0, 0, false, 15),
        most: Decimal::from_parts(5, 0, 0, false, 1),
        scale: 18,
        wanted: "a number from 1e-15 to 0.5 of at most 18 digits after the point",
    };
    /// Of a dataset.
    pub(super) const BUDGET_EPSILON: Self = Self {
        least: Decimal::ZERO,
        most: Decimal::from_parts(1_000_000, 0, 0, false, 0),
        scale: 6,
        wanted: "a number from 0 to 1000000 of at most 6 digits after the point",
    };
    /// Of a dataset.
    pub(super) const BUDGET_DELTA: Self = Self {
        least: Decimal::ZERO,
        most: Decimal::ONE,
        scale: 18,
        wanted: "a number from 0 to 1 of at most 18 digits after the point",
    };

    /// The amount that stands at a place of the body.
    pub(super) fn read(&self, cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Amount> {
        // A number is told from what is none; the text says which one exactly.
        cursor.number(self.wanted, |_| true, faults)?;
        let found = cursor.number_text().and_then(|text| Amount::parse(&text));
        let found = found.filter(|found| {
            (self.least..=self.most).contains(&found.0) && found.0.scale() <= self.scale
        });
        if found.is_none() {
            let detail = format!("{} is wanted here", self.wanted);
            faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_are_exact() {
        let amount = |text: &str| Amount::parse(text).unwrap();
        let tenth = amount("0.1");
        assert_eq!(
            (0..10).fold(Amount::ZERO, |sum, _| sum.plus(tenth)),
            amount("1")
        );
        assert_eq!(amount("1e-5").less(amount("1e-6")).to_string(), "0.000009");
        assert_eq!(amount("1").less(amount("2")), Amount::ZERO);
        assert_eq!(amount("2.5").millionths(), 2_500_000);
        assert_eq!(Amount::parse("-1"), None);
        assert_eq!(Amount::parse("1e-19"), None);
        let text = serde_json::to_string(&amount("0.00001")).unwrap();
        assert_eq!(
            serde_json::from_str::<Amount>(&text).unwrap(),
            amount("1e-5")
        );
    }

    #[test]
    fn an_epsilon_out_of_range_or_too_fine_is_refused() {
        let read = |value| {
            let mut faults = Faults::default();
            let found = AmountRange::LOCAL_EPSILON.read(&Cursor::root(&value), &mut faults);
            faults.finish(found).map_err(|faults| faults[0].code)
        };
        assert_eq!(read(json!(1)).unwrap(), Amount::parse("1").unwrap());
        assert_eq!(read(json!("1")), Err(FaultCode::WrongType));
        for value in [json!(0), json!(-1), json!(21), json!(0.123_456_7)] {
            assert_eq!(read(value), Err(FaultCode::OutOfRange));
        }
    }
}
