//! The methods: which cuts to judge.

use super::bug::Ascent;
use super::cuts::Cuts;
use super::genetic;
use super::run::Run;
use super::tds::Descent;
use crate::anonymize::search::front::{self, Candidate};
use crate::anonymize::search::problem::{End, Found};
use crate::declaration::SearchMethod;

/// One of so many cells is looked at to tell which of two ways is shorter.
const SAMPLED: u64 = 50;

/// Cuts that a method came to.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) cuts: Vec<Cuts>,
    pub(crate) end: End,
}

/// Searches by a method for cuts.
pub(crate) fn search(run: &Run<'_>, method: SearchMethod) -> Found {
    if method == SearchMethod::GeneticCuts {
        return genetic::search(run);
    }
    let reached = match method {
        SearchMethod::Tds => tds(run),
        SearchMethod::Bug => bug(run),
        _ => both(run),
    };
    let (judged, end) = judge_reached(run, &reached);
    found(run, judged, end)
}

/// Judges what was reached, whatever the budget: these few cuts are the answer.
fn judge_reached(run: &Run<'_>, reached: &Reached) -> (Vec<Candidate>, End) {
    if reached.end == End::Cancelled {
        return (Vec::new(), End::Cancelled);
    }
    (
        reached.cuts.iter().map(|cuts| run.judge(cuts)).collect(),
        reached.end,
    )
}

/// The answer from all that was judged.
pub(crate) fn found(run: &Run<'_>, judged: Vec<Candidate>, end: End) -> Found {
    let suppressed = judged.iter().map(|candidate| candidate.suppressed_rows);
    let least_suppressed = suppressed.min();
    let objectives = run.demand.objectives.len();
    let members = front::front(judged, objectives).into_iter();
    let members = members.map(|member| run.without_idle_nodes(member));
    Found {
        evaluations: run.evaluations(),
        least_suppressed,
        front: front::front(members.collect(), objectives),
        judged: Vec::new(),
        end,
    }
}

/// From the roots down.
pub(crate) fn tds(run: &Run<'_>) -> Reached {
    down_from(run, Cuts::roots(&run.forest.trees))
}

/// From the values up until the demand is met, and down again.
pub(crate) fn bug(run: &Run<'_>) -> Reached {
    let ascended = Ascent::new(run, &run.all_cells()).run();
    match ascended.cuts {
        Some(cuts) => down_from(run, cuts),
        None => Reached {
            cuts: vec![Cuts::roots(&run.forest.trees)],
            end: ascended.end,
        },
    }
}

/// Down from a cut; the cut itself if it does not meet the demand.
fn down_from(run: &Run<'_>, cuts: Cuts) -> Reached {
    let mut descent = Descent::new(run, &run.all_cells(), cuts.clone());
    if !descent.is_valid() {
        return Reached {
            cuts: vec![cuts],
            end: End::Done,
        };
    }
    let descended = descent.run();
    Reached {
        cuts: descended.kept,
        end: descended.end,
    }
}

/// Both ways, that first which visits fewer cells of a sample: whatever the budget leaves of the other is a gift.
pub(crate) fn both(run: &Run<'_>) -> Reached {
    let ways: [fn(&Run<'_>) -> Reached; 2] = if is_down_shorter(run) {
        [tds, bug]
    } else {
        [bug, tds]
    };
    let mut reached = ways[0](run);
    if reached.end == End::Done {
        let second = ways[1](run);
        reached.cuts.extend(second.cuts);
        reached.end = second.end;
    }
    reached
}

/// Whether the way down visits no more cells of a sample than the way up does.
///
/// Cells are drawn by what they hold, so that the order of rows does not matter. Steps of a sample are no evaluations.
fn is_down_shorter(run: &Run<'_>) -> bool {
    // A criterion of whole tables says nothing of a sample.
    if run.judges_whole_tables() {
        return true;
    }
    let sample = sample(run);
    let trial = run.trial(SAMPLED);
    let mut down = Descent::new(&trial, &sample, Cuts::roots(&trial.forest.trees));
    if down.is_valid() {
        down.run();
    }
    let mut up = Ascent::new(&trial, &sample);
    up.run();
    down.visited <= up.visited
}

fn sample(run: &Run<'_>) -> Vec<u32> {
    let is_drawn = |cell: &u32| {
        let leaves = run
            .leaves
            .iter()
            .map(|leaves| u64::from(leaves[*cell as usize]));
        let mixed = leaves.fold(0_u64, |mixed, leaf| {
            (mixed.rotate_left(5) ^ leaf).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        });
        (mixed >> 32) % SAMPLED == 0
    };
    run.all_cells().into_iter().filter(is_drawn).collect()
}
