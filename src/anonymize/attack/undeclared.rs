//! Columns that were not declared quasi-identifiers but single people out (algorithms.md E.3).

/// What one more known column does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Undeclared {
    /// Position among the columns asked about.
    pub column: usize,
    /// Share of rows that are alone in their class with their value.
    pub unique: f64,
    /// Whether that share exceeds the limit and what the classes alone give.
    pub is_flagged: bool,
}

/// The share of rows that classes alone single out, and what each column adds to it.
///
/// `class_of` and every column hold one code per released row. Cost: one sort of the rows per column.
#[must_use]
pub fn undeclared(class_of: &[u32], columns: &[&[u32]], limit: f64) -> (f64, Vec<Undeclared>) {
    let alone = share_alone(class_of.iter().map(|&class| (class, 0)));
    let numbered = columns.iter().enumerate();
    let found = numbered.map(|(column, codes)| {
        let unique = share_alone(class_of.iter().copied().zip(codes.iter().copied()));
        Undeclared {
            column,
            unique,
            is_flagged: unique > limit && unique > alone,
        }
    });
    (alone, found.collect())
}

fn share_alone(keys: impl Iterator<Item = (u32, u32)>) -> f64 {
    let mut keys: Vec<(u32, u32)> = keys.collect();
    keys.sort_unstable();
    let runs = keys.chunk_by(|left, right| left == right);
    runs.filter(|run| run.len() == 1).count() as f64 / keys.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_tells_rows_of_a_class_apart_is_flagged() {
        let class_of = [0, 0, 0, 1, 1, 2];
        let number: [u32; 6] = [1, 2, 3, 4, 5, 6];
        let constant = [1; 6];
        let half = [1, 1, 2, 1, 1, 1];
        let (alone, found) = undeclared(&class_of, &[&number, &constant, &half], 0.4);
        assert!((alone - 1.0 / 6.0).abs() < 1e-12);
        let told: Vec<(f64, bool)> = found
            .iter()
            .map(|one| (one.unique, one.is_flagged))
            .collect();
        assert_eq!(told, [(1.0, true), (1.0 / 6.0, false), (2.0 / 6.0, false)]);
    }
}
