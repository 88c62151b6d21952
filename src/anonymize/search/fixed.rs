//! One given policy, checked.

use super::front;
use super::problem::{End, Found, Problem};
use super::supports::Supports;
use crate::anonymize::policy::Policy;

/// Judges the policy.
pub(crate) fn search(problem: &Problem<'_>, policy: Policy) -> Found {
    let mut supports = Supports::new(problem.cells, problem.cells, problem.cache_bytes);
    let (judged, end) = problem.evaluate(&[policy], &mut supports);
    Found {
        judged: Vec::new(),
        evaluations: judged.len() as u64,
        least_suppressed: judged.first().map(|candidate| candidate.suppressed_rows),
        front: front::front(judged, problem.objectives.len()),
        end: end.unwrap_or(End::Done),
    }
}
