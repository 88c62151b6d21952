//! One measure for the solutions of all methods, whatever their recoding.
//!
//! Levels are measured as levels, cuts as the two-level hierarchy that they are, classes as attributes whose values are the
//! classes ([`spans`]); from there on it is the same code for all: the same criteria decide what is suppressed, the same
//! objectives what that costs, and whole numbers whether two costs are equal.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::spans;
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::clusters::by_class;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::report::{Front, RecodingReport, Solution};
use crate::anonymize::rows::{QuasiIdentifier, Rows};
use crate::anonymize::search::problem::judge;
use crate::anonymize::subtree::Forest;
use crate::anonymize::table::{Attribute, Column, Schema, Table};
use crate::anonymize::utility::{self, Objectives};
use crate::anonymize::{Error, report::ObjectiveReport};
use crate::declaration::{Demand, Objective};

/// The costs of a solution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    /// Orders the two objectives, exactly; less is better.
    pub(super) keys: [u128; 2],
    /// The two as costs: of one that is maximised, what it lacks to its greatest value.
    pub(super) values: [f64; 2],
    /// Orders the loss.
    pub(super) loss_key: u128,
    /// Granularity loss, whether or not it is an objective.
    pub(super) loss: f64,
    /// Subjects in the smallest released class.
    pub(super) k: u64,
    pub(super) average_risk: f64,
    pub(super) maximum_risk: f64,
}

/// Measures solutions found on one table.
pub(super) struct Yardstick<'a> {
    demand: Demand,
    objectives: Vec<ObjectiveReport>,
    rows: Rows<'a>,
    /// Quasi-identifiers with their columns.
    attributes: Vec<(&'a Attribute, &'a Column)>,
    criteria: Criteria,
    cells: Cells,
    allowed: u64,
    /// Costs of policies that were measured before: methods find the same ones again and again.
    known: Mutex<HashMap<String, Costs>>,
}

/// Costs by objective of the demand and of the loss, the last: key and value.
type Costs = Vec<Option<(u128, f64)>>;

/// Costs without a key of their own are ordered to so many decimals.
const PRECISION: f64 = 1e12;

impl<'a> Yardstick<'a> {
    /// For the two objectives of a demand over a table.
    ///
    /// # Errors
    /// A stored value has no place in its hierarchy.
    pub(super) fn new(
        table: &'a Table,
        schema: &'a Schema,
        demand: &Demand,
        objectives: Vec<ObjectiveReport>,
    ) -> Result<Self, Error> {
        let rows = Rows::of(table, schema)?;
        let attributes = schema.quasi_identifiers().into_iter();
        let attributes = attributes.filter_map(|position| {
            let column = table.columns.get(position)?.as_ref()?;
            Some((&schema.attributes()[position], column))
        });
        let (criteria, mut needs) = Criteria::new(&demand.privacy, &rows);
        utility::add_needs(demand, &mut needs);
        let (cells, _) = Cells::build(&rows, &needs);
        Ok(Self {
            allowed: demand.suppression_limit.floor_of(rows.rows as u64),
            attributes: attributes.collect(),
            demand: demand.clone(),
            objectives,
            criteria,
            cells,
            rows,
            known: Mutex::default(),
        })
    }

    /// The different points of a front, in its order.
    ///
    /// # Errors
    /// A stored value has no place in its hierarchy.
    pub(super) fn points(&self, front: &Front) -> Result<Vec<Point>, Error> {
        let measured: Vec<Point> = front
            .solutions
            .par_iter()
            .enumerate()
            .map(|(number, solution)| {
                let class_of = front.partitions.get(number).map(|class_of| &**class_of);
                self.point(solution, class_of)
            })
            .collect::<Result<_, _>>()?;
        Ok(measured)
    }

    fn point(&self, solution: &Solution, class_of: Option<&[u32]>) -> Result<Point, Error> {
        let costs = self.costs(&solution.recoding, class_of)?;
        let own = |place: usize| costs[place].unwrap_or_else(|| self.reported(place, solution));
        let (first, second, loss) = (own(0), own(1), own(2));
        Ok(Point {
            keys: [first.0, second.0],
            values: [first.1, second.1],
            loss_key: loss.0,
            loss: loss.1,
            k: solution.privacy.k,
            average_risk: solution.risk.average,
            maximum_risk: solution.risk.maximum,
        })
    }

    /// The cost that a front states, of objectives that only classes have.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cost is not negative, and a float is converted by saturation"
    )]
    fn reported(&self, place: usize, solution: &Solution) -> (u128, f64) {
        let Some(objective) = self.objectives.get(place) else {
            return (u128::MAX, f64::INFINITY);
        };
        let stated = solution.objectives.get(&objective.name).copied();
        let cost = match (stated, &*objective.direction) {
            (Some(value), "maximize") => objective.range[1] - value,
            (value, _) => value.unwrap_or(objective.range[1]),
        };
        ((cost * PRECISION).round() as u128, cost)
    }

    fn costs(&self, recoding: &RecodingReport, class_of: Option<&[u32]>) -> Result<Costs, Error> {
        match recoding {
            RecodingReport::FullDomain { levels } => {
                let policy = self.rows.policy(levels);
                let name = format!("{:?}", policy.levels());
                Ok(self.remembered(name, || self.judged(&self.cells, policy.levels())))
            }
            RecodingReport::Subtree { specialized, .. } => {
                let name = serde_json::to_string(specialized).unwrap_or_default();
                Ok(self.remembered(name, || {
                    let forest = Forest::new(&self.cells);
                    let view = forest.view(&forest.cuts(specialized));
                    self.judged(&view, &forest.ones())
                }))
            }
            RecodingReport::Local(_) | RecodingReport::Microaggregation(_) => {
                self.of_classes(class_of.ok_or(Error::PartitionMissing)?)
            }
        }
    }

    fn remembered(&self, name: String, costs: impl FnOnce() -> Costs) -> Costs {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&name) {
            return known.clone();
        }
        // Measured without the lock: two threads may do it twice, with the same result.
        let costs = costs();
        lock().insert(name, costs.clone());
        costs
    }

    fn of_classes(&self, class_of: &[u32]) -> Result<Costs, Error> {
        let codes = by_class::codes(class_of);
        let attributes: Vec<QuasiIdentifier> = spans::of_classes(&self.attributes, class_of)?;
        let rows = Rows {
            quasi_identifiers: attributes
                .into_iter()
                .map(|attribute| (attribute, &*codes))
                .collect(),
            ..self.rows.clone()
        };
        let (criteria, mut needs) = Criteria::new(&self.demand.privacy, &rows);
        utility::add_needs(&self.demand, &mut needs);
        let (cells, _) = Cells::build(&rows, &needs);
        let levels = vec![0; self.attributes.len()];
        Ok(self.judged_by(&criteria, &cells, &levels))
    }

    fn judged(&self, cells: &Cells, levels: &[u32]) -> Costs {
        self.judged_by(&self.criteria, cells, levels)
    }

    fn judged_by(&self, criteria: &Criteria, cells: &Cells, levels: &[u32]) -> Costs {
        let mut wanted = self.demand.objectives.clone();
        wanted.push(Objective::Loss);
        let is_measured = |objective: &Objective| {
            !matches!(
                objective,
                Objective::InformationLoss | Objective::SensitiveEntropy
            )
        };
        let measured = wanted.iter().copied().filter(is_measured).collect();
        let demand = Demand {
            objectives: measured,
            ..self.demand.clone()
        };
        let objectives = Objectives::new(&demand, cells);
        let table = ClassTable::group(cells, levels, &mut Scratch::default());
        let candidate = judge(cells, criteria, &objectives, self.allowed, &table);
        let mut costs = candidate.keys.into_iter().zip(candidate.values);
        wanted
            .iter()
            .map(|objective| is_measured(objective).then(|| costs.next()).flatten())
            .collect()
    }
}
