//! Searches: which policies to judge, and the front of those judged.
//!
//! Every search answers with the same [`Front`], whose figures are exact and computed here, once, for its policies alone.

mod certified;
mod exact;
mod fixed;
pub(super) mod front;
pub mod indicators;
mod nsga2;
pub(super) mod problem;
mod random;
mod streams;
mod supports;

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::cells::Cells;
use super::certificate::{Certificate, Pivot, STATEMENT};
use super::class_sizes;
use super::classes::{ClassTable, Scratch};
use super::figures::Figures;
use super::measure::levels_by_name;
use super::policy::search_space;
use super::privacy::{Criteria, impossible};
use super::report::{Front, Knee, Reason, RecodingReport, SearchReport, Solution};
use super::risk::with_attackers;
use super::rows::Rows;
use super::table::Schema;
use super::utility::{self, Objectives, Reporter};
use super::{Error, Observer, Outcome, Stop, Task};
use crate::declaration::{Demand, Objective, SearchMethod};
use front::Candidate;
use problem::{End, Found, Meter, Problem};

/// A front without solutions, as for demands that are impossible whatever the policy ([`impossible`]).
#[must_use]
pub fn empty_front(demand: &Demand, schema: &Schema, rows: u64, subjects: u64) -> Front {
    let names: Vec<&str> = demand
        .objectives
        .iter()
        .map(|&objective| utility::name(objective))
        .collect();
    Front {
        rows_in: rows,
        subjects_in: subjects,
        search: SearchReport {
            method: demand.search.method,
            seed: demand.search.seed,
            evaluations: 0,
            search_space: search_space(&schema.level_counts()),
            complete: false,
            certified: false,
            uncertified: None,
            elapsed_ms: 0,
        },
        objectives: utility::describe(demand, schema, rows),
        solutions: Vec::new(),
        hypervolume: None,
        knee: Knee::Undefined,
        recommended: None,
        recommendation_rule: format!("least {}", names.join(", then least ")),
        certificate: None,
    }
}

pub(super) fn run(task: &Task<'_>, observer: &dyn Observer) -> Result<Outcome, Error> {
    let demand = task.demand;
    let rows = Rows::of(task.table, task.schema)?.with_target(
        task.table,
        task.schema,
        objective_target(demand),
    );
    let subjects = rows.subject_count();
    let mut front = empty_front(demand, task.schema, rows.rows as u64, subjects);
    let distinct = rows.sensitive.iter().map(|attribute| {
        (
            attribute.name.to_owned(),
            attribute.column.dictionary.len() as u64,
        )
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
    let (criteria, mut needs) = Criteria::new(&demand.privacy, &rows);
    utility::add_needs(demand, &mut needs);
    let (cells, cell_of_row) = Cells::build(&rows, &needs);
    let objectives = Objectives::new(demand, &cells);
    let space = cells.space();
    let method = chosen_method(task, space.size(), &front.search.search_space)?;
    let problem = Problem {
        cells: &cells,
        criteria: &criteria,
        objectives: &objectives,
        allowed: demand.suppression_limit.floor_of(front.rows_in),
        search: &demand.search,
        observer,
        meter: Meter::new(
            expected_evaluations(demand, method, space.size()),
            phase(method),
        ),
        space,
        cache_bytes: task.limits.cache_bytes,
    };
    let mut complete = false;
    let found = match method {
        SearchMethod::Exact | SearchMethod::Auto => {
            let size = problem.space.size().unwrap_or(u64::MAX);
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            let (found, pivots) = certified::search(&problem, size);
            complete = found.end == End::Done;
            if complete {
                front.certificate = Some(certificate(&problem, &found, pivots));
            }
            found
        }
        SearchMethod::Nsga2 => nsga2::search(&problem),
        SearchMethod::Random => random::search(&problem, random_evaluations(demand)),
        SearchMethod::Fixed => {
            let levels = demand.search.levels.clone().unwrap_or_default();
            fixed::search(&problem, rows.policy(&levels))
        }
    };
    front.search.method = method;
    front.search.evaluations = found.evaluations;
    front.search.complete = complete || problem.space.size() == Some(found.evaluations);
    front.search.certified = front.certificate.is_some();
    front.search.uncertified = uncertified(method, &found, front.search.certified);
    if found.end == End::Cancelled {
        return Ok(Outcome::Cancelled);
    }
    let figures = Figures::new(&rows, &cell_of_row, &demand.privacy, demand.risk);
    let Some(solutions) = solutions(&problem, &found.front, demand, &figures, subjects) else {
        return Ok(Outcome::Cancelled);
    };
    front.solutions = solutions;
    indicators::describe(&mut front, demand);
    Ok(outcome(&problem, &found, front))
}

/// The proof of a front whose search excluded every policy that it did not judge.
fn certificate(problem: &Problem<'_>, found: &Found, pivots: Vec<Pivot>) -> Certificate {
    let attributes = problem.cells.quasi_identifiers.iter();
    Certificate {
        version: 1,
        quasi_identifiers: attributes.map(|attribute| attribute.name.clone()).collect(),
        level_counts: problem.space.counts().to_vec(),
        rows: problem.cells.rows,
        allowed_suppressed_rows: problem.allowed,
        pivots,
        front: found
            .front
            .iter()
            .map(|member| member.policy.levels().to_vec())
            .collect(),
        statement: STATEMENT.to_owned(),
    }
}

/// Why a front has no certificate.
fn uncertified(method: SearchMethod, found: &Found, is_certified: bool) -> Option<String> {
    if is_certified {
        return None;
    }
    let why = match method {
        SearchMethod::Exact | SearchMethod::Auto if found.end == End::Budget => {
            "the search ended before every policy was judged or excluded"
        }
        SearchMethod::Exact | SearchMethod::Auto => "the search was cancelled",
        SearchMethod::Nsga2 | SearchMethod::Random | SearchMethod::Fixed => {
            "this method proves nothing of the policies that it did not try; `exact` does"
        }
    };
    Some(why.to_owned())
}

/// The attribute that an objective predicts.
pub(super) fn objective_target(demand: &Demand) -> Option<&str> {
    let is_read = demand.objectives.contains(&Objective::Classification);
    demand.target.as_deref().filter(|_| is_read)
}

/// The method that runs.
fn chosen_method(
    task: &Task<'_>,
    size: Option<u64>,
    search_space: &str,
) -> Result<SearchMethod, Error> {
    let limit = task.limits.exact_search_space;
    let fits = size.is_some_and(|size| size <= limit);
    match task.demand.search.method {
        SearchMethod::Auto if fits => Ok(SearchMethod::Exact),
        SearchMethod::Auto => Ok(SearchMethod::Nsga2),
        SearchMethod::Exact if !fits => Err(Error::SearchSpaceTooLarge {
            search_space: search_space.to_owned(),
            limit,
        }),
        method => Ok(method),
    }
}

fn random_evaluations(demand: &Demand) -> u64 {
    let search = &demand.search;
    let usual = (search.population as u64).saturating_mul(search.generations as u64);
    search.max_evaluations.unwrap_or(usual)
}

/// How many evaluations progress is measured against.
fn expected_evaluations(demand: &Demand, method: SearchMethod, size: Option<u64>) -> u64 {
    let wanted = match method {
        SearchMethod::Fixed => 1,
        SearchMethod::Random => random_evaluations(demand),
        SearchMethod::Nsga2 => {
            let search = &demand.search;
            (search.population as u64).saturating_mul(search.generations as u64 + 1)
        }
        SearchMethod::Exact | SearchMethod::Auto => u64::MAX,
    };
    let budget = demand.search.max_evaluations.unwrap_or(u64::MAX);
    wanted.min(size.unwrap_or(u64::MAX)).min(budget)
}

fn phase(method: SearchMethod) -> &'static str {
    match method {
        SearchMethod::Exact | SearchMethod::Auto => "judging and excluding policies",
        SearchMethod::Nsga2 => "evolving policies",
        SearchMethod::Random => "sampling policies",
        SearchMethod::Fixed => "checking the policy",
    }
}

/// The least suppression of some candidates and one before.
fn least(before: Option<u64>, candidates: &[Candidate]) -> Option<u64> {
    let found = candidates.iter().map(|candidate| candidate.suppressed_rows);
    found.chain(before).min()
}

/// The members of a front with their exact figures; `None` if cancelled meanwhile.
fn solutions(
    problem: &Problem<'_>,
    members: &[Candidate],
    demand: &Demand,
    figures: &Figures,
    subjects: u64,
) -> Option<Vec<Solution>> {
    let reporter = Reporter::new(problem.cells, &demand.measures, demand.search.seed);
    let population = demand.risk.and_then(|known| known.members(subjects));
    let one = |(number, member): (usize, &Candidate)| {
        if problem.observer.must_stop() == Some(Stop::Cancelled) {
            return None;
        }
        let cells = problem.cells;
        let mut scratch = Scratch::default();
        let table = ClassTable::group(cells, member.policy.levels(), &mut scratch);
        let released = table.release(cells, problem.criteria).released;
        let sizes = figures.sizes(&table, &scratch);
        let (privacy, risk) = figures.report(&sizes, &released, &scratch);
        let kept = sizes.classes.iter().zip(&released);
        let kept = kept
            .filter(|&(_, &released)| released)
            .map(|(&class, _)| class);
        let risk = with_attackers(risk, kept.clone().map(|(_, size)| size), population);
        let named = demand.objectives.iter().zip(member.values);
        Some(Solution {
            solution_id: u32::try_from(number).unwrap_or(u32::MAX),
            recoding: RecodingReport::FullDomain {
                levels: levels_by_name(cells, &member.policy),
            },
            objectives: named
                .map(|(&objective, value)| (utility::name(objective).to_owned(), value))
                .collect::<BTreeMap<_, _>>(),
            released_rows: cells.rows - member.suppressed_rows,
            suppressed_rows: member.suppressed_rows,
            classes: released.iter().filter(|&&released| released).count() as u64,
            privacy,
            risk: figures.with_population(risk, &table, &sizes, &released),
            utility: Some(reporter.report(&table, &released, scratch.class_of())),
            class_size_histogram: class_sizes::histogram(kept),
            recommended: false,
        })
    };
    members.par_iter().enumerate().map(one).collect()
}

fn outcome(problem: &Problem<'_>, found: &Found, front: Front) -> Outcome {
    if found.end == End::Budget {
        return Outcome::Stopped(front);
    }
    if !front.solutions.is_empty() {
        return Outcome::Front(front);
    }
    let (rows, allowed) = (problem.cells.rows, problem.allowed);
    let least = found.least_suppressed.unwrap_or(rows);
    let (code, who) = match front.search.method {
        SearchMethod::Fixed => ("suppression_limit", "the given levels suppress"),
        _ if front.search.complete => ("suppression_limit", "every policy suppresses at least"),
        _ => (
            "not_found",
            "every policy that was tried suppresses at least",
        ),
    };
    let reason = Reason {
        code: code.to_owned(),
        detail: format!(
            "{who} {least} of {rows} rows to meet the privacy models; {allowed} may be suppressed, and something must \
             be released"
        ),
    };
    Outcome::Infeasible(reason, front)
}
