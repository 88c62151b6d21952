use serde_json::json;

use super::*;

fn dataset() -> DatasetDeclaration {
    DatasetDeclaration::parse(&json!({"name": "d", "attributes": [
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "illness", "role": "sensitive"}]}))
    .unwrap()
}

fn with(more: &Value) -> Value {
    let mut body = json!({"privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 0.3,
        "methods": ["exact", "nsga2"]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn faults(more: &Value) -> Vec<(String, String)> {
    let faults = CompareDemand::parse(&with(more), &dataset()).unwrap_err();
    let mut found: Vec<_> = faults
        .into_iter()
        .map(|fault| (fault.pointer.clone(), fault.code.slug()))
        .collect();
    found.sort();
    found
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |&(pointer, code): &(&str, &str)| (pointer.to_owned(), code.to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn methods_of_every_recoding_stand_side_by_side() {
    let body = with(
        &json!({"methods": ["exact", {"method": "nsga2", "population": 12, "generations": 12},
        {"method": "nsga2", "label": "large"}, {"method": "random", "evaluations_of": 1}, "tds", "mondrian",
        "mo_obam", "nsga2"], "weights": {"age": 2}, "max_evaluations": 500, "seed": 7}),
    );
    let demand = CompareDemand::parse(&body, &dataset()).unwrap();
    let labels: Vec<&str> = demand.methods.iter().map(|method| &*method.label).collect();
    let expected = [
        "exact", "nsga2", "large", "random", "tds", "mondrian", "mo_obam", "nsga2 2",
    ];
    assert_eq!(labels, expected);
    let recodings: Vec<Recoding> = demand
        .methods
        .iter()
        .map(|method| method.demand.recoding)
        .collect();
    assert_eq!(recodings[4..6], [Recoding::Subtree, Recoding::Local]);
    assert_eq!(
        (demand.seeds, demand.seed, demand.methods[3].evaluations_of),
        (30, 7, Some(1))
    );
    assert_eq!(demand.objectives, [Objective::Loss, Objective::Suppression]);
    assert!((demand.weights["age"] - 2.0).abs() < 1e-12);
    for method in &demand.methods {
        let search = &method.demand.search;
        assert_eq!((search.seed, search.max_evaluations), (7, Some(500)));
    }
    let once: Vec<bool> = (0..8)
        .map(|method| demand.is_deterministic(method))
        .collect();
    assert_eq!(once, [true, false, false, false, true, true, false, false]);
    assert!(!demand.is_of_levels());
    let again = serde_json::from_value(serde_json::to_value(&demand).unwrap()).unwrap();
    assert_eq!(demand, again);
}

#[test]
fn faults_are_told_once_and_where_they_are() {
    let found = faults(
        &json!({"privacy": [{"model": "k_anonymity", "k": 0}], "seeds": 0, "budget": 1,
        "max_evaluations": 0, "weights": {"size": 1}, "methods": ["nsga3", {"method": "nsga2", "population": 1},
        {"method": "random", "seed": 1, "evaluations_of": 2}, 5, {"population": 12}, {"method": "tds", "generation": 1}]}),
    );
    let expected = pairs(&[
        ("/budget", "unknown_field"),
        ("/max_evaluations", "out_of_range"),
        ("/methods/0", "unknown_value"),
        ("/methods/1/population", "out_of_range"),
        ("/methods/2/evaluations_of", "out_of_range"),
        ("/methods/2/seed", "unknown_field"),
        ("/methods/3", "wrong_type"),
        ("/methods/4/method", "missing_field"),
        ("/methods/5/generation", "unknown_field"),
        ("/privacy/0/k", "out_of_range"),
        ("/seeds", "out_of_range"),
        ("/weights/size", "unknown_attribute"),
    ]);
    assert_eq!(found, expected);
    let found = faults(
        &json!({"methods": [{"method": "random", "label": "a"}, {"method": "nsga2", "label": "a"},
        {"method": "nsga2", "label": ""}]}),
    );
    let expected = pairs(&[
        ("/methods/1/label", "duplicate_value"),
        ("/methods/2/label", "out_of_range"),
    ]);
    assert_eq!(found, expected);
    assert_eq!(
        faults(&json!({"methods": []})),
        pairs(&[("/methods", "out_of_range")])
    );
}

#[test]
fn what_a_method_cannot_do_is_told_at_the_method() {
    let population = "01890a5d-ac96-774b-bcce-b302099a8057";
    let found = faults(
        &json!({"privacy": [{"model": "k_map", "k": 5, "population": population}],
        "methods": ["exact", "tds", {"method": "mdav"}]}),
    );
    let expected = pairs(&[
        ("/methods/1", "not_supported"),
        ("/methods/2", "not_supported"),
    ]);
    assert_eq!(found, expected);
    let found = faults(
        &json!({"objectives": ["generalization_depth", "suppression"], "methods": ["exact", "tds", "oka"]}),
    );
    assert_eq!(found, expected);
    let found = faults(
        &json!({"objectives": ["information_loss", "sensitive_entropy"], "methods": ["exact", "oka"]}),
    );
    assert_eq!(
        found,
        pairs(&[
            ("/methods/0", "not_supported"),
            ("/methods/0", "not_supported")
        ])
    );
    let body = with(
        &json!({"objectives": ["information_loss", "sensitive_entropy"], "methods": ["mdav", "oka"]}),
    );
    assert!(CompareDemand::parse(&body, &dataset()).is_ok());
    let found = faults(&json!({"objectives": ["information_loss", "suppression"],
        "methods": ["mdav", {"method": "oka", "loss": "ratio"}]}));
    assert_eq!(found, pairs(&[("/methods/1", "not_supported")]));
    let found = faults(&json!({"methods": ["local_search"]}));
    assert_eq!(found, pairs(&[("/methods/0", "not_supported")]));
}

#[test]
fn two_objectives_without_a_target_are_compared() {
    let found = faults(&json!({"objectives": ["loss"]}));
    assert_eq!(found, pairs(&[("/objectives", "out_of_range")]));
    let found = faults(&json!({"objectives": ["loss", "information_gain"]}));
    assert_eq!(found, pairs(&[("/objectives/1", "not_supported")]));
}
