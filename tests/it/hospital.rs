//! Fronts of real encounters, counted in patients: the exact search against `tests/oracles/hospital_front.py`, which
//! shares no code with the project and looks at every row of every policy.

use kindred::anonymize::report::Front;
use kindred::anonymize::table::{Schema, Table};
use kindred::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use kindred::declaration::{DatasetDeclaration, Demand};
use kindred::ingest::{Format, Options, ingest};
use serde_json::{Value, json};

/// Levels, suppressed rows, classes.
type Point = (&'static [usize], u64, u64);

/// `hospital_front.py 0.30 race gender age admission_type_id discharge_disposition_id time_in_hospital`.
const SIX_COLUMNS: &[Point] = &[
    (&[0, 0, 0, 0, 0, 1], 3252, 500),
    (&[0, 0, 0, 0, 0, 2], 2308, 421),
    (&[0, 0, 0, 0, 1, 1], 2238, 451),
    (&[0, 0, 1, 0, 0, 2], 1597, 359),
    (&[0, 0, 0, 0, 1, 2], 1499, 356),
    (&[0, 0, 1, 0, 0, 3], 1069, 275),
    (&[0, 0, 1, 0, 1, 2], 953, 284),
    (&[0, 0, 3, 0, 0, 2], 689, 228),
    (&[0, 0, 3, 0, 1, 1], 584, 228),
    (&[0, 0, 1, 0, 2, 2], 448, 178),
    (&[0, 0, 3, 0, 1, 2], 337, 156),
    (&[0, 0, 3, 0, 2, 1], 188, 135),
    (&[0, 0, 3, 0, 2, 2], 88, 86),
    (&[1, 0, 3, 0, 2, 0], 33, 134),
    (&[0, 0, 3, 1, 2, 2], 29, 58),
    (&[0, 0, 3, 2, 2, 1], 2, 47),
    (&[0, 0, 3, 2, 2, 2], 1, 24),
    (&[0, 1, 3, 2, 2, 1], 0, 24),
];

/// `hospital_front.py 0.10` with all nine columns, the search of `make demo`.
const NINE_COLUMNS: &[Point] = &[
    (&[0, 0, 3, 0, 2, 0, 3, 1, 1], 1177, 284),
    (&[0, 0, 3, 0, 2, 0, 3, 0, 3], 968, 233),
    (&[0, 0, 3, 0, 2, 0, 3, 1, 2], 828, 241),
    (&[0, 0, 3, 0, 2, 0, 3, 2, 1], 671, 191),
    (&[0, 0, 3, 0, 2, 0, 3, 1, 3], 548, 190),
    (&[0, 0, 3, 0, 2, 0, 3, 2, 2], 387, 167),
    (&[0, 0, 3, 0, 2, 0, 3, 2, 3], 267, 115),
    (&[1, 0, 3, 0, 2, 0, 3, 1, 2], 235, 159),
    (&[0, 0, 3, 0, 2, 2, 1, 2, 3], 188, 135),
    (&[1, 0, 3, 0, 2, 2, 1, 1, 2], 85, 229),
    (&[0, 0, 3, 0, 2, 2, 3, 2, 2], 76, 87),
    (&[1, 0, 3, 0, 2, 2, 1, 1, 3], 31, 129),
    (&[1, 0, 3, 0, 2, 2, 1, 2, 2], 22, 82),
    (&[1, 0, 3, 0, 2, 2, 2, 1, 3], 16, 67),
    (&[0, 0, 3, 2, 2, 2, 1, 2, 3], 2, 47),
    (&[1, 0, 3, 1, 2, 2, 1, 2, 2], 1, 48),
    (&[0, 1, 3, 2, 2, 2, 1, 2, 3], 0, 24),
];

const COLUMNS: [&str; 9] = [
    "race",
    "gender",
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
    "time_in_hospital",
    "payer_code",
    "medical_specialty",
];

fn file(name: &str) -> String {
    let path = format!("{}/data/diabetes130/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn declaration(columns: &[&str]) -> DatasetDeclaration {
    let table = |column: &str, role: &str| -> Value {
        let text = file(&format!("diabetes130_hierarchy_{column}.csv"));
        json!({ "name": column, "role": role, "missing": ["?"],
                "hierarchy": { "kind": "table", "delimiter": ";", "text": text } })
    };
    let mut attributes =
        vec![json!({ "name": "patient_nbr", "role": "identifying", "subject": true })];
    attributes.extend(
        columns
            .iter()
            .map(|column| table(column, "quasi_identifying")),
    );
    attributes.push(table("diag_1", "sensitive"));
    let body =
        json!({ "name": "hospital", "attributes": attributes, "default_role": "insensitive" });
    DatasetDeclaration::parse(&body).expect("a valid declaration")
}

fn encounters(schema: &Schema) -> Table {
    let mut table = Table::with_columns(&schema.releasable(), true);
    let options = Options {
        format: Format::Csv { delimiter: b',' },
        charset: None,
        schema,
        default_role: Some(kindred::declaration::Role::Insensitive),
    };
    let patient = schema.position("patient_nbr").expect("declared");
    ingest(file("sample.csv").as_bytes(), &options, &mut |block| {
        table.rows += block.rows;
        if let Some(subjects) = &mut table.subjects {
            subjects.append(&block.columns[patient]);
        }
        for (column, added) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(added);
            }
        }
        true
    })
    .expect("a valid upload");
    table
}

fn front(columns: &[&str], suppression_limit: f64) -> Front {
    let declaration = declaration(columns);
    let schema = Schema::compile(&declaration).expect("valid hierarchies");
    let table = encounters(&schema);
    assert_eq!((table.rows, table.subject_count()), (12_003, 8_452));
    let body = json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "distinct_l_diversity", "attribute": "diag_1", "l": 2 },
        ],
        "suppression_limit": suppression_limit,
        "search": { "method": "exact" },
        "objectives": ["generalization_depth", "suppression"],
    });
    let demand = Demand::parse(&body, &declaration).expect("a valid demand");
    let limits = Limits {
        exact_search_space: 1_000_000,
        cache_bytes: 64 << 20,
    };
    let task = Task {
        table: &table,
        schema: &schema,
        demand: &demand,
        limits,
    };
    match anonymize(&task, &Unobserved) {
        Ok(Outcome::Front(front)) => front,
        other => panic!("no front: {other:?}"),
    }
}

/// Every expected point is there and no other; where the same policy was found, its classes agree too.
fn assert_points(front: &Front, columns: &[&str], heights: &[usize], expected: &[Point]) {
    // Depths over one denominator: every height divides 6.
    let depth = |levels: &[usize]| -> usize {
        levels
            .iter()
            .zip(heights)
            .map(|(level, height)| level * (6 / height))
            .sum()
    };
    let mut found: Vec<(usize, u64)> = Vec::new();
    for solution in &front.solutions {
        let levels = solution.recoding.levels().expect("a policy of levels");
        let levels: Vec<usize> = columns.iter().map(|column| levels[*column]).collect();
        found.push((depth(&levels), solution.suppressed_rows));
        for (_, _, classes) in expected.iter().filter(|point| point.0 == levels) {
            assert_eq!(solution.classes, *classes, "classes at {levels:?}");
        }
        assert!(solution.privacy.k >= 5, "k counts patients");
    }
    found.dedup();
    let expected: Vec<_> = expected
        .iter()
        .map(|point| (depth(point.0), point.1))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_front_counted_in_patients_is_that_of_an_independent_count() {
    let columns = [0, 1, 2, 3, 4, 6].map(|position| COLUMNS[position]);
    let front = front(&columns, 0.30);
    assert_points(&front, &columns, &[1, 1, 3, 2, 2, 3], SIX_COLUMNS);
}

#[test]
fn the_demo_s_front_is_that_of_an_independent_count() {
    let front = front(&COLUMNS, 0.10);
    assert_points(&front, &COLUMNS, &[1, 1, 3, 2, 2, 2, 3, 2, 3], NINE_COLUMNS);
}
