//! Cuts end to end, without a service: search, render, verify.

use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::report::{Front, RecodingReport, Solution};
use kindred::anonymize::verify::verify;
use kindred::anonymize::{Limits, Observer, Outcome, Progress, Stop, Task, anonymize};
use kindred::declaration::{RowOrder, SuppressedRows};
use serde_json::{Value, json};

use crate::tables::{ADULT, Data, adult, data, plain};

fn body(method: &str, more: &Value) -> Value {
    let mut body = json!({ "recoding": "subtree", "suppression_limit": 0.1,
        "privacy": [{ "model": "k_anonymity", "k": 3 }, { "model": "distinct_l_diversity", "attribute": "dx", "l": 2 }],
        "search": { "method": method, "seed": 5 } });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

/// Ages by decade, places by two levels of an unbalanced table, sex; `turned` reverses the rows.
fn clinic(turned: bool) -> Data {
    let places = "n1;north;*\nn2;north;*\nn3;north;*\ns1;south;*\ns2;south;*\nw1;w1;*";
    let attributes = json!([
        json!({ "name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": { "kind": "intervals", "origin": 0, "widths": [5, 10, 20, 40], "lower": 0, "upper": 120 } }),
        json!({ "name": "place", "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": places } }),
        plain("quasi_identifying", "sex"),
        plain("sensitive", "dx"),
    ]);
    let mut state = 11_u64;
    let mut draw = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut rows: Vec<[String; 4]> = (0..400)
        .map(|_| {
            let age = 20 + draw(30) + draw(30);
            let place = ["n1", "n1", "n2", "n3", "s1", "s1", "s2", "w1", ""]
                [usize::try_from(draw(9)).expect("small")];
            let sex = ["F", "M"][usize::try_from(draw(2)).expect("small")];
            let dx = ["flu", "asthma", "cancer"][usize::try_from(draw(3)).expect("small")];
            [
                age.to_string(),
                place.to_owned(),
                sex.to_owned(),
                dx.to_owned(),
            ]
        })
        .collect();
    if turned {
        rows.reverse();
    }
    let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
    data(attributes, &lines)
}

fn rendered(data: &Data, solution: &Solution, body: &Value) -> (Rendered, Result<(), Vec<String>>) {
    let demand = data.demand(body);
    let recipe = Recipe {
        recoding: solution.recoding.recoded(),
        privacy: &demand.privacy,
        row_order: RowOrder::Input,
        seed: 1,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let rendered = render(&data.table, &data.schema, &recipe).expect("it can be rendered");
    let verified = verify(
        &data.table,
        &data.schema,
        &recipe,
        demand.suppression_limit,
        &rendered,
    );
    let verified = verified.map(|found| {
        assert_eq!(found.released_rows, solution.released_rows);
        assert_eq!(
            (found.classes, found.k),
            (solution.classes, solution.privacy.k)
        );
    });
    (rendered, verified.map_err(|failure| failure.failures))
}

#[test]
fn every_solution_of_every_method_renders_and_passes_the_verifier() {
    let data = clinic(false);
    for method in ["tds", "bug", "hybrid", "auto", "genetic_cuts"] {
        let mut body = body(
            method,
            &json!({ "objectives": ["loss", "suppression", "information_gain"] }),
        );
        if method == "genetic_cuts" {
            body["search"]["population"] = json!(20);
            body["search"]["generations"] = json!(10);
        }
        let front = data.front(&body);
        assert!(!front.solutions.is_empty());
        for solution in &front.solutions {
            let (_, verified) = rendered(&data, solution, &body);
            assert_eq!(verified, Ok(()), "{method}");
            let utility = solution.utility.as_ref().expect("its utility");
            let gained = utility.information_gain.expect("a label");
            assert!((gained - solution.objectives["information_gain"]).abs() < 1e-12);
            let losses: f64 = utility.granularity.values().map(|kept| 1.0 - kept).sum();
            assert!((losses / 3.0 - solution.objectives["loss"]).abs() < 1e-9);
            assert!((0.0..=1.0).contains(&utility.precision));
        }
    }
}

#[test]
fn cuts_reach_branches_to_different_depths_and_beat_every_policy_of_levels() {
    let data = clinic(false);
    let demand = json!({ "objectives": ["loss"] });
    let cuts = data.front(&body("genetic_cuts", &demand));
    let mut levels = body("exact", &demand);
    levels["recoding"] = json!("full_domain");
    let levels = data.front(&levels);
    let least = |front: &Front| front.solutions[0].objectives["loss"];
    assert!(
        least(&cuts) < least(&levels),
        "{} {}",
        least(&cuts),
        least(&levels)
    );
    let greedy = data.front(&body("hybrid", &demand));
    assert!(least(&cuts) <= least(&greedy));
    let RecodingReport::Subtree { specialized, .. } = &cuts.solutions[0].recoding else {
        panic!("not a cut");
    };
    let ages = &specialized["age"];
    assert_eq!(ages[0].labels, ["*"]);
    assert!(ages.iter().all(|path| path.level + path.labels.len() == 6));
}

#[test]
fn neither_threads_nor_the_order_of_rows_change_a_front_of_cuts() {
    let text = |data: &Data, body: &Value, threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        serde_json::to_string(&pool.install(|| data.front(body))).expect("a front is JSON")
    };
    for method in ["tds", "bug", "hybrid", "genetic_cuts"] {
        let mut body = body(method, &json!({}));
        body["search"]["score"] = json!("information");
        if method == "genetic_cuts" {
            body["search"]["population"] = json!(16);
            body["search"]["generations"] = json!(8);
        }
        let one = text(&clinic(false), &body, 1);
        assert_eq!(one, text(&clinic(false), &body, 4), "{method}");
        assert_eq!(one, text(&clinic(true), &body, 2), "{method}");
    }
}

#[test]
fn the_verifier_refuses_labels_and_cuts_that_were_tampered_with() {
    let data = clinic(false);
    let body = body("tds", &json!({}));
    let mut solution = data.front(&body).solutions.swap_remove(0);
    let sound = solution.clone();
    let refused = |solution: &Solution| {
        let (_, verified) = rendered(&data, solution, &body);
        verified.expect_err("it is refused")
    };
    if let RecodingReport::Subtree { cuts, .. } = &mut solution.recoding {
        let labels = cuts.get_mut("age").expect("its cut");
        labels.push("[0, 5)".to_owned());
    }
    let failures = refused(&solution);
    assert_eq!(failures, ["cut of `age`: the labels are not those stated"]);
    // Nodes whose parent is not specialised.
    if let RecodingReport::Subtree { specialized, .. } = &mut solution.recoding {
        let nodes = specialized.get_mut("age").expect("its nodes");
        nodes.retain(|path| path.labels.len() != 1);
    }
    let failures = refused(&solution);
    let is_told = |failure: &String| failure.contains("their parents are not");
    assert!(failures.iter().any(is_told), "{failures:?}");
    // A released label of another value.
    let demand = data.demand(&body);
    let recipe = Recipe {
        recoding: sound.recoding.recoded(),
        privacy: &demand.privacy,
        row_order: RowOrder::Input,
        seed: 1,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let mut changed = render(&data.table, &data.schema, &recipe).expect("it can be rendered");
    let row = changed.order[0] as usize;
    let column = &mut changed.columns[0];
    let other = (0..)
        .take(column.labels.len())
        .find(|&code| code != column.codes[row])
        .expect("another label");
    column.codes[row] = other;
    let failures = verify(
        &data.table,
        &data.schema,
        &recipe,
        demand.suppression_limit,
        &changed,
    )
    .expect_err("a wrong label");
    assert!(
        failures
            .failures
            .iter()
            .any(|failure| failure.starts_with("labels of `age`"))
    );
}

#[test]
fn budgets_end_a_search_with_what_it_has() {
    let data = clinic(false);
    let few = |method: &str| {
        let mut body = body(method, &json!({}));
        body["search"]["max_evaluations"] = json!(5);
        data.search(&body)
    };
    let Outcome::Stopped(front) = few("tds") else {
        panic!("not stopped")
    };
    assert_eq!(
        (front.search.evaluations, front.solutions.is_empty()),
        (5, false)
    );
    assert!(matches!(few("bug"), Outcome::Stopped(_)));
    assert!(matches!(few("genetic_cuts"), Outcome::Stopped(_)));
}

/// Cancels after so many questions.
struct Cancelling(std::sync::atomic::AtomicU64);

impl Observer for Cancelling {
    fn must_stop(&self) -> Option<Stop> {
        let left = self.0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        (left == 0 || left > u64::MAX / 2).then_some(Stop::Cancelled)
    }
    fn report(&self, _: Progress) {}
}

#[test]
fn a_cancelled_search_has_no_answer() {
    let data = clinic(false);
    for method in ["tds", "bug", "hybrid", "genetic_cuts"] {
        let demand = data.demand(&body(method, &json!({})));
        let task = Task {
            table: &data.table,
            schema: &data.schema,
            demand: &demand,
            limits: Limits {
                exact_search_space: 1,
                cache_bytes: 1,
            },
        };
        let outcome = anonymize(&task, &Cancelling(7.into())).expect("it can be run");
        assert!(matches!(outcome, Outcome::Cancelled), "{method}");
    }
}

#[test]
fn what_no_cut_can_meet_is_infeasible() {
    let data = clinic(false);
    let body = body(
        "hybrid",
        &json!({ "privacy": [
        { "model": "k_anonymity", "k": 2 }, { "model": "entropy_l_diversity", "attribute": "dx", "l": 3 }] }),
    );
    assert!(
        matches!(data.search(&body), Outcome::Infeasible(reason, _) if reason.code == "not_found")
    );
}

// The adult table, nine attributes, k = 5: with a tenth to suppress, both greedy ways reach the loss of the best policy
// of levels, .227700 (algorithms.md G.2, A9).
#[test]
fn on_adult_the_greedy_ways_reach_the_best_policy_of_levels() {
    let data = adult(&ADULT, None);
    for method in ["tds", "bug"] {
        let body = json!({ "recoding": "subtree", "suppression_limit": 0.1, "objectives": ["loss"],
            "privacy": [{ "model": "k_anonymity", "k": 5 }], "search": { "method": method } });
        let front = data.front(&body);
        let loss = front.solutions[0].objectives["loss"];
        assert!(loss < 0.227_701, "{method}: {loss}");
    }
}
