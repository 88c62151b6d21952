//! What a search says of the objectives of its demand.

use kindred::declaration::{Demand, Epsilon};
use kindred::fault::{Fault, FaultCode};
use serde_json::{Value, json};

use super::{assert_places, dataset};

fn demand(search: &Value, objectives: &Value) -> Result<Demand, Vec<Fault>> {
    let body = json!({
        "privacy": [{ "model": "k_anonymity", "k": 5 }], "search": search, "objectives": objectives,
    });
    Demand::parse(&body, &dataset())
}

fn boxes(epsilon: &Value) -> Result<Demand, Vec<Fault>> {
    demand(
        &json!({ "method": "nsga2", "epsilon": epsilon }),
        &json!(["loss", "suppression"]),
    )
}

#[test]
fn boxes_have_one_side_or_one_for_every_objective() {
    let one = boxes(&json!(0.05)).unwrap();
    assert_eq!(one.search.epsilon, Some(Epsilon::All(0.05)));
    let each = boxes(&json!({ "loss": 0.1, "suppression": 1 })).unwrap();
    let sides = [("loss", 0.1), ("suppression", 1.0)].map(|(name, side)| (name.to_owned(), side));
    assert_eq!(each.search.epsilon, Some(Epsilon::Each(sides.into())));
    for demand in [one, each] {
        let stored = serde_json::to_value(&demand).unwrap();
        assert_eq!(Demand::parse(&stored, &dataset()), Ok(demand));
    }
    assert_eq!(boxes(&Value::Null).unwrap().search.epsilon, None);
}

#[test]
fn wrong_boxes_are_told_with_their_place() {
    let place = "/search/epsilon";
    for (epsilon, code) in [
        (json!(0), FaultCode::OutOfRange),
        (json!(-0.5), FaultCode::OutOfRange),
        (json!("0.1"), FaultCode::WrongType),
        (json!([0.1, 0.1]), FaultCode::WrongType),
    ] {
        assert_places(boxes(&epsilon), &[(place, code)]);
    }
    assert_places(
        boxes(&json!({ "loss": 0.1, "precision": 0.1 })),
        &[
            ("/search/epsilon/precision", FaultCode::UnknownValue),
            ("/search/epsilon/suppression", FaultCode::MissingField),
        ],
    );
    assert_places(
        boxes(&json!({ "loss": 0, "suppression": true })),
        &[
            ("/search/epsilon/loss", FaultCode::OutOfRange),
            ("/search/epsilon/suppression", FaultCode::WrongType),
        ],
    );
    for method in ["auto", "exact", "random", "local_search"] {
        let search = json!({ "method": method, "epsilon": 0.1 });
        assert_places(
            demand(&search, &json!(["loss"])),
            &[(place, FaultCode::UnknownField)],
        );
    }
}

#[test]
fn local_search_takes_one_objective() {
    let local = json!({ "method": "local_search" });
    demand(&local, &json!(["average_risk"])).unwrap();
    assert_places(
        demand(&local, &json!(["loss", "suppression"])),
        &[("/search/method", FaultCode::NotSupported)],
    );
    let population = json!({ "method": "local_search", "population": 5 });
    assert_places(
        demand(&population, &json!(["loss"])),
        &[("/search/population", FaultCode::UnknownField)],
    );
}
