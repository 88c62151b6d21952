//! Methods side by side: the same rows, demands, budget, metric and check for all of them (algorithms.md A.8 R2, G.3).
//!
//! Every method is run as the job that it would be by itself, with every seed. Its solutions are measured again by one
//! [`yardstick`], its fronts by one [`mod@reference`] front; what one method's areas are above another's by is tested seed
//! by seed ([`wilcoxon`]). The same demand gives the same report on any number of threads, but for the times.

mod check;
mod figures;
mod reference;
pub mod report;
mod runs;
mod spans;
#[cfg(test)]
mod testing;
pub mod wilcoxon;
mod yardstick;

use std::time::Duration;

use super::report::Reason;
use super::rows::Rows;
use super::table::{Schema, Table};
use super::utility::describe;
use super::{Error, Limits, Observer, Outcome, Task};
use crate::declaration::{CompareDemand, Demand, Objective, Recoding};
use figures::Standards;
use reference::{Reference, values};
use report::{ComparisonReport, ReferenceFront};
use runs::Ended;
use yardstick::Yardstick;

/// A search: [`super::anonymize`], or what a test puts in its place.
pub type Searching<'a> = &'a (dyn Fn(&Task<'_>, &dyn Observer) -> Result<Outcome, Error> + Sync);

/// What to compare, on what.
pub struct Contest<'a> {
    /// The rows.
    pub table: &'a Table,
    /// Their attributes.
    pub schema: &'a Schema,
    /// The demands, checked against the schema.
    pub demand: &'a CompareDemand,
    /// What the machine allows each run.
    pub limits: Limits,
    /// What runs a method.
    pub search: Searching<'a>,
    /// Time since any fixed moment, for wall times and for the seconds of a run.
    pub clock: &'a (dyn Fn() -> Duration + Sync),
    /// Who watches. If told to stop for lack of time, the seeds that all methods were run with are the answer.
    pub observer: &'a dyn Observer,
}

/// How a comparison ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Compared {
    /// With a report.
    Report(Box<ComparisonReport>),
    /// No method found a solution, or there was no time for a single seed.
    Impossible(Reason),
    /// Cancelled.
    Cancelled,
}

/// Compares. Runs on the ambient rayon pool. Cost: the runs of all methods with all seeds.
///
/// # Errors
/// A method cannot be run at all, as by itself it could not.
pub fn compare(contest: &Contest<'_>) -> Result<Compared, Error> {
    let CompareDemand {
        methods,
        objectives,
        ..
    } = contest.demand;
    let Some(first) = methods.first() else {
        return Ok(Compared::Impossible(nothing("no method is named")));
    };
    let rows = Rows::of(contest.table, contest.schema)?;
    let (rows_in, subjects_in) = (rows.rows as u64, rows.subject_count());
    // Measured as levels are: classes have leaves then as labels have.
    let measured = Demand {
        recoding: Recoding::FullDomain,
        loss: contest.demand.loss,
        weights: contest.demand.weights.clone(),
        ..first.demand.clone()
    };
    let described = describe(&measured, contest.schema, rows_in);
    let of_loss = Demand {
        objectives: vec![Objective::Loss],
        ..measured.clone()
    };
    let of_loss = describe(&of_loss, contest.schema, rows_in);
    let yardstick = Yardstick::new(contest.table, contest.schema, &measured, described.clone())?;
    let (seeds_run, runs) = match runs::all(contest, &yardstick)? {
        Ended::Cancelled => return Ok(Compared::Cancelled),
        Ended::After(0, _) => {
            let detail =
                "the time was used up before every method was run with one seed".to_owned();
            return Ok(Compared::Impossible(Reason {
                code: "out_of_time".to_owned(),
                detail,
            }));
        }
        Ended::After(seeds, runs) => (seeds, runs),
    };
    if runs.iter().flatten().all(|run| run.points.is_empty()) {
        return Ok(Compared::Impossible(why_nothing(&runs)));
    }
    let limit = contest.demand.suppression_limit;
    let corner = [0, 1].map(|place: usize| match objectives.get(place) {
        // Nothing may be suppressed: areas are those of the other objective then.
        Some(Objective::Suppression) if limit.floor_of(rows_in) == 0 => 1.0,
        Some(Objective::Suppression) => limit.to_f64(),
        _ => described.get(place).map_or(1.0, |objective| {
            if objective.direction == "maximize" {
                objective.range[1] - objective.range[0]
            } else {
                objective.range[1]
            }
        }),
    });
    let reference = Reference::of(&runs, contest.demand.is_of_levels(), corner);
    let standards = Standards::new(&runs, reference, contest.demand.demanded_k());
    let methods: Vec<_> = runs
        .iter()
        .enumerate()
        .map(|(method, runs)| standards.method(contest.demand, method, runs))
        .collect();
    let reference = &standards.reference;
    Ok(Compared::Report(Box::new(ComparisonReport {
        rows_in,
        subjects_in,
        privacy: contest.demand.privacy.clone(),
        demanded_k: standards.demanded_k,
        suppression_limit: limit,
        objectives: described,
        loss_definition: of_loss
            .into_iter()
            .next()
            .map_or_else(String::new, |loss| loss.definition),
        seeds: contest.demand.seeds,
        first_seed: contest.demand.seed,
        seeds_run,
        max_evaluations: contest.demand.max_evaluations,
        max_seconds: contest.demand.max_seconds,
        reference: reference.kind,
        reference_front: ReferenceFront {
            points: values(&reference.points),
            hypervolume: reference.hypervolume,
            corner,
        },
        common_loss: standards.common_loss.map(|(_, loss)| loss),
        tests: standards.tests(&methods, seeds_run),
        methods,
    })))
}

fn nothing(detail: &str) -> Reason {
    Reason {
        code: "not_found".to_owned(),
        detail: detail.to_owned(),
    }
}

/// The reason that a method gives, a proven one if there is any.
fn why_nothing(runs: &[runs::Runs]) -> Reason {
    let reasons = || runs.iter().flatten().filter_map(|run| run.reason.as_ref());
    let proven = reasons().find(|reason| reason.code != "not_found");
    let reason = proven.or_else(|| reasons().next()).cloned();
    reason
        .unwrap_or_else(|| nothing("no method found a solution within its evaluations and seconds"))
}
