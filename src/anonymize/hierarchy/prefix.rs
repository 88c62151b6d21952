//! Codes that are coarsened by masking their end: `02139`, `021**`, `0****`, `*`.
//!
//! The first entry of `keep` is level 0: it says how long a code may be, and a longer one is refused, because level 0
//! is always the whole value. So the level count comes from the declaration: `keep: [5, 3, 1]` is four levels. A code
//! that is shorter than an entry stays whole there. Masks keep the length, so two codes share a label only if they share
//! length and beginning, and then they share every coarser label: the levels nest.

use super::Uncovered;
use super::encode::Chain;
use crate::fault::{Fault, FaultCode, Faults};

/// Characters kept on each level below the top.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    keep: Vec<usize>,
}

impl Prefix {
    pub(super) fn compile(keep: &[usize], pointer: &str, faults: &mut Faults) -> Option<Self> {
        let before = faults.count();
        if keep.is_empty() {
            let detail = "at least one number of characters is needed";
            let place = format!("{pointer}/keep");
            faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
        }
        for (position, kept) in keep.iter().enumerate() {
            let place = format!("{pointer}/keep/{position}");
            if *kept == 0 {
                let detail = "at least one character is kept; the level `*` is added by itself";
                faults.push(Fault::at(place, FaultCode::OutOfRange, detail));
            } else if position > 0 && *kept >= keep[position - 1] {
                let detail = "each number of characters must be less than the one before";
                faults.push(Fault::at(place, FaultCode::HierarchyNotNested, detail));
            }
        }
        (faults.count() == before).then(|| Self {
            keep: keep.to_vec(),
        })
    }
}

impl Chain for Prefix {
    type Node = Box<str>;

    fn levels(&self) -> usize {
        self.keep.len() + 1
    }

    fn nodes(&self, value: &str) -> Result<Vec<Box<str>>, Uncovered> {
        let length = value.chars().count();
        if length > self.keep[0] {
            return Err(Uncovered::OutOfRange);
        }
        let masked = |&kept: &usize| -> Box<str> {
            let beginning = value.chars().take(kept);
            let mask = std::iter::repeat_n('*', length.saturating_sub(kept));
            beginning.chain(mask).collect::<String>().into()
        };
        Ok(self.keep.iter().map(masked).collect())
    }

    fn label(&self, _: usize, node: &Box<str>) -> Box<str> {
        node.clone()
    }
}
