//! Plans on whole tables.

use serde_json::{Value, json};

use super::*;
use crate::anonymize::table::BlockBuilder;
use crate::declaration::DatasetDeclaration;
use crate::fault::FaultCode;

fn schema(attributes: &Value) -> Schema {
    let body = json!({"name": "t", "attributes": attributes});
    Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap()
}

fn usual() -> Schema {
    schema(&json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 120}},
        {"name": "sex", "role": "quasi_identifying", "order": ["F", "M"], "missing": []},
        {"name": "drug", "role": "sensitive",
            "hierarchy": {"kind": "table", "text": "a;x;*\nb;x;*\nc;y;*\nd;y;*"}},
        {"name": "name", "role": "identifying"},
        {"name": "note", "role": "insensitive"},
        {"name": "dose", "role": "sensitive", "type": "decimal"},
        {"name": "zip", "role": "quasi_identifying", "order": ["10115", "x"],
            "hierarchy": {"kind": "zip3"}}
    ]))
}

fn plan(perturbation: &Value, schema: &Schema) -> Result<Plan, Vec<Fault>> {
    Plan::compile(
        &serde_json::from_value(perturbation.clone()).unwrap(),
        schema,
    )
}

/// A table of these columns, the others absent.
fn table(schema: &Schema, columns: &[(&str, Vec<Option<&str>>)]) -> Table {
    let mut present = vec![false; schema.attributes().len()];
    for (name, _) in columns {
        present[schema.position(name).unwrap()] = true;
    }
    let mut table = Table::with_columns(&present, false);
    for (name, cells) in columns {
        let mut builder = BlockBuilder::new(1);
        for cell in cells {
            builder.push(0, *cell);
        }
        let column = table.columns[schema.position(name).unwrap()].as_mut();
        column.unwrap().append(&builder.finish().columns[0]);
        table.rows = cells.len();
    }
    table
}

fn cells(table: &Table, position: usize) -> Vec<Option<String>> {
    let column = table.columns[position].as_ref().unwrap();
    let cell = |&code: &u32| column.dictionary.value(code).map(str::to_owned);
    column.codes.iter().map(cell).collect()
}

/// A key that differs by stream.
fn key(stream: Stream<'_>) -> [u8; 32] {
    match stream {
        Stream::Rows => [7; 32],
        Stream::Cells(name) => [u8::try_from(name.len()).unwrap(); 32],
    }
}

#[test]
fn domains_and_bounds_that_are_not_declared_are_all_told() {
    let demand = json!({"kind": "local", "attributes": {
        "note": {"epsilon": 1}, "name": {"epsilon": 1}, "ghost": {"epsilon": 1},
        "dose": {"epsilon": 1}, "sex": {"epsilon": 1, "step": 2}, "zip": {"epsilon": 1},
        "age": {"epsilon": 1, "upper": 200}
    }});
    let found = plan(&demand, &usual()).unwrap_err();
    let places: Vec<(FaultCode, &str)> = found
        .iter()
        .map(|fault| {
            (
                fault.code,
                fault.pointer.rsplit("attributes/").next().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            (FaultCode::HierarchyMissingValues, "age"),
            (FaultCode::DomainUndeclared, "dose/step"),
            (FaultCode::DomainUndeclared, "dose/lower"),
            (FaultCode::DomainUndeclared, "dose/upper"),
            (FaultCode::UnknownAttribute, "ghost"),
            (FaultCode::AttributeRole, "name"),
            (FaultCode::DomainUndeclared, "note"),
            (FaultCode::TypeConflict, "sex/step"),
            (FaultCode::HierarchyMissingValues, "zip"),
        ]
    );
    assert!(found.iter().all(|fault| fault.column.is_some()));
}

#[test]
fn a_guarantee_says_all_that_is_needed_to_reckon_with_the_noise() {
    let demand = json!({"kind": "local", "attributes": {
        "drug": {"epsilon": 1}, "age": {"epsilon": 0.5}, "sex": {"epsilon": 0.25},
        "dose": {"epsilon": 2, "lower": -1, "upper": 1, "step": 0.5}}});
    let found = plan(&demand, &usual()).unwrap().guarantee();
    let found = serde_json::to_value(found).unwrap();
    assert_eq!(found["epsilon"], 3.75);
    // Four values and missing; missing is none of the sexes.
    let drug = &found["attributes"]["drug"];
    assert_eq!(
        (&drug["values"], &drug["missing"]),
        (&json!(5), &json!(true))
    );
    let keep = 1.0_f64.exp() / (1.0_f64.exp() + 4.0);
    assert!((drug["keep"].as_f64().unwrap() - keep).abs() < 1e-12);
    assert!((drug["other"].as_f64().unwrap() - (1.0 - keep) / 4.0).abs() < 1e-12);
    assert_eq!(found["attributes"]["sex"]["values"], 2);
    let age = &found["attributes"]["age"];
    let numbers = json!({"epsilon": 0.5, "mechanism": "discrete_laplace", "lower": 0.0, "upper": 119.0, "step": 1.0,
        "scale": 238.0});
    assert_eq!(age, &numbers);
    let read: Guarantee = serde_json::from_value(found.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), found);
    let nothing = serde_json::to_value(DifferentialPrivacy::default()).unwrap();
    assert_eq!(nothing, json!(false));
    let sample = plan(
        &json!({"kind": "safepub", "epsilon": 1, "delta": 1e-5}),
        &usual(),
    )
    .unwrap();
    assert_eq!(sample.least_class(), Some(61));
    let sample = serde_json::to_value(sample.guarantee()).unwrap();
    assert_eq!(
        (&sample["kind"], &sample["k"]),
        (&json!("safepub"), &json!(61))
    );
}

#[test]
fn an_answer_depends_on_its_row_and_attribute_alone() {
    let schema = usual();
    let demand =
        json!({"kind": "local", "attributes": {"drug": {"epsilon": 1}, "age": {"epsilon": 2}}});
    let plan = plan(&demand, &schema).unwrap();
    let drugs = ["a", "b", "c", "d", "a", "outside"].map(Some);
    let ages = ["3", "99", "40", "40", "118", "7"].map(Some);
    let rows: Vec<u64> = (0..600).collect();
    let many =
        |cells: [Option<&'static str>; 6]| cells.into_iter().cycle().take(600).collect::<Vec<_>>();
    let mut whole = table(&schema, &[("drug", many(drugs)), ("age", many(ages))]);
    let raw = whole.clone();
    plan.apply(&mut whole, &rows, key);
    assert_ne!(cells(&whole, 2), cells(&raw, 2));
    assert_ne!(cells(&whole, 0), cells(&raw, 0));
    // The last rows first, every third one gone.
    let kept: Vec<u64> = rows
        .iter()
        .rev()
        .copied()
        .filter(|row| row % 3 != 0)
        .collect();
    let of = |column: usize| -> Vec<Option<String>> {
        let all = cells(&raw, column);
        kept.iter()
            .map(|&row| all[usize::try_from(row).unwrap()].clone())
            .collect()
    };
    let (drugs, ages) = (of(2), of(0));
    let texts = |cells: &'_ [Option<String>]| -> Vec<Option<String>> { cells.to_vec() };
    let mut part = table(
        &schema,
        &[
            ("drug", texts(&drugs).iter().map(Option::as_deref).collect()),
            ("age", texts(&ages).iter().map(Option::as_deref).collect()),
        ],
    );
    plan.apply(&mut part, &kept, key);
    for column in [0, 2] {
        let whole = cells(&whole, column);
        let expected: Vec<_> = kept
            .iter()
            .map(|&row| whole[usize::try_from(row).unwrap()].clone())
            .collect();
        assert_eq!(cells(&part, column), expected);
    }
    let other = |stream: Stream<'_>| key(stream).map(|byte| byte + 1);
    let mut again = raw.clone();
    plan.apply(&mut again, &rows, other);
    assert_ne!(cells(&again, 2), cells(&whole, 2));
}

#[test]
fn answers_stay_in_the_domain_and_counts_can_be_estimated() {
    let schema = usual();
    let demand = json!({"kind": "local", "attributes": {"drug": {"epsilon": 1}, "age": {"epsilon": 1},
        "dose": {"epsilon": 1, "lower": 0, "upper": 1, "step": 0.25}}});
    let plan = plan(&demand, &schema).unwrap();
    let rows: Vec<u64> = (0..20_000).collect();
    // 3 of 10 are "a", 1 of 10 is missing.
    let drugs = ["a", "a", "a", "b", "b", "b", "c", "c", "d"].map(Some);
    let drugs = drugs.into_iter().chain([None]).cycle().take(rows.len());
    let ages = [Some("50"), None, Some("500")]
        .into_iter()
        .cycle()
        .take(rows.len());
    let doses = [Some("0.3"), Some("1.0")]
        .into_iter()
        .cycle()
        .take(rows.len());
    let mut table = table(
        &schema,
        &[
            ("drug", drugs.collect()),
            ("age", ages.collect()),
            ("dose", doses.collect()),
        ],
    );
    plan.apply(&mut table, &rows, key);
    let Guarantee::Local { attributes, .. } = plan.guarantee() else {
        panic!("not local");
    };
    let Mechanism::RandomizedResponse { keep, other, .. } = attributes["drug"].mechanism else {
        panic!("no response");
    };
    let found = cells(&table, 2);
    for (value, share) in [(Some("a"), 0.3), (Some("d"), 0.1), (None, 0.1)] {
        let answered = found.iter().filter(|cell| cell.as_deref() == value).count();
        let answered = answered as f64 / rows.len() as f64;
        let estimate = (answered - other) / (keep - other);
        assert!((estimate - share).abs() < 0.04, "{value:?} {estimate}");
    }
    assert!(
        found
            .iter()
            .flatten()
            .all(|cell| ["a", "b", "c", "d"].contains(&cell.as_str()))
    );
    // A missing number is answered like any other.
    let ages = cells(&table, 0);
    let legal = |cell: &Option<String>| cell.as_ref().unwrap().parse::<u32>().unwrap() < 120;
    assert!(ages.iter().all(legal));
    let doses = ["0", "0.25", "0.5", "0.75", "1"];
    assert!(
        cells(&table, 5)
            .iter()
            .flatten()
            .all(|cell| doses.contains(&cell.as_str()))
    );
}

#[test]
fn a_sample_keeps_rows_whole_and_forgets_what_it_does_not_keep() {
    let schema = usual();
    let plan = plan(
        &json!({"kind": "safepub", "epsilon": 1, "delta": 1e-3}),
        &schema,
    )
    .unwrap();
    let names: Vec<String> = (0..5_000).map(|row| row.to_string()).collect();
    let rows: Vec<u64> = (0..5_000).collect();
    let column = || {
        names
            .iter()
            .map(|name| Some(name.as_str()))
            .collect::<Vec<_>>()
    };
    let mut table = table(&schema, &[("note", column()), ("drug", column())]);
    plan.apply(&mut table, &rows, key);
    let share = table.rows as f64 / 5_000.0;
    assert!((share - 0.632).abs() < 0.03, "{share}");
    assert_eq!(cells(&table, 4), cells(&table, 2));
    let kept = table.columns[4].as_ref().unwrap();
    assert_eq!(
        (kept.dictionary.len(), kept.codes.len()),
        (table.rows, table.rows)
    );
}
