//! Searches on tables small enough for paper: worked examples of algorithms.md F and cases of user-cases.md.

use kindred::anonymize::classes::suppress;
use kindred::anonymize::{Observer, Outcome, Progress, Stop, Task, anonymize};
use serde_json::{Value, json};

use crate::tables::{Data, age_and_dx, data, exact, k, l, levels, plain, two_levels};
/// T8 of algorithms.md F: age (exact, 10, 20, `*`), zip (5, 3, 1 digits, `*`), sex (exact, `*`), diagnosis.
fn t8() -> Data {
    let age = json!({
        "name": "age", "role": "quasi_identifying", "type": "integer",
        "hierarchy": { "kind": "intervals", "origin": 20, "widths": [10, 20], "lower": 20, "upper": 80 },
    });
    let zip = json!({
        "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] },
    });
    let attributes = json!([
        age,
        zip,
        plain("quasi_identifying", "sex"),
        plain("sensitive", "diagnosis"),
    ]);
    let rows = [
        "23,10115,F,flu",
        "27,10117,F,flu",
        "25,10119,F,asthma",
        "28,10245,M,flu",
        "41,20095,M,cancer",
        "45,20099,M,flu",
        "48,20097,F,cancer",
        "62,30159,F,asthma",
    ];
    data(attributes, &rows)
}

const T8_NAMES: [&str; 3] = ["age", "zip", "sex"];

fn t8_demand(limit: f64, search: &Value, objectives: &Value) -> Value {
    json!({
        "privacy": [k(2), l("diagnosis", 2)],
        "suppression_limit": limit,
        "search": search,
        "objectives": objectives,
    })
}

fn t8_at(levels: [usize; 3], limit: f64) -> Outcome {
    let levels = json!({ "age": levels[0], "zip": levels[1], "sex": levels[2] });
    let search = json!({ "method": "fixed", "levels": levels });
    t8().search(&t8_demand(
        limit,
        &search,
        &json!(["generalization_depth", "suppression", "loss"]),
    ))
}

#[test]
fn worked_example_1_is_infeasible_at_thirty_percent() {
    let Outcome::Infeasible(reason, front) = t8_at([1, 2, 0], 0.30) else {
        panic!("feasible");
    };
    assert_eq!(reason.code, "suppression_limit");
    assert!(reason.detail.contains("suppress 3 of 8 rows") && reason.detail.contains("2 may"));
    assert!(front.solutions.is_empty() && front.recommended.is_none());
    let levels = [("age", 1), ("zip", 2), ("sex", 0)].map(|(name, level)| (name.to_owned(), level));
    let data = t8();
    let models = data
        .demand(&t8_demand(
            0.3,
            &json!({ "method": "exact" }),
            &json!(["loss"]),
        ))
        .privacy;
    let kept = suppress(&data.table, &data.schema, &levels.into(), &models).unwrap();
    // r1, r2, r3 and r5, r6 stay.
    assert_eq!(
        kept.suppressed,
        [false, false, false, true, false, false, true, true]
    );
    assert_eq!(kept.classes, 2);
}

#[test]
fn worked_examples_2_and_8_depth_suppression_and_loss() {
    let Outcome::Front(front) = t8_at([2, 2, 1], 0.30) else {
        panic!("infeasible");
    };
    let solution = &front.solutions[0];
    let objectives = &solution.objectives;
    assert!((objectives["generalization_depth"] - 7.0 / 9.0).abs() < 1e-12);
    assert!((objectives["suppression"] - 0.125).abs() < 1e-12);
    assert!((objectives["loss"] - 0.617_74).abs() < 1e-5);
    assert_eq!(
        (
            solution.released_rows,
            solution.suppressed_rows,
            solution.classes
        ),
        (7, 1, 2)
    );
    assert_eq!(
        (
            solution.privacy.k,
            solution.privacy.sensitive["diagnosis"].distinct_l
        ),
        (3, 2)
    );
}

#[test]
fn worked_example_3_the_exact_front_of_t8() {
    let search = json!({ "method": "exact" });
    let objectives = json!(["generalization_depth", "suppression"]);
    let front = t8().front(&t8_demand(0.30, &search, &objectives));
    let found: Vec<_> = front
        .solutions
        .iter()
        .map(|solution| (levels(solution, &T8_NAMES), solution.suppressed_rows))
        .collect();
    assert_eq!(found, [(vec![1, 1, 1], 2), (vec![3, 3, 0], 0)]);
    assert_eq!(front.recommended, Some(0));
    assert_eq!(
        front.recommendation_rule,
        "least generalization_depth, then least suppression"
    );
    assert_eq!(&*front.search.search_space, "32");
    assert!(front.search.evaluations <= 32 && front.search.certified);
}

#[test]
fn worked_example_4_without_a_limit_one_more_point() {
    let search = json!({ "method": "exact" });
    let objectives = json!(["generalization_depth", "suppression"]);
    let front = t8().front(&t8_demand(1.0, &search, &objectives));
    let first = &front.solutions[0];
    assert_eq!(
        (levels(first, &T8_NAMES), first.suppressed_rows),
        (vec![1, 1, 0], 3)
    );
    assert_eq!(front.solutions.len(), 3);
}

#[test]
fn uc_31_a_class_under_k_is_suppressed_whatever_its_label() {
    let rows: Vec<String> = [("a", 4), ("b", 3), ("c", 3), ("d", 1), ("e", 1)]
        .iter()
        .flat_map(|&(group, size)| std::iter::repeat_n(group.to_owned(), size))
        .collect();
    let table = json!([{
        "name": "group", "role": "quasi_identifying",
        "hierarchy": { "kind": "table", "text": "a;a;*\nb;b;*\nc;c;*\nd;Other;*\ne;Other;*\n" },
    }]);
    let front = data(table, &rows).front(&json!({
        "privacy": [k(3)], "suppression_limit": 0.2, "objectives": ["suppression"],
        "search": { "method": "fixed", "levels": { "group": 1 } },
    }));
    assert_eq!(front.solutions[0].suppressed_rows, 2);
}

#[test]
fn uc_32_no_point_of_a_front_is_beaten() {
    let rows = [
        "F,icu",
        "F,surgery",
        "F,surgery",
        "F,surgery",
        "F,maternity",
        "F,maternity",
    ];
    let data = data(json!(two_levels(&["sex", "dept"])), &rows);
    for objectives in [
        ["loss", "suppression"],
        ["generalization_depth", "suppression"],
    ] {
        let found = |limit| {
            let mut demand = exact(&[k(3)], limit, &objectives);
            // Loss that grows with the levels alone: a suppressed row costs no more than its generalization.
            demand["loss"] = json!({ "factor": 0.0 });
            let front = data.front(&demand);
            let names = ["sex", "dept"];
            front
                .solutions
                .iter()
                .map(|solution| levels(solution, &names))
                .collect::<Vec<_>>()
        };
        let mut both = found(0.5);
        both.sort();
        assert_eq!(both, [[0, 0], [0, 1]]);
        assert_eq!(found(0.49), [[0, 1]]);
    }
}

#[test]
fn uc_48_k_beyond_the_rows_or_subjects_is_answered_at_once() {
    let data = age_and_dx(&["1,a", "2,b"]);
    let Outcome::Infeasible(reason, front) = data.search(&exact(&[k(5)], 1.0, &["loss"])) else {
        panic!("feasible");
    };
    assert_eq!(reason.code, "k_exceeds_rows");
    assert!(reason.detail.contains("k = 5") && reason.detail.contains("2 rows"));
    assert!(front.solutions.is_empty() && front.search.evaluations == 0);
    let models = data.demand(&exact(&[k(5)], 1.0, &["loss"])).privacy;
    let code = |rows, subjects| {
        kindred::anonymize::impossible(&models, rows, subjects, &[].into())
            .map(|reason| reason.code)
    };
    assert_eq!(code(9, Some(4)).as_deref(), Some("k_exceeds_subjects"));
    assert_eq!(code(4, Some(4)).as_deref(), Some("k_exceeds_rows"));
    assert_eq!(code(9, Some(5)), None);
}

#[test]
fn uc_50_identical_rows_have_one_best_policy() {
    let data = data(json!(two_levels(&["age", "sex"])), &["40,F"; 10]);
    for objectives in [&["loss", "suppression"][..], &["suppression"]] {
        let front = data.front(&exact(&[k(10)], 0.0, objectives));
        assert_eq!(front.solutions.len(), 1);
        let only = &front.solutions[0];
        assert_eq!(
            (levels(only, &["age", "sex"]), only.privacy.k),
            (vec![0, 0], 10)
        );
        assert!(only.objectives.values().all(|value| value.abs() < 1e-12));
    }
}

#[test]
fn uc_55_a_unique_number_is_generalised_away() {
    let rows: Vec<String> = (0..20).map(|row| format!("{row},{}", row % 2)).collect();
    let data = data(json!(two_levels(&["record", "sex"])), &rows);
    let front = data.front(&exact(
        &[k(2)],
        0.3,
        &["generalization_depth", "suppression"],
    ));
    assert!(
        front
            .solutions
            .iter()
            .all(|solution| levels(solution, &["record"]) == [1])
    );
}

/// Forty attributes of five levels: 2^120 > 5^40 > 2^64 policies.
fn forty_attributes() -> Data {
    let lines: Vec<String> = "abcdefgh"
        .chars()
        .map(|leaf| {
            let at = (leaf as usize) - 97;
            format!("{leaf};{};{};{};*", at / 2, at / 4, at / 8)
        })
        .collect();
    let text = lines.join("\n");
    let attribute = |number: usize| {
        json!({
            "name": format!("a{number}"), "role": "quasi_identifying",
            "hierarchy": { "kind": "table", "text": text },
        })
    };
    let row = |row: usize| {
        let cell = |column: usize| {
            ["a", "b", "c", "d", "e", "f", "g", "h"][(row * 7 + column * row / 3) % 8]
        };
        (0..40).map(cell).collect::<Vec<_>>().join(",")
    };
    data(
        (0..40).map(attribute).collect(),
        &(0..10).map(row).collect::<Vec<_>>(),
    )
}

#[test]
fn uc_56_a_space_beyond_64_bits_is_searched_within_a_budget() {
    let data = forty_attributes();
    let search = json!({ "method": "auto", "population": 20, "generations": 10, "seed": 1 });
    let mut demand = exact(&[k(2)], 0.5, &["generalization_depth", "suppression"]);
    demand["search"] = search;
    let front = data.front(&demand);
    assert_eq!(front.search.search_space, "9094947017729282379150390625");
    assert!(!front.search.complete && front.search.evaluations <= 220);
    demand["search"]["max_evaluations"] = json!(50);
    let Outcome::Stopped(front) = data.search(&demand) else {
        panic!("the budget did not end the search");
    };
    assert_eq!(front.search.evaluations, 50);
    demand["search"] = json!({ "method": "exact" });
    let demand = data.demand(&demand);
    let limits = kindred::anonymize::Limits {
        exact_search_space: 1000,
        cache_bytes: 0,
    };
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits,
    };
    let error = anonymize(&task, &kindred::anonymize::Unobserved).unwrap_err();
    assert!(error.to_string().contains("9094947017729282379150390625"));
}

#[test]
fn uc_60_every_point_names_its_objectives() {
    let front = t8().front(&t8_demand(
        0.3,
        &json!({ "method": "exact" }),
        &json!(["loss", "suppression"]),
    ));
    let loss = &front.objectives[0];
    assert_eq!(
        (&*loss.name, &*loss.direction, loss.range),
        ("loss", "minimize", [0.0, 1.0])
    );
    assert!(loss.definition.contains("arithmetic mean") && loss.definition.contains("factor 0.5"));
    assert_eq!(
        front.recommendation_rule,
        "least loss, then least suppression"
    );
    for solution in &front.solutions {
        assert_eq!(
            solution.objectives.keys().collect::<Vec<_>>(),
            ["loss", "suppression"]
        );
        assert_eq!(solution.risk.rows_above.len(), 5);
        assert!(solution.privacy.k >= 2);
    }
}

#[test]
fn an_incomplete_search_that_finds_nothing_says_so() {
    let data = forty_attributes();
    let mut demand = exact(&[k(10)], 0.0, &["suppression"]);
    demand["search"] = json!({ "method": "random", "seed": 3, "max_evaluations": 4 });
    let Outcome::Infeasible(reason, front) = data.search(&demand) else {
        panic!("feasible");
    };
    assert_eq!((&*reason.code, front.search.complete), ("not_found", false));
}

/// Says "stop" from the given question on.
struct StopsAt(std::sync::atomic::AtomicU64, u64, Stop);

impl Observer for StopsAt {
    fn must_stop(&self) -> Option<Stop> {
        let asked = self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        (asked >= self.1).then_some(self.2)
    }
    fn report(&self, _: Progress) {}
}

#[test]
fn a_search_ends_when_told_to() {
    let data = t8();
    let methods = [
        json!({ "method": "exact" }),
        json!({ "method": "nsga2", "population": 8, "generations": 8 }),
        json!({ "method": "random", "max_evaluations": 20 }),
    ];
    for method in methods {
        let demand = data.demand(&t8_demand(0.3, &method, &json!(["loss", "suppression"])));
        let limits = kindred::anonymize::Limits {
            exact_search_space: 1000,
            cache_bytes: 0,
        };
        let task = Task {
            table: &data.table,
            schema: &data.schema,
            demand: &demand,
            limits,
        };
        let run = |stop| anonymize(&task, &StopsAt(0.into(), 5, stop)).unwrap();
        assert!(matches!(run(Stop::Cancelled), Outcome::Cancelled));
        let Outcome::Stopped(front) = run(Stop::OutOfTime) else {
            panic!("not stopped");
        };
        assert!(front.search.evaluations <= 4);
        assert!(!front.search.complete && !front.search.certified);
        assert!(front.search.uncertified.is_some());
    }
}
