//! Matches people to the classes that could hold them, by what is known of them.

use std::collections::BTreeMap;

use super::inference::Values;
use super::known::{Released, Target};
use super::reader::Classes;
use super::report::{InferenceReport, KnowledgeReport, SimulationReport};
use super::simulation::{Linker, Simulation};
use super::targets::Search;
use crate::anonymize::clusters::extent::Region;
use crate::anonymize::report::Reason;
use crate::declaration::{AttackDemand, Representation};

/// The people and what they are matched with.
pub(super) struct Matching<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) regions: &'a [Vec<Region>],
    /// People by class, at least.
    pub(super) sizes: &'a [u64],
    pub(super) people: &'a [Target],
    /// Every how many-th row they are.
    pub(super) step: usize,
}

/// What was found.
#[derive(Default)]
pub(super) struct Matched {
    pub(super) simulation: Option<SimulationReport>,
    pub(super) knowledge: Vec<KnowledgeReport>,
    pub(super) noise: Option<SimulationReport>,
    pub(super) inference: BTreeMap<String, InferenceReport>,
}

impl Matching<'_> {
    /// Tries everything; of sensitive attributes those at the given positions.
    pub(super) fn run(&self, demand: &AttackDemand, sensitive: &[usize]) -> Matched {
        let (scene, quasi) = (self.search.scene, self.search.quasi);
        let attributes = scene.schema.attributes();
        let name = |position: usize| attributes[position].declaration.name.clone();
        let mut knowledge = self
            .linker(self.people, None)
            .by_knowledge(demand.subsets_up_to);
        let place = knowledge
            .iter()
            .position(|(set, _)| set.len() == quasi.len());
        let all: Simulation = match place {
            Some(place) if quasi.len() > demand.subsets_up_to => knowledge.remove(place).1,
            Some(place) => knowledge[place].1.clone(),
            None => self.whole(self.people, None),
        };
        let noise = demand.noise.then(|| {
            let inexact = self.search.inexact(self.people);
            SimulationReport::of(&self.whole(&inexact, None), scene.k)
        });
        let inference = sensitive.iter().filter_map(|&position| {
            let codes = &scene.released.columns[position].as_ref()?.codes;
            let classes = self.search.classes;
            let values = count(classes, codes).by_class(classes.rows.len());
            let targets = self.search.with_values(self.people, self.step, position)?;
            let found = self.whole(&targets, Some(&values));
            Some((name(position), InferenceReport::of(&found, scene.k)?))
        });
        Matched {
            simulation: Some(SimulationReport::of(&all, scene.k)),
            inference: inference.collect(),
            knowledge: knowledge
                .into_iter()
                .map(|(set, found)| {
                    let known = set.iter().map(|&place| name(quasi[place])).collect();
                    KnowledgeReport::of(known, &found, scene.k)
                })
                .collect(),
            noise,
        }
    }

    /// With everything known that the people's records hold.
    fn whole(&self, people: &[Target], values: Option<&[Vec<(u32, u64)>]>) -> Simulation {
        let all: Vec<usize> = (0..self.search.quasi.len()).collect();
        self.linker(people, values).simulate(&all)
    }

    fn linker<'b>(
        &'b self,
        people: &'b [Target],
        values: Option<&'b [Vec<(u32, u64)>]>,
    ) -> Linker<'b> {
        let released = Released {
            regions: self.regions,
            sizes: self.sizes,
            values,
        };
        Linker::new(released, people, self.search.scene.k)
    }
}

/// Rows by class and value.
pub(super) fn count(classes: &Classes, codes: &[u32]) -> Values {
    let rows = classes.of_row.iter().zip(codes);
    Values::count(rows.map(|(&class, &code)| (class, code, 1)))
}

/// Why nobody can be matched.
pub(super) fn unreadable(representation: Option<Representation>) -> Reason {
    let (code, detail) = match representation {
        Some(Representation::Centroids) => (
            "rows_bear_centroids",
            "a centroid holds no single value, so no row is ruled out for a person; `distance_linkage`, where it is \
             there, tells what looking for the nearest finds",
        ),
        _ => (
            "labels_unreadable",
            "what some labels of the release stand for cannot be told from the declaration of their column",
        ),
    };
    Reason {
        code: code.to_owned(),
        detail: detail.to_owned(),
    }
}
