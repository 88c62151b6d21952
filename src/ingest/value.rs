//! Cell texts as declared types: what is legal, and the one text that equal values share.
//!
//! Works on digits, not on binary numbers, so that nothing is rounded. Numbers keep at most [`DIGITS`] digits, which
//! every later exact computation can hold.

use std::fmt::Write;

use chrono::format::{Item, Parsed, StrftimeItems, parse};

use crate::declaration::{AttributeDeclaration, ValueType};

/// Most digits of a number, before and after the point together.
const DIGITS: usize = 28;

/// Reads the cells of one column.
pub(super) enum Reading<'a> {
    Text,
    Integer,
    Decimal,
    Date(Vec<Item<'a>>),
}

/// What a text is as a value of its type.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Checked {
    /// Legal, and already in the form that equal values share.
    Canonical,
    /// Legal; equal values share this form.
    Becomes(String),
    /// Not of the type.
    Invalid,
}

impl<'a> Reading<'a> {
    pub(super) const DATE_FORMAT: &'static str = "%Y-%m-%d";

    pub(super) fn new(attribute: &'a AttributeDeclaration) -> Self {
        match attribute.value_type {
            ValueType::Text => Self::Text,
            ValueType::Integer => Self::Integer,
            ValueType::Decimal => Self::Decimal,
            ValueType::Date => {
                let format = attribute.format.as_deref().unwrap_or(Self::DATE_FORMAT);
                Self::Date(StrftimeItems::new(format).collect())
            }
        }
    }

    pub(super) fn check(&self, text: &str) -> Checked {
        let canonical = match self {
            Self::Text => return Checked::Canonical,
            Self::Integer => integer(text),
            Self::Decimal => decimal(text),
            Self::Date(items) => date(text, items),
        };
        match canonical {
            None => Checked::Invalid,
            Some(canonical) if canonical == text => Checked::Canonical,
            Some(canonical) => Checked::Becomes(canonical),
        }
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn integer(text: &str) -> Option<String> {
    let (negative, digits) = sign(text);
    if digits.is_empty() || !is_digits(digits) {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    match digits.len() {
        0 => Some("0".to_owned()),
        1..=DIGITS => Some(format!("{}{digits}", if negative { "-" } else { "" })),
        _ => None,
    }
}

/// Digits, point and exponent written out: `-01.50e1` is `-15`.
fn decimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, digits) = sign(mantissa);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    let all = [whole, fraction].concat();
    let significant = all.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    let stripped = all.len() - all.trim_end_matches('0').len();
    // The value is `significant` times ten to the power of minus `scale`.
    let scale =
        i64::try_from(fraction.len()).ok()? - i64::from(exponent) - i64::try_from(stripped).ok()?;
    let count = i64::try_from(significant.len()).ok()?;
    let digits_written = count.max(scale).max(count - scale);
    if digits_written > i64::try_from(DIGITS).ok()? {
        return None;
    }
    let mut out = String::from(if negative { "-" } else { "" });
    let point = usize::try_from(count - scale).unwrap_or(0);
    if scale <= 0 {
        out.push_str(significant);
        out.extend(std::iter::repeat_n('0', point - significant.len()));
    } else if point > 0 {
        out.push_str(&significant[..point]);
        out.push('.');
        out.push_str(&significant[point..]);
    } else {
        out.push_str("0.");
        let zeros = usize::try_from(scale - count).unwrap_or(0);
        out.extend(std::iter::repeat_n('0', zeros));
        out.push_str(significant);
    }
    Some(out)
}

fn date(text: &str, items: &[Item<'_>]) -> Option<String> {
    let mut parsed = Parsed::new();
    parse(&mut parsed, text, items.iter()).ok()?;
    let date = parsed.to_naive_date().ok()?;
    let mut out = String::with_capacity(text.len());
    // A format with a time of day cannot be written from a date alone: such a text stays as it is.
    match write!(out, "{}", date.format_with_items(items.iter())) {
        Ok(()) => Some(out),
        Err(_) => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_share_one_text() {
        for (text, canonical) in [("7", "7"), ("+7", "7"), ("-007", "-7"), ("-0", "0")] {
            assert_eq!(integer(text).as_deref(), Some(canonical), "{text}");
        }
        for text in ["", "-", "7.0", "1e3", " 7", "seven", "NaN", "1_000", "٣"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(integer(&"9".repeat(29)), None);
    }

    #[test]
    fn decimal_numbers_share_one_text_and_lose_nothing() {
        for (text, canonical) in [
            ("1.50", "1.5"),
            ("-01.50e1", "-15"),
            ("1.5E-3", "0.0015"),
            ("12e3", "12000"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-0.00", "0"),
            ("100", "100"),
            ("100.010", "100.01"),
            ("1234.5e2", "123450"),
            (
                "0.1000000000000000000000000001",
                "0.1000000000000000000000000001",
            ),
        ] {
            assert_eq!(decimal(text).as_deref(), Some(canonical), "{text}");
        }
        for text in [
            "",
            ".",
            "e5",
            "NaN",
            "inf",
            "-inf",
            "1,5",
            "1e",
            "1_0",
            "1e99",
            "1e2147483647",
            "1e-99",
            "--1",
            "0x10",
        ] {
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_read_by_the_declared_format_alone() {
        let items: Vec<_> = StrftimeItems::new("%d.%m.%Y").collect();
        assert_eq!(date("5.3.2020", &items).as_deref(), Some("05.03.2020"));
        for text in ["2020-03-05", "31.02.2020", "05.03.2020 ", "05.03.2020x", ""] {
            assert_eq!(date(text, &items), None, "{text}");
        }
        let items: Vec<_> = StrftimeItems::new("%Y-%m-%d %H:%M:%S%.f").collect();
        let oracle = "2020-03-05 10:11:12.345";
        assert_eq!(date(oracle, &items).as_deref(), Some(oracle));
    }
}
