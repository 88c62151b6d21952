//! Distinct uniformly random policies, without replacement: the yardstick of every heuristic.

use rustc_hash::FxHashSet;

use super::front;
use super::problem::{End, Found, Problem};
use super::streams::{Streams, random_policy};
use super::supports::Supports;
use super::{exact, least};
use crate::anonymize::policy::Policy;

/// Policies drawn and judged at a time.
const BATCH: u64 = 1024;

/// Judges as many distinct policies as the demand allows; every policy, if there are no more.
pub(crate) fn search(problem: &Problem<'_>, wanted: u64) -> Found {
    if problem.space.size().is_some_and(|size| size <= wanted) {
        return exact::search(problem);
    }
    let streams = Streams::new(problem.search.seed);
    let mut supports = Supports::new(problem.cells, problem.cells, problem.cache_bytes);
    let mut seen: FxHashSet<Policy> = FxHashSet::default();
    let mut found = Found {
        front: Vec::new(),
        evaluations: 0,
        least_suppressed: None,
        judged: Vec::new(),
        end: End::Done,
    };
    while found.end == End::Done && found.evaluations < wanted {
        let to = (found.evaluations + BATCH).min(wanted);
        let draw = |individual: u64| {
            let mut random = streams.stream(individual >> 32, individual & u64::from(u32::MAX));
            loop {
                let policy = random_policy(&problem.space, &mut random);
                if seen.insert(policy.clone()) {
                    return policy;
                }
            }
        };
        let policies: Vec<Policy> = (found.evaluations..to).map(draw).collect();
        let (judged, end) = problem.evaluate(&policies, &mut supports);
        found.evaluations += judged.len() as u64;
        found.least_suppressed = least(found.least_suppressed, &judged);
        found.end = end.unwrap_or(End::Done);
        found.front.extend(judged);
        found.front = front::front(std::mem::take(&mut found.front), problem.objectives.len());
    }
    found
}
