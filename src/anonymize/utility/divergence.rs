//! Divergence of the input from what a release tells of it (Kifer, Gehrke 2006; algorithms.md D.7). For reports only.
//!
//! Kullback-Leibler divergence, in bits, of the joint distribution of the quasi-identifiers from the estimate that a
//! reader makes: each class spread evenly over the combinations of leaves under its nodes, all suppressed rows over the
//! whole domain. 0 for unchanged data; every term is rounded and added as an integer.

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::ClassTable;

const UNITS: f64 = (1_u64 << 40) as f64;

/// In bits per row.
pub(super) fn kl_divergence(cells: &Cells, table: &ClassTable, released: &[bool]) -> f64 {
    let rows = cells.rows.max(1) as f64;
    // Sum of w log2 w over cells, less that of |C| log2(|C| / leaves) over classes; the rows divide out.
    let input: i128 = cells
        .bottom
        .rows
        .iter()
        .map(|&rows| spread(rows.into(), 0.0))
        .sum();
    let mut suppressed = 0;
    let mut output: i128 = 0;
    for (class, (&rows, &released)) in table.rows.iter().zip(released).enumerate() {
        if released {
            output += spread(rows.into(), volume_bits(cells, table, class));
        } else {
            suppressed += u64::from(rows);
        }
    }
    let domains = cells.quasi_identifiers.iter();
    let whole = domains.map(|attribute| (attribute.generalization.domain as f64).log2());
    output += spread(suppressed, whole.sum());
    ((input - output) as f64 / UNITS / rows).max(0.0)
}

/// Rows times log2(rows / combinations of leaves).
#[expect(
    clippy::cast_possible_truncation,
    reason = "at most 2^32 rows times some thousand bits"
)]
fn spread(rows: u64, volume_bits: f64) -> i128 {
    if rows == 0 {
        return 0;
    }
    let rows = rows as f64;
    (rows * (rows.log2() - volume_bits) * UNITS).round() as i128
}

fn volume_bits(cells: &Cells, table: &ClassTable, class: usize) -> f64 {
    let attributes = cells.quasi_identifiers.iter().enumerate();
    let bits = attributes.map(|(position, attribute)| {
        let level = &attribute.generalization.levels[table.levels[position] as usize];
        let node = table.node(cells, class, position) as usize;
        (level.leaves[node] as f64).log2()
    });
    bits.sum()
}
