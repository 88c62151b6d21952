//! The order of an attribute's values, where it has one (user-cases D5: declared, never guessed from how cells look).

use rust_decimal::Decimal;
use rustc_hash::FxHashMap;

use super::table::Dictionary;
use crate::declaration::{AttributeDeclaration, ValueType};

/// The value codes in ascending order: numbers by value, others as declared; `None` without an order.
///
/// A value outside a declared order leaves the whole column without one.
pub(crate) fn ascending(
    attribute: &AttributeDeclaration,
    dictionary: &Dictionary,
) -> Option<Vec<u32>> {
    match (&attribute.order, attribute.value_type) {
        (Some(order), _) => {
            let trimmed = |value: &'_ String| {
                let value = if attribute.trim { value.trim() } else { value };
                value.to_owned()
            };
            let places: FxHashMap<String, usize> = order.iter().map(trimmed).zip(0..).collect();
            sorted(dictionary, |value| places.get(value).copied())
        }
        (None, ValueType::Integer | ValueType::Decimal) => sorted(dictionary, |value| {
            value
                .parse::<Decimal>()
                .or_else(|_| Decimal::from_scientific(value))
                .ok()
        }),
        (None, ValueType::Text | ValueType::Date) => None,
    }
}

/// The value codes sorted by text: an order that does not depend on the order of rows, for values that have none.
pub(crate) fn by_text(dictionary: &Dictionary) -> Vec<u32> {
    sorted(dictionary, Some).unwrap_or_default()
}

/// Sorts the codes by key, equal keys by text; `None` if a value has no key.
fn sorted<'a, K: Ord>(
    dictionary: &'a Dictionary,
    key: impl Fn(&'a str) -> Option<K>,
) -> Option<Vec<u32>> {
    let keyed = dictionary
        .iter()
        .zip(1..)
        .map(|(value, code)| Some((key(value)?, value, code)));
    let mut keyed = keyed.collect::<Option<Vec<_>>>()?;
    keyed.sort_unstable();
    Some(keyed.into_iter().map(|(_, _, code)| code).collect())
}
