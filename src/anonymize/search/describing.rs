//! The members of a front as solutions: exact figures of single policies, whatever kind they are of.

use std::collections::BTreeMap;

use super::front::Candidate;
use crate::anonymize::cells::Cells;
use crate::anonymize::class_sizes;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::figures::Figures;
use crate::anonymize::report::{RecodingReport, Solution, Utility};
use crate::anonymize::risk::with_attackers;
use crate::anonymize::utility;
use crate::declaration::Demand;

/// What is known of all members.
#[derive(Debug)]
pub(crate) struct Describing<'a> {
    pub(crate) demand: &'a Demand,
    pub(crate) figures: &'a Figures,
    /// Members of the population, where they are known.
    pub(crate) population: Option<u64>,
}

/// One member, with its classes.
pub(crate) struct Member<'a> {
    /// Position in the front.
    pub(crate) number: usize,
    pub(crate) candidate: &'a Candidate,
    pub(crate) cells: &'a Cells,
    pub(crate) table: &'a ClassTable,
    pub(crate) scratch: &'a Scratch,
    pub(crate) released: &'a [bool],
    pub(crate) recoding: RecodingReport,
    /// Absent of classes that no hierarchy describes.
    pub(crate) utility: Option<Utility>,
}

impl Describing<'_> {
    /// The figures of a member.
    pub(crate) fn solution(&self, member: Member<'_>) -> Solution {
        let Member {
            table,
            scratch,
            released,
            candidate,
            ..
        } = member;
        let sizes = self.figures.sizes(table, scratch);
        let (privacy, risk) = self.figures.report(&sizes, released, scratch);
        let kept = sizes.classes.iter().zip(released);
        let kept = kept
            .filter(|&(_, &released)| released)
            .map(|(&class, _)| class);
        let risk = with_attackers(risk, kept.clone().map(|(_, size)| size), self.population);
        let named = self.demand.objectives.iter().zip(candidate.values);
        Solution {
            solution_id: u32::try_from(member.number).unwrap_or(u32::MAX),
            recoding: member.recoding,
            objectives: named
                .map(|(&objective, value)| (utility::name(objective).to_owned(), value))
                .collect::<BTreeMap<_, _>>(),
            released_rows: member.cells.rows - candidate.suppressed_rows,
            suppressed_rows: candidate.suppressed_rows,
            classes: released.iter().filter(|&&released| released).count() as u64,
            privacy,
            risk: self.figures.with_population(risk, table, &sizes, released),
            utility: member.utility,
            class_size_histogram: class_sizes::histogram(kept),
            recommended: false,
        }
    }
}
