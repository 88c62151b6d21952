//! Squared distances of numbers from what is released of them (algorithms.md D.7). For reports only.
//!
//! SSE / SST of one numeric quasi-identifier: the squares of what a reader who takes the middle of every label is off,
//! over those of one who knows the mean of the input only. The middle of an interval `[a, b)` is that of its bounds; of
//! any other label, that of the least and the greatest number of the input under it; a suppressed row stands for the
//! whole column. Missing cells are left out. 0 for unchanged numbers; wide intervals can exceed 1.

use std::collections::BTreeMap;

use super::super::cells::Cells;
use super::super::classes::ClassTable;

const UNITS: f64 = (1_u64 << 40) as f64;

/// One numeric quasi-identifier.
#[derive(Debug)]
struct Numeric {
    attribute: usize,
    /// By level-0 node: its number less the mean, over the range; `None` for missing.
    numbers: Vec<Option<f64>>,
    /// By level and node: the middle, on the same scale.
    middles: Vec<Vec<f64>>,
    /// Middle of the column.
    whole: f64,
    /// Sum of squares about the mean, in units.
    total: i128,
}

/// The numeric quasi-identifiers of some cells.
#[derive(Debug)]
pub(super) struct SumOfSquares<'a> {
    cells: &'a Cells,
    numeric: Vec<Numeric>,
}

impl<'a> SumOfSquares<'a> {
    pub(super) fn new(cells: &'a Cells) -> Self {
        let attributes = 0..cells.quasi_identifiers.len();
        Self {
            cells,
            numeric: attributes
                .filter_map(|attribute| Numeric::of(cells, attribute))
                .collect(),
        }
    }

    /// By name; attributes that are not numeric, or constant, are left out. Cost: a pass over the cells per attribute.
    ///
    /// `class_of` is the class of each cell.
    pub(super) fn by_attribute(
        &self,
        table: &ClassTable,
        released: &[bool],
        class_of: &[u32],
    ) -> BTreeMap<String, f64> {
        let ratios = self.numeric.iter().map(|numeric| {
            let middles = &numeric.middles[table.levels[numeric.attribute] as usize];
            let cells = self.cells.bottom.rows.iter().zip(class_of).enumerate();
            let sum: i128 = cells
                .map(|(cell, (&rows, &class))| {
                    let bottom = self.cells.bottom.node(self.cells, cell, numeric.attribute);
                    let Some(number) = numeric.numbers[bottom as usize] else {
                        return 0;
                    };
                    let middle = if released[class as usize] {
                        middles[table.node(self.cells, class as usize, numeric.attribute) as usize]
                    } else {
                        numeric.whole
                    };
                    i128::from(rows) * square(number - middle)
                })
                .sum();
            let name = self.cells.quasi_identifiers[numeric.attribute].name.clone();
            (name, sum as f64 / numeric.total as f64)
        });
        ratios.collect()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "converted by saturation")]
fn square(difference: f64) -> i128 {
    // At most 2^64 units times 2^32 rows times 2^30 cells.
    (difference * difference * UNITS)
        .min(u64::MAX as f64)
        .round() as i128
}

impl Numeric {
    fn of(cells: &Cells, attribute: usize) -> Option<Self> {
        let quasi_identifier = &cells.quasi_identifiers[attribute];
        if !quasi_identifier.is_numeric {
            return None;
        }
        let levels = &quasi_identifier.generalization.levels;
        let plain: Vec<Option<f64>> = levels[0]
            .labels
            .iter()
            .map(|label| label.as_deref()?.parse::<f64>().ok())
            .map(|number| number.filter(|number| number.is_finite()))
            .collect();
        let mut rows_of = vec![0_u64; plain.len()];
        for (cell, &rows) in cells.bottom.rows.iter().enumerate() {
            rows_of[cells.bottom.node(cells, cell, attribute) as usize] += u64::from(rows);
        }
        let held = plain.iter().zip(&rows_of);
        let mut held: Vec<(f64, u64)> = held
            .filter_map(|(number, &rows)| Some(((*number)?, rows)))
            .collect();
        held.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
        let (least, greatest) = (held.first()?.0, held.last()?.0);
        let range = greatest - least;
        if range <= 0.0 {
            return None;
        }
        let count: u64 = held.iter().map(|&(_, rows)| rows).sum();
        let sum: f64 = held
            .iter()
            .map(|&(number, rows)| (number - least) * rows as f64)
            .sum();
        let mean = least + sum / count as f64;
        let scaled = |number: f64| (number - mean) / range;
        let numbers: Vec<Option<f64>> = plain.iter().map(|number| number.map(scaled)).collect();
        let squares = held
            .iter()
            .map(|&(number, rows)| i128::from(rows) * square(scaled(number)));
        let middles = levels.iter().zip(&quasi_identifier.from_bottom);
        let middles = middles.map(|(level, nodes)| {
            let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); level.labels.len()];
            for (&node, number) in nodes.iter().zip(&plain) {
                if let Some(number) = *number {
                    let (least, greatest) = &mut ends[node as usize];
                    *least = least.min(number);
                    *greatest = greatest.max(number);
                }
            }
            let bounds = level.labels.iter().map(|label| interval(label.as_deref()?));
            let middles = bounds.zip(ends).map(|(bounds, ends)| {
                let (least, greatest) = bounds.unwrap_or(ends);
                scaled(f64::midpoint(least, greatest))
            });
            middles.collect()
        });
        Some(Self {
            attribute,
            middles: middles.collect(),
            whole: scaled(f64::midpoint(least, greatest)),
            total: squares.sum(),
            numbers,
        })
    }
}

/// The bounds of a label `[a, b)`.
fn interval(label: &str) -> Option<(f64, f64)> {
    let (least, greatest) = label
        .strip_prefix('[')?
        .strip_suffix(')')?
        .split_once(", ")?;
    Some((least.parse().ok()?, greatest.parse().ok()?))
}
