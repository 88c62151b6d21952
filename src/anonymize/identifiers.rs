//! Keyed tokens in the place of identifiers: which stand where, and what they link within one release.
//!
//! The tokens come from outside, because their key does: here they are texts.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::release::Rendered;
use super::table::{Schema, Table};
use crate::declaration::Role;

/// Texts of a column by code; `None` is missing.
type Labels = Vec<Option<Box<str>>>;

/// Tokens of the identifying columns of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tokens {
    columns: BTreeMap<usize, Vec<Box<str>>>,
}

/// What the tokens of one column tie together in a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Linked {
    /// Tokens that more than one released row bears.
    pub repeated: u64,
    /// The fewest tokens that stand in the same classes, each as often; 0 without a token.
    pub least: u64,
}

impl Tokens {
    /// Tokens of the columns at these positions, which the table must hold; `token` gives that of a value of a column.
    ///
    /// Cost: one call per distinct value.
    #[must_use]
    pub fn of(
        table: &Table,
        schema: &Schema,
        positions: &[usize],
        token: impl Fn(&str, &str) -> String,
    ) -> Self {
        let of_column = |position: &usize| {
            let column = table.columns.get(*position)?.as_ref()?;
            let name = &schema.attributes()[*position].declaration.name;
            let values = column.dictionary.iter();
            let tokens = values.map(|value| token(name, value).into());
            Some((*position, tokens.collect()))
        };
        Self {
            columns: positions.iter().filter_map(of_column).collect(),
        }
    }

    /// Whether the column at this position has tokens.
    #[must_use]
    pub fn has(&self, position: usize) -> bool {
        self.columns.contains_key(&position)
    }

    /// Distinct tokens of a column after missing, and the place among them of each code of its table's column: two
    /// spellings of one identifier share one.
    pub(super) fn labels(&self, position: usize) -> Option<(Labels, Vec<u32>)> {
        let mut labels = vec![None];
        let mut known: FxHashMap<&str, u32> = FxHashMap::default();
        let mut label_of = vec![0];
        for token in self.columns.get(&position)? {
            label_of.push(*known.entry(token).or_insert_with(|| {
                labels.push(Some(token.clone()));
                u32::try_from(labels.len() - 1).unwrap_or(u32::MAX)
            }));
        }
        Some((labels, label_of))
    }
}

/// What each token column of a release ties together, by position of its attribute.
///
/// Whoever has the release sees which rows bear one token, and so which classes one person stands in. Cost: that of
/// sorting the rows twice per token column.
#[must_use]
pub fn linked(rendered: &Rendered, schema: &Schema) -> BTreeMap<usize, Linked> {
    let role = |position: usize| schema.attributes()[position].declaration.role;
    let has_role = |wanted: Role| {
        let columns = 0..rendered.columns.len();
        columns.filter(move |&column| role(rendered.columns[column].position) == wanted)
    };
    let quasi: Vec<usize> = has_role(Role::QuasiIdentifying).collect();
    let released = rendered.order.iter().copied();
    let released = released.filter(|&row| !rendered.suppressed[row as usize]);
    let released: Vec<usize> = released.map(|row| row as usize).collect();
    let class = |row: usize| -> Vec<u32> {
        let codes = quasi
            .iter()
            .map(|&column| rendered.columns[column].codes[row]);
        codes.collect()
    };
    let identifying = has_role(Role::Identifying).map(|column| {
        let column = &rendered.columns[column];
        let mut classes: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
        for &row in released.iter().filter(|&&row| column.codes[row] != 0) {
            classes
                .entry(column.codes[row])
                .or_default()
                .push(class(row));
        }
        let mut alike: BTreeMap<Vec<Vec<u32>>, u64> = BTreeMap::new();
        let mut repeated = 0;
        for mut of_token in classes.into_values() {
            repeated += u64::from(of_token.len() > 1);
            of_token.sort_unstable();
            *alike.entry(of_token).or_default() += 1;
        }
        let least = alike.into_values().min().unwrap_or(0);
        (column.position, Linked { repeated, least })
    });
    identifying.collect()
}

/// Positions of the identifying attributes that a release shows: those of the wanted columns, or all.
#[must_use]
pub fn wanted(schema: &Schema, columns: Option<&[String]>) -> Vec<usize> {
    let wanted: Option<BTreeSet<&str>> =
        columns.map(|names| names.iter().map(String::as_str).collect());
    let is_wanted = |position: &usize| {
        let name = schema.attributes()[*position].declaration.name.as_str();
        wanted.as_ref().is_none_or(|wanted| wanted.contains(name))
    };
    schema
        .with_role(Role::Identifying)
        .filter(is_wanted)
        .collect()
}
