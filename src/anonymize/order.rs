//! The order of an attribute's values, where it has one (user-cases D5: declared, never guessed from how cells look).

use rust_decimal::Decimal;
use rustc_hash::FxHashMap;

use super::distribution::{DistanceTree, ValueTree};
use super::hierarchy::Generalization;
use super::rows::SensitiveColumn;
use super::table::{Dictionary, MISSING};
use crate::declaration::{AttributeDeclaration, ValueType};

/// The value codes in ascending order: numbers by value, others as declared; `None` without an order.
///
/// A value outside a declared order leaves the whole column without one.
pub(crate) fn ascending(
    attribute: &AttributeDeclaration,
    dictionary: &Dictionary,
) -> Option<Vec<u32>> {
    match (places(attribute), attribute.value_type) {
        (Some(places), _) => sorted(dictionary, |value| places.get(value).copied()),
        (None, ValueType::Integer | ValueType::Decimal) => sorted(dictionary, |value| {
            value
                .parse::<Decimal>()
                .or_else(|_| Decimal::from_scientific(value))
                .ok()
        }),
        (None, ValueType::Text | ValueType::Date) => None,
    }
}

/// By value code: its place in the declared order, from 0; `None` where none is declared or a value stands outside it.
pub(crate) fn places_of_codes(
    attribute: &AttributeDeclaration,
    dictionary: &Dictionary,
) -> Option<Vec<u64>> {
    let places = places(attribute)?;
    let present = dictionary.iter();
    let present = present.map(|value| places.get(value).map(|&place| place as u64));
    std::iter::once(Some(0)).chain(present).collect()
}

/// The place of each value of a declared order, from 0.
pub(crate) fn places(attribute: &AttributeDeclaration) -> Option<FxHashMap<String, usize>> {
    let trimmed = |value: &String| {
        let value = if attribute.trim { value.trim() } else { value };
        value.to_owned()
    };
    let order = attribute.order.as_ref()?;
    Some(order.iter().map(trimmed).zip(0..).collect())
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

/// The places of an attribute's values in its order (by text where it has none); missing is the last.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    /// Value code of each rank.
    pub(crate) code_of: Vec<u32>,
    /// Rank of each value code.
    pub(crate) rank_of: Vec<u32>,
}

impl Ranks {
    pub(crate) fn of(attribute: &SensitiveColumn<'_>) -> Self {
        let dictionary = &attribute.column.dictionary;
        let mut code_of = attribute
            .order
            .clone()
            .unwrap_or_else(|| by_text(dictionary));
        code_of.push(MISSING);
        let mut rank_of = vec![0; code_of.len()];
        for (&code, rank) in code_of.iter().zip(0..) {
            rank_of[code as usize] = rank;
        }
        Self { code_of, rank_of }
    }

    /// The rank of missing.
    pub(crate) fn missing(&self) -> u32 {
        self.rank_of[MISSING as usize]
    }

    /// Rank of every row's value.
    pub(crate) fn of_rows<'a>(&'a self, codes: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        codes.iter().map(|&code| self.rank_of[code as usize])
    }

    /// The hierarchy of the values, by rank.
    pub(crate) fn tree(&self, hierarchy: &Generalization) -> Option<ValueTree> {
        let levels = &hierarchy.levels;
        let below_top = levels.len().saturating_sub(1);
        let parents = levels[..below_top].iter().map(|level| level.parent.clone());
        let tree = DistanceTree::new(parents.collect())?;
        let leaf_of = |&code: &u32| levels[0].node_of[code as usize];
        ValueTree::new(self.code_of.iter().map(leaf_of).collect(), tree)
    }
}
