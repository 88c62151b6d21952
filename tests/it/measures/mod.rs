//! Measures of utility and risk, indicators of fronts: worked examples and ARX's scores.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod laws;
mod reported;

use std::collections::BTreeMap;

use kindred::anonymize::report::{Basis, Front, Knee};
use serde_json::{Value, json};

use crate::tables::{ADULT, Data, adult, data, plain};

/// T8 of algorithms.md F.
fn t8() -> Data {
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer", "hierarchy":
            { "kind": "intervals", "origin": 20, "widths": [10, 20], "lower": 20, "upper": 80 } },
        { "name": "zip", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] } },
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

fn fixed(data: &Data, levels: &Value, more: &Value) -> Front {
    let mut body = json!({
        "privacy": [{ "model": "k_anonymity", "k": 2 }],
        "suppression_limit": 1.0,
        "search": { "method": "fixed", "levels": levels },
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    data.front(&body)
}

fn close(found: f64, expected: f64) {
    let tolerance = 1e-9 * expected.abs().max(1.0);
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

#[test]
fn worked_examples_8_and_9_on_the_table_itself() {
    let levels = json!({ "age": 2, "zip": 2, "sex": 1 });
    let objectives = [
        "loss",
        "discernibility",
        "average_class_size",
        "non_uniform_entropy",
    ];
    let front = fixed(&t8(), &levels, &json!({ "objectives": objectives }));
    let solution = &front.solutions[0];
    assert_eq!(solution.suppressed_rows, 1);
    assert!((solution.objectives["loss"] - 0.617_74).abs() < 1e-5);
    close(solution.objectives["discernibility"], 33.0);
    close(solution.objectives["average_class_size"], 8.0 / 3.0);
    let utility = solution.utility.as_ref().unwrap();
    close(utility.discernibility_without_suppression, 26.0);
    for (name, loss) in [("age", 0.406_78), ("zip", 0.446_43), ("sex", 1.0)] {
        assert!(
            (utility.granularity[name] - (1.0 - loss)).abs() < 1e-5,
            "{name}"
        );
    }
    // One row suppressed adds nothing to the entropy, which so is that of the levels.
    let entropy = |age, zip, sex| {
        let levels = json!({ "age": age, "zip": zip, "sex": sex });
        let measured = t8().measure(&json!({ "levels": levels }));
        measured.utility.non_uniform_entropy
    };
    assert!((entropy(1, 0, 0) - 12.754_89).abs() < 1e-5);
    assert!((entropy(0, 0, 1) - 7.635_47).abs() < 1e-5);
    close(solution.objectives["non_uniform_entropy"], entropy(2, 2, 1));
    assert!(entropy(0, 0, 0).abs() < 1e-12);
}

// Released {r1..r4}, {r5, r6, r7}: leaves 20, 4, 2 per row in the first (zip 1**** holds four values), 20, 3, 2 in the
// second; the suppressed row 60 * 8 * 2. Lost precision: (7 (2/3 + 2/3 + 1) + 3) / 24.
#[test]
fn ambiguity_and_precision_by_hand() {
    let levels = json!({ "age": 2, "zip": 2, "sex": 1 });
    let front = fixed(
        &t8(),
        &levels,
        &json!({ "objectives": ["ambiguity", "precision"] }),
    );
    let objectives = &front.solutions[0].objectives;
    close(objectives["ambiguity"], f64::from(4 * 160 + 3 * 120 + 960));
    close(objectives["precision"], (7.0 * 7.0 / 3.0 + 3.0) / 24.0);
    let weighted = fixed(
        &t8(),
        &levels,
        &json!({ "objectives": ["precision"], "weights": { "sex": 2 } }),
    );
    let expected = (7.0 * (2.0 / 3.0 + 2.0 / 3.0 + 2.0) + 4.0) / 32.0;
    close(weighted.solutions[0].objectives["precision"], expected);
}

// {r1..r4}: flu flu asthma flu; {r5, r6, r7}: cancer flu cancer; r8 suppressed: 1 + 1 + 1. At (2,1,0), {r1,r2,r3}: one
// beside the majority; {r5,r6}: a tie; r4, r7, r8 suppressed: 3 + 1 + 1, and as ARX counts a tie 3 + 1 + 2.
#[test]
fn classification_counts_what_a_class_does_not_tell() {
    let more = |arx: bool| json!({ "objectives": ["classification"], "target": "diagnosis", "classification": { "arx_tie": arx } });
    let at = |levels: Value, arx| {
        let front = fixed(&t8(), &levels, &more(arx));
        front.solutions[0].objectives["classification"]
    };
    close(
        at(json!({ "age": 2, "zip": 2, "sex": 1 }), false),
        3.0 / 8.0,
    );
    close(
        at(json!({ "age": 2, "zip": 1, "sex": 0 }), false),
        5.0 / 8.0,
    );
    close(at(json!({ "age": 2, "zip": 1, "sex": 0 }), true), 6.0 / 8.0);
}

// The input's eight rows differ: 8 log2 8 = 24 bits; spread over everything, each of 960 combinations has 1/960.
#[test]
fn divergence_is_nothing_for_the_input_and_the_logarithm_of_the_domain_for_nothing() {
    let measured = |levels: Value| t8().measure(&json!({ "levels": levels })).utility;
    assert!(measured(json!({})).kl_divergence.abs() < 1e-9);
    let all = measured(json!({ "age": 3, "zip": 3, "sex": 1 }));
    assert!((all.kl_divergence - (960_f64 / 8.0).log2()).abs() < 1e-9);
    assert!(
        all.granularity
            .values()
            .all(|granularity| granularity.abs() < 1e-12)
    );
}

#[test]
fn average_risk_is_that_of_the_report_with_and_without_subjects() {
    let attributes = |subject: bool| {
        json!([
            { "name": "patient", "role": "identifying", "subject": subject },
            plain("quasi_identifying", "zip"),
        ])
    };
    // Class a: three rows of two patients; b: two of two; c alone.
    let rows = ["1,a", "1,a", "2,a", "3,b", "4,b", "5,c"];
    for (subject, expected) in [(true, 0.5), (false, 0.4)] {
        let front = fixed(
            &data(attributes(subject), &rows),
            &json!({ "zip": 0 }),
            &json!({ "objectives": ["average_risk"] }),
        );
        close(front.solutions[0].objectives["average_risk"], expected);
        close(front.solutions[0].risk.average, expected);
    }
}

// Quality model, suppression limit, levels in the order of `ADULT`, score of ARX 3.9.2's optimal search, k = 5.
#[rustfmt::skip]
const ARX: [(&str, &str, [usize; 9], f64, u64); 11] = [
    ("discernibility", "arithmetic", [1, 1, 1, 2, 3, 2, 2, 1, 1], 33_627_534.0, 0),
    ("discernibility", "arithmetic", [0, 0, 1, 2, 3, 2, 2, 1, 1], 7_220_555.0, 105),
    ("average_class_size", "arithmetic", [1, 2, 1, 1, 3, 2, 2, 1, 1], 628.375, 0),
    ("average_class_size", "arithmetic", [0, 0, 1, 1, 1, 2, 2, 0, 1], 16.321_428_571_428_573, 7185),
    ("non_uniform_entropy", "arithmetic", [1, 2, 1, 1, 3, 2, 2, 1, 1], 407_289.538_892_529_3, 0),
    ("non_uniform_entropy", "arithmetic", [0, 0, 1, 1, 3, 2, 2, 0, 0], 249_855.108_681_481_97, 3659),
    ("precision", "arithmetic", [0, 4, 1, 2, 3, 2, 0, 2, 0], 0.666_666_666_666_666_7, 0),
    ("precision", "arithmetic", [0, 4, 0, 0, 1, 0, 0, 1, 0], 0.311_946_353_886_543_5, 4100),
    ("loss", "arithmetic", [0, 3, 0, 0, 2, 1, 1, 1, 0], 0.227_700_323_188_888_91, 2553),
    ("loss", "geometric", [0, 3, 0, 0, 2, 1, 1, 1, 0], 0.220_411_928_479_842_92, 2553),
    ("loss", "geometric", [0, 4, 1, 1, 3, 2, 2, 1, 0], 0.573_150_965_559_004_4, 0),
];

#[test]
fn every_measure_scores_as_arx_does() {
    let data = adult(&ADULT, None);
    for (objective, aggregate, levels, score, suppressed) in ARX {
        let by_name: BTreeMap<&str, usize> = ADULT.into_iter().zip(levels).collect();
        let front = data.front(&json!({
            "privacy": [{ "model": "k_anonymity", "k": 5 }],
            "suppression_limit": 1.0,
            "search": { "method": "fixed", "levels": by_name },
            "objectives": [objective],
            "loss": { "aggregate": aggregate },
        }));
        let solution = &front.solutions[0];
        assert_eq!(solution.suppressed_rows, suppressed);
        close(solution.objectives[objective], score);
    }
}

// ARX's `Height` is the sum of levels, the depth its mean over heights.
#[test]
fn least_discernibility_and_class_size_are_those_of_arx() {
    let data = adult(&ADULT, None);
    let front = |objective: &str, limit: f64| {
        data.front(&json!({
            "privacy": [{ "model": "k_anonymity", "k": 5 }],
            "suppression_limit": limit,
            "search": { "method": "exact" },
            "objectives": [objective],
        }))
    };
    let dm = &front("discernibility", 0.3).solutions[0].objectives["discernibility"];
    close(*dm, 7_220_555.0);
    let aecs = &front("average_class_size", 0.0).solutions[0].objectives["average_class_size"];
    close(*aecs, 628.375);
}

#[test]
fn a_front_states_its_area_and_its_knee_and_recommends_by_rule() {
    // algorithms.md F 4: (1,1,0), (1,1,1), (3,3,0) at depths 2/9, 5/9, 2/3 and shares 3/8, 1/4, 0.
    let front = |recommend: &str| {
        t8().front(&json!({
            "privacy": [
                { "model": "k_anonymity", "k": 2 },
                { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 },
            ],
            "suppression_limit": 0.5,
            "search": { "method": "exact" },
            "recommend": recommend,
        }))
    };
    let first = front("first_objective");
    let area = first.hypervolume.as_ref().unwrap();
    close(area.reference[0], 1.0);
    close(area.reference[1], 0.5);
    let expected = 7.0 / 9.0 / 8.0 + 4.0 / 9.0 / 8.0 + 1.0 / 3.0 / 4.0;
    close(area.value, expected);
    assert_eq!(first.recommended, Some(0));
    assert!(
        first
            .recommendation_rule
            .starts_with("least generalization_depth")
    );
    // Scaled (0, 1), (3/4, 2/3), (1, 0): beyond the chord, so the first end is nearest; the only bend is at 1.
    let Knee::Defined {
        chord,
        bend_angle,
        marginal_rate,
        ..
    } = first.knee
    else {
        panic!("three points have a knee");
    };
    assert_eq!((chord, bend_angle, marginal_rate), (0, 1, 1));
    let bent = front("knee_bend_angle");
    assert_eq!(bent.recommended, Some(1));
    let marked: Vec<bool> = bent
        .solutions
        .iter()
        .map(|solution| solution.recommended)
        .collect();
    assert_eq!(marked, [false, true, false]);
    assert!(bent.recommendation_rule.contains("sharpest bend"));
}

#[test]
fn fewer_than_three_points_have_no_knee_and_the_rule_says_so() {
    let front = fixed(
        &t8(),
        &json!({ "age": 2, "zip": 2, "sex": 1 }),
        &json!({ "recommend": "knee" }),
    );
    assert_eq!(
        serde_json::to_value(&front).unwrap()["knee"],
        json!("undefined")
    );
    assert_eq!(front.recommended, Some(0));
    assert!(front.recommendation_rule.contains("undefined"));
}

#[test]
fn estimates_of_risk_are_labelled_and_need_a_population() {
    let levels = json!({ "age": 2, "zip": 2, "sex": 1 });
    let front = fixed(&t8(), &levels, &json!({}));
    let risk = &front.solutions[0].risk;
    assert_eq!(risk.prosecutor.as_ref().unwrap().basis, Basis::Counted);
    assert_eq!(risk.journalist.as_ref().unwrap().basis, Basis::UpperBound);
    assert_eq!(risk.population_uniqueness, None);
    // Eight rows, a tenth of the population.
    let known = fixed(
        &t8(),
        &levels,
        &json!({ "risk": { "sampling_fraction": 0.1 } }),
    );
    let risk = &known.solutions[0].risk;
    let journalist = risk.journalist.as_ref().unwrap();
    assert_eq!(journalist.basis, Basis::Estimate);
    // Seven of eighty: a class of three stands for 34.3.
    close(journalist.maximum.unwrap(), 7.0 / 80.0 / 3.0);
    let uniqueness = risk.population_uniqueness.as_ref().unwrap();
    assert_eq!(uniqueness.population, 80);
    assert!(
        uniqueness
            .estimates
            .iter()
            .all(|estimate| estimate.estimate)
    );
    let histogram = &known.solutions[0].class_size_histogram;
    let sizes: Vec<_> = histogram
        .iter()
        .map(|one| (one.size, one.size_to, one.classes))
        .collect();
    assert_eq!(sizes, [(3, 3, 1), (4, 4, 1)]);
}

// UC-15, UC-16: what looks like an identifier is told, by kind and share, never by value.
#[test]
fn measuring_tells_columns_that_look_like_identifiers_without_a_value() {
    let attributes = json!([
        { "name": "ssn", "role": "identifying" },
        plain("quasi_identifying", "zip"),
        plain("insensitive", "contact"),
    ]);
    let table = data(
        attributes,
        &[
            "123-45-6789,02139,a@example.org",
            "987-65-4321,02140,b@example.org",
        ],
    );
    let measured = table.measure(&json!({ "year_of_data": 2024 }));
    let found: Vec<(&str, Value)> = measured
        .identifier_indicators
        .iter()
        .map(|one| (&*one.column, json!(one.category)))
        .collect();
    assert!(found.iter().any(|(column, _)| *column == "zip"));
    assert!(found.iter().any(|(column, _)| *column == "contact"));
    assert!(
        found.iter().all(|(column, _)| *column != "ssn"),
        "identifying columns are not loaded"
    );
    let text = serde_json::to_string(&measured.identifier_indicators).unwrap();
    assert!(!text.contains("example.org") && !text.contains("02139"));
}
