//! Numbers in half-open intervals `[a, b)` anchored at an origin, one level per width (user-cases D6).
//!
//! Each width is a whole multiple of the one before and all share the origin, so every interval is a union of whole finer
//! ones. Values from `top_from` on, and values below `bottom_below`, share one bucket on every level above 0; intervals
//! that reach into a bucket are cut at its edge, so that a label always says which values it holds. An interval
//! that holds one whole number of an `integer` column is labelled by that number. Arithmetic is exact:
//! all numbers are brought to one scale and compared as integers.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::Number;

use super::Uncovered;
use super::encode::Chain;
use crate::declaration::{
    AttributeDeclaration, HierarchyDeclaration, ValueType, exact, exact_text,
};
use crate::fault::{Fault, FaultCode, Faults};

/// Intervals of growing width.
#[derive(Debug, Clone)]
pub(super) struct Intervals {
    is_integer: bool,
    origin: Decimal,
    widths: Vec<Decimal>,
    lower: Option<Decimal>,
    upper: Option<Decimal>,
    top_from: Option<Decimal>,
    bottom_below: Option<Decimal>,
    /// Digits after the point that the declared numbers need.
    scale: u32,
}

/// A node: what values it holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Bucket {
    /// One value, as written.
    Value(Box<str>),
    /// From the first number up to, without, the second.
    Between(Decimal, Decimal),
    /// Below `bottom_below`.
    Bottom,
    /// From `top_from` on.
    Top,
}

impl Intervals {
    /// Compiles a declaration of kind `intervals`; pushes every fault of it.
    pub(super) fn compile(
        declaration: &HierarchyDeclaration,
        attribute: &AttributeDeclaration,
        pointer: &str,
        faults: &mut Faults,
    ) -> Option<Self> {
        let HierarchyDeclaration::Intervals {
            origin,
            widths,
            lower,
            upper,
            top_from,
            bottom_below,
        } = declaration
        else {
            return None;
        };
        let before = faults.count();
        let mut read = |name: &str, number: &Number| {
            let value = exact(number);
            if value.is_none() {
                let detail = "a number of at most 28 decimal digits is wanted here";
                let place = format!("{pointer}/{name}");
                faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
            }
            value.unwrap_or_default().normalize()
        };
        let mut intervals = Self {
            is_integer: attribute.value_type == ValueType::Integer,
            origin: read("origin", origin),
            widths: widths.iter().map(|width| read("widths", width)).collect(),
            lower: lower.as_ref().map(|number| read("lower", number)),
            upper: upper.as_ref().map(|number| read("upper", number)),
            top_from: top_from.as_ref().map(|number| read("top_from", number)),
            bottom_below: bottom_below.as_ref().map(|n| read("bottom_below", n)),
            scale: 0,
        };
        intervals.scale = intervals.numbers().map(|n| n.scale()).max().unwrap_or(0);
        intervals.check(attribute.value_type, pointer, faults);
        (faults.count() == before).then_some(intervals)
    }

    /// All declared numbers.
    fn numbers(&self) -> impl Iterator<Item = Decimal> {
        let bounds = [self.lower, self.upper, self.top_from, self.bottom_below];
        let all = std::iter::once(self.origin).chain(bounds.into_iter().flatten());
        all.chain(self.widths.iter().copied())
    }

    fn check(&self, value_type: ValueType, pointer: &str, faults: &mut Faults) {
        let mut push = |place: String, code, detail: &str| {
            faults.push(Fault::at(format!("{pointer}/{place}"), code, detail));
        };
        if !matches!(value_type, ValueType::Integer | ValueType::Decimal) {
            let detail = "intervals need numbers: declare `type`: `integer` or `decimal`";
            push("kind".into(), FaultCode::TypeConflict, detail);
        }
        if self.widths.is_empty() {
            push(
                "widths".into(),
                FaultCode::OutOfRange,
                "at least one width is needed",
            );
        }
        for (position, width) in self.widths.iter().enumerate() {
            let place = format!("widths/{position}");
            if *width <= Decimal::ZERO {
                push(place, FaultCode::OutOfRange, "a width must be above 0");
            } else if position > 0 && !self.is_multiple(*width, self.widths[position - 1]) {
                let detail = "a width must be a whole multiple of the one before";
                push(place, FaultCode::HierarchyNotNested, detail);
            }
        }
        for (name, detail) in self.bounds_out_of_order() {
            push(name.into(), FaultCode::OutOfRange, detail);
        }
    }

    /// Bounds that contradict each other, with what would be right.
    fn bounds_out_of_order(&self) -> Vec<(&'static str, &'static str)> {
        let above = |less: Option<Decimal>, more: Option<Decimal>| {
            less.zip(more).is_some_and(|(less, more)| less > more)
        };
        let (lower, upper) = (self.lower, self.upper);
        let (bottom, top) = (self.bottom_below, self.top_from);
        let checks = [
            (
                above(lower, upper) || (lower.is_some() && lower == upper),
                "upper",
                "`upper` must be above `lower`",
            ),
            (
                above(lower, bottom),
                "bottom_below",
                "`bottom_below` must not be below `lower`",
            ),
            (
                above(bottom, upper),
                "bottom_below",
                "`bottom_below` must not be above `upper`",
            ),
            (
                above(lower, top),
                "top_from",
                "`top_from` must not be below `lower`",
            ),
            (
                above(top, upper),
                "top_from",
                "`top_from` must not be above `upper`",
            ),
            (
                above(bottom, top),
                "top_from",
                "`top_from` must not be below `bottom_below`",
            ),
        ];
        let wrong = checks.into_iter().filter(|(is_wrong, ..)| *is_wrong);
        wrong.map(|(_, name, detail)| (name, detail)).collect()
    }

    /// Whether `wide` is `narrow` times a whole number; a width that is faulty by itself is not judged twice.
    fn is_multiple(&self, wide: Decimal, narrow: Decimal) -> bool {
        if narrow <= Decimal::ZERO {
            return true;
        }
        match (scaled(wide, self.scale), scaled(narrow, self.scale)) {
            (Some(wide), Some(narrow)) => wide % narrow == 0,
            _ => false,
        }
    }

    /// The interval of a width that holds `value`, cut at the buckets.
    fn between(&self, value: Decimal, width: Decimal) -> Option<Bucket> {
        let scale = self.scale.max(value.scale());
        let (number, origin) = (scaled(value, scale)?, scaled(self.origin, scale)?);
        let width = scaled(width, scale)?;
        let start = number.checked_sub(number.checked_sub(origin)?.rem_euclid(width))?;
        let end = start.checked_add(width)?;
        let plain = |number| {
            let decimal = Decimal::try_from_i128_with_scale(number, scale).ok()?;
            Some(decimal.normalize())
        };
        let (mut start, mut end) = (plain(start)?, plain(end)?);
        if let Some(bottom) = self.bottom_below {
            start = start.max(bottom);
        }
        if let Some(top) = self.top_from {
            end = end.min(top);
        }
        Some(Bucket::Between(start, end))
    }

    /// Whole numbers from `from` up to, without, `until`, within the declared bounds.
    fn count(&self, from: Option<Decimal>, until: Option<Decimal>) -> u64 {
        let from = from.max(self.lower);
        let until = match (until, self.upper) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let whole = |bound: Option<Decimal>| bound.and_then(|bound| bound.ceil().to_i128());
        match (whole(from), whole(until)) {
            (Some(from), Some(until)) => u64::try_from(until - from).unwrap_or(0),
            _ => 0,
        }
    }
}

impl Chain for Intervals {
    type Node = Bucket;

    fn levels(&self) -> usize {
        self.widths.len() + 2
    }

    fn nodes(&self, value: &str) -> Result<Vec<Bucket>, Uncovered> {
        let number = number_of(value, self.is_integer)?;
        let mut nodes = vec![Bucket::Value(Box::from(value))];
        let shared = if self.bottom_below.is_some_and(|bottom| number < bottom) {
            Some(Bucket::Bottom)
        } else if self.top_from.is_some_and(|top| number >= top) {
            Some(Bucket::Top)
        } else if self.lower.is_some_and(|lower| number < lower)
            || self.upper.is_some_and(|upper| number >= upper)
        {
            return Err(Uncovered::OutOfRange);
        } else {
            None
        };
        for width in &self.widths {
            let node = shared.clone().or_else(|| self.between(number, *width));
            nodes.push(node.ok_or(Uncovered::OutOfRange)?);
        }
        Ok(nodes)
    }

    fn label(&self, _: usize, node: &Bucket) -> Box<str> {
        let bound = |bound: Option<Decimal>| bound.unwrap_or_default();
        match node {
            Bucket::Value(text) => text.clone(),
            Bucket::Between(start, end) => between_label(*start, *end, self.is_integer),
            Bucket::Bottom => format!("<{}", bound(self.bottom_below)).into(),
            Bucket::Top => format!("{}+", bound(self.top_from)).into(),
        }
    }

    fn domain(&self) -> Option<u64> {
        let is_counted = self.is_integer && self.lower.is_some() && self.upper.is_some();
        is_counted.then(|| self.count(None, None))
    }

    fn leaves(&self, _: usize, node: &Bucket) -> u64 {
        match node {
            Bucket::Value(_) => 1,
            Bucket::Between(start, end) => self.count(Some(*start), Some(*end)),
            Bucket::Bottom => self.count(None, self.bottom_below),
            Bucket::Top => self.count(self.top_from, None),
        }
    }
}

/// The number of a cell.
pub(super) fn number_of(text: &str, is_integer: bool) -> Result<Decimal, Uncovered> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if is_integer && !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Uncovered::Invalid);
    }
    exact_text(text)
        .map(|value| value.normalize())
        .ok_or(Uncovered::Invalid)
}

/// `[20, 30)`; of whole numbers one alone is itself: `88`, not `[88, 89)`.
pub(super) fn between_label(start: Decimal, end: Decimal, is_integer: bool) -> Box<str> {
    if is_integer && start.is_integer() && end - start == Decimal::ONE {
        start.to_string().into()
    } else {
        format!("[{start}, {end})").into()
    }
}

/// `value` times ten to the power of `scale`, where `scale` is at least the value's own.
fn scaled(value: Decimal, scale: u32) -> Option<i128> {
    let power = scale.checked_sub(value.scale())?;
    value.mantissa().checked_mul(10_i128.checked_pow(power)?)
}
