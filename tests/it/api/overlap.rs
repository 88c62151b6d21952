//! What a release tells of the others of the same dataset.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sqlx::PgPool;

use super::*;

fn columns() -> Value {
    json!([
        {"name": "age", "role": "quasi_identifying", "type": "integer"},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "dx", "role": "sensitive"}
    ])
}

fn overlaps(record: &Value) -> Vec<String> {
    let warnings = record["warnings"].as_array().unwrap().iter();
    let found = warnings.filter(|warning| warning["code"] == "releases_overlap");
    found
        .map(|warning| warning["detail"].as_str().unwrap().to_owned())
        .collect()
}

async fn released(api: &Api, path: &str, demands: &Value) -> Value {
    let job = api.job(path, demands).await;
    let body = json!({"job_id": job["job_id"], "solution_id": 0});
    api.post("/v1/releases", &body).await.ok(201)
}

#[sqlx::test]
async fn earlier_classes_of_the_same_rows_are_combined(pool: PgPool) {
    let api = Api::new(pool).work();
    // Six ages of both sexes. By hand, k = 6: ages 1 to 3 and 4 to 6, then women and men: four groups of three.
    let mut csv = "age,sex,dx\n".to_owned();
    for age in 1..=6 {
        writeln!(csv, "{age},F,a\n{age},M,b").unwrap();
    }
    let path = api.loaded(&columns(), &csv).await;
    let ages = json!({"recoding": "local", "privacy": [{"model": "k_anonymity", "k": 6}], "search": {"method": "mondrian"}});
    let first = released(&api, &path, &ages).await;
    assert_eq!(
        (first["classes"].clone(), overlaps(&first)),
        (json!(2), Vec::new())
    );
    let sexes = json!({"privacy": [{"model": "k_anonymity", "k": 6}],
        "search": {"method": "fixed", "levels": {"age": 1, "sex": 0}}});
    let second = released(&api, &path, &sexes).await;
    assert_eq!(second["classes"], 2);
    let told = overlaps(&second);
    assert_eq!(told.len(), 1, "{second}");
    assert!(told[0].contains("4 of 4 groups"), "{told:?}");
    assert!(
        told[0].contains("fewer than 6 rows, the smallest 3"),
        "{told:?}"
    );
    // The same policy once more tells nothing more; the classes are the other release.
    let again = released(&api, &path, &sexes).await;
    assert_eq!(overlaps(&again), told);
}

#[sqlx::test]
async fn a_bound_by_values_counts_as_a_size(pool: PgPool) {
    let api = Api::new(pool).work();
    let csv = "age,sex,dx\n1,F,a\n1,M,b\n2,F,c\n2,M,a\n";
    let path = api.loaded(&columns(), csv).await;
    let demands = |levels: Value| {
        json!({"privacy": [{"model": "distinct_l_diversity", "attribute": "dx", "l": 2}],
            "search": {"method": "fixed", "levels": levels}})
    };
    released(&api, &path, &demands(json!({"age": 0, "sex": 1}))).await;
    let second = released(&api, &path, &demands(json!({"age": 1, "sex": 0}))).await;
    assert!(overlaps(&second)[0].contains("4 of 4 groups"), "{second}");
}

#[sqlx::test]
async fn releases_of_other_rows_are_named_without_a_figure(pool: PgPool) {
    let api = Api::new(pool).work();
    let path = api
        .loaded(&columns(), "age,sex,dx\n1,F,a\n1,F,b\n2,M,c\n2,M,a\n")
        .await;
    let demands = json!({"privacy": [{"model": "k_anonymity", "k": 2}],
        "search": {"method": "fixed", "levels": {"age": 0, "sex": 0}}});
    let first = released(&api, &path, &demands).await;
    assert_eq!(overlaps(&first), Vec::<String>::new());
    api.upload(
        &format!("{path}/batches"),
        "text/csv",
        "age,sex,dx\n2,M,hiv\n",
    )
    .await
    .ok(201);
    let second = released(&api, &path, &demands).await;
    let told = overlaps(&second);
    assert!(
        told.len() == 1 && told[0].starts_with("1 earlier releases hold rows"),
        "{told:?}"
    );
}
