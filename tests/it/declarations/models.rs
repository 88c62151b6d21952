//! Privacy models of demands.

use kindred::declaration::{DatasetDeclaration, Demand};
use kindred::fault::FaultCode;
use serde_json::{Value, json};

use super::demands::demand;
use super::{admissions, assert_places, dataset};

#[test]
fn a_demand_must_bound_the_size_of_a_class() {
    let diverse = |missing: &str| json!({ "privacy": [{ "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 3, "missing": missing }] });
    let mut rows = admissions();
    rows["attributes"][0]["subject"] = json!(false);
    let rows = DatasetDeclaration::parse(&rows).unwrap();
    // Three distinct values stand on three rows at least ...
    assert!(Demand::parse(&diverse("fails"), &rows).is_ok());
    let expected = [("/privacy", FaultCode::ClassSizeUnbounded)];
    // ... unless classes without any value pass, or one subject may bear all three.
    assert_places(Demand::parse(&diverse("exempt"), &rows), &expected);
    assert_places(Demand::parse(&diverse("fails"), &dataset()), &expected);
}

#[test]
fn models_name_a_sensitive_column() {
    let diverse = |attribute: &str| json!({ "model": "distinct_l_diversity", "attribute": attribute, "l": 2 });
    let result = demand(&json!({ "privacy": [
        { "model": "k_anonymity", "k": 2 }, diverse("diagnosys"), diverse("age"), { "model": "distinct_l_diversity" },
    ] }));
    let faults = result.clone().unwrap_err();
    assert_places(
        result,
        &[
            ("/privacy/1/attribute", FaultCode::UnknownAttribute),
            ("/privacy/2/attribute", FaultCode::AttributeRole),
            ("/privacy/3/attribute", FaultCode::MissingField),
            ("/privacy/3/l", FaultCode::MissingField),
        ],
    );
    assert!(faults[0].detail.contains("`diagnosis` is meant"));
}

#[test]
fn every_model_of_the_contract_is_taken_and_its_stored_form_too() {
    let models = json!([
        { "model": "k_anonymity", "k": 5 },
        { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2, "missing": "exempt" },
        { "model": "entropy_l_diversity", "attribute": "diagnosis", "l": 1.5 },
        { "model": "recursive_cl_diversity", "attribute": "diagnosis", "c": 0.5, "l": 2 },
        { "model": "t_closeness", "attribute": "diagnosis", "t": 0.2, "distance": "equal" },
        { "model": "t_closeness", "attribute": "diagnosis", "t": 1, "distance": "hierarchical", "reference": "input" },
        { "model": "delta_disclosure", "attribute": "diagnosis", "delta": 0.5 },
        { "model": "beta_likeness", "attribute": "diagnosis", "beta": 2 },
        { "model": "alpha_k", "attribute": "diagnosis", "alpha": 0.5, "k": 2, "values": ["J10"] },
        { "model": "average_risk", "max": 0.1 },
        { "model": "maximum_risk", "max": 0.2 },
    ]);
    let demand = demand(&json!({ "privacy": models })).unwrap();
    assert_eq!(demand.privacy.len(), 11);
    let stored = serde_json::to_value(&demand).unwrap();
    assert_eq!(Demand::parse(&stored, &dataset()).unwrap(), demand);
    assert_eq!(serde_json::from_value::<Demand>(stored).unwrap(), demand);
}

#[test]
fn uc_53_every_wrong_parameter_of_the_models_is_told_in_one_answer() {
    let of = |model: &str, fields: Value| {
        let mut model = json!({ "model": model, "attribute": "diagnosis" });
        for (name, value) in fields.as_object().unwrap() {
            model[name] = value.clone();
        }
        model
    };
    let result = demand(&json!({ "privacy": [
        of("entropy_l_diversity", json!({ "l": 0.5 })),
        of("recursive_cl_diversity", json!({ "c": 0, "l": 1.5 })),
        of("t_closeness", json!({ "t": 20, "distance": "euclidean" })),
        of("t_closeness", json!({ "t": 0, "reference": "input" })),
        of("t_closeness", json!({ "t": 0.2, "distance": "ordered" })),
        of("delta_disclosure", json!({ "delta": -1, "mode": "lax" })),
        of("beta_likeness", json!({ "beta": 0, "enhanced": 1 })),
        of("alpha_k", json!({ "alpha": 1.5, "k": 0, "values": [] })),
        { "model": "average_risk", "max": 0, "attribute": "diagnosis" },
        { "model": "maximum_risk" },
    ] }));
    let faults = result.clone().unwrap_err();
    assert_places(
        result,
        &[
            ("/privacy/0/l", FaultCode::OutOfRange),
            ("/privacy/1/c", FaultCode::OutOfRange),
            ("/privacy/1/l", FaultCode::WrongType),
            ("/privacy/2/t", FaultCode::OutOfRange),
            ("/privacy/2/distance", FaultCode::UnknownValue),
            ("/privacy/3/t", FaultCode::OutOfRange),
            ("/privacy/3/distance", FaultCode::MissingField),
            ("/privacy/4/distance", FaultCode::DistanceUndefined),
            ("/privacy/5/delta", FaultCode::OutOfRange),
            ("/privacy/5/mode", FaultCode::UnknownValue),
            ("/privacy/6/beta", FaultCode::OutOfRange),
            ("/privacy/6/enhanced", FaultCode::WrongType),
            ("/privacy/7/alpha", FaultCode::OutOfRange),
            ("/privacy/7/k", FaultCode::OutOfRange),
            ("/privacy/7/values", FaultCode::OutOfRange),
            ("/privacy/8/attribute", FaultCode::UnknownField),
            ("/privacy/8/max", FaultCode::OutOfRange),
            ("/privacy/9/max", FaultCode::MissingField),
        ],
    );
    // Twenty percent are a fifth.
    assert!(faults[3].detail.contains("0.2"), "{}", faults[3].detail);
}

#[test]
fn models_of_distributions_and_means_do_not_bound_a_class() {
    for model in [
        json!({ "model": "t_closeness", "attribute": "diagnosis", "t": 0.2, "distance": "equal" }),
        json!({ "model": "beta_likeness", "attribute": "diagnosis", "beta": 1 }),
        json!({ "model": "average_risk", "max": 0.1 }),
    ] {
        let result = demand(&json!({ "privacy": [model] }));
        assert_places(result, &[("/privacy", FaultCode::ClassSizeUnbounded)]);
    }
    for model in [
        json!({ "model": "maximum_risk", "max": 0.2 }),
        json!({ "model": "alpha_k", "attribute": "diagnosis", "alpha": 0.5, "k": 2 }),
    ] {
        assert!(demand(&json!({ "privacy": [model] })).is_ok());
    }
}

#[test]
fn a_population_is_named_by_its_id_and_limits_are_in_order() {
    let presence = |min: f64, max: f64, population: &str| json!({ "model": "delta_presence", "min": min, "max": max, "population": population });
    let id = "00000000-0000-0000-0000-000000000007";
    let k = json!({ "model": "k_anonymity", "k": 2 });
    assert_places(
        demand(&json!({
            "privacy": [k, presence(0.5, 0.4, id), presence(0.0, 0.0, id), presence(0.0, 1.1, "seven"),
                { "model": "k_map", "k": 0 }],
            "risk": { "population": id, "population_size": 7 },
            "measures": ["query_error", "query_error", "error"],
        })),
        &[
            ("/privacy/1/min", FaultCode::OutOfRange),
            ("/privacy/2/max", FaultCode::OutOfRange),
            ("/privacy/3/max", FaultCode::OutOfRange),
            ("/privacy/3/population", FaultCode::WrongType),
            ("/privacy/4/k", FaultCode::OutOfRange),
            ("/privacy/4/population", FaultCode::MissingField),
            ("/risk", FaultCode::UnknownField),
            ("/measures/1", FaultCode::DuplicateValue),
            ("/measures/2", FaultCode::UnknownValue),
        ],
    );
    // A share of the population bounds no class by itself; a k-map does.
    assert_places(
        demand(&json!({ "privacy": [presence(0.0, 0.4, id)] })),
        &[("/privacy", FaultCode::ClassSizeUnbounded)],
    );
    let body = json!({ "privacy": [{ "model": "k_map", "k": 3, "population": id }, presence(0.0, 0.4, id)] });
    let parsed = demand(&body).unwrap();
    assert_eq!(parsed.populations().len(), 1);
    let stored = serde_json::to_value(&parsed).unwrap();
    assert_eq!(serde_json::from_value::<Demand>(stored).unwrap(), parsed);
}
