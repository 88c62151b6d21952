//! Searches: which policies to judge, and the front of those judged.
//!
//! Every search answers with the same [`Front`], whose figures are exact and computed here, once, for its policies alone.

mod around;
mod auto;
mod boxes;
mod certified;
mod datafly;
pub(crate) mod describing;
mod exact;
mod fixed;
pub(crate) mod front;
pub mod indicators;
mod local;
mod nsga2;
pub(crate) mod problem;
mod random;
pub(crate) mod streams;
mod supports;
pub(crate) mod survival;
pub mod switches;

use rayon::prelude::*;

use super::cells::Cells;
use super::certificate::{Certificate, Pivot, STATEMENT};
use super::classes::{ClassTable, Scratch};
use super::clusters;
use super::figures::Figures;
use super::measure::levels_by_name;
use super::perturbation::DifferentialPrivacy;
use super::policy::search_space;
use super::privacy::{Criteria, impossible};
use super::report::{Front, Knee, Reason, RecodingReport, SearchReport, Solution};
use super::rows::Rows;
use super::subtree;
use super::table::Schema;
use super::utility::{self, Objectives, Reporter};
use super::{Error, Observer, Outcome, Stop, Task};
use crate::declaration::{Demand, Objective, Recoding, SearchMethod};
use describing::{Describing, Member};
use front::Candidate;
use problem::{End, Found, Meter, Problem};
use switches::{Effort, Switches};

/// A front without solutions, as for demands that are impossible whatever the policy ([`impossible`]).
#[must_use]
pub fn empty_front(demand: &Demand, schema: &Schema, rows: u64, subjects: u64) -> Front {
    Front {
        rows_in: rows,
        subjects_in: subjects,
        search: SearchReport {
            method: demand.search.method,
            score: (demand.recoding == Recoding::Subtree).then_some(demand.search.score),
            seed: demand.search.seed,
            evaluations: 0,
            search_space: match demand.recoding {
                Recoding::FullDomain => search_space(&schema.level_counts()),
                // Only the rows tell how many cuts there are; partitions are not counted.
                Recoding::Subtree | Recoding::Local | Recoding::Microaggregation => String::new(),
            },
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
        recommendation_rule: recommendation_rule(&demand.objectives),
        differential_privacy: DifferentialPrivacy::default(),
        certificate: None,
        partitions: Vec::new(),
    }
}

/// The rule by which a solution is recommended unless another is asked for.
fn recommendation_rule(objectives: &[Objective]) -> String {
    let best = |&objective: &Objective| {
        let best = match objective {
            Objective::InformationGain | Objective::SensitiveEntropy => "greatest",
            _ => "least",
        };
        format!("{best} {}", utility::name(objective))
    };
    let rules: Vec<String> = objectives.iter().map(best).collect();
    rules.join(", then ")
}

pub(super) fn run(
    task: &Task<'_>,
    observer: &dyn Observer,
    switches: Switches,
    effort: &mut Effort,
) -> Result<Outcome, Error> {
    let demand = task.demand;
    if demand.recoding.has_classes() {
        return clusters::run::run(task, observer);
    }
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
    let (grouped, cell_of_row) = Cells::build(&rows, &needs);
    let ungrouped = (!switches.cells).then(|| Cells::of_rows(&rows, &needs));
    let cells = ungrouped.as_ref().unwrap_or(&grouped);
    let objectives = Objectives::new(demand, cells);
    let space = cells.space();
    let limit = task.limits.exact_search_space;
    let is_small = space.size().is_some_and(|size| size <= limit);
    if demand.search.method == SearchMethod::Exact && !is_small {
        return Err(Error::SearchSpaceTooLarge {
            search_space: front.search.search_space,
            limit,
        });
    }
    let method = chosen_method(demand, is_small);
    let problem = Problem {
        cells,
        criteria: &criteria,
        objectives: &objectives,
        allowed: demand.suppression_limit.floor_of(front.rows_in),
        search: &demand.search,
        observer,
        meter: Meter::new(
            expected_evaluations(demand, method),
            space.size(),
            phase(method),
        ),
        space,
        cache_bytes: if switches.prefixes {
            task.limits.cache_bytes
        } else {
            0
        },
        switches,
    };
    let mut complete = false;
    let size = usize::try_from(problem.space.size().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let cuts = (demand.recoding == Recoding::Subtree).then(|| subtree::Run::new(&problem, demand));
    if let Some(run) = &cuts {
        front.search.search_space = run.forest.search_space();
    }
    let mut reached = method;
    let mut found = match method {
        SearchMethod::Exact | SearchMethod::Auto => {
            let (found, pivots) = if method == SearchMethod::Exact {
                certified::search(&problem, size, None)
            } else {
                let (found, pivots, by) = auto::search(&problem, size);
                reached = by;
                (found, pivots)
            };
            complete = found.end == End::Done;
            if complete {
                front.certificate = Some(certificate(&problem, &found, pivots));
            }
            found
        }
        SearchMethod::Nsga2 => nsga2::search(&problem, nsga2::budget(&demand.search)),
        SearchMethod::LocalSearch => local::search(&problem, local::budget(&demand.search)),
        SearchMethod::Random => random::search(&problem, random_evaluations(demand)),
        SearchMethod::Datafly => datafly::search(&problem, demand),
        SearchMethod::Fixed => {
            let levels = demand.search.levels.clone().unwrap_or_default();
            fixed::search(&problem, rows.policy(&levels))
        }
        SearchMethod::Tds
        | SearchMethod::Bug
        | SearchMethod::Hybrid
        | SearchMethod::GeneticCuts => match &cuts {
            Some(run) => subtree::search(run, method),
            None => return Err(Error::MethodWithoutCuts),
        },
        SearchMethod::Mondrian
        | SearchMethod::Mdav
        | SearchMethod::KMember
        | SearchMethod::Oka
        | SearchMethod::MoObam => return Err(Error::MethodOfClasses),
    };
    if let Some(sides) = boxes::sides(demand) {
        found.front = boxes::thin(found.front, &sides);
    }
    *effort = problem.meter.effort(problem.cells.len());
    front.search.method = reached;
    front.search.evaluations = found.evaluations;
    // Local search does not look at every policy that ties with the best.
    front.search.complete = complete
        || (cuts.is_none()
            && reached != SearchMethod::LocalSearch
            && problem.space.size() == Some(found.evaluations));
    // Under absorbing criteria no cut suppresses less than the roots, which every way looked at.
    if cuts.is_some() && found.end == End::Done && found.front.is_empty() {
        front.search.complete = criteria.absorbing();
    }
    front.search.certified = front.certificate.is_some();
    front.search.uncertified = if front.search.certified {
        None
    } else if demand.search.method == SearchMethod::Auto && !is_small {
        let space = &front.search.search_space;
        Some(format!(
            "a search space of {space} policies is more than the {limit} that may be searched exactly; {NO_PROOF}"
        ))
    } else {
        Some(uncertified(method, &found).to_owned())
    };
    if found.end == End::Cancelled {
        return Ok(Outcome::Cancelled);
    }
    let figures = Figures::new(&rows, &cell_of_row, &demand.privacy, demand.risk);
    let describing = Describing {
        demand,
        figures: &figures,
        population: demand.risk.and_then(|known| known.members(subjects)),
    };
    // Reports compare classes with cells, so they need true ones however the search was run.
    let described = match &cuts {
        None => solutions(&grouped, &problem, &found.front, &describing),
        Some(run) => subtree::solutions(run, &found.front, &describing),
    };
    let Some(solutions) = described else {
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

const NO_PROOF: &str = "this method proves nothing of the policies that it did not try";

/// Why a front has no certificate.
fn uncertified(method: SearchMethod, found: &Found) -> &'static str {
    match method {
        SearchMethod::Exact | SearchMethod::Auto if found.end == End::Budget => {
            "the search ended before every policy was judged or excluded"
        }
        SearchMethod::Exact | SearchMethod::Auto => "the search was cancelled",
        SearchMethod::Nsga2
        | SearchMethod::LocalSearch
        | SearchMethod::Random
        | SearchMethod::Datafly
        | SearchMethod::Mondrian
        | SearchMethod::Mdav
        | SearchMethod::KMember
        | SearchMethod::Oka
        | SearchMethod::MoObam
        | SearchMethod::Fixed => {
            "this method proves nothing of the policies that it did not try; `exact` does"
        }
        SearchMethod::Tds
        | SearchMethod::Bug
        | SearchMethod::Hybrid
        | SearchMethod::GeneticCuts => {
            "no method for cuts proves anything of the cuts that it did not try"
        }
    }
}

/// The attribute that an objective predicts, or whose values a search of cuts counts.
pub(super) fn objective_target(demand: &Demand) -> Option<&str> {
    let is_read = demand.recoding == Recoding::Subtree
        || demand.objectives.contains(&Objective::Classification)
        || demand.objectives.contains(&Objective::InformationGain);
    demand.target.as_deref().filter(|_| is_read)
}

/// The method that runs: `auto` stays where the space can be searched exactly.
fn chosen_method(demand: &Demand, is_small: bool) -> SearchMethod {
    match demand.search.method {
        SearchMethod::Auto if demand.recoding == Recoding::Subtree => SearchMethod::Hybrid,
        SearchMethod::Auto if is_small => SearchMethod::Auto,
        SearchMethod::Auto if demand.objectives.len() == 1 => SearchMethod::LocalSearch,
        SearchMethod::Auto => SearchMethod::Nsga2,
        method => method,
    }
}

fn random_evaluations(demand: &Demand) -> u64 {
    let search = &demand.search;
    let usual = (search.population as u64).saturating_mul(search.generations as u64);
    search.max_evaluations.unwrap_or(usual)
}

/// Steps that progress of a greedy way is measured against: nobody knows beforehand how many there will be.
const EXPECTED_STEPS: u64 = 1000;

/// How many evaluations a search makes at most, where that is known.
fn expected_evaluations(demand: &Demand, method: SearchMethod) -> Option<u64> {
    let search = &demand.search;
    let usual = match method {
        SearchMethod::Fixed => Some(1),
        SearchMethod::Random => Some(random_evaluations(demand)),
        SearchMethod::Nsga2 | SearchMethod::GeneticCuts => {
            Some((search.population as u64).saturating_mul(search.generations as u64 + 1))
        }
        SearchMethod::LocalSearch => Some(local::budget(search).evaluations),
        SearchMethod::Tds | SearchMethod::Bug | SearchMethod::Hybrid => Some(EXPECTED_STEPS),
        SearchMethod::Exact
        | SearchMethod::Auto
        | SearchMethod::Datafly
        | SearchMethod::Mondrian
        | SearchMethod::Mdav
        | SearchMethod::KMember
        | SearchMethod::Oka
        | SearchMethod::MoObam => None,
    };
    usual.into_iter().chain(search.max_evaluations).min()
}

fn phase(method: SearchMethod) -> &'static str {
    match method {
        SearchMethod::Exact | SearchMethod::Auto => "judging and excluding policies",
        SearchMethod::Nsga2 => "evolving policies",
        SearchMethod::LocalSearch => "descending from policy to policy",
        SearchMethod::Random => "sampling policies",
        SearchMethod::Fixed => "checking the policy",
        SearchMethod::Tds => "specialising cuts",
        SearchMethod::Bug => "generalising cuts",
        SearchMethod::Hybrid => "specialising and generalising cuts",
        SearchMethod::GeneticCuts => "evolving cuts",
        SearchMethod::Datafly => "generalising levels",
        SearchMethod::Mondrian
        | SearchMethod::Mdav
        | SearchMethod::KMember
        | SearchMethod::Oka
        | SearchMethod::MoObam => "forming classes",
    }
}

/// The least suppression of some candidates and one before.
fn least(before: Option<u64>, candidates: &[Candidate]) -> Option<u64> {
    let found = candidates.iter().map(|candidate| candidate.suppressed_rows);
    found.chain(before).min()
}

/// The members of a front with their exact figures; `None` if cancelled meanwhile.
fn solutions(
    cells: &Cells,
    problem: &Problem<'_>,
    members: &[Candidate],
    describing: &Describing<'_>,
) -> Option<Vec<Solution>> {
    let reporter = Reporter::new(
        cells,
        &describing.demand.measures,
        describing.demand.search.seed,
    );
    let one = |(number, candidate): (usize, &Candidate)| {
        if problem.observer.must_stop() == Some(Stop::Cancelled) {
            return None;
        }
        let mut scratch = Scratch::default();
        let table = ClassTable::group(cells, candidate.policy.levels(), &mut scratch);
        let released = table.release(cells, problem.criteria).released;
        Some(describing.solution(Member {
            number,
            candidate,
            cells,
            table: &table,
            scratch: &scratch,
            released: &released,
            recoding: RecodingReport::FullDomain {
                levels: levels_by_name(cells, &candidate.policy),
            },
            utility: Some(reporter.report(&table, &released, scratch.class_of())),
        }))
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
