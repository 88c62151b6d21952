//! The classes of a target: values that enough people bear.

use rustc_hash::FxHashSet;

use super::evaluate::Target;
use crate::anonymize::report::Reason;
use crate::anonymize::table::{Column, MISSING};

/// Fewest people of a class of the target (subjects where they are declared, else rows); rarer values are joined to one
/// class.
pub const CLASS_PEOPLE: usize = 50;
/// Most classes of the target; the values of all but the most frequent ones are joined.
pub const MOST_CLASSES: usize = 20;

/// The target and its classes.
#[derive(Debug, Clone)]
pub struct Classes {
    /// For the models.
    pub target: Target,
    /// Rows with a known value.
    pub rows: u64,
}

pub(super) fn reason(code: &str, detail: &str) -> Reason {
    Reason {
        code: code.to_owned(),
        detail: detail.to_owned(),
    }
}

/// The classes of a target: its values, rare ones joined; a joined class of too few rows is left out. The positive class is
/// the one that bears one of the texts, or without texts the rarer one of two. `groups` are the persons of the rows;
/// absent: every row is one.
///
/// # Errors
/// Fewer than two classes; the positive value does not occur often enough.
pub fn classes_of(
    column: &Column,
    groups: Option<&[u32]>,
    positive: Option<&[String]>,
) -> Result<Classes, Reason> {
    let counts = people_of_values(column, groups);
    let mut values: Vec<u32> = (1_u32..)
        .zip(&counts[1..])
        .filter(|&(_, &count)| count > 0)
        .map(|(code, _)| code)
        .collect();
    let value = |code: u32| column.dictionary.value(code);
    values.sort_unstable_by(|&left, &right| {
        let count = |code: u32| counts[code as usize];
        count(right)
            .cmp(&count(left))
            .then(value(left).cmp(&value(right)))
    });
    let is_frequent = |code: u32| counts[code as usize] >= CLASS_PEOPLE;
    let mut own: Vec<u32> = values
        .iter()
        .copied()
        .filter(|&code| is_frequent(code))
        .collect();
    own.truncate(MOST_CLASSES);
    let rows = (0..column.codes.len()).filter(|&row| {
        let code = column.codes[row];
        code != MISSING && !own.contains(&code)
    });
    let has_joined = people(groups, rows) >= CLASS_PEOPLE;
    let classes = own.len() + usize::from(has_joined);
    if classes < 2 {
        return Err(reason(
            "target_has_one_class",
            "the target has fewer than two classes of at least 50 people",
        ));
    }
    let mut class_of = vec![None; counts.len()];
    for &code in &values {
        let place = own.iter().position(|&own| own == code);
        let place = place.or(has_joined.then_some(own.len()));
        class_of[code as usize] = place.and_then(|place| u32::try_from(place).ok());
    }
    class_of[MISSING as usize] = None;
    let positive = match positive {
        Some(texts) => {
            let named = texts.iter().find_map(|text| column.dictionary.code(text));
            let place = named.and_then(|code| own.iter().position(|&own| own == code));
            Some(place.ok_or_else(|| {
                reason(
                    "positive_too_rare",
                    "fewer than 50 people bear the positive value of the target",
                )
            })?)
        }
        // The most frequent come first.
        None => (classes == 2).then_some(1),
    };
    let class_of: Vec<Option<u32>> = column
        .codes
        .iter()
        .map(|&code| class_of[code as usize])
        .collect();
    Ok(Classes {
        rows: class_of.iter().flatten().count() as u64,
        target: Target {
            class_of,
            classes,
            positive,
        },
    })
}

/// Different people of rows.
pub(super) fn people(groups: Option<&[u32]>, rows: impl Iterator<Item = usize>) -> usize {
    match groups {
        None => rows.count(),
        Some(groups) => {
            let persons: FxHashSet<u32> = rows.map(|row| groups[row]).collect();
            persons.len()
        }
    }
}

/// By value code: different people who bear it.
fn people_of_values(column: &Column, groups: Option<&[u32]>) -> Vec<usize> {
    let person = |row: usize| groups.map_or(row, |groups| groups[row] as usize);
    let rows = column.codes.iter().enumerate();
    let mut pairs: Vec<(u32, usize)> = rows.map(|(row, &code)| (code, person(row))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut counts = vec![0; column.dictionary.len() + 1];
    for (code, _) in pairs {
        counts[code as usize] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[(&str, usize)]) -> Column {
        let mut column = Column::default();
        for (value, count) in values {
            let code = if value.is_empty() {
                MISSING
            } else {
                column.dictionary.insert(value)
            };
            column.codes.extend(vec![code; *count]);
        }
        column
    }

    #[test]
    fn rare_values_are_one_class_or_none() {
        let found = classes_of(
            &column(&[("a", 60), ("", 9), ("b", 200), ("c", 30), ("d", 20)]),
            None,
            None,
        )
        .unwrap();
        assert_eq!(
            (found.target.classes, found.rows, found.target.positive),
            (3, 310, None)
        );
        assert_eq!(found.target.class_of[0], Some(1));
        assert_eq!(found.target.class_of[60], None);
        assert_eq!(found.target.class_of[69], Some(0));
        assert_eq!(found.target.class_of[300], found.target.class_of[269]);
        let found = classes_of(&column(&[("a", 60), ("b", 200), ("c", 30)]), None, None).unwrap();
        assert_eq!(
            (found.target.classes, found.rows, found.target.positive),
            (2, 260, Some(1))
        );
    }

    #[test]
    fn a_target_without_a_choice_or_a_positive_value_is_told() {
        let one = classes_of(&column(&[("a", 60), ("b", 3)]), None, None).unwrap_err();
        assert_eq!(one.code, "target_has_one_class");
        let two = column(&[("a", 60), ("b", 60), ("c", 3)]);
        let rare = classes_of(&two, None, Some(&["c".to_owned()])).unwrap_err();
        assert_eq!(rare.code, "positive_too_rare");
        let named = classes_of(&two, None, Some(&["b".to_owned()])).unwrap();
        assert_eq!(named.target.positive, Some(1));
    }

    #[test]
    fn classes_are_of_people_and_not_of_their_rows() {
        let two = column(&[("a", 100), ("b", 100)]);
        let rows = |each: u32| (0..200).map(|row| row / each).collect::<Vec<u32>>();
        let found = classes_of(&two, Some(&rows(2)), None).unwrap();
        assert_eq!((found.target.classes, found.rows), (2, 200));
        let few = classes_of(&two, Some(&rows(4)), None).unwrap_err();
        assert_eq!(few.code, "target_has_one_class");
        // Rare values of the same 25 people, four rows each, are no class of 50 people together.
        let rare = column(&[("a", 60), ("b", 60), ("c", 50), ("d", 50)]);
        let person = |row: u32| {
            if row < 120 {
                row
            } else {
                120 + (row - 120) % 25
            }
        };
        let persons: Vec<u32> = (0..220).map(person).collect();
        assert_eq!(
            classes_of(&rare, Some(&persons), None)
                .unwrap()
                .target
                .classes,
            2
        );
        assert_eq!(classes_of(&rare, None, None).unwrap().target.classes, 4);
    }
}
