//! The members of a front of cuts with their exact figures.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::cuts::Cuts;
use super::run::{Grouped, Run};
use crate::anonymize::Stop;
use crate::anonymize::classes::Wanted;
use crate::anonymize::report::{RecodingReport, Solution};
use crate::anonymize::search::describing::{Describing, Member};
use crate::anonymize::search::front::Candidate;
use crate::anonymize::utility::Reporter;

/// Describes the members of a front; `None` if cancelled meanwhile.
pub(crate) fn solutions(
    run: &Run<'_>,
    members: &[Candidate],
    describing: &Describing<'_>,
) -> Option<Vec<Solution>> {
    let one = |(number, candidate): (usize, &Candidate)| {
        if run.problem.observer.must_stop() == Some(Stop::Cancelled) {
            return None;
        }
        let cuts = Cuts::from_policy(&run.forest.trees, &candidate.policy);
        let grouped = run.group(&cuts);
        let released = grouped.table.release(&grouped.view, run.criteria).released;
        let mut utility = Reporter::new(
            &grouped.view,
            &describing.demand.measures,
            describing.demand.search.seed,
        )
        .report(&grouped.table, &released, grouped.scratch.class_of());
        utility.precision = precision(run, &cuts, &grouped, &released);
        Some(describing.solution(Member {
            number,
            candidate,
            cells: &grouped.view,
            table: &grouped.table,
            scratch: &grouped.scratch,
            released: &released,
            recoding: RecodingReport::Subtree {
                cuts: labels(&grouped, &released),
                specialized: run.forest.paths(&cuts),
            },
            utility: Some(utility),
        }))
    };
    members.par_iter().enumerate().map(one).collect()
}

/// The labels that released rows bear, by attribute. What only suppressed rows bear is not released here either.
fn labels(grouped: &Grouped, released: &[bool]) -> BTreeMap<String, Vec<String>> {
    let Grouped { view, table, .. } = grouped;
    let attributes = view.quasi_identifiers.iter().enumerate();
    let of_attribute =
        |(position, attribute): (usize, &crate::anonymize::rows::QuasiIdentifier)| {
            let labels = &attribute.generalization.levels[1].labels;
            let kept = released
                .iter()
                .enumerate()
                .filter(|&(_, &released)| released);
            let nodes: BTreeSet<u32> = kept
                .map(|(class, _)| table.node(view, class, position))
                .collect();
            let borne = nodes
                .into_iter()
                .filter_map(|node| labels[node as usize].as_deref());
            let sorted: BTreeSet<String> = borne.map(str::to_owned).collect();
            (attribute.name.clone(), sorted.into_iter().collect())
        };
    attributes.map(of_attribute).collect()
}

/// Lost precision, by the level of each row's node in its tree; 1 for a suppressed row.
fn precision(run: &Run<'_>, cuts: &Cuts, grouped: &Grouped, released: &[bool]) -> f64 {
    let wanted = Wanted {
        nodes: true,
        ..Wanted::default()
    };
    let evaluation = grouped
        .table
        .total(&grouped.view, wanted, |class| released[class]);
    let attributes = run.forest.trees.iter().enumerate();
    let lost = attributes.map(|(attribute, tree)| {
        let suppressed = &evaluation.totals.suppressed_nodes[attribute];
        let mut rows = vec![0_u64; suppressed.len()];
        let node_of = &grouped.view.quasi_identifiers[attribute].from_bottom[1];
        for (&node, &own) in node_of.iter().zip(&grouped.view.value_rows[attribute]) {
            rows[node as usize] += own;
        }
        let nodes = cuts.nodes(tree, attribute).zip(rows).zip(suppressed);
        let levels = nodes.map(|((node, rows), suppressed)| {
            (rows - suppressed) * tree.nodes[node as usize].level as u64
        });
        let levels: u64 = levels.sum();
        levels as f64 / tree.height() as f64 + evaluation.suppressed_rows as f64
    });
    let all = grouped.view.rows.max(1) as f64 * run.forest.trees.len().max(1) as f64;
    lost.sum::<f64>() / all
}
