//! What searches and measurements report: exact figures, ready for JSON. Field names are those of the HTTP contract.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::declaration::{Levels, SearchMethod};

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Front {
    /// Rows of the input.
    pub rows_in: u64,
    /// Distinct subjects of the input; the rows where none is declared.
    pub subjects_in: u64,
    /// How it was found.
    pub search: SearchReport,
    /// What each objective value means.
    pub objectives: Vec<ObjectiveReport>,
    /// Sorted by the first objective, then the second ..., then the policy.
    pub solutions: Vec<Solution>,
    /// `solution_id` of the recommended one.
    pub recommended: Option<u32>,
    /// Why that one.
    pub recommendation_rule: String,
}

/// How a front was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchReport {
    /// The method that ran (`auto` says which it chose).
    pub method: SearchMethod,
    /// Its seed.
    pub seed: u64,
    /// Distinct policies evaluated.
    pub evaluations: u64,
    /// Number of policies, in decimal.
    pub search_space: String,
    /// Every policy was evaluated or excluded by proof.
    pub complete: bool,
    /// A certificate is stored.
    pub certified: bool,
    /// Wall time; set by whoever holds a clock.
    pub elapsed_ms: u64,
}

/// What an objective value means (user-cases UC-60).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ObjectiveReport {
    /// Its name, as asked for.
    pub name: String,
    /// `minimize` or `maximize`.
    pub direction: String,
    /// Least and greatest possible value.
    pub range: [f64; 2],
    /// Formula in words, with parameters.
    pub definition: String,
}

/// One policy of a front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Solution {
    /// Position in the front, from 0.
    pub solution_id: u32,
    /// The policy.
    pub recoding: RecodingReport,
    /// Value per objective.
    pub objectives: BTreeMap<String, f64>,
    /// Rows that stay.
    pub released_rows: u64,
    /// Rows that are withheld.
    pub suppressed_rows: u64,
    /// Classes released.
    pub classes: u64,
    /// Achieved privacy.
    pub privacy: Privacy,
    /// Re-identification risk.
    pub risk: Risk,
    /// Whether it is the recommended one.
    pub recommended: bool,
}

/// A policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecodingReport {
    /// One level per quasi-identifier.
    FullDomain {
        /// By name.
        levels: Levels,
    },
}

/// Privacy of a set of classes, counted in subjects where a subject is declared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Privacy {
    /// Size of the smallest class; 0 where nothing is released.
    pub k: u64,
    /// Per sensitive attribute, the worst class.
    pub sensitive: BTreeMap<String, SensitivePrivacy>,
}

/// Privacy of one sensitive attribute: the worst class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SensitivePrivacy {
    /// Fewest distinct non-missing values.
    pub distinct_l: u64,
    /// Two to the power of the least entropy of non-missing values; 0 where a class has none.
    pub entropy_l: f64,
    /// What `c` of recursive (c,l)-diversity must exceed, for the largest `l` asked for; absent without such a model, or
    /// where a class has fewer than `l` values (classes without any left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recursive_c: Option<f64>,
    /// Greatest variational distance to the released rows' distribution.
    pub t_equal: f64,
    /// The same against the input's distribution.
    pub t_equal_input: f64,
    /// Greatest ordered distance to the released rows' distribution, where an order is declared or the type is numeric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_ordered: Option<f64>,
    /// The same against the input's distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_ordered_input: Option<f64>,
    /// Greatest hierarchical distance to the released rows' distribution, where a hierarchy is declared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_hierarchical: Option<f64>,
    /// The same against the input's distribution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t_hierarchical_input: Option<f64>,
    /// Greatest relative gain of a value's share over the input's, where beta-likeness is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Greatest logarithm of a share over the input's, up or down, where delta-disclosure is asked for, in its mode;
    /// absent where a class lacks a value and the mode is strict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<f64>,
    /// Greatest share of one protected value, where (alpha,k)-anonymity is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// Released classes without any non-missing value (user-cases D3).
    pub classes_without_value: u64,
}

/// Prosecutor risk over released subjects (user-cases D13).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Risk {
    /// One over the smallest class; 0 where nothing is released.
    pub maximum: f64,
    /// Classes over released records.
    pub average: f64,
    /// Released rows in classes whose risk is above each threshold.
    pub rows_above: BTreeMap<String, u64>,
    /// The same as a share of released rows.
    pub share_above: BTreeMap<String, f64>,
    /// Classes of size one.
    pub sample_uniques: u64,
}

/// Why no policy meets the demands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Reason {
    /// `k_exceeds_rows`, `k_exceeds_subjects`, `l_exceeds_distinct_values`, `suppression_limit` or `not_found`.
    pub code: String,
    /// In words, with the numbers; no cell value.
    pub detail: String,
}

/// Answer of `measure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Measurement {
    /// Levels measured at.
    pub levels: Levels,
    /// Rows measured.
    pub rows: u64,
    /// Distinct subjects; the rows where none is declared.
    pub subjects: u64,
    /// Number of classes.
    pub classes: u64,
    /// Achieved privacy, nothing suppressed.
    pub privacy: Privacy,
    /// Risk, nothing suppressed.
    pub risk: Risk,
    /// Whether every class meets every model.
    pub satisfied: bool,
    /// Rows in classes that fail at least one model.
    pub violating_rows: u64,
    /// The same as a share of all rows: the suppression limit that these levels would need.
    pub violating_share: f64,
    /// Per model, in the order asked.
    pub models: Vec<ModelReport>,
    /// Number of classes by size, ascending.
    pub class_size_histogram: Vec<ClassSizes>,
}

/// One model's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelReport {
    /// The model as asked.
    pub model: crate::declaration::PrivacyModel,
    /// Whether every class meets it.
    pub satisfied: bool,
    /// Classes that do not.
    pub violating_classes: u64,
    /// Rows in them.
    pub violating_rows: u64,
}

/// Classes of one size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClassSizes {
    /// Size in subjects (rows where none is declared).
    pub size: u64,
    /// Classes of it.
    pub classes: u64,
    /// Rows in them.
    pub rows: u64,
}
