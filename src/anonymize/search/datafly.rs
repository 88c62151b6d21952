//! Datafly: one greedy way up the levels (algorithms.md B.10).

use super::front;
use super::problem::{End, Found, Problem};
use crate::anonymize::Stop;
use crate::anonymize::classes::{ClassTable, Scratch, Wanted};
use crate::anonymize::clusters::baselines::datafly;
use crate::declaration::Demand;

/// Generalises the attribute with most values until at most k rows stand in classes that fail, and no more than may be
/// suppressed; the answer is the one policy that is reached.
pub(crate) fn search(problem: &Problem<'_>, demand: &Demand) -> Found {
    let most = demand.least_rows().min(problem.allowed);
    let end = std::cell::Cell::new(End::Done);
    let evaluations = std::cell::Cell::new(0);
    let outliers = |table: &ClassTable| {
        match problem.observer.must_stop() {
            Some(Stop::Cancelled) => end.set(End::Cancelled),
            Some(Stop::OutOfTime) => end.set(End::Budget),
            None => {}
        }
        if end.get() != End::Done {
            // Left where it is: as if it had arrived.
            return 0;
        }
        evaluations.set(evaluations.get() + 1);
        problem.meter.count(problem.observer);
        let evaluation = table.evaluate(problem.cells, problem.criteria, Wanted::default());
        evaluation.suppressed_rows
    };
    let reached = datafly::until(problem.cells, most, &outliers);
    let table = ClassTable::group(
        problem.cells,
        reached.policy.levels(),
        &mut Scratch::default(),
    );
    let judged = problem.judge(&table);
    Found {
        evaluations: evaluations.get(),
        least_suppressed: Some(judged.suppressed_rows),
        front: front::front(vec![judged], problem.objectives.len()),
        judged: Vec::new(),
        end: end.get(),
    }
}
