//! How a class's values are written in one cell, so that whoever reads it knows what was meant.
//!
//! A cell that begins with `[` is a closed interval `[low, high]`, one that begins with `{` a set `{a, b}` of values in
//! order; any other is a single value as it was received. Within either, a backslash stands before every `\`, `,`, `[`,
//! `]`, `{` and `}` of a value, and `\N` is a missing cell. A set may hold one interval. A single value that begins with
//! `[`, `{` or `\` is written as a set of one.

use std::borrow::Cow;

/// A missing cell within a set.
pub(crate) const MISSING: &str = r"\N";

fn is_special(letter: char) -> bool {
    matches!(letter, '\\' | ',' | '[' | ']' | '{' | '}')
}

/// A value within an interval or a set.
pub(crate) fn escaped(value: &str) -> Cow<'_, str> {
    if !value.contains(is_special) {
        return Cow::Borrowed(value);
    }
    let mut text = String::with_capacity(value.len() + 4);
    for letter in value.chars() {
        if is_special(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    Cow::Owned(text)
}

/// A closed interval.
pub(crate) fn interval(low: &str, high: &str) -> String {
    format!("[{}, {}]", escaped(low), escaped(high))
}

/// A set of elements that are written already.
pub(crate) fn set<'e>(elements: impl IntoIterator<Item = Cow<'e, str>>) -> String {
    let elements: Vec<Cow<'_, str>> = elements.into_iter().collect();
    format!("{{{}}}", elements.join(", "))
}

/// A single value.
pub(crate) fn single(value: &str) -> Cow<'_, str> {
    if value.starts_with(['[', '{', '\\']) {
        Cow::Owned(set([escaped(value)]))
    } else {
        Cow::Borrowed(value)
    }
}

/// One thing that a cell states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stated {
    /// That a cell is missing.
    Missing,
    /// A value.
    Value(String),
    /// Values from the one to the other, both included.
    Interval(String, String),
}

/// What a cell states; `None` if no class is written so.
pub(crate) fn stated(cell: &str) -> Option<Vec<Stated>> {
    if let Some(inside) = within(cell, '{', '}') {
        return parts(inside)?.into_iter().map(element).collect();
    }
    if cell.starts_with('[') {
        return Some(vec![element(cell)?]);
    }
    let is_plain = !cell.starts_with(['{', '\\']);
    is_plain.then(|| vec![Stated::Value(cell.to_owned())])
}

fn within(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// An element of a set, or an interval.
fn element(text: &str) -> Option<Stated> {
    if text == MISSING {
        return Some(Stated::Missing);
    }
    let Some(inside) = within(text, '[', ']') else {
        return plain(text).map(Stated::Value);
    };
    let [low, high] = parts(inside)?[..] else {
        return None;
    };
    Some(Stated::Interval(plain(low)?, plain(high)?))
}

/// The parts between those commas that stand for themselves and in no interval.
fn parts(text: &str) -> Option<Vec<&str>> {
    let mut ends = Vec::new();
    let (mut is_escaped, mut is_inside) = (false, false);
    for (place, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' | ']' => is_inside = letter == '[',
            ',' if !is_inside => ends.push(place),
            _ => {}
        }
    }
    let mut from = 0;
    let mut parts = Vec::with_capacity(ends.len() + 1);
    for end in ends {
        parts.push(&text[from..end]);
        from = end + ", ".len();
        text.get(end..from).filter(|between| *between == ", ")?;
    }
    parts.push(&text[from..]);
    Some(parts)
}

/// A value as it was before it was escaped; `None` if something in it is not.
fn plain(text: &str) -> Option<String> {
    let mut value = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let own = match letter {
            '\\' => letters.next().filter(|&letter| is_special(letter))?,
            letter => Some(letter).filter(|&letter| !is_special(letter))?,
        };
        value.push(own);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec(r"[ab, \\\[\]{}N]{1,5}", 1..5)) {
            let value = |text: &String| Stated::Value(text.clone());
            let cell = set(values.iter().map(|value| escaped(value)));
            prop_assert_eq!(stated(&cell), Some(values.iter().map(value).collect()));
            prop_assert_eq!(stated(&single(&values[0])), Some(vec![value(&values[0])]));
            let last = &values[values.len() - 1];
            let range = interval(&values[0], last);
            let meant = Stated::Interval(values[0].clone(), last.clone());
            prop_assert_eq!(stated(&range), Some(vec![meant.clone()]));
            let both = set([MISSING.into(), range.into()]);
            prop_assert_eq!(stated(&both), Some(vec![Stated::Missing, meant]));
        }
    }

    #[test]
    fn what_no_class_bears_is_not_read() {
        for cell in [
            "{a",
            "[1]",
            "[1, 2",
            "[1, 2)",
            "[1, 2, 3]",
            r"\N",
            "{a}b",
            "{a,b}",
            r"{\x}",
            r"{a\}",
        ] {
            assert_eq!(stated(cell), None, "{cell}");
        }
    }

    #[test]
    fn no_two_things_are_written_alike() {
        assert_eq!(single("Kiel"), "Kiel");
        assert_eq!(single("{a, b}"), r"{\{a\, b\}}");
        assert_eq!(set([escaped("a"), escaped("b")]), "{a, b}");
        assert_eq!(set([escaped("a, b")]), r"{a\, b}");
        assert_eq!(set([MISSING.into(), escaped(r"\N")]), r"{\N, \\N}");
        assert_eq!(interval("1", "2.5"), "[1, 2.5]");
        assert_eq!(
            set([MISSING.into(), interval("1", "2").into()]),
            r"{\N, [1, 2]}"
        );
    }
}
