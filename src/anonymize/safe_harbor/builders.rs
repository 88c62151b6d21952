//! Hierarchies for the two generalizations that the rule describes.

use std::borrow::Cow;

use super::zip3::{NotAZip, Zip3List, Zip3Width, zip3_levels};
use crate::declaration::HierarchyDeclaration;

/// From this age on all ages are one category.
const TOP_AGE: u32 = 90;

/// A hierarchy of whole ages `0..=oldest`: the age; the exact age below 90 and `90+`; one level per width; `*`.
///
/// Level 1 is the least that the rule asks for: 89 stays 89, 90 becomes `90+`. Wider levels are half-open intervals
/// from 0, `[80, 85)`; one that would reach beyond 90 ends there. Widths must each be a whole multiple of the one
/// before, or levels would not nest; a width that is not is left out. Ages beyond `oldest` have no place and are
/// refused by the engine, so choose it generously (130).
///
/// A table and not `intervals`, whose first level would read `[88, 89)` where the rule lets `88` stand.
#[must_use]
pub fn age_hierarchy(oldest: u32, widths: &[u32]) -> HierarchyDeclaration {
    let mut nested: Vec<u32> = Vec::new();
    for &width in widths {
        let before = nested.last().copied().unwrap_or(1);
        if width > before && width.is_multiple_of(before) {
            nested.push(width);
        }
    }
    let top = format!("{TOP_AGE}+");
    let interval = |age: u32, width: u32| {
        let start = age / width * width;
        format!("[{start}, {})", (start + width).min(TOP_AGE))
    };
    let row = |age: u32| {
        let mut labels = vec![age.to_string()];
        if age >= TOP_AGE {
            labels.extend(std::iter::repeat_n(top.clone(), nested.len() + 1));
        } else {
            labels.push(age.to_string());
            labels.extend(nested.iter().map(|&width| interval(age, width)));
        }
        labels.push("*".to_owned());
        labels
    };
    HierarchyDeclaration::Table {
        delimiter: None,
        text: None,
        rows: Some((0..=oldest).map(row).collect()),
    }
}

/// A hierarchy of the given ZIP codes: the code; three digits, or 000 for small areas; `*`.
///
/// One line per value, so that a table suffices. The values come from whoever knows them, for instance from a
/// column's distinct values; missing ones are left out by the caller.
///
/// # Errors
/// The positions, from 0, of the values that are no ZIP codes.
pub fn zip3_hierarchy<'a>(
    values: impl IntoIterator<Item = &'a str>,
    list: Zip3List,
    width: Zip3Width,
) -> Result<HierarchyDeclaration, Vec<usize>> {
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for (position, value) in values.into_iter().enumerate() {
        match zip3_levels(value, list, width) {
            Ok(levels) => rows.push(levels.map(Cow::into_owned).to_vec()),
            Err(NotAZip) => refused.push(position),
        }
    }
    if refused.is_empty() {
        Ok(HierarchyDeclaration::Table {
            delimiter: None,
            text: None,
            rows: Some(rows),
        })
    } else {
        Err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(declaration: HierarchyDeclaration) -> Vec<Vec<String>> {
        match declaration {
            HierarchyDeclaration::Table {
                rows: Some(rows), ..
            } => rows,
            other => panic!("not a table of rows: {other:?}"),
        }
    }

    #[test]
    fn uc_15_89_stays_and_90_becomes_the_top() {
        let rows = rows(age_hierarchy(130, &[5, 10, 30]));
        assert_eq!(rows.len(), 131);
        assert_eq!(rows[0], ["0", "0", "[0, 5)", "[0, 10)", "[0, 30)", "*"]);
        assert_eq!(rows[17][1], "17");
        assert_eq!(
            rows[88],
            ["88", "88", "[85, 90)", "[80, 90)", "[60, 90)", "*"]
        );
        assert_eq!(rows[89][1], "89");
        for age in [90, 95, 104, 130] {
            assert_eq!(rows[age][1..], ["90+", "90+", "90+", "90+", "*"]);
        }
    }

    #[test]
    fn every_level_is_nested_in_the_next() {
        // 40 does not divide 90: the last interval is cut at 90 and still nests. 7 is no multiple of 5: left out.
        let rows = rows(age_hierarchy(99, &[5, 7, 20, 40]));
        for level in 0..rows[0].len() - 1 {
            let mut parent = std::collections::HashMap::new();
            for row in &rows {
                let known = parent.entry(&row[level]).or_insert(&row[level + 1]);
                assert_eq!(*known, &row[level + 1]);
            }
        }
        assert_eq!(
            rows[85],
            ["85", "85", "[85, 90)", "[80, 90)", "[80, 90)", "*"]
        );
    }

    #[test]
    fn zip_codes_become_lines_of_a_table() {
        let values = ["02139", "10204-1234", "83001"];
        let built = zip3_hierarchy(values, Zip3List::Census2020, Zip3Width::Three).unwrap();
        assert_eq!(
            rows(built),
            [
                ["02139", "021", "*"],
                ["10204-1234", "000", "*"],
                ["83001", "830", "*"]
            ]
        );
    }

    #[test]
    fn every_value_that_is_no_zip_code_is_told() {
        let values = ["2139", "02139", "x"];
        let refused = zip3_hierarchy(values, Zip3List::Census2000, Zip3Width::Three);
        assert_eq!(refused, Err(vec![0, 2]));
    }
}
