//! Distinct values of a sensitive attribute per class, as far as they are asked for.

use super::sets::{CappedSets, MergeScratch};

/// The distinct non-missing values of one sensitive attribute, per class.
#[derive(Debug, Clone)]
pub(crate) enum Diversity {
    /// No criterion asks.
    Unknown,
    /// A bit per value, where there are at most 64.
    Mask(Vec<u64>),
    /// As many as are asked for.
    Sets(CappedSets),
}

impl Diversity {
    pub(super) fn merge_into(
        &self,
        class_of: &[u32],
        classes: usize,
        scratch: &mut MergeScratch,
        into: &mut Self,
    ) {
        match self {
            Self::Unknown => *into = Self::Unknown,
            Self::Mask(finer) => {
                if !matches!(into, Self::Mask(_)) {
                    *into = Self::Mask(Vec::new());
                }
                if let Self::Mask(coarser) = into {
                    coarser.clear();
                    coarser.resize(classes, 0);
                    for (&class, &mask) in class_of.iter().zip(finer) {
                        coarser[class as usize] |= mask;
                    }
                }
            }
            Self::Sets(finer) => {
                if !matches!(into, Self::Sets(_)) {
                    *into = Self::Sets(CappedSets::new(0));
                }
                if let Self::Sets(coarser) = into {
                    finer.merge_into(class_of, classes, scratch, coarser);
                }
            }
        }
    }
}
