//! Measures a table at given levels without releasing anything.

use super::Error;
use super::cells::Cells;
use super::classes::{ClassTable, Scratch};
use super::figures::{self, Figures};
use super::policy::Policy;
use super::privacy::Criteria;
use super::report::{Measurement, ModelReport};
use super::rows::Rows;
use super::table::{Schema, Table};
use crate::declaration::{Levels, MeasureDemand};

/// Measures. Nothing is suppressed: violations are counted.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub fn measure(
    table: &Table,
    schema: &Schema,
    demand: &MeasureDemand,
) -> Result<Measurement, Error> {
    Ok(measure_rows(&Rows::of(table, schema)?, demand))
}

fn measure_rows(rows: &Rows<'_>, demand: &MeasureDemand) -> Measurement {
    let (criteria, needs) = Criteria::new(&demand.privacy, rows);
    let (cells, cell_of_row) = Cells::build(rows, &needs);
    let policy = rows.policy(&demand.levels);
    let mut scratch = Scratch::default();
    let table = ClassTable::group(&cells, policy.levels(), &mut scratch);
    let exact = Figures::new(rows, &cell_of_row, &demand.privacy);
    let sizes = exact.sizes(&table, &scratch);
    let (privacy, risk) = exact.report(&sizes, &vec![true; table.len()], &scratch);
    let models = demand.privacy.iter().zip(criteria.rules());
    let models: Vec<ModelReport> = models
        .map(|(model, rule)| {
            let failing = rule.violations(&table, &cells);
            ModelReport {
                model: model.clone(),
                satisfied: failing.is_empty(),
                violating_classes: failing.len() as u64,
                violating_rows: failing.iter().map(|&class| table.view(class).rows()).sum(),
            }
        })
        .collect();
    let violating_rows = table.evaluate(&cells, &criteria, false).suppressed_rows;
    Measurement {
        levels: levels_by_name(&cells, &policy),
        rows: cells.rows,
        subjects: rows.subject_count(),
        classes: table.len() as u64,
        privacy,
        risk,
        satisfied: violating_rows == 0,
        violating_rows,
        violating_share: violating_rows as f64 / (cells.rows.max(1)) as f64,
        models,
        class_size_histogram: figures::histogram(&sizes),
    }
}

/// A policy by attribute name.
pub(crate) fn levels_by_name(cells: &Cells, policy: &Policy) -> Levels {
    let names = cells
        .quasi_identifiers
        .iter()
        .map(|attribute| attribute.name.clone());
    names
        .zip(policy.levels().iter().map(|&level| level as usize))
        .collect()
}
