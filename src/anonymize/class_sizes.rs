//! Number of classes by size, in a list whose length does not grow with the table.

use std::collections::BTreeMap;

use super::report::ClassSizes;

/// Up to here every size stands alone.
const ALONE: u64 = 20;

/// Classes by size, ascending, from the rows and the size of each; sizes without a class are left out.
#[must_use]
pub(crate) fn histogram(classes: impl Iterator<Item = (u64, u64)>) -> Vec<ClassSizes> {
    let mut by_size: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for (rows, size) in classes {
        let (classes, total) = by_size.entry(range_of(size)).or_default();
        *classes += 1;
        *total += rows;
    }
    let ranges = by_size.into_iter();
    ranges
        .map(|((size, size_to), (classes, rows))| ClassSizes {
            size,
            size_to,
            classes,
            rows,
        })
        .collect()
}

/// The range of a size, both ends inclusive: beyond [`ALONE`] it ends at 50, 100, 200, 500, 1,000 ...
pub(crate) fn range_of(size: u64) -> (u64, u64) {
    if size <= ALONE {
        return (size, size);
    }
    let (mut from, mut to, mut factor) = (ALONE, ALONE, 0);
    while to < size {
        from = to;
        // 20, 50, 100, 200, 500 ...
        to = match factor % 3 {
            0 => to.saturating_mul(5) / 2,
            _ => to.saturating_mul(2),
        };
        factor += 1;
        if to == from {
            break;
        }
    }
    (from + 1, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_sizes_share_ranges() {
        assert_eq!(range_of(20), (20, 20));
        let ends = [21, 50, 51, 100, 101, 200, 201, 500, 999, 70_000].map(range_of);
        let expected = [
            (21, 50),
            (21, 50),
            (51, 100),
            (51, 100),
            (101, 200),
            (101, 200),
            (201, 500),
            (201, 500),
            (501, 1000),
            (50_001, 100_000),
        ];
        assert_eq!(ends, expected);
        let found = histogram([(2, 2), (30, 25), (49, 49), (2, 2)].into_iter());
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.size, one.size_to, one.classes, one.rows))
            .collect();
        assert_eq!(found, [(2, 2, 2, 4), (21, 50, 2, 79)]);
    }
}
