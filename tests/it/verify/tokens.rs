//! Releases with tokens, and what the verifier makes of wrong ones.

use kindred::anonymize::identifiers::{Tokens, linked, wanted};
use kindred::anonymize::release::{Rendered, render_with_tokens};
use kindred::anonymize::table::Column;
use kindred::anonymize::verify::verify_with_tokens;

use super::{Case, relabel, six};

fn token_of(value: &str) -> String {
    format!(
        "{:032x}",
        value.len() * 1000 + usize::from(value.as_bytes()[0])
    )
}

/// The six rows with their identifiers loaded; `names` are theirs.
fn identified(names: [Option<&str>; 6]) -> Case {
    let mut case = six();
    let mut column = Column::default();
    for name in names {
        let code = name.map_or(0, |name| column.dictionary.insert(name));
        column.codes.push(code);
    }
    case.table.columns[0] = Some(column);
    case
}

fn tokens(case: &Case) -> Tokens {
    let positions = wanted(&case.schema, None);
    Tokens::of(&case.table, &case.schema, &positions, |_, value| {
        token_of(&value.trim().to_lowercase())
    })
}

fn failures(case: &Case, tamper: impl FnOnce(&mut Rendered)) -> Vec<String> {
    let tokens = tokens(case);
    let mut rendered =
        render_with_tokens(&case.table, &case.schema, &case.recipe(), &tokens).unwrap();
    let verify = |rendered: &Rendered| {
        verify_with_tokens(
            &case.table,
            &case.schema,
            &case.recipe(),
            case.limit,
            rendered,
            &tokens,
        )
    };
    verify(&rendered).unwrap();
    tamper(&mut rendered);
    verify(&rendered).map_or_else(|failure| failure.failures, |_| Vec::new())
}

const NAMES: [Option<&str>; 6] = [
    Some("ann"),
    Some("Bo"),
    Some(" ANN"),
    Some("dee"),
    None,
    Some("f"),
];

#[test]
fn a_wrong_token_is_refused() {
    let case = identified(NAMES);
    assert!(failures(&case, |_| ()).is_empty());
    let found = failures(&case, |rendered| relabel(rendered, 0, 0, "ann"));
    assert_eq!(found.len(), 3, "{found:?}");
    let found = failures(&case, |rendered| relabel(rendered, 0, 0, &token_of("zoe")));
    assert_eq!(
        found,
        [
            "one token per identifier of `id`: 1 identifiers have several tokens, 0 tokens several identifiers"
        ]
    );
    let found = failures(&case, |rendered| relabel(rendered, 0, 1, &token_of("ann")));
    assert_eq!(
        found,
        [
            "one token per identifier of `id`: 0 identifiers have several tokens, 1 tokens several identifiers"
        ]
    );
    // Row 4 has no identifier.
    let found = failures(&case, |rendered| relabel(rendered, 0, 4, &token_of("zoe")));
    assert!(
        found[0].starts_with("tokens of `id`: 0 cells are no tokens, 1 stand"),
        "{found:?}"
    );
    assert!(found.iter().all(|failure| !failure.contains("ann")));
}

#[test]
fn what_a_subject_is_known_by_is_no_token() {
    let mut case = identified(NAMES);
    let mut subjects = Column::default();
    for name in ["ann", "bo", "ann", "dee", "eve", "f"] {
        let code = subjects.dictionary.insert(&token_of(name));
        subjects.codes.push(code - 1);
    }
    case.table.subjects = Some(subjects);
    let tokens = tokens(&case);
    let rendered = render_with_tokens(&case.table, &case.schema, &case.recipe(), &tokens).unwrap();
    let verified = verify_with_tokens(
        &case.table,
        &case.schema,
        &case.recipe(),
        case.limit,
        &rendered,
        &tokens,
    );
    let failures = verified.unwrap_err().failures;
    assert!(
        failures[0].starts_with("no identifier in `id`: "),
        "{failures:?}"
    );
}

#[test]
fn what_tokens_tie_together_is_counted() {
    let case = identified(NAMES);
    let rendered =
        render_with_tokens(&case.table, &case.schema, &case.recipe(), &tokens(&case)).unwrap();
    let found = linked(&rendered, &case.schema)[&0];
    // Rows 0, 1, 2 and 4 are released: Ann stands in both classes and nobody else does.
    assert_eq!((found.repeated, found.least), (1, 1));
}
