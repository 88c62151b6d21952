//! The independent check of a release of an m-invariant series, from its definition: shares nothing with the grouping.

use std::collections::{BTreeMap, BTreeSet};

use super::VerificationFailure;
use crate::anonymize::invariance::{InvariantStep, Signatures};
use crate::anonymize::series::{RowId, SeriesRow};
use crate::anonymize::table::{Schema, Table};

/// Checks a release against the rows that are there and the signatures published before; gives the names of the checks.
///
/// Every class has m rows or more with pairwise different sensitive values, counterfeits counted; a row that was released
/// before stands in a class of the same values as then; every row is released once, waits, or has no value; labels are
/// those of ancestors; the kept signatures are those of the classes. Cost: a few sorts of the rows.
///
/// # Errors
/// Every check that failed; names checks and counts only.
pub fn check_invariance(
    schema: &Schema,
    m: usize,
    sensitive: usize,
    before: &Signatures,
    rows: &[SeriesRow],
    step: &InvariantStep,
) -> Result<Vec<String>, VerificationFailure> {
    let (mut names, mut failures) = (Vec::new(), Vec::new());
    let mut check = |name: &str, failing: usize, what: &str| {
        names.push(name.to_owned());
        if failing > 0 {
            failures.push(format!("{name}: {failing} {what}"));
        }
    };
    let there: BTreeMap<RowId, &SeriesRow> = rows.iter().map(|row| (row.id, row)).collect();
    let earlier: BTreeMap<RowId, Vec<&str>> = before
        .rows
        .iter()
        .map(|&(batch, row, set)| {
            let set = before.sets.get(set as usize);
            let values = set.into_iter().flatten().map(|value| &**value);
            (RowId { batch, row }, values.collect())
        })
        .collect();
    let (mut small, mut alike, mut changed, mut foreign, mut wrong) = (0, 0, 0, 0, 0);
    let mut shown: BTreeSet<RowId> = BTreeSet::new();
    let mut signatures: BTreeMap<RowId, Vec<&str>> = BTreeMap::new();
    let mut released = 0;
    for class in &step.classes {
        let own = class
            .rows
            .iter()
            .map(|row| row.carried[sensitive].as_deref());
        let all = own.chain(class.counterfeits.iter().map(|value| Some(&**value)));
        let all: Vec<Option<&str>> = all.collect();
        let distinct: BTreeSet<&str> = all.iter().copied().flatten().collect();
        small += usize::from(all.len() < m);
        alike += usize::from(distinct.len() != all.len());
        let distinct: Vec<&str> = distinct.into_iter().collect();
        for row in &class.rows {
            released += 1;
            changed += usize::from(earlier.get(&row.id).is_some_and(|known| *known != distinct));
            foreign += usize::from(there.get(&row.id).is_none_or(|input| *input != row));
            wrong += usize::from(!is_covered(schema, row, &class.nodes));
            shown.insert(row.id);
            signatures.insert(row.id, distinct.clone());
        }
    }
    check("classes of m rows", small, "classes are smaller");
    check(
        "different sensitive values",
        alike,
        "classes hold a value twice",
    );
    check(
        "signatures persist",
        changed,
        "rows stand among other values than before",
    );
    check(
        "rows of the input",
        foreign,
        "released rows are none of the input",
    );
    check(
        "each row once",
        released - shown.len(),
        "rows stand twice in the release",
    );
    check(
        "labels",
        wrong,
        "rows stand under a node that is not theirs",
    );
    let lost = there
        .values()
        .filter(|row| row.carried[sensitive].is_some());
    let lost = lost.filter(|row| earlier.contains_key(&row.id) && !shown.contains(&row.id));
    check(
        "released rows stay",
        lost.count(),
        "rows that are there were left out",
    );
    let valueless = rows
        .iter()
        .filter(|row| row.carried[sensitive].is_none())
        .count();
    let adds_up = step.released() == shown.len() as u64
        && step.without_value == valueless as u64
        && step.released() + step.waiting + step.without_value == rows.len() as u64;
    check(
        "counts",
        usize::from(!adds_up),
        "sums of rows do not add up",
    );
    let kept: BTreeMap<RowId, Vec<&str>> = step
        .signatures
        .by_row()
        .into_iter()
        .map(|(id, set)| (id, set.iter().map(|value| &**value).collect()))
        .collect();
    check(
        "kept signatures",
        usize::from(kept != signatures),
        "lists differ",
    );
    if failures.is_empty() {
        Ok(names)
    } else {
        Err(VerificationFailure { failures })
    }
}

/// Whether the nodes are, attribute by attribute, on the way from the row's value to the top.
fn is_covered(schema: &Schema, row: &SeriesRow, nodes: &[Vec<Option<String>>]) -> bool {
    let positions = schema.quasi_identifiers();
    nodes.len() == positions.len()
        && positions
            .iter()
            .zip(nodes)
            .zip(row.quasi.iter())
            .all(|((&position, node), value)| {
                let hierarchy = schema.attributes()[position].hierarchy.as_ref();
                let path = hierarchy.and_then(|one| one.path(value.as_deref()).ok());
                path.is_some_and(|path| !node.is_empty() && path.ends_with(node))
            })
}

/// Checks the rows of a release as they are published: every class number stands on m rows or more with pairwise different
/// sensitive values.
///
/// # Errors
/// Otherwise, or if a column is not there.
pub fn check_published(
    table: &Table,
    schema: &Schema,
    class_column: &str,
    attribute: &str,
    m: u64,
) -> Result<(), VerificationFailure> {
    let failed = |failure: String| VerificationFailure {
        failures: vec![format!("m-invariance: {failure}")],
    };
    let column = |name: &str| {
        let column = schema
            .position(name)
            .and_then(|position| table.columns[position].as_ref());
        column.ok_or_else(|| failed(format!("there is no column `{name}`")))
    };
    let (classes, values) = (column(class_column)?, column(attribute)?);
    let mut held: BTreeMap<Option<&str>, (u64, BTreeSet<Option<&str>>)> = BTreeMap::new();
    for (class, value) in classes.codes.iter().zip(&values.codes) {
        let of_class = held.entry(classes.dictionary.value(*class)).or_default();
        of_class.0 += 1;
        of_class.1.insert(values.dictionary.value(*value));
    }
    let wrong = held.values().filter(|(rows, values)| {
        *rows < m || values.len() as u64 != *rows || values.contains(&None)
    });
    let wrong = wrong.count() + usize::from(held.contains_key(&None));
    if wrong == 0 {
        Ok(())
    } else {
        Err(failed(format!(
            "{wrong} classes are too small, or hold a value twice or none"
        )))
    }
}
