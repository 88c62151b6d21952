//! What labels of classes state: intervals and sets of values (docs/clusters.md, "What rows bear").

use rust_decimal::Decimal;
use rustc_hash::FxHashMap;

use crate::anonymize::clusters::extent::Region;
use crate::anonymize::clusters::scale;
use crate::anonymize::clusters::wording::{self, Stated};
use crate::anonymize::order;
use crate::anonymize::table::{Dictionary, MISSING};
use crate::declaration::AttributeDeclaration;

/// Where the values of an attribute lie, where they lie on an axis.
struct Axis<'a> {
    declaration: &'a AttributeDeclaration,
    places: Option<FxHashMap<String, usize>>,
}

impl Axis<'_> {
    /// The place in a declared order, else the number, or the days or seconds of a date.
    fn position(&self, text: &str) -> Option<Decimal> {
        match &self.places {
            Some(places) => places.get(text).map(|&place| Decimal::from(place)),
            None => scale::number(self.declaration, text),
        }
    }
}

/// By label code: the values, by code, that the label states; `None` if some label cannot be read.
///
/// Cost: a sort of the values, and the sum of the values under each label.
pub(super) fn regions(
    released: &Dictionary,
    values: &Dictionary,
    declaration: &AttributeDeclaration,
) -> Option<Vec<Region>> {
    let axis = Axis {
        declaration,
        places: order::places(declaration),
    };
    let placed = values.iter().zip(1_u32..);
    let placed = placed.filter_map(|(value, code)| Some((axis.position(value)?, code)));
    let mut placed: Vec<(Decimal, u32)> = placed.collect();
    placed.sort_unstable();
    let between = |low: Decimal, high: Decimal| {
        let from = placed.partition_point(|&(value, _)| value < low);
        let to = placed.partition_point(|&(value, _)| value <= high);
        placed[from..to.max(from)].iter().map(|&(_, code)| code)
    };
    let region = |label: &str| {
        let mut codes = Vec::new();
        for one in wording::stated(label)? {
            match one {
                Stated::Missing => codes.push(MISSING),
                Stated::Value(value) => match axis.position(&value) {
                    Some(at) => codes.extend(between(at, at)),
                    None => codes.extend(values.code(&value)),
                },
                Stated::Interval(low, high) => {
                    codes.extend(between(axis.position(&low)?, axis.position(&high)?));
                }
            }
        }
        codes.sort_unstable();
        codes.dedup();
        Some(Region::Values(codes))
    };
    let missing = Some(Region::Values(vec![MISSING]));
    [missing]
        .into_iter()
        .chain(released.iter().map(region))
        .collect()
}
