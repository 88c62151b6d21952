//! US ZIP codes: the code, its three-digit area (000 for small ones), `*` (HIPAA's Safe Harbor method).

use super::Uncovered;
use super::encode::Chain;
use crate::anonymize::safe_harbor::{Zip3List, Zip3Width, zip3_levels};

/// Codes and areas. A text that is no ZIP code of five or nine digits has no place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Zip3 {
    pub(super) list: Zip3List,
    pub(super) width: Zip3Width,
}

impl Chain for Zip3 {
    type Node = Box<str>;

    fn levels(&self) -> usize {
        3
    }

    fn nodes(&self, value: &str) -> Result<Vec<Box<str>>, Uncovered> {
        let [code, area, _] =
            zip3_levels(value, self.list, self.width).map_err(|_| Uncovered::Invalid)?;
        Ok(vec![code.into(), area.into()])
    }

    fn label(&self, _: usize, node: &Box<str>) -> Box<str> {
        node.clone()
    }
}
