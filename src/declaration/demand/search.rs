//! Reads the search part of a demand: which settings go with which method, and level vectors.

use std::collections::BTreeMap;

use serde_json::json;

use super::privacy::quasi_identifier;
use super::{
    ClusterSettings, Epsilon, Levels, Objective, Recoding, Score, Search, SearchMethod, clusters,
    measures,
};
use crate::anonymize::hierarchy::Hierarchy;
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::words::{Words, quoted};
use crate::declaration::{DatasetDeclaration, Role};
use crate::fault::{FaultCode, Faults};

const METHODS: Words<SearchMethod> = Words {
    noun: "search method",
    legal: &[
        ("auto", SearchMethod::Auto),
        ("exact", SearchMethod::Exact),
        ("nsga2", SearchMethod::Nsga2),
        ("local_search", SearchMethod::LocalSearch),
        ("random", SearchMethod::Random),
        ("fixed", SearchMethod::Fixed),
        ("tds", SearchMethod::Tds),
        ("bug", SearchMethod::Bug),
        ("hybrid", SearchMethod::Hybrid),
        ("genetic_cuts", SearchMethod::GeneticCuts),
        ("datafly", SearchMethod::Datafly),
        ("mondrian", SearchMethod::Mondrian),
        ("mdav", SearchMethod::Mdav),
        ("k_member", SearchMethod::KMember),
        ("oka", SearchMethod::Oka),
        ("mo_obam", SearchMethod::MoObam),
    ],
    planned: &[],
};

const SCORES: Words<Score> = Words {
    noun: "score",
    legal: &[("loss", Score::Loss), ("information", Score::Information)],
    planned: &[],
};

const FIELDS: &[&str] = &[
    "method",
    "score",
    "population",
    "generations",
    "mutation_probability",
    "epsilon",
    "seed",
    "max_evaluations",
    "max_seconds",
    "levels",
    "clusters",
    "lambdas",
    "entropy",
    "loss",
    "optimizer",
    "swarm",
    "inertia",
    "restarts",
    "strict",
];

/// Fields that only genetic searches read (and `auto`, which may choose one).
const GENETIC_FIELDS: &[&str] = &["population", "generations", "mutation_probability"];

impl Default for Search {
    fn default() -> Self {
        Self {
            method: SearchMethod::Auto,
            score: Score::default(),
            population: 100,
            generations: 50,
            mutation_probability: None,
            epsilon: None,
            seed: 0,
            max_evaluations: None,
            max_seconds: None,
            levels: None,
            clusters: ClusterSettings::default(),
        }
    }
}

/// The search of a demand, all defaults if absent.
pub(super) fn search(
    demand: &Object<'_>,
    recoding: Recoding,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Search> {
    let Some(cursor) = demand.optional("search") else {
        return Some(Search::default());
    };
    let object = cursor.object(faults)?;
    object.only(FIELDS, faults);
    let defaults = Search::default();
    let method = object
        .optional("method")
        .map_or(Some(defaults.method), |cursor| {
            cursor.word(&METHODS, faults)
        });
    if let Some(method) = method {
        refuse_unfit(&object, method, recoding, faults);
        refuse_unused(&object, method, recoding, faults);
        clusters::refuse_unused(&object, method, recoding, faults);
    }
    let score = object
        .optional("score")
        .map_or(Some(defaults.score), |cursor| cursor.word(&SCORES, faults));
    let before = faults.count();
    let mut whole = |name: &str, range| {
        let cursor = object.optional(name)?;
        cursor.whole(&range, faults)
    };
    let population = whole("population", 4..=10_000);
    let generations = whole("generations", 1..=100_000);
    let seed = whole("seed", 0..=u64::MAX);
    let max_evaluations = whole("max_evaluations", 1..=u64::MAX);
    let mut number = |name: &str, wanted: &str, legal: fn(f64) -> bool| {
        let cursor = object.optional(name)?;
        cursor.number(wanted, legal, faults)
    };
    let probability = number("mutation_probability", "a number from 0 to 1", |value| {
        (0.0..=1.0).contains(&value)
    });
    let max_seconds = number(
        "max_seconds",
        "a number above 0, at most 1000000000",
        |value| value > 0.0 && value <= 1e9,
    );
    let clusters = clusters::settings(&object, dataset, faults);
    let epsilon = object
        .optional("epsilon")
        .filter(|_| method == Some(SearchMethod::Nsga2))
        .and_then(|cursor| epsilon(&cursor, faults));
    let levels = object
        .optional("levels")
        .filter(|_| method == Some(SearchMethod::Fixed))
        .and_then(|cursor| policy(&cursor, dataset, faults));
    if method == Some(SearchMethod::Fixed) {
        object.required("levels", faults);
    }
    let size = |count: Option<u64>| count.and_then(|count| usize::try_from(count).ok());
    (faults.count() == before).then_some(())?;
    Some(Search {
        method: method?,
        score: score?,
        population: size(population).unwrap_or(defaults.population),
        generations: size(generations).unwrap_or(defaults.generations),
        mutation_probability: probability,
        epsilon,
        seed: seed.unwrap_or(defaults.seed),
        max_evaluations,
        max_seconds,
        levels,
        clusters,
    })
}

/// Refuses a method that does not search what the recoding asks for.
fn refuse_unfit(
    object: &Object<'_>,
    method: SearchMethod,
    recoding: Recoding,
    faults: &mut Faults,
) {
    let is_fit = match method {
        SearchMethod::Auto => true,
        SearchMethod::Exact
        | SearchMethod::Nsga2
        | SearchMethod::LocalSearch
        | SearchMethod::Random
        | SearchMethod::Fixed
        | SearchMethod::Datafly => recoding == Recoding::FullDomain,
        SearchMethod::Tds
        | SearchMethod::Bug
        | SearchMethod::Hybrid
        | SearchMethod::GeneticCuts => recoding == Recoding::Subtree,
        SearchMethod::Mondrian
        | SearchMethod::Mdav
        | SearchMethod::KMember
        | SearchMethod::Oka
        | SearchMethod::MoObam => recoding.has_classes(),
    };
    let Some(cursor) = object.optional("method").filter(|_| !is_fit) else {
        return;
    };
    let detail = match recoding {
        Recoding::FullDomain if method.searches_classes() => {
            "the method searches classes: it goes with `recoding`: `local` or `microaggregation` only"
        }
        Recoding::FullDomain => "the method searches cuts: it goes with `recoding`: `subtree` only",
        Recoding::Subtree => {
            "the method does not search cuts: with `recoding`: `subtree` use `auto`, `tds`, `bug`, `hybrid` or `genetic_cuts`"
        }
        Recoding::Local | Recoding::Microaggregation => {
            "the method does not search classes: with `recoding`: `local` or `microaggregation` use `auto`, `mondrian`, `mdav`, `k_member`, `oka` or `mo_obam`"
        }
    };
    faults.push(cursor.fault(FaultCode::NotSupported, detail));
}

/// Refuses settings that the method would ignore, unless they are the defaults: those change nothing, and a demand that
/// was read back from a job's record may be sent again.
fn refuse_unused(
    object: &Object<'_>,
    method: SearchMethod,
    recoding: Recoding,
    faults: &mut Faults,
) {
    let is_genetic = match method {
        SearchMethod::Nsga2 | SearchMethod::GeneticCuts => true,
        SearchMethod::Auto => recoding == Recoding::FullDomain,
        _ => false,
    };
    let defaults = Search::default();
    for name in GENETIC_FIELDS.iter().filter(|_| !is_genetic) {
        let default = match *name {
            "population" => json!(defaults.population),
            "generations" => json!(defaults.generations),
            _ => json!(defaults.mutation_probability),
        };
        if let Some(cursor) = object.optional(name)
            && !cursor.is(&default)
        {
            let detail = format!(
                "`{name}` is a setting of `nsga2`, `genetic_cuts` and full-domain `auto` only"
            );
            faults.push(cursor.fault(FaultCode::UnknownField, detail));
        }
    }
    if method != SearchMethod::Nsga2
        && let Some(cursor) = object.optional("epsilon")
    {
        let detail = "`epsilon` is a setting of `nsga2` only";
        faults.push(cursor.fault(FaultCode::UnknownField, detail));
    }
    if recoding != Recoding::Subtree
        && let Some(cursor) = object.optional("score")
        && !cursor.is(&json!(defaults.score))
    {
        let detail = "`score` is a setting of searches of cuts, with `recoding`: `subtree`";
        faults.push(cursor.fault(FaultCode::UnknownField, detail));
    }
    if method != SearchMethod::Fixed
        && let Some(cursor) = object.optional("levels")
    {
        let detail = "`levels` is the policy of `fixed`; other methods find their own";
        faults.push(cursor.fault(FaultCode::UnknownField, detail));
    }
}

impl SearchMethod {
    /// Whether it goes with `recoding`: `local` and `microaggregation` only.
    pub(super) fn searches_classes(self) -> bool {
        matches!(
            self,
            Self::Mondrian | Self::Mdav | Self::KMember | Self::Oka | Self::MoObam
        )
    }
}

/// Sides of boxes: one number, or one by objective.
fn epsilon(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Epsilon> {
    let side = |cursor: &Cursor<'_>, wanted: &str, faults: &mut Faults| {
        cursor.number(wanted, |side| side.is_finite() && side > 0.0, faults)
    };
    if !cursor.is_object() {
        let wanted = "a number above 0, or an object with one for every objective";
        return side(cursor, wanted, faults).map(Epsilon::All);
    }
    let mut sides = BTreeMap::new();
    for (name, cursor) in cursor.object(faults)?.entries() {
        if let Some(side) = side(&cursor, "a number above 0", faults) {
            sides.insert(name.to_owned(), side);
        }
    }
    Some(Epsilon::Each(sides))
}

/// Checks what a search says of objectives against those of the demand.
pub(super) fn fit_objectives(
    demand: &Object<'_>,
    search: &Search,
    objectives: &[Objective],
    faults: &mut Faults,
) {
    let Some(object) = demand
        .optional("search")
        .and_then(|cursor| cursor.object(faults))
    else {
        return;
    };
    if search.method == SearchMethod::LocalSearch
        && objectives.len() > 1
        && let Some(cursor) = object.optional("method")
    {
        let detail = "`local_search` takes one objective; `nsga2` and `auto` take several";
        faults.push(cursor.fault(FaultCode::NotSupported, detail));
    }
    let sides = object.optional("epsilon").filter(Cursor::is_object);
    let Some(sides) = sides.and_then(|cursor| cursor.object(faults)) else {
        return;
    };
    let names: Vec<&str> = objectives
        .iter()
        .map(|&objective| measures::name(objective))
        .collect();
    for (name, cursor) in sides.entries() {
        if !names.contains(&name) {
            let detail = format!("no objective of this demand; there is {}", quoted(&names));
            faults.push(cursor.fault(FaultCode::UnknownValue, detail));
        }
    }
    for name in names {
        if sides.optional(name).is_none() {
            let detail = format!("the side of the boxes along `{name}` is required");
            faults.push(sides.fault_in(name, FaultCode::MissingField, detail));
        }
    }
}

/// The policy of `fixed`: a level for every quasi-identifier.
fn policy(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Levels> {
    let object = cursor.object(faults)?;
    for attribute in &dataset.attributes {
        let name = &attribute.name;
        if attribute.role == Role::QuasiIdentifying && object.optional(name).is_none() {
            let detail = format!("the level of `{name}` is required");
            let fault = object.fault_in(name, FaultCode::MissingField, detail);
            faults.push(fault.column(name));
        }
    }
    levels(cursor, dataset, faults)
}

/// Levels of quasi-identifiers by name, each one that its hierarchy has.
pub(super) fn levels(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<Levels> {
    let object = cursor.object(faults)?;
    let mut levels = BTreeMap::new();
    for (name, cursor) in object.entries().filter(|(_, cursor)| !cursor.is_null()) {
        let attribute = quasi_identifier(name, &cursor, dataset, faults);
        let level = cursor.whole(&(0..=u64::from(u32::MAX)), faults);
        let (Some(attribute), Some(level)) = (attribute, level) else {
            continue;
        };
        // The dataset was checked when it was declared: a hierarchy that does not compile was told then.
        let Ok(hierarchy) = Hierarchy::compile(attribute, "") else {
            continue;
        };
        match usize::try_from(level) {
            Ok(level) if level < hierarchy.levels() => {
                levels.insert(name.to_owned(), level);
            }
            _ => {
                let top = hierarchy.levels() - 1;
                let detail = format!("`{name}` has levels 0 to {top}");
                let fault = cursor.fault(FaultCode::LevelOutOfRange, detail);
                faults.push(fault.column(name));
            }
        }
    }
    Some(levels)
}
