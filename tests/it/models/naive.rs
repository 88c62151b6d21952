//! What is released under any models, against a checker written from the definitions: rows, texts and ordered maps.

use std::collections::{BTreeMap, BTreeSet};

use kindred::anonymize::classes::suppress;
use kindred::anonymize::release::{Recipe, render};
use kindred::anonymize::subtree::Recoded;
use kindred::anonymize::verify::verify;
use kindred::declaration::{Fraction, RowOrder, SuppressedRows};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::{Data, data};

/// Patient, generalised attribute, value; the last value is missing.
type Row = (u8, usize, usize);

const VALUES: [&str; 5] = ["w", "x", "y", "z", ""];
const PATHS: [[&str; 3]; 4] = [
    ["a", "ab", "*"],
    ["b", "ab", "*"],
    ["c", "cd", "*"],
    ["d", "cd", "*"],
];

fn name(model: &Value) -> &str {
    model["model"].as_str().expect("a name")
}

fn parameter(model: &Value, name: &str) -> f64 {
    model[name].as_f64().expect("a number")
}

#[derive(Debug, Clone)]
struct Case {
    rows: Vec<Row>,
    by_subject: bool,
    level: usize,
    models: Vec<Value>,
}

/// A model out of all, with limits that some classes meet.
fn model() -> impl Strategy<Value = Value> {
    let limit = 1_u32..10;
    let missing = prop::sample::select(vec!["fails", "exempt"]);
    let distance = prop::sample::select(vec!["equal", "ordered", "hierarchical"]);
    let reference = prop::sample::select(vec!["released", "input"]);
    (0..10, limit, 1_u64..4, missing, distance, reference, any::<bool>()).prop_map(
        |(model, limit, l, missing, distance, reference, flag)| {
            let tenth = f64::from(limit) / 10.0;
            let mut model = match model {
                0 => json!({ "model": "k_anonymity", "k": l }),
                1 => json!({ "model": "distinct_l_diversity", "l": l, "missing": missing }),
                2 => json!({ "model": "entropy_l_diversity", "l": 1.0 + 2.0 * tenth, "missing": missing }),
                3 => json!({ "model": "recursive_cl_diversity", "c": 4.0 * tenth, "l": l, "missing": missing }),
                4 => json!({ "model": "t_closeness", "t": tenth / 2.0, "distance": distance, "reference": reference }),
                5 => json!({ "model": "delta_disclosure", "delta": 3.0 * tenth, "mode": if flag { "strict" } else { "arx" } }),
                6 => json!({ "model": "beta_likeness", "beta": 3.0 * tenth, "enhanced": flag }),
                7 if flag => json!({ "model": "alpha_k", "alpha": tenth, "k": l }),
                7 => json!({ "model": "alpha_k", "alpha": tenth, "k": l, "values": ["w", "y"] }),
                8 => json!({ "model": "average_risk", "max": tenth }),
                _ => json!({ "model": "maximum_risk", "max": tenth }),
            };
            if !["k_anonymity", "average_risk", "maximum_risk"].contains(&name(&model)) {
                model["attribute"] = json!("dx");
            }
            model
        },
    )
}

fn case() -> impl Strategy<Value = Case> {
    let row = (0_u8..10, 0_usize..4, 0_usize..5);
    (
        prop::collection::vec(row, 1..30),
        any::<bool>(),
        0_usize..3,
        prop::collection::vec(model(), 1..4),
    )
        .prop_map(|(rows, by_subject, level, models)| Case {
            rows,
            by_subject,
            level,
            models,
        })
}

impl Case {
    fn data(&self) -> Data {
        let tree = json!({ "kind": "taxonomy", "label": "any", "children": [
            { "label": "left", "children": [{ "label": "w" }, { "label": "x" }] },
            { "label": "right", "children": [{ "label": "y" }, { "label": "z" }] },
        ]});
        let lines = PATHS.map(|path| path.join(";")).join("\n");
        let attributes = json!([
            { "name": "patient", "role": "identifying", "subject": self.by_subject },
            { "name": "grp", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": lines } },
            { "name": "dx", "role": "sensitive", "order": ["w", "x", "y", "z"], "hierarchy": tree },
        ]);
        let line = |row: &Row| format!("p{},{},{}", row.0, PATHS[row.1][0], VALUES[row.2]);
        data(attributes, &self.rows.iter().map(line).collect::<Vec<_>>())
    }

    /// Who stands in a row: the patient, or the row itself.
    fn subject(&self, row: usize) -> usize {
        if self.by_subject {
            self.rows[row].0 as usize
        } else {
            100 + row
        }
    }

    fn size(&self, members: &[usize]) -> usize {
        members
            .iter()
            .map(|&row| self.subject(row))
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// How many stand for each value; missing is the last.
    fn counts(&self, members: &[usize]) -> [f64; 5] {
        let pairs: BTreeSet<_> = members
            .iter()
            .map(|&row| (self.rows[row].2, self.subject(row)))
            .collect();
        let mut counts = [0.0; 5];
        for (value, _) in pairs {
            counts[value] += 1.0;
        }
        counts
    }

    fn shares(&self, members: &[usize]) -> [f64; 5] {
        let counts = self.counts(members);
        let total: f64 = counts.iter().sum();
        counts.map(|count| count / total)
    }

    fn distance(&self, model: &Value, class: &[usize], reference: &[usize]) -> f64 {
        let (p, q) = (self.shares(class), self.shares(reference));
        let d: Vec<f64> = p.iter().zip(&q).map(|(p, q)| p - q).collect();
        match model["distance"].as_str().unwrap_or_default() {
            "equal" => d.iter().map(|d| d.abs()).sum::<f64>() / 2.0,
            "ordered" => {
                let occurring: Vec<f64> = (0..5).filter(|&v| q[v] > 0.0).map(|v| d[v]).collect();
                let steps = occurring.len() - 1;
                let running = (0..steps).map(|to| occurring[..=to].iter().sum::<f64>().abs());
                if steps == 0 {
                    0.0
                } else {
                    running.sum::<f64>() / steps as f64
                }
            }
            _ => {
                // Missing stands alone below the top.
                let exchanged = |left: f64, right: f64| {
                    if left * right < 0.0 {
                        left.abs().min(right.abs())
                    } else {
                        0.0
                    }
                };
                let within = exchanged(d[0], d[1]) + exchanged(d[2], d[3]);
                let between = [d[0] + d[1], d[2] + d[3], d[4]];
                within / 2.0 + between.iter().map(|extra| extra.max(0.0)).sum::<f64>()
            }
        }
    }

    /// Whether a class meets a model by itself; table models are met by all.
    fn ok(&self, model: &Value, class: &[usize]) -> bool {
        let number = |name: &str| parameter(model, name);
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let (p, q) = (self.shares(class), self.shares(&all));
        let mut held: Vec<f64> = self.counts(class)[..4]
            .iter()
            .copied()
            .filter(|&count| count > 0.0)
            .collect();
        held.sort_by(|left, right| right.total_cmp(left));
        let exempt = model["missing"] == "exempt" && held.is_empty();
        let size = self.size(class) as f64;
        match name(model) {
            "k_anonymity" => size >= number("k"),
            "maximum_risk" => 1.0 / size <= number("max") + 1e-12,
            "distinct_l_diversity" => exempt || held.len() as f64 >= number("l"),
            "entropy_l_diversity" => {
                let total: f64 = held.iter().sum();
                let entropy: f64 = held
                    .iter()
                    .map(|count| -(count / total) * (count / total).log2())
                    .sum();
                exempt || (!held.is_empty() && entropy >= number("l").log2() - 1e-12)
            }
            "recursive_cl_diversity" => {
                let tail: f64 = (1..)
                    .zip(&held)
                    .filter(|&(place, _)| f64::from(place) >= number("l"))
                    .map(|(_, count)| count)
                    .sum();
                exempt || (tail > 0.0 && held[0] < number("c") * tail - 1e-12)
            }
            "t_closeness" => {
                model["reference"] == "released"
                    || self.distance(model, class, &all) <= number("t") + 1e-12
            }
            "delta_disclosure" => (0..5).all(|v| match (p[v] > 0.0, q[v] > 0.0) {
                (false, false) => true,
                (false, true) => model["mode"] == "arx",
                _ if model["mode"] == "arx" => (p[v] / q[v]).log2().abs() < number("delta") - 1e-12,
                _ => (p[v] / q[v]).ln().abs() < number("delta") - 1e-12,
            }),
            "beta_likeness" => (0..5).all(|v| {
                let enhanced = model["enhanced"] == true && q[v] > 0.0;
                let cap = if enhanced {
                    number("beta").min(-q[v].ln())
                } else {
                    number("beta")
                };
                p[v] <= q[v] || (p[v] - q[v]) / q[v] <= cap + 1e-12
            }),
            "alpha_k" => {
                let counts = self.counts(class);
                let protected = if model["values"].is_null() {
                    vec![0, 1, 2, 3]
                } else {
                    vec![0, 2]
                };
                let worst = protected
                    .into_iter()
                    .map(|v| counts[v] / size)
                    .fold(0.0, f64::max);
                size >= number("k") && worst <= number("alpha") + 1e-12
            }
            _ => true,
        }
    }

    /// One step of the table models: the classes to withdraw, by the first model that objects; means come last.
    fn withdrawn(&self, kept: &BTreeMap<&str, Vec<usize>>) -> Vec<String> {
        let all: Vec<usize> = kept.values().flatten().copied().collect();
        for model in self
            .models
            .iter()
            .filter(|model| model["reference"] == "released")
        {
            let t = parameter(model, "t") + 1e-12;
            let far = kept
                .iter()
                .filter(|(_, class)| self.distance(model, class, &all) > t);
            let far: Vec<String> = far.map(|(label, _)| (*label).to_owned()).collect();
            if !far.is_empty() {
                return far;
            }
        }
        let mut by_size: Vec<(usize, &str)> = kept
            .iter()
            .map(|(label, class)| (self.size(class), *label))
            .collect();
        by_size.sort_unstable();
        let people: usize = by_size.iter().map(|(size, _)| size).sum();
        for model in self
            .models
            .iter()
            .filter(|model| model["model"] == "average_risk")
        {
            if by_size.len() as f64 > parameter(model, "max") * people as f64 + 1e-9 {
                return vec![by_size[0].1.to_owned()];
            }
        }
        Vec::new()
    }

    /// Rows that leave, by the definitions.
    fn naive(&self) -> (Vec<bool>, u64) {
        let mut kept: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            kept.entry(PATHS[row.1][self.level])
                .or_default()
                .push(number);
        }
        kept.retain(|_, class| self.models.iter().all(|model| self.ok(model, class)));
        loop {
            let leaving = self.withdrawn(&kept);
            if leaving.is_empty() {
                break;
            }
            kept.retain(|label, _| !leaving.iter().any(|leaving| leaving == label));
        }
        let mut out = vec![true; self.rows.len()];
        kept.values().flatten().for_each(|&row| out[row] = false);
        (out, kept.len() as u64)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_released_under_any_models_is_what_the_definitions_say(case in case()) {
        let data = case.data();
        let asked = json!({ "privacy": case.models, "levels": { "grp": case.level } });
        let models = kindred::declaration::MeasureDemand::parse(&asked, &data.declaration).unwrap().privacy;
        let levels = [("grp".to_owned(), case.level)].into();
        let found = suppress(&data.table, &data.schema, &levels, &models).unwrap();
        let (suppressed, classes) = case.naive();
        prop_assert_eq!((&found.suppressed, found.classes), (&suppressed, classes));
        let measured = data.measure(&asked);
        let out = suppressed.iter().filter(|&&out| out).count() as u64;
        prop_assert_eq!((measured.violating_rows, measured.satisfied), (out, out == 0));
        let recipe = Recipe {
            recoding: Recoded::FullDomain(&levels), privacy: &models, row_order: RowOrder::Shuffled, seed: 3, columns: None,
            suppressed_rows: SuppressedRows::Omit,
        };
        let rendered = render(&data.table, &data.schema, &recipe).unwrap();
        let verified = verify(&data.table, &data.schema, &recipe, Fraction::ONE, &rendered);
        prop_assert_eq!(verified.is_ok(), classes > 0, "{:?}", verified);
        // Row order changes nothing.
        let mut reversed = case.clone();
        reversed.rows.reverse();
        let data = reversed.data();
        let mut found = suppress(&data.table, &data.schema, &levels, &models).unwrap();
        found.suppressed.reverse();
        prop_assert_eq!(found.suppressed, suppressed);
    }
}
