//! The cuts that a series begins with: those of a search from the roots down over the rows of its first release.

use std::collections::BTreeSet;

use serde_json::json;

use crate::anonymize::report::{Front, RecodingReport};
use crate::anonymize::series::{CutSet, NodeKey, SeriesRow};
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::anonymize::{Limits, Observer, Outcome, Task, anonymize};
use crate::declaration::{DatasetDeclaration, Demand, Role, Score, SeriesDemand};

/// Cuts under which at most the allowed share of the rows has to wait; the roots if no cut meets the demand.
///
/// Cost: that of `tds` over the rows.
pub(super) fn first_cuts(
    schema: &Schema,
    declaration: &DatasetDeclaration,
    demand: &SeriesDemand,
    rows: &[SeriesRow],
    observer: &dyn Observer,
) -> CutSet {
    let found = asked(declaration, demand).and_then(|asked| {
        let task = Task {
            table: &table(schema, rows),
            schema,
            demand: &asked,
            // Nothing is searched exactly and nothing cached.
            limits: Limits {
                exact_search_space: 0,
                cache_bytes: 0,
            },
        };
        match anonymize(&task, observer) {
            Ok(Outcome::Front(front) | Outcome::Stopped(front)) => cuts(schema, &front),
            _ => None,
        }
    });
    found.unwrap_or_else(|| CutSet {
        specialised: vec![BTreeSet::new(); schema.quasi_identifiers().len()],
    })
}

/// The demand on a search that stands for the series' demand.
fn asked(declaration: &DatasetDeclaration, demand: &SeriesDemand) -> Option<Demand> {
    let mut attributes = declaration.attributes.iter();
    let has_target = attributes.any(|attribute| attribute.role == Role::Sensitive);
    let score = if has_target {
        demand.score
    } else {
        Score::Loss
    };
    let body = json!({
        "privacy": demand.privacy,
        "suppression_limit": demand.suppression_limit,
        "recoding": "subtree",
        "search": { "method": "tds", "score": score, "seed": demand.seed },
        "objectives": ["loss"],
    });
    Demand::parse(&body, declaration).ok()
}

/// The rows as a search reads them: quasi-identifiers, sensitive attributes, subjects.
fn table(schema: &Schema, rows: &[SeriesRow]) -> Table {
    let mut table = Table::with_columns(&vec![false; schema.attributes().len()], false);
    table.rows = rows.len();
    for (place, position) in schema.quasi_identifiers().into_iter().enumerate() {
        table.columns[position] = Some(column(rows.iter().map(|row| row.quasi[place].as_deref())));
    }
    let attributes = schema.attributes().iter().enumerate();
    let carried = attributes.filter(|(_, attribute)| {
        matches!(
            attribute.declaration.role,
            Role::Sensitive | Role::Insensitive
        )
    });
    for (place, (position, attribute)) in carried.enumerate() {
        if attribute.declaration.role == Role::Sensitive {
            let cells = rows.iter().map(|row| row.carried[place].as_deref());
            table.columns[position] = Some(column(cells));
        }
    }
    if schema.subject().is_some() {
        let tokens: Vec<Option<String>> = rows
            .iter()
            .map(|row| row.subject.map(hex::encode))
            .collect();
        table.subjects = Some(column(tokens.iter().map(Option::as_deref)));
    }
    table
}

fn column<'a>(cells: impl Iterator<Item = Option<&'a str>>) -> Column {
    let mut column = Column::default();
    for cell in cells {
        let code = cell.map_or(MISSING, |value| column.dictionary.insert(value));
        column.codes.push(code);
    }
    column
}

/// The specialised nodes of the best solution.
fn cuts(schema: &Schema, front: &Front) -> Option<CutSet> {
    let RecodingReport::Subtree { specialized, .. } = &front.solutions.first()?.recoding else {
        return None;
    };
    let nodes = |position: usize| {
        let name = &schema.attributes()[position].declaration.name;
        let paths = specialized.get(name).into_iter().flatten();
        paths
            .map(|path| {
                let labels: Vec<Option<String>> = path.labels.iter().cloned().map(Some).collect();
                NodeKey::of(&labels)
            })
            .collect()
    };
    let quasi = schema.quasi_identifiers().into_iter();
    Some(CutSet {
        specialised: quasi.map(nodes).collect(),
    })
}
