//! Privacy models with their parameters, as they are stored.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::declaration::Fraction;

/// A privacy model (algorithms.md E.1). Every one holds in every released class; with a subject column, sizes count
/// distinct subjects and frequencies distinct pairs of a subject and a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum PrivacyModel {
    /// Every class holds at least `k` subjects (rows without a subject column).
    KAnonymity {
        /// At least 1.
        #[schema(minimum = 1)]
        k: u64,
    },
    /// At least `k` members of the population (distinct subjects where it declares them, else rows) are in every class.
    KMap {
        /// At least 1.
        #[schema(minimum = 1)]
        k: u64,
        /// The dataset that holds the population: its quasi-identifiers cover those of this one.
        population: Uuid,
    },
    /// Every class holds at least `l` distinct non-missing values of the attribute.
    DistinctLDiversity {
        /// A sensitive attribute.
        attribute: String,
        /// At least 1.
        #[schema(minimum = 1)]
        l: u64,
        /// What a class without any non-missing value does (user-cases D3).
        #[serde(default)]
        missing: MissingSensitive,
    },
    /// The entropy of the non-missing values of every class is at least that of `l` equally frequent ones.
    EntropyLDiversity {
        /// A sensitive attribute.
        attribute: String,
        /// At least 1; may be a fraction.
        #[schema(minimum = 1)]
        l: f64,
        /// What a class without any non-missing value does (user-cases D3).
        #[serde(default)]
        missing: MissingSensitive,
    },
    /// The most frequent non-missing value of every class occurs less than `c` times as often as all but the `l - 1`
    /// most frequent ones together.
    RecursiveClDiversity {
        /// A sensitive attribute.
        attribute: String,
        /// Above 0.
        #[schema(exclusive_minimum = 0)]
        c: f64,
        /// At least 1.
        #[schema(minimum = 1)]
        l: u64,
        /// What a class without any non-missing value does (user-cases D3).
        #[serde(default)]
        missing: MissingSensitive,
    },
    /// The distribution of the values of every class (missing is one of them) is at most `t` away from the reference.
    TCloseness {
        /// A sensitive attribute.
        attribute: String,
        /// Above 0, at most 1.
        #[schema(exclusive_minimum = 0, maximum = 1)]
        t: f64,
        /// How far two values are apart; declared, never guessed (user-cases D5).
        distance: Distance,
        /// What a class is compared with (user-cases D4).
        #[serde(default)]
        reference: Reference,
    },
    /// No value's share of a class is `e^delta` times its share of the input, or more, or as much less.
    DeltaDisclosure {
        /// A sensitive attribute.
        attribute: String,
        /// Above 0.
        #[schema(exclusive_minimum = 0)]
        delta: f64,
        /// What a value that a class lacks means.
        #[serde(default)]
        mode: DisclosureMode,
    },
    /// No value's share of a class exceeds its share of the input by more than `beta` times the latter.
    BetaLikeness {
        /// A sensitive attribute.
        attribute: String,
        /// Above 0.
        #[schema(exclusive_minimum = 0)]
        beta: f64,
        /// Holds frequent values tighter: the bound is the lesser of `beta` and `-ln` of the share in the input.
        #[serde(default)]
        enhanced: bool,
    },
    /// Every class holds at least `k` subjects, and at most the share `alpha` of them bears one protected value.
    AlphaK {
        /// A sensitive attribute.
        attribute: String,
        /// Above 0, at most 1.
        #[schema(exclusive_minimum = 0, maximum = 1)]
        alpha: f64,
        /// At least 1.
        #[schema(minimum = 1)]
        k: u64,
        /// The protected values; absent: all but missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        values: Option<Vec<String>>,
    },
    /// Of every class of the population, a share from `min` to `max` is released. With `min` above 0 that includes
    /// classes of which nothing is: then no policy that leaves one out is good, and suppression does not help.
    DeltaPresence {
        /// At least 0, at most `max`.
        #[schema(value_type = f64, minimum = 0, maximum = 1)]
        min: Fraction,
        /// Above 0, at most 1.
        #[schema(value_type = f64, exclusive_minimum = 0, maximum = 1)]
        max: Fraction,
        /// The dataset that holds the population: its quasi-identifiers cover those of this one.
        population: Uuid,
    },
    /// Classes over released subjects (rows without a subject column) are at most `max`; the smallest classes are
    /// suppressed until this holds.
    AverageRisk {
        /// Above 0, at most 1.
        #[schema(value_type = f64, exclusive_minimum = 0, maximum = 1)]
        max: Fraction,
    },
    /// One over the size of every class is at most `max`.
    MaximumRisk {
        /// Above 0, at most 1.
        #[schema(value_type = f64, exclusive_minimum = 0, maximum = 1)]
        max: Fraction,
    },
}

impl PrivacyModel {
    /// The sensitive attribute that the model protects, if it names one.
    #[must_use]
    pub fn attribute(&self) -> Option<&str> {
        match self {
            Self::DistinctLDiversity { attribute, .. }
            | Self::EntropyLDiversity { attribute, .. }
            | Self::RecursiveClDiversity { attribute, .. }
            | Self::TCloseness { attribute, .. }
            | Self::DeltaDisclosure { attribute, .. }
            | Self::BetaLikeness { attribute, .. }
            | Self::AlphaK { attribute, .. } => Some(attribute),
            Self::KAnonymity { .. }
            | Self::KMap { .. }
            | Self::DeltaPresence { .. }
            | Self::AverageRisk { .. }
            | Self::MaximumRisk { .. } => None,
        }
    }

    /// The dataset of the population that the model names, if it does.
    #[must_use]
    pub fn population(&self) -> Option<Uuid> {
        match self {
            Self::KMap { population, .. } | Self::DeltaPresence { population, .. } => {
                Some(*population)
            }
            _ => None,
        }
    }

    /// The least number of subjects (rows where none is declared) that the model demands of every class, if it does.
    #[must_use]
    pub fn least_size(&self) -> Option<u64> {
        match self {
            Self::KAnonymity { k } | Self::AlphaK { k, .. } => Some(*k),
            Self::MaximumRisk { max } => max.least_inverse(),
            _ => None,
        }
    }

    /// The same, or what the model demands of the population's classes or of the mean class.
    #[must_use]
    pub fn named_size(&self) -> Option<u64> {
        match self {
            Self::KMap { k, .. } => Some(*k),
            Self::AverageRisk { max } => max.least_inverse(),
            _ => self.least_size(),
        }
    }
}

/// What delta-disclosure makes of a value that a class lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisclosureMode {
    /// The class fails: every value of the input stands in every class. Natural logarithm, as published.
    #[default]
    Strict,
    /// It is skipped, and the logarithm is to base 2, as in ARX.
    Arx,
}

/// A class whose sensitive values are all missing (user-cases D3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingSensitive {
    /// Fails the model.
    #[default]
    Fails,
    /// Passes, and is reported.
    Exempt,
}

/// Ground distance of t-closeness (user-cases D5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Distance {
    Equal,
    Ordered,
    Hierarchical,
}

/// Reference distribution (user-cases D4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Reference {
    #[default]
    Released,
    Input,
}
