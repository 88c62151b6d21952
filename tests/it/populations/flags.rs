//! What merging does to the models of a population: as in `models::flags`, claims hold, and what is not claimed has a
//! counterexample.

use kindred::anonymize::cells::Cells;
use kindred::anonymize::classes::{ClassTable, Scratch, Wanted};
use kindred::anonymize::privacy::{Candidates, Criteria, Judging, Rule};
use kindred::anonymize::rows::Rows;
use kindred::declaration::MeasureDemand;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::{POPULATION, within};
use crate::tables::{Data, data};

/// Group and person.
type Row = (u8, u8);

fn table(rows: &[Row], by_subject: bool) -> Data {
    let attributes = json!([
        { "name": "person", "role": "identifying", "subject": by_subject },
        { "name": "grp", "role": "quasi_identifying",
          "hierarchy": { "kind": "table", "text": "a;ab;*\nb;ab;*\nc;c;*" } },
    ]);
    let line = |&(group, person): &Row| format!("p{person},{}", ["a", "b", "c"][group as usize]);
    data(attributes, &rows.iter().map(line).collect::<Vec<_>>())
}

/// By class, whether it stays if all are to be released.
fn holds(rule: &Rule, table: &ClassTable, cells: &Cells) -> Vec<bool> {
    let mut judging = Judging::default();
    match rule {
        Rule::Class(criterion) => (0..table.len())
            .map(|class| criterion.ok(&table.view(class), &mut judging))
            .collect(),
        Rule::Table(criterion) => {
            let candidates = Candidates {
                table,
                cells,
                released: &vec![true; table.len()],
            };
            let mut holds = vec![true; table.len()];
            for class in criterion.failing(&candidates, &mut judging) {
                holds[class] = false;
            }
            holds
        }
    }
}

#[derive(Default, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "two flags, each denied and refuted"
)]
struct Seen {
    absorbing_denied: bool,
    absorbing_refuted: bool,
    closed_denied: bool,
    closed_refuted: bool,
}

fn check(model: &Value, by_subject: (bool, bool)) -> Seen {
    let mut runner = TestRunner::deterministic();
    let row = || (0_u8..3, 0_u8..4);
    let tables = (
        prop::collection::vec(row(), 1..7),
        prop::collection::vec(row(), 1..14),
    );
    let mut seen = Seen::default();
    for _ in 0..700 {
        let (sample, people) = tables.new_tree(&mut runner).expect("a case").current();
        let data = within(table(&sample, by_subject.0), table(&people, by_subject.1));
        let engine = Rows::of(&data.table, &data.schema).expect("covered");
        let demand = MeasureDemand::parse(&json!({ "privacy": [model] }), &data.declaration);
        let (criteria, needs) = Criteria::new(&demand.expect("valid").privacy, &engine);
        let (cells, cell_of_row) = Cells::build(&engine, &needs);
        let rule = &criteria.rules()[0];
        let mut scratch = Scratch::default();
        let finer = ClassTable::group(&cells, &[0], &mut scratch);
        let finer_of = scratch.class_of().to_vec();
        let coarser = ClassTable::group(&cells, &[1], &mut scratch);
        let class = |of: &[u32], group: u8| {
            let row = sample.iter().position(|row| row.0 == group)?;
            Some(of[cell_of_row[row] as usize] as usize)
        };
        let what = format!("{model} {by_subject:?}: {sample:?} of {people:?}");
        let (before, after) = (holds(rule, &finer, &cells), holds(rule, &coarser, &cells));
        seen.absorbing_denied |= !rule.absorbing();
        seen.closed_denied |= !rule.merge_closed();
        if let (Some(left), Some(right)) = (class(&finer_of, 0), class(&finer_of, 1)) {
            let union = class(scratch.class_of(), 0).expect("the union of both");
            let (left, right, union) = (before[left], before[right], after[union]);
            let (absorbing, closed) = ((left || right) && !union, left && right && !union);
            assert!(!(rule.absorbing() && absorbing), "{what}");
            assert!(!(rule.merge_closed() && closed), "{what}");
            seen.absorbing_refuted |= absorbing;
            seen.closed_refuted |= closed;
        }
        // A group that only the population has may join one of the table.
        if let (Some(left), None) = (class(&finer_of, 0), class(&finer_of, 1)) {
            let union = class(scratch.class_of(), 0).expect("the group's class");
            let refuted = before[left] && !after[union];
            assert!(!(rule.absorbing() && refuted), "{what}");
            seen.absorbing_refuted |= refuted;
        }
        let evaluations =
            [finer, coarser].map(|table| table.evaluate(&cells, &criteria, Wanted::default()));
        let [finer, coarser] = &evaluations;
        assert!(
            coarser.core_suppressed_rows <= finer.core_suppressed_rows,
            "{what}"
        );
        assert!(
            !rule.absorbing() || coarser.suppressed_rows <= finer.suppressed_rows,
            "{what}"
        );
        for evaluation in &evaluations {
            assert!(
                evaluation.core_suppressed_rows <= evaluation.suppressed_rows,
                "{what}"
            );
        }
    }
    seen
}

const SIDES: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

#[test]
fn k_map_is_absorbing_and_merge_closed() {
    let model = json!({ "model": "k_map", "k": 3, "population": POPULATION });
    for sides in SIDES {
        let seen = check(&model, sides);
        assert!(!seen.absorbing_denied && !seen.closed_denied);
    }
}

#[test]
fn a_greatest_presence_is_merge_closed_by_rows_only() {
    let model =
        json!({ "model": "delta_presence", "min": 0, "max": 0.5, "population": POPULATION });
    for sides in SIDES {
        let seen = check(&model, sides);
        assert!(
            seen.absorbing_denied && seen.absorbing_refuted,
            "{sides:?} {seen:?}"
        );
        assert_eq!(seen.closed_denied, sides != (false, false));
        // The records of a union are no more than the sum; its members may be fewer.
        assert_eq!(seen.closed_refuted, sides.1, "{sides:?} {seen:?}");
    }
}

#[test]
fn a_least_presence_is_merge_closed_by_rows() {
    let model =
        json!({ "model": "delta_presence", "min": 0.3, "max": 0.8, "population": POPULATION });
    for sides in SIDES {
        let seen = check(&model, sides);
        assert!(seen.absorbing_denied);
        assert_eq!(seen.closed_denied, sides != (false, false), "{sides:?}");
        assert_eq!(
            seen.closed_refuted,
            sides != (false, false),
            "{sides:?} {seen:?}"
        );
    }
}
