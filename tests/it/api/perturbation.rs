//! Perturbed jobs over HTTP: what is released, what is said of it, what it costs.

use std::collections::BTreeMap;

use kindred::anonymize::perturbation::Stream;
use kindred::http::router;
use kindred::pool::CpuPool;
use kindred::vault::{Purpose, Vault};
use serde_json::{Value, json};
use sqlx::PgPool;
use uuid::Uuid;

use super::{Api, faults, warnings, with_dataset};

const DRUGS: [&str; 4] = ["a", "b", "c", "d"];

pub(super) fn columns() -> Value {
    json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer",
            "hierarchy": {"kind": "intervals", "origin": 0, "widths": [20, 60], "lower": 0, "upper": 120}},
        {"name": "sex", "role": "quasi_identifying", "order": ["F", "M"], "missing": []},
        {"name": "drug", "role": "sensitive", "missing": [],
            "hierarchy": {"kind": "table", "text": "a;x;*\nb;x;*\nc;y;*\nd;y;*"}},
        {"name": "ward", "role": "insensitive"}
    ])
}

/// 300 rows.
pub(super) fn rows() -> String {
    let rows = (0..300_usize).map(|row| {
        let sex = if row % 3 == 0 { "F" } else { "M" };
        format!(
            "{},{sex},{},w{}\n",
            row * 7 % 100,
            DRUGS[row % 7 % 4],
            row % 5
        )
    });
    format!("age,sex,drug,ward\n{}", rows.collect::<String>())
}

pub(super) fn demands(perturbation: &Value) -> Value {
    json!({"privacy": [{"model": "k_anonymity", "k": 5}], "suppression_limit": 1,
        "search": {"method": "fixed", "levels": {"age": 2, "sex": 0}}, "perturbation": perturbation})
}

pub(super) fn local(epsilon: f64) -> Value {
    json!({"kind": "local", "attributes": {"drug": {"epsilon": epsilon}, "age": {"epsilon": 0.5}}})
}

/// A release of a job's only solution, and its CSV.
async fn released(api: &Api, job: &Value) -> (Value, String) {
    let demand = json!({"job_id": job["job_id"], "solution_id": 0});
    let record = api.post("/v1/releases", &demand).await.ok(201);
    let data = api.get(record["links"]["data"].as_str().unwrap()).await;
    data.ok(200);
    (record, data.text())
}

/// How often each text stands in a column.
fn counts(text: &str, column: usize) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in csv::Reader::from_reader(text.as_bytes()).records() {
        *counts
            .entry(record.unwrap()[column].to_owned())
            .or_default() += 1;
    }
    counts
}

#[sqlx::test]
async fn cells_are_answered_at_random_and_alike_in_every_release_of_a_job(pool: PgPool) {
    let api = Api::new(pool.clone()).work();
    let dataset = api.loaded(&columns(), &rows()).await;
    let job = api.job(&dataset, &demands(&local(1.0))).await;
    let front = api
        .get(job["links"]["front"].as_str().unwrap())
        .await
        .ok(200);
    let label = &front["differential_privacy"];
    assert_eq!(
        (&label["kind"], &label["epsilon"]),
        (&json!("local"), &json!(1.5))
    );
    let drug = &label["attributes"]["drug"];
    assert!(
        (drug["keep"].as_f64().unwrap() - 0.47537).abs() < 5e-6,
        "{drug}"
    );

    let (record, csv) = released(&api, &job).await;
    assert_eq!(record["truthful"], false);
    assert_eq!(&record["differential_privacy"], label);
    assert_eq!(record["released_rows"], 300);
    let raw = counts(&rows(), 2);
    let found = counts(&csv, 2);
    assert_ne!(found, raw);
    assert!(
        found.keys().all(|cell| DRUGS.contains(&cell.as_str())),
        "{found:?}"
    );
    // What is not perturbed is as it was.
    assert_eq!(counts(&csv, 3), counts(&rows(), 3));
    assert_eq!(counts(&csv, 1), counts(&rows(), 1));

    let (again, same) = released(&api, &job).await;
    assert_eq!(
        (again["csv_sha256"].as_str(), same),
        (record["csv_sha256"].as_str(), csv)
    );
    let mut services = api.services.clone();
    services.pool = CpuPool::new("one", 1).unwrap();
    let single = Api {
        router: router(services.clone()),
        services,
        _stop: api.services.shutdown.child_token().drop_guard(),
        keys: tempfile::tempdir().unwrap(),
    };
    let (narrow, _) = released(&single, &job).await;
    assert_eq!(narrow["csv_sha256"], record["csv_sha256"]);
    // No release of the same cells under another policy: nothing to compare, nothing to warn of.
    assert!(warnings(&narrow).is_empty(), "{narrow}");

    let other = api.job(&dataset, &demands(&local(1.0))).await;
    let (other, _) = released(&api, &other).await;
    assert_ne!(other["csv_sha256"], record["csv_sha256"]);

    // The key of the noise stands nowhere.
    let id: Uuid = dataset.rsplit('/').next().unwrap().parse().unwrap();
    let wrapped: Vec<u8> = sqlx::query_scalar(
        "select wrapped from data_key where dataset_id = $1 and purpose = 'token'",
    )
    .bind(id)
    .fetch_one(&pool)
    .await
    .unwrap();
    let vault = Vault::open(None, &api.keys.path().join("master.key")).unwrap();
    let token = vault.unwrap_data_key(id, Purpose::Token, &wrapped).unwrap();
    let noise = token.noise_key(id, job["job_id"].as_str().unwrap().parse().unwrap());
    let secret = hex::encode(noise.stream(Stream::Cells("drug")));
    let texts: Vec<String> = sqlx::query_scalar(
        "select spec::text from job_spec union all select summary::text from front union all select record::text from release",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    assert!(texts.len() > 5 && texts.iter().all(|text| !text.contains(&secret)));
    assert_eq!(format!("{noise:?}"), "NoiseKey { .. }");

    let attack = api
        .post(
            &format!(
                "/v1/releases/{}/attacks",
                record["release_id"].as_str().unwrap()
            ),
            &json!({}),
        )
        .await;
    attack.problem(422, "not_supported");
    let utility = format!("/v1/jobs/{}/utility", job["job_id"].as_str().unwrap());
    api.post(&utility, &json!({"target": "drug"}))
        .await
        .problem(422, "not_supported");
}

/// Only quasi-identifiers: 1,200 rows of six kinds, two of them rare.
async fn sampled(api: &Api, subject: bool) -> String {
    let mut columns = json!([
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "drug", "role": "quasi_identifying"}
    ]);
    if subject {
        let person = json!({"name": "person", "role": "identifying", "subject": true});
        columns.as_array_mut().unwrap().push(person);
    }
    let rows = (0..1_200_usize).map(|row| {
        let drug = if row % 60 == 0 { "d" } else { DRUGS[row % 3] };
        let sex = if row % 2 == 0 { "F" } else { "M" };
        if subject {
            format!("{sex},{drug},p{}\n", row / 2)
        } else {
            format!("{sex},{drug}\n")
        }
    });
    let head = if subject {
        "sex,drug,person"
    } else {
        "sex,drug"
    };
    api.loaded(&columns, &format!("{head}\n{}", rows.collect::<String>()))
        .await
}

#[sqlx::test]
async fn a_sample_releases_classes_of_at_least_the_size_that_its_parameters_need(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = sampled(&api, false).await;
    let demands = json!({"suppression_limit": 1, "search": {"method": "fixed", "levels": {"sex": 0, "drug": 0}},
        "perturbation": {"kind": "safepub", "epsilon": 1, "delta": 1e-3}});
    let job = api.job(&dataset, &demands).await;
    assert_eq!(job["outcome"], "front", "{job}");
    let (record, csv) = released(&api, &job).await;
    let label = &record["differential_privacy"];
    assert_eq!(
        (
            &label["kind"],
            &label["epsilon"],
            &label["delta"],
            &label["k"]
        ),
        (&json!("safepub"), &json!(1.0), &json!(1e-3), &json!(34))
    );
    assert!((label["beta"].as_f64().unwrap() - 0.632_120_558_8).abs() < 1e-9);
    assert_eq!(record["truthful"], true);
    assert_eq!(
        record["configuration"]["demand"]["privacy"],
        json!([{"model": "k_anonymity", "k": 34}])
    );
    // About 63 of 100 rows, and the kind of 20 rows is gone.
    let rows_in = record["rows_in"].as_u64().unwrap();
    assert!((650..870).contains(&rows_in), "{rows_in}");
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for line in csv.lines().skip(1) {
        *classes.entry(line).or_default() += 1;
    }
    assert!(classes.values().all(|&rows| rows >= 34), "{classes:?}");
    assert!(
        !classes.contains_key("F,d") && classes.len() == 6,
        "{classes:?}"
    );
    let (again, _) = released(&api, &job).await;
    assert_eq!(again["csv_sha256"], record["csv_sha256"]);

    let demand = json!({"job_id": job["job_id"], "solution_id": 0, "row_order": "input", "suppressed_rows": "mask", "identifiers": "token"});
    let problem = api.post("/v1/releases", &demand).await.json();
    let pointers: Vec<String> = faults(&problem)
        .into_iter()
        .map(|(_, pointer)| pointer)
        .collect();
    assert_eq!(
        pointers,
        [
            "/identifiers",
            "/row_order",
            "/suppressed_rows",
            "/identifiers"
        ]
    );
    let view = api.get(&dataset).await.ok(200);
    let expected =
        json!({"declared": null, "spent": {"epsilon": 1.0, "delta": 1e-3}, "remaining": null});
    assert_eq!(view["privacy_budget"], expected);

    // Several rows of one person.
    let dataset = sampled(&api, true).await;
    let reply = api
        .post("/v1/jobs", &with_dataset(&dataset, &demands))
        .await;
    assert_eq!(
        faults(&reply.problem(422, "not_supported"))[0].1,
        "/perturbation"
    );
}

#[sqlx::test]
async fn nothing_else_claims_differential_privacy(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = api.loaded(&columns(), &rows()).await;
    let mut plain = demands(&Value::Null);
    plain.as_object_mut().unwrap().remove("perturbation");
    for recoding in ["full_domain", "microaggregation"] {
        if recoding == "microaggregation" {
            plain["recoding"] = json!(recoding);
            plain["search"] = json!({"method": "mdav"});
        }
        let job = api.job(&dataset, &plain).await;
        let front = api
            .get(job["links"]["front"].as_str().unwrap())
            .await
            .ok(200);
        assert_eq!(front["differential_privacy"], false, "{front}");
        let (record, _) = released(&api, &job).await;
        assert_eq!(record["differential_privacy"], false);
        for text in [front.to_string(), record.to_string()] {
            assert!(!text.contains("epsilon"), "{text}");
        }
    }
}

/// Searches, verifier and releases of every kind see the same perturbed rows.
#[sqlx::test]
async fn every_recoding_takes_perturbed_rows(pool: PgPool) {
    let api = Api::new(pool).work();
    let dataset = api.loaded(&columns(), &rows()).await;
    for (recoding, method) in [
        ("full_domain", "exact"),
        ("subtree", "tds"),
        ("local", "mondrian"),
        ("microaggregation", "mdav"),
    ] {
        let mut demands = demands(&local(1.0));
        demands["recoding"] = json!(recoding);
        demands["search"] = json!({"method": method});
        demands["privacy"] = json!([{"model": "k_anonymity", "k": 5},
            {"model": "distinct_l_diversity", "attribute": "drug", "l": 2}]);
        let job = api.job(&dataset, &demands).await;
        assert_eq!(job["outcome"], "front", "{job}");
        let (record, _) = released(&api, &job).await;
        assert_eq!(record["differential_privacy"]["epsilon"], 1.5, "{recoding}");
        assert_eq!(record["truthful"], false);
    }
    // Attributes that cannot be read and attributes that do not fit are told together.
    let mut faulty = demands(&local(1.0));
    faulty["perturbation"]["attributes"] =
        json!({"drug": {"epsilon": -1}, "ghost": {"epsilon": 1}});
    let reply = api.post("/v1/jobs", &with_dataset(&dataset, &faulty)).await;
    let expected = [
        ("out_of_range", "/perturbation/attributes/drug/epsilon"),
        ("unknown_attribute", "/perturbation/attributes/ghost"),
    ];
    let expected = expected.map(|(code, at)| (code.to_owned(), at.to_owned()));
    assert_eq!(faults(&reply.problem(422, "validation_failed")), expected);
    let series = json!({"name": "s", "privacy": [{"model": "k_anonymity", "k": 5}], "perturbation": local(1.0)});
    let reply = api
        .post("/v1/series", &with_dataset(&dataset, &series))
        .await;
    assert_eq!(
        faults(&reply.problem(422, "unknown_field"))[0].1,
        "/perturbation"
    );
}
