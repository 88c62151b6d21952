//! Releases and exact fronts under models of a population, against a checker written from the definitions.

use std::collections::{BTreeMap, BTreeSet};

use kindred::anonymize::certificate::check;
use kindred::anonymize::classes::suppress;
use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::report::RecodingReport;
use kindred::anonymize::subtree::Recoded;
use kindred::anonymize::verify::verify;
use kindred::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use kindred::declaration::{Fraction, RowOrder, SuppressedRows};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{POPULATION, within};
use crate::tables::{Data, data};

/// Person, group, sex; the last of each is missing.
type Row = (u8, usize, usize);

const PATHS: [[&str; 3]; 4] = [
    ["a", "ab", "*"],
    ["b", "ab", "*"],
    ["c", "cd", "*"],
    ["", "", "*"],
];
const SEXES: [&str; 3] = ["f", "m", ""];

#[derive(Debug, Clone)]
struct Case {
    sample: Vec<Row>,
    people: Vec<Row>,
    by_subject: (bool, bool),
    levels: (usize, usize),
    model: Value,
}

fn case() -> impl Strategy<Value = Case> {
    let row = || (0_u8..8, 0_usize..4, 0_usize..3);
    let model = (1_u64..6, 0_u8..3, 0_u8..6).prop_map(|(k, kind, part)| {
        let (min, max) = (f64::from(part) / 10.0, f64::from(part + 3) / 10.0);
        match kind {
            0 => json!({ "model": "k_map", "k": k, "population": POPULATION }),
            1 => json!({ "model": "delta_presence", "min": 0, "max": max, "population": POPULATION }),
            _ => json!({ "model": "delta_presence", "min": min, "max": max, "population": POPULATION }),
        }
    });
    (
        prop::collection::vec(row(), 1..12),
        prop::collection::vec(row(), 1..40),
        any::<(bool, bool)>(),
        (0_usize..3, 0_usize..2),
        model,
    )
        .prop_map(|(sample, people, by_subject, levels, model)| Case {
            sample,
            people,
            by_subject,
            levels,
            model,
        })
}

fn table(rows: &[Row], by_subject: bool) -> Data {
    let lines = PATHS[..3].iter().map(|path| path.join(";"));
    let lines = lines.collect::<Vec<_>>().join("\n");
    let attributes = json!([
        { "name": "person", "role": "identifying", "subject": by_subject },
        { "name": "grp", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": lines } },
        { "name": "sex", "role": "quasi_identifying" },
    ]);
    let line = |row: &Row| format!("p{},{},{}", row.0, PATHS[row.1][0], SEXES[row.2]);
    data(attributes, &rows.iter().map(line).collect::<Vec<_>>())
}

impl Case {
    fn data(&self) -> Data {
        within(
            table(&self.sample, self.by_subject.0),
            table(&self.people, self.by_subject.1),
        )
    }

    /// Who is in each class.
    fn classes(&self, rows: &[Row], by_subject: bool) -> BTreeMap<(&str, &str), BTreeSet<usize>> {
        let mut classes: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let member = if by_subject { row.0.into() } else { number };
            classes.entry(self.class(row)).or_default().insert(member);
        }
        classes
    }

    fn class(&self, row: &Row) -> (&'static str, &'static str) {
        let sex = if self.levels.1 == 0 {
            SEXES[row.2]
        } else {
            "*"
        };
        (PATHS[row.1][self.levels.0], sex)
    }

    /// By row, whether it is suppressed.
    fn expected(&self) -> Vec<bool> {
        let sample = self.classes(&self.sample, self.by_subject.0);
        let people = self.classes(&self.people, self.by_subject.1);
        let members = |class| people.get(&class).map_or(0, BTreeSet::len);
        let parameter = |name: &str| self.model[name].as_f64().expect("a number");
        let out = |row: &Row| {
            let class = self.class(row);
            if self.model["model"] == "k_map" {
                return (members(class) as f64) < parameter("k");
            }
            let (min, max) = (parameter("min"), parameter("max"));
            let within = |class: (&str, &str)| {
                let size = sample.get(&class).map_or(0, BTreeSet::len) as f64;
                let members = people.get(&class).map_or(0, BTreeSet::len) as f64;
                size <= max * members + 1e-9 && size >= min * members - 1e-9
            };
            if min > 0.0 {
                !sample
                    .keys()
                    .chain(people.keys())
                    .all(|&class| within(class))
            } else {
                !within(class)
            }
        };
        self.sample.iter().map(out).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_suppressed_follows_the_definitions_and_verifies(case in case()) {
        let data = case.data();
        let levels = [("grp".to_owned(), case.levels.0), ("sex".to_owned(), case.levels.1)].into();
        let privacy = [case.model.clone(), json!({ "model": "k_anonymity", "k": 1 })];
        let asked = data.demand(&json!({ "privacy": privacy })).privacy;
        let found = suppress(&data.table, &data.schema, &levels, &asked).expect("covered");
        prop_assert_eq!(&found.suppressed, &case.expected());
        let recipe = Recipe {
            recoding: Recoded::FullDomain(&levels),
            privacy: &asked,
            row_order: RowOrder::Input,
            seed: 0,
            columns: None,
            suppressed_rows: SuppressedRows::Omit,
        };
        let mut rendered = render(&data.table, &data.schema, &recipe).expect("covered");
        let verified = |rendered: &Rendered| verify(&data.table, &data.schema, &recipe, Fraction::ONE, rendered);
        if rendered.released_rows > 0 {
            prop_assert!(verified(&rendered).is_ok(), "{:?}", verified(&rendered));
        }
        // Everything released although something must not be: the verifier finds it.
        if rendered.suppressed_rows > 0 {
            let rows = rendered.suppressed.len();
            rendered.order = (0..u32::try_from(rows).expect("few")).collect();
            rendered.suppressed.fill(false);
            rendered.released_rows = rows as u64;
            rendered.suppressed_rows = 0;
            let failures = verified(&rendered).expect_err("a model is broken").failures;
            prop_assert_eq!(failures.len(), 1, "{:?}", failures);
        }
    }

    #[test]
    fn exact_fronts_are_those_of_every_policy_and_their_certificates_replay(case in case()) {
        let data = case.data();
        let privacy = json!([case.model, { "model": "k_anonymity", "k": 2 }]);
        let demand = |search: Value| data.demand(&json!({
            "privacy": privacy, "suppression_limit": 0.6, "search": search,
            "objectives": ["generalization_depth", "suppression"],
        }));
        let run = |demand: &kindred::declaration::Demand| {
            let limits = Limits { exact_search_space: 1 << 20, cache_bytes: 1 << 20 };
            let task = Task { table: &data.table, schema: &data.schema, demand, limits };
            let outcome = anonymize(&task, &Unobserved).expect("it can be run");
            let front = match outcome {
                Outcome::Front(front) | Outcome::Infeasible(_, front) => front,
                other => panic!("{other:?}"),
            };
            if let Some(certificate) = &front.certificate {
                let replayed = check(&task, certificate).expect("covered");
                assert!(replayed.is_ok(), "{replayed:?}");
            }
            front
        };
        let exact = run(&demand(json!({ "method": "exact" })));
        // Depth in sixths or less, suppressed rows.
        let mut points = BTreeSet::new();
        for levels in (0..3).flat_map(|grp| [(grp, 0), (grp, 1)]) {
            let fixed = json!({ "grp": levels.0, "sex": levels.1 });
            let front = run(&demand(json!({ "method": "fixed", "levels": fixed })));
            let found = front.solutions.iter();
            points.extend(found.map(|one| (levels.0 + 2 * levels.1, one.suppressed_rows)));
        }
        let beats = |one: &(usize, u64), other: &(usize, u64)| {
            one != other && one.0 <= other.0 && one.1 <= other.1
        };
        let best: Vec<_> = points
            .iter()
            .filter(|point| !points.iter().any(|other| beats(other, point)))
            .copied()
            .collect();
        let found: BTreeSet<_> = exact
            .solutions
            .iter()
            .map(|one| {
                let RecodingReport::FullDomain { levels } = &one.recoding else {
                    unreachable!("levels were searched");
                };
                (levels["grp"] + 2 * levels["sex"], one.suppressed_rows)
            })
            .collect();
        prop_assert_eq!(found.into_iter().collect::<Vec<_>>(), best);
    }
}
