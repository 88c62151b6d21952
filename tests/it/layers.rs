//! Who may name whom: reads the sources and fails on a forbidden name, so that a layer cannot grow into another.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

/// A layer (a path below `src/`) and the names that must not occur in it.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "anonymize",
        &[
            "sqlx",
            "axum",
            "tokio",
            "crate::store",
            "crate::http",
            "crate::worker",
            "crate::vault",
            "crate::job",
            "crate::ingest",
        ],
    ),
    (
        "declaration",
        &[
            "sqlx",
            "axum",
            "tokio",
            "crate::store",
            "crate::http",
            "crate::worker",
            "crate::vault",
            "crate::job",
        ],
    ),
    ("fault.rs", &["sqlx", "axum", "tokio", "crate::"]),
    (
        "ingest",
        &[
            "sqlx",
            "axum",
            "tokio",
            "crate::store",
            "crate::http",
            "crate::worker",
        ],
    ),
    (
        "vault",
        &[
            "axum",
            "tokio",
            "crate::store",
            "crate::http",
            "crate::worker",
        ],
    ),
    ("store", &["axum", "crate::http", "crate::worker"]),
    (
        "publish.rs",
        &["sqlx", "axum", "crate::http", "crate::worker"],
    ),
    ("http", &["sqlx", "crate::worker"]),
    ("worker", &["sqlx", "axum", "crate::http"]),
];

/// Breaches in one source text: a forbidden name outside of comments and test modules.
fn breaches(source: &str, forbidden: &[&'static str]) -> Vec<&'static str> {
    let code: Vec<&str> = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default()
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect();
    let code = code.join("\n");
    let mut found = Vec::new();
    for &name in forbidden {
        let is_word = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let bytes = code.as_bytes();
        let occurs = code.match_indices(name).any(|(at, _)| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            // `crate::` forbids whatever follows it.
            let after = bytes.get(at + name.len());
            !is_word(before) && (name.ends_with("::") || !is_word(after))
        });
        if occurs {
            found.push(name);
        }
    }
    found
}

fn sources(place: &Path, into: &mut Vec<PathBuf>) {
    if place.is_file() {
        into.push(place.to_owned());
        return;
    }
    for entry in std::fs::read_dir(place).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() || path.extension().is_some_and(|ending| ending == "rs") {
            sources(&path, into);
        }
    }
}

#[test]
fn no_layer_names_what_it_must_not_know() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for (layer, forbidden) in FORBIDDEN {
        let mut files = Vec::new();
        sources(&root.join(layer), &mut files);
        assert!(!files.is_empty(), "{layer} has no sources");
        for file in files {
            let source = std::fs::read_to_string(&file).unwrap();
            for name in breaches(&source, forbidden) {
                found.push(format!("{} names {name}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_planted_breach_is_found() {
    let planted = "use std::fmt;\nuse sqlx::PgPool;\n";
    assert_eq!(breaches(planted, &["sqlx", "axum"]), ["sqlx"]);
    assert_eq!(
        breaches("fn f() { crate::http::router() }", &["crate::http"]),
        ["crate::http"]
    );
    assert_eq!(breaches("use crate::job::Job;", &["crate::"]), ["crate::"]);
}

#[test]
fn comments_tests_and_longer_words_are_no_breach() {
    let innocent =
        "// sqlx is below\nlet sqlx_like = 1;\n#[cfg(test)]\nmod tests {\nuse sqlx::PgPool;\n}\n";
    assert!(breaches(innocent, &["sqlx"]).is_empty());
    assert!(breaches("use crate::httpd;", &["crate::http"]).is_empty());
}
