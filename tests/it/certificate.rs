//! Exact fronts carry a certificate that a slow checker replays, and that no change survives.

use kindred::anonymize::certificate::{Certificate, Refusal, Replay, check};
use kindred::anonymize::{Limits, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::{ADULT, Data, adult, data, plain};

fn replay(data: &Data, body: &Value, certificate: &Certificate) -> Result<Replay, Refusal> {
    let demand = data.demand(body);
    let limits = Limits {
        exact_search_space: 1 << 20,
        cache_bytes: 0,
    };
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits,
    };
    check(&task, certificate).expect("the rows can be recoded")
}

fn a7(search: &Value, objectives: &Value) -> Value {
    json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "distinct_l_diversity", "attribute": "occupation", "l": 2 },
        ],
        "suppression_limit": 0.3,
        "search": search,
        "objectives": objectives,
    })
}

#[test]
fn the_certificate_of_a7_replays_and_no_change_survives() {
    let data = adult(&ADULT[..7], Some("occupation"));
    let body = a7(
        &json!({ "method": "exact" }),
        &json!(["generalization_depth", "suppression"]),
    );
    let front = data.front(&body);
    let certificate = front.certificate.expect("an exact front has one");
    let found = replay(&data, &body, &certificate).expect("it holds");
    assert_eq!(found.policies, 2160);
    assert_eq!(found.pivots, front.search.evaluations);
    assert_eq!(found.pivots + found.beaten + found.beyond_limit, 2160);

    let refused = |change: &dyn Fn(&mut Certificate)| {
        let mut changed = certificate.clone();
        change(&mut changed);
        assert_ne!(changed, certificate);
        assert!(replay(&data, &body, &changed).is_err());
    };
    refused(&|changed| changed.version = 2);
    refused(&|changed| changed.rows += 1);
    refused(&|changed| changed.allowed_suppressed_rows += 1);
    refused(&|changed| changed.level_counts[0] += 1);
    refused(&|changed| changed.pivots[5].core_suppressed_rows += 1);
    refused(&|changed| changed.pivots[5].levels[0] = 9);
    refused(&|changed| changed.pivots.clear());
    refused(&|changed| {
        changed.front.pop();
    });
    refused(&|changed| changed.front[0] = vec![0; 7]);
    refused(&|changed| {
        let member = changed.front[3].clone();
        changed.pivots.retain(|pivot| pivot.levels != member);
    });
}

#[test]
fn other_objectives_and_criteria_are_certified_as_well() {
    let data = adult(&ADULT[..5], Some("occupation"));
    let exact = json!({ "method": "exact" });
    for objectives in [
        json!(["loss"]),
        json!(["loss", "suppression"]),
        json!(["generalization_depth", "loss", "suppression"]),
    ] {
        let mut body = a7(&exact, &objectives);
        for aggregate in ["arithmetic", "geometric", "maximum"] {
            body["loss"] = json!({ "aggregate": aggregate });
            let front = data.front(&body);
            let certificate = front.certificate.expect("an exact front has one");
            replay(&data, &body, &certificate).expect("it holds");
        }
        body["privacy"][1] =
            json!({ "model": "entropy_l_diversity", "attribute": "occupation", "l": 3 });
        let front = data.front(&body);
        let certificate = front.certificate.expect("an exact front has one");
        replay(&data, &body, &certificate).expect("it holds");
    }
}

#[test]
fn a_front_without_a_certificate_says_why() {
    let data = adult(&ADULT[..3], None);
    let body = json!({
        "privacy": [{ "model": "k_anonymity", "k": 5 }],
        "search": { "method": "nsga2", "population": 4, "generations": 2 },
    });
    let front = data.front(&body);
    assert!(front.certificate.is_none() && !front.search.certified);
    assert!(
        front
            .search
            .uncertified
            .expect("a reason")
            .contains("proves nothing")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    // Plain enumeration answers a genetic search whose population is as large as the space.
    #[test]
    fn bounds_lose_nothing_against_enumeration(
        rows in prop::collection::vec((0_u8..4, 0_u8..4, 0_u8..3, 0_u8..3), 4..40),
        k in 1_u64..5,
        l in 1_u64..3,
        entropy in any::<bool>(),
        mean_risk in prop::option::of(1_u32..=8),
        limit in 0_u32..=10,
        objectives in prop::sample::subsequence(vec!["loss", "generalization_depth", "suppression"], 1..=3).prop_shuffle(),
    ) {
        let hierarchy = |name: &str| json!({
            "name": name, "role": "quasi_identifying",
            "hierarchy": { "kind": "table", "text": "0;a;*\n1;a;*\n2;b;*\n3;b;*" },
        });
        let attributes = json!([hierarchy("x"), hierarchy("y"), plain("quasi_identifying", "z"), plain("sensitive", "s")]);
        let lines: Vec<String> = rows
            .iter()
            .map(|(x, y, z, s)| format!("{x},{y},{z},{}", if *s == 2 { String::new() } else { s.to_string() }))
            .collect();
        let data = data(attributes, &lines);
        let model = if entropy { "entropy_l_diversity" } else { "distinct_l_diversity" };
        let mut body = json!({
            "privacy": [{ "model": "k_anonymity", "k": k }, { "model": model, "attribute": "s", "l": l }],
            "suppression_limit": f64::from(limit) / 10.0,
            "search": { "method": "exact" },
            "objectives": objectives,
        });
        if let (Some(mean_risk), Some(models)) = (mean_risk, body["privacy"].as_array_mut()) {
            models.push(json!({ "model": "average_risk", "max": f64::from(mean_risk) / 10.0 }));
        }
        let solutions = |outcome: kindred::anonymize::Outcome| match outcome {
            kindred::anonymize::Outcome::Front(front)
            | kindred::anonymize::Outcome::Infeasible(_, front) => (front.solutions, front.certificate),
            other => panic!("{other:?}"),
        };
        let (certified, certificate) = solutions(data.search(&body));
        if let Some(certificate) = certificate {
            prop_assert!(replay(&data, &body, &certificate).is_ok());
        }
        body["search"] = json!({ "method": "nsga2", "population": 18, "generations": 1 });
        let (enumerated, _) = solutions(data.search(&body));
        prop_assert_eq!(certified, enumerated);
    }
}
