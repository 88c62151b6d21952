//! What is known of people, and what of a release is compatible with it.
//!
//! A class is compatible with what is known of a person if every known value lies in what the class states: in its
//! interval or among its values. Missing is a value like others, no wildcard.

use crate::anonymize::clusters::extent::Region;
use crate::anonymize::table::MISSING;

/// What is known of one attribute of a person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Known {
    /// Nothing: compatible with everything.
    Nothing,
    /// The code of a category; 0: that it is missing.
    Code(u32),
    /// That the number lies between two ends, both included.
    Between(f64, f64),
    /// That the code lies between two codes, both included: a number up to an error, where codes are in order of value.
    Codes(u32, u32),
}

impl Known {
    /// A number known up to an error.
    #[must_use]
    pub fn number(value: f64, error: f64) -> Self {
        Self::Between(value - error, value + error)
    }

    /// Whether a class that states the region could hold the person.
    pub(super) fn is_compatible(&self, region: &Region) -> bool {
        match (self, region) {
            (Self::Nothing, _) | (_, Region::Any) => true,
            (Self::Code(code), Region::Values(codes)) => codes.binary_search(code).is_ok(),
            (Self::Code(code), Region::Interval { is_missing, .. }) => {
                *code == MISSING && *is_missing
            }
            (Self::Between(least, most), Region::Interval { low, high, .. }) => {
                least <= high && most >= low
            }
            (Self::Codes(least, most), Region::Values(codes)) => {
                let next = codes.partition_point(|code| code < least);
                codes.get(next).is_some_and(|code| code <= most)
            }
            (Self::Between(..), Region::Values(_)) | (Self::Codes(..), Region::Interval { .. }) => {
                false
            }
        }
    }

    /// Equal keys, equal knowledge.
    pub(super) fn key(&self) -> (u8, u64, u64) {
        match self {
            Self::Nothing => (0, 0, 0),
            Self::Code(code) => (1, u64::from(*code), 0),
            Self::Between(least, most) => (2, least.to_bits(), most.to_bits()),
            Self::Codes(least, most) => (3, u64::from(*least), u64::from(*most)),
        }
    }
}

/// A record of a known person.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Whose record this is: people with several count once.
    pub person: u32,
    /// By attribute.
    pub known: Vec<Known>,
    /// The class that holds their row, if it was released.
    pub class: Option<u32>,
    /// Their sensitive value, if it is known.
    pub value: Option<u32>,
}

/// What was released.
#[derive(Debug, Clone, Copy)]
pub struct Released<'a> {
    /// By class and attribute.
    pub regions: &'a [Vec<Region>],
    /// People by class.
    pub sizes: &'a [u64],
    /// By class: rows by known value of one sensitive attribute.
    pub values: Option<&'a [Vec<(u32, u64)>]>,
}
