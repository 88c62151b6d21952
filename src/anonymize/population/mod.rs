//! Re-identification risk of a released table, with and without knowledge of the population it comes from.
//!
//! The sample is the released table, its classes have sizes `f_j`; the population is whoever could be in it, and its
//! classes of the same values have sizes `F_j >= f_j`. Three attackers (El Emam, Guide to the De-Identification of
//! Personal Health Information, 2013): the *prosecutor* knows that the target is in the sample, so a class of `f_j`
//! gives 1 in `f_j`; the *journalist* does not, so it gives 1 in `F_j`; the *marketer* wants as many as possible and
//! gets the mean. Where `F_j` is unknown, statistical models ([`estimate_uniqueness`]) estimate how many members of the population are
//! unique from the sample's class sizes alone. An estimate is always labelled as one, and a model without an answer
//! says so: it never yields a number that its equations do not.
//!
//! Suppressed rows are no part of a sample; [`ClassSizes::with_suppressed`] gives the figures with them as one class.

mod estimate;
mod gamma;
mod pitman;
mod risk;
mod slide_negative_binomial;
mod zayatz;

use std::collections::BTreeMap;

pub use estimate::{
    Estimate, NoEstimate, PopulationSize, SizeFault, UniquenessEstimates, UniquenessModel,
    estimate_uniqueness,
};
pub use risk::{
    AttackerRisk, LinkageFault, LinkedClass, LinkedRisk, RowsAtRisk, linked_risk, prosecutor_risk,
};

/// How many classes there are of each size; the classes themselves do not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassSizes {
    classes_of: BTreeMap<u64, u64>,
}

impl ClassSizes {
    /// Counts classes by size; empty classes are no classes.
    #[must_use]
    pub fn of(sizes: impl IntoIterator<Item = u64>) -> Self {
        Self::from_histogram(sizes.into_iter().map(|size| (size, 1)))
    }

    /// From pairs of (size, number of classes); a size may occur twice.
    #[must_use]
    pub fn from_histogram(histogram: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut classes_of = BTreeMap::new();
        for (size, classes) in histogram {
            if size > 0 && classes > 0 {
                *classes_of.entry(size).or_insert(0) += classes;
            }
        }
        Self { classes_of }
    }

    /// The same with the suppressed rows as one more class (of no row, none is added).
    #[must_use]
    pub fn with_suppressed(&self, rows: u64) -> Self {
        Self::from_histogram(self.histogram().chain([(rows, 1)]))
    }

    /// Pairs of (size, number of classes), rising by size.
    pub fn histogram(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.classes_of
            .iter()
            .map(|(&size, &classes)| (size, classes))
    }

    /// Number of rows, n.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.histogram().map(|(size, classes)| size * classes).sum()
    }

    /// Number of classes, J.
    #[must_use]
    pub fn classes(&self) -> u64 {
        self.classes_of.values().sum()
    }

    /// Number of classes of a size; those of size 1 are the sample's unique rows.
    #[must_use]
    pub fn of_size(&self, size: u64) -> u64 {
        self.classes_of.get(&size).copied().unwrap_or(0)
    }

    /// Smallest class, k; 0 without any.
    #[must_use]
    pub fn smallest(&self) -> u64 {
        self.classes_of.keys().next().copied().unwrap_or(0)
    }

    /// Pairs as floating point, for the models.
    fn real(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.histogram()
            .map(|(size, classes)| (size as f64, classes as f64))
    }
}
