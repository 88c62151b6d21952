//! What a solution does with values: levels, cuts, or classes of rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::anonymize::subtree::{Recoded, Specialized};
use crate::declaration::{Levels, Representation};

/// A policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecodingReport {
    /// One level per quasi-identifier.
    FullDomain {
        /// By name.
        levels: Levels,
    },
    /// One cut through the tree of each quasi-identifier.
    Subtree {
        /// By name, the labels that released rows bear, sorted.
        cuts: BTreeMap<String, Vec<String>>,
        /// By name, the nodes that are replaced by their children: those above the cut.
        specialized: Specialized,
    },
    /// Class by class, by intervals, value sets and common ancestors unless asked otherwise.
    Local(ClassesReport),
    /// Class by class, by what stands for the class unless asked otherwise.
    Microaggregation(ClassesReport),
}

/// Classes of rows. No value of any class is told here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClassesReport {
    /// Whether what a row bears is true of that row: sets are, centroids are not.
    pub truthful: bool,
    /// What released rows bear.
    pub representation: Representation,
    /// Deviation of rows from the centres of their classes, suppressed rows from the centre of all, in both forms.
    pub information_loss: BothLosses,
    /// Mean normalised certainty penalty of the classes' extents, 1 for suppressed rows; `0..=1`.
    pub certainty_penalty: f64,
    /// Per sensitive attribute, least entropy of any released class, in bits; missing cells are not counted.
    pub least_entropy: BTreeMap<String, f64>,
    /// Per sensitive attribute, share of released rows in classes of one value or none.
    pub homogeneity: BTreeMap<String, f64>,
    /// Per sensitive attribute, share of released rows whose own value is that of more than half of their class.
    pub skewness: BTreeMap<String, f64>,
    /// Weights of the entropies that this is the best solution for, by sensitive attribute, where it was searched by weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambdas: Option<BTreeMap<String, f64>>,
    /// What whoever looks for the nearest centroid of a row finds; of centroids where nothing is suppressed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distance_linkage: Option<DistanceLinkageReport>,
}

/// Information loss in both forms, each `0..=1`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BothLosses {
    /// Mean over the quasi-identifiers of each one's own share.
    pub balanced: f64,
    /// Sum of the deviations over the sum of those from the centre of all rows.
    pub ratio: f64,
}

/// Record linkage by distance (algorithms.md B.7).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DistanceLinkageReport {
    /// Share of rows whose nearest centroids stand for fewer than k rows together.
    pub below_k: f64,
    /// Share of rows whose own class is among the nearest.
    pub own_class: f64,
    /// Mean chance of picking the row itself.
    pub success: f64,
}

impl RecodingReport {
    /// The levels of a policy of full-domain generalization.
    #[must_use]
    pub fn levels(&self) -> Option<&Levels> {
        match self {
            Self::FullDomain { levels } => Some(levels),
            Self::Subtree { .. } | Self::Local(_) | Self::Microaggregation(_) => None,
        }
    }

    /// The classes, where rows are recoded class by class.
    #[must_use]
    pub fn classes(&self) -> Option<&ClassesReport> {
        match self {
            Self::FullDomain { .. } | Self::Subtree { .. } => None,
            Self::Local(report) | Self::Microaggregation(report) => Some(report),
        }
    }

    /// The policy in the form that rows are recoded by. Of classes the class of every row is needed too: see
    /// [`RecodingReport::recoded_by`].
    #[must_use]
    pub fn recoded(&self) -> Recoded<'_> {
        self.recoded_by(&[])
    }

    /// The same, with the class of every row ([`super::Front::partitions`]), which policies of values do not read.
    #[must_use]
    pub fn recoded_by<'a>(&'a self, class_of: &'a [u32]) -> Recoded<'a> {
        match self {
            Self::FullDomain { levels } => Recoded::FullDomain(levels),
            Self::Subtree { cuts, specialized } => Recoded::Subtree { cuts, specialized },
            Self::Local(report) | Self::Microaggregation(report) => Recoded::Classes {
                class_of,
                representation: report.representation,
            },
        }
    }
}
