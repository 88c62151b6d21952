//! Attacks on small releases, whole.

use serde_json::{Value, json};

use super::known::{Known, Target};
use super::reader::Classes;
use super::report::Counted;
use super::targets::Search;
use super::{People, Scene, assess};
use crate::anonymize::release::{Recipe, Rendered, render};
use crate::anonymize::subtree::Recoded;
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::declaration::{
    AttackDemand, DatasetDeclaration, PrivacyModel, Representation, RowOrder, SuppressedRows,
    UndeclaredDemand,
};
use crate::fault::FaultCode;

fn schema(attributes: &Value) -> Schema {
    let body = json!({"name": "d", "attributes": attributes});
    Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap()
}

/// A table of text cells, empty ones missing.
fn table(rows: &[&[&str]]) -> Table {
    let mut table = Table::with_columns(&vec![true; rows[0].len()], false);
    table.rows = rows.len();
    for (position, column) in table.columns.iter_mut().flatten().enumerate() {
        *column = cells(rows.iter().map(|row| row[position]));
    }
    table
}

fn cells<'a>(values: impl IntoIterator<Item = &'a str>) -> Column {
    let mut column = Column::default();
    for value in values {
        let code = match value {
            "" => MISSING,
            value => column.dictionary.insert(value),
        };
        column.codes.push(code);
    }
    column
}

fn scene<'a>(schema: &'a Schema, released: &'a Table, raw: &'a Table, k: u64) -> Scene<'a> {
    Scene {
        schema,
        released,
        raw,
        people: None,
        k,
        representation: None,
        recoded: None,
        least_size: k,
        erased_rows: Some(0),
    }
}

#[test]
fn tokens_are_no_undeclared_quasi_identifiers() {
    let schema = schema(&json!([
        {"name": "age", "role": "quasi_identifying"},
        {"name": "mrn", "role": "identifying", "subject": true},
        {"name": "bed", "role": "insensitive"}
    ]));
    let released = table(&[&["1", "ta", "x"], &["1", "tb", "y"]]);
    let mut raw = table(&[&["1", "", "x"], &["1", "", "y"]]);
    raw.columns[1] = None;
    let scene = scene(&schema, &released, &raw, 2);
    let report = assess(&scene, &AttackDemand::default()).unwrap();
    let told: Vec<&str> = report
        .undeclared
        .columns
        .iter()
        .map(|one| &*one.column)
        .collect();
    assert_eq!(told, ["bed"]);
    let demand = AttackDemand {
        undeclared: Some(UndeclaredDemand {
            columns: Some(vec!["mrn".to_owned()]),
            limit: None,
        }),
        ..AttackDemand::default()
    };
    assert_eq!(assess(&scene, &demand).unwrap_err().len(), 1);
}

#[test]
fn values_are_those_of_the_rows_that_were_taken() {
    let schema = schema(&json!([
        {"name": "age", "role": "quasi_identifying"},
        {"name": "dx", "role": "sensitive"}
    ]));
    let values = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
    let rows: Vec<[&str; 2]> = values.iter().map(|value| ["1", value]).collect();
    let rows: Vec<&[&str]> = rows.iter().map(|row| &row[..]).collect();
    let raw = table(&rows);
    let classes = Classes::group(&raw, &[0]);
    let search = Search {
        scene: &scene(&schema, &raw, &raw, 2),
        quasi: &[0],
        classes: &classes,
        labels: &[],
    };
    let one = Target {
        person: 0,
        known: vec![Known::Nothing],
        class: None,
        value: None,
    };
    // Every fourth of nine rows: three, which every third would be too.
    let people = search.with_values(&vec![one; 3], 4, 1).unwrap();
    let found: Vec<Option<u32>> = people.iter().map(|person| person.value).collect();
    assert_eq!(found, [Some(1), Some(5), Some(9)]);
}

/// A release of these rows as a table.
fn released_of(schema: &Schema, raw: &Table, recoding: Recoded<'_>) -> (Rendered, Table) {
    let recipe = Recipe {
        recoding,
        privacy: &[PrivacyModel::KAnonymity { k: 3 }],
        row_order: RowOrder::Input,
        seed: 0,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let rendered = render(raw, schema, &recipe).unwrap();
    let mut released = Table::with_columns(&vec![false; schema.attributes().len()], false);
    released.rows = rendered.order.len();
    for column in &rendered.columns {
        let codes = rendered.order.iter().map(|&row| column.codes[row as usize]);
        let labels = codes.map(|code| column.labels[code as usize].as_deref().unwrap_or(""));
        released.columns[column.position] = Some(cells(labels));
    }
    (rendered, released)
}

/// Four visits of each of 12 persons, three persons in every month; the class of each row is its month.
fn visits() -> (Schema, Table, Vec<u32>) {
    let schema = schema(&json!([
        {"name": "mrn", "role": "identifying", "subject": true},
        {"name": "day", "role": "quasi_identifying", "type": "date"},
        {"name": "dx", "role": "sensitive"}
    ]));
    let rows = (0..12).flat_map(|person| (0..4).map(move |visit| (person, visit)));
    let rows: Vec<[String; 3]> = rows
        .map(|(person, visit)| {
            let day = format!(
                "2020-{:02}-{:02}",
                person / 3 + 1,
                1 + visit * 3 + person % 3
            );
            [format!("p{person}"), day, format!("d{}", visit % 2)]
        })
        .collect();
    let texts: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row.iter().map(String::as_str).collect())
        .collect();
    let mut raw = table(&texts.iter().map(|row| &row[..]).collect::<Vec<_>>());
    raw.subjects = raw.columns[0].take();
    (schema, raw, (0..48).map(|row| row / 12).collect())
}

#[test]
fn people_of_classes_are_read_from_what_rows_bear() {
    let (schema, raw, class_of) = visits();
    let sets = Recoded::Classes {
        class_of: &class_of,
        representation: Representation::Sets,
    };
    let (rendered, released) = released_of(&schema, &raw, sets);
    // Known to the service, or after an erasure elsewhere by the labels alone.
    for recoded in [Some(&rendered), None] {
        let scene = Scene {
            representation: Some(Representation::Sets),
            recoded,
            ..scene(&schema, &released, &raw, 3)
        };
        let demand = AttackDemand {
            noise: true,
            ..AttackDemand::default()
        };
        let report = assess(&scene, &demand).unwrap();
        assert_eq!((report.counted, report.classes), (Counted::Subjects, 4));
        assert!((report.linkage.maximum - 1.0 / 3.0).abs() < 1e-12);
        let found = report.simulation.unwrap();
        assert_eq!(found.coverage, Some(1.0));
        assert!(found.match_sizes.iter().all(|bar| bar.size == 3));
        assert!(!report.inference.is_empty() && !report.knowledge.is_empty());
        assert_eq!(report.not_simulated, None);
    }
}

#[test]
fn nothing_is_told_of_match_sets_of_centroids() {
    let (schema, raw, class_of) = visits();
    let centroids = Recoded::Classes {
        class_of: &class_of,
        representation: Representation::Centroids,
    };
    let (rendered, released) = released_of(&schema, &raw, centroids);
    let cases = [
        (Some(&rendered), Counted::Subjects),
        (None, Counted::SubjectsAtLeast),
    ];
    for (recoded, counted) in cases {
        let scene = Scene {
            representation: Some(Representation::Centroids),
            recoded,
            ..scene(&schema, &released, &raw, 3)
        };
        let demand = AttackDemand {
            noise: true,
            ..AttackDemand::default()
        };
        let report = assess(&scene, &demand).unwrap();
        assert_eq!(report.counted, counted);
        assert!((report.linkage.maximum - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((&report.simulation, &report.noise), (&None, &None));
        assert!(report.inference.is_empty() && report.knowledge.is_empty());
        assert_eq!(report.not_simulated.unwrap().code, "rows_bear_centroids");
    }
}

#[test]
fn where_several_classes_fit_people_are_bounded_and_not_counted_as_rows() {
    let schema = schema(&json!([
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "mrn", "role": "identifying", "subject": true}
    ]));
    // Three persons twice in each class; `*` is a value here, and the label of every value.
    let rows: Vec<[&str; 2]> = [("*", ["a", "b", "c"]), ("F", ["d", "e", "f"])]
        .iter()
        .flat_map(|&(sex, persons)| persons.map(|person| [sex, person]))
        .flat_map(|row| [row, row])
        .collect();
    let mut raw = table(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
    raw.subjects = raw.columns[1].take();
    let levels = [("sex".to_owned(), 0)].into_iter().collect();
    let (rendered, released) = released_of(&schema, &raw, Recoded::FullDomain(&levels));
    let told = |recoded, least_size, erased_rows| {
        let scene = Scene {
            recoded,
            least_size,
            erased_rows,
            ..scene(&schema, &released, &raw, 3)
        };
        let report = assess(&scene, &AttackDemand::default()).unwrap();
        (report.counted, report.linkage.maximum)
    };
    let third = 1.0 / 3.0;
    assert_eq!(
        told(Some(&rendered), 1, Some(0)),
        (Counted::Subjects, third)
    );
    // Six rows of persons with two each are of three persons at least.
    assert_eq!(told(None, 1, Some(0)), (Counted::SubjectsAtLeast, third));
    // Four of the six may be of somebody who is gone.
    assert_eq!(told(None, 1, Some(4)), (Counted::SubjectsAtLeast, 1.0));
    assert_eq!(told(None, 3, None), (Counted::SubjectsAtLeast, third));
}

#[test]
fn one_person_of_many_rows_is_nobody_to_tell_figures_of() {
    let (schema, raw, class_of) = visits();
    let sets = Recoded::Classes {
        class_of: &class_of,
        representation: Representation::Sets,
    };
    let (_, released) = released_of(&schema, &raw, sets);
    // All but the first two persons, of four rows each, are gone.
    let mut left = raw.clone();
    left.rows = 8;
    let columns = left.columns.iter_mut().flatten();
    for column in columns.chain(left.subjects.as_mut()) {
        column.codes.truncate(8);
    }
    let after = Scene {
        representation: Some(Representation::Sets),
        erased_rows: Some(40),
        ..scene(&schema, &released, &left, 3)
    };
    let refused = assess(&after, &AttackDemand::default()).unwrap_err();
    assert_eq!(refused[0].code, FaultCode::TooFewRecords);
    // The same people in a file that does not name them.
    let mut known = left.clone();
    known.subjects = None;
    let mut people = People {
        table: known,
        subjects: None,
    };
    let nobody = Scene {
        representation: Some(Representation::Sets),
        ..scene(&schema, &released, &raw, 3)
    };
    let whole = Scene {
        people: Some(&people),
        ..nobody
    };
    let refused = assess(&whole, &AttackDemand::default()).unwrap_err();
    assert_eq!(refused[0].code, FaultCode::TooFewRecords);
    // With two more who are in no row there are four, but still two of whom anything could be told.
    for (day, dx) in [("1990-01-01", "d0"), ("1990-01-02", "d1")] {
        people.table.rows += 1;
        for (column, cell) in people.table.columns[1..]
            .iter_mut()
            .flatten()
            .zip([day, dx])
        {
            let code = column.dictionary.insert(cell);
            column.codes.push(code);
        }
    }
    let whole = Scene {
        people: Some(&people),
        ..nobody
    };
    let report = assess(&whole, &AttackDemand::default()).unwrap();
    assert_eq!((report.people.records, report.people.persons), (10, 4));
    let found = report.simulation.unwrap();
    assert_eq!((found.success, found.coverage), (None, None));
}
