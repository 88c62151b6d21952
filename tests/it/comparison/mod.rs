//! Methods side by side, without a service.

mod measured;
mod stopping;

use std::time::Duration;

use kindred::anonymize::compare::report::{
    ComparisonReport, MethodReport, PairReport, ReferenceKind,
};
use kindred::anonymize::compare::{Compared, Contest, compare};
use kindred::anonymize::report::Front;
use kindred::anonymize::{Limits, Observer, Unobserved, anonymize};
use kindred::declaration::{CompareDemand, PrivacyModel};
use serde_json::{Value, json};

use crate::tables::{Data, data, plain};

/// Ages by intervals, places by two levels of an unbalanced table, sex: 36 policies.
fn clinic() -> Data {
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
        usize::try_from((state >> 33) % below).expect("small")
    };
    let lines: Vec<String> = (0..300)
        .map(|_| {
            let age = 20 + draw(30) + draw(30);
            let place = ["n1", "n1", "n2", "n3", "s1", "s1", "s2", "w1"][draw(8)];
            let sex = ["F", "M"][draw(2)];
            let dx = ["flu", "asthma", "cancer"][draw(3)];
            format!("{age},{place},{sex},{dx}")
        })
        .collect();
    data(attributes, &lines)
}

fn body(more: &Value) -> Value {
    let mut body = json!({ "suppression_limit": 0.2, "seeds": 10, "seed": 5,
        "privacy": [{ "model": "k_anonymity", "k": 5 }, { "model": "distinct_l_diversity", "attribute": "dx", "l": 2 }],
        "methods": ["exact", { "method": "nsga2", "population": 4, "generations": 2 },
            { "method": "random", "evaluations_of": 1 }] });
    for (name, value) in more.as_object().expect("an object") {
        body[name] = value.clone();
    }
    body
}

const LIMITS: Limits = Limits {
    exact_search_space: 1 << 20,
    cache_bytes: 1 << 28,
};

fn compared(
    data: &Data,
    body: &Value,
    observer: &dyn Observer,
    clock: &(dyn Fn() -> Duration + Sync),
) -> Compared {
    let demand = CompareDemand::parse(body, &data.declaration).expect("a valid demand");
    let contest = Contest {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits: LIMITS,
        search: &anonymize,
        clock,
        observer,
    };
    compare(&contest).expect("the methods can be run")
}

fn report(data: &Data, body: &Value) -> ComparisonReport {
    match compared(data, body, &Unobserved, &|| Duration::ZERO) {
        Compared::Report(report) => *report,
        other => panic!("no report but {other:?}"),
    }
}

fn method<'r>(report: &'r ComparisonReport, label: &str) -> &'r MethodReport {
    let mut methods = report.methods.iter();
    methods
        .find(|method| method.label == label)
        .expect("the method")
}

fn pair<'r>(report: &'r ComparisonReport, first: &str, second: &str) -> &'r PairReport {
    let mut pairs = report.tests.pairs.iter();
    pairs
        .find(|pair| (&*pair.first, &*pair.second) == (first, second))
        .expect("the pair")
}

fn points(front: &Front) -> Vec<[f64; 2]> {
    let solutions = front.solutions.iter();
    let mut points: Vec<[f64; 2]> = solutions
        .map(|solution| {
            [
                solution.objectives["loss"],
                solution.objectives["suppression"],
            ]
        })
        .collect();
    points.dedup();
    points
}

#[test]
fn a_certified_front_is_found_whole_by_the_exact_search_and_in_part_by_chance() {
    let data = clinic();
    let report = report(&data, &body(&json!({})));
    let job = |method: &str, more: &Value| {
        let mut search = json!({ "method": method });
        search
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let mut body = body(&json!({ "objectives": ["loss", "suppression"], "search": search }));
        for field in ["methods", "seeds", "seed"] {
            body.as_object_mut().expect("an object").remove(field);
        }
        data.front(&body)
    };
    let exact = job("exact", &json!({}));
    assert!(exact.search.certified);
    // Counted by an enumeration of its own (36 policies, in Python).
    let counted = [
        (0.116_34, 20),
        (0.130_028, 7),
        (0.150_467, 3),
        (0.197_021, 0),
    ];
    assert_eq!(points(&exact).len(), counted.len());
    for ([loss, suppression], (expected, rows)) in points(&exact).into_iter().zip(counted) {
        assert!(
            (loss - expected).abs() < 1e-6 && (suppression - f64::from(rows) / 300.0).abs() < 1e-12
        );
    }
    assert_eq!(
        (report.reference, report.seeds_run, report.demanded_k),
        (ReferenceKind::Certified, 10, 5)
    );
    assert_eq!(report.reference_front.points, points(&exact));
    let area = exact.hypervolume.as_ref().expect("two objectives");
    assert_eq!(
        (
            report.reference_front.hypervolume,
            report.reference_front.corner
        ),
        (area.value, area.reference)
    );
    let found = method(&report, "exact");
    assert_eq!(
        (found.runs, found.deterministic, found.verified),
        (1, true, Some(true))
    );
    assert_eq!(
        (found.hit_rate.median, found.hypervolume_ratio.median),
        (Some(1.0), Some(1.0))
    );
    assert_eq!(
        (found.igd_plus.median, found.best_loss.median),
        (Some(0.0), Some(points(&exact)[0][0]))
    );
    // Every run is the job that it would be by itself.
    let genetic = method(&report, "nsga2");
    assert_eq!((genetic.runs, genetic.by_run.len()), (10, 10));
    for run in &genetic.by_run {
        let alone = job(
            "nsga2",
            &json!({ "population": 4, "generations": 2, "seed": run.seed }),
        );
        assert_eq!(
            (run.evaluations, &run.points),
            (alone.search.evaluations, &points(&alone))
        );
        let area = alone.hypervolume.expect("two objectives").value;
        assert!((run.hypervolume - area).abs() < 1e-12);
        let hits = run
            .points
            .iter()
            .filter(|point| report.reference_front.points.contains(point));
        assert_eq!(run.hits, hits.count() as u64);
    }
    let random = method(&report, "random");
    let budgets = random.by_run.iter().zip(&genetic.by_run);
    assert!(
        budgets
            .clone()
            .all(|(random, genetic)| random.evaluations == genetic.evaluations)
    );
    assert!(random.hit_rate.median.expect("runs") < 1.0 && random.verified == Some(true));
    assert_eq!(random.evaluations_of.as_deref(), Some("nsga2"));
    let beaten = pair(&report, "exact", "random");
    assert!(beaten.first_better > 0 && beaten.rank_sum_second == 0.0 && beaten.correlation > 0.99);
    // All in favour of the one: two choices of signs in 2^n.
    let chance = 2.0 / 2_f64.powi(i32::try_from(beaten.differing).expect("few"));
    assert!(beaten.exact && (beaten.p.expect("tested") - chance).abs() < 1e-12);
    assert!(report.tests.pairs.iter().all(|pair| pair.p_holm >= pair.p));
}

#[test]
fn the_report_does_not_depend_on_threads() {
    let data = clinic();
    let asked = body(
        &json!({ "seeds": 3, "max_evaluations": 30, "methods": ["exact", "nsga2", "random", "tds",
        "genetic_cuts", "mondrian", "k_member", "mo_obam"] }),
    );
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads");
        let report = pool.install(|| report(&data, &asked));
        serde_json::to_string(&report).expect("a JSON form")
    };
    let one = with_threads(1);
    assert!(one.contains("\"elapsed_ms\":0.0"));
    assert_eq!(one, with_threads(2));
}

#[test]
fn a_demand_that_nothing_meets_ends_with_the_reason() {
    let data = clinic();
    let reason = |more: &Value| match compared(&data, &body(more), &Unobserved, &|| Duration::ZERO)
    {
        Compared::Impossible(reason) => reason.code,
        other => panic!("no reason but {other:?}"),
    };
    let k = |k: u64| json!([{ "model": "k_anonymity", "k": k }]);
    assert_eq!(
        reason(&json!({ "privacy": k(301), "methods": ["random", "mdav"] })),
        "k_exceeds_rows"
    );
    let diverse = json!([{ "model": "k_anonymity", "k": 2 },
        { "model": "entropy_l_diversity", "attribute": "dx", "l": 3 }]);
    let methods = json!(["nsga2", "exact"]);
    assert_eq!(
        reason(&json!({ "privacy": diverse, "methods": methods })),
        "suppression_limit"
    );
}

#[test]
fn a_solution_counts_at_equal_privacy_only() {
    let data = clinic();
    let report = report(&data, &body(&json!({ "methods": ["exact", "mondrian"] })));
    let demanded =
        CompareDemand::parse(&body(&json!({})), &data.declaration).expect("a valid demand");
    assert!(matches!(
        demanded.privacy[0],
        PrivacyModel::KAnonymity { k: 5 }
    ));
    for method in &report.methods {
        let risk = method.maximum_risk.median;
        // One over the smallest class is at most one over k.
        assert!(risk.is_none_or(|risk| risk <= 1.0 / 5.0 + 1e-12));
        assert!(method.average_risk.median <= risk);
    }
}
