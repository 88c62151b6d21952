//! What holds for every hierarchy.

use proptest::prelude::*;
use serde_json::json;

use super::{check_tables, compile, integers, path, table};

fn distinct<T: std::fmt::Display>(values: &[T]) -> Vec<String> {
    let values: std::collections::BTreeSet<String> = values.iter().map(T::to_string).collect();
    values.into_iter().collect()
}

proptest! {
    #[test]
    fn intervals_nest_and_hold_their_values(
        values in prop::collection::vec(-500_i32..500, 1..60),
        origin in -30_i32..30,
        width in 1_i32..9,
        factors in prop::collection::vec(1_i32..4, 0..4),
        bottom in prop::option::of(-200_i32..0),
        top in prop::option::of(0_i32..200),
    ) {
        let widths: Vec<i32> = std::iter::once(width)
            .chain(factors.iter().scan(width, |width, factor| {
                *width *= factor;
                Some(*width)
            }))
            .collect();
        let declared = json!({ "kind": "intervals", "origin": origin, "widths": widths,
            "bottom_below": bottom, "top_from": top });
        let hierarchy = integers(&declared).unwrap();
        let texts = distinct(&values);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check_tables(&hierarchy, &texts);
        for text in texts {
            let value: i32 = text.parse().unwrap();
            for label in &path(&hierarchy, text)[1..=widths.len()] {
                let holds = match label.strip_prefix('[') {
                    Some(bounds) => {
                        let (low, high) = bounds.trim_end_matches(')').split_once(", ").unwrap();
                        (low.parse().unwrap()..high.parse().unwrap()).contains(&value)
                    }
                    None if label.starts_with('<') => value < bottom.unwrap(),
                    None if label.ends_with('+') => value >= top.unwrap(),
                    // A number that is alone in its interval.
                    None => label.parse() == Ok(value),
                };
                prop_assert!(holds, "{value} in {label}");
            }
        }
    }

    #[test]
    fn prefixes_nest_whatever_the_codes_hold(codes in prop::collection::vec("[0*a]{0,6}", 1..60)) {
        let hierarchy = compile(json!({ "hierarchy": { "kind": "prefix", "keep": [6, 4, 3, 1] } })).unwrap();
        let codes = distinct(&codes);
        let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
        check_tables(&hierarchy, &codes);
    }

    #[test]
    fn any_text_is_a_table_or_a_list_of_faults(text in "[a-c\"; \n*]{0,40}") {
        match table(&text) {
            Ok(hierarchy) => prop_assert!(hierarchy.levels() >= 2),
            Err(faults) => prop_assert!(!faults.is_empty()),
        }
    }
}
