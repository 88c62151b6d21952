//! How wide classes are: ranges, sets, and the normalised certainty penalty (algorithms.md D.7).

use super::partition::{Member, Members};
use super::points::{Domain, Feature, Points};
use crate::anonymize::table::MISSING;

/// What the values of one attribute in a class span.
#[derive(Debug, Clone, PartialEq)]
enum Span {
    /// Of numbers or ranks: least and greatest.
    Range(f64, f64),
    /// Of categories without order: distinct codes, ascending.
    Set(Vec<u32>),
    /// Of a taxonomy: lowest common ancestor.
    Node(u32),
    /// Nothing yet.
    None,
}

/// The span of one attribute in a class and whether a cell of it is missing.
#[derive(Debug, Clone, PartialEq)]
struct Side {
    span: Span,
    is_missing: bool,
}

/// By attribute: what a class spans, grown member by member.
#[derive(Debug, Clone, PartialEq)]
pub struct Extent {
    sides: Vec<Side>,
}

/// By attribute: the range of the numbers present, for normalising.
#[derive(Debug, Clone, PartialEq)]
pub struct Widths {
    by_feature: Vec<f64>,
}

impl Widths {
    /// Ranges of all numbers present; ranks less one; number of values of sets.
    #[must_use]
    pub fn of(points: &Points) -> Self {
        let width = |feature: &Feature| match &feature.domain {
            Domain::Numbers { values, .. } => {
                let present = feature.codes.iter().filter(|&&code| code != MISSING);
                let present = present.map(|&code| values[code as usize]);
                let ends = present
                    .fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
                        [low.min(value), high.max(value)]
                    });
                (ends[1] - ends[0]).max(0.0)
            }
            Domain::Ordinal { .. } => feature.last_rank(),
            Domain::Nominal { values } => f64::from((*values).max(1)),
            Domain::Taxonomy { .. } => 1.0,
        };
        Self {
            by_feature: points.features.iter().map(width).collect(),
        }
    }
}

/// The position of a code on the axis of its attribute, where it has one.
pub(super) fn position(feature: &Feature, code: u32) -> Option<f64> {
    match &feature.domain {
        Domain::Numbers { values, .. } => Some(values[code as usize]),
        Domain::Ordinal { ranks } => Some(f64::from(ranks[code as usize])),
        Domain::Nominal { .. } | Domain::Taxonomy { .. } => None,
    }
}

impl Extent {
    /// Spans nothing.
    #[must_use]
    pub fn empty(points: &Points) -> Self {
        let side = Side {
            span: Span::None,
            is_missing: false,
        };
        Self {
            sides: vec![side; points.features.len()],
        }
    }

    /// What members span.
    #[must_use]
    pub fn of(points: &Points, members: &[Member]) -> Self {
        let mut extent = Self::empty(points);
        for &(cell, _) in members {
            extent.add(points, cell);
        }
        extent
    }

    /// Takes a cell in.
    pub fn add(&mut self, points: &Points, cell: u32) {
        for (side, feature) in self.sides.iter_mut().zip(&points.features) {
            let code = feature.codes[cell as usize];
            if code == MISSING {
                side.is_missing = true;
            } else if let Some(span) = with(&side.span, feature, code) {
                side.span = span;
            }
        }
    }

    /// By attribute: the certainty penalty of the class, 0 to 1: its width by that of all rows; the share of leaves under
    /// the lowest common ancestor; the share of values; 1 if some are missing and others not.
    pub fn penalties<'e>(
        &'e self,
        points: &'e Points,
        widths: &'e Widths,
    ) -> impl Iterator<Item = f64> + 'e {
        let sides = self.sides.iter().zip(&points.features);
        sides
            .zip(&widths.by_feature)
            .map(|((side, feature), &width)| penalty(&side.span, side.is_missing, feature, width))
    }

    /// The summed penalty of the class with one more cell. Cost: the number of attributes (and of the values of sets).
    #[must_use]
    pub fn penalty_with(&self, points: &Points, widths: &Widths, cell: u32) -> f64 {
        let sides = self.sides.iter().zip(&points.features);
        let terms = sides
            .zip(&widths.by_feature)
            .map(|((side, feature), &width)| {
                let code = feature.codes[cell as usize];
                if code == MISSING {
                    return penalty(&side.span, true, feature, width);
                }
                if let Span::Set(codes) = &side.span {
                    // Counted rather than copied: this is the inner loop of growing classes.
                    let count = codes.len() + usize::from(codes.binary_search(&code).is_err());
                    return match (side.is_missing, count) {
                        (true, _) => 1.0,
                        (false, 1) => 0.0,
                        (false, _) => count as f64 / width,
                    };
                }
                match with(&side.span, feature, code) {
                    Some(span) => penalty(&span, side.is_missing, feature, width),
                    None => penalty(&side.span, side.is_missing, feature, width),
                }
            });
        terms.sum()
    }

    /// The lowest common ancestor of one attribute's values, if it has a taxonomy and values.
    pub(super) fn node(&self, feature: usize) -> Option<u32> {
        match self.sides[feature].span {
            Span::Node(node) => Some(node),
            Span::Range(..) | Span::Set(_) | Span::None => None,
        }
    }
}

/// The span with one more code; `None` if it stays the same.
fn with(span: &Span, feature: &Feature, code: u32) -> Option<Span> {
    match (span, &feature.domain) {
        (Span::Node(node), Domain::Taxonomy { taxonomy, .. }) => {
            let above = taxonomy.ancestor(*node, taxonomy.leaf_of[code as usize]);
            (above != *node).then_some(Span::Node(above))
        }
        (_, Domain::Taxonomy { taxonomy, .. }) => Some(Span::Node(taxonomy.leaf_of[code as usize])),
        (Span::Set(codes), _) => {
            let place = codes.binary_search(&code).err()?;
            let mut codes = codes.clone();
            codes.insert(place, code);
            Some(Span::Set(codes))
        }
        (Span::Range(low, high), _) => {
            let value = position(feature, code)?;
            (value < *low || value > *high).then(|| Span::Range(low.min(value), high.max(value)))
        }
        (Span::None | Span::Node(_), _) => Some(match position(feature, code) {
            Some(value) => Span::Range(value, value),
            None => Span::Set(vec![code]),
        }),
    }
}

fn penalty(span: &Span, is_missing: bool, feature: &Feature, width: f64) -> f64 {
    if is_missing {
        return f64::from(u8::from(*span != Span::None));
    }
    match (span, &feature.domain) {
        (Span::Range(low, high), _) if width > 0.0 => (high - low) / width,
        (Span::Set(codes), _) if codes.len() > 1 => codes.len() as f64 / width,
        (Span::Node(node), Domain::Taxonomy { taxonomy, .. }) => taxonomy.share(*node),
        (Span::Range(..) | Span::Set(_) | Span::Node(_) | Span::None, _) => 0.0,
    }
}

/// Global certainty penalty: the mean penalty over rows and attributes, 0 to 1. Cost: one pass over the members.
#[must_use]
pub fn global_certainty_penalty(points: &Points, members: &Members) -> f64 {
    let widths = Widths::of(points);
    let class = |members: &[Member]| {
        let sum: f64 = Extent::of(points, members).penalties(points, &widths).sum();
        sum * super::partition::rows_of(members) as f64
    };
    let total: f64 = members.iter().map(class).sum();
    total / (points.rows().max(1) as f64 * points.features.len().max(1) as f64)
}

/// What a class releases for one attribute, truthfully.
#[derive(Debug, Clone, PartialEq)]
pub enum Region {
    /// Numbers from least to greatest.
    Interval {
        /// Least value.
        low: f64,
        /// Greatest value.
        high: f64,
        /// Whether some cell is missing.
        is_missing: bool,
    },
    /// Codes, ascending; with 0 where some cell is missing. Of numbers, only where all are missing.
    Values(Vec<u32>),
    /// Anything: the attribute is suppressed.
    Any,
}

/// By class and attribute: the interval of its numbers or the set of its codes. Every cell lies in its class's regions.
#[must_use]
pub fn regions(points: &Points, members: &Members) -> Vec<Vec<Region>> {
    let region = |feature: &Feature, members: &[Member]| {
        let mut codes: Vec<u32> = members
            .iter()
            .map(|&(cell, _)| feature.codes[cell as usize])
            .collect();
        codes.sort_unstable();
        codes.dedup();
        let Domain::Numbers { values, .. } = &feature.domain else {
            return Region::Values(codes);
        };
        let present = codes.iter().filter(|&&code| code != MISSING);
        let mut present = present.map(|&code| values[code as usize]);
        let Some(first) = present.next() else {
            return Region::Values(codes);
        };
        let (low, high) = present.fold((first, first), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        Region::Interval {
            low,
            high,
            is_missing: codes[0] == MISSING,
        }
    };
    let class = |members: &[Member]| {
        let features = points.features.iter();
        features.map(|feature| region(feature, members)).collect()
    };
    members.iter().map(class).collect()
}
