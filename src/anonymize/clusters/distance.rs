//! Distances between cells and centroids, weighted so that their sum is the information loss (algorithms.md B.3).
//!
//! A [`Site`] is a place in the space of quasi-identifiers: a cell or a centroid. Sites are stored row by row, numbers
//! apart from codes, so that one distance reads two short runs of memory.

use super::centroid;
use super::partition::Member;
use super::points::{Domain, Feature, Points, Scaling};
use crate::anonymize::table::MISSING;

/// How the deviations of the attributes are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossKind {
    /// Mean over the attributes of deviation by base; a constant attribute adds 0.
    Balanced,
    /// Sum of the deviations by the sum of the bases.
    Ratio,
}

/// Largest number of codes for which all distances are tabulated (8 MiB per attribute).
const MOST_TABULATED: usize = 1024;

/// A place: scaled numbers (NaN: missing) and codes (0: missing).
#[derive(Debug, Clone, Copy)]
pub struct Site<'s> {
    pub(super) numbers: &'s [f64],
    pub(super) codes: &'s [u32],
}

/// Places in one space.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    pub(super) count: usize,
    pub(super) width: [usize; 2],
    pub(super) numbers: Vec<f64>,
    pub(super) codes: Vec<u32>,
}

impl PartialEq for Sites {
    /// By bits: a missing number equals a missing number.
    fn eq(&self, other: &Self) -> bool {
        let bits = |sites: &Self| -> Vec<u64> {
            sites
                .numbers
                .iter()
                .map(|number| number.to_bits())
                .collect()
        };
        (self.count, self.width, &self.codes) == (other.count, other.width, &other.codes)
            && bits(self) == bits(other)
    }
}

impl Sites {
    /// Number of places.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One place.
    #[must_use]
    pub fn site(&self, index: usize) -> Site<'_> {
        let [numbers, codes] = self.width;
        Site {
            numbers: &self.numbers[index * numbers..(index + 1) * numbers],
            codes: &self.codes[index * codes..(index + 1) * codes],
        }
    }

    /// Adds a place.
    pub fn push(&mut self, site: Site<'_>) {
        self.numbers.extend_from_slice(site.numbers);
        self.codes.extend_from_slice(site.codes);
        self.count += 1;
    }

    /// Replaces a place.
    pub fn set(&mut self, index: usize, site: Site<'_>) {
        let [numbers, codes] = self.width;
        self.numbers[index * numbers..(index + 1) * numbers].copy_from_slice(site.numbers);
        self.codes[index * codes..(index + 1) * codes].copy_from_slice(site.codes);
    }

    /// The places of the given indexes, in that order.
    #[must_use]
    pub fn select(&self, indexes: impl IntoIterator<Item = usize>) -> Self {
        let mut selected = Self {
            width: self.width,
            ..Self::default()
        };
        for index in indexes {
            selected.push(self.site(index));
        }
        selected
    }
}

/// A numeric attribute.
#[derive(Debug, Clone)]
pub(super) struct Numeric {
    pub(super) feature: usize,
    pub(super) weight: f64,
    /// Scaled value of each code; NaN for missing.
    pub(super) scaled: Vec<f64>,
    /// Range of the scaled values present.
    pub(super) range: [f64; 2],
}

/// A categorical attribute.
#[derive(Debug, Clone)]
pub(super) struct Categorical {
    pub(super) feature: usize,
    pub(super) weight: f64,
    pub(super) codes: usize,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Equal,
    Table(Vec<f64>),
    Computed,
}

/// The metric of one problem.
#[derive(Debug, Clone)]
pub struct Space<'a> {
    /// What is clustered.
    pub points: &'a Points,
    pub(super) numeric: Vec<Numeric>,
    pub(super) categorical: Vec<Categorical>,
    /// By feature: deviation of all rows from the centre of all rows.
    base: Vec<f64>,
    /// By feature: share of a unit of deviation in the information loss.
    weights: Vec<f64>,
    cells: Sites,
}

impl<'a> Space<'a> {
    /// Scales numbers, tabulates distances, and weighs attributes by the deviation of all rows from their centre.
    ///
    /// Cost: one pass over the cells per attribute; square of the number of codes for ordinal and taxonomy attributes
    /// (to 1024 codes).
    #[must_use]
    pub fn new(points: &'a Points, loss: LossKind) -> Self {
        let (mut numeric, mut categorical) = (Vec::new(), Vec::new());
        for (position, feature) in points.features.iter().enumerate() {
            if let Domain::Numbers { values, scaling } = &feature.domain {
                numeric.push(number(points, position, values, *scaling));
            } else {
                categorical.push(Categorical {
                    feature: position,
                    weight: 1.0,
                    codes: feature.code_count(),
                    kind: kind(feature),
                });
            }
        }
        let mut space = Self {
            points,
            numeric,
            categorical,
            base: vec![0.0; points.features.len()],
            weights: vec![1.0; points.features.len()],
            cells: Sites::default(),
        };
        space.cells = space.sites_of_cells();
        let everyone: Vec<Member> = (0..).zip(points.weights.iter().copied()).collect();
        let center = centroid::center(&space, &everyone, None);
        space.base = space.deviations(&everyone, center.site(0));
        let (count, total) = (space.base.len() as f64, space.base.iter().sum::<f64>());
        space.weights = space
            .base
            .iter()
            .map(|&base| match loss {
                LossKind::Balanced if base > 0.0 => 1.0 / (count * base),
                LossKind::Ratio if total > 0.0 => 1.0 / total,
                LossKind::Balanced | LossKind::Ratio => 0.0,
            })
            .collect();
        space.set_weights();
        space
    }

    /// The same space with given weights of a unit of deviation, by feature.
    #[must_use]
    pub fn with_weights(mut self, weights: Vec<f64>) -> Self {
        self.weights = weights;
        self.set_weights();
        self
    }

    fn set_weights(&mut self) {
        for attribute in &mut self.numeric {
            attribute.weight = self.weights[attribute.feature];
        }
        for attribute in &mut self.categorical {
            attribute.weight = self.weights[attribute.feature];
        }
    }

    /// The cells as places.
    #[must_use]
    pub fn cells(&self) -> &Sites {
        &self.cells
    }

    /// By feature: deviation of all rows from the centre of all rows, in scaled units.
    #[must_use]
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// No places, of this space's shape.
    #[must_use]
    pub fn no_sites(&self) -> Sites {
        Sites {
            width: [self.numeric.len(), self.categorical.len()],
            ..Sites::default()
        }
    }

    fn sites_of_cells(&self) -> Sites {
        let mut sites = self.no_sites();
        sites.count = self.points.len();
        for cell in 0..sites.count {
            let code = |feature: usize| self.points.features[feature].codes[cell];
            let numbers = self.numeric.iter();
            sites.numbers.extend(
                numbers.map(|attribute| attribute.scaled[code(attribute.feature) as usize]),
            );
            let codes = self.categorical.iter();
            sites
                .codes
                .extend(codes.map(|attribute| code(attribute.feature)));
        }
        sites
    }

    /// The weighted distance of two places. Cost: the number of attributes.
    #[must_use]
    pub fn between(&self, left: Site<'_>, right: Site<'_>) -> f64 {
        let mut sum = 0.0;
        for (attribute, (&left, &right)) in self
            .numeric
            .iter()
            .zip(left.numbers.iter().zip(right.numbers))
        {
            sum += attribute.weight * squared(left, right);
        }
        for (attribute, (&left, &right)) in self
            .categorical
            .iter()
            .zip(left.codes.iter().zip(right.codes))
        {
            sum += attribute.weight * self.category(attribute, left, right);
        }
        sum
    }

    /// The unweighted distance of two categories.
    pub(super) fn category(&self, attribute: &Categorical, left: u32, right: u32) -> f64 {
        match &attribute.kind {
            Kind::Equal => f64::from(u8::from(left != right)),
            Kind::Table(distances) => distances[left as usize * attribute.codes + right as usize],
            Kind::Computed => {
                self.points.features[attribute.feature].category_distance(left, right)
            }
        }
    }

    /// By feature: unweighted deviation of members from a place.
    #[must_use]
    pub fn deviations(&self, members: &[Member], site: Site<'_>) -> Vec<f64> {
        let mut sums = vec![0.0; self.points.features.len()];
        for &(cell, rows) in members {
            let own = self.cells.site(cell as usize);
            let rows = f64::from(rows);
            let numbers = own.numbers.iter().zip(site.numbers);
            for (attribute, (&left, &right)) in self.numeric.iter().zip(numbers) {
                sums[attribute.feature] += rows * squared(left, right);
            }
            let codes = own.codes.iter().zip(site.codes);
            for (attribute, (&left, &right)) in self.categorical.iter().zip(codes) {
                sums[attribute.feature] += rows * self.category(attribute, left, right);
            }
        }
        sums
    }

    /// The information loss of deviations summed by feature, of either kind.
    #[must_use]
    pub fn loss(&self, deviations: &[f64], kind: LossKind) -> f64 {
        let sum = |values: &[f64]| values.iter().sum::<f64>();
        match kind {
            LossKind::Ratio if sum(&self.base) > 0.0 => sum(deviations) / sum(&self.base),
            LossKind::Ratio => 0.0,
            LossKind::Balanced => {
                let terms = deviations.iter().zip(&self.base);
                let present = terms.filter(|&(_, &base)| base > 0.0);
                let total: f64 = present.map(|(deviation, base)| deviation / base).sum();
                total / self.base.len().max(1) as f64
            }
        }
    }
}

/// Squared difference; missing to any number 1, to missing 0.
pub(super) fn squared(left: f64, right: f64) -> f64 {
    let difference = left - right;
    if difference.is_nan() {
        return f64::from(u8::from(left.is_nan() != right.is_nan()));
    }
    difference * difference
}

fn number(points: &Points, feature: usize, values: &[f64], scaling: Scaling) -> Numeric {
    let codes = &points.features[feature].codes;
    let present = || {
        codes
            .iter()
            .zip(&points.weights)
            .filter(|&(&code, _)| code != MISSING)
            .map(|(&code, &rows)| (values[code as usize], f64::from(rows)))
    };
    let (shift, unit) = match scaling {
        Scaling::Raw => (0.0, 1.0),
        Scaling::Bounds { low, high } => (low, high - low),
        Scaling::Standard => {
            let rows: f64 = present().map(|(_, rows)| rows).sum();
            let mean = present().map(|(value, rows)| value * rows).sum::<f64>() / rows.max(1.0);
            let squares: f64 = present()
                .map(|(value, rows)| rows * (value - mean).powi(2))
                .sum();
            (mean, (squares / rows.max(1.0)).sqrt())
        }
    };
    let unit = if unit > 0.0 { unit } else { 1.0 };
    let mut scaled: Vec<f64> = values.iter().map(|value| (value - shift) / unit).collect();
    if let Some(missing) = scaled.first_mut() {
        *missing = f64::NAN;
    }
    let range = codes
        .iter()
        .map(|&code| scaled[code as usize])
        .filter(|value| !value.is_nan());
    let range = range.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value), high.max(value)]
    });
    Numeric {
        feature,
        weight: 1.0,
        scaled,
        range: if range[0] <= range[1] {
            range
        } else {
            [0.0, 0.0]
        },
    }
}

fn kind(feature: &Feature) -> Kind {
    let codes = feature.code_count();
    if matches!(feature.domain, Domain::Nominal { .. }) {
        return Kind::Equal;
    }
    if codes > MOST_TABULATED {
        return Kind::Computed;
    }
    let pairs = (0..)
        .take(codes)
        .flat_map(|left| (0..).take(codes).map(move |right| (left, right)));
    Kind::Table(
        pairs
            .map(|(left, right)| feature.category_distance(left, right))
            .collect(),
    )
}
