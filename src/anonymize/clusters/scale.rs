//! What kind of values a quasi-identifier has, told by its declaration, for measuring classes and for writing them.

use std::fmt::Write;

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Timelike};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

use crate::anonymize::order;
use crate::anonymize::table::{Attribute, Dictionary};
use crate::declaration::{
    AttributeDeclaration, ValueType, has_offset, has_time_of_day, seconds_told,
};

/// The kind of an attribute's values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scale {
    /// Numbers by value code (that of 0 is of no meaning); dates by days, moments by seconds.
    Numbers(Vec<Decimal>),
    /// Texts with a declared order.
    Ordinal,
    /// Values with a declared hierarchy.
    Taxonomy,
    /// Any others.
    Nominal,
}

/// The scale of an attribute, and its value codes in ascending order: by number, as declared, else by text.
///
/// Numbers are integers and decimals without a declared order, and dates.
pub(crate) fn of(attribute: &Attribute, dictionary: &Dictionary) -> (Scale, Vec<u32>) {
    let declaration = &attribute.declaration;
    let ascending = order::ascending(declaration, dictionary);
    if declaration.order.is_some()
        && let Some(order) = ascending
    {
        return (Scale::Ordinal, order);
    }
    let present = dictionary.iter().map(|text| number(declaration, text));
    let present: Option<Vec<Decimal>> = present.collect();
    if let Some(present) =
        present.filter(|_| declaration.value_type != ValueType::Text && declaration.order.is_none())
    {
        let values: Vec<Decimal> = [Decimal::ZERO].into_iter().chain(present).collect();
        let mut order: Vec<u32> = (1..).take(dictionary.len()).collect();
        order.sort_by(|&left, &right| {
            let by_number = values[left as usize].cmp(&values[right as usize]);
            by_number.then_with(|| dictionary.value(left).cmp(&dictionary.value(right)))
        });
        return (Scale::Numbers(values), order);
    }
    let scale = if declaration.hierarchy.is_some() {
        Scale::Taxonomy
    } else {
        Scale::Nominal
    };
    (scale, order::by_text(dictionary))
}

/// The number that a value is; of dates days, of moments seconds.
pub(crate) fn number(declaration: &AttributeDeclaration, text: &str) -> Option<Decimal> {
    match declaration.value_type {
        ValueType::Integer | ValueType::Decimal => decimal(text),
        ValueType::Date => moment(text, declaration.date_format()).map(Decimal::from),
        ValueType::Text => None,
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    let plain = text.parse::<Decimal>();
    plain.or_else(|_| Decimal::from_scientific(text)).ok()
}

/// The beginning of the calendar that days and seconds are counted in.
fn origin() -> NaiveDate {
    NaiveDate::default()
}

/// Days of a date, seconds of a moment; `None` where clocks of several offsets stand side by side.
fn moment(text: &str, format: &str) -> Option<i64> {
    if has_offset(format) {
        return None;
    }
    if has_time_of_day(format) {
        let moment = NaiveDateTime::parse_from_str(text, format).ok()?;
        // A leap second or a fraction would not be written back as it was read.
        let is_whole = moment.nanosecond() == 0;
        return is_whole.then(|| moment.and_utc().timestamp());
    }
    let date = NaiveDate::parse_from_str(text, format).ok()?;
    Some(date.signed_duration_since(origin()).num_days())
}

/// The text of days or seconds in a format: of the nearest moment that it can tell.
pub(crate) fn moment_text(mean: Decimal, format: &str) -> Option<String> {
    let mut text = String::new();
    if has_time_of_day(format) {
        let unit = Decimal::from(seconds_told(format));
        let nearest = mean.checked_div(unit)?.round().checked_mul(unit)?;
        let moment = DateTime::from_timestamp(nearest.to_i64()?, 0)?.naive_utc();
        write!(text, "{}", moment.format(format)).ok()?;
    } else {
        let days = TimeDelta::try_days(mean.round().to_i64()?)?;
        let date = origin().checked_add_signed(days)?;
        write!(text, "{}", date.format(format)).ok()?;
    }
    Some(text)
}
