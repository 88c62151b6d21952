//! How a class's values are written in one cell, so that whoever reads it knows what was meant.
//!
//! A cell that begins with `[` is a closed interval `[low, high]`, one that begins with `{` a set `{a, b}` of values in
//! order; any other is a single value as it was received. Within either, a backslash stands before every `\`, `,`, `[`,
//! `]`, `{` and `}` of a value, and `\N` is a missing cell. A set may hold one interval. A single value that begins with
//! `[`, `{` or `\` is written as a set of one.

use std::borrow::Cow;

/// A missing cell within a set.
pub(crate) const MISSING: &str = r"\N";

/// A value within an interval or a set.
pub(crate) fn escaped(value: &str) -> Cow<'_, str> {
    let is_special = |letter: char| matches!(letter, '\\' | ',' | '[' | ']' | '{' | '}');
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

#[cfg(test)]
mod tests {
    use super::*;

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
