//! The pure core: tables, hierarchies, searches, releases, checks. No async, no I/O, no clock, no ambient randomness.

pub mod attack;
pub mod cells;
pub mod certificate;
mod class_sizes;
pub mod classes;
pub mod clusters;
pub mod compare;
pub mod distribution;
pub mod downstream;
mod figures;
pub mod hierarchy;
pub mod identifiers;
pub mod invariance;
pub mod measure;
mod order;
pub mod overlap;
pub mod perturbation;
pub mod policy;
pub mod population;
pub mod privacy;
pub mod release;
pub mod report;
pub mod risk;
pub mod rows;
pub mod safe_harbor;
pub mod search;
pub mod series;
pub mod subtree;
pub mod table;
pub mod utility;
pub mod verify;

pub use policy::search_space;
pub use privacy::impossible;
pub use search::empty_front;
pub use search::switches::{Effort, Switches};

use crate::declaration::Demand;
use report::{Front, Reason};
use table::{Schema, Table};

/// What to anonymize, and how.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The rows.
    pub table: &'a Table,
    /// Their attributes.
    pub schema: &'a Schema,
    /// The demands, checked against the schema.
    pub demand: &'a Demand,
    /// What the machine allows.
    pub limits: Limits,
}

/// What a search may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Largest search space that `exact` accepts and `auto` searches exactly.
    pub exact_search_space: u64,
    /// Bytes of cached class tables.
    pub cache_bytes: usize,
}

/// Whether and why a search must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The job was cancelled or its lease lost: the answer is not wanted.
    Cancelled,
    /// Its seconds are used up: the best so far is the answer.
    OutOfTime,
}

/// How far a search is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Distinct policies evaluated.
    pub evaluations: u64,
    /// Share of the work done, `0..=1`.
    pub fraction: f64,
    /// What is being done, without any cell value.
    pub phase: String,
}

/// Whoever watches a search. Asked once per candidate policy, from any thread.
pub trait Observer: Sync {
    /// Whether to end now.
    fn must_stop(&self) -> Option<Stop>;
    /// Takes note of progress; cheap, may drop notes.
    fn report(&self, progress: Progress);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn must_stop(&self) -> Option<Stop> {
        None
    }
    fn report(&self, _: Progress) {}
}

/// How a search ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// With at least one policy that meets the demands.
    Front(Front),
    /// No policy meets the demands (of those searched, if the front's search is not complete). The front is empty.
    Infeasible(Reason, Front),
    /// Out of time; the front holds the best so far, perhaps nothing.
    Stopped(Front),
    /// Cancelled; there is no answer.
    Cancelled,
}

impl Outcome {
    /// The front, if there is one.
    pub fn front_mut(&mut self) -> Option<&mut Front> {
        match self {
            Self::Front(front) | Self::Infeasible(_, front) | Self::Stopped(front) => Some(front),
            Self::Cancelled => None,
        }
    }
}

/// Searches policies. Runs on the ambient rayon pool; same task, same answer, for any thread count.
///
/// # Errors
/// The task cannot be run: an uncovered value, too large a search space for `exact`.
pub fn anonymize(task: &Task<'_>, observer: &dyn Observer) -> Result<Outcome, Error> {
    anonymize_with(task, observer, Switches::default()).0
}

/// The same with parts of the engine left out, and what it took: for measurements.
///
/// # Errors
/// As of [`anonymize`].
pub fn anonymize_with(
    task: &Task<'_>,
    observer: &dyn Observer,
    switches: Switches,
) -> (Result<Outcome, Error>, Effort) {
    let mut effort = Effort::default();
    // Within the pool from here on: nothing has to be handed over between threads for every batch of policies.
    let outcome = rayon::scope(|_| search::run(task, observer, switches, &mut effort));
    let outcome = outcome.map(|mut outcome| {
        if let Some(front) = outcome.front_mut() {
            front.differential_privacy = perturbation::guarantee(task.demand, task.schema);
        }
        outcome
    });
    (outcome, effort)
}

/// Why a task cannot be run although its demands were checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A stored value has no place in the hierarchy (the hierarchy was replaced since).
    #[error("column `{column}`: {values} distinct values have no place in the hierarchy")]
    Uncovered {
        /// The column.
        column: String,
        /// How many values.
        values: u64,
    },
    /// A value of a population has no place in the hierarchy of the table that it is compared with.
    #[error(
        "column `{column}`: {values} distinct values of the population have no place in the hierarchy"
    )]
    PopulationUncovered {
        /// The column.
        column: String,
        /// How many values.
        values: u64,
    },
    /// A method for cuts was asked for, of policies that are not cuts.
    #[error("the method searches cuts only")]
    MethodWithoutCuts,
    /// A method for classes was asked for, of policies that are not classes.
    #[error("the method forms classes only")]
    MethodOfClasses,
    /// The class of every row is needed and is not there.
    #[error("the classes of the rows are not at hand")]
    PartitionMissing,
    /// `exact` was asked for beyond the configured size.
    #[error(
        "the search space of {search_space} policies exceeds the exact search's limit of {limit}"
    )]
    SearchSpaceTooLarge {
        /// Its size, in decimal.
        search_space: String,
        /// The limit.
        limit: u64,
    },
}

impl Error {
    /// The stable code of a job that fails by it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Uncovered { .. } | Self::PopulationUncovered { .. } => "hierarchy_missing_values",
            Self::SearchSpaceTooLarge { .. } => "search_space_too_large",
            // Demands are checked for that when they are made.
            Self::MethodWithoutCuts | Self::MethodOfClasses | Self::PartitionMissing => "internal",
        }
    }
}
