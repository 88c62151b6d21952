//! What a stated cut makes of values, found by the paths of the hierarchy alone: no tree of the engine is looked at.

use std::collections::{BTreeSet, HashSet};

use super::Expected;
use crate::anonymize::hierarchy::Hierarchy;
use crate::anonymize::subtree::{NodePath, Recoded};
use crate::anonymize::table::{Dictionary, Schema};

/// The stated cut of one column.
pub(super) struct Cut<'a> {
    hierarchy: &'a Hierarchy,
    /// Labels from a specialised node up to the top; their number tells the level.
    specialized: HashSet<&'a [String]>,
    stated: &'a [NodePath],
    /// The labels that released rows are said to bear.
    labels: &'a [String],
}

impl<'a> Cut<'a> {
    /// The cut of a column; none where the policy is one of levels, or the column is not recoded by it.
    pub(super) fn of(schema: &'a Schema, recoded: Recoded<'a>, position: usize) -> Option<Self> {
        let Recoded::Subtree { cuts, specialized } = recoded else {
            return None;
        };
        let attribute = &schema.attributes()[position];
        let name = &attribute.declaration.name;
        let stated = specialized.get(name)?;
        Some(Self {
            hierarchy: attribute.hierarchy.as_ref()?,
            specialized: stated.iter().map(|path| &*path.labels).collect(),
            stated,
            labels: cuts.get(name)?,
        })
    }

    /// The way of a value from its node in the cut up to the top; empty labels stand for missing. `None` if it has no
    /// place.
    fn way(&self, value: Option<&str>) -> Option<Vec<Option<String>>> {
        let path = self.hierarchy.path(value).ok()?;
        let texts: Vec<String> = path
            .iter()
            .map(|label| label.clone().unwrap_or_default())
            .collect();
        let mut level = path.len() - 1;
        while level > 0 && self.specialized.contains(&texts[level..]) {
            // Below the top a missing value has one place: it stays missing.
            level = if value.is_none() { 0 } else { level - 1 };
        }
        let way = if value.is_none() && level == 0 {
            vec![None, path.last().cloned()?]
        } else {
            path[level..].to_vec()
        };
        Some(way)
    }

    /// What a released cell of this value must be.
    pub(super) fn expected<'e>(&self, value: Option<&str>) -> Expected<'e> {
        match self.way(value) {
            Some(mut way) => Expected::Label(way.swap_remove(0)),
            None => Expected::Nothing,
        }
    }

    /// Whether the released cells, each with the code of its input, bear the labels of one cut: those stated, and no
    /// node of another's way.
    pub(super) fn check<'c>(
        &self,
        dictionary: &Dictionary,
        cells: impl Iterator<Item = (u32, Option<&'c str>)>,
    ) -> Option<String> {
        let top = self.hierarchy.levels();
        let open = self.stated.iter().filter(|path| {
            let is_placed = path.level > 0 && path.level + path.labels.len() == top;
            let is_below = path.labels.len() == 1 || self.specialized.contains(&path.labels[1..]);
            !is_placed || !is_below
        });
        let open = open.count();
        if open > 0 {
            return Some(format!(
                "{open} nodes are specialised and their parents are not"
            ));
        }
        let (mut codes, mut borne) = (BTreeSet::new(), BTreeSet::new());
        for (code, cell) in cells {
            codes.insert(code);
            borne.extend(cell);
        }
        if !borne
            .iter()
            .copied()
            .eq(self.labels.iter().map(String::as_str))
        {
            return Some("the labels are not those stated".to_owned());
        }
        let ways: Vec<Vec<Option<String>>> = codes
            .iter()
            .filter_map(|&code| self.way(dictionary.value(code)))
            .collect();
        let nodes: HashSet<&[Option<String>]> = ways.iter().map(Vec::as_slice).collect();
        let crossed = ways
            .iter()
            .filter(|way| (1..way.len()).any(|from| nodes.contains(&way[from..])));
        let crossed = crossed.count();
        (crossed > 0).then(|| format!("{crossed} values lie below two released nodes"))
    }
}
