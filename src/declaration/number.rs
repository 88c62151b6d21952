//! Numbers whose comparison must be exact.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Number;

/// A fraction `0..=1`, kept as the decimal number that the caller wrote.
///
/// `0.30` of 240 rows is exactly 72: binary floating point would put the limit below it (user-cases D7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fraction(Decimal);

impl Fraction {
    /// None is allowed.
    pub const ZERO: Self = Self(Decimal::ZERO);
    /// All are allowed.
    pub const ONE: Self = Self(Decimal::ONE);

    /// The fraction nearest to `value`, as its shortest decimal text reads; `None` outside `0..=1`.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        let decimal = value.to_string().parse::<Decimal>().ok()?;
        (Decimal::ZERO..=Decimal::ONE)
            .contains(&decimal)
            .then_some(Self(decimal))
    }

    /// The largest count not above this share of `total`.
    #[must_use]
    pub fn floor_of(self, total: u64) -> u64 {
        let product = self
            .0
            .checked_mul(Decimal::from(total))
            .map(|product| product.floor());
        product
            .and_then(|product| product.to_u64())
            .unwrap_or(total)
            .min(total)
    }

    /// The least count not below this share of `total`.
    #[must_use]
    pub fn ceiling_of(self, total: u64) -> u64 {
        let product = self
            .0
            .checked_mul(Decimal::from(total))
            .map(|product| product.ceil());
        product
            .and_then(|product| product.to_u64())
            .unwrap_or(total)
            .min(total)
    }

    /// The least count whose inverse is not above this fraction; `None` for zero, or beyond 2^64.
    ///
    /// # Example
    /// ```
    /// # use kindred::declaration::Fraction;
    /// assert_eq!(Fraction::new(0.2).and_then(Fraction::least_inverse), Some(5));
    /// assert_eq!(Fraction::new(0.33).and_then(Fraction::least_inverse), Some(4));
    /// ```
    #[must_use]
    pub fn least_inverse(self) -> Option<u64> {
        let near = Decimal::ONE.checked_div(self.0)?.round().to_u64()?;
        let meets = |count: u64| {
            let product = self.0.checked_mul(Decimal::from(count));
            product.is_none_or(|product| product >= Decimal::ONE)
        };
        // The quotient is rounded, the product is not.
        let from = near.saturating_sub(1).max(1);
        (from..=near.saturating_add(1)).find(|&count| meets(count))
    }

    /// The fraction in floating point, for reports.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        self.0.to_f64().unwrap_or(1.0)
    }
}

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| serde::de::Error::custom("a fraction lies between 0 and 1"))
    }
}

/// The exact decimal that a JSON number's shortest text says; `None` beyond 28 digits.
pub(crate) fn exact(number: &Number) -> Option<Decimal> {
    exact_text(&number.to_string())
}

/// The exact decimal of a text `-12`, `0.5`, `1e3`; `None` if it is no number or has more than 28 digits.
///
/// Stricter than the library: no white space, no `_`, no bare point, nothing rounded.
pub(crate) fn exact_text(text: &str) -> Option<Decimal> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = text
        .split_once(['e', 'E'])
        .map_or((text, None), |(m, e)| (m, Some(e)));
    let unsigned = mantissa.strip_prefix(['-', '+']).unwrap_or(mantissa);
    let plain = match unsigned.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(unsigned),
    };
    if !plain {
        return None;
    }
    let value = Decimal::from_str_exact(mantissa).ok()?;
    let Some(exponent) = exponent else {
        return Some(value);
    };
    if !digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent)) {
        return None;
    }
    let exponent: i32 = exponent.parse().ok()?;
    if value.is_zero() {
        return Some(Decimal::ZERO);
    }
    shifted(value.normalize(), exponent)
}

/// `value` times ten to the power of `exponent`, if that is exact.
fn shifted(value: Decimal, exponent: i32) -> Option<Decimal> {
    let scale = i64::from(value.scale()) - i64::from(exponent);
    if let Ok(scale) = u32::try_from(scale) {
        return Decimal::try_from_i128_with_scale(value.mantissa(), scale).ok();
    }
    let power = u32::try_from(-scale).ok().filter(|power| *power <= 28)?;
    let whole = value.mantissa().checked_mul(10_i128.checked_pow(power)?)?;
    Decimal::try_from_i128_with_scale(whole, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_percent_of_240_rows_is_72() {
        let limit = Fraction::new(0.30).unwrap();
        assert_eq!(limit.floor_of(240), 72);
        assert_eq!(Fraction::new(1.2), None);
        assert_eq!(Fraction::new(-0.1), None);
        // UC-28: 2 of 8 rows are exactly a quarter.
        assert_eq!(Fraction::new(0.25).unwrap().floor_of(8), 2);
        assert_eq!(Fraction::new(0.24).unwrap().floor_of(8), 1);
        let ceiling = |value: f64, total| Fraction::new(value).unwrap().ceiling_of(total);
        assert_eq!(
            (ceiling(0.3, 240), ceiling(0.25, 8), ceiling(0.26, 8)),
            (72, 2, 3)
        );
        assert_eq!(
            (ceiling(0.0, 8), ceiling(1.0, 8), ceiling(0.01, 0)),
            (0, 8, 0)
        );
    }

    #[test]
    fn only_plain_numbers_are_numbers() {
        for (text, value) in [
            ("12", "12"),
            ("-3", "-3"),
            ("007", "7"),
            ("0.50", "0.5"),
            ("1e3", "1000"),
            ("25e-2", "0.25"),
            ("1.5E+1", "15"),
        ] {
            let parsed = exact_text(text).unwrap().normalize().to_string();
            assert_eq!(parsed, value, "{text}");
        }
        for text in [
            "", " 1", "1_0", ".5", "5.", "NaN", "1e", "1e99", "0x1", "1,5",
        ] {
            assert_eq!(exact_text(text), None, "{text}");
        }
        assert_eq!(exact_text(&"9".repeat(40)), None);
        assert_eq!(exact_text(&format!("0.{}", "1".repeat(40))), None);
    }
}
