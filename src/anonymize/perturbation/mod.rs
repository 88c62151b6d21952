//! Rows that chance has changed or drawn, with a loss of privacy that is stated and kept (algorithms.md B.8).
//!
//! Two ways, each before anything else sees the rows, so that whatever is done with them loses no more:
//! - local: cells of some attributes are answered at random, row by row ([`response`], [`grid`]);
//! - sampling: rows are drawn, and classes that are too small are left out ([`sampling`]).
//!
//! Chance comes from keyed streams, one per attribute and row, so neither the order of rows nor the number of threads
//! has a say. The keys are secret and come from outside: whoever could draw the noise again could take it away.

mod exponential;
mod grid;
mod guarantee;
mod local;
mod response;
mod sampler;
mod sampling;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::table::{Column, MISSING, Schema, Table};
use crate::declaration::{Amount, Demand, Perturbation};
use crate::fault::Fault;
pub use guarantee::{AttributeGuarantee, DifferentialPrivacy, Guarantee, Mechanism};
use local::LocalColumn;
use sampling::Sampling;

/// What a stream of random numbers is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream<'a> {
    /// Cells of the attribute of this name.
    Cells(&'a str),
    /// Which rows are drawn.
    Rows,
}

/// A perturbation made ready for the rows of a schema.
#[derive(Debug, Clone)]
pub struct Plan(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Local(Vec<LocalColumn>),
    Sample {
        epsilon: Amount,
        delta: Amount,
        sampling: Sampling,
    },
}

impl Plan {
    /// Finds the declared domain of every attribute, or the least class of a sample.
    ///
    /// # Errors
    /// Every fault: attributes that are not there or are never released, domains that are not declared, bounds and steps
    /// that do not fit each other, the type or the hierarchy.
    pub fn compile(perturbation: &Perturbation, schema: &Schema) -> Result<Self, Vec<Fault>> {
        match perturbation {
            Perturbation::Local { attributes } => {
                local::compile(attributes, schema).map(|columns| Self(Kind::Local(columns)))
            }
            Perturbation::SafePub { epsilon, delta } => Ok(Self(Kind::Sample {
                epsilon: *epsilon,
                delta: *delta,
                sampling: Sampling::new(epsilon.millionths(), delta.to_f64()),
            })),
        }
    }

    /// Of a sample: the size below which classes must be left out.
    #[must_use]
    pub fn least_class(&self) -> Option<u64> {
        match &self.0 {
            Kind::Local(_) => None,
            Kind::Sample { sampling, .. } => Some(sampling.k),
        }
    }

    /// What is guaranteed of rows that went through [`Plan::apply`].
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        match &self.0 {
            Kind::Local(columns) => guarantee::of_columns(columns),
            Kind::Sample {
                epsilon,
                delta,
                sampling,
            } => guarantee::of_sample(*epsilon, *delta, *sampling),
        }
    }

    /// Perturbs a table. `rows` gives a number to each row that stays its own whatever else is there, below 2^64; `key`
    /// the secret key of a stream.
    ///
    /// Cost: a block of `ChaCha20` per cell.
    pub fn apply(&self, table: &mut Table, rows: &[u64], key: impl Fn(Stream<'_>) -> [u8; 32]) {
        match &self.0 {
            Kind::Local(columns) => {
                for local in columns {
                    if let Some(column) = &mut table.columns[local.position] {
                        let streams = Streams::new(key(Stream::Cells(&local.name)));
                        *column = local.answer(column, rows, &streams);
                    }
                }
            }
            Kind::Sample { sampling, .. } => {
                let streams = Streams::new(key(Stream::Rows));
                let is_drawn = |row: u64| streams.stream(row).next_u64() < sampling.beta;
                let places = rows.iter().enumerate();
                let drawn = places.filter(|&(_, &row)| is_drawn(row));
                let drawn: Vec<usize> = drawn.map(|(place, _)| place).collect();
                table.rows = drawn.len();
                let columns = table.columns.iter_mut().flatten();
                for column in columns.chain(&mut table.subjects) {
                    *column = of_rows(column, &drawn);
                }
            }
        }
    }
}

/// What is guaranteed of rows that were perturbed as demanded; false where nothing was.
#[must_use]
pub fn guarantee(demand: &Demand, schema: &Schema) -> DifferentialPrivacy {
    let plan = demand
        .perturbation
        .as_ref()
        .and_then(|perturbation| Plan::compile(perturbation, schema).ok());
    plan.map_or_else(DifferentialPrivacy::default, |plan| {
        DifferentialPrivacy::Holds(Box::new(plan.guarantee()))
    })
}

/// The rows at these places, with the values that they hold alone.
fn of_rows(column: &Column, places: &[usize]) -> Column {
    let mut found = Column::default();
    let mut code_of: Vec<Option<u32>> = vec![None; column.dictionary.len() + 1];
    code_of[MISSING as usize] = Some(MISSING);
    found.codes = places
        .iter()
        .map(|&place| {
            let code = column.codes[place];
            let value = || column.dictionary.value(code).unwrap_or_default();
            *code_of[code as usize].get_or_insert_with(|| found.dictionary.insert(value()))
        })
        .collect();
    found
}

/// The random streams of one key, by row.
struct Streams(ChaCha20Rng);

impl Streams {
    fn new(key: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(key))
    }

    fn stream(&self, row: u64) -> ChaCha20Rng {
        let mut stream = self.0.clone();
        stream.set_stream(row);
        stream
    }
}

#[cfg(test)]
mod tests;
