//! Keyed tokens in the place of identifiers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults, warnings};

fn columns() -> Value {
    json!([
        {"name": "age", "role": "quasi_identifying"},
        {"name": "mrn", "role": "identifying", "subject": true},
        {"name": "note", "role": "insensitive"},
        {"name": "card", "role": "identifying"}
    ])
}

/// Ages 1 and 2 hold three persons each, age 8 one. `Ä1` is one person in two spellings; a card is missing.
const ROWS: &str = "age,mrn,note,card\n1,\u{c4}1,n1,A1\n1,b2,n2,b2\n1,c3,n3,\n1,A\u{308}1 ,n4,a1\n2,d4,n5,d\n2,e5,n6,e\n2,f6,n7,f\n8,g7,n8,g\n";

struct Source {
    api: Api,
    job: Value,
}

impl Source {
    async fn new(pool: PgPool) -> Self {
        let api = Api::new(pool).work();
        let path = api.loaded(&columns(), ROWS).await;
        let demands = json!({"privacy": [{"model": "k_anonymity", "k": 3}], "suppression_limit": 0.25,
            "search": {"method": "fixed", "levels": {"age": 0}}});
        let job = api.job(&path, &demands).await;
        Self { api, job }
    }

    fn body(&self, more: &Value) -> Value {
        let mut body = json!({"job_id": self.job["job_id"], "solution_id": 0});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    }

    /// A release and its rows: note to the cells.
    async fn release(&self, more: &Value) -> (Value, BTreeMap<String, Value>) {
        let record = self
            .api
            .post("/v1/releases", &self.body(more))
            .await
            .ok(201);
        let data = record["links"]["data"].as_str().unwrap();
        let rows = self.api.get(&format!("{data}?format=json")).await.ok(200);
        let rows = rows.as_array().unwrap().iter();
        let rows = rows.map(|row| (row["note"].as_str().unwrap().to_owned(), row.clone()));
        (record, rows.collect())
    }
}

fn token<'r>(rows: &'r BTreeMap<String, Value>, note: &str, column: &str) -> &'r str {
    rows[note][column].as_str().unwrap()
}

#[sqlx::test]
async fn a_token_stands_for_each_identifier_and_tells_nothing_of_it(pool: PgPool) {
    let source = Source::new(pool).await;
    let wanted = json!({"identifiers": "token", "recipient": "registry"});
    let (record, rows) = source.release(&wanted).await;
    assert_eq!(record["columns"], json!(["age", "mrn", "note", "card"]));
    assert_eq!(
        (
            &record["identifiers"],
            &record["recipient"],
            &record["linkage"]
        ),
        (&json!("token"), &json!("registry"), &json!(false))
    );
    assert_eq!(rows.len(), 7);
    // Spellings of one identifier share a token; other persons and other columns have others; a missing one has none.
    assert_eq!(token(&rows, "n1", "mrn"), token(&rows, "n4", "mrn"));
    assert_eq!(token(&rows, "n1", "card"), token(&rows, "n4", "card"));
    assert_ne!(token(&rows, "n2", "mrn"), token(&rows, "n2", "card"));
    assert_eq!(rows["n3"]["card"], Value::Null);
    let distinct: BTreeSet<&str> = rows.keys().map(|note| token(&rows, note, "mrn")).collect();
    assert_eq!(distinct.len(), 6);
    for token in distinct {
        assert!(token.len() == 32 && token.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    // One person stands in two rows, as the record says: both in the class of age 1, where two others stand once each.
    let said = warnings(&record);
    let expected = [
        ("rows_linkable".to_owned(), Some("card".to_owned())),
        ("rows_linkable".to_owned(), Some("mrn".to_owned())),
    ];
    assert_eq!(BTreeSet::from_iter(said), BTreeSet::from(expected));
    let checks = record["verification"]["checks"].as_array().unwrap();
    assert!(checks.contains(&json!("no identifier in `mrn`")));
}

#[sqlx::test]
async fn tokens_of_two_releases_or_recipients_have_nothing_in_common_unless_linked(pool: PgPool) {
    let source = Source::new(pool).await;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut wanted = vec![json!({"identifiers": "token"}); 2];
    wanted.push(json!({"identifiers": "token", "recipient": "a"}));
    wanted.push(json!({"identifiers": "token", "recipient": "a"}));
    wanted.push(json!({"identifiers": "token", "recipient": "a", "linkage": true}));
    wanted.push(json!({"identifiers": "token", "recipient": "b", "linkage": true}));
    for more in &wanted {
        let (_, rows) = source.release(more).await;
        let tokens: BTreeSet<String> = rows
            .keys()
            .map(|note| token(&rows, note, "mrn").to_owned())
            .collect();
        assert!(seen.is_disjoint(&tokens), "{more}");
        seen.extend(tokens);
    }
    let (again, rows) = source.release(&wanted[4]).await;
    let tokens: BTreeSet<String> = rows
        .keys()
        .map(|note| token(&rows, note, "mrn").to_owned())
        .collect();
    assert!(tokens.is_subset(&seen));
    assert!(warnings(&again).contains(&("releases_linkable".to_owned(), None)));
    let (input, _) = source
        .release(&json!({"identifiers": "token", "row_order": "input"}))
        .await;
    assert!(warnings(&input).contains(&("releases_linkable".to_owned(), None)));
}

#[sqlx::test]
async fn two_releases_with_tokens_stand_in_orders_of_their_own(pool: PgPool) {
    let source = Source::new(pool).await;
    let mut orders = BTreeSet::new();
    for _ in 0..6 {
        let wanted = source.body(&json!({"identifiers": "token"}));
        let record = source.api.post("/v1/releases", &wanted).await.ok(201);
        let data = record["links"]["data"].as_str().unwrap();
        let csv = source.api.get(data).await.text();
        let notes = csv
            .lines()
            .map(|line| line.split(',').nth(2).unwrap().to_owned());
        orders.insert(notes.collect::<Vec<_>>());
    }
    // Of 7! orders, six by chance the same would be one in 10^18.
    assert!(orders.len() > 1);
}

#[sqlx::test]
async fn a_masked_row_has_no_token_and_columns_choose_among_identifiers(pool: PgPool) {
    let source = Source::new(pool).await;
    let wanted = json!({"identifiers": "token", "suppressed_rows": "mask",
        "columns": ["card", "note"]});
    let record = source.api.post("/v1/releases", &source.body(&wanted)).await;
    let record = record.ok(201);
    assert_eq!(record["columns"], json!(["note", "card"]));
    let data = record["links"]["data"].as_str().unwrap();
    let csv = source.api.get(data).await.text();
    assert_eq!(csv.lines().count(), 9);
    assert_eq!(csv.lines().filter(|line| *line == "*,*").count(), 1);
}

#[sqlx::test]
async fn without_tokens_no_identifier_is_released(pool: PgPool) {
    let source = Source::new(pool).await;
    let (record, _) = source.release(&json!({"recipient": "a"})).await;
    assert_eq!(record["columns"], json!(["age", "note"]));
    assert_eq!(record["warnings"], json!([]));
    let api = &source.api;
    let odd = source.body(&json!({"columns": ["mrn"], "linkage": true, "recipient": ""}));
    let problem = api
        .post("/v1/releases", &odd)
        .await
        .problem(422, "validation_failed");
    let expected = [
        ("out_of_range", "/recipient"),
        ("not_supported", "/linkage"),
    ];
    let expected = expected.map(|(code, place)| (code.to_owned(), place.to_owned()));
    assert_eq!(faults(&problem), expected);
    let nobody = source.body(&json!({"identifiers": "token", "linkage": true}));
    let problem = api
        .post("/v1/releases", &nobody)
        .await
        .problem(422, "missing_field");
    assert_eq!(faults(&problem)[0].1, "/recipient");
    let plain = json!([{"name": "age", "role": "quasi_identifying"}]);
    let path = api.loaded(&plain, "age\n1\n1\n").await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 2}]});
    let job = api.job(&path, &demands).await;
    let none = json!({"job_id": job["job_id"], "solution_id": 0, "identifiers": "token"});
    let problem = api
        .post("/v1/releases", &none)
        .await
        .problem(422, "attribute_role");
    assert_eq!(faults(&problem)[0].1, "/identifiers");
}
