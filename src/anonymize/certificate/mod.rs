//! Certificates of exact fronts, and the slow checker that replays them.
//!
//! A certificate lists the policies that a search judged (its pivots), each with the rows that the absorbing core of
//! the criteria makes it suppress, and the front. The checker trusts none of it: it groups the rows anew for every
//! pivot, by its own code, judges every pivot, and goes through the whole space to see that each policy is a pivot, or
//! suppresses too much, or is beaten. Nothing in a certificate derives from fewer rows than a whole table's classes.

mod naive;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cells::Cells;
use super::classes::{ClassTable, Scratch};
use super::policy::Policy;
use super::privacy::Criteria;
use super::rows::Rows;
use super::search::front::{self, Candidate};
use super::search::objective_target;
use super::search::problem::judge;
use super::utility::{self, Objectives};
use super::{Error, Task};
use crate::declaration::Demand;
use naive::Naive;

/// The proof of an exact front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Certificate {
    /// Form of this certificate.
    pub version: u32,
    /// The attributes, in the order of every level vector below.
    pub quasi_identifiers: Vec<String>,
    /// Levels of each.
    pub level_counts: Vec<u32>,
    /// Rows of the input.
    pub rows: u64,
    /// Most rows that may be suppressed.
    pub allowed_suppressed_rows: u64,
    /// The policies that were judged.
    pub pivots: Vec<Pivot>,
    /// The level vectors of the front, in its order.
    pub front: Vec<Vec<u32>>,
    /// What it proves, and by which rule.
    pub statement: String,
}

/// A judged policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pivot {
    /// Level per quasi-identifier.
    pub levels: Vec<u32>,
    /// Rows in classes that fail the absorbing core of the criteria: at least as many are suppressed by every policy
    /// that generalises no attribute more.
    pub core_suppressed_rows: u64,
}

/// What the rule is.
pub(crate) const STATEMENT: &str = "every policy that is no pivot suppresses more rows than allowed, or a solution of the \
    front costs no more in any objective than the policy can cost at least, and less in one or generalises no \
    attribute more; the least cost follows from the policy's levels and from the most core-suppressed rows of a pivot \
    that generalises no attribute less";

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// Policies of the space.
    pub policies: u64,
    /// Of them judged.
    pub pivots: u64,
    /// Excluded because they suppress too much.
    pub beyond_limit: u64,
    /// Excluded because a solution beats them.
    pub beaten: u64,
}

/// Why a certificate does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the certificate does not hold: {0}")]
pub struct Refusal(String);

/// Replays a certificate against the rows. Cost: one pass over the rows per pivot, one over all policies.
///
/// # Errors
/// The rows cannot be recoded.
pub fn check(task: &Task<'_>, certificate: &Certificate) -> Result<Result<Replay, Refusal>, Error> {
    let target = objective_target(task.demand);
    let rows = Rows::of(task.table, task.schema)?.with_target(task.table, task.schema, target);
    let (criteria, mut needs) = Criteria::new(&task.demand.privacy, &rows);
    utility::add_needs(task.demand, &mut needs);
    let (cells, _) = Cells::build(&rows, &needs);
    let objectives = Objectives::new(task.demand, &cells);
    let checker = Checker {
        demand: task.demand,
        criteria: &criteria,
        objectives: &objectives,
        cells: &cells,
        naive: Naive::new(task.table, task.schema),
    };
    Ok(checker.replay(certificate))
}

struct Checker<'a> {
    demand: &'a Demand,
    criteria: &'a Criteria,
    objectives: &'a Objectives,
    cells: &'a Cells,
    naive: Naive<'a>,
}

impl Checker<'_> {
    fn replay(&self, certificate: &Certificate) -> Result<Replay, Refusal> {
        let allowed = self.demand.suppression_limit.floor_of(self.cells.rows);
        let space = self.cells.space();
        refuse_if(certificate.version != 1, "its form is unknown")?;
        refuse_if(
            certificate.level_counts != space.counts()
                || certificate.rows != self.cells.rows
                || certificate.allowed_suppressed_rows != allowed,
            "it belongs to another task",
        )?;
        let size = space.size().and_then(|size| usize::try_from(size).ok());
        let Some(size) = size else {
            return Err(Refusal("the space is too large to replay".to_owned()));
        };
        let mut floors = vec![0_u64; size];
        let mut is_pivot = vec![false; size];
        let mut judged: Vec<Candidate> = Vec::new();
        for pivot in &certificate.pivots {
            let known = pivot.levels.len() == space.counts().len()
                && pivot
                    .levels
                    .iter()
                    .zip(space.counts())
                    .all(|(level, count)| level < count);
            refuse_if(!known, "a pivot is no policy of the space")?;
            let found = self
                .naive
                .core_suppressed(&pivot.levels, &self.demand.privacy);
            refuse_if(
                found != pivot.core_suppressed_rows,
                "a pivot does not suppress what it is said to",
            )?;
            let policy = Policy::new(pivot.levels.clone());
            let place = space.place(&policy);
            floors[place] = found;
            is_pivot[place] = true;
            let table = ClassTable::group(self.cells, &pivot.levels, &mut Scratch::default());
            judged.push(judge(
                self.cells,
                self.criteria,
                self.objectives,
                allowed,
                &table,
            ));
        }
        let found = front::front(judged, self.objectives.len());
        let levels: Vec<&[u32]> = found.iter().map(|member| member.policy.levels()).collect();
        refuse_if(
            !levels
                .iter()
                .copied()
                .eq(certificate.front.iter().map(Vec::as_slice)),
            "its front is not the front of its pivots",
        )?;
        spread_down(&mut floors, space.counts());
        let mut replay = Replay {
            policies: size as u64,
            pivots: is_pivot.iter().filter(|&&is_pivot| is_pivot).count() as u64,
            beyond_limit: 0,
            beaten: 0,
        };
        for (policy, place) in space.iter().zip(0..) {
            if is_pivot[place] {
                continue;
            }
            if floors[place] > allowed {
                replay.beyond_limit += 1;
                continue;
            }
            let bounds = self.objectives.lower_bounds(policy.levels(), floors[place]);
            let is_beaten = found.iter().any(|member| {
                let reaches = member
                    .keys
                    .iter()
                    .zip(&bounds)
                    .all(|(key, bound)| key <= bound);
                reaches && (member.keys != bounds || member.policy.is_below(&policy))
            });
            refuse_if(!is_beaten, "a policy is neither a pivot nor excluded")?;
            replay.beaten += 1;
        }
        Ok(replay)
    }
}

fn refuse_if(wrong: bool, why: &str) -> Result<(), Refusal> {
    if wrong {
        Err(Refusal(why.to_owned()))
    } else {
        Ok(())
    }
}

/// Gives every policy the greatest floor of those that generalise no attribute less.
fn spread_down(floors: &mut [u64], counts: &[u32]) {
    let mut stride = 1;
    for &count in counts {
        let count = count as usize;
        for place in (0..floors.len()).rev() {
            if (place / stride) % count + 1 < count {
                floors[place] = floors[place].max(floors[place + stride]);
            }
        }
        stride *= count;
    }
}
