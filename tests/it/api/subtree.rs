//! Cuts over HTTP: from the demand to the downloaded rows.

use serde_json::json;
use sqlx::PgPool;

use super::Api;

#[sqlx::test]
async fn a_cut_is_searched_released_and_downloaded(pool: PgPool) {
    let api = Api::new(pool).work();
    let places = "n1;north;*\nn2;north;*\ns1;south;*\ns2;south;*";
    let columns = json!([
        {"name": "place", "role": "quasi_identifying", "hierarchy": {"kind": "table", "text": places}},
        {"name": "dx", "role": "sensitive"}
    ]);
    // Twice n1, twice n2; s1 and s2 once each: north can be told apart, south cannot.
    let rows = "place,dx\nn1,a\nn1,b\nn2,a\nn2,b\ns1,a\ns2,b\n";
    let path = api.loaded(&columns, rows).await;
    let demands = json!({"recoding": "subtree", "privacy": [{"model": "k_anonymity", "k": 2}],
        "search": {"method": "hybrid"}});
    let job = api.job(&path, &demands).await;
    let link = job["links"]["front"].as_str().unwrap();
    let front = api.get(link).await.ok(200);
    assert_eq!(front["search"]["search_space"], "5");
    assert_eq!(front["search"]["score"], "loss");
    assert_eq!(front["objectives"][0]["name"], "loss");
    let recoding = &front["solutions"][0]["recoding"];
    assert_eq!(recoding["kind"], "subtree");
    assert_eq!(recoding["cuts"], json!({"place": ["n1", "n2", "south"]}));
    let specialized =
        json!({"place": [{"level": 2, "labels": ["*"]}, {"level": 1, "labels": ["north", "*"]}]});
    assert_eq!(recoding["specialized"], specialized);
    let csv = api.get(&format!("{link}?format=csv")).await;
    assert_eq!(
        csv.text(),
        "solution_id,recommended,cut:place,loss,suppression,released_rows,suppressed_rows,classes,k\n\
         0,true,\"[\"\"n1\"\",\"\"n2\"\",\"\"south\"\"]\",0.1111111111111111,0.0,6,0,3,2\n"
    );
    let body = json!({"job_id": job["job_id"], "solution_id": 0, "row_order": "input"});
    let record = api.post("/v1/releases", &body).await.ok(201);
    assert_eq!(record["recoding"], *recoding);
    assert_eq!(record["verification"]["passed"], true);
    let data = record["links"]["data"].as_str().unwrap();
    let rows = "place,dx\nn1,a\nn1,b\nn2,a\nn2,b\nsouth,a\nsouth,b\n";
    assert_eq!(api.get(data).await.text(), rows);
    let rows = api.get(&format!("{data}?format=json")).await.json();
    assert_eq!(rows[4], json!({"place": "south", "dx": "a"}));
}

/// A node above a single suppressed row is no part of what is told, by whatever method it was reached.
#[sqlx::test]
async fn nothing_is_told_of_where_suppressed_rows_lie(pool: PgPool) {
    let api = Api::new(pool).work();
    let places = "n1;north;land;*\nn2;north;land;*\ns1;south;land;*\ns2;south;land;*\nx1;isle;sea;*\nx2;rig;sea;*";
    let columns = json!([
        {"name": "place", "role": "quasi_identifying", "hierarchy": {"kind": "table", "text": places}},
        {"name": "dx", "role": "sensitive"}
    ]);
    let rows = "place,dx\nn1,a\nn1,b\nn2,a\nn2,b\ns1,a\ns2,b\nx1,a\n";
    let path = api.loaded(&columns, rows).await;
    for method in ["tds", "bug", "hybrid", "genetic_cuts"] {
        let demands = json!({"recoding": "subtree", "privacy": [{"model": "k_anonymity", "k": 2}],
            "suppression_limit": 0.2, "search": {"method": method}});
        let job = api.job(&path, &demands).await;
        let link = job["links"]["front"].as_str().unwrap();
        let front = api.get(link).await.ok(200);
        for solution in front["solutions"].as_array().unwrap() {
            let told = solution["recoding"].to_string();
            let withheld = solution["suppressed_rows"] == 1;
            assert!(!withheld || !told.contains("sea"), "{method}: {told}");
            assert!(
                !told.contains("isle") && !told.contains("x1"),
                "{method}: {told}"
            );
            let body = json!({"job_id": job["job_id"], "solution_id": solution["solution_id"]});
            let record = api.post("/v1/releases", &body).await.ok(201);
            assert_eq!(record["verification"]["passed"], true);
        }
    }
}

#[sqlx::test]
async fn a_method_for_cuts_without_cuts_is_refused_by_name(pool: PgPool) {
    let api = Api::new(pool);
    let columns = json!([{"name": "place", "role": "quasi_identifying"}]);
    let path = api.loaded(&columns, "place\nn1\nn2\n").await;
    let id = path.rsplit('/').next().unwrap();
    let body = json!({"dataset_id": id, "privacy": [{"model": "k_anonymity", "k": 2}], "search": {"method": "tds"}});
    let problem = api
        .post("/v1/jobs", &body)
        .await
        .problem(422, "not_supported");
    assert_eq!(problem["errors"][0]["pointer"], "/search/method");
}
