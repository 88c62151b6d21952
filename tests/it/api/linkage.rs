//! Row tokens of a series: whoever follows them through all releases still finds every history k times.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use kindred::anonymize::series::{RowId, SeriesRow};
use kindred::anonymize::table::Schema;
use kindred::anonymize::verify::series::{History, Labels, audit};
use kindred::declaration::{DatasetDeclaration, SeriesDemand};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::{HEADER, attributes, begun, ended_update, k2_l2};
use super::*;

fn rows(persons: std::ops::Range<u32>) -> String {
    let diagnoses = ["flu", "asthma", "copd", "hiv", "gout"];
    let mut text = String::new();
    for person in persons {
        let age = 40 + person * 7 % 33;
        let sex = if person % 3 == 0 { "F" } else { "M" };
        let diagnosis = diagnoses[(person * 3 % 5) as usize];
        writeln!(text, "p{person},{age},{sex},{diagnosis}").unwrap();
    }
    text
}

/// What one release shows under each row token: labels and sensitive value.
type Published = BTreeMap<String, (Labels, String)>;

async fn published(api: &Api, release: &Value, query: &str) -> Published {
    let id = release["release_id"].as_str().unwrap();
    let path = format!("/v1/releases/{id}/data?format=json{query}");
    let rows = api.get(&path).await.ok(200);
    let cell = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
    let rows = rows.as_array().unwrap().iter().map(|row| {
        let labels = vec![cell(row, "age"), cell(row, "sex")];
        (
            cell(row, "row_token").unwrap(),
            (labels, cell(row, "diagnosis").unwrap()),
        )
    });
    rows.collect()
}

/// Audits histories that are put together from the published tokens alone.
fn audited(releases: &[Published]) -> kindred::anonymize::verify::series::Audit {
    let body = json!({"name": "t", "attributes": attributes()});
    let declaration = DatasetDeclaration::parse(&body).unwrap();
    let schema = Schema::compile(&declaration).unwrap();
    let mut demands = k2_l2();
    demands["name"] = "weekly".into();
    let (_, demand) = SeriesDemand::parse(&demands, &declaration).unwrap();
    let tokens: BTreeSet<&String> = releases.iter().flat_map(BTreeMap::keys).collect();
    let of_token = |(row, token): (u32, &&String)| {
        let shown = releases.iter().find_map(|release| release.get(*token));
        let (_, diagnosis) = shown.unwrap();
        SeriesRow {
            id: RowId { batch: 1, row },
            subject: None,
            quasi: [].into(),
            carried: [Some(Arc::from(diagnosis.as_str()))].into(),
        }
    };
    let rows: Vec<SeriesRow> = (0..).zip(&tokens).map(of_token).collect();
    let histories = rows.iter().zip(&tokens).map(|(row, token)| History {
        row,
        shown: releases
            .iter()
            .map(|release| release.get(*token).map(|(labels, _)| labels.clone()))
            .collect(),
    });
    audit(&schema, &demand.privacy, &histories.collect::<Vec<_>>()).unwrap()
}

#[sqlx::test]
async fn histories_followed_by_row_tokens_satisfy_the_models(pool: PgPool) {
    let api = Api::new(pool).work();
    let mut demands = k2_l2();
    demands["row_linkage"] = true.into();
    demands["suppression_limit"] = json!(0.2);
    let (dataset, series) = begun(&api, &rows(0..40), &demands).await;
    for persons in [40..55, 55..57, 57..90] {
        let body = format!("{HEADER}{}", rows(persons));
        let batch = api
            .upload(&format!("{dataset}/batches"), "text/csv", body)
            .await;
        ended_update(&api, &batch.ok(201)).await;
    }
    let gone = json!({"subjects": ["p3", "p9", "p20", "p44", "p60"]});
    let gone = api.post(&format!("{dataset}/deletions"), &gone).await;
    ended_update(&api, &gone.ok(202)).await;
    let list = api.get(&series).await.ok(200);
    let mut releases = Vec::new();
    let mut added = Vec::new();
    for release in list["releases"].as_array().unwrap().iter().rev() {
        releases.push(published(&api, release, "").await);
        added.push(published(&api, release, "&rows=added").await);
        let id = release["release_id"].as_str().unwrap();
        let record = api.get(&format!("/v1/releases/{id}")).await.ok(200);
        let columns = json!(["age", "sex", "diagnosis", "row_token"]);
        assert_eq!(
            (&record["columns"], &record["linkage"]),
            (&columns, &json!(true))
        );
    }
    assert!(releases.len() >= 3, "{}", releases.len());
    // Tokens follow rows: what is new in a release bears tokens that the one before did not have.
    for (pair, added) in releases.windows(2).zip(&added[1..]) {
        assert!(added.keys().all(|token| !pair[0].contains_key(token)));
        assert!(added.keys().all(|token| pair[1].contains_key(token)));
        assert!(
            pair[0]
                .keys()
                .filter(|token| pair[1].contains_key(*token))
                .count()
                > 10
        );
    }
    let audit = audited(&releases);
    assert!(audit.k >= 2 && audit.histories > 2, "{audit:?}");
    assert_eq!(audit.releases, releases.len() as u64);
    // The check bites: a row that leaves alone between two releases is a history of one.
    let mut torn = releases.clone();
    let token = torn[0].keys().next().unwrap().clone();
    for release in &mut torn[1..] {
        release.remove(&token);
    }
    let torn = std::panic::catch_unwind(|| audited(&torn));
    assert!(torn.is_err());
}

#[sqlx::test]
async fn tokens_of_two_series_have_nothing_in_common_and_no_column_may_be_named_so(pool: PgPool) {
    let api = Api::new(pool).work();
    let mut demands = k2_l2();
    demands["row_linkage"] = true.into();
    let (dataset, first) = begun(&api, &rows(0..12), &demands).await;
    let mut body = with_dataset(&dataset, &demands);
    body["name"] = "again".into();
    let reply = api.post("/v1/series", &body).await;
    let second = reply.ok(202)["links"]["series"]
        .as_str()
        .unwrap()
        .to_owned();
    api.ended(reply.header("location")).await;
    let mut all = BTreeSet::new();
    for series in [first, second] {
        let list = api.get(&series).await.ok(200);
        let rows = published(&api, &list["releases"][0], "").await;
        assert!(!rows.is_empty());
        assert!(rows.into_keys().all(|token| all.insert(token)));
    }
    let columns = json!([{"name": "age", "role": "quasi_identifying"}, {"name": "row_token", "role": "insensitive"}]);
    let path = api.loaded(&columns, "age,row_token\n1,a\n").await;
    let mut body = with_dataset(
        &path,
        &json!({"privacy": [{"model": "k_anonymity", "k": 2}], "name": "n"}),
    );
    body["row_linkage"] = true.into();
    api.post("/v1/series", &body)
        .await
        .problem(422, "duplicate_column");
}
