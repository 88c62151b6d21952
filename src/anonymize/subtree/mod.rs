//! Subtree generalization: a cut through the tree of each quasi-identifier (algorithms.md C).
//!
//! A policy of full-domain generalization is a level per attribute; a cut may generalise one branch of a tree more than
//! another. To everything that judges and measures classes a cut looks like a policy: [`forest::Forest::view`] gives
//! each attribute a hierarchy of two levels, the values and the cut. So criteria, suppression, ties and figures are
//! decided where they are decided for policies.
//!
//! Searches: [`tds`] from the roots down, [`bug`] from the values up, both (`hybrid`), and [`genetic`] from what those
//! two found.

mod bug;
mod count;
mod cuts;
mod forest;
mod genetic;
mod methods;
mod partition;
mod recode;
mod report;
mod run;
mod scores;
mod tds;
#[cfg(test)]
mod tests;
mod trees;

pub use cuts::{Cuts, Specialized};
pub use recode::Recoded;
pub use trees::{NodePath, Tree};

pub(crate) use forest::Forest;
pub(crate) use methods::search;
pub(crate) use report::solutions;
pub(crate) use run::Run;
