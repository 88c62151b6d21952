//! A job of classes: reads the rows, runs the method, and describes what nothing beats.

use rayon::prelude::*;

use super::archive::{crowding, dominates};
use super::cut_start::cut_start;
use super::decode::everyone;
use super::describe::{Describer, Finished};
use super::distance::Space;
use super::guard::ClassJudge;
use super::methods::{self, Problem};
use super::partition::{Guard, Member};
use super::reading::{self, Choice};
use crate::anonymize::privacy::impossible;
use crate::anonymize::report::{Front, Reason};
use crate::anonymize::rows::Rows;
use crate::anonymize::search::{empty_front, indicators};
use crate::anonymize::{Error, Observer, Outcome, Stop, Task};
use crate::declaration::{Preset, SearchMethod};

/// Most solutions of a front: for each the class of every row is kept.
const MOST_SOLUTIONS: usize = 32;

/// Searches classes.
pub(crate) fn run(task: &Task<'_>, observer: &dyn Observer) -> Result<Outcome, Error> {
    let Task {
        table,
        schema,
        demand,
        ..
    } = *task;
    let rows = Rows::of(table, schema)?;
    let subjects = rows.subject_count();
    let mut front = empty_front(demand, schema, rows.rows as u64, subjects);
    front.search.method = demand.search.method_for_classes(demand.recoding);
    let distinct = rows.sensitive.iter().map(|attribute| {
        let values = attribute.column.dictionary.len() as u64;
        (attribute.name.to_owned(), values)
    });
    let declared = rows.subjects.map(|_| subjects);
    let known = impossible(
        &demand.privacy,
        front.rows_in,
        declared,
        &distinct.collect(),
    );
    if let Some(reason) = known {
        return Ok(Outcome::Infeasible(reason, front));
    }
    let reading = reading::read(table, schema, &Choice::default())?;
    let points = &reading.points;
    let judge = ClassJudge::new(&demand.privacy, &rows, points, &reading.cell_of_row);
    let k = demand.least_rows();
    let all = everyone(points);
    let whole = |members: &[Member]| judge.ok(members);
    let core = |members: &[Member]| judge.core_ok(members);
    let guard: Option<&Guard<'_>> = if judge.is_size_only() {
        None
    } else if judge.ok(&all) {
        Some(&whole)
    } else {
        // Not even all rows as one class meet it: the classes that fail are suppressed.
        Some(&core)
    };
    if guard.is_some_and(|guard| !guard(&all)) || points.rows() < k {
        front.search.complete = true;
        let reason = infeasible(task, front.rows_in, front.rows_in, true);
        return Ok(Outcome::Infeasible(reason, front));
    }
    let settings = &demand.search.clusters;
    let space = Space::new(points, settings.loss.unwrap_or_default().into());
    let cut = if front.search.method == SearchMethod::MoObam {
        cut_start(task, &reading, &space, (k, guard), observer)?
    } else {
        None
    };
    let found = methods::search(&Problem {
        space: &space,
        search: &demand.search,
        method: front.search.method,
        k,
        guard,
        sensitive: &reading.sensitive,
        cut: cut.as_ref(),
        observer,
    });
    front.search.evaluations = found.evaluations;
    front.search.uncertified = Some(
        "no method for classes proves anything of the partitions that it did not try".to_owned(),
    );
    if found.stop == Some(Stop::Cancelled) {
        return Ok(Outcome::Cancelled);
    }
    let describer = Describer {
        task,
        rows: &rows,
        reading: &reading,
        space: &space,
        subjects,
        k,
    };
    let finished: Vec<Option<Finished>> = found
        .candidates
        .par_iter()
        .map(|candidate| match observer.must_stop() {
            Some(Stop::Cancelled) => Ok(None),
            _ => describer.finish(candidate).map(Some),
        })
        .collect::<Result<_, _>>()?;
    let Some(finished) = finished.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(Outcome::Cancelled);
    };
    let least = finished
        .iter()
        .map(|one| one.solution.suppressed_rows)
        .min();
    fill(&mut front, kept(finished));
    indicators::describe(&mut front, demand);
    if found.stop == Some(Stop::OutOfTime) {
        return Ok(Outcome::Stopped(front));
    }
    if front.solutions.is_empty() {
        let least = least.unwrap_or(front.rows_in);
        let reason = infeasible(task, front.rows_in, least, false);
        return Ok(Outcome::Infeasible(reason, front));
    }
    Ok(Outcome::Front(front))
}

/// The solutions that nothing beats, of equals the first, in order of their objectives.
fn kept(mut finished: Vec<Finished>) -> Vec<Finished> {
    finished.retain(|one| one.is_feasible);
    let mut kept: Vec<Finished> = Vec::new();
    for one in finished {
        let is_beaten =
            |other: &Finished| other.costs == one.costs || dominates(&other.costs, &one.costs);
        if !kept.iter().any(is_beaten) {
            kept.retain(|other| !dominates(&one.costs, &other.costs));
            kept.push(one);
        }
    }
    kept.sort_by(|left, right| {
        let pairs = left.costs.iter().zip(&right.costs);
        let orders = pairs.map(|(left, right)| left.total_cmp(right));
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    while kept.len() > MOST_SOLUTIONS {
        let points: Vec<Vec<f64>> = kept.iter().map(|one| one.costs.clone()).collect();
        let numbers: Vec<usize> = (0..points.len()).collect();
        let distances = crowding(&points, &numbers);
        let densest = numbers
            .into_iter()
            .min_by(|&left, &right| distances[left].total_cmp(&distances[right]));
        kept.remove(densest.unwrap_or(0));
    }
    kept
}

fn fill(front: &mut Front, kept: Vec<Finished>) {
    for (one, number) in kept.into_iter().zip(0..) {
        let mut solution = one.solution;
        solution.solution_id = number;
        front.solutions.push(solution);
        front.partitions.push(one.class_of);
    }
}

fn infeasible(task: &Task<'_>, rows: u64, least: u64, is_proven: bool) -> Reason {
    let allowed = task.demand.suppression_limit.floor_of(rows);
    let (code, who) = if is_proven {
        (
            "suppression_limit",
            "all rows as one class fail, and every partition suppresses",
        )
    } else {
        (
            "not_found",
            "every partition that was tried suppresses at least",
        )
    };
    let accepted = task.demand.preset.map(Preset::most_homogeneity);
    if let Some(most) = accepted.filter(|_| !is_proven && least <= allowed) {
        return Reason {
            code: code.to_owned(),
            detail: format!(
                "every partition that was tried has more rows in classes of one sensitive value than the {most} that the \
                 preset accepts: ask for `distinct_l_diversity` with l = 2 besides, then classes are made to have two"
            ),
        };
    }
    Reason {
        code: code.to_owned(),
        detail: format!(
            "{who} {least} of {rows} rows to meet the privacy models; {allowed} may be suppressed, and something must \
             be released"
        ),
    }
}
