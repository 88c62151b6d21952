//! The figures of attacks as they are told: aggregates, none of them over fewer than k people.
//!
//! Figures of released rows alone are exact: whoever has the release can count them. Figures of people are rounded up to
//! whole steps of k people, so that one person more or less shows only where k-1 others are known, and so that no risk is
//! told smaller than it is.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::linkage::Linkage;
use super::simulation::Simulation;
use crate::anonymize::class_sizes::range_of;
use crate::anonymize::report::{DistanceLinkageReport, Reason};

/// What attacks on a release find. Holds no cell value and nothing of a single person.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct AttackReport {
    /// Fewest people that a figure is over: the greatest k of the release's models, or that a maximum or average risk of
    /// theirs comes to; 5 where none names one.
    pub k: u64,
    /// Rows released, masked ones not counted.
    pub released_rows: u64,
    /// Classes that a reader of the release tells apart.
    pub classes: u64,
    /// What class sizes count: `subjects`; `subjects_at_least`, a lower bound of them, where rows were erased or wait or the
    /// class of some cannot be told: risks by size are then upper bounds; `rows` where no subject is declared.
    pub counted: Counted,
    /// Linkage by class size alone.
    pub linkage: LinkageReport,
    /// Per released sensitive attribute: share of rows in classes with one known value or none.
    pub homogeneity: BTreeMap<String, f64>,
    /// The same for all released sensitive attributes at once; absent with fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joint_homogeneity: Option<f64>,
    /// Per released sensitive attribute and threshold: share of rows whose own value makes up more of their class.
    pub skewness: BTreeMap<String, BTreeMap<String, f64>>,
    /// Who was looked for.
    pub people: PeopleReport,
    /// Record linkage by distance, where rows bear centroids and none was suppressed: what whoever knows a row finds by
    /// looking for the nearest. As the front of the release tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance_linkage: Option<DistanceLinkageReport>,
    /// Linkage simulation, all quasi-identifiers known that the file has. Null where `not_simulated` says why.
    pub simulation: Option<SimulationReport>,
    /// Why nothing is told of match sets: nobody knows which rows could be a person's. Such a release need not be safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_simulated: Option<Reason>,
    /// Per released sensitive attribute: how often the most frequent value of the match set is right. Absent where it is
    /// known of fewer than k people, and empty without a simulation.
    pub inference: BTreeMap<String, InferenceReport>,
    /// The simulation by what is known: every set of up to `subsets_up_to` quasi-identifiers, by size; empty without one.
    pub knowledge: Vec<KnowledgeReport>,
    /// The simulation with numbers known up to an error of 1; absent unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<SimulationReport>,
    /// Columns that are no declared quasi-identifiers.
    pub undeclared: UndeclaredReport,
}

/// What a size counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Distinct subjects per class.
    Subjects,
    /// No more than the distinct subjects per class.
    SubjectsAtLeast,
    /// Rows.
    Rows,
}

/// Linkage by class size alone (prosecutor).
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct LinkageReport {
    /// Greatest chance of a right guess: 1 by the least class.
    pub maximum: f64,
    /// Mean chance.
    pub mean: f64,
    /// By threshold: share in classes where a guess is right with a greater chance. Every release of classes of at least
    /// two has 0 at 0.5.
    pub share_above: BTreeMap<String, f64>,
    /// Share in classes of fewer than k.
    pub below_k: f64,
}

/// Who was looked for.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PeopleReport {
    /// Where they come from.
    pub source: PeopleSource,
    /// Records looked for.
    pub records: u64,
    /// Different people among them: subjects where the dataset declares them. Each counts once in every share.
    pub persons: u64,
    /// Every how many-th row of the dataset was taken; 1: all.
    pub step: u64,
}

/// Where known people come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeopleSource {
    /// Rows of the dataset that the release was made of: the attacker knows everyone.
    Dataset,
    /// The auxiliary file.
    Auxiliary,
}

/// How well people were found. Shares are rounded up to steps of k people.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SimulationReport {
    /// People by size of their match set (0: no class fits them), in ranges that hold at least k people each.
    pub match_sizes: Vec<MatchSizes>,
    /// Share with a match set of 1 to k - 1.
    pub below_k: f64,
    /// Share with a match set of one.
    pub unique: f64,
    /// Mean chance, over people whose row is released, of picking it out of their match set; null for fewer than k.
    pub success: Option<f64>,
    /// Share of people whose row is released that have its class in their match set; null for fewer than k.
    pub coverage: Option<f64>,
}

/// People whose match sets are of a range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct MatchSizes {
    /// Least size.
    pub size: u64,
    /// Greatest size, inclusive.
    pub size_to: u64,
    /// People.
    pub people: u64,
}

/// Guessing a sensitive value.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct InferenceReport {
    /// Share of people for whom the most frequent value of their match set is right.
    pub share_right: f64,
    /// The same for the most frequent value of all released rows, whoever it is.
    pub baseline: f64,
}

/// How well people were found with some knowledge.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct KnowledgeReport {
    /// Quasi-identifiers known.
    pub known: Vec<String>,
    /// Share with a match set of 1 to k - 1.
    pub below_k: f64,
    /// Share with a match set of one.
    pub unique: f64,
    /// Mean chance, over people whose row is released, of picking it; null for fewer than k.
    pub success: Option<f64>,
}

/// What columns do that are no declared quasi-identifiers.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UndeclaredReport {
    /// Share of released rows that are alone in their class as it is.
    pub unique: f64,
    /// Above which a column is flagged.
    pub limit: f64,
    /// By column.
    pub columns: Vec<UndeclaredColumn>,
}

/// What one more known column does.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct UndeclaredColumn {
    /// Its name.
    pub column: String,
    /// Share of released rows that are alone in their class with their value of it.
    pub unique: f64,
    /// Whether that is above the limit and above what the classes alone give: to be declared quasi-identifying.
    pub flagged: bool,
}

impl From<Linkage> for LinkageReport {
    fn from(found: Linkage) -> Self {
        let shares = found.above.into_iter();
        Self {
            maximum: found.greatest,
            mean: found.mean,
            share_above: shares
                .map(|(threshold, share)| (threshold.to_string(), share))
                .collect(),
            below_k: found.below_k,
        }
    }
}

impl SimulationReport {
    pub(super) fn of(found: &Simulation, k: u64) -> Self {
        Self {
            match_sizes: bars(&found.match_sizes, k),
            below_k: stepped(found.below_k, found.targets, k).unwrap_or(1.0),
            unique: stepped(found.unique, found.targets, k).unwrap_or(1.0),
            success: stepped(found.success, found.members, k),
            coverage: stepped(found.coverage, found.members, k),
        }
    }
}

impl KnowledgeReport {
    pub(super) fn of(known: Vec<String>, found: &Simulation, k: u64) -> Self {
        let SimulationReport {
            below_k,
            unique,
            success,
            ..
        } = SimulationReport::of(found, k);
        Self {
            known,
            below_k,
            unique,
            success,
        }
    }
}

impl InferenceReport {
    pub(super) fn of(found: &Simulation, k: u64) -> Option<Self> {
        let [right, baseline] = found.inference?;
        Some(Self {
            share_right: stepped(right, found.asked, k)?,
            baseline: stepped(baseline, found.asked, k)?,
        })
    }
}

/// A share of `people`, rounded up to a whole number of steps of k of them; `None` for fewer than k people.
fn stepped(share: f64, people: u64, k: u64) -> Option<f64> {
    if people < k {
        return None;
    }
    // What floating point adds to a whole number of people must not cost a step.
    let steps = (share * people as f64 / k as f64 - 1e-9).ceil().max(0.0);
    Some((steps * k as f64 / people as f64).min(1.0))
}

/// Ranges of sizes that hold at least k people each; none for fewer than k people.
fn bars(sizes: &[(u64, u64)], k: u64) -> Vec<MatchSizes> {
    let mut bars: Vec<MatchSizes> = Vec::new();
    let mut grow: Option<MatchSizes> = None;
    for &(size, people) in sizes {
        let (from, to) = range_of(size);
        match &mut grow {
            Some(bar) if bar.people < k || bar.size_to >= to => {
                bar.size_to = to;
                bar.people += people;
            }
            _ => {
                bars.extend(grow.replace(MatchSizes {
                    size: from,
                    size_to: to,
                    people,
                }));
            }
        }
    }
    match (grow, bars.last_mut()) {
        (Some(last), Some(before)) if last.people < k => {
            before.size_to = last.size_to;
            before.people += last.people;
        }
        (Some(last), _) if last.people >= k => bars.push(last),
        _ => {}
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_steps_of_k_people_and_never_too_small() {
        assert_eq!(stepped(0.0, 100, 5), Some(0.0));
        assert_eq!(stepped(0.01, 100, 5), Some(0.05));
        assert_eq!(stepped(0.05, 100, 5), Some(0.05));
        assert_eq!(stepped(0.06, 100, 5), Some(0.1));
        assert_eq!(stepped(1.0, 7, 5), Some(1.0));
        assert_eq!(stepped(1.0, 4, 5), None);
    }

    #[test]
    fn every_bar_holds_k_people() {
        let found = bars(&[(0, 1), (3, 2), (4, 9), (30, 4), (40, 6), (600, 2)], 5);
        let told: Vec<[u64; 3]> = found
            .iter()
            .map(|bar| [bar.size, bar.size_to, bar.people])
            .collect();
        assert_eq!(told, [[0, 4, 12], [21, 1000, 12]]);
        assert!(bars(&[(3, 4)], 5).is_empty());
    }
}
