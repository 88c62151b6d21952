//! m-invariance over HTTP.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::{HEADER, attributes, begun, ended_update};
use super::*;

/// Values of each class of a release, by its number.
async fn classes(api: &Api, release: &Value) -> BTreeMap<String, Vec<String>> {
    let id = release["release_id"].as_str().unwrap();
    let rows = api
        .get(&format!("/v1/releases/{id}/data?format=json"))
        .await
        .ok(200);
    let mut classes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows.as_array().unwrap() {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        classes
            .entry(text("class_id"))
            .or_default()
            .push(text("diagnosis"));
    }
    classes
}

async fn record(api: &Api, release: &Value) -> Value {
    let id = release["release_id"].as_str().unwrap();
    api.get(&format!("/v1/releases/{id}")).await.ok(200)
}

#[sqlx::test]
async fn releases_are_m_invariant_and_their_counterfeits_are_counted_by_class(pool: PgPool) {
    let api = Api::new(pool).work();
    let rows = "p1,41,F,flu\np2,42,F,asthma\np3,61,M,flu\np4,62,M,copd\np5,63,M,\n";
    let demands = json!({"mode": "m_invariance", "m": 2});
    let (dataset, series) = begun(&api, rows, &demands).await;
    let first = api.get(&series).await.ok(200);
    assert_eq!(
        first["rows"],
        json!({"received": 5, "released": 4, "pending": 0, "suppressed": 1})
    );
    assert_eq!(
        (&first["mode"], &first["attribute"]),
        (&json!("m_invariance"), &json!("diagnosis"))
    );
    // One more with the flu waits; then somebody leaves, and a counterfeit takes the place.
    let more = format!("{HEADER}p6,43,F,flu\n");
    let batch = api
        .upload(&format!("{dataset}/batches"), "text/csv", more)
        .await
        .ok(201);
    assert_eq!(ended_update(&api, &batch).await["outcome"], "unchanged");
    let gone = api
        .post(
            &format!("{dataset}/deletions"),
            &json!({"subjects": ["p4"]}),
        )
        .await;
    assert_eq!(
        ended_update(&api, &gone.ok(202)).await["outcome"],
        "released"
    );
    let now = api.get(&series).await.ok(200);
    assert_eq!(
        now["rows"],
        json!({"received": 5, "released": 3, "pending": 1, "suppressed": 1})
    );
    let releases = now["releases"].as_array().unwrap();
    assert_eq!(releases.len(), 2);
    for release in releases {
        let record = record(&api, release).await;
        assert_eq!(
            record["columns"],
            json!(["age", "sex", "diagnosis", "class_id"])
        );
        assert_eq!(
            (&record["truthful"], &record["invariance"]["m"]),
            (&json!(false), &json!(2))
        );
        assert_eq!(record["verification"]["passed"], true);
        let classes = classes(&api, release).await;
        let rows: usize = classes.values().map(Vec::len).sum();
        let counted = record["released_rows"].as_u64().unwrap()
            + record["invariance"]["counterfeits"].as_u64().unwrap();
        assert_eq!(rows as u64, counted);
        for values in classes.values() {
            let distinct: BTreeSet<&String> = values.iter().collect();
            assert!(
                values.len() >= 2 && distinct.len() == values.len(),
                "{values:?}"
            );
        }
        // Classes of one label are told apart by their numbers, so no risk is that of several together.
        let least = classes.values().map(Vec::len).min().unwrap();
        assert_eq!(record["privacy"]["k"], least);
        assert_eq!(record["verification"]["k"], least);
        assert_eq!(record["verification"]["classes"], classes.len());
        let risk = record["risk"]["maximum"].as_f64().unwrap();
        assert!((risk - 1.0 / least as f64).abs() < 1e-12, "{record}");
        // The sets of values are those of the first release.
        let sets: BTreeSet<Vec<String>> = classes.into_values().map(sorted).collect();
        let expected = [vec!["asthma", "flu"], vec!["copd", "flu"]];
        let expected = expected.map(|set| set.into_iter().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(sets, BTreeSet::from(expected));
    }
    let last = releases[0]["release_id"].as_str().unwrap();
    let counterfeits = api
        .get(&format!("/v1/releases/{last}/counterfeits"))
        .await
        .ok(200);
    assert_eq!(counterfeits["counterfeits"], 1);
    assert_eq!(counterfeits["classes"].as_array().unwrap().len(), 1);
    let number = counterfeits["classes"][0]["class_id"].to_string();
    assert_eq!(
        sorted(classes(&api, &releases[0]).await[&number].clone()),
        ["copd", "flu"]
    );
    // Attacks know neither numbered classes nor counterfeits: no figure is better than a reassuring one.
    let attacks = format!("/v1/releases/{last}/attacks");
    let refused = api.post(&attacks, &json!({})).await;
    refused.problem(422, "not_supported");
    let added = api
        .get(&format!("/v1/releases/{last}/data?rows=added"))
        .await;
    added.problem(422, "not_supported");
}

fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort();
    values
}

#[sqlx::test]
async fn a_person_with_two_rows_is_refused(pool: PgPool) {
    let api = Api::new(pool).work();
    let demands = json!({"mode": "m_invariance", "m": 2});
    let (dataset, series) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &demands).await;
    let more = format!("{HEADER}p1,43,F,copd\n");
    let batch = api
        .upload(&format!("{dataset}/batches"), "text/csv", more)
        .await
        .ok(201);
    let job = ended_update(&api, &batch).await;
    assert_eq!(job["failure"]["code"], "several_rows_per_subject", "{job}");
    assert_eq!(api.get(&series).await.ok(200)["version"], 1);
    let mut body = with_dataset(&dataset, &demands);
    body["name"] = "again".into();
    api.post("/v1/series", &body)
        .await
        .problem(422, "subject_conflict");
}

#[sqlx::test]
async fn the_mode_names_every_fault_of_its_demands(pool: PgPool) {
    let api = Api::new(pool);
    let dataset = api
        .loaded(&attributes(), &format!("{HEADER}p1,41,F,flu\n"))
        .await;
    let demands = json!({"name": "s", "mode": "m_invariance", "m": 1, "attribute": "age",
        "privacy": [], "row_linkage": true});
    let body = with_dataset(&dataset, &demands);
    let problem = api
        .post("/v1/series", &body)
        .await
        .problem(422, "validation_failed");
    let mut found = faults(&problem);
    found.sort();
    let expected = [
        ("attribute_role", "/attribute"),
        ("not_supported", "/privacy"),
        ("not_supported", "/row_linkage"),
        ("out_of_range", "/m"),
    ];
    assert_eq!(
        found,
        expected.map(|(code, at)| (code.to_owned(), at.to_owned()))
    );
    let demands = json!({"name": "s", "privacy": [{"model": "k_anonymity", "k": 2}], "m": 2});
    let body = with_dataset(&dataset, &demands);
    api.post("/v1/series", &body)
        .await
        .problem(422, "not_supported");
}
