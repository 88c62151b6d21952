//! Whatever part of the engine is left out, the answer is the same: cells, tables of prefixes, sizes alone, incumbents.

use kindred::anonymize::report::Front;
use kindred::anonymize::{Effort, Limits, Outcome, Switches, Task, Unobserved, anonymize_with};
use serde_json::{Value, json};

use crate::tables::{ADULT, Data, adult, data, exact, k, l, two_levels};

fn search(data: &Data, body: &Value, switches: Switches) -> (Front, Effort) {
    search_within(data, body, switches, 1 << 22)
}

fn search_within(
    data: &Data,
    body: &Value,
    switches: Switches,
    cache_bytes: usize,
) -> (Front, Effort) {
    let demand = data.demand(body);
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits: Limits {
            exact_search_space: 1 << 20,
            cache_bytes,
        },
    };
    let (outcome, effort) = anonymize_with(&task, &Unobserved, switches);
    match outcome.expect("it runs") {
        Outcome::Front(front) => (front, effort),
        other => panic!("no front but {other:?}"),
    }
}

/// Every part left out by itself, and all.
fn all_switches() -> [Switches; 5] {
    let all = Switches::default();
    [
        Switches {
            cells: false,
            ..all
        },
        Switches {
            prefixes: false,
            ..all
        },
        Switches {
            sizes: false,
            ..all
        },
        Switches {
            incumbents: false,
            ..all
        },
        Switches {
            cells: false,
            prefixes: false,
            sizes: false,
            incumbents: false,
        },
    ]
}

fn the_answer_stays(data: &Data, body: &Value) {
    let (front, effort) = search(data, body, Switches::default());
    assert!(front.search.certified && effort.visits > 0);
    for switches in all_switches() {
        let (other, effort) = search(data, body, switches);
        assert_eq!(other.solutions, front.solutions, "{switches:?} on {body}");
        assert_eq!(other.hypervolume, front.hypervolume);
        if !switches.cells {
            assert_eq!(effort.cells, front.rows_in);
        } else if switches.incumbents {
            // Judged are the same policies, so the proof is the same. (The number of cells enters some bounds.)
            assert_eq!(
                other.certificate, front.certificate,
                "{switches:?} on {body}"
            );
        }
    }
}

/// Rows of so many attributes of so many values each; half of them stand twice or more often.
fn many(attributes: usize, values: usize, rows: usize) -> Data {
    let names: Vec<String> = (0..attributes).map(|number| format!("a{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let line = |row: usize| {
        let alike = if row % 4 < 2 { row } else { row % 8 };
        let cell =
            |column: usize| ((alike * (2 * column + 7) + alike / 3 * column) % values).to_string();
        (0..attributes).map(cell).collect::<Vec<_>>().join(",")
    };
    let lines: Vec<String> = (0..rows).map(line).collect();
    data(Value::from(two_levels(&names)), &lines)
}

#[test]
fn on_adult_by_every_measure_that_sums_over_classes() {
    let data = adult(&ADULT[..6], None);
    for objectives in [
        &["loss"][..],
        &["generalization_depth", "suppression"],
        &["discernibility", "non_uniform_entropy"],
        &["ambiguity", "average_class_size"],
    ] {
        the_answer_stays(&data, &exact(&[k(5)], 0.3, objectives));
    }
}

#[test]
fn on_adult_with_diversity() {
    let data = adult(&ADULT[..5], Some("occupation"));
    let body = exact(&[k(5), l("occupation", 3)], 0.3, &["loss", "suppression"]);
    the_answer_stays(&data, &body);
}

#[test]
fn on_keys_of_up_to_64_128_and_more_bits_and_on_wide_columns() {
    // Bits of the lowest policy: 56, 84, 72 (nine to an attribute, beyond a byte), 144.
    for (attributes, values) in [(8, 100), (12, 100), (8, 300), (12, 3000)] {
        let data = many(attributes, values, 600);
        the_answer_stays(&data, &exact(&[k(3)], 1.0, &["loss"]));
        the_answer_stays(
            &data,
            &exact(&[k(2)], 0.5, &["generalization_depth", "suppression"]),
        );
    }
}

#[test]
fn a_demand_of_maximum_risk_is_one_of_sizes() {
    let data = adult(&ADULT[..5], None);
    let risk = json!({ "model": "maximum_risk", "max": 0.1 });
    let (of_risk, _) = search(&data, &exact(&[risk], 0.3, &["loss"]), Switches::default());
    let (of_k, _) = search(&data, &exact(&[k(10)], 0.3, &["loss"]), Switches::default());
    assert_eq!(of_risk.solutions[0].recoding, of_k.solutions[0].recoding);
    assert_eq!(
        of_risk.solutions[0].suppressed_rows,
        of_k.solutions[0].suppressed_rows
    );
}

#[test]
fn kept_tables_stay_within_their_bytes_and_change_nothing_but_the_work() {
    let data = adult(&ADULT[..6], Some("occupation"));
    for models in [vec![k(5)], vec![k(5), l("occupation", 2)]] {
        let body = exact(&models, 0.3, &["loss", "suppression"]);
        let within = |bytes| search_within(&data, &body, Switches::default(), bytes);
        let (front, ample) = within(1 << 28);
        let tight = usize::try_from(ample.kept_bytes / 3).expect("few bytes");
        let (other, some) = within(tight);
        assert!(some.kept_bytes > 0 && some.kept_bytes <= tight as u64);
        assert_eq!(
            (&other.solutions, &other.certificate),
            (&front.solutions, &front.certificate)
        );
        let (other, none) = within(0);
        assert_eq!(none.kept_bytes, 0);
        assert_eq!(
            (&other.solutions, &other.certificate),
            (&front.solutions, &front.certificate)
        );
        assert!(ample.visits < some.visits && some.visits < none.visits);
    }
}
