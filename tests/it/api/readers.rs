//! Readers: what a granted key opens, and what it does not.

use std::path::Path;

use kindred::reading;
use kindred::vault::{Grant, ReaderPrivateKey};
use serde_json::{Value, json};
use sqlx::PgPool;

use super::series::{HEADER, attributes};
use super::*;

const ROWS: &str = "p1,41,F,flu\np2,42,M,\"a, b\"\np3,43,F,\n";

struct Case {
    api: Api,
    dataset: String,
    files: tempfile::TempDir,
}

impl Case {
    async fn new(pool: PgPool, settings: &[(&str, &str)]) -> Self {
        let api = Api::with(pool, settings);
        let dataset = api.loaded(&attributes(), &format!("{HEADER}{ROWS}")).await;
        Self {
            api,
            dataset,
            files: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.files.path().join(name)
    }

    /// The body of a grant for the key of a file.
    fn asked(&self, key: &str, partitions: &Value) -> Value {
        let public = reading::reader_key(&self.file(key)).unwrap();
        json!({"name": "registry", "public_key": public, "partitions": partitions})
    }

    /// Grants and saves the reader's record; gives its path.
    async fn grant(&self, key: &str, partitions: &Value) -> String {
        let body = self.asked(key, partitions);
        let reply = self
            .api
            .post(&format!("{}/readers", self.dataset), &body)
            .await;
        assert_eq!(&reply.ok(201)["partitions"], partitions);
        let path = reply.header("location").to_owned();
        let record = self.api.get(&path).await.ok(200);
        assert_eq!(record["public_key"], body["public_key"]);
        std::fs::write(self.file(&format!("{key}.grant")), record.to_string()).unwrap();
        path
    }

    async fn sealed(&self, partition: &str) -> Reply {
        self.api
            .get(&format!("{}/partitions/{partition}", self.dataset))
            .await
    }

    fn open(&self, key: &str, grant: &str, sealed: &[u8]) -> Result<String, reading::Error> {
        let mut output = Vec::new();
        let (key, grant) = (self.file(key), self.file(&format!("{grant}.grant")));
        reading::open(&key, &grant, sealed, &mut output)?;
        Ok(String::from_utf8(output).unwrap())
    }
}

const ALL: [(&str, &str); 1] = [("KINDRED__VAULT__GRANT_PARTITIONS", "all")];
const AUXILIARY: [(&str, &str); 1] = [("KINDRED__VAULT__GRANT_PARTITIONS", "auxiliary")];

#[sqlx::test]
async fn a_key_of_one_partition_opens_it_and_no_other(pool: PgPool) {
    let case = Case::new(pool, &ALL).await;
    case.grant("a", &json!(["auxiliary"])).await;
    case.grant("b", &json!(["auxiliary", "quasi", "identity"]))
        .await;
    let auxiliary = case.sealed("auxiliary").await;
    assert_eq!(auxiliary.header("content-type"), "application/x-ndjson");
    assert!(!auxiliary.text().contains("flu"));
    let diagnoses = "diagnosis\nflu\n\"a, b\"\n\"\"\n";
    assert_eq!(case.open("a", "a", &auxiliary.body).unwrap(), diagnoses);
    assert_eq!(case.open("b", "b", &auxiliary.body).unwrap(), diagnoses);
    let identity = case.sealed("identity").await.body;
    assert_eq!(
        case.open("b", "b", &identity).unwrap(),
        "patient\np1\np2\np3\n"
    );
    let quasi = case
        .open("b", "b", &case.sealed("quasi").await.body)
        .unwrap();
    assert!(quasi.starts_with("age,sex,subject_token\n41,F,"), "{quasi}");
    // The reader of the auxiliary partition has no other key, and the one that it has opens nothing else.
    let refused = case.open("a", "a", &identity).unwrap_err();
    assert!(matches!(refused, reading::Error::NotGranted("identity")));
    let record = std::fs::read_to_string(case.file("a.grant")).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    record["keys"]["identity"] = record["keys"]["auxiliary"].clone();
    std::fs::write(case.file("forged.grant"), record.to_string()).unwrap();
    let refused = case.open("a", "forged", &identity).unwrap_err();
    assert!(matches!(refused, reading::Error::OtherGrant), "{refused:?}");
    opens_no_other_chunk(&case.file("a"), &record, &identity);
    // Another's private key opens no grant but its own.
    let refused = case.open("b", "a", &auxiliary.body).unwrap_err();
    assert!(matches!(refused, reading::Error::OtherGrant));
}

/// The unwrapped key itself, against the chunks of another partition.
fn opens_no_other_chunk(key: &Path, record: &Value, sealed: &[u8]) {
    let id = |field: &str| uuid::Uuid::parse_str(record[field].as_str().unwrap()).unwrap();
    let partition = kindred::job::Partition::Auxiliary;
    let grant = Grant {
        dataset_id: id("dataset_id"),
        reader_id: id("reader_id"),
        purpose: partition.purpose(),
    };
    let wrapped = hex::decode(record["keys"]["auxiliary"].as_str().unwrap()).unwrap();
    let key = ReaderPrivateKey::read(key).unwrap();
    let key = key.unwrap_data_key(&grant, &wrapped).unwrap();
    let lines = std::str::from_utf8(sealed).unwrap().lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let batch = uuid::Uuid::parse_str(lines[1]["batch_id"].as_str().unwrap()).unwrap();
    let chunk = hex::decode(lines[2]["sealed"].as_str().unwrap()).unwrap();
    for purpose in kindred::vault::Purpose::ALL {
        let place = kindred::vault::Place {
            dataset_id: grant.dataset_id,
            holder_id: batch,
            purpose,
            sequence: 0,
        };
        assert!(key.open(&place, &chunk).is_err());
    }
}

#[sqlx::test]
async fn no_partition_is_granted_unless_the_configuration_says_so(pool: PgPool) {
    let case = Case::new(pool, &[]).await;
    let readers = format!("{}/readers", case.dataset);
    for partition in ["auxiliary", "quasi", "identity"] {
        let body = case.asked("a", &json!([partition]));
        let reply = case.api.post(&readers, &body).await;
        reply.problem(403, "partition_withheld");
        let sealed = case.sealed(partition).await;
        sealed.problem(403, "partition_withheld");
    }
    let none = case.api.get(&readers).await.ok(200);
    assert_eq!(none, json!({"items": [], "next_cursor": null}));
}

#[sqlx::test]
async fn raw_partitions_are_withheld_where_only_the_auxiliary_one_may_be_granted(pool: PgPool) {
    let case = Case::new(pool, &AUXILIARY).await;
    let readers = format!("{}/readers", case.dataset);
    for partition in ["quasi", "identity"] {
        let body = case.asked("a", &json!(["auxiliary", partition]));
        case.api
            .post(&readers, &body)
            .await
            .problem(403, "partition_withheld");
        case.sealed(partition)
            .await
            .problem(403, "partition_withheld");
    }
    case.sealed("auxiliary")
        .await
        .problem(403, "partition_not_granted");
    let none = case.api.get(&readers).await.ok(200);
    assert_eq!(none, json!({"items": [], "next_cursor": null}));
    case.sealed("release").await.problem(404, "not_found");
}

#[sqlx::test]
async fn a_revoked_reader_is_gone_and_a_dataset_takes_its_readers_along(pool: PgPool) {
    let case = Case::new(pool, &AUXILIARY).await;
    let path = case.grant("a", &json!(["auxiliary"])).await;
    let other = case.grant("b", &json!(["auxiliary"])).await;
    let list = case
        .api
        .get(&format!("{}/readers", case.dataset))
        .await
        .ok(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    assert_eq!(list["items"][0]["keys"], Value::Null);
    assert_eq!(case.api.call(Method::DELETE, &path).await.status, 204);
    case.api
        .call(Method::DELETE, &path)
        .await
        .problem(404, "not_found");
    case.api.get(&path).await.problem(404, "not_found");
    assert_eq!(case.sealed("auxiliary").await.status, 200);
    assert_eq!(
        case.api.call(Method::DELETE, &case.dataset).await.status,
        204
    );
    case.api.get(&other).await.problem(404, "not_found");
}

#[sqlx::test]
async fn erased_rows_are_in_no_partition_and_a_download_without_its_end_is_refused(pool: PgPool) {
    let case = Case::new(pool, &AUXILIARY).await;
    case.grant("a", &json!(["auxiliary"])).await;
    let more = format!("{HEADER}p4,44,F,copd\np5,45,F,gout\n");
    let batches = format!("{}/batches", case.dataset);
    case.api.upload(&batches, "text/csv", more).await.ok(201);
    let gone = json!({"subjects": ["p2", "p4"]});
    let gone = case
        .api
        .post(&format!("{}/deletions", case.dataset), &gone)
        .await;
    gone.ok(202);
    let sealed = case.sealed("auxiliary").await.body;
    assert_eq!(
        case.open("a", "a", &sealed).unwrap(),
        "diagnosis\nflu\n\"\"\ngout\n"
    );
    let text = String::from_utf8(sealed.to_vec()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for cut in 1..lines.len() {
        let part = format!("{}\n", lines[..cut].join("\n"));
        let refused = case.open("a", "a", part.as_bytes()).unwrap_err();
        assert!(
            matches!(refused, reading::Error::CutOff),
            "{cut}: {refused:?}"
        );
    }
    // A chunk in the place of another one does not open.
    let moved = [lines[0], lines[3], lines[2], lines[1], lines[4], lines[5]].join("\n");
    let refused = case.open("a", "a", moved.as_bytes()).unwrap_err();
    assert!(matches!(refused, reading::Error::Chunk(_)), "{refused:?}");
}

#[sqlx::test]
async fn all_faults_of_a_grant_come_at_once(pool: PgPool) {
    let case = Case::new(pool, &AUXILIARY).await;
    let readers = format!("{}/readers", case.dataset);
    let low_order = "0".repeat(64);
    let odd = json!({"name": "", "public_key": low_order, "partitions": ["auxiliary", "auxiliary", "rows"], "role": 1});
    let problem = case
        .api
        .post(&readers, &odd)
        .await
        .problem(422, "validation_failed");
    let expected = [
        ("unknown_field", "/role"),
        ("out_of_range", "/name"),
        ("invalid_value", "/public_key"),
        ("duplicate_value", "/partitions/1"),
        ("unknown_value", "/partitions/2"),
    ];
    let expected = expected.map(|(code, place)| (code.to_owned(), place.to_owned()));
    assert_eq!(faults(&problem), expected);
}
