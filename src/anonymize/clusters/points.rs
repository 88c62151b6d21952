//! What is clustered: cells of equal rows, as plain columns of codes.
//!
//! A cell is a distinct tuple of all quasi-identifying and all sensitive values. Rows of one cell are interchangeable
//! for every measure here, so a cell may be split between classes by numbers of rows alone, and nothing depends on the
//! order of rows (algorithms.md D.1, with the sensitive values as the cohort).

use std::cmp::Ordering;

use super::taxonomy::Taxonomy;
use crate::anonymize::table::MISSING;

/// How a number is scaled before it is squared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scaling {
    /// Not at all: only for columns that share one unit.
    Raw,
    /// `(x - mean) / standard deviation` over the rows present.
    Standard,
    /// `(x - low) / (high - low)` with declared bounds.
    Bounds {
        /// Declared least value.
        low: f64,
        /// Declared greatest value, above `low`.
        high: f64,
    },
}

/// Distance of two categories of a taxonomy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Semantic {
    /// `1 - 2 depth(lca) / (depth(a) + depth(b))`, the root at depth 0 (Wu and Palmer 1994).
    WuPalmer,
    /// Share of the domain's leaves under the lowest common ancestor; 0 for equal values.
    Certainty,
}

/// The values of an attribute, by code; code 0 is missing everywhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// Value of each code (that of code 0 is of no meaning); distance: squared difference of scaled values.
    Numbers {
        /// By code.
        values: Vec<f64>,
        /// Before squaring.
        scaling: Scaling,
    },
    /// Distance: `|rank difference| / (values - 1)`.
    Ordinal {
        /// Rank of each code from 0 (that of code 0 is of no meaning).
        ranks: Vec<u32>,
    },
    /// Distance: 0 if equal, else 1.
    Nominal {
        /// Number of values.
        values: u32,
    },
    /// Distance by the lowest common ancestor.
    Taxonomy {
        /// The tree over the codes.
        taxonomy: Taxonomy,
        /// Which distance.
        semantic: Semantic,
    },
}

/// What stands for a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Center {
    /// Mean of the numbers present; it minimises squared distances. For categories the mode.
    Mean,
    /// Lower median by value or rank; it minimises rank distances. For categories without order the mode.
    Median,
    /// Most frequent value, of equals the lowest code.
    Mode,
    /// Value of a member (or the centroid before) with the least summed distance to the members.
    Medoid,
}

/// What a missing cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// A category of its own, which may be the mode. For numbers the same as `Masked`.
    Category,
    /// Left out of centres; a class that misses more than half publishes `missing`.
    Masked,
}

/// One quasi-identifier.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Code of each cell, or of each row before grouping.
    pub codes: Vec<u32>,
    /// Its values.
    pub domain: Domain,
    /// Its centres.
    pub center: Center,
    /// Its missing cells.
    pub missing: Missing,
}

/// One sensitive attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sensitive {
    /// Value code of each cell, or of each row before grouping; 0: unknown, which counts toward no diversity.
    pub codes: Vec<u32>,
    /// Number of known values of the domain.
    pub values: u32,
}

/// Cells with weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Points {
    /// Rows of each cell, at least 1.
    pub weights: Vec<u32>,
    /// Quasi-identifiers.
    pub features: Vec<Feature>,
    /// Sensitive attributes.
    pub sensitive: Vec<Sensitive>,
}

/// A number of cells or classes as a code.
pub(super) fn code(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 cells and classes")
}

impl Points {
    /// Groups rows into cells, in ascending order of their codes; also gives the cell of each row.
    ///
    /// The cells do not depend on the order of rows if the codes do not. Cost: one sort of the rows.
    ///
    /// # Panics
    /// Columns differ in length.
    #[must_use]
    pub fn group(features: &[Feature], sensitive: &[Sensitive]) -> (Self, Vec<u32>) {
        let columns: Vec<&[u32]> = features
            .iter()
            .map(|feature| &*feature.codes)
            .chain(sensitive.iter().map(|attribute| &*attribute.codes))
            .collect();
        let rows = columns.first().map_or(0, |column| column.len());
        assert!(columns.iter().all(|column| column.len() == rows));
        let compare = |left: usize, right: usize| {
            let differs = columns
                .iter()
                .map(|column| column[left].cmp(&column[right]))
                .find(|order| order.is_ne());
            differs.unwrap_or(Ordering::Equal)
        };
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_unstable_by(|&left, &right| compare(left, right).then(left.cmp(&right)));
        let mut weights: Vec<u32> = Vec::new();
        let mut first_rows: Vec<usize> = Vec::new();
        let mut cell_of_row = vec![0; rows];
        for &row in &order {
            let is_new = first_rows
                .last()
                .is_none_or(|&first| compare(first, row).is_ne());
            if is_new {
                first_rows.push(row);
                weights.push(0);
            }
            let cell = weights.len() - 1;
            weights[cell] += 1;
            cell_of_row[row] = code(cell);
        }
        let of_cells =
            |codes: &[u32]| -> Vec<u32> { first_rows.iter().map(|&row| codes[row]).collect() };
        let points = Self {
            features: features
                .iter()
                .map(|feature| Feature {
                    codes: of_cells(&feature.codes),
                    ..feature.clone()
                })
                .collect(),
            sensitive: sensitive
                .iter()
                .map(|attribute| Sensitive {
                    codes: of_cells(&attribute.codes),
                    values: attribute.values,
                })
                .collect(),
            weights,
        };
        (points, cell_of_row)
    }

    /// Number of cells.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.weights.iter().map(|&rows| u64::from(rows)).sum()
    }
}

impl Feature {
    /// Numbers by code, one row per code from 1: means of standardised values.
    #[must_use]
    pub fn numbers(codes: Vec<u32>, values: Vec<f64>, scaling: Scaling) -> Self {
        Self {
            codes,
            domain: Domain::Numbers { values, scaling },
            center: Center::Mean,
            missing: Missing::Masked,
        }
    }

    /// Categories without order: modes, missing as a category.
    #[must_use]
    pub fn nominal(codes: Vec<u32>, values: u32) -> Self {
        Self {
            codes,
            domain: Domain::Nominal { values },
            center: Center::Mode,
            missing: Missing::Category,
        }
    }

    /// Whether its distances are those of numbers.
    #[must_use]
    pub fn is_number(&self) -> bool {
        matches!(self.domain, Domain::Numbers { .. })
    }

    /// Number of codes, with that of missing.
    pub(super) fn code_count(&self) -> usize {
        match &self.domain {
            Domain::Numbers { values, .. } => values.len(),
            Domain::Ordinal { ranks } => ranks.len(),
            Domain::Nominal { values } => *values as usize + 1,
            Domain::Taxonomy { taxonomy, .. } => taxonomy.leaf_of.len(),
        }
    }

    /// Distance of two categories, 0 to 1; of missing to any other it is 1. Not for numbers.
    #[must_use]
    pub fn category_distance(&self, left: u32, right: u32) -> f64 {
        if left == right {
            return 0.0;
        }
        if left == MISSING || right == MISSING {
            return 1.0;
        }
        match &self.domain {
            Domain::Ordinal { ranks } => {
                let steps = ranks[left as usize].abs_diff(ranks[right as usize]);
                f64::from(steps) / self.last_rank()
            }
            Domain::Taxonomy { taxonomy, semantic } => {
                let nodes = [left, right].map(|code| taxonomy.leaf_of[code as usize]);
                match semantic {
                    Semantic::WuPalmer => taxonomy.wu_palmer(nodes[0], nodes[1]),
                    Semantic::Certainty => taxonomy.share(taxonomy.ancestor(nodes[0], nodes[1])),
                }
            }
            Domain::Numbers { .. } | Domain::Nominal { .. } => 1.0,
        }
    }

    /// Number of ranks less 1, at least 1.
    pub(super) fn last_rank(&self) -> f64 {
        let Domain::Ordinal { ranks } = &self.domain else {
            return 1.0;
        };
        let last = ranks.iter().skip(1).max().copied().unwrap_or(0);
        f64::from(last.max(1))
    }
}
