//! Cells answered at random: which answers there are, and the answer of each row.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use rustc_hash::FxHashMap;
use serde_json::Number;

use super::Streams;
use super::grid::{Grid, MOST_STEPS};
use super::response::RandomizedResponse;
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::table::{Attribute, Column, MISSING, Schema};
use crate::declaration::{Amount, HierarchyDeclaration, LocalPerturbation, Role, ValueType, exact};
use crate::fault::{Fault, FaultCode, Faults};

/// Most values of a domain.
const MOST_VALUES: usize = 1 << 20;

/// An attribute whose cells are answered at random.
#[derive(Debug, Clone)]
pub(super) struct LocalColumn {
    pub(super) position: usize,
    pub(super) name: String,
    pub(super) epsilon: Amount,
    pub(super) answers: Answers,
}

/// The answers that cells can get; declared, never read from the rows.
#[derive(Debug, Clone)]
pub(super) enum Answers {
    /// One of these values, or missing, which comes last where it is one.
    Values {
        values: Vec<Box<str>>,
        has_missing: bool,
        response: RandomizedResponse,
    },
    /// A number.
    Numbers(Grid),
}

/// The attributes in the schema's order.
pub(super) fn compile(
    demands: &BTreeMap<String, LocalPerturbation>,
    schema: &Schema,
) -> Result<Vec<LocalColumn>, Vec<Fault>> {
    let mut faults = Faults::default();
    let mut columns = Vec::new();
    for (name, demand) in demands {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let asked = Asked {
            demand,
            pointer: format!("/perturbation/attributes/{escaped}"),
        };
        let first = faults.count();
        let column = match schema.position(name) {
            None => {
                let detail = "the dataset has no such column";
                faults.push(asked.fault("", FaultCode::UnknownAttribute, detail));
                None
            }
            Some(position) => asked.column(position, &schema.attributes()[position], &mut faults),
        };
        let shown: String = name.chars().take(80).collect();
        faults.name_column(first, &shown);
        columns.extend(column);
    }
    columns.sort_by_key(|column| column.position);
    faults.finish(Some(columns))
}

/// What is asked of one attribute, and where.
struct Asked<'a> {
    demand: &'a LocalPerturbation,
    pointer: String,
}

impl Asked<'_> {
    fn fault(&self, field: &str, code: FaultCode, detail: impl Into<String>) -> Fault {
        Fault::at(format!("{}{field}", self.pointer), code, detail)
    }

    fn column(
        &self,
        position: usize,
        attribute: &Attribute,
        faults: &mut Faults,
    ) -> Option<LocalColumn> {
        let declared = &attribute.declaration;
        if declared.role == Role::Identifying {
            let detail = "an identifying column is never released, perturbed or not";
            faults.push(self.fault("", FaultCode::AttributeRole, detail));
            return None;
        }
        let answers = match declared.value_type {
            ValueType::Integer | ValueType::Decimal => {
                Answers::Numbers(self.grid(attribute, faults)?)
            }
            ValueType::Text | ValueType::Date => self.values(attribute, faults)?,
        };
        Some(LocalColumn {
            position,
            name: declared.name.clone(),
            epsilon: self.demand.epsilon,
            answers,
        })
    }

    /// The declared values: leaves of a finite hierarchy, or the declared order.
    fn values(&self, attribute: &Attribute, faults: &mut Faults) -> Option<Answers> {
        let before = faults.count();
        let demand = self.demand;
        let numbers = [
            ("/lower", &demand.lower),
            ("/upper", &demand.upper),
            ("/step", &demand.step),
        ];
        for (field, _) in numbers.iter().filter(|(_, number)| number.is_some()) {
            let detail = "only numbers have bounds and steps";
            faults.push(self.fault(field, FaultCode::TypeConflict, detail));
        }
        let hierarchy = attribute.hierarchy.as_deref();
        let leaves = hierarchy.and_then(Hierarchy::leaves);
        let order = attribute.declaration.order.as_deref();
        let values: Vec<Box<str>> = match (leaves, order) {
            (Some(leaves), _) => leaves.into_iter().map(Box::from).collect(),
            (None, Some(order)) => order.iter().map(|value| value.as_str().into()).collect(),
            (None, None) => {
                let detail = "no finite domain is declared, and one that is read from the rows tells of them: give the \
                              attribute a hierarchy of kind `table` or `taxonomy`, or an `order`";
                faults.push(self.fault("", FaultCode::DomainUndeclared, detail));
                return None;
            }
        };
        let has_missing = !attribute.declaration.missing.is_empty();
        let all = values.len() + usize::from(has_missing);
        if !(2..=MOST_VALUES).contains(&all) {
            let detail = format!("a domain has 2 to {MOST_VALUES} values, missing included");
            faults.push(self.fault("", FaultCode::OutOfRange, detail));
        }
        let uncovered = values
            .iter()
            .filter(|value| hierarchy.is_some_and(|hierarchy| hierarchy.covers(value).is_err()));
        if uncovered.count() > 0 {
            let detail = "values of `order` have no place in the hierarchy";
            faults.push(self.fault("", FaultCode::HierarchyMissingValues, detail));
        }
        (faults.count() == before).then(|| Answers::Values {
            response: RandomizedResponse::new(demand.epsilon.millionths(), all as u64),
            values,
            has_missing,
        })
    }

    /// The declared bounds and step.
    fn grid(&self, attribute: &Attribute, faults: &mut Faults) -> Option<Grid> {
        let is_integer = attribute.declaration.value_type == ValueType::Integer;
        let step = match (&self.demand.step, is_integer) {
            (Some(step), _) => exact(step),
            (None, true) => Some(Decimal::ONE),
            (None, false) => {
                let detail = "decimals are answered on a declared grid: name its `step`";
                faults.push(self.fault("/step", FaultCode::DomainUndeclared, detail));
                None
            }
        };
        let (least, end) = match &attribute.declaration.hierarchy {
            Some(HierarchyDeclaration::Intervals { lower, upper, .. }) => (
                lower.as_ref().and_then(exact),
                upper.as_ref().and_then(exact),
            ),
            _ => (None, None),
        };
        // The upper end of intervals is no legal value itself.
        let greatest = end.zip(step).map(|(end, step)| end - step);
        let mut bound = |field: &str, asked: &Option<Number>, declared: Option<Decimal>| {
            let found = asked.as_ref().and_then(exact).or(declared);
            if found.is_none() {
                let detail = "no bounds are declared, and those of the rows tell of them: name `lower` and `upper`, or \
                              declare them with the attribute's intervals";
                faults.push(self.fault(field, FaultCode::DomainUndeclared, detail));
            }
            found
        };
        let lower = bound("/lower", &self.demand.lower, least);
        let needs_step = self.demand.upper.is_none() && end.is_some() && step.is_none();
        let upper = if needs_step {
            None
        } else {
            bound("/upper", &self.demand.upper, greatest)
        };
        let (lower, upper, step) = (lower?, upper?, step?);
        if is_integer
            && [lower, upper, step]
                .iter()
                .any(|number| !number.is_integer())
        {
            let detail = "bounds and step of an `integer` column are whole numbers";
            faults.push(self.fault("", FaultCode::TypeConflict, detail));
            return None;
        }
        let Some(grid) = Grid::new(lower, upper, step) else {
            let detail = format!(
                "from `lower` to `upper` there must be a whole number of steps, from 1 to {MOST_STEPS}"
            );
            faults.push(self.fault("", FaultCode::OutOfRange, detail));
            return None;
        };
        if attribute
            .hierarchy
            .as_deref()
            .is_some_and(|hierarchy| !covers(hierarchy, &grid))
        {
            let detail = "the hierarchy has no place for some of the numbers between the bounds";
            faults.push(self.fault("", FaultCode::HierarchyMissingValues, detail));
            return None;
        }
        Some(grid)
    }
}

/// Whether a hierarchy has a place for every point of a grid. Of those that are no finite list, the ends tell.
fn covers(hierarchy: &Hierarchy, grid: &Grid) -> bool {
    let is_covered = |place: u64| hierarchy.covers(&grid.text(place)).is_ok();
    match hierarchy.leaves() {
        Some(leaves) => grid.steps < leaves.len() as u64 && (0..=grid.steps).all(is_covered),
        None => [0, 1, grid.steps].into_iter().all(is_covered),
    }
}

impl LocalColumn {
    /// The answers of all rows.
    pub(super) fn answer(&self, column: &Column, rows: &[u64], streams: &Streams) -> Column {
        match &self.answers {
            Answers::Values {
                values,
                has_missing,
                response,
            } => {
                let place_of: FxHashMap<&str, u64> =
                    values.iter().map(|value| &**value).zip(0..).collect();
                let missing = has_missing.then_some(values.len() as u64);
                let truth = |cell: Option<&str>| match cell {
                    None => missing,
                    Some(value) => place_of.get(value).copied(),
                };
                let answer =
                    |truth: &Option<u64>, row| response.answer(*truth, &mut streams.stream(row));
                let text = |place: u64| {
                    let value = values.get(usize::try_from(place).unwrap_or(usize::MAX));
                    value.map(ToString::to_string)
                };
                answered(column, rows, truth, answer, text)
            }
            Answers::Numbers(grid) => {
                let noise = grid.noise(self.epsilon.millionths());
                let answer = |place: &u64, row| grid.noisy(*place, noise, &mut streams.stream(row));
                let text = |place: u64| Some(grid.text(place));
                answered(column, rows, |cell| grid.place(cell), answer, text)
            }
        }
    }
}

/// A column of answers: `truth` reads each distinct cell once, `answer` answers for a row, `text` writes each distinct
/// answer once.
fn answered<T>(
    column: &Column,
    rows: &[u64],
    truth: impl Fn(Option<&str>) -> T,
    answer: impl Fn(&T, u64) -> u64,
    text: impl Fn(u64) -> Option<String>,
) -> Column {
    let cells = std::iter::once(None).chain(column.dictionary.iter().map(Some));
    let truths: Vec<T> = cells.map(truth).collect();
    let mut found = Column::default();
    let mut code_of: FxHashMap<u64, u32> = FxHashMap::default();
    found.codes = column
        .codes
        .iter()
        .zip(rows)
        .map(|(&code, &row)| {
            let place = answer(&truths[code as usize], row);
            *code_of.entry(place).or_insert_with(|| {
                text(place).map_or(MISSING, |value| found.dictionary.insert(&value))
            })
        })
        .collect();
    found
}
