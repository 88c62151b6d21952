//! Golden results on the bundled adult table (algorithms.md G.2), and of ARX 3.9.2's optimal search on the same files.

use serde_json::{Value, json};

use crate::tables::{ADULT, Data, adult, levels};

const A7: [(u64, u64); 27] = [
    (3, 8084),
    (6, 6289),
    (7, 5645),
    (9, 4979),
    (10, 4402),
    (12, 3400),
    (13, 3395),
    (16, 2267),
    (18, 2257),
    (20, 1808),
    (22, 1285),
    (24, 1233),
    (26, 868),
    (28, 699),
    (30, 491),
    (32, 460),
    (34, 373),
    (36, 227),
    (38, 190),
    (40, 115),
    (42, 73),
    (44, 56),
    (46, 35),
    (48, 21),
    (48, 21),
    (50, 8),
    (54, 0),
];

const A8: [(u64, u64); 20] = [
    (18, 8532),
    (20, 8197),
    (22, 6188),
    (24, 6078),
    (26, 5243),
    (28, 3878),
    (30, 3302),
    (32, 3186),
    (34, 2629),
    (36, 2060),
    (38, 1940),
    (40, 1389),
    (42, 974),
    (46, 746),
    (48, 461),
    (52, 385),
    (54, 147),
    (60, 32),
    (66, 0),
    (66, 0),
];

fn demand(sensitive: &str, search: &Value) -> Value {
    json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "distinct_l_diversity", "attribute": sensitive, "l": 2 },
        ],
        "suppression_limit": 0.30,
        "search": search,
        "objectives": ["generalization_depth", "suppression"],
    })
}

/// The front as (depth times `scale`, suppressed rows).
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a small whole number"
)]
pub(crate) fn points(data: &Data, body: &Value, scale: f64) -> Vec<(u64, u64)> {
    let front = data.front(body);
    let point = |solution: &kindred::anonymize::report::Solution| {
        let depth = solution.objectives["generalization_depth"] * scale;
        assert!((depth - depth.round()).abs() < 1e-9);
        (depth.round() as u64, solution.suppressed_rows)
    };
    front.solutions.iter().map(point).collect()
}

#[test]
fn the_exact_front_of_a7_is_the_golden_one() {
    let data = adult(&ADULT[..7], Some("occupation"));
    let exact = demand("occupation", &json!({ "method": "exact" }));
    assert_eq!(points(&data, &exact, 84.0), A7);
    let front = data.front(&exact);
    assert_eq!(&*front.search.search_space, "2160");
    assert!(front.search.evaluations < 2160);
    assert!(front.search.complete && front.search.certified);
    assert_eq!(
        levels(&front.solutions[0], &ADULT[..7]),
        [0, 1, 0, 0, 0, 0, 0]
    );
    assert_eq!(
        levels(&front.solutions[26], &ADULT[..7]),
        [0, 4, 0, 1, 3, 2, 2]
    );
    for solution in &front.solutions {
        assert!(
            solution.privacy.k >= 5 && solution.privacy.sensitive["occupation"].distinct_l >= 2
        );
        assert_eq!(solution.released_rows + solution.suppressed_rows, 30_162);
    }
}

#[test]
fn the_exact_front_of_a8_is_the_golden_one() {
    let data = adult(&ADULT[..8], Some("salary-class"));
    let exact = demand("salary-class", &json!({ "method": "exact" }));
    assert_eq!(points(&data, &exact, 96.0), A8);
}

#[test]
fn nsga2_with_seed_7_finds_all_of_a7_and_a8() {
    let search = json!({ "method": "nsga2", "population": 100, "generations": 50, "seed": 7 });
    let data = adult(&ADULT[..7], Some("occupation"));
    assert_eq!(points(&data, &demand("occupation", &search), 84.0), A7);
    let data = adult(&ADULT[..8], Some("salary-class"));
    assert_eq!(points(&data, &demand("salary-class", &search), 96.0), A8);
}

/// The loss of the given levels, and what they suppress and release.
pub(crate) fn loss_at(
    data: &Data,
    levels: &[usize],
    models: &Value,
    aggregate: &str,
) -> (f64, u64, u64, u64) {
    let names = data.declaration.attributes.iter();
    let names = names.filter(|attribute| attribute.hierarchy.is_some());
    let levels: serde_json::Map<String, Value> = names
        .map(|attribute| attribute.name.clone())
        .zip(levels.iter().map(|&l| l.into()))
        .collect();
    let front = data.front(&json!({
        "privacy": models,
        "suppression_limit": 1.0,
        "search": { "method": "fixed", "levels": levels },
        "objectives": ["loss"],
        "loss": { "aggregate": aggregate },
    }));
    let solution = &front.solutions[0];
    let loss = solution.objectives["loss"];
    (
        loss,
        solution.suppressed_rows,
        solution.classes,
        solution.privacy.k,
    )
}

// algorithms.md G.2, A9.
#[test]
fn the_least_loss_of_a9_is_the_golden_one() {
    let data = adult(&ADULT, None);
    let five = json!([{ "model": "k_anonymity", "k": 5 }]);
    let best = loss_at(&data, &[0, 3, 0, 0, 2, 1, 1, 1, 0], &five, "arithmetic");
    assert!((best.0 - 0.227_700_323_188_888_9).abs() < 1e-9);
    assert_eq!((best.1, best.2, best.3), (2553, 602, 5));
    let next = loss_at(&data, &[0, 3, 0, 0, 1, 1, 1, 1, 0], &five, "arithmetic");
    assert!((next.0 - 0.232_836).abs() < 1e-6);
}

// ARX 3.9.2, optimal search, geometric mean: k, l and its attribute, levels, score, suppressed rows, classes, least class.
type Case = (
    u64,
    Option<(u64, &'static str)>,
    &'static [usize],
    f64,
    u64,
    u64,
    u64,
);

const ARX: [Case; 17] = [
    (
        5,
        None,
        &[0, 3, 0, 0, 2, 1, 1, 1, 0],
        0.220_411_928_479_842_92,
        2553,
        602,
        5,
    ),
    (
        5,
        None,
        &[0, 4, 1, 1, 3, 2, 2, 1, 0],
        0.573_150_965_559_004_4,
        0,
        24,
        69,
    ),
    (
        5,
        None,
        &[0, 3, 0, 0, 2, 1, 1, 2, 0],
        0.241_932_365_066_290_8,
        1346,
        397,
        5,
    ),
    (
        5,
        Some((2, "occupation")),
        &[0, 3, 0, 0, 2, 1, 0, 0],
        0.162_616_952_007_116_12,
        2200,
        515,
        5,
    ),
    (
        5,
        Some((3, "occupation")),
        &[0, 3, 0, 0, 2, 1, 0, 0],
        0.166_714_920_053_641_3,
        2335,
        492,
        5,
    ),
    (
        5,
        Some((2, "salary-class")),
        &[0, 4, 0, 1, 1, 1, 0, 1],
        0.309_385_734_537_574_34,
        2644,
        326,
        5,
    ),
    (
        2,
        None,
        &[0, 4, 1, 1, 3, 2, 0, 2, 0],
        0.529_695_514_434_230_8,
        0,
        52,
        2,
    ),
    (
        2,
        None,
        &[0, 3, 0, 1, 2, 1, 1, 1, 0],
        0.209_370_991_133_243_3,
        573,
        872,
        2,
    ),
    (
        2,
        None,
        &[0, 3, 0, 0, 1, 1, 0, 1, 0],
        0.161_759_775_741_280_3,
        2093,
        1913,
        2,
    ),
    (
        5,
        None,
        &[0, 3, 0, 2, 2, 1, 1, 2, 0],
        0.313_713_035_281_924_2,
        506,
        222,
        5,
    ),
    (
        10,
        None,
        &[0, 4, 1, 1, 3, 2, 2, 1, 0],
        0.573_150_965_559_004_4,
        0,
        24,
        69,
    ),
    (
        10,
        None,
        &[0, 4, 0, 1, 2, 1, 1, 2, 0],
        0.342_336_703_565_498_95,
        592,
        124,
        10,
    ),
    (
        10,
        None,
        &[0, 3, 0, 0, 2, 1, 1, 1, 0],
        0.261_394_038_912_103,
        3983,
        381,
        10,
    ),
    (
        50,
        None,
        &[0, 4, 1, 1, 3, 2, 2, 1, 0],
        0.573_150_965_559_004_4,
        0,
        24,
        69,
    ),
    (
        50,
        None,
        &[0, 4, 0, 1, 3, 2, 1, 2, 0],
        0.467_604_924_537_657_45,
        527,
        35,
        57,
    ),
    (
        50,
        None,
        &[0, 3, 0, 1, 2, 0, 1, 2, 0],
        0.359_073_585_484_551_7,
        5124,
        72,
        52,
    ),
    (
        5,
        Some((5, "occupation")),
        &[0, 3, 0, 0, 2, 1, 1, 0],
        0.199_861_072_971_515_79,
        2361,
        270,
        5,
    ),
];

#[test]
fn losses_equal_those_of_arx() {
    for (k, diverse, at, score, suppressed, classes, smallest) in ARX {
        let sensitive = diverse.map(|(_, attribute)| attribute);
        let others: Vec<&str> = ADULT
            .into_iter()
            .filter(|name| Some(*name) != sensitive)
            .collect();
        let data = adult(&others, sensitive);
        let mut models = vec![json!({ "model": "k_anonymity", "k": k })];
        models.extend(diverse.map(|(l, attribute)| {
            json!({ "model": "distinct_l_diversity", "attribute": attribute, "l": l })
        }));
        let found = loss_at(&data, at, &Value::Array(models), "geometric");
        assert!(
            (found.0 - score).abs() < 1e-9,
            "{} is not {score} at {at:?}",
            found.0
        );
        assert_eq!(
            (found.1, found.2, found.3),
            (suppressed, classes, smallest),
            "at {at:?}"
        );
    }
}
