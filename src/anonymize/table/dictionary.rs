//! Values of a column, numbered from 1 in order of first appearance; 0 is missing.

use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Maps the values of a column to codes and back.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    values: Vec<Arc<str>>,
    codes: FxHashMap<Arc<str>, u32>,
}

impl Dictionary {
    /// Code of `value`, giving it the next one if it is new.
    pub fn insert(&mut self, value: &str) -> u32 {
        if let Some(&code) = self.codes.get(value) {
            return code;
        }
        let value: Arc<str> = Arc::from(value);
        self.values.push(Arc::clone(&value));
        let code = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.codes.insert(value, code);
        code
    }

    /// Code of `value`, if it occurs.
    #[must_use]
    pub fn code(&self, value: &str) -> Option<u32> {
        self.codes.get(value).copied()
    }

    /// The value of `code`; `None` for [`super::MISSING`].
    #[must_use]
    pub fn value(&self, code: u32) -> Option<&str> {
        (code as usize)
            .checked_sub(1)
            .map(|index| &*self.values[index])
    }

    /// Number of distinct values, without missing.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values in order of code, from code 1.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }
}
