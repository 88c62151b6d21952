//! Worked examples and cases by hand.

use kindred::anonymize::report::Basis;
use kindred::anonymize::{Error, Outcome};
use serde_json::{Value, json};

use super::{POPULATION, within};
use crate::tables::{Data, data, k, plain, two_levels};

fn k_map(k: u64) -> Value {
    json!({ "model": "k_map", "k": k, "population": POPULATION })
}

fn presence(min: f64, max: f64) -> Value {
    json!({ "model": "delta_presence", "min": min, "max": max, "population": POPULATION })
}

/// Groups of so many rows each.
fn grouped(counts: &[(&str, usize)]) -> Data {
    let rows = counts.iter();
    let rows: Vec<&str> = rows
        .flat_map(|&(group, count)| std::iter::repeat_n(group, count))
        .collect();
    data(json!(two_levels(&["grp"])), &rows)
}

/// Violating rows at level 0.
fn violating(data: &Data, model: &Value) -> u64 {
    data.measure(&json!({ "privacy": [model] })).violating_rows
}

#[test]
fn worked_example_26() {
    let data = within(grouped(&[("a", 2)]), grouped(&[("a", 6)]));
    assert_eq!(violating(&data, &k_map(5)), 0);
    assert_eq!(violating(&data, &k_map(6)), 0);
    assert_eq!(violating(&data, &k_map(7)), 2);
    // The share is 1/3.
    assert_eq!(violating(&data, &presence(0.33, 0.34)), 0);
    assert_eq!(violating(&data, &presence(0.34, 1.0)), 2);
    assert_eq!(violating(&data, &presence(0.0, 0.33)), 2);
}

#[test]
fn worked_example_25_is_reported_of_solutions_and_measurements() {
    let sample = [("a", 2), ("b", 3), ("c", 5)];
    let data = within(
        grouped(&sample),
        grouped(&[("a", 4), ("b", 3), ("c", 10), ("d", 1)]),
    );
    let known = json!({ "population": POPULATION });
    let measured = data.measure(&json!({ "risk": known })).risk;
    let front = data.front(&json!({
        "privacy": [k_map(3)], "search": { "method": "fixed", "levels": { "grp": 0 } },
    }));
    let of_solution = front.solutions[0].risk.clone();
    assert_eq!(measured, of_solution);
    let (journalist, marketer) = (measured.journalist.unwrap(), measured.marketer.unwrap());
    assert_eq!(
        (journalist.basis, marketer.basis),
        (Basis::Counted, Basis::Counted)
    );
    assert!((journalist.maximum.unwrap() - 1.0 / 3.0).abs() < 1e-12);
    assert!((journalist.average - 0.2).abs() < 1e-12 && (marketer.average - 0.2).abs() < 1e-12);
    let prosecutor = measured.prosecutor.unwrap();
    assert!((prosecutor.maximum.unwrap() - 0.5).abs() < 1e-12);
    let population = measured.population.unwrap();
    assert_eq!((population.members, population.k_map), (18, 3));
    assert_eq!(population.records_above["0.2"], 5);
    assert_eq!(
        (population.population_uniques, population.unique_in_both),
        (1, 0)
    );
    assert_eq!(population.classes_beyond_population, 0);
}

#[test]
fn a_suppressed_class_is_no_part_of_the_sample_but_of_the_population() {
    let data = within(
        grouped(&[("a", 2), ("b", 1)]),
        grouped(&[("a", 4), ("b", 1)]),
    );
    let front = data.front(&json!({
        "privacy": [k_map(2)], "suppression_limit": 0.5,
        "search": { "method": "fixed", "levels": { "grp": 0 } },
    }));
    let solution = &front.solutions[0];
    assert_eq!((solution.released_rows, solution.suppressed_rows), (2, 1));
    let population = solution.risk.population.as_ref().unwrap();
    assert_eq!((population.k_map, population.population_uniques), (4, 1));
    assert_eq!(population.unique_in_both, 0);
}

#[test]
fn with_a_least_presence_a_class_without_any_row_refuses_every_release() {
    let all = [("a", 4), ("b", 4)];
    let data = within(grouped(&[("a", 2), ("b", 2)]), grouped(&all));
    assert_eq!(violating(&data, &presence(0.4, 0.6)), 0);
    let data = within(grouped(&[("a", 2)]), grouped(&all));
    assert_eq!(violating(&data, &presence(0.0, 0.6)), 0);
    assert_eq!(violating(&data, &presence(0.2, 0.6)), 2);
    // At `*` both are one class, of which a quarter is there.
    let front = data.front(&json!({
        "privacy": [k(1), presence(0.2, 0.6)], "search": { "method": "exact" },
    }));
    assert_eq!(front.solutions.len(), 1);
    assert_eq!(front.solutions[0].classes, 1);
    // A class that another model suppresses is not released either.
    let data = within(
        grouped(&[("a", 2), ("b", 1)]),
        grouped(&[("a", 4), ("b", 2)]),
    );
    let outcome = data.search(&json!({
        "privacy": [k(2), presence(0.2, 0.6)], "suppression_limit": 0.9,
        "search": { "method": "fixed", "levels": { "grp": 0 } },
    }));
    assert!(matches!(outcome, Outcome::Infeasible(..)), "{outcome:?}");
}

#[test]
fn more_rows_than_members_exceed_every_presence_and_are_told() {
    let data = within(
        grouped(&[("a", 3), ("b", 1)]),
        grouped(&[("a", 2), ("c", 9)]),
    );
    assert_eq!(violating(&data, &presence(0.0, 1.0)), 4);
    // k-map asks of the population alone.
    assert_eq!(violating(&data, &k_map(2)), 1);
    let measured = data.measure(&json!({ "privacy": [k_map(2)] })).risk;
    assert_eq!(measured.population.unwrap().classes_beyond_population, 2);
}

#[test]
fn members_are_distinct_subjects_where_the_population_declares_them() {
    let subjects = json!([
        { "name": "person", "role": "identifying", "subject": true },
        plain("quasi_identifying", "grp"),
        plain("insensitive", "other"),
    ]);
    let people = data(subjects, &["1,a,x", "1,a,y", "1,b,x", "2,a,x", "3,b,x"]);
    let data = within(grouped(&[("a", 1), ("b", 1)]), people);
    assert_eq!(violating(&data, &k_map(2)), 0);
    assert_eq!(violating(&data, &k_map(3)), 2);
    // Person 1 is in both groups, and one person of their union.
    let measured = data.measure(&json!({ "privacy": [k_map(3)], "levels": { "grp": 1 } }));
    assert_eq!(measured.violating_rows, 0);
    let population = measured.risk.population.unwrap();
    assert_eq!((population.members, population.k_map), (3, 3));
}

#[test]
fn missing_is_a_value_of_the_population_too() {
    let two = |rows: &[&str]| data(json!(two_levels(&["grp", "sex"])), rows);
    let data = within(two(&["a,", ",f"]), two(&["a,", "a,", ",f", "a,f"]));
    assert_eq!(violating(&data, &k_map(2)), 1);
}

#[test]
fn a_value_of_the_population_without_a_place_is_told_without_the_value() {
    let table = json!([{ "name": "grp", "role": "quasi_identifying",
        "hierarchy": { "kind": "table", "text": "a;ab;*\nb;ab;*" } }]);
    let data = within(data(table, &["a", "b"]), grouped(&[("a", 1), ("zz", 3)]));
    let demand = kindred::declaration::MeasureDemand::parse(
        &json!({ "privacy": [k_map(2)] }),
        &data.declaration,
    );
    let measured =
        kindred::anonymize::measure::measure(&data.table, &data.schema, &demand.unwrap());
    let error = measured.unwrap_err();
    assert!(matches!(
        error,
        Error::PopulationUncovered { values: 1, .. }
    ));
    assert!(!error.to_string().contains("zz"));
}

/// Keys of more than 64 bits, and of more than 128.
#[test]
fn any_number_of_quasi_identifiers_is_joined() {
    for count in [40, 70] {
        let names: Vec<String> = (0..count).map(|number| format!("q{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let row = |first: &str, rest: &str| {
            let cells = std::iter::once(first).chain(std::iter::repeat_n(rest, count - 1));
            cells.collect::<Vec<_>>().join(",")
        };
        let table = |rows: &[(&str, &str)]| {
            let rows: Vec<String> = rows.iter().map(|&(first, rest)| row(first, rest)).collect();
            data(json!(two_levels(&names)), &rows)
        };
        let data = within(
            table(&[("a", "x"), ("b", "x"), ("a", "y"), ("c", "z")]),
            table(&[
                ("a", "x"),
                ("d", "x"),
                ("b", "x"),
                ("a", "y"),
                ("c", "w"),
                ("e", "v"),
            ]),
        );
        // Classes of the sample: 1, 1, 1 and 0 members; with q0 at `*`: 3, 1 and 0.
        assert_eq!(violating(&data, &k_map(1)), 1, "{count}");
        let measured = data.measure(&json!({ "privacy": [k_map(3)], "levels": { "q0": 1 } }));
        assert_eq!((measured.classes, measured.violating_rows), (3, 2));
        assert_eq!(
            measured.risk.population.unwrap().classes_beyond_population,
            1
        );
    }
}

/// Figures that do not look at the population are what they are without it.
#[test]
fn a_population_disturbs_no_other_figure() {
    let hierarchy = json!({ "kind": "intervals", "origin": 0, "widths": [10] });
    let attributes = json!([
        { "name": "age", "role": "quasi_identifying", "type": "integer", "hierarchy": hierarchy },
        plain("quasi_identifying", "sex"),
        plain("sensitive", "dx"),
    ]);
    let sample = || {
        let rows = ["21,f,x", "24,m,y", "37,f,x", "33,f,y", "21,f,z", ",m,x"];
        data(attributes.clone(), &rows)
    };
    let people = data(
        attributes.clone(),
        &["21,f,x", "95,d,y", "96,m,x", "33,f,y", "21,f,z", "22,m,x"],
    );
    let (alone, known) = (sample(), within(sample(), people));
    let models =
        json!([k(2), { "model": "t_closeness", "attribute": "dx", "t": 0.9, "distance": "equal" }]);
    for age in 0..3 {
        let body = json!({ "privacy": models, "levels": { "age": age } });
        let mut with = known.measure(&json!({ "privacy": models, "levels": { "age": age },
            "risk": { "population": POPULATION } }));
        let without = alone.measure(&body);
        with.risk.population = None;
        with.risk.journalist = without.risk.journalist.clone();
        with.risk.marketer = without.risk.marketer.clone();
        assert_eq!(with, without);
    }
    let objectives = ["loss", "ambiguity", "non_uniform_entropy", "discernibility"];
    let search = |data: &Data| {
        let mut front = data.front(&json!({
            "privacy": models, "suppression_limit": 0.5, "search": { "method": "exact" }, "objectives": objectives,
        }));
        front.search.evaluations = 0;
        for solution in &mut front.solutions {
            solution.risk.population = None;
        }
        front.certificate = None;
        front
    };
    assert_eq!(search(&known), search(&alone));
}
