//! Measures a table at given levels without releasing anything.

use super::Error;
use super::cells::Cells;
use super::class_sizes;
use super::classes::{ClassTable, Scratch, Wanted};
use super::figures::Figures;
use super::policy::Policy;
use super::privacy::Criteria;
use super::report::{Measurement, ModelReport};
use super::risk::with_attackers;
use super::rows::Rows;
use super::safe_harbor::{self, Indicator};
use super::table::{MISSING, Schema, Table};
use super::utility::Reporter;
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
    let measurement = measure_rows(&Rows::of(table, schema)?, demand);
    Ok(Measurement {
        identifier_indicators: indicators(table, schema, demand.year_of_data.unwrap_or(0)),
        ..measurement
    })
}

/// Columns that look like one of the 18 identifiers, of those that are loaded: identifying ones are not.
fn indicators(table: &Table, schema: &Schema, year_of_data: u32) -> Vec<Indicator> {
    let columns = schema.attributes().iter().zip(&table.columns);
    let loaded = columns.filter_map(|(attribute, column)| {
        let column = column.as_ref()?;
        Some((&attribute.declaration.name, column))
    });
    let found = loaded.map(|(name, column)| {
        let filled = column.codes.iter().filter(|&&code| code != MISSING);
        let described = safe_harbor::Column {
            name,
            filled_rows: filled.count() as u64,
        };
        safe_harbor::indicators(described, column.dictionary.iter(), year_of_data)
    });
    found.flatten().collect()
}

fn measure_rows(rows: &Rows<'_>, demand: &MeasureDemand) -> Measurement {
    let (criteria, needs) = Criteria::new(&demand.privacy, rows);
    let (cells, cell_of_row) = Cells::build(rows, &needs);
    let policy = rows.policy(&demand.levels);
    let mut scratch = Scratch::default();
    let table = ClassTable::group(&cells, policy.levels(), &mut scratch);
    let exact = Figures::new(rows, &cell_of_row, &demand.privacy, demand.risk);
    let sizes = exact.sizes(&table, &scratch);
    let released = vec![true; table.len()];
    let (privacy, risk) = exact.report(&sizes, &released, &scratch);
    let subjects = rows.subject_count();
    let population = demand.risk.and_then(|known| known.members(subjects));
    let all_sizes = sizes.classes.iter().map(|&(_, size)| size);
    let risk = with_attackers(risk, all_sizes, population);
    let risk = exact.with_population(risk, &table, &sizes, &released);
    let utility =
        Reporter::new(&cells, &demand.measures, 0).report(&table, &released, scratch.class_of());
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
    let violating_rows = table
        .evaluate(&cells, &criteria, Wanted::default())
        .suppressed_rows;
    Measurement {
        levels: levels_by_name(&cells, &policy),
        rows: cells.rows,
        subjects,
        classes: table.len() as u64,
        privacy,
        risk,
        satisfied: violating_rows == 0,
        violating_rows,
        violating_share: violating_rows as f64 / (cells.rows.max(1)) as f64,
        models,
        class_size_histogram: class_sizes::histogram(sizes.classes.iter().copied()),
        utility,
        identifier_indicators: Vec::new(),
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
