//! Demands on jobs, measurements and releases.

use kindred::declaration::{
    Demand, MeasureDemand, Objective, PrivacyModel, ReleaseChoice, ReleaseDemand, RowOrder,
    SearchMethod, SuppressedRows,
};
use kindred::fault::{Fault, FaultCode};
use serde_json::{Value, json};

use super::{assert_places, dataset};

pub(super) fn demand(fields: &Value) -> Result<Demand, Vec<Fault>> {
    let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": 5 }] });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    Demand::parse(&body, &dataset())
}

#[test]
fn a_demand_has_defaults_for_all_but_privacy() {
    let demand = demand(&json!({})).unwrap();
    assert_eq!(demand.privacy, [PrivacyModel::KAnonymity { k: 5 }]);
    assert_eq!(demand.suppression_limit.floor_of(1000), 0);
    assert_eq!(
        demand.objectives,
        [Objective::GeneralizationDepth, Objective::Suppression]
    );
    assert_eq!(demand.search.method, SearchMethod::Auto);
    assert_eq!(
        (demand.search.population, demand.search.generations),
        (100, 50)
    );
    assert_eq!(
        (demand.search.seed, demand.search.mutation_probability),
        (0, None)
    );
    assert!((demand.loss.factor - 0.5).abs() < f64::EPSILON);
    assert_eq!(demand.release, None);
    let missing = Demand::parse(&json!({ "privacy": [] }), &dataset());
    assert_places(missing, &[("/privacy", FaultCode::OutOfRange)]);
    let missing = Demand::parse(&json!({}), &dataset());
    assert_places(missing, &[("/privacy", FaultCode::MissingField)]);
}

#[test]
fn the_example_demand_of_the_contract_is_taken_and_its_stored_form_too() {
    let example = demand(&json!({
      "privacy": [
        { "model": "k_anonymity", "k": 5 },
        { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 }
      ],
      "suppression_limit": 0.30,
      "recoding": "full_domain",
      "search": { "method": "nsga2", "population": 12, "generations": 12, "mutation_probability": 0.25, "seed": 7,
                  "max_evaluations": null, "max_seconds": null },
      "objectives": ["generalization_depth", "suppression"],
      "release": "recommended"
    }))
    .unwrap();
    assert_eq!(example.suppression_limit.floor_of(240), 72);
    assert_eq!(example.search.seed, 7);
    assert_eq!(example.release, Some(ReleaseChoice::Recommended));
    for method in ["auto", "exact", "nsga2", "local_search", "random", "fixed"] {
        let mut search = json!({ "method": method });
        if method == "fixed" {
            search["levels"] = json!({ "age": 1, "zip": 3, "sex": 0 });
        }
        let objectives = json!(if method == "local_search" {
            vec!["loss"]
        } else {
            vec!["loss", "suppression"]
        });
        let demand = demand(&json!({ "search": search, "objectives": objectives })).unwrap();
        let stored = serde_json::to_value(&demand).unwrap();
        assert_eq!(
            Demand::parse(&stored, &dataset()).unwrap(),
            demand,
            "{method}"
        );
    }
}

#[test]
fn uc_53_every_wrong_parameter_is_told_in_one_answer() {
    let model = |k: Value| json!({ "model": "k_anonymity", "k": k });
    let diverse =
        |l: Value| json!({ "model": "distinct_l_diversity", "attribute": "diagnosis", "l": l });
    let result = demand(&json!({
        "privacy": [model(json!(0)), model(json!(-1)), model(json!(2.5)), diverse(json!(0)), model(json!("5"))],
        "suppression_limit": 1.2,
    }));
    assert_places(
        result,
        &[
            ("/privacy/0/k", FaultCode::OutOfRange),
            ("/privacy/1/k", FaultCode::OutOfRange),
            ("/privacy/2/k", FaultCode::WrongType),
            ("/privacy/3/l", FaultCode::OutOfRange),
            ("/privacy/4/k", FaultCode::WrongType),
            ("/suppression_limit", FaultCode::OutOfRange),
        ],
    );
    // l > k is legal: it forces classes of at least l rows.
    let models = json!({ "privacy": [model(json!(2)), diverse(json!(9))] });
    assert!(demand(&models).is_ok());
}

#[test]
fn uc_28_a_limit_in_percent_is_refused_with_the_fraction_that_is_meant() {
    let faults = demand(&json!({ "suppression_limit": 25 })).unwrap_err();
    assert_eq!(faults[0].code, FaultCode::OutOfRange);
    assert!(faults[0].detail.contains("0.25"), "{}", faults[0].detail);
    assert_eq!(
        demand(&json!({ "suppression_limit": 1 }))
            .unwrap()
            .suppression_limit
            .floor_of(8),
        8
    );
    let quarter = demand(&json!({ "suppression_limit": 0.25 })).unwrap();
    assert_eq!(quarter.suppression_limit.floor_of(8), 2);
    assert!(demand(&json!({ "suppression_limit": -0.1 })).is_err());
}

#[test]
fn unknown_words_are_told_with_what_was_probably_meant() {
    let result = demand(&json!({
        "privacy": [{ "model": "k_map", "k": 5, "population": {} }, { "model": "q_anonymity" }],
        "recoding": "local",
        "search": { "method": "mondrian" },
        "objectives": ["loss", "information_loss", "los", "loss"],
        "suppresion_limit": 0.1,
    }));
    let faults = result.clone().unwrap_err();
    assert_places(
        result,
        &[
            ("/suppresion_limit", FaultCode::UnknownField),
            ("/privacy/0/population", FaultCode::WrongType),
            ("/privacy/1/model", FaultCode::UnknownValue),
            ("/objectives/2", FaultCode::UnknownValue),
            ("/objectives/3", FaultCode::DuplicateValue),
        ],
    );
    assert!(faults[3].detail.contains("`loss` is meant"));
}

#[test]
fn methods_settings_and_objectives_of_cuts_go_with_cuts() {
    let whole = |more: Value| {
        let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": 2 }] });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        demand(&body)
    };
    for method in ["tds", "bug", "hybrid", "genetic_cuts"] {
        assert_places(
            whole(json!({ "search": { "method": method } })),
            &[("/search/method", FaultCode::NotSupported)],
        );
        let cuts = whole(json!({ "recoding": "subtree", "search": { "method": method } })).unwrap();
        assert_eq!(cuts.objectives, [Objective::Loss, Objective::Suppression]);
        assert_eq!(cuts.target.as_deref(), Some("diagnosis"));
    }
    for method in ["exact", "nsga2", "random"] {
        assert_places(
            whole(json!({ "recoding": "subtree", "search": { "method": method } })),
            &[("/search/method", FaultCode::NotSupported)],
        );
    }
    assert_places(
        whole(
            json!({ "recoding": "subtree", "search": { "population": 12, "score": "igpl" },
            "objectives": ["generalization_depth", "precision", "loss"] }),
        ),
        &[
            ("/search/population", FaultCode::UnknownField),
            ("/search/score", FaultCode::UnknownValue),
            ("/objectives/0", FaultCode::NotSupported),
            ("/objectives/1", FaultCode::NotSupported),
        ],
    );
    assert_places(
        whole(json!({ "search": { "score": "information" } })),
        &[("/search/score", FaultCode::UnknownField)],
    );
    let gained = whole(json!({ "objectives": ["information_gain"], "target": "charge" })).unwrap();
    assert_eq!(gained.target.as_deref(), Some("charge"));
    // What was read back from a record may be sent again.
    let stored = whole(json!({ "recoding": "subtree", "search": { "method": "tds" } })).unwrap();
    assert_eq!(
        demand(&serde_json::to_value(&stored).unwrap()).unwrap(),
        stored
    );
}

#[test]
fn what_measures_and_estimates_need_is_asked_for() {
    let whole = |more: Value| {
        let mut body = json!({ "privacy": [{ "model": "k_anonymity", "k": 2 }] });
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        demand(&body)
    };
    let classify =
        |target: &str| whole(json!({ "objectives": ["classification"], "target": target }));
    assert_places(
        whole(json!({ "objectives": ["classification"] })),
        &[("/target", FaultCode::MissingField)],
    );
    assert_places(classify("age"), &[("/target", FaultCode::AttributeRole)]);
    assert_places(
        classify("charg"),
        &[("/target", FaultCode::UnknownAttribute)],
    );
    assert_eq!(
        classify("charge").unwrap().target.as_deref(),
        Some("charge")
    );
    assert_places(
        whole(json!({
            "recommend": "elbow",
            "classification": { "tie": true },
            "risk": { "population_size": 10, "sampling_fraction": 0.5 },
        })),
        &[
            ("/classification/tie", FaultCode::UnknownField),
            ("/risk", FaultCode::UnknownField),
            ("/recommend", FaultCode::UnknownValue),
        ],
    );
    for (risk, place, code) in [
        (json!({}), "/risk", FaultCode::MissingField),
        (
            json!({ "population_size": 0 }),
            "/risk/population_size",
            FaultCode::OutOfRange,
        ),
        (
            json!({ "sampling_fraction": 1.5 }),
            "/risk/sampling_fraction",
            FaultCode::OutOfRange,
        ),
    ] {
        assert_places(whole(json!({ "risk": risk })), &[(place, code)]);
    }
    // A demand that was read back may be sent again.
    let parsed =
        whole(json!({ "risk": { "sampling_fraction": 0.5 }, "recommend": "knee" })).unwrap();
    assert_eq!(demand(&serde_json::to_value(&parsed).unwrap()), Ok(parsed));
}

#[test]
fn settings_that_a_method_ignores_are_refused() {
    let search = |search: Value| demand(&json!({ "search": search }));
    assert_places(
        search(
            json!({ "method": "exact", "population": 12, "generations": 12, "mutation_probability": 0.2, "levels": {} }),
        ),
        &[
            ("/search/population", FaultCode::UnknownField),
            ("/search/generations", FaultCode::UnknownField),
            ("/search/mutation_probability", FaultCode::UnknownField),
            ("/search/levels", FaultCode::UnknownField),
        ],
    );
    let all =
        json!({ "method": "random", "seed": u64::MAX, "max_evaluations": 1, "max_seconds": 0.5 });
    assert_eq!(search(all).unwrap().search.seed, u64::MAX);
    assert_places(
        search(
            json!({ "population": 3, "generations": 0, "mutation_probability": 1.5, "seed": -1,
            "max_evaluations": 0, "max_seconds": 0 }),
        ),
        &[
            ("/search/population", FaultCode::OutOfRange),
            ("/search/generations", FaultCode::OutOfRange),
            ("/search/seed", FaultCode::OutOfRange),
            ("/search/max_evaluations", FaultCode::OutOfRange),
            ("/search/mutation_probability", FaultCode::OutOfRange),
            ("/search/max_seconds", FaultCode::OutOfRange),
        ],
    );
}

#[test]
fn a_fixed_policy_names_every_quasi_identifier_at_a_level_that_it_has() {
    let fixed =
        |levels: Value| demand(&json!({ "search": { "method": "fixed", "levels": levels } }));
    let levels = fixed(json!({ "age": 3, "zip": 0, "sex": 1 }))
        .unwrap()
        .search
        .levels;
    assert_eq!(levels.unwrap()["age"], 3);
    let result = fixed(json!({ "age": 4, "zipp": 0, "sex": 1, "diagnosis": 0 }));
    let faults = result.clone().unwrap_err();
    assert_places(
        result,
        &[
            ("/search/levels/zip", FaultCode::MissingField),
            ("/search/levels/age", FaultCode::LevelOutOfRange),
            ("/search/levels/zipp", FaultCode::UnknownAttribute),
            ("/search/levels/diagnosis", FaultCode::AttributeRole),
        ],
    );
    assert_eq!(faults[1].detail, "`age` has levels 0 to 3");
    assert_places(
        demand(&json!({ "search": { "method": "fixed" } })),
        &[("/search/levels", FaultCode::MissingField)],
    );
}

#[test]
fn weights_and_loss_are_checked() {
    let result = demand(&json!({
        "weights": { "age": 2, "zip": 0, "charge": 1, "sex": "1" },
        "loss": { "aggregate": "mean", "factor": 2, "x": 1 },
        "release": "best",
    }));
    assert_places(
        result,
        &[
            ("/loss/x", FaultCode::UnknownField),
            ("/loss/aggregate", FaultCode::UnknownValue),
            ("/loss/factor", FaultCode::OutOfRange),
            ("/weights/zip", FaultCode::OutOfRange),
            ("/weights/charge", FaultCode::AttributeRole),
            ("/weights/sex", FaultCode::WrongType),
            ("/release", FaultCode::UnknownValue),
        ],
    );
}

#[test]
fn a_measurement_needs_no_model_and_takes_some_levels() {
    // UC-61.
    let measure = |body: &Value| MeasureDemand::parse(body, &dataset());
    assert!(measure(&json!({})).unwrap().privacy.is_empty());
    let some = json!({ "privacy": [{ "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 }],
        "levels": { "age": 1 } });
    assert_eq!(measure(&some).unwrap().levels["age"], 1);
    assert_places(
        measure(&json!({ "levels": { "age": 9, "nobody": 0 }, "search": {} })),
        &[
            ("/search", FaultCode::UnknownField),
            ("/levels/age", FaultCode::LevelOutOfRange),
            ("/levels/nobody", FaultCode::UnknownAttribute),
        ],
    );
}

#[test]
fn a_release_demand_has_defaults_and_refuses_the_rest() {
    let id = "0190a5a0-0000-7000-8000-000000000000";
    let demand =
        ReleaseDemand::parse(&json!({ "job_id": id, "solution_id": 0, "columns": null })).unwrap();
    assert_eq!(demand.row_order, RowOrder::Shuffled);
    assert_eq!(demand.suppressed_rows, SuppressedRows::Omit);
    assert_eq!(demand.columns, None);
    assert_places(
        ReleaseDemand::parse(
            &json!({ "job_id": "7", "row_order": "sorted", "columns": ["a", "a"] }),
        ),
        &[
            ("/job_id", FaultCode::WrongType),
            ("/solution_id", FaultCode::MissingField),
            ("/row_order", FaultCode::UnknownValue),
            ("/columns/1", FaultCode::DuplicateColumn),
        ],
    );
}

#[test]
fn cuts_are_not_compared_with_a_population() {
    let id = "00000000-0000-0000-0000-000000000007";
    let body = json!({ "recoding": "subtree",
        "privacy": [{ "model": "k_anonymity", "k": 2 }, { "model": "k_map", "k": 3, "population": id }],
        "risk": { "population": id } });
    assert_places(
        demand(&body),
        &[
            ("/privacy/1/population", FaultCode::NotSupported),
            ("/risk/population", FaultCode::NotSupported),
        ],
    );
}
