//! What kind of values a quasi-identifier has, told by its declaration, for measuring classes and for writing them.

use chrono::{NaiveDate, NaiveDateTime, Timelike};
use rust_decimal::Decimal;

use crate::anonymize::order;
use crate::anonymize::table::{Attribute, Dictionary};
use crate::declaration::{ValueType, has_time_of_day};

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
    let number = |text: &str| match declaration.value_type {
        ValueType::Integer | ValueType::Decimal => decimal(text),
        ValueType::Date => moment(text, declaration.date_format()).map(Decimal::from),
        ValueType::Text => None,
    };
    let present: Option<Vec<Decimal>> = dictionary.iter().map(number).collect();
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

fn decimal(text: &str) -> Option<Decimal> {
    let plain = text.parse::<Decimal>();
    plain.or_else(|_| Decimal::from_scientific(text)).ok()
}

/// The beginning of the calendar that days and seconds are counted in.
fn origin() -> NaiveDate {
    NaiveDate::default()
}

/// Days of a date, seconds of a moment.
fn moment(text: &str, format: &str) -> Option<i64> {
    if has_time_of_day(format) {
        let moment = NaiveDateTime::parse_from_str(text, format).ok()?;
        // A leap second or a fraction would not be written back as it was read.
        let is_whole = moment.nanosecond() == 0;
        return is_whole.then(|| moment.and_utc().timestamp());
    }
    let date = NaiveDate::parse_from_str(text, format).ok()?;
    Some(date.signed_duration_since(origin()).num_days())
}

/// The text of days or seconds in a format.
pub(crate) fn moment_text(moment: i64, format: &str) -> Option<String> {
    if has_time_of_day(format) {
        let moment = chrono::DateTime::from_timestamp(moment, 0)?.naive_utc();
        return Some(moment.format(format).to_string());
    }
    let date = origin().checked_add_signed(chrono::TimeDelta::try_days(moment)?)?;
    Some(date.format(format).to_string())
}
