//! What a series guards, what it withholds, what stops it, and what it says of all that.

use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::{HEADER, attributes, begun, ended_update, k2_l2, lines};
use super::*;

async fn append(api: &Api, dataset: &str, rows: &str) -> Value {
    let path = format!("{dataset}/batches");
    let batch = api.upload(&path, "text/csv", format!("{HEADER}{rows}"));
    ended_update(api, &batch.await.ok(201)).await
}

/// p1 in {flu, asthma} and in {flu, hiv}: whoever knows both, and that the diagnosis stays the same, knows it.
#[sqlx::test]
async fn a_person_in_two_groups_waits_unless_rows_alone_are_guarded(pool: PgPool) {
    let api = Api::new(pool).work();
    let first = "p1,41,F,flu\np2,42,F,asthma\n";
    let second = "p1,51,F,flu\np3,52,F,hiv\n";
    let (dataset, path) = begun(&api, first, &k2_l2()).await;
    let held = append(&api, &dataset, second).await;
    assert_eq!(held["outcome"], "unchanged", "{held}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["guard"], "subjects");
    assert_eq!(series["rows"]["pending"], 2, "{series}");

    let mut demands = k2_l2();
    demands["guard"] = "rows".into();
    let (dataset, path) = begun(&api, first, &demands).await;
    let update = append(&api, &dataset, second).await;
    assert_eq!(update["outcome"], "released", "{update}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["guard"], "rows");
    assert_eq!(series["rows"]["released"], 4, "{series}");
}

#[sqlx::test]
async fn persons_who_come_again_together_are_released_again(pool: PgPool) {
    let api = Api::new(pool).work();
    let rows = "p1,41,F,flu\np2,42,F,asthma\np3,43,F,flu\np4,44,F,hiv\n";
    let (dataset, path) = begun(&api, rows, &k2_l2()).await;
    let update = append(&api, &dataset, "p1,51,F,flu\np2,52,F,asthma\n").await;
    assert_eq!(update["outcome"], "released", "{update}");
    // One more of the other two would leave the fourth alone.
    let held = append(&api, &dataset, "p3,53,F,flu\n").await;
    assert_eq!(held["outcome"], "unchanged", "{held}");
    let series = api.get(&path).await.ok(200);
    let counts = (&series["rows"]["released"], &series["rows"]["pending"]);
    assert_eq!(counts, (&json!(6), &json!(1)), "{series}");
}

#[sqlx::test]
async fn subjects_cannot_be_guarded_where_none_are_declared_and_models_are_judged_with_the_rest(
    pool: PgPool,
) {
    let api = Api::new(pool);
    let mut attributes = attributes();
    attributes[0]["subject"] = false.into();
    let csv = format!("{HEADER}p1,41,F,flu\n");
    let dataset = api.loaded(&attributes, &csv).await;
    let demands = json!({"name": "s", "guard": "subjects", "score": "beauty",
        "privacy": [{"model": "k_anonymity", "k": 2}, {"model": "average_risk", "max": 0.5}]});
    let reply = api
        .post("/v1/series", &with_dataset(&dataset, &demands))
        .await;
    let problem = reply.problem(422, "validation_failed");
    let mut found = faults(&problem);
    found.sort();
    let expected = [
        ("not_supported", "/privacy/1/model"),
        ("subject_conflict", "/guard"),
        ("unknown_value", "/score"),
    ];
    let expected = expected.map(|(code, at)| (code.to_owned(), at.to_owned()));
    assert_eq!(found, expected);
}

#[sqlx::test]
async fn rows_that_an_erasure_withholds_are_told(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\np3,43,F,flu\n", &k2_l2()).await;
    let deletions = format!("{dataset}/deletions");
    let answer = api.post(&deletions, &json!({"subjects": ["p3"]})).await;
    let update = ended_update(&api, &answer.ok(202)).await;
    assert_eq!(warnings(&update), [("rows_withheld".to_owned(), None)]);
    let detail = update["warnings"][0]["detail"].as_str().unwrap();
    assert!(detail.starts_with("2 rows"), "{detail}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["withheld"], 2, "{series}");
    assert_eq!(series["rows"]["suppressed"], 2);
    // Nothing more of a person of whom something was erased: it is known that they went and came.
    let rows = "p3,43,F,flu\np4,44,F,asthma\np5,45,F,hiv\n";
    append(&api, &dataset, rows).await;
    let series = api.get(&path).await.ok(200);
    let counts = (&series["rows"]["released"], &series["rows"]["pending"]);
    assert_eq!(counts, (&json!(2), &json!(1)), "{series}");
}

#[sqlx::test]
async fn missing_cells_select_rows_and_erased_rows_are_not_found_again(pool: PgPool) {
    let api = Api::new(pool).work();
    let rows = "p1,41,F,flu\np2,42,,asthma\np3,43,F,flu\np4,,F,hiv\n";
    let csv = format!("{HEADER}{rows}");
    let dataset = api.loaded(&attributes(), &csv).await;
    let deletions = format!("{dataset}/deletions");
    let erase = async |body: Value| api.post(&deletions, &body).await;
    let by_null = erase(json!({"rows_where": {"sex": null}})).await.ok(202);
    assert_eq!(by_null["rows"], 1);
    // The erased row has no cell left: it is not found a second time.
    let by_text = erase(json!({"rows_where": {"age": ""}})).await.ok(202);
    assert_eq!(by_text["rows"], 1);
    let again = erase(json!({"rows_where": {"age": null}})).await.ok(200);
    assert_eq!(again["rows"], 0);
    let problem = erase(json!({"subjects": [null]})).await;
    let problem = problem.problem(422, "invalid_value");
    assert_eq!(faults(&problem)[0].1, "/subjects/0");
    assert_eq!(api.get(&dataset).await.ok(200)["rows"], 2);
}

#[sqlx::test]
async fn a_series_that_began_with_too_little_finds_its_cuts_later(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, path) = begun(&api, "p1,41,F,flu\n", &k2_l2()).await;
    let rows = (0..20).map(|number| {
        let (age, diagnosis) = (20 + 10 * (number % 4), ["flu", "asthma", "hiv"][number % 3]);
        format!("q{number},{age},F,{diagnosis}\n")
    });
    append(&api, &dataset, &rows.collect::<String>()).await;
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        series["cuts"]["age"],
        json!(["20", "30", "50", "[40, 50)"]),
        "{series}"
    );
    assert_eq!(series["rows"]["released"], 21);
}

#[sqlx::test]
async fn whoever_begins_a_second_series_is_warned(pool: PgPool) {
    let api = Api::new(pool).work();
    let (dataset, _) = begun(&api, "p1,41,F,flu\np2,42,F,asthma\n", &k2_l2()).await;
    let mut body = with_dataset(&dataset, &k2_l2());
    body["name"] = "another".into();
    let job = api.post("/v1/series", &body).await.ok(202);
    assert_eq!(warnings(&job), [("releases_overlap".to_owned(), None)]);
    let ended = format!("/v1/jobs/{}", job["job_id"].as_str().unwrap());
    let ended = api.ended(&ended).await;
    assert_eq!(warnings(&ended), [("releases_overlap".to_owned(), None)]);
}

/// A taxonomy of wards; the second one knows a ward more.
fn wards(with_new: bool) -> Value {
    let mut surgical = vec![json!({"label": "S1"}), json!({"label": "S2"})];
    if with_new {
        surgical.push(json!({"label": "S3"}));
    }
    json!({"kind": "taxonomy", "label": "*", "children": [
        {"label": "medical", "children": [{"label": "M1"}, {"label": "M2"}]},
        {"label": "surgical", "children": surgical},
    ]})
}

#[sqlx::test]
async fn a_batch_that_cannot_be_placed_stops_what_comes_after_it_and_nothing_else(pool: PgPool) {
    let api = Api::new(pool).work();
    let attributes = json!([
        {"name": "patient", "role": "identifying", "subject": true},
        {"name": "ward", "role": "quasi_identifying", "hierarchy": wards(false)},
        {"name": "diagnosis", "role": "sensitive"},
    ]);
    let header = "patient,ward,diagnosis\n";
    let rows = "p1,M1,flu\np2,M1,asthma\np3,M1,flu\np4,M1,hiv\np5,S1,flu\np6,S1,hiv\n";
    let dataset = api.loaded(&attributes, &format!("{header}{rows}")).await;
    let mut body = with_dataset(
        &dataset,
        &json!({"privacy": [{"model": "k_anonymity", "k": 2}]}),
    );
    body["name"] = "s".into();
    let job = api.post("/v1/series", &body).await;
    let path = job.ok(202)["links"]["series"].as_str().unwrap().to_owned();
    api.ended(job.header("location")).await;

    let request = json_request(
        Method::PUT,
        &format!("{dataset}/hierarchies/ward"),
        &wards(true),
        &[],
    );
    let replaced = api.send(request).await.ok(200);
    let kept = ("series_keep_hierarchy".to_owned(), Some("ward".to_owned()));
    assert_eq!(warnings(&replaced), [kept]);

    let batches = format!("{dataset}/batches");
    let upload = async |rows: &str| {
        let reply = api
            .upload(&batches, "text/csv", format!("{header}{rows}"))
            .await;
        ended_update(&api, &reply.ok(201)).await
    };
    let failed = upload("p7,S3,flu\np8,M2,flu\n").await;
    assert_eq!(
        failed["failure"]["code"], "hierarchy_missing_values",
        "{failed}"
    );
    let series = api.get(&path).await.ok(200);
    assert_eq!(
        series["stopped"],
        json!({"batch": 2, "column": "ward"}),
        "{series}"
    );
    assert_eq!(series["through_batch"], 1);

    let deletions = format!("{dataset}/deletions");
    let erase = async |body: Value| {
        let answer = api.post(&deletions, &body).await.ok(202);
        ended_update(&api, &answer).await
    };
    let update = erase(json!({"subjects": ["p1", "p2"]})).await;
    assert_eq!(update["outcome"], "released", "{update}");
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["rows"]["received"], 4, "{series}");
    assert_eq!(series["stopped"]["batch"], 2);
    let newest = &series["releases"][0]["release_id"];
    assert_eq!(lines(&api, newest, "").await.len(), 4);

    // Without the value the series goes on.
    erase(json!({"rows_where": {"ward": "S3"}})).await;
    let series = api.get(&path).await.ok(200);
    assert_eq!(series["stopped"], Value::Null, "{series}");
    assert_eq!(series["through_batch"], 2);
    assert_eq!(series["rows"]["received"], 5);
}
