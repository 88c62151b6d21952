//! Local search, incumbents before a proof, boxes, and what an observer is told.

use std::sync::Mutex;

use kindred::anonymize::certificate::check;
use kindred::anonymize::report::Front;
use kindred::anonymize::{Limits, Observer, Outcome, Progress, Stop, Task, anonymize};
use kindred::declaration::SearchMethod;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::laws::{BOTH, case, front_of, run};
use crate::tables::{ADULT, Data, adult, data, k};

/// Keeps every note; stops after so many questions.
#[derive(Default)]
struct Notes {
    told: Mutex<Vec<Progress>>,
    asked: Mutex<u64>,
    stops_after: Option<u64>,
}

impl Observer for Notes {
    fn must_stop(&self) -> Option<Stop> {
        let mut asked = self.asked.lock().expect("no poison");
        *asked += 1;
        let most = self.stops_after?;
        (*asked > most).then_some(Stop::OutOfTime)
    }
    fn report(&self, progress: Progress) {
        self.told.lock().expect("no poison").push(progress);
    }
}

fn with(data: &Data, body: &Value, cache_bytes: usize, observer: &Notes) -> Outcome {
    let demand = data.demand(body);
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits: Limits {
            exact_search_space: 20_000,
            cache_bytes,
        },
    };
    anonymize(&task, observer).expect("the task can be run")
}

fn text(front: &Front) -> String {
    serde_json::to_string(front).expect("JSON")
}

fn loss(search: &Value, models: &Value) -> Value {
    json!({
        "privacy": models, "suppression_limit": 0.3, "search": search, "objectives": ["loss"],
        "loss": { "aggregate": "geometric" },
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Without memory for the numbers that neighbours share, classes are grouped in the ordinary way.
    #[test]
    fn local_search_is_bounded_by_the_optimum_and_the_same_however_it_groups(
        case in case(), seed in 0_u64..1000, most in 1_u64..40,
        objective in prop::sample::select(vec!["loss", "suppression", "average_class_size", "average_risk"]),
    ) {
        let data = case.data();
        let local = case.demand(
            &json!({ "method": "local_search", "seed": seed, "max_evaluations": most }), &[objective],
        );
        let exact = front_of(run(&data, &case.demand(&json!({ "method": "exact" }), &[objective]), 2));
        let found = front_of(run(&data, &local, 1));
        prop_assert!(found.search.evaluations <= most.min(32));
        prop_assert_eq!(text(&found), text(&front_of(run(&data, &local, 3))));
        prop_assert_eq!(text(&found), text(&front_of(with(&data, &local, 0, &Notes::default()))));
        for solution in &found.solutions {
            prop_assert!(solution.privacy.k >= 1);
            let best = exact.solutions[0].objectives[objective];
            prop_assert!(solution.objectives[objective] >= best);
            let levels = serde_json::to_value(&solution.recoding).unwrap()["levels"].clone();
            let fixed = case.demand(&json!({ "method": "fixed", "levels": levels }), &[objective]);
            let fixed = front_of(run(&data, &fixed, 1));
            prop_assert_eq!(&fixed.solutions[0].objectives, &solution.objectives);
            prop_assert_eq!(fixed.solutions[0].suppressed_rows, solution.suppressed_rows);
        }
    }

    #[test]
    fn boxes_keep_a_part_of_the_front_and_leave_no_policy_far_from_it(
        case in case(), seed in 0_u64..1000, side in prop::sample::select(vec![0.01, 0.1, 0.25, 2.0]),
    ) {
        let data = case.data();
        let mut search = json!({ "method": "nsga2", "population": 6, "generations": 3, "seed": seed });
        let whole = front_of(run(&data, &case.demand(&search, &BOTH), 2));
        search["epsilon"] = json!(side);
        let thin = front_of(run(&data, &case.demand(&search, &BOTH), 2));
        prop_assert_eq!(thin.search.evaluations, whole.search.evaluations);
        prop_assert_eq!(thin.solutions.is_empty(), whole.solutions.is_empty());
        let levels = |front: &Front| -> Vec<_> {
            front.solutions.iter().map(|solution| solution.recoding.clone()).collect()
        };
        let all = levels(&whole);
        prop_assert!(levels(&thin).iter().all(|kept| all.contains(kept)));
        for gone in &whole.solutions {
            let near = thin.solutions.iter().any(|kept| {
                BOTH.iter().all(|&name| kept.objectives[name] < gone.objectives[name] + side + 1e-9)
            });
            prop_assert!(near);
        }
    }
}

#[test]
fn local_search_finds_the_optimum_of_nine_columns_of_adult() {
    let data = adult(&ADULT, None);
    let models = json!([k(5)]);
    let exact = data.front(&loss(&json!({ "method": "exact" }), &models));
    let best = exact.solutions[0].objectives["loss"];
    let local =
        json!({ "method": "local_search", "seed": 1, "max_evaluations": 1500, "max_seconds": 600 });
    let Outcome::Stopped(front) = data.search(&loss(&local, &models)) else {
        panic!("the budget did not end the search");
    };
    assert_eq!(front.search.method, SearchMethod::LocalSearch);
    assert_eq!(front.search.evaluations, 1500);
    assert!(!front.search.complete && !front.search.certified);
    assert!((front.solutions[0].objectives["loss"] - best).abs() < 1e-12);
}

#[test]
fn local_search_takes_criteria_that_look_at_distributions() {
    let data = adult(&ADULT[..7], Some("occupation"));
    let models = json!([
        k(5),
        { "model": "t_closeness", "attribute": "occupation", "distance": "equal", "t": 0.3 },
    ]);
    let exact = data.front(&loss(&json!({ "method": "exact" }), &models));
    let local = loss(
        &json!({ "method": "local_search", "max_evaluations": 300 }),
        &models,
    );
    let front = front_of(with(&data, &local, 1 << 28, &Notes::default()));
    let again = front_of(with(&data, &local, 0, &Notes::default()));
    assert_eq!(text(&front), text(&again));
    let (best, found) = (&exact.solutions[0], &front.solutions[0]);
    assert!(found.objectives["loss"] >= best.objectives["loss"]);
    assert!(found.privacy.k >= 5);
}

#[test]
fn incumbents_before_the_proof_change_nothing_but_the_proof() {
    let data = adult(&ADULT[..7], Some("occupation"));
    let models =
        json!([k(5), { "model": "distinct_l_diversity", "attribute": "occupation", "l": 2 }]);
    for objectives in [
        json!(["loss"]),
        json!(["generalization_depth", "suppression"]),
    ] {
        let mut body = loss(&json!({ "method": "exact" }), &models);
        body["objectives"] = objectives;
        let exact = data.front(&body);
        body["search"] = json!({ "method": "auto", "population": 20, "seed": 9 });
        let auto = data.front(&body);
        assert_eq!(auto.search.method, SearchMethod::Exact);
        assert!(auto.search.complete && auto.search.certified);
        assert_eq!(
            serde_json::to_string(&auto.solutions).unwrap(),
            serde_json::to_string(&exact.solutions).unwrap()
        );
        let demand = data.demand(&body);
        let task = Task {
            table: &data.table,
            schema: &data.schema,
            demand: &demand,
            limits: Limits {
                exact_search_space: 20_000,
                cache_bytes: 0,
            },
        };
        let replay = check(&task, &auto.certificate.expect("a certificate")).unwrap();
        let replay = replay.expect("it holds");
        assert_eq!(replay.pivots, auto.search.evaluations);
    }
}

#[test]
fn auto_that_runs_out_has_the_best_so_far_and_says_why_it_is_not_certified() {
    let data = adult(&ADULT[..8], Some("salary-class"));
    let models = json!([k(5)]);
    let mut body = loss(&json!({}), &models);
    body["objectives"] = json!(["generalization_depth", "suppression"]);
    // Within the incumbents, and within the proof.
    for (most, method) in [(30, SearchMethod::Nsga2), (220, SearchMethod::Exact)] {
        body["search"] = json!({ "method": "auto", "population": 50 });
        let notes = Notes {
            stops_after: Some(most),
            ..Notes::default()
        };
        let Outcome::Stopped(front) = with(&data, &body, 1 << 28, &notes) else {
            panic!("not stopped");
        };
        assert_eq!(front.search.method, method);
        assert!(!front.solutions.is_empty());
        assert!(!front.search.complete && !front.search.certified);
        let why = front.search.uncertified.expect("a reason");
        assert!(why.contains("ended before every policy"), "{why}");
    }
    body["search"] = json!({ "method": "auto", "population": 50, "max_evaluations": 200 });
    let Outcome::Stopped(front) = with(&data, &body, 1 << 28, &Notes::default()) else {
        panic!("not stopped");
    };
    assert_eq!(
        (front.search.evaluations, front.search.complete),
        (200, false)
    );
    assert!(!front.solutions.is_empty());
}

#[test]
fn progress_never_falls_and_tells_of_policies_excluded_as_well() {
    let data = adult(&ADULT[..8], Some("salary-class"));
    for (search, objectives) in [
        (json!({ "method": "exact" }), json!(["loss"])),
        (json!({ "method": "exact" }), json!(BOTH)),
        (json!({ "method": "auto", "population": 20 }), json!(BOTH)),
        (
            json!({ "method": "nsga2", "population": 20, "generations": 10 }),
            json!(BOTH),
        ),
        (
            json!({ "method": "local_search", "max_evaluations": 400 }),
            json!(["loss"]),
        ),
    ] {
        let mut body = loss(&search, &json!([k(5)]));
        body["objectives"] = objectives;
        let notes = Notes::default();
        let front = front_of(with(&data, &body, 1 << 28, &notes));
        let notes = notes.told.into_inner().unwrap();
        assert!(notes.len() >= 10, "{search}: {} notes", notes.len());
        assert!(
            notes.is_sorted_by(|before, after| before.fraction <= after.fraction
                && before.evaluations <= after.evaluations),
            "{search}"
        );
        let last = notes.last().expect("a note");
        assert!(last.evaluations <= front.search.evaluations);
        if front.search.certified {
            assert!(last.fraction > 0.9, "{search}: {}", last.fraction);
            let settled = last.fraction * 6480.0;
            assert!(settled > front.search.evaluations as f64);
        }
        // A proof may exclude most policies at once; whatever else is searched goes on by small steps.
        let mut middle = notes
            .iter()
            .filter(|note| (0.2..0.8).contains(&note.fraction));
        assert!(
            front.search.certified || middle.nth(1).is_some(),
            "{search}"
        );
    }
}

/// Attributes of three levels and two bits each.
fn attributes(count: usize) -> Data {
    let attribute = |number: usize| {
        json!({
            "name": format!("a{number}"), "role": "quasi_identifying",
            "hierarchy": { "kind": "table", "text": "a;x;*\nb;x;*\nc;y;*\nd;y;*" },
        })
    };
    let row = |row: usize| {
        let cell = |column: usize| ["a", "b", "c", "d"][(row / 3 * (column + 1) + row % 3 / 2) % 4];
        (0..count).map(cell).collect::<Vec<_>>().join(",")
    };
    data(
        (0..count).map(attribute).collect(),
        &(0..40).map(row).collect::<Vec<_>>(),
    )
}

// Keys of 82 bits and of 140.
#[test]
fn spaces_beyond_64_bits_are_grouped_alike_from_shared_numbers_and_from_cells() {
    for (count, space) in [
        (41, "36472996377170786403"),
        (70, "2503155504993241601315571986085849"),
    ] {
        let data = attributes(count);
        let body = loss(
            &json!({ "method": "auto", "seed": 4, "max_evaluations": 900 }),
            &json!([k(3)]),
        );
        let front = front_of(with(&data, &body, 1 << 28, &Notes::default()));
        assert_eq!(front.search.method, SearchMethod::LocalSearch);
        assert_eq!(front.search.search_space, space);
        assert!(front.solutions[0].privacy.k >= 3);
        let ordinary = front_of(with(&data, &body, 0, &Notes::default()));
        assert_eq!(text(&front), text(&ordinary));
    }
}
