//! Microaggregation: partitions of the rows into classes of at least k that lie near each other (algorithms.md B).
//!
//! A [`points::Points`] holds weighted cells; a [`distance::Space`] measures them so that distances add up to the
//! information loss; a [`decode::Decoder`] turns any centroids into a [`partition::Partition`] in which every class holds
//! k rows. [`swarm`] moves centroids towards low loss and mixed sensitive values, [`front`] trades the one for the other,
//! [`grid`] does so by weights. [`baselines`] holds the well-known partitions, which are also where searches start.
//!
//! The same points, aim and seed give the same answer on any number of threads. The numbering of codes and the order of
//! cells decide ties and the order of sums, so they are part of the question: [`points::Points::group`] sorts cells, and
//! then the order of rows does not matter.

pub mod archive;
mod assignment;
pub mod baselines;
pub mod budget;
pub(crate) mod by_class;
pub mod centroid;
mod cut_start;
pub mod decode;
mod describe;
pub mod distance;
pub mod extent;
pub mod front;
pub mod grid;
mod guard;
mod methods;
pub mod partition;
pub mod points;
mod polish;
pub mod privacy_term;
pub(crate) mod published;
pub mod reading;
pub mod record_linkage;
pub mod repair;
pub(crate) mod run;
pub(crate) mod scale;
pub mod swarm;
pub mod taxonomy;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
mod tree;
pub(crate) mod wording;
