//! What merging real classes does to each model: no counterexample to a flag that is set, one to each that is not.

use std::collections::BTreeMap;

use kindred::anonymize::cells::Cells;
use kindred::anonymize::classes::{ClassTable, Scratch, Wanted};
use kindred::anonymize::privacy::{Candidates, Criteria, Judging, Rule};
use kindred::anonymize::rows::Rows;
use kindred::declaration::MeasureDemand;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::tables::{Data, data};

const TABLES: usize = 3000;

/// Group, patient and value per row; group 0 and 1 become one on level 1. The last value is missing.
type Row = (u8, u8, u8);

fn tables() -> impl Strategy<Value = (Vec<Row>, bool)> {
    let row = (0_u8..3, 0_u8..4, 0_u8..5);
    let rows = prop::collection::vec(row, 2..16);
    // Few values at a time: frequencies differ more.
    (rows, any::<bool>(), 2_u8..6, 0_u8..5).prop_map(|(mut rows, by_subject, values, from)| {
        for row in &mut rows {
            row.2 = (row.2 % values + from) % 5;
        }
        (rows, by_subject)
    })
}

fn table(rows: &[Row], by_subject: bool) -> Data {
    let tree = json!({ "kind": "taxonomy", "label": "any", "children": [
        { "label": "left", "children": [{ "label": "w" }, { "label": "x" }] },
        { "label": "right", "children": [{ "label": "y" }, { "label": "z" }] },
    ]});
    let attributes = json!([
        { "name": "patient", "role": "identifying", "subject": by_subject },
        { "name": "grp", "role": "quasi_identifying",
          "hierarchy": { "kind": "table", "text": "a;ab;*\nb;ab;*\nc;c;*" } },
        { "name": "dx", "role": "sensitive", "order": ["w", "x", "y", "z"], "hierarchy": tree },
    ]);
    let line = |&(group, patient, value): &Row| {
        let group = ["a", "b", "c"][group as usize];
        format!(
            "p{patient},{group},{}",
            ["w", "x", "y", "z", ""][value as usize]
        )
    };
    data(attributes, &rows.iter().map(line).collect::<Vec<_>>())
}

fn models() -> Vec<Value> {
    let closeness = |distance: &str, t: f64, reference: &str| json!({ "model": "t_closeness", "attribute": "dx", "distance": distance, "t": t, "reference": reference });
    vec![
        json!({ "model": "k_anonymity", "k": 3 }),
        json!({ "model": "maximum_risk", "max": 0.5 }),
        json!({ "model": "average_risk", "max": 0.6 }),
        json!({ "model": "distinct_l_diversity", "attribute": "dx", "l": 2 }),
        json!({ "model": "distinct_l_diversity", "attribute": "dx", "l": 2, "missing": "exempt" }),
        json!({ "model": "entropy_l_diversity", "attribute": "dx", "l": 2 }),
        json!({ "model": "entropy_l_diversity", "attribute": "dx", "l": 2, "missing": "exempt" }),
        json!({ "model": "recursive_cl_diversity", "attribute": "dx", "c": 1.5, "l": 2 }),
        json!({ "model": "recursive_cl_diversity", "attribute": "dx", "c": 1.2, "l": 2, "missing": "exempt" }),
        closeness("equal", 0.3, "input"),
        closeness("ordered", 0.2, "input"),
        closeness("hierarchical", 0.15, "input"),
        closeness("equal", 0.3, "released"),
        json!({ "model": "delta_disclosure", "attribute": "dx", "delta": 0.4 }),
        json!({ "model": "delta_disclosure", "attribute": "dx", "delta": 1, "mode": "arx" }),
        json!({ "model": "beta_likeness", "attribute": "dx", "beta": 0.5 }),
        json!({ "model": "beta_likeness", "attribute": "dx", "beta": 0.6, "enhanced": true }),
        json!({ "model": "alpha_k", "attribute": "dx", "alpha": 0.5, "k": 2 }),
        json!({ "model": "alpha_k", "attribute": "dx", "alpha": 0.4, "k": 2, "values": ["w", "x"] }),
    ]
}

/// By class, whether it stays if all are to be released.
fn holds(rule: &Rule, table: &ClassTable, cells: &Cells) -> Vec<bool> {
    let mut judging = Judging::default();
    match rule {
        Rule::Class(criterion) => (0..table.len())
            .map(|class| criterion.ok(&table.view(class), &mut judging))
            .collect(),
        Rule::Table(criterion) => {
            let mut holds = vec![true; table.len()];
            let candidates = Candidates {
                table,
                cells,
                released: &vec![true; table.len()],
            };
            for class in criterion.failing(&candidates, &mut judging) {
                holds[class] = false;
            }
            holds
        }
    }
}

/// What a flag says, and whether a table contradicted it.
#[derive(Default)]
struct Flag {
    denied: bool,
    refuted: bool,
}

impl Flag {
    fn see(&mut self, claimed: bool, refuted: bool, what: &str) {
        assert!(!(claimed && refuted), "{what}");
        self.denied |= !claimed;
        self.refuted |= refuted && !claimed;
    }
}

#[test]
fn flags_are_set_where_no_merge_refutes_them_and_only_there() {
    let mut runner = TestRunner::deterministic();
    let mut flags: BTreeMap<(usize, bool), [Flag; 2]> = BTreeMap::new();
    for _ in 0..TABLES {
        let (rows, by_subject) = tables().new_tree(&mut runner).expect("a case").current();
        let data = table(&rows, by_subject);
        let engine = Rows::of(&data.table, &data.schema).expect("covered");
        for (number, model) in models().iter().enumerate() {
            let demand = MeasureDemand::parse(&json!({ "privacy": [model] }), &data.declaration);
            let demand = demand.expect("a valid demand");
            let (criteria, needs) = Criteria::new(&demand.privacy, &engine);
            let (cells, cell_of_row) = Cells::build(&engine, &needs);
            let rule = &criteria.rules()[0];
            let mut scratch = Scratch::default();
            let finer = ClassTable::group(&cells, &[0], &mut scratch);
            let finer_of = scratch.class_of().to_vec();
            let coarser = ClassTable::group(&cells, &[1], &mut scratch);
            let class = |of: &[u32], group: u8| {
                let row = rows.iter().position(|row| row.0 == group)?;
                Some(of[cell_of_row[row] as usize] as usize)
            };
            let what = format!("{model} by subject {by_subject}: {rows:?}");
            let [absorbing, closed] = flags.entry((number, by_subject)).or_default();
            let (before, after) = (holds(rule, &finer, &cells), holds(rule, &coarser, &cells));
            if let (Some(left), Some(right)) = (class(&finer_of, 0), class(&finer_of, 1)) {
                let union = class(scratch.class_of(), 0).expect("the union of both");
                let (left, right, union) = (before[left], before[right], after[union]);
                absorbing.see(rule.absorbing(), (left || right) && !union, &what);
                closed.see(rule.merge_closed(), left && right && !union, &what);
            }
            let (finer, coarser) = (
                finer.evaluate(&cells, &criteria, Wanted::default()),
                coarser.evaluate(&cells, &criteria, Wanted::default()),
            );
            let grows = coarser.suppressed_rows > finer.suppressed_rows;
            absorbing.see(rule.absorbing(), grows, &what);
            assert!(
                coarser.core_suppressed_rows <= finer.core_suppressed_rows,
                "{what}"
            );
            for evaluation in [finer, coarser] {
                let (core, all) = (evaluation.core_suppressed_rows, evaluation.suppressed_rows);
                assert!(core <= all && (core == all || !rule.absorbing()), "{what}");
            }
        }
    }
    let mut unrefuted = Vec::new();
    for ((number, by_subject), [absorbing, closed]) in flags {
        for (name, flag) in [("absorbing", absorbing), ("merge-closed", closed)] {
            if flag.denied && !flag.refuted {
                let model = &models()[number];
                unrefuted.push(format!("{model} by subject {by_subject}: {name} after all"));
            }
        }
    }
    assert!(unrefuted.is_empty(), "{}", unrefuted.join("\n"));
}
