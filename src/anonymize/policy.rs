//! Policies of full-domain generalization and the space that they span.
//!
//! A policy is a level per quasi-identifier. Its place in the space is the mixed-radix number whose lowest digit is the
//! first quasi-identifier (algorithms.md A.1); that number is only compared, never computed, so no space is too large.

use std::cmp::Ordering;

/// One level per quasi-identifier, in the order of the schema. Ordered like its mixed-radix number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Policy(Box<[u32]>);

impl Policy {
    /// A policy of the given levels.
    #[must_use]
    pub fn new(levels: impl Into<Box<[u32]>>) -> Self {
        Self(levels.into())
    }

    /// The levels.
    #[must_use]
    pub fn levels(&self) -> &[u32] {
        &self.0
    }

    /// Whether this policy generalises no attribute more than `other` does.
    #[must_use]
    pub fn is_below(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own <= other)
    }
}

impl Ord for Policy {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

impl PartialOrd for Policy {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All policies over the given level counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    counts: Box<[u32]>,
}

impl Space {
    /// The space over the given numbers of levels; every number is at least 1.
    #[must_use]
    pub fn new(level_counts: &[usize]) -> Self {
        let clamp = |&count: &usize| u32::try_from(count.max(1)).unwrap_or(u32::MAX);
        Self {
            counts: level_counts.iter().map(clamp).collect(),
        }
    }

    /// Levels per quasi-identifier.
    #[must_use]
    pub fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Number of policies, if it fits.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.counts
            .iter()
            .try_fold(1_u64, |size, &count| size.checked_mul(u64::from(count)))
    }

    /// The policy that generalises nothing.
    #[must_use]
    pub fn bottom(&self) -> Policy {
        Policy::new(vec![0; self.counts.len()])
    }

    /// The policy that generalises everything.
    #[must_use]
    pub fn top(&self) -> Policy {
        Policy(self.counts.iter().map(|&count| count - 1).collect())
    }

    /// The policy one level up in an attribute, if there is one.
    #[must_use]
    pub fn step(&self, policy: &Policy, attribute: usize) -> Option<Policy> {
        let mut levels = policy.0.clone();
        levels[attribute] += 1;
        (levels[attribute] < self.counts[attribute]).then_some(Policy(levels))
    }

    /// The place of a policy among all, from 0. Only for spaces whose size fits.
    #[must_use]
    pub fn place(&self, policy: &Policy) -> usize {
        let digits = policy.0.iter().zip(&self.counts).rev();
        digits.fold(0, |place, (&level, &count)| {
            place * count as usize + level as usize
        })
    }

    /// The policy at a place.
    #[must_use]
    pub fn at(&self, place: usize) -> Policy {
        let mut rest = place;
        let digit = |&count: &u32| {
            let level = rest % count as usize;
            rest /= count as usize;
            u32::try_from(level).unwrap_or(0)
        };
        Policy(self.counts.iter().map(digit).collect())
    }

    /// Places of all policies that generalise no attribute more than the given one, itself included.
    pub fn places_below(&self, policy: &Policy) -> impl Iterator<Item = usize> + use<> {
        let mut stride = 1;
        let digits: Vec<(u32, usize)> = policy
            .0
            .iter()
            .zip(&self.counts)
            .map(|(&level, &count)| {
                let own = stride;
                stride *= count as usize;
                (level, own)
            })
            .collect();
        let mut levels = vec![0; digits.len()];
        let mut place = Some(0);
        std::iter::from_fn(move || {
            let current = place?;
            let mut next = current;
            place = None;
            for (level, &(most, stride)) in levels.iter_mut().zip(&digits) {
                if *level < most {
                    *level += 1;
                    next += stride;
                    place = Some(next);
                    break;
                }
                next -= *level as usize * stride;
                *level = 0;
            }
            Some(current)
        })
    }

    /// The policies in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = Policy> + '_ {
        std::iter::successors(Some(self.bottom()), |policy| self.after(policy))
    }

    fn after(&self, policy: &Policy) -> Option<Policy> {
        let mut levels = policy.0.clone();
        for (level, &count) in levels.iter_mut().zip(&self.counts) {
            if *level + 1 < count {
                *level += 1;
                return Some(Policy(levels));
            }
            *level = 0;
        }
        None
    }
}

/// Number of policies over the given level counts, in decimal and exact however large.
///
/// # Example
/// ```
/// assert_eq!(kindred::anonymize::search_space(&[4, 4, 2]), "32");
/// ```
#[must_use]
pub fn search_space(level_counts: &[usize]) -> String {
    const LIMB: u128 = 1_000_000_000_000_000_000;
    let mut limbs = vec![1_u128];
    for &count in level_counts {
        let mut carry = 0;
        for limb in &mut limbs {
            let product = *limb * count as u128 + carry;
            *limb = product % LIMB;
            carry = product / LIMB;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut limbs = limbs.into_iter().rev();
    let first = limbs.next().unwrap_or(0).to_string();
    limbs.fold(first, |text, limb| format!("{text}{limb:018}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uc_56_forty_attributes_of_five_levels_are_counted_exactly() {
        assert_eq!(search_space(&[5; 40]), "9094947017729282379150390625");
        assert_eq!(search_space(&[10; 18]), format!("1{}", "0".repeat(18)));
        assert_eq!(search_space(&[10; 37]), format!("1{}", "0".repeat(37)));
        assert_eq!(search_space(&[]), "1");
        assert_eq!(Space::new(&[5; 40]).size(), None);
    }

    #[test]
    fn places_below_a_policy_are_those_of_the_policies_below() {
        let space = Space::new(&[3, 1, 2, 4]);
        for (place, policy) in space.iter().enumerate() {
            assert_eq!(space.place(&policy), place);
            assert_eq!(space.at(place), policy);
            let below: Vec<usize> = space.places_below(&policy).collect();
            let expected = space.iter().enumerate();
            let expected = expected.filter(|(_, other)| other.is_below(&policy));
            assert!(below.into_iter().eq(expected.map(|(place, _)| place)));
        }
    }

    #[test]
    fn policies_are_ordered_by_mixed_radix_number() {
        let policies: Vec<_> = Space::new(&[2, 3]).iter().collect();
        let levels: Vec<_> = policies.iter().map(Policy::levels).collect();
        assert_eq!(levels, [[0, 0], [1, 0], [0, 1], [1, 1], [0, 2], [1, 2]]);
        assert!(policies.is_sorted());
    }
}
