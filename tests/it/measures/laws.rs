//! Laws of every measure over random tables: a checker from the definitions, sound bounds, no order.

use std::collections::BTreeMap;

use kindred::anonymize::cells::Cells;
use kindred::anonymize::classes::{ClassTable, Scratch};
use kindred::anonymize::policy::Policy;
use kindred::anonymize::privacy::Criteria;
use kindred::anonymize::rows::Rows;
use kindred::anonymize::utility::{self, Objectives};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::{Data, data, plain};

const ALL: [&str; 10] = [
    "generalization_depth",
    "suppression",
    "loss",
    "discernibility",
    "average_class_size",
    "non_uniform_entropy",
    "precision",
    "ambiguity",
    "classification",
    "average_risk",
];

type Row = (u8, usize, usize, usize, usize);

const LINES: &str = "a;ab;abc;*\nb;ab;abc;*\nc;c;abc;*\nd;de;def;*\ne;de;def;*\nf;f;def;*";

fn random(rows: &[Row], by_subject: bool) -> Data {
    let generalised = |name: &str| {
        json!({ "name": name, "role": "quasi_identifying",
        "hierarchy": { "kind": "table", "text": LINES } })
    };
    let attributes = json!([
        { "name": "patient", "role": "identifying", "subject": by_subject },
        generalised("first"),
        generalised("second"),
        plain("quasi_identifying", "third"),
        plain("sensitive", "dx"),
    ]);
    let text = |row: &Row| {
        let value = |number: usize| ["a", "b", "c", "d", "e", "f", ""][number];
        let third = ["m", "n"][row.3];
        let dx = ["x", "y", "z", ""][row.4];
        format!("p{},{},{},{third},{dx}", row.0, value(row.1), value(row.2))
    };
    data(attributes, &rows.iter().map(text).collect::<Vec<_>>())
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0_u8..12, 0_usize..7, 0_usize..7, 0_usize..2, 0_usize..4);
    prop::collection::vec(row, 1..40)
}

fn demand(
    data: &Data,
    k: u64,
    objectives: &[&str],
    search: &Value,
) -> kindred::declaration::Demand {
    data.demand(&json!({
        "privacy": [{ "model": "k_anonymity", "k": k }],
        "suppression_limit": 1.0,
        "objectives": objectives,
        "target": "dx",
        "search": search,
        "loss": { "aggregate": "geometric", "factor": 0.3 },
        "weights": { "second": 2.5 },
    }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_policy_is_below_the_bound_of_its_levels(rows in rows(), k in 1_u64..6, by_subject in any::<bool>()) {
        let data = random(&rows, by_subject);
        for names in ALL.chunks(4) {
            let demand = demand(&data, k, names, &json!({}));
            let read = Rows::of(&data.table, &data.schema).unwrap();
            let read = read.with_target(&data.table, &data.schema, demand.target.as_deref());
            let (criteria, mut needs) = Criteria::new(&demand.privacy, &read);
            utility::add_needs(&demand, &mut needs);
            let (cells, _) = Cells::build(&read, &needs);
            let objectives = Objectives::new(&demand, &cells);
            let mut scratch = Scratch::default();
            for number in 0..32_u32 {
                let policy = Policy::new([number % 4, number / 4 % 4, number / 16]);
                let classes = ClassTable::group(&cells, policy.levels(), &mut scratch);
                let found = classes.evaluate(&cells, &criteria, objectives.wanted());
                let costs = objectives.costs(&found);
                let mut before = [0; 4];
                for suppressed in 0..=found.suppressed_rows {
                    let bounds = objectives.lower_bounds(policy.levels(), suppressed);
                    for (place, name) in names.iter().enumerate() {
                        prop_assert!(bounds[place] <= costs[place].key,
                            "{} at {:?}: {} of {} rows: {} > {}", name, policy, suppressed,
                            found.suppressed_rows, bounds[place], costs[place].key);
                        prop_assert!(before[place] <= bounds[place], "{} shrinks", name);
                    }
                    before = bounds;
                }
            }
        }
    }

    #[test]
    fn measures_are_those_of_the_definitions(rows in rows(), k in 1_u64..6, number in 0_usize..32) {
        let data = random(&rows, false);
        let levels = [number % 4, number / 4 % 4, number / 16];
        let search = json!({ "method": "fixed",
            "levels": { "first": levels[0], "second": levels[1], "third": levels[2] } });
        let naive = Naive::of(&rows, levels, k);
        for names in ALL[3..].chunks(4) {
            let demand = demand(&data, k, names, &search);
            let body = serde_json::to_value(&demand).unwrap();
            let kindred::anonymize::Outcome::Front(front) = data.search(&body) else {
                prop_assert!(naive.released.is_empty());
                continue;
            };
            for (name, found) in &front.solutions[0].objectives {
                let expected = naive.measure(name);
                prop_assert!((found - expected).abs() <= 1e-9 * expected.max(1.0), "{}: {} is not {}", name, found, expected);
            }
        }
    }

    #[test]
    fn row_order_changes_no_measure(rows in rows(), k in 1_u64..4) {
        let mut reversed = rows.clone();
        reversed.reverse();
        let search = json!({ "method": "exact" });
        for names in ALL.chunks(4) {
            let front = |rows: &[Row]| {
                let data = random(rows, false);
                let demand = demand(&data, k, names, &search);
                let body = serde_json::to_value(&demand).unwrap();
                format!("{:?}", data.search(&body))
            };
            prop_assert_eq!(front(&rows), front(&reversed));
        }
    }
}

/// One policy by the definitions: a class as (rows, its rows' numbers).
struct Naive {
    rows: Vec<Row>,
    levels: [usize; 3],
    released: Vec<Vec<usize>>,
    suppressed: Vec<usize>,
}

impl Naive {
    fn label(value: usize, level: usize, height: usize) -> String {
        if level == height {
            return "*".to_owned();
        }
        if height == 1 || value == 6 {
            return value.to_string();
        }
        let line = LINES.lines().nth(value).unwrap();
        line.split(';').nth(level).unwrap().to_owned()
    }

    fn of(rows: &[Row], levels: [usize; 3], k: u64) -> Self {
        let mut classes: BTreeMap<[String; 3], Vec<usize>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let key = [
                Self::label(row.1, levels[0], 3),
                Self::label(row.2, levels[1], 3),
                Self::label(row.3, levels[2], 1),
            ];
            classes.entry(key).or_default().push(number);
        }
        let (released, failed): (Vec<_>, Vec<_>) = classes
            .into_values()
            .partition(|class| class.len() as u64 >= k);
        Self {
            rows: rows.to_vec(),
            levels,
            released,
            suppressed: failed.concat(),
        }
    }

    /// Value, level, height and number of values under the label, by attribute.
    fn cells(&self, row: usize) -> [(usize, usize, usize); 3] {
        let row = self.rows[row];
        [
            (row.1, self.levels[0], 3),
            (row.2, self.levels[1], 3),
            (row.3, self.levels[2], 1),
        ]
    }

    fn leaves((value, level, height): (usize, usize, usize)) -> f64 {
        match (level == height, height, value) {
            (true, 1, _) => 2.0,
            (true, ..) => 6.0,
            (false, 1, _) | (false, _, 6) => 1.0,
            _ => (0..6)
                .filter(|&other| Self::label(other, level, 3) == Self::label(value, level, 3))
                .count() as f64,
        }
    }

    fn measure(&self, name: &str) -> f64 {
        let n = self.rows.len() as f64;
        let out = self.suppressed.len() as f64;
        let kept = self.released.iter().flatten().copied();
        let squares = self
            .released
            .iter()
            .map(|class| (class.len() as f64).powi(2));
        match name {
            "discernibility" => squares.sum::<f64>() + n * out,
            "average_class_size" => {
                n / (self.released.len() as f64 + f64::from(u8::from(out > 0.0)))
            }
            "average_risk" => self.released.len() as f64 / (n - out),
            "precision" => {
                let weights = [1.0, 2.5, 1.0];
                let of_row = |row| -> f64 {
                    let cells = self.cells(row).into_iter().zip(weights);
                    cells
                        .map(|((_, level, height), weight)| weight * level as f64 / height as f64)
                        .sum()
                };
                (kept.map(of_row).sum::<f64>() + out * 4.5) / (4.5 * n)
            }
            "ambiguity" => {
                let of_row = |row| self.cells(row).map(Self::leaves).iter().product::<f64>();
                kept.map(of_row).sum::<f64>() + out * 72.0
            }
            "classification" => {
                let beside = self.released.iter().map(|class| {
                    let count =
                        |dx: usize| class.iter().filter(|&&row| self.rows[row].4 == dx).count();
                    class.len() - (0..4).map(count).max().unwrap()
                });
                (out + beside.sum::<usize>() as f64) / n
            }
            "non_uniform_entropy" => (0..3).map(|attribute| self.entropy(attribute)).sum(),
            other => panic!("{other} is not checked here"),
        }
    }

    fn entropy(&self, attribute: usize) -> f64 {
        let label = |row: usize, raw: bool| {
            let (value, level, height) = self.cells(row)[attribute];
            Self::label(value, if raw { 0 } else { level }, height)
        };
        let all = 0..self.rows.len();
        let count =
            |of: &str, raw: bool| all.clone().filter(|&row| label(row, raw) == of).count() as f64;
        let generalised = all
            .clone()
            .map(|row| (count(&label(row, false), false) / count(&label(row, true), true)).log2());
        let out = &self.suppressed;
        let same = |row: usize| {
            out.iter()
                .filter(|&&other| label(other, false) == label(row, false))
                .count() as f64
        };
        let suppressed = out.iter().map(|&row| (out.len() as f64 / same(row)).log2());
        generalised.sum::<f64>() + suppressed.sum::<f64>()
    }
}
