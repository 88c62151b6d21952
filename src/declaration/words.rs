//! Closed sets of words, and the word that was probably meant.

/// Legal words of a field with their meaning, and words of the contract that this version does not offer.
#[derive(Debug)]
pub struct Words<T: 'static> {
    /// What the word stands for, in a fault: "role", "privacy model".
    pub noun: &'static str,
    /// Words and meanings.
    pub legal: &'static [(&'static str, T)],
    /// Words that are known and not offered.
    pub planned: &'static [&'static str],
}

impl<T: Copy> Words<T> {
    /// The legal words, quoted.
    pub(super) fn listed(&self) -> String {
        let words: Vec<String> = self
            .legal
            .iter()
            .map(|(word, _)| format!("`{word}`"))
            .collect();
        words.join(", ")
    }
}

/// Names in back quotes, joined by commas.
pub(super) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    names.join(", ")
}

/// The word that `text` probably is a misspelling of: at most a third of its letters differ.
pub(super) fn nearest<'w>(text: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let text: Vec<char> = text.to_lowercase().chars().take(64).collect();
    words
        .into_iter()
        .map(|word| (edits(&text, &word.chars().collect::<Vec<char>>()), word))
        .filter(|(edits, word)| *edits <= (word.chars().count() / 3).max(1))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, word)| word)
}

/// Letters to insert, delete or replace to turn `left` into `right` (Levenshtein).
fn edits(left: &[char], right: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, one) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (position, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(one != other);
            diagonal = row[position + 1];
            row[position + 1] = replaced.min(diagonal + 1).min(row[position] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelling_of_a_third_is_recognised_and_no_more() {
        let words = ["generalization_depth", "suppression", "loss"];
        assert_eq!(
            nearest("generalisation_depth", words),
            Some("generalization_depth")
        );
        assert_eq!(nearest("Supression", words), Some("suppression"));
        assert_eq!(nearest("discernibility", words), None);
        assert_eq!(nearest("", words), None);
    }
}
