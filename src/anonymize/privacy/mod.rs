//! Privacy criteria: one file per model.
//!
//! Most models judge one class by itself. A criterion declares two properties (algorithms.md D.2), which are all that
//! licenses pruning. *Absorbing*: a class that holds still holds after any other class is merged into it; then
//! suppression never grows along the lattice. *Merge-closed*: the union of two classes that hold, holds. A criterion
//! that is not absorbing may name a weaker one that is, its *absorbing core*: what the core suppresses bounds what the
//! criterion does from below, on every policy that generalises less as well.
//!
//! With a subject column, frequencies count distinct pairs of a subject and a value. A subject of two classes is then
//! counted once in their union, frequencies are no longer a mean of those before, and nothing but the absorbing
//! criteria stays merge-closed.
//!
//! Two models compare a class with a population: k-map and delta-presence. Three judge all released classes together: the
//! mean risk, closeness to what is released, and a presence that must not be too rare either.

mod alpha_k;
mod average_risk;
mod beta_likeness;
mod delta_disclosure;
mod delta_presence;
mod distinct_l_diversity;
mod entropy_l_diversity;
mod impossible;
mod k_anonymity;
mod k_map;
mod maximum_risk;
mod models;
mod recursive_cl_diversity;
mod t_closeness;

pub(crate) use entropy_l_diversity::least_distinct;
pub use impossible::impossible;
pub(crate) use models::{absent_values, input, protected};
pub(crate) use t_closeness::Ground;

use std::sync::Arc;

use super::cells::{Cells, Needs};
use super::classes::{ClassTable, ClassView};
use super::distribution::Aligned;
use super::rows::Rows;
use crate::declaration::PrivacyModel;

/// Buffers of judging classes, kept between classes.
#[derive(Debug, Default)]
pub struct Judging {
    counts: Vec<(u32, u32)>,
    values: Vec<u64>,
    aligned: Aligned,
}

impl Judging {
    /// Counts of a class's values of an attribute, those of missing left out.
    fn non_missing(&mut self, class: &ClassView<'_>, slot: usize, missing: u32) -> &[u64] {
        let counts = class.counts(slot, &mut self.counts);
        let counts = counts.iter().filter(|&&(rank, _)| rank != missing);
        self.values.clear();
        self.values
            .extend(counts.map(|&(_, count)| u64::from(count)));
        &self.values
    }
}

/// A condition that every released class meets by itself.
pub trait Criterion: Send + Sync + std::fmt::Debug {
    /// Whether a class meets it.
    fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool;
    /// Whether a class that meets it does so after any merge.
    fn absorbing(&self) -> bool;
    /// Whether the union of two classes that meet it meets it.
    fn merge_closed(&self) -> bool;
    /// An absorbing criterion that every class meets which meets this one; `None` if none is known but "anything".
    fn absorbing_core(&self) -> Option<Box<dyn Criterion>> {
        None
    }
    /// The size that a class must have and that is enough, if the criterion is no more than that.
    fn least_size(&self) -> Option<u64> {
        None
    }
}

/// A condition on all released classes together.
pub trait TableCriterion: Send + Sync + std::fmt::Debug {
    /// The classes to withdraw next; none if the released ones meet it.
    fn failing(&self, candidates: &Candidates<'_>, judging: &mut Judging) -> Vec<usize>;
    /// Whether, with absorbing criteria beside it, it never suppresses more on a policy that generalises more.
    fn absorbing(&self) -> bool;
    /// Whether the union of two classes that it does not withdraw is not withdrawn from the same table.
    fn merge_closed(&self) -> bool;
}

/// The classes of a policy, and those of them that are still to be released.
#[derive(Debug, Clone, Copy)]
pub struct Candidates<'a> {
    /// All classes.
    pub table: &'a ClassTable,
    /// The cells that they are made of.
    pub cells: &'a Cells,
    /// By class, whether it is still to be released.
    pub released: &'a [bool],
}

impl Candidates<'_> {
    /// The classes still to be released.
    fn classes(&self) -> impl Iterator<Item = usize> + '_ {
        let released = self.released.iter().enumerate();
        released
            .filter(|&(_, &released)| released)
            .map(|(class, _)| class)
    }
}

/// One model over the rows of a task.
#[derive(Debug)]
pub enum Rule {
    /// Judges classes one by one.
    Class(Arc<dyn Criterion>),
    /// Judges the released classes together.
    Table(Arc<dyn TableCriterion>),
}

impl Rule {
    /// See [`Criterion::absorbing`] and [`TableCriterion::absorbing`].
    #[must_use]
    pub fn absorbing(&self) -> bool {
        match self {
            Self::Class(criterion) => criterion.absorbing(),
            Self::Table(criterion) => criterion.absorbing(),
        }
    }

    /// See [`Criterion::merge_closed`] and [`TableCriterion::merge_closed`].
    #[must_use]
    pub fn merge_closed(&self) -> bool {
        match self {
            Self::Class(criterion) => criterion.merge_closed(),
            Self::Table(criterion) => criterion.merge_closed(),
        }
    }

    /// The classes that fail if every class is released.
    pub(crate) fn violations(&self, table: &ClassTable, cells: &Cells) -> Vec<usize> {
        let mut judging = Judging::default();
        match self {
            Self::Class(criterion) => (0..table.len())
                .filter(|&class| !criterion.ok(&table.view(class), &mut judging))
                .collect(),
            Self::Table(criterion) => {
                let released = vec![true; table.len()];
                let candidates = Candidates {
                    table,
                    cells,
                    released: &released,
                };
                criterion.failing(&candidates, &mut judging)
            }
        }
    }
}

/// All criteria of a task.
#[derive(Debug)]
pub struct Criteria {
    /// In the order asked.
    rules: Vec<Rule>,
    /// Of them: the absorbing class criteria, the others, and the table criteria in the order in which they act.
    absorbing: Vec<Arc<dyn Criterion>>,
    rest: Vec<Arc<dyn Criterion>>,
    tables: Vec<Arc<dyn TableCriterion>>,
    /// Cores of those that are not absorbing.
    cores: Vec<Box<dyn Criterion>>,
}

impl Criteria {
    /// The criteria of the given models over the given rows, and what they need of every class.
    ///
    /// A model that names no sensitive attribute of the rows, or an order or a hierarchy that it lacks (a demand checked
    /// against its schema does neither), holds of no class. Cost: one pass over a column per model that looks at how
    /// often values occur.
    #[must_use]
    pub fn new(privacy: &[PrivacyModel], rows: &Rows<'_>) -> (Self, Needs) {
        let mut needs = Needs {
            subjects: 0,
            values: vec![0; rows.sensitive.len()],
            histograms: vec![false; rows.sensitive.len()],
        };
        let mut criteria = Self {
            rules: privacy
                .iter()
                .map(|model| models::rule(model, rows, &mut needs))
                .collect(),
            absorbing: Vec::new(),
            rest: Vec::new(),
            tables: Vec::new(),
            cores: Vec::new(),
        };
        let (mut settling, mut means) = (Vec::new(), Vec::new());
        for (rule, model) in criteria.rules.iter().zip(privacy) {
            match rule {
                Rule::Class(criterion) if criterion.absorbing() => {
                    criteria.absorbing.push(Arc::clone(criterion));
                }
                Rule::Class(criterion) => {
                    criteria.rest.push(Arc::clone(criterion));
                    criteria.cores.extend(criterion.absorbing_core());
                }
                Rule::Table(criterion) => {
                    let is_mean = matches!(model, PrivacyModel::AverageRisk { .. });
                    let list = if is_mean { &mut means } else { &mut settling };
                    list.push(Arc::clone(criterion));
                }
            }
        }
        // Means last: what a distribution has still to withdraw would change them.
        criteria.tables = settling;
        criteria.tables.append(&mut means);
        (criteria, needs)
    }

    /// Whether a class meets every criterion that judges classes one by one.
    #[must_use]
    pub fn ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        self.absorbing_ok(class, judging) && self.rest_ok(class, judging)
    }

    fn absorbing_ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        self.absorbing
            .iter()
            .all(|criterion| criterion.ok(class, judging))
    }

    /// Whether a class meets the absorbing criteria and the cores of the others.
    pub(crate) fn core_ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        self.absorbing_ok(class, judging) && self.cores.iter().all(|core| core.ok(class, judging))
    }

    /// Whether a class meets the class criteria that are not absorbing.
    pub(crate) fn rest_ok(&self, class: &ClassView<'_>, judging: &mut Judging) -> bool {
        self.rest
            .iter()
            .all(|criterion| criterion.ok(class, judging))
    }

    /// The criteria of tables in the order in which they act.
    pub(crate) fn of_tables(&self) -> impl Iterator<Item = &dyn TableCriterion> {
        self.tables.iter().map(|criterion| &**criterion)
    }

    /// One rule per model, in the order asked.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether there is nothing but absorbing criteria of classes.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.rest.is_empty() && self.tables.is_empty()
    }

    /// The size that a class must have and that is enough, if there is nothing but criteria of that kind.
    #[must_use]
    pub fn least_size(&self) -> Option<u64> {
        if !self.is_plain() {
            return None;
        }
        let sizes = self.absorbing.iter();
        sizes
            .map(|criterion| criterion.least_size())
            .try_fold(1, |most, own| Some(most.max(own?)))
    }

    /// Whether all are absorbing: suppression never grows along the lattice.
    #[must_use]
    pub fn absorbing(&self) -> bool {
        self.rules.iter().all(Rule::absorbing)
    }

    /// Whether all are merge-closed.
    #[must_use]
    pub fn merge_closed(&self) -> bool {
        self.rules.iter().all(Rule::merge_closed)
    }
}
