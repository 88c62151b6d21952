//! Classes of a population, formed from the labels that its rows would bear in the output.

use std::collections::{HashMap, HashSet};

use super::Verifier;
use super::regroup::Classes;
use crate::anonymize::subtree::Recoded;
use crate::anonymize::table::Population;
use crate::declaration::Fraction;

/// Members per class.
pub(super) struct Members {
    /// Of each class of the output.
    released: Vec<u64>,
    /// Classes of which the output has none.
    absent: u64,
}

impl Members {
    /// Classes with fewer members than `k`.
    pub(super) fn below(&self, k: u64) -> usize {
        self.released.iter().filter(|&&members| members < k).count()
    }

    /// Classes of which a share outside `min` and `max` is released; `sizes` says how many of each class of the output.
    pub(super) fn outside(&self, sizes: &[u64], min: Fraction, max: Fraction) -> usize {
        let (min, max) = (min.to_f64(), max.to_f64());
        let is_outside = |&(&members, &size): &(&u64, &u64)| {
            let (members, size) = (members as f64, size as f64);
            !super::models::within(size, max * members)
                || !super::models::within(min * members, size)
        };
        let released = self.released.iter().zip(sizes).filter(is_outside);
        let absent = if min > 0.0 { self.absent } else { 0 };
        released.count() + usize::try_from(absent).unwrap_or(usize::MAX)
    }
}

impl Verifier<'_> {
    /// Members of a population in each class of the output; `None` if a row of it has no place in a hierarchy.
    pub(super) fn members(&self, population: &Population, classes: &Classes) -> Option<Members> {
        let mut labels: Vec<Vec<Option<String>>> = Vec::new();
        let mut codes: Vec<&[u32]> = Vec::new();
        for position in classes.positions(self.rendered) {
            let attribute = &self.schema.attributes()[position];
            let hierarchy = attribute.hierarchy.as_ref()?;
            // Cuts are not compared with a population: such a demand is refused.
            let Recoded::FullDomain(levels) = self.recipe.recoding else {
                return None;
            };
            let level = *levels.get(&attribute.declaration.name)?;
            let column = population.columns.get(position)?.as_ref()?;
            let values = std::iter::once(None).chain(column.dictionary.iter().map(Some));
            let of_codes = values.map(|value| {
                let path = hierarchy.path(value).ok()?;
                path.into_iter().nth(level)
            });
            labels.push(of_codes.collect::<Option<_>>()?);
            codes.push(&column.codes);
        }
        let mut found: HashMap<Box<[u8]>, HashSet<u32>> = HashMap::new();
        let mut key = Vec::new();
        for row in 0..u32::try_from(population.rows).ok()? {
            let cells = labels.iter().zip(&codes);
            let cells = cells.map(|(labels, codes)| {
                let code = codes[row as usize] as usize;
                labels[code].as_deref()
            });
            Classes::write_key(cells, &mut key);
            let subjects = population.subjects.as_ref();
            let member = subjects.map_or(row, |subjects| subjects.codes[row as usize]);
            let members = match found.get_mut(key.as_slice()) {
                Some(members) => members,
                None => found.entry(key.as_slice().into()).or_default(),
            };
            members.insert(member);
        }
        let mut released = vec![0; classes.count];
        let mut absent = 0;
        for (key, members) in found {
            match classes.number(&key) {
                Some(class) => released[class as usize] = members.len() as u64,
                None => absent += 1,
            }
        }
        Some(Members { released, absent })
    }
}
