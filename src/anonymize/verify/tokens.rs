//! Tokens in the place of identifiers, judged by the identifiers of the input: no key is known here, and no code of the
//! vault is used.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use super::Verifier;
use crate::declaration::Role;

/// Digits of a token: 128 bits.
const DIGITS: usize = 32;

/// What all spellings of an identifier have in common: composed form, no white space around, one letter case.
fn canonical(value: &str) -> String {
    let composed: String = value.trim().nfc().collect();
    // Twice: `ẞ` and `ß` are `ss`, and both small sigmas are one.
    let lower = composed.chars().flat_map(char::to_lowercase);
    let upper = lower.flat_map(char::to_uppercase);
    upper.flat_map(char::to_lowercase).nfc().collect()
}

fn is_token(cell: &str) -> bool {
    cell.len() == DIGITS
        && cell
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Verifier<'_> {
    /// Every released cell of an identifying column is a token, of one identifier and of no other, and neither an
    /// identifier nor what subjects are known by; a missing identifier has none.
    pub(super) fn check_tokens(&mut self, column: usize, released: &[usize]) {
        let rendered = self.rendered;
        let (position, name) = {
            let column = &rendered.columns[column];
            (column.position, column.name.as_str())
        };
        let Some(source) = &self.table.columns[position] else {
            let failure = Some("the input was not loaded".to_owned());
            self.check(&format!("tokens of `{name}`"), failure);
            return;
        };
        let cells = released.iter().map(|&row| {
            let code = source.codes[rendered.order[row] as usize];
            (source.dictionary.value(code), rendered.cell(row, column))
        });
        // Each pair once: an identifier often has many rows.
        let pairs: BTreeSet<(Option<&str>, Option<&str>)> = cells.collect();
        let (mut misplaced, mut malformed) = (0u64, 0u64);
        let mut token_of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut owners: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (input, cell) in pairs {
            match (input, cell) {
                (None, None) => {}
                (Some(value), Some(token)) => {
                    malformed += u64::from(!is_token(token));
                    let value = canonical(value);
                    token_of.entry(value.clone()).or_default().insert(token);
                    owners.entry(token).or_default().insert(value);
                }
                _ => misplaced += 1,
            }
        }
        let torn = token_of.values().filter(|tokens| tokens.len() > 1).count();
        let shared = owners.values().filter(|values| values.len() > 1).count();
        let known = self.known();
        let open = owners.keys().filter(|token| known.contains(**token));
        let open = open.count();
        let failure = (misplaced + malformed > 0).then(|| {
            format!(
                "{malformed} cells are no tokens, {misplaced} stand where no identifier is, or lack where one is"
            )
        });
        self.check(&format!("tokens of `{name}`"), failure);
        let failure = (torn + shared > 0).then(|| {
            format!("{torn} identifiers have several tokens, {shared} tokens several identifiers")
        });
        self.check(&format!("one token per identifier of `{name}`"), failure);
        let failure = (open > 0)
            .then(|| format!("{open} cells are identifiers, or what subjects are known by"));
        self.check(&format!("no identifier in `{name}`"), failure);
    }

    /// Identifiers as they are and in their canonical form, and what subjects are known by.
    fn known(&self) -> BTreeSet<String> {
        let identifying = self.schema.with_role(Role::Identifying);
        let columns = identifying.filter_map(|position| self.table.columns[position].as_ref());
        let values = columns.flat_map(|column| column.dictionary.iter());
        let mut known: BTreeSet<String> = values
            .flat_map(|value| [value.to_owned(), canonical(value)])
            .collect();
        let subjects = self.table.subjects.iter();
        known.extend(subjects.flat_map(|column| column.dictionary.iter().map(str::to_owned)));
        known
    }
}
