//! Linkage by class size alone (algorithms.md B.7).

/// The thresholds that are reported. At 0.5 every table of classes of two is safe: that one says little.
pub const THRESHOLDS: [f64; 5] = [0.05, 0.1, 0.2, 0.33, 0.5];

/// What class sizes alone give away, over released rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Linkage {
    /// By threshold: share of rows in classes where a guess is right with a greater chance.
    pub above: Vec<(f64, f64)>,
    /// Greatest chance: 1 by the least class.
    pub greatest: f64,
    /// Mean chance: classes by rows.
    pub mean: f64,
    /// Share of rows in classes of fewer than k.
    pub below_k: f64,
}

/// The linkage of classes of the given sizes; all 0 without any. `most` are the sizes again, or upper bounds where `sizes`
/// are lower ones: then no figure is less than the true one.
#[must_use]
pub fn linkage(sizes: &[u64], most: &[u64], k: u64, thresholds: &[f64]) -> Linkage {
    let rows: u64 = sizes.iter().sum();
    let share = |wanted: &dyn Fn(u64) -> bool| {
        let (mut found, mut others) = (0, 0);
        for (&size, &most) in sizes.iter().zip(most) {
            if wanted(size) {
                found += most;
            } else {
                others += size;
            }
        }
        found as f64 / (found + others).max(1) as f64
    };
    let chance = |size: u64| 1.0 / size as f64;
    let sizes_present = || sizes.iter().copied().filter(|&size| size > 0);
    Linkage {
        above: thresholds
            .iter()
            .map(|&threshold| (threshold, share(&|size| chance(size) > threshold)))
            .collect(),
        greatest: sizes_present().min().map_or(0.0, chance),
        mean: sizes_present().count() as f64 / rows.max(1) as f64,
        below_k: share(&|size| size < k),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // algorithms.md F 36, with inference.rs.
    #[test]
    fn worked_example_36_singletons() {
        let found = linkage(&[1; 4], &[1; 4], 2, &[0.5]);
        assert_eq!(found.above, [(0.5, 1.0)]);
        assert_eq!((found.greatest, found.mean, found.below_k), (1.0, 1.0, 1.0));
    }

    #[test]
    fn thresholds_are_exceeded_not_met() {
        let found = linkage(&[2, 3, 5], &[2, 3, 5], 3, &THRESHOLDS);
        let shares: Vec<f64> = found.above.iter().map(|&(_, share)| share).collect();
        // 1/5 is not above 0.2, 1/3 is above 0.33, 1/2 is not above 0.5.
        assert_eq!(shares, [1.0, 1.0, 0.5, 0.5, 0.0]);
        assert_eq!((found.greatest, found.mean, found.below_k), (0.5, 0.3, 0.2));
        assert_eq!(linkage(&[], &[], 2, &[0.5]).above, [(0.5, 0.0)]);
    }

    #[test]
    fn bounds_of_sizes_give_upper_bounds_of_shares() {
        // 4 and 10 people in truth: of the first class as many as may be, of the second as few.
        let found = linkage(&[2, 10], &[5, 20], 5, &[0.2]);
        assert_eq!((found.greatest, found.mean), (0.5, 2.0 / 12.0));
        assert_eq!(found.above, [(0.2, 5.0 / 15.0)]);
        assert!(found.below_k >= 4.0 / 14.0);
    }
}
