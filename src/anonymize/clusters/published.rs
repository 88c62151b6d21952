//! What the rows of each class bear for each quasi-identifier: sets that hold their values, or what stands for the class.
//!
//! Everything is a function of the class's own rows, so nothing that is written stems from fewer rows than the class has.

use std::borrow::Cow;

use rayon::prelude::*;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use rustc_hash::FxHashMap;

use super::centroid::MOST_CANDIDATES;
use super::scale::{self, Scale};
use super::taxonomy::Taxonomy;
use super::wording;
use crate::anonymize::Error;
use crate::anonymize::hierarchy::Generalization;
use crate::anonymize::table::{Attribute, Column, MISSING, Schema, Table};
use crate::declaration::{Representation, Role, ValueType};

/// Digits of a mean beyond those of its column.
const MEAN_DIGITS: u32 = 2;

/// The texts of one quasi-identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Published {
    /// Attribute position in the schema.
    pub(crate) position: usize,
    /// Different texts; `None` is missing.
    pub(crate) labels: Vec<Option<Box<str>>>,
    /// Text of each class.
    pub(crate) of_class: Vec<u32>,
}

/// The rows of each class, classes one after another.
struct RowsByClass {
    ends: Vec<usize>,
    rows: Vec<u32>,
}

impl RowsByClass {
    fn of(class_of: &[u32]) -> Self {
        let classes = class_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut ends = vec![0; classes + 1];
        for &class in class_of {
            ends[class as usize + 1] += 1;
        }
        for class in 0..classes {
            ends[class + 1] += ends[class];
        }
        let mut next = ends.clone();
        let mut rows = vec![0; class_of.len()];
        for (row, &class) in (0..).zip(class_of) {
            rows[next[class as usize]] = row;
            next[class as usize] += 1;
        }
        Self { ends, rows }
    }
}

/// The texts of every quasi-identifier that is loaded, for rows in classes numbered from 0, none empty.
///
/// Cost: per attribute, a sort of the rows of every class; for medoids the square of a class's distinct values.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub(crate) fn publish(
    table: &Table,
    schema: &Schema,
    class_of: &[u32],
    representation: Representation,
) -> Result<Vec<Published>, Error> {
    let members = RowsByClass::of(class_of);
    let attributes = schema.attributes().iter().enumerate();
    let quasi_identifiers = attributes
        .filter(|(_, attribute)| attribute.declaration.role == Role::QuasiIdentifying)
        .filter_map(|(position, attribute)| {
            let column = table.columns.get(position)?.as_ref()?;
            Some((position, attribute, column))
        });
    quasi_identifiers
        .map(|(position, attribute, column)| {
            let values = Values::new(attribute, column)?;
            let texts: Vec<Option<Box<str>>> = members
                .ends
                .par_windows(2)
                .map(|ends| {
                    let counts = values.counts(&members.rows[ends[0]..ends[1]]);
                    let text = match representation {
                        Representation::Sets => values.region(&counts),
                        Representation::Centroids => values.center(&counts),
                    };
                    text.map(Into::into)
                })
                .collect();
            let mut labels = Vec::new();
            let mut known: FxHashMap<Option<Box<str>>, u32> = FxHashMap::default();
            let of_class = texts.into_iter().map(|text| {
                *known.entry(text).or_insert_with_key(|text| {
                    labels.push(text.clone());
                    u32::try_from(labels.len() - 1).unwrap_or(u32::MAX)
                })
            });
            let of_class = of_class.collect();
            Ok(Published {
                position,
                labels,
                of_class,
            })
        })
        .collect()
}

/// Joins classes whose rows bear the same texts, until no two do: to a reader they are one. Gives the number of each
/// row's class, numbered by their first rows, and the texts.
///
/// # Errors
/// As of [`publish`].
pub(crate) fn join_alike(
    table: &Table,
    schema: &Schema,
    mut class_of: Vec<u32>,
    representation: Representation,
) -> Result<Vec<u32>, Error> {
    loop {
        let published = publish(table, schema, &class_of, representation)?;
        let classes = published.first().map_or(0, |one| one.of_class.len());
        let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
        let number_of: Vec<u32> = (0..classes)
            .map(|class| {
                let texts = published.iter().map(|one| one.of_class[class]);
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(texts.collect()).or_insert(next)
            })
            .collect();
        if numbers.len() == classes {
            return Ok(class_of);
        }
        for class in &mut class_of {
            *class = number_of[*class as usize];
        }
    }
}

/// One column's values by rank: their place in the attribute's order, from 1; 0 is missing.
struct Values<'a> {
    attribute: &'a Attribute,
    column: &'a Column,
    scale: Scale,
    /// Value code of each rank.
    code_of: Vec<u32>,
    rank_of: Vec<u32>,
    tree: Option<(Generalization, Taxonomy)>,
    /// Digits after the point.
    digits: u32,
}

/// Rows by rank, ascending.
type Counts = Vec<(u32, u64)>;

impl<'a> Values<'a> {
    fn new(attribute: &'a Attribute, column: &'a Column) -> Result<Self, Error> {
        let (scale, order) = scale::of(attribute, &column.dictionary);
        let code_of: Vec<u32> = [MISSING].into_iter().chain(order).collect();
        let mut rank_of = vec![0; code_of.len()];
        for (&code, rank) in code_of.iter().zip(0..) {
            rank_of[code as usize] = rank;
        }
        let uncovered = || Error::Uncovered {
            column: attribute.declaration.name.clone(),
            values: 1,
        };
        let tree = match scale {
            Scale::Taxonomy => {
                let hierarchy = attribute.hierarchy.as_ref().ok_or_else(uncovered)?;
                let encoded = hierarchy
                    .encode(&column.dictionary)
                    .map_err(|_| uncovered())?;
                let taxonomy = Taxonomy::of(&encoded);
                Some((encoded, taxonomy))
            }
            _ => None,
        };
        let digits = match &scale {
            Scale::Numbers(values) => values.iter().map(Decimal::scale).max().unwrap_or(0),
            _ => 0,
        };
        Ok(Self {
            attribute,
            column,
            scale,
            code_of,
            rank_of,
            tree,
            digits,
        })
    }

    fn counts(&self, rows: &[u32]) -> Counts {
        let rank = |&row: &u32| self.rank_of[self.column.codes[row as usize] as usize];
        let mut ranks: Vec<u32> = rows.iter().map(rank).collect();
        ranks.sort_unstable();
        let runs = ranks.chunk_by(|left, right| left == right);
        runs.map(|run| (run[0], run.len() as u64)).collect()
    }

    fn text(&self, rank: u32) -> Option<&'a str> {
        let code = self.code_of[rank as usize];
        self.column.dictionary.value(code)
    }

    /// A text that every row's value lies in.
    fn region(&self, counts: &[(u32, u64)]) -> Option<String> {
        let is_missing = counts.first().is_some_and(|&(rank, _)| rank == 0);
        let present = &counts[usize::from(is_missing)..];
        let (first, last) = (present.first()?.0, present.last()?.0);
        let (low, high) = (self.text(first)?, self.text(last)?);
        match &self.scale {
            Scale::Numbers(values) => {
                let value = |rank: u32| values[self.code_of[rank as usize] as usize];
                Some(range(low, high, value(first) == value(last), is_missing))
            }
            Scale::Ordinal => Some(range(low, high, first == last, is_missing)),
            Scale::Taxonomy => {
                let (generalization, _) = self.tree.as_ref()?;
                self.ancestor(generalization, counts)
            }
            Scale::Nominal if first == last && !is_missing => Some(wording::single(low).into()),
            Scale::Nominal => {
                let missing = is_missing.then_some(Cow::Borrowed(wording::MISSING));
                let values = present.iter().filter_map(|&(rank, _)| self.text(rank));
                let elements = missing.into_iter().chain(values.map(wording::escaped));
                Some(wording::set(elements))
            }
        }
    }

    /// The label of the lowest node above all values.
    fn ancestor(&self, generalization: &Generalization, counts: &[(u32, u64)]) -> Option<String> {
        let levels = &generalization.levels;
        let mut nodes: Vec<u32> = counts
            .iter()
            .map(|&(rank, _)| levels[0].node_of[self.code_of[rank as usize] as usize])
            .collect();
        let mut level = 0;
        loop {
            nodes.sort_unstable();
            nodes.dedup();
            if let [node] = nodes[..] {
                return levels[level].labels[node as usize]
                    .as_deref()
                    .map(str::to_owned);
            }
            for node in &mut nodes {
                *node = levels[level].parent[*node as usize];
            }
            level += 1;
        }
    }

    /// What stands for the class: mean, lower median, medoid or mode.
    fn center(&self, counts: &[(u32, u64)]) -> Option<String> {
        let rows: u64 = counts.iter().map(|&(_, rows)| rows).sum();
        let missing = counts
            .first()
            .filter(|&&(rank, _)| rank == 0)
            .map_or(0, |&(_, rows)| rows);
        let present = &counts[usize::from(missing > 0)..];
        match &self.scale {
            Scale::Numbers(_) | Scale::Ordinal if 2 * missing > rows || missing == rows => None,
            Scale::Numbers(values) => self.mean(values, present),
            Scale::Ordinal => {
                let mut below = 0;
                let median = present.iter().find(|&&(_, own)| {
                    below += own;
                    2 * below >= rows - missing
                });
                self.text(median?.0).map(str::to_owned)
            }
            Scale::Taxonomy if counts.len() <= MOST_CANDIDATES => {
                let (_, taxonomy) = self.tree.as_ref()?;
                self.text(self.medoid(taxonomy, counts)).map(str::to_owned)
            }
            Scale::Taxonomy | Scale::Nominal => {
                let mut best = (0, 0);
                for &(rank, rows) in counts {
                    if rows > best.1 {
                        best = (rank, rows);
                    }
                }
                self.text(best.0).map(str::to_owned)
            }
        }
    }

    fn mean(&self, values: &[Decimal], present: &[(u32, u64)]) -> Option<String> {
        let value = |rank: u32| values[self.code_of[rank as usize] as usize];
        let rows: u64 = present.iter().map(|&(_, rows)| rows).sum();
        let sum = present
            .iter()
            .try_fold(Decimal::ZERO, |sum, &(rank, rows)| {
                sum.checked_add(value(rank).checked_mul(Decimal::from(rows))?)
            });
        let exact = sum.and_then(|sum| sum.checked_div(Decimal::from(rows)));
        // Sums of more than 28 digits are made in floating point.
        let mean = exact.or_else(|| {
            let terms = present
                .iter()
                .map(|&(rank, rows)| value(rank).to_f64().unwrap_or(0.0) * rows as f64);
            Decimal::from_f64(terms.sum::<f64>() / rows as f64)
        })?;
        let declaration = &self.attribute.declaration;
        if declaration.value_type == ValueType::Date {
            return scale::moment_text(mean, declaration.date_format());
        }
        let rounded = mean.round_dp(self.digits + MEAN_DIGITS).normalize();
        Some(rounded.to_string())
    }

    /// The value with the least summed distance to the rows, of equals the lowest rank.
    fn medoid(&self, taxonomy: &Taxonomy, counts: &[(u32, u64)]) -> u32 {
        let node = |rank: u32| taxonomy.leaf_of[self.code_of[rank as usize] as usize];
        let distance = |left: u32, right: u32| match (left, right) {
            _ if left == right => 0.0,
            (0, _) | (_, 0) => 1.0,
            _ => taxonomy.wu_palmer(node(left), node(right)),
        };
        let mut best = (0, f64::INFINITY);
        for &(candidate, _) in counts {
            let terms = counts
                .iter()
                .map(|&(rank, rows)| rows as f64 * distance(rank, candidate));
            let sum: f64 = terms.sum();
            if sum < best.1 {
                best = (candidate, sum);
            }
        }
        best.0
    }
}

/// A range with its ends, perhaps beside missing cells.
fn range(low: &str, high: &str, is_single: bool, is_missing: bool) -> String {
    match (is_single, is_missing) {
        (true, false) => wording::single(low).into(),
        (false, false) => wording::interval(low, high),
        (true, true) => wording::set([wording::MISSING.into(), wording::escaped(low)]),
        (false, true) => {
            let interval = wording::interval(low, high);
            wording::set([wording::MISSING.into(), interval.into()])
        }
    }
}
