//! Releases whose rows break a model: the verifier finds them, whatever the engine said.

use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::subtree::Recoded;
use kindred::anonymize::verify::verify;
use kindred::declaration::{Fraction, PrivacyModel, RowOrder, SuppressedRows};
use serde_json::json;

use super::worked::{dx, group, groups, k};

/// Under each model one group of three must leave; the verifier takes what is rendered, and not what holds all three.
#[test]
fn the_verifier_finds_a_class_that_should_have_been_suppressed() {
    let mut rows = group("a", &[4, 4, 2]);
    rows.extend(group("b", &[9, 1]));
    rows.extend(group("c", &[4, 5, 1]));
    let data = groups(&rows);
    let models = [
        dx("entropy_l_diversity", json!({ "l": 2.2 })),
        dx("recursive_cl_diversity", json!({ "c": 1.4, "l": 2 })),
        dx("t_closeness", json!({ "distance": "equal", "t": 0.2 })),
        dx(
            "t_closeness",
            json!({ "distance": "equal", "t": 0.27, "reference": "input" }),
        ),
        dx("delta_disclosure", json!({ "delta": 1.3 })),
        dx("delta_disclosure", json!({ "delta": 1.1, "mode": "arx" })),
        dx("beta_likeness", json!({ "beta": 0.7 })),
        dx("alpha_k", json!({ "alpha": 0.6, "k": 2 })),
        dx("alpha_k", json!({ "alpha": 0.6, "k": 2, "values": ["v0"] })),
    ];
    for model in models {
        let asked = data.demand(&json!({ "privacy": [k(2), model] })).privacy;
        let levels = [("grp".to_owned(), 0)].into();
        let recipe = Recipe {
            recoding: Recoded::FullDomain(&levels),
            privacy: &asked,
            row_order: RowOrder::Input,
            seed: 0,
            columns: None,
            suppressed_rows: SuppressedRows::Omit,
        };
        let rendered = render(&data.table, &data.schema, &recipe).unwrap();
        assert_eq!(rendered.suppressed_rows, 10, "{model}");
        verify(&data.table, &data.schema, &recipe, Fraction::ONE, &rendered).unwrap();
        let forged = all_released(rendered);
        let failure =
            verify(&data.table, &data.schema, &recipe, Fraction::ONE, &forged).unwrap_err();
        assert_eq!(failure.failures.len(), 1, "{failure}");
        assert!(failure.failures[0].contains("do not meet it"), "{failure}");
    }
}

fn all_released(mut rendered: Rendered) -> Rendered {
    let rows = u32::try_from(rendered.suppressed.len()).expect("few rows");
    rendered.order = (0..rows).collect();
    rendered.suppressed.fill(false);
    rendered.released_rows += rendered.suppressed_rows;
    rendered.suppressed_rows = 0;
    rendered
}

#[test]
fn the_verifier_finds_risks_above_their_limits() {
    let mut rows = group("a", &[4]);
    rows.extend(group("b", &[2]));
    let data = groups(&rows);
    for model in [
        json!({ "model": "average_risk", "max": 0.3 }),
        json!({ "model": "maximum_risk", "max": 0.3 }),
    ] {
        let asked: Vec<PrivacyModel> = data.demand(&json!({ "privacy": [k(1), model] })).privacy;
        let levels = [("grp".to_owned(), 0)].into();
        let recipe = Recipe {
            recoding: Recoded::FullDomain(&levels),
            privacy: &asked,
            row_order: RowOrder::Input,
            seed: 0,
            columns: None,
            suppressed_rows: SuppressedRows::Omit,
        };
        let rendered = render(&data.table, &data.schema, &recipe).unwrap();
        assert_eq!(rendered.suppressed_rows, 2);
        verify(&data.table, &data.schema, &recipe, Fraction::ONE, &rendered).unwrap();
        let forged = all_released(rendered);
        verify(&data.table, &data.schema, &recipe, Fraction::ONE, &forged).unwrap_err();
    }
}
