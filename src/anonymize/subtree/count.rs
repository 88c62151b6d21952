//! A number of cuts: exact however large, by limbs of nine decimal digits.

use std::fmt;

const LIMB: u64 = 1_000_000_000;

/// A natural number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Count(Vec<u64>);

impl Count {
    pub(crate) fn one() -> Self {
        Self(vec![1])
    }

    pub(crate) fn plus_one(mut self) -> Self {
        for limb in &mut self.0 {
            *limb += 1;
            if *limb < LIMB {
                return self;
            }
            *limb = 0;
        }
        self.0.push(1);
        self
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0; self.0.len() + other.0.len()];
        for (place, &own) in self.0.iter().enumerate() {
            let mut carry = 0;
            for (limb, &other) in limbs[place..].iter_mut().zip(other.0.iter().chain(&[0])) {
                let sum = *limb + own * other + carry;
                *limb = sum % LIMB;
                carry = sum / LIMB;
            }
        }
        while limbs.len() > 1 && limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self(limbs)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut limbs = self.0.iter().rev();
        write!(formatter, "{}", limbs.next().unwrap_or(&0))?;
        limbs.try_for_each(|limb| write!(formatter, "{limb:09}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact() {
        let two = Count::one().plus_one();
        let power = (0..100).fold(Count::one(), |power, _| power.times(&two));
        assert_eq!(power.to_string(), "1267650600228229401496703205376");
        assert_eq!(
            power.times(&power).to_string(),
            "1606938044258990275541962092341162602522202993782792835301376"
        );
        let nines = Count(vec![LIMB - 1; 2]);
        assert_eq!(nines.plus_one().to_string(), "1000000000000000000");
        assert_eq!(
            Count(vec![LIMB - 1])
                .times(&Count(vec![LIMB - 1]))
                .to_string(),
            "999999998000000001"
        );
    }
}
