//! How the values of a column are recoded by a stated policy: by levels, by cuts or by classes.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::cuts::{Cuts, Specialized};
use super::forest::upper;
use super::trees::Tree;
use crate::anonymize::hierarchy::{Generalization, Level};
use crate::declaration::{Levels, Representation};

/// A policy by names, as a front states it.
#[derive(Debug, Clone, Copy)]
pub enum Recoded<'a> {
    /// Levels by quasi-identifier; all of them.
    FullDomain(&'a Levels),
    /// Cuts by quasi-identifier; all of them.
    Subtree {
        /// The labels that released rows bear.
        cuts: &'a BTreeMap<String, Vec<String>>,
        /// The nodes above the cuts.
        specialized: &'a Specialized,
    },
    /// The class of every row, numbered from 0, none empty.
    Classes {
        /// By row of the table.
        class_of: &'a [u32],
        /// What rows bear for their class.
        representation: Representation,
    },
}

impl Recoded<'_> {
    /// Labels of the nodes of an attribute, and the node of each value code; the rest of the level is not to be read.
    /// `None` if the policy names no such attribute or level.
    #[must_use]
    pub fn level<'g>(
        self,
        name: &str,
        generalization: &'g Generalization,
    ) -> Option<Cow<'g, Level>> {
        match self {
            Self::FullDomain(levels) => {
                let level = *levels.get(name)?;
                generalization.levels.get(level).map(Cow::Borrowed)
            }
            Self::Subtree { specialized, .. } => {
                specialized.get(name)?;
                let trees = [Tree::new(generalization)];
                let cuts = Cuts::from_paths(&trees, [name].into_iter(), specialized);
                let (mut level, _) = upper(&trees[0], &cuts, 0, &[]);
                let values = generalization.levels[0].node_of.iter();
                level.node_of = values.map(|&node| level.node_of[node as usize]).collect();
                Some(Cow::Owned(level))
            }
            // What a row bears is told by its class, not by its value.
            Self::Classes { .. } => None,
        }
    }
}
