//! The documents say what is there: every error code is explained, every link leads somewhere.

use std::path::{Path, PathBuf};

use kindred::fault::FaultCode;
use utoipa::PartialSchema;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Slugs of the first column of the tables of docs/errors.md.
fn explained() -> Vec<String> {
    let text = read("docs/errors.md");
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `"));
    cells
        .filter_map(|rest| rest.split_once('`'))
        .map(|(slug, _)| slug.to_owned())
        .collect()
}

/// Slugs of the failures that are no fault of a field: rows of the table in src/http/problem.rs.
fn failures() -> Vec<String> {
    let text = read("src/http/problem.rs");
    let (_, table) = text.split_once("\ncodes! {").expect("the table of codes");
    let (table, _) = table.split_once("\n}").expect("its end");
    let slugs = table.lines().filter_map(|line| line.split('"').nth(1));
    slugs.map(str::to_owned).collect()
}

#[test]
fn every_error_code_is_explained_once_and_none_is_invented() {
    let schema = serde_json::to_value(FaultCode::schema()).unwrap();
    let faults = schema["enum"].as_array().unwrap();
    let mut existing: Vec<String> = faults
        .iter()
        .map(|slug| slug.as_str().unwrap().to_owned())
        .chain(failures())
        .collect();
    // `malformed_json` is a fault of an upload and the code of a whole answer: one explanation serves both.
    existing.sort();
    existing.dedup();
    let mut explained = explained();
    explained.sort();
    assert_eq!(explained, existing);
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    let mut dead = Vec::new();
    let mut documents = vec![PathBuf::from("README.md"), PathBuf::from("data/README.md")];
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        documents.push(Path::new("docs").join(entry.unwrap().file_name()));
    }
    for document in documents {
        let folder = document.parent().unwrap_or(Path::new(""));
        for target in links(&read(&document)) {
            if !root().join(folder).join(&target).exists() {
                dead.push(format!("{}: {target}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links: {dead:#?}");
}

/// Relative targets of `[text](target)`, without their fragment.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or("").to_owned())
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .collect()
}

#[test]
fn bundled_data_is_what_its_page_says() {
    use sha2::{Digest, Sha256};
    let page = read("data/README.md");
    let (_, list) = page.split_once("## SHA-256").expect("the list of digests");
    let mut files = 0;
    for line in list.lines().filter(|line| line.starts_with("    ")) {
        let (digest, name) = line.trim().split_once("  ").expect("digest and name");
        let bytes = std::fs::read(root().join("data").join(name)).unwrap();
        assert_eq!(hex::encode(Sha256::digest(bytes)), digest, "{name}");
        files += 1;
    }
    assert_eq!(files, 27, "every bundled table and hierarchy");
}
