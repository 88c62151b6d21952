//! Classes over HTTP: from the demand to the downloaded rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::{Value, json};
use sqlx::PgPool;

use super::{Api, faults, with_dataset};

fn columns() -> Value {
    json!([
        {"name": "person", "role": "identifying", "subject": true},
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "place", "role": "quasi_identifying", "hierarchy":
            {"kind": "table", "text": "n1;north;*\nn2;north;*\ns1;south;*\ns2;south;*"}},
        {"name": "dx", "role": "sensitive"}
    ])
}

/// 120 rows of 60 people; some cells are missing.
fn rows() -> String {
    let mut csv = String::from("person,age,sex,place,dx\n");
    for row in 0..120_usize {
        let person = row / 2;
        let age = if row % 17 == 0 {
            String::new()
        } else {
            (20 + (person * 7) % 41).to_string()
        };
        let sex = ["F", "M", "F", ""][person % 4];
        let place = ["n1", "n2", "s1", "s2", "n1"][person % 5];
        let dx = ["flu", "asthma", "cancer", "flu", ""][row % 5];
        writeln!(csv, "p{person},{age},{sex},{place},{dx}").unwrap();
    }
    csv
}

/// Number of rows and different known diagnoses of every class of a CSV whose last column is `dx`.
fn regrouped(csv: &str) -> Vec<(usize, usize)> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let mut classes: BTreeMap<Vec<String>, (usize, BTreeSet<String>)> = BTreeMap::new();
    for record in reader.records() {
        let mut cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        let dx = cells.pop().unwrap();
        let class = classes.entry(cells).or_default();
        class.0 += 1;
        if !dx.is_empty() {
            class.1.insert(dx);
        }
    }
    let classes = classes.into_values();
    classes.map(|(rows, values)| (rows, values.len())).collect()
}

fn demands(recoding: &str, search: &Value) -> Value {
    json!({"recoding": recoding, "search": search, "privacy": [
        {"model": "k_anonymity", "k": 4}, {"model": "distinct_l_diversity", "attribute": "dx", "l": 2}]})
}

#[sqlx::test]
async fn every_method_is_searched_released_and_downloaded(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api.loaded(&columns(), &rows()).await;
    let swarm = json!({"method": "mo_obam", "max_evaluations": 120, "swarm": 4, "lambdas": [0.5, {"dx": 2}]});
    let searches = [
        json!({"method": "mondrian"}),
        json!({"method": "mondrian", "strict": false}),
        json!({"method": "mdav"}),
        json!({"method": "k_member", "seed": 3}),
        json!({"method": "oka"}),
        swarm,
    ];
    for (number, search) in searches.iter().enumerate() {
        let recoding = ["local", "microaggregation"][number % 2];
        let job = api.job(&path, &demands(recoding, search)).await;
        assert_eq!(job["outcome"], "front", "{search}: {job}");
        let front = api
            .get(job["links"]["front"].as_str().unwrap())
            .await
            .ok(200);
        assert_eq!(front["search"]["method"], search["method"]);
        for solution in front["solutions"].as_array().unwrap() {
            let recoding_told = &solution["recoding"];
            assert_eq!(recoding_told["kind"], recoding);
            assert_eq!(recoding_told["truthful"], recoding == "local");
            let body = json!({"job_id": job["job_id"], "solution_id": solution["solution_id"]});
            let record = api.post("/v1/releases", &body).await.ok(201);
            assert_eq!(record["recoding"], *recoding_told);
            assert_eq!(record["verification"]["passed"], true);
            assert_eq!(record["truthful"], recoding_told["truthful"]);
            assert_eq!(record["classes"], solution["classes"]);
            let data = api
                .get(record["links"]["data"].as_str().unwrap())
                .await
                .text();
            let attacks = format!(
                "/v1/releases/{}/attacks",
                record["release_id"].as_str().unwrap()
            );
            let attacked = api.post(&attacks, &json!({})).await.ok(200);
            let linkage = &recoding_told["distance_linkage"];
            assert_eq!(attacked["distance_linkage"], *linkage);
            assert_eq!(linkage.is_object(), recoding == "microaggregation");
            let classes = regrouped(&data);
            assert_eq!(classes.len() as u64, solution["classes"].as_u64().unwrap());
            // Two rows per person: four people are at least four rows here, and two values.
            assert!(
                classes
                    .iter()
                    .all(|&(rows, values)| rows >= 4 && values >= 2),
                "{search}"
            );
            assert!(solution["privacy"]["k"].as_u64().unwrap() >= 4);
            assert_eq!(classes.iter().map(|class| class.0).sum::<usize>(), 120);
        }
    }
}

#[sqlx::test]
async fn a_recommended_release_is_made_at_once_and_again_later(pool: PgPool) {
    let api = Api::new(pool).work();
    let columns = json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "dx", "role": "sensitive"}
    ]);
    let csv = "age,sex,dx\n20,F,a\n31,M,a\n22,F,b\n40,M,b\n25,M,c\n44,M,c\n";
    let path = api.loaded(&columns, csv).await;
    let mut demands = json!({"recoding": "local", "privacy": [{"model": "k_anonymity", "k": 2}], "release": "recommended"});
    let job = api.job(&path, &demands).await;
    let release = job["release_id"].as_str().unwrap();
    let rows = |text: String| {
        text.lines()
            .map(str::to_owned)
            .collect::<BTreeSet<String>>()
    };
    let data = api
        .get(&format!("/v1/releases/{release}/data"))
        .await
        .text();
    let expected = "age,sex,dx\n\"[20, 25]\",\"{F, M}\",a\n\"[20, 25]\",\"{F, M}\",b\n\"[20, 25]\",\"{F, M}\",c\n\
                    \"[31, 44]\",M,a\n\"[31, 44]\",M,b\n\"[31, 44]\",M,c\n";
    assert_eq!(rows(data), rows(expected.to_owned()));
    let body = json!({"job_id": job["job_id"], "solution_id": 0, "row_order": "input", "columns": ["age", "dx"]});
    let record = api.post("/v1/releases", &body).await.ok(201);
    let data = api
        .get(record["links"]["data"].as_str().unwrap())
        .await
        .text();
    assert!(
        data.starts_with("age,dx\n\"[20, 25]\",a\n\"[31, 44]\",a\n"),
        "{data}"
    );
    let csv = api
        .get(&format!(
            "{}?format=csv",
            job["links"]["front"].as_str().unwrap()
        ))
        .await
        .text();
    let header = "solution_id,recommended,representation,truthful,information_loss:balanced,information_loss:ratio,\
                  certainty_penalty,homogeneity:dx,information_loss,sensitive_entropy,released_rows,suppressed_rows,classes,k\n";
    assert!(csv.starts_with(header), "{csv}");
    assert!(csv.ends_with(",6,0,2,3\n"), "{csv}");
    demands["representation"] = json!("centroids");
    let job = api.job(&path, &demands).await;
    let record = api
        .get(&format!(
            "/v1/releases/{}",
            job["release_id"].as_str().unwrap()
        ))
        .await
        .ok(200);
    assert_eq!(record["recoding"]["kind"], "local");
    assert_eq!(record["recoding"]["truthful"], false);
    let data = api
        .get(record["links"]["data"].as_str().unwrap())
        .await
        .text();
    assert!(
        data.contains("22.33,F,") && data.contains("38.33,M,"),
        "{data}"
    );
}

#[sqlx::test]
async fn suppressed_rows_are_masked_and_what_cannot_be_kept_is_infeasible(pool: PgPool) {
    let api = Api::new(pool).work();
    let columns = json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer"}, {"name": "dx", "role": "sensitive"}
    ]);
    let mut csv = String::from("age,dx\n");
    for row in 0..40 {
        writeln!(
            csv,
            "{},{}",
            20 + row,
            if row < 8 && row % 2 == 0 { "b" } else { "a" }
        )
        .unwrap();
    }
    let path = api.loaded(&columns, &csv).await;
    let models = json!([{"model": "k_anonymity", "k": 2}, {"model": "entropy_l_diversity", "attribute": "dx", "l": 1.8}]);
    let mut demands = json!({"recoding": "local", "privacy": models, "search": {"method": "mdav"}});
    let job = api.job(&path, &demands).await;
    assert_eq!(job["outcome"], "infeasible");
    assert_eq!(job["reason"]["code"], "not_found");
    demands["suppression_limit"] = json!(0.9);
    let job = api.job(&path, &demands).await;
    let body = json!({"job_id": job["job_id"], "solution_id": 0, "suppressed_rows": "mask"});
    let record = api.post("/v1/releases", &body).await.ok(201);
    let data = api
        .get(record["links"]["data"].as_str().unwrap())
        .await
        .text();
    let masked = data.lines().filter(|line| *line == "*,*").count() as u64;
    assert_eq!(record["suppressed_rows"], masked);
    assert_eq!(record["released_rows"], 40 - masked);
    assert!(masked > 0);
    demands["privacy"] = json!([{"model": "k_anonymity", "k": 41}]);
    let job = api.job(&path, &demands).await;
    assert_eq!(job["reason"]["code"], "k_exceeds_rows");
}

#[sqlx::test]
async fn erased_rows_leave_no_partition_to_release(pool: PgPool) {
    let api = Api::new(pool.clone()).work();
    let path = api.loaded(&columns(), &rows()).await;
    let job = api
        .job(&path, &demands("local", &json!({"method": "mondrian"})))
        .await;
    let count = || async {
        let query = sqlx::query_scalar::<_, i64>("select count(*) from front_partition");
        query.fetch_one(&pool).await.unwrap()
    };
    assert_eq!(count().await, 1);
    api.post(&format!("{path}/deletions"), &json!({"subjects": ["p3"]}))
        .await
        .ok(202);
    assert_eq!(count().await, 0);
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    api.post("/v1/releases", &body)
        .await
        .problem(409, "dataset_changed");
}

#[sqlx::test]
async fn misfits_are_refused_by_name(pool: PgPool) {
    let api = Api::new(pool);
    let path = api.loaded(&columns(), &rows()).await;
    let mut body = with_dataset(
        &path,
        &demands(
            "microaggregation",
            &json!({"method": "nsga2", "clusters": 5}),
        ),
    );
    body["measures"] = json!(["query_error"]);
    body["objectives"] = json!(["information_loss", "precision"]);
    let problem = api
        .post("/v1/jobs", &body)
        .await
        .problem(422, "validation_failed");
    let told = faults(&problem);
    for (code, pointer) in [
        ("not_supported", "/search/method"),
        ("unknown_field", "/search/clusters"),
        ("not_supported", "/objectives/1"),
        ("not_supported", "/measures"),
    ] {
        assert!(
            told.contains(&(code.to_owned(), pointer.to_owned())),
            "{told:?}"
        );
    }
    // Anything else with the same partition is another question.
    let measured = json!({"privacy": [{"model": "k_anonymity", "k": 4}]});
    api.post(&format!("{path}/measure"), &measured)
        .await
        .ok(200);
}

#[sqlx::test]
async fn moments_are_averaged_to_what_their_format_tells(pool: PgPool) {
    let api = Api::new(pool).work();
    let made = async |format: &str, recoding: &str, cells: [&str; 3]| {
        let columns =
            json!([{"name": "at", "role": "quasi_identifying", "type": "date", "format": format}]);
        let path = api
            .loaded(&columns, &format!("at\n{}\n", cells.join("\n")))
            .await;
        let demands = json!({"recoding": recoding, "privacy": [{"model": "k_anonymity", "k": 3}],
            "search": {"method": "mdav"}, "release": "recommended"});
        let job = api.job(&path, &demands).await;
        let release = job["release_id"]
            .as_str()
            .unwrap_or_else(|| panic!("{job}"));
        let data = api
            .get(&format!("/v1/releases/{release}/data"))
            .await
            .text();
        data.lines().nth(1).unwrap().to_owned()
    };
    let minutes = ["2020-03-01 10:00", "2020-03-01 10:00", "2020-03-01 10:02"];
    let mean = made("%Y-%m-%d %H:%M", "microaggregation", minutes).await;
    assert_eq!(mean, "2020-03-01 10:01");
    // Clocks of several offsets: these are three moments, and texts to whoever counts.
    let offsets = [
        "2020-03-01T10:00:00+0200",
        "2020-03-01T10:00:00+0000",
        "2020-03-01T10:00:00-0500",
    ];
    let set = made("%Y-%m-%dT%H:%M:%S%z", "local", offsets).await;
    let expected = "{2020-03-01T10:00:00+0000, 2020-03-01T10:00:00+0200, 2020-03-01T10:00:00-0500}";
    assert_eq!(set, format!("\"{expected}\""));
    let most = made("%Y-%m-%dT%H:%M:%S%z", "microaggregation", offsets).await;
    assert_eq!(most, offsets[1]);
}
