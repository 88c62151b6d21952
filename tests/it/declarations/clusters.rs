//! What a demand says of classes.

use kindred::declaration::{
    Demand, EntropyForm, Lambda, Lambdas, LossForm, Objective, Optimizer, PrivacyModel, Recoding,
    Representation, SearchMethod,
};
use kindred::fault::{Fault, FaultCode};
use serde_json::{Value, json};

use super::{assert_places, dataset};

fn demand(recoding: &str, search: &Value) -> Result<Demand, Vec<Fault>> {
    demand_with(recoding, search, &json!({}))
}

fn demand_with(recoding: &str, search: &Value, more: &Value) -> Result<Demand, Vec<Fault>> {
    let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": 5 }], "recoding": recoding, "search": search });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    Demand::parse(&body, &dataset())
}

#[test]
fn settings_of_a_swarm_are_read_and_come_back_from_a_record() {
    let search = json!({ "method": "mo_obam", "clusters": 40, "lambdas": [0.5, { "diagnosis": 2 }], "swarm": 8,
        "inertia": [0.8, 0.2], "restarts": 2, "entropy": "min_of_sum", "loss": "ratio", "optimizer": "swarm",
        "seed": 3, "max_evaluations": 500, "max_seconds": 10 });
    let found = demand("microaggregation", &search).unwrap();
    let settings = &found.search.clusters;
    let each = Lambda::Each([("diagnosis".to_owned(), 2.0)].into());
    assert_eq!(
        settings.lambdas,
        Some(Lambdas::Grid(vec![Lambda::All(0.5), each]))
    );
    assert_eq!(
        (settings.clusters, settings.swarm, settings.restarts),
        (Some(40), Some(8), Some(2))
    );
    assert_eq!(settings.inertia, Some([0.8, 0.2]));
    assert_eq!(settings.entropy, Some(EntropyForm::MinOfSum));
    assert_eq!(
        (settings.loss, settings.optimizer),
        (Some(LossForm::Ratio), Some(Optimizer::Swarm))
    );
    assert_eq!(
        found.objectives,
        [Objective::InformationLoss, Objective::SensitiveEntropy]
    );
    assert_eq!(found.representation(), Representation::Centroids);
    let stored = serde_json::to_value(&found).unwrap();
    assert_eq!(
        serde_json::from_value::<Demand>(stored.clone()).unwrap(),
        found
    );
    assert_eq!(Demand::parse(&stored, &dataset()), Ok(found));
}

#[test]
fn auto_is_mondrian_for_sets_and_a_swarm_for_centroids() {
    for (recoding, kind, method) in [
        ("local", Recoding::Local, SearchMethod::Mondrian),
        (
            "microaggregation",
            Recoding::Microaggregation,
            SearchMethod::MoObam,
        ),
    ] {
        let found = demand(recoding, &json!({})).unwrap();
        assert_eq!(found.recoding, kind);
        assert_eq!(found.search.method_for_classes(kind), method);
    }
    assert_eq!(
        demand("local", &json!({})).unwrap().representation(),
        Representation::Sets
    );
    let other = demand_with(
        "local",
        &json!({}),
        &json!({ "representation": "centroids" }),
    )
    .unwrap();
    assert_eq!(other.representation(), Representation::Centroids);
}

#[test]
fn methods_and_recodings_that_do_not_go_together_are_told() {
    let wrong = [("/search/method", FaultCode::NotSupported)];
    for method in ["mondrian", "mdav", "k_member", "oka", "mo_obam"] {
        for recoding in ["full_domain", "subtree"] {
            assert_places(demand(recoding, &json!({ "method": method })), &wrong);
        }
        demand("local", &json!({ "method": method })).unwrap();
    }
    for method in ["exact", "nsga2", "datafly", "tds", "genetic_cuts"] {
        assert_places(
            demand("microaggregation", &json!({ "method": method })),
            &wrong,
        );
    }
    demand("full_domain", &json!({ "method": "datafly" })).unwrap();
    assert_places(demand("subtree", &json!({ "method": "datafly" })), &wrong);
}

#[test]
fn settings_that_a_method_would_ignore_are_refused() {
    let unused = |recoding: &str, search: &Value, places: &[&str]| {
        let places: Vec<(&str, FaultCode)> = places
            .iter()
            .map(|place| (*place, FaultCode::UnknownField))
            .collect();
        assert_places(demand(recoding, search), &places);
    };
    unused(
        "local",
        &json!({ "method": "mdav", "strict": true, "lambdas": 1 }),
        &["/search/lambdas", "/search/strict"],
    );
    unused(
        "full_domain",
        &json!({ "loss": "ratio" }),
        &["/search/loss"],
    );
    unused(
        "microaggregation",
        &json!({ "optimizer": "nsga2", "lambdas": 1, "inertia": [0.9, 0.4] }),
        &["/search/inertia", "/search/lambdas"],
    );
    assert_places(
        demand_with(
            "full_domain",
            &json!({}),
            &json!({ "representation": "sets" }),
        ),
        &[("/representation", FaultCode::UnknownField)],
    );
}

#[test]
fn wrong_weights_are_told_with_their_place() {
    let weights = |lambdas: Value| demand("microaggregation", &json!({ "lambdas": lambdas }));
    let place = "/search/lambdas";
    assert_places(weights(json!(-1)), &[(place, FaultCode::OutOfRange)]);
    assert_places(weights(json!([])), &[(place, FaultCode::OutOfRange)]);
    assert_places(weights(json!("1")), &[(place, FaultCode::WrongType)]);
    assert_places(
        weights(json!([1, { "diagnosis": 2000, "age": 1 }])),
        &[
            ("/search/lambdas/1/diagnosis", FaultCode::OutOfRange),
            ("/search/lambdas/1/age", FaultCode::UnknownAttribute),
        ],
    );
}

#[test]
fn objectives_and_models_that_classes_do_not_have_are_told() {
    let id = "00000000-0000-0000-0000-000000000007";
    assert_places(
        demand_with(
            "local",
            &json!({}),
            &json!({
                "privacy": [{ "model": "k_anonymity", "k": 2 }, { "model": "k_map", "k": 2, "population": id }],
                "objectives": ["information_loss", "precision", "suppression"],
                "weights": { "age": 2 }, "measures": ["query_error"],
            }),
        ),
        &[
            ("/objectives/1", FaultCode::NotSupported),
            ("/weights", FaultCode::NotSupported),
            ("/measures", FaultCode::NotSupported),
            ("/privacy/1/population", FaultCode::NotSupported),
        ],
    );
    assert_places(
        demand_with(
            "full_domain",
            &json!({}),
            &json!({ "objectives": ["information_loss"] }),
        ),
        &[("/objectives/0", FaultCode::NotSupported)],
    );
}

#[test]
fn a_preset_fills_what_is_absent_and_refuses_what_contradicts_it() {
    let body = json!({ "recoding": "microaggregation", "preset": "research_sharing" });
    let found = Demand::parse(&body, &dataset()).unwrap();
    assert_eq!(found.privacy, [PrivacyModel::KAnonymity { k: 10 }]);
    let usual = vec![Lambda::All(2.0), Lambda::All(5.0)];
    assert_eq!(found.search.clusters.lambdas, Some(Lambdas::Grid(usual)));
    let stored = serde_json::to_value(&found).unwrap();
    assert_eq!(Demand::parse(&stored, &dataset()), Ok(found));
    // Its k goes beside other models, and a weight that is not named is none.
    let mut beside = body.clone();
    beside["privacy"] =
        json!([{ "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 }]);
    let found = Demand::parse(&beside, &dataset()).unwrap();
    assert_eq!(found.privacy[1], PrivacyModel::KAnonymity { k: 10 });
    for lambdas in [json!({}), json!([{}])] {
        let mut short = body.clone();
        short["search"] = json!({ "lambdas": lambdas });
        assert_places(
            Demand::parse(&short, &dataset()),
            &[("/search/lambdas", FaultCode::OutOfRange)],
        );
    }
    let preset = |preset: &str| json!({ "preset": preset });
    assert_places(
        demand_with(
            "microaggregation",
            &json!({ "lambdas": [0.2, 1] }),
            &preset("dev_test"),
        ),
        &[("/search/lambdas", FaultCode::OutOfRange)],
    );
    assert_places(
        demand_with("microaggregation", &json!({}), &preset("research_sharing")),
        &[("/privacy/0/k", FaultCode::OutOfRange)],
    );
    assert_places(
        demand_with("full_domain", &json!({}), &preset("dev_test")),
        &[("/preset", FaultCode::UnknownField)],
    );
    demand_with(
        "local",
        &json!({ "method": "mdav" }),
        &preset("outsourced_modelling"),
    )
    .unwrap();
}
