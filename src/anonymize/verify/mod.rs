//! The independent check of a rendered release. Shares no grouping code with the rest: it regroups the output's texts.
//!
//! It reads the output cell by cell as a stranger would, and asks of the input only what it must compare with: the source
//! row of each output row, the path of each value in its hierarchy, the subject of each row. Classes are formed from the
//! texts alone, so a wrong label, a wrong class table or a wrong suppression cannot hide. Every check is made even if an
//! earlier one failed, except that cells are not looked at when the rows or columns themselves make no sense.

mod center;
mod classes;
mod cuts;
pub mod invariance;
mod models;
mod population;
mod privacy;
mod regroup;
pub mod series;
mod tokens;
mod values;
mod wording;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::identifiers::Tokens;
use super::release::{Recipe, Rendered};
use super::subtree::Recoded;
use super::table::{Schema, Table};
use crate::declaration::{Fraction, Role, RowOrder, SuppressedRows};
use regroup::Classes;

/// What the verifier measured on the output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// Always true in a stored record: a release that fails is not stored.
    pub passed: bool,
    /// Name of each check made.
    pub checks: Vec<String>,
    /// Rows counted in the output, masked ones not.
    pub released_rows: u64,
    /// Rows withheld or masked.
    pub suppressed_rows: u64,
    /// Classes found by regrouping the output's texts.
    pub classes: u64,
    /// Smallest class, in subjects where declared.
    pub k: u64,
}

/// What failed. Names checks, columns and counts only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the rendered release failed verification: {}", .failures.join("; "))]
pub struct VerificationFailure {
    /// Every failed check.
    pub failures: Vec<String>,
}

/// Verifies a rendered release against its source (algorithms.md A.6).
///
/// Cost: one pass over the output's cells and one sort of its rows per privacy model.
///
/// # Errors
/// Any check failed.
pub fn verify(
    table: &Table,
    schema: &Schema,
    recipe: &Recipe<'_>,
    limit: Fraction,
    rendered: &Rendered,
) -> Result<Verification, VerificationFailure> {
    verify_with_tokens(table, schema, recipe, limit, rendered, &Tokens::default())
}

/// As [`verify`], where identifiers that have tokens were to be replaced by them.
///
/// Of the given tokens it takes which columns have any, and nothing else: that a cell is a token, and of whom, is judged by
/// the identifiers themselves.
///
/// # Errors
/// Any check failed.
pub fn verify_with_tokens(
    table: &Table,
    schema: &Schema,
    recipe: &Recipe<'_>,
    limit: Fraction,
    rendered: &Rendered,
    tokens: &Tokens,
) -> Result<Verification, VerificationFailure> {
    let mut verifier = Verifier {
        table,
        schema,
        recipe,
        rendered,
        tokens,
        checks: Vec::new(),
        failures: Vec::new(),
    };
    verifier.check_columns();
    verifier.check_rows();
    if !verifier.failures.is_empty() {
        return Err(verifier.failed());
    }
    let released = verifier.check_counts(limit);
    verifier.check_masked_rows();
    for column in 0..rendered.columns.len() {
        if verifier.role(column) == Role::Identifying {
            verifier.check_tokens(column, &released);
        } else if !verifier.is_by_class(rendered.columns[column].position) {
            verifier.check_column(column, &released);
        }
    }
    let classes = Classes::of(rendered, schema, &released);
    verifier.check_classes(&classes, &released);
    let k = verifier.check_privacy(&classes, &released);
    if !verifier.failures.is_empty() {
        return Err(verifier.failed());
    }
    Ok(Verification {
        passed: true,
        checks: verifier.checks.iter().map(ToString::to_string).collect(),
        released_rows: released.len() as u64,
        suppressed_rows: (table.rows - released.len()) as u64,
        classes: classes.count as u64,
        k,
    })
}

struct Verifier<'a> {
    table: &'a Table,
    schema: &'a Schema,
    recipe: &'a Recipe<'a>,
    rendered: &'a Rendered,
    tokens: &'a Tokens,
    checks: Vec<String>,
    failures: Vec<String>,
}

impl<'a> Verifier<'a> {
    fn failed(self) -> VerificationFailure {
        VerificationFailure {
            failures: self.failures,
        }
    }

    fn check(&mut self, name: &str, failure: Option<String>) {
        self.checks.push(name.to_owned());
        if let Some(failure) = failure {
            self.failures.push(format!("{name}: {failure}"));
        }
    }

    fn role(&self, column: usize) -> Role {
        let position = self.rendered.columns[column].position;
        self.schema.attributes()[position].declaration.role
    }

    /// Exactly the wanted columns that may be released, in declared order.
    fn check_columns(&mut self) {
        let attributes = self.schema.attributes().iter().enumerate();
        let expected: Vec<(usize, &str)> = attributes
            .filter(|(position, attribute)| {
                attribute.declaration.role != Role::Identifying || self.tokens.has(*position)
            })
            .map(|(position, attribute)| (position, attribute.declaration.name.as_str()))
            .filter(|&(_, name)| {
                let wanted = self.recipe.columns;
                wanted.is_none_or(|names| names.iter().any(|wanted| wanted == name))
            })
            .collect();
        let columns = &self.rendered.columns;
        let found: Vec<(usize, &str)> = columns
            .iter()
            .map(|column| (column.position, column.name.as_str()))
            .collect();
        let failure = (found != expected).then(|| {
            let names: Vec<&str> = found.iter().map(|&(_, name)| name).collect();
            let listed = names.join("`, `");
            format!(
                "the output has `{listed}`, which are not the releasable columns in declared order"
            )
        });
        self.check("columns", failure);
        let sound = columns.iter().all(|column| {
            let labels = column.labels.len();
            column.codes.len() == self.table.rows
                && column.codes.iter().all(|&code| (code as usize) < labels)
        });
        let failure = (!sound).then(|| "a column does not have one cell per row".to_owned());
        self.check("cells present", failure);
    }

    /// Each output row has a source row, and no source row is used twice.
    fn check_rows(&mut self) {
        let mut used = vec![false; self.table.rows];
        let (mut twice, mut unknown) = (0u64, 0u64);
        for &row in &self.rendered.order {
            match used.get_mut(row as usize) {
                None => unknown += 1,
                Some(used) if *used => twice += 1,
                Some(used) => *used = true,
            }
        }
        let flags = self.rendered.suppressed.len();
        let failure = (twice + unknown > 0 || flags != self.table.rows).then(|| {
            format!("{twice} source rows are used twice, {unknown} output rows have no source")
        });
        self.check("each source row at most once", failure);
        let order = &self.rendered.order;
        if self.recipe.row_order == RowOrder::Input {
            let failure = (!order.is_sorted()).then(|| "the rows are in another order".to_owned());
            self.check("input order", failure);
        }
    }

    fn is_suppressed(&self, row: usize) -> bool {
        self.rendered.suppressed[self.rendered.order[row] as usize]
    }

    /// Counts the output; gives the output rows that are released and not masked.
    fn check_counts(&mut self, limit: Fraction) -> Vec<usize> {
        let rows = self.rendered.order.len();
        let released: Vec<usize> = (0..rows).filter(|&row| !self.is_suppressed(row)).collect();
        let input = self.table.rows as u64;
        let kept = released.len() as u64;
        let flagged = self.rendered.suppressed.iter().filter(|&&is| is).count() as u64;
        let (said_kept, said_suppressed) =
            (self.rendered.released_rows, self.rendered.suppressed_rows);
        let agrees = flagged + kept == input && said_kept == kept && said_suppressed == flagged;
        self.check(
            "input rows are released and suppressed rows",
            (!agrees).then(|| {
                format!(
                    "{input} rows in, {kept} in the output, {flagged} suppressed; {said_kept} and {said_suppressed} are stated"
                )
            }),
        );
        let masked = rows as u64 - kept;
        let expected = match self.recipe.suppressed_rows {
            SuppressedRows::Omit => 0,
            SuppressedRows::Mask => flagged,
        };
        self.check(
            "suppressed rows left out or masked",
            (masked != expected).then(|| format!("{masked} stand in the output, not {expected}")),
        );
        let allowed = limit.floor_of(input);
        let suppressed = input - kept.min(input);
        self.check(
            "suppression limit",
            (suppressed > allowed)
                .then(|| format!("{suppressed} rows suppressed, {allowed} allowed")),
        );
        self.check(
            "something is released",
            (kept == 0).then(|| "no row is".to_owned()),
        );
        released
    }

    fn check_masked_rows(&mut self) {
        if self.recipe.suppressed_rows != SuppressedRows::Mask {
            return;
        }
        let columns = self.rendered.columns.len();
        let open = (0..self.rendered.order.len())
            .filter(|&row| self.is_suppressed(row))
            .filter(|&row| (0..columns).any(|column| self.rendered.cell(row, column) != Some("*")))
            .count();
        let failure =
            (open > 0).then(|| format!("{open} masked rows hold something else than `*`"));
        self.check("masked rows hold only `*`", failure);
    }

    /// Every released cell of a column is what it must be: the ancestor of its input at the level, or the input itself.
    fn check_column(&mut self, column: usize, released: &[usize]) {
        let (position, name) = {
            let column = &self.rendered.columns[column];
            (column.position, column.name.as_str())
        };
        let Some(source) = &self.table.columns[position] else {
            self.check(
                &format!("cells of `{name}`"),
                Some("the input was not loaded".to_owned()),
            );
            return;
        };
        let generalised =
            self.schema.attributes()[position].declaration.role == Role::QuasiIdentifying;
        let cut = cuts::Cut::of(self.schema, self.recipe.recoding, position);
        let mut expected: Vec<Option<Expected<'a>>> = vec![None; source.dictionary.len() + 1];
        let mut wrong = 0u64;
        for &row in released {
            let code = source.codes[self.rendered.order[row] as usize];
            let known = &mut expected[code as usize];
            let expected = known.get_or_insert_with(|| {
                let value = source.dictionary.value(code);
                if generalised {
                    match &cut {
                        Some(cut) => cut.expected(value),
                        None => ancestor(self.schema, self.recipe.recoding, position, value),
                    }
                } else {
                    Expected::Input(value)
                }
            });
            wrong += u64::from(!expected.is(self.rendered.cell(row, column)));
        }
        let (check, what) = if generalised {
            (
                format!("labels of `{name}`"),
                "the ancestors of their input that the policy states",
            )
        } else {
            (format!("cells of `{name}`"), "equal to their input")
        };
        let failure = (wrong > 0).then(|| format!("{wrong} cells are not {what}"));
        self.check(&check, failure);
        if let Some(cut) = cut.filter(|_| generalised) {
            let name = name.to_owned();
            let cells = released.iter().map(|&row| {
                let code = source.codes[self.rendered.order[row] as usize];
                (code, self.rendered.cell(row, column))
            });
            let failure = cut.check(&source.dictionary, cells);
            self.check(&format!("cut of `{name}`"), failure);
        }
    }
}

/// What a cell must be.
#[derive(Debug, Clone)]
enum Expected<'a> {
    Input(Option<&'a str>),
    Label(Option<String>),
    /// The value has no place, or the level does not exist: no cell is right.
    Nothing,
}

impl Expected<'_> {
    fn is(&self, cell: Option<&str>) -> bool {
        match self {
            Self::Input(input) => *input == cell,
            Self::Label(label) => label.as_deref() == cell,
            Self::Nothing => false,
        }
    }
}

fn ancestor<'a>(
    schema: &Schema,
    recoding: Recoded<'_>,
    position: usize,
    value: Option<&str>,
) -> Expected<'a> {
    let attribute = &schema.attributes()[position];
    let path = attribute
        .hierarchy
        .as_ref()
        .and_then(|hierarchy| hierarchy.path(value).ok());
    let level = match recoding {
        Recoded::FullDomain(levels) => levels.get(&attribute.declaration.name).copied(),
        Recoded::Subtree { .. } | Recoded::Classes { .. } => None,
    };
    match (path, level) {
        (Some(mut path), Some(level)) if level < path.len() => {
            Expected::Label(path.swap_remove(level))
        }
        _ => Expected::Nothing,
    }
}
