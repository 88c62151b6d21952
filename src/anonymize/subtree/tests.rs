//! The greedy ways step by step, and all methods against the list of all cuts.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::bug::Ascent;
use super::cuts::Cuts;
use super::methods;
use super::run::Run;
use super::tds::Descent;
use super::trees::Tree;
use crate::anonymize::Unobserved;
use crate::anonymize::cells::Cells;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::rows::Rows;
use crate::anonymize::search::front;
use crate::anonymize::search::problem::{Meter, Problem};
use crate::anonymize::search::switches::Switches;
use crate::anonymize::table::{BlockBuilder, Schema, Table};
use crate::anonymize::utility::{self, Objectives};
use crate::declaration::{DatasetDeclaration, Demand, SearchMethod};

/// Runs something over a task.
fn with_run<T>(
    attributes: &Value,
    rows: &[Vec<String>],
    demand: &Value,
    then: impl FnOnce(&Run<'_>) -> T,
) -> T {
    let declared =
        DatasetDeclaration::parse(&json!({ "name": "cuts", "attributes": attributes })).unwrap();
    let schema = Schema::compile(&declared).unwrap();
    let mut builder = BlockBuilder::new(schema.attributes().len());
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            builder.push(column, (!cell.is_empty()).then_some(&**cell));
        }
    }
    let block = builder.finish();
    let mut table = Table::with_columns(&schema.releasable(), schema.subject().is_some());
    table.rows = block.rows;
    for (column, cells) in table.columns.iter_mut().zip(&block.columns) {
        if let Some(column) = column {
            column.append(cells);
        }
    }
    if let (Some(subjects), Some(position)) = (&mut table.subjects, schema.subject()) {
        subjects.append(&block.columns[position]);
    }
    let demand = Demand::parse(demand, &declared).unwrap();
    let rows =
        Rows::of(&table, &schema)
            .unwrap()
            .with_target(&table, &schema, demand.target.as_deref());
    let (criteria, mut needs) = Criteria::new(&demand.privacy, &rows);
    utility::add_needs(&demand, &mut needs);
    let (cells, _) = Cells::build(&rows, &needs);
    let objectives = Objectives::new(&demand, &cells);
    let problem = Problem {
        cells: &cells,
        criteria: &criteria,
        objectives: &objectives,
        space: cells.space(),
        allowed: demand.suppression_limit.floor_of(rows.rows as u64),
        search: &demand.search,
        observer: &Unobserved,
        switches: Switches::default(),
        meter: Meter::new(Some(100), None, "testing"),
        cache_bytes: 0,
    };
    then(&Run::new(&problem, &demand))
}

/// The worked example's table (algorithms.md F).
fn t8() -> (Value, Vec<Vec<String>>) {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer",
          "hierarchy": { "kind": "intervals", "origin": 20, "widths": [10, 20], "lower": 20, "upper": 80 } },
        { "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] } },
        { "name": "sex", "role": "quasi_identifying" },
        { "name": "dx", "role": "sensitive" },
    ]);
    let lines = "23 10115 F flu;27 10117 F flu;25 10119 F asthma;28 10245 M flu;41 20095 M cancer;45 20099 M flu;\
                 48 20097 F cancer;62 30159 F asthma";
    let rows = lines
        .split(';')
        .map(|line| line.split(' ').map(str::to_owned).collect());
    (attributes, rows.collect())
}

fn label(run: &Run<'_>, (attribute, node): (usize, u32)) -> String {
    let tree = &run.forest.trees[attribute];
    tree.nodes[node as usize]
        .label
        .as_deref()
        .unwrap_or_default()
        .to_owned()
}

// algorithms.md F 16: of the roots, age and zip leave a class of one; sex gains .20443 bits and costs 5 of anonymity.
#[test]
fn worked_example_16_the_first_step_down() {
    let (attributes, rows) = t8();
    let demand = json!({ "recoding": "subtree", "privacy": [{ "model": "k_anonymity", "k": 2 }],
        "search": { "method": "tds", "score": "information" } });
    with_run(&attributes, &rows, &demand, |run| {
        let mut descent = Descent::new(run, &run.all_cells(), Cuts::roots(&run.forest.trees));
        let standings = descent.standings();
        let found: Vec<_> = standings
            .iter()
            .map(|&(attribute, node, after, _, valid)| (attribute, node, after, valid))
            .collect();
        assert_eq!(found, [(0, 0, 3, false), (1, 0, 3, false), (2, 0, 3, true)]);
        assert!((run.gains.of(2, 0) - 0.204_43).abs() < 5e-6);
        assert!((standings[2].3 - 0.034_07).abs() < 5e-6);
        assert_eq!(descent.step(), Some((2, 0)));
        assert_eq!(descent.step(), None);
    });
}

// By loss: nodes over one value cost nothing; then 9/480 and 10/480 for the only age above 59; then 27/480.
#[test]
fn the_first_steps_up_lose_least() {
    let (attributes, rows) = t8();
    let demand = json!({ "recoding": "subtree", "privacy": [{ "model": "k_anonymity", "k": 2 }],
        "search": { "method": "bug" } });
    with_run(&attributes, &rows, &demand, |run| {
        let mut ascent = Ascent::new(run, &run.all_cells());
        let steps: Vec<String> = (0..6).map(|_| label(run, ascent.step().unwrap())).collect();
        assert_eq!(
            steps,
            [
                "102**", "301**", "3****", "[60, 70)", "[60, 80)", "[40, 50)"
            ]
        );
    });
}

const LINES: [&str; 6] = [
    "a;ab;abc;*",
    "b;ab;abc;*",
    "c;c-;abc;*",
    "d;de;def;*",
    "e;de;def;*",
    "f;f-;def;*",
];

#[derive(Debug, Clone)]
struct Case {
    /// Patient, a generalised value, two others, a sensitive one; the last of each is missing.
    rows: Vec<(u8, usize, usize, usize, usize)>,
    by_subject: bool,
    models: usize,
    limit: f64,
    score: &'static str,
}

fn case() -> impl Strategy<Value = Case> {
    let row = (0_u8..9, 0_usize..7, 0_usize..3, 0_usize..2, 0_usize..4);
    let limit = prop::sample::select(vec![0.0, 0.2, 0.5]);
    let score = prop::sample::select(vec!["loss", "information"]);
    (
        prop::collection::vec(row, 1..30),
        any::<bool>(),
        0_usize..5,
        limit,
        score,
    )
        .prop_map(|(rows, by_subject, models, limit, score)| Case {
            rows,
            by_subject,
            models,
            limit,
            score,
        })
}

impl Case {
    fn attributes(&self) -> Value {
        json!([
            { "name": "patient", "role": "identifying", "subject": self.by_subject },
            { "name": "first", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": LINES.join("\n") } },
            { "name": "second", "role": "quasi_identifying" },
            { "name": "third", "role": "quasi_identifying" },
            { "name": "dx", "role": "sensitive" },
        ])
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let texts = |&(patient, first, second, third, dx): &(u8, usize, usize, usize, usize)| {
            let first = ["a", "b", "c", "d", "e", "f", ""][first];
            vec![
                format!("p{patient}"),
                first.to_owned(),
                ["m", "n", ""][second].to_owned(),
                ["u", "v"][third].to_owned(),
                ["x", "y", "z", ""][dx].to_owned(),
            ]
        };
        self.rows.iter().map(texts).collect()
    }

    fn demand(&self, method: &str) -> Value {
        let mut privacy = vec![json!({ "model": "k_anonymity", "k": 2 })];
        privacy.extend(match self.models {
            1 => Some(json!({ "model": "distinct_l_diversity", "attribute": "dx", "l": 2 })),
            2 => Some(json!({ "model": "entropy_l_diversity", "attribute": "dx", "l": 1.5 })),
            3 => Some(
                json!({ "model": "t_closeness", "attribute": "dx", "t": 0.4, "distance": "equal" }),
            ),
            4 => Some(json!({ "model": "average_risk", "max": 0.3 })),
            _ => None,
        });
        json!({ "recoding": "subtree", "privacy": privacy, "suppression_limit": self.limit,
            "search": { "method": method, "score": self.score } })
    }
}

/// Every cut, by its definition: a node or, for all of its children, one of theirs.
fn all_cuts(trees: &[Tree]) -> Vec<Cuts> {
    let mut all = vec![Cuts::roots(trees)];
    for (attribute, tree) in trees.iter().enumerate() {
        for &node in &tree.inner {
            let parent = tree.nodes[node as usize].parent;
            let open = |cuts: &Cuts| node == 0 || cuts.is_specialized(attribute, parent);
            let more: Vec<Cuts> = all.iter().filter(|cuts| open(cuts)).cloned().collect();
            all.extend(more.into_iter().map(|mut cuts| {
                cuts.specialize(attribute, node);
                cuts
            }));
        }
    }
    all
}

/// The single specialisations of a cut.
fn finer(trees: &[Tree], cuts: &Cuts) -> Vec<(usize, u32, Cuts)> {
    let mut finer = Vec::new();
    for (attribute, tree) in trees.iter().enumerate() {
        for node in cuts
            .nodes(tree, attribute)
            .filter(|&node| tree.is_inner(node))
        {
            let mut own = cuts.clone();
            own.specialize(attribute, node);
            finer.push((attribute, node, own));
        }
    }
    finer
}

/// Size of the smallest class that passes the criteria of classes.
fn least(run: &Run<'_>, cuts: &Cuts) -> u64 {
    let grouped = run.group(cuts);
    let mut judging = crate::anonymize::privacy::Judging::default();
    let classes = (0..grouped.table.len()).map(|class| grouped.table.view(class));
    let kept = classes.filter(|class| run.criteria.ok(class, &mut judging));
    kept.map(|class| class.size()).min().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn kept_sums_are_those_of_the_cut_recomputed(case in case()) {
        with_run(&case.attributes(), &case.rows(), &case.demand("tds"), |run| {
            let trees = &run.forest.trees;
            let mut descent = Descent::new(run, &run.all_cells(), Cuts::roots(trees));
            loop {
                let cuts = descent.cuts().clone();
                prop_assert_eq!(descent.is_valid(), run.judge(&cuts).is_feasible());
                let before = least(run, &cuts);
                let standings = descent.standings();
                for (attribute, node, own) in finer(trees, &cuts) {
                    let found = standings.iter().find(|standing| (standing.0, standing.1) == (attribute, node));
                    let Some(&(_, _, after, score, valid)) = found else { panic!("no candidate") };
                    // One that is dropped for good is not kept up to date.
                    if run.drops_for_good && !run.judge(&own).is_feasible() {
                        continue;
                    }
                    prop_assert_eq!(valid, run.judge(&own).is_feasible());
                    prop_assert_eq!(after, least(run, &own));
                    let lost = before.saturating_sub(after) as f64;
                    prop_assert!((score - run.gains.of(attribute, node) / (lost + 1.0)).abs() < 1e-12);
                }
                if descent.step().is_none() {
                    return Ok(());
                }
            }
        })?;
    }

    #[test]
    fn greedy_ways_end_where_no_single_step_down_is_left(case in case()) {
        with_run(&case.attributes(), &case.rows(), &case.demand("hybrid"), |run| {
            let trees = &run.forest.trees;
            let feasible = |cuts: &Cuts| run.judge(cuts).is_feasible();
            for reached in [methods::tds(run), methods::bug(run)] {
                let last = reached.cuts.last().unwrap();
                prop_assert!(last.is_sound(trees));
                if feasible(last) {
                    for cuts in &reached.cuts {
                        prop_assert!(feasible(cuts));
                    }
                    prop_assert!(finer(trees, last).iter().all(|(_, _, own)| !feasible(own)));
                } else if run.drops_for_good {
                    prop_assert!(!all_cuts(trees).iter().any(feasible));
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_genetic_front_is_that_of_all_cuts(case in case()) {
        let mut demand = case.demand("genetic_cuts");
        // With 20 a case was seen that misses a point.
        demand["search"]["generations"] = json!(80);
        demand["search"]["seed"] = json!(case.rows.len());
        with_run(&case.attributes(), &case.rows(), &demand, |run| {
            let all = all_cuts(&run.forest.trees);
            prop_assert_eq!(all.len().to_string(), run.forest.search_space());
            let judged = all.iter().map(|cuts| run.judge(cuts)).collect();
            let exhaustive = front::front(judged, 2);
            let found = methods::search(run, SearchMethod::GeneticCuts).front;
            let keys = |front: &[front::Candidate]| front.iter().map(|member| member.keys).collect::<std::collections::BTreeSet<_>>();
            prop_assert_eq!(keys(&found), keys(&exhaustive));
            Ok(())
        })?;
    }
}
