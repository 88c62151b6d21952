//! Members of a population per class: how many people could be who a row of the class is.
//!
//! The classes are those of the table, and after them those that only the population reaches: a policy that generalises
//! more may join one of these with one of the table.

use super::sets::{CappedSets, MergeScratch};

/// Members per class: rows, or distinct subjects where the population declares them; never capped.
#[derive(Debug, Clone)]
pub(crate) enum Members {
    Rows(Vec<u32>),
    Subjects(CappedSets),
}

impl Default for Members {
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl Members {
    /// Members in a class.
    pub(crate) fn count(&self, class: usize) -> u64 {
        match self {
            Self::Rows(counts) => u64::from(counts[class]),
            Self::Subjects(sets) => sets.count(class),
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Rows(counts) => counts.len() * 4,
            Self::Subjects(sets) => sets.bytes(),
        }
    }

    /// Writes the members of the unions of the classes with equal number in `class_of` to `into`.
    pub(crate) fn merge_into(
        &self,
        class_of: &[u32],
        classes: usize,
        scratch: &mut MergeScratch,
        into: &mut Self,
    ) {
        match self {
            Self::Rows(finer) => {
                if !matches!(into, Self::Rows(_)) {
                    *into = Self::Rows(Vec::new());
                }
                if let Self::Rows(coarser) = into {
                    coarser.clear();
                    coarser.resize(classes, 0);
                    for (&class, &members) in class_of.iter().zip(finer) {
                        coarser[class as usize] += members;
                    }
                }
            }
            Self::Subjects(finer) => {
                if !matches!(into, Self::Subjects(_)) {
                    *into = Self::Subjects(CappedSets::new(0));
                }
                if let Self::Subjects(coarser) = into {
                    finer.merge_into(class_of, classes, scratch, coarser);
                }
            }
        }
    }
}
