//! Class tables kept to start from: the prefixes of policies.
//!
//! Attributes stand in a fixed order, those with most values first. The prefix of length d of a policy keeps its levels
//! of the first d attributes and generalises the others not at all, so its classes are finer than the policy's, and it
//! is shared by all policies that begin alike. A prefix is worth its own table when it is asked for a second time; it
//! is merged from the longest shorter one at hand. Tables count against a budget of bytes; the least recently used go
//! first. Which tables are at hand changes the cost of a policy, never its classes.

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::policy::Policy;

/// The tables of prefixes.
#[derive(Debug)]
pub(super) struct Supports<'a> {
    cells: &'a Cells,
    /// Attributes, those with most values first.
    order: Vec<usize>,
    prefixes: FxHashMap<Policy, Prefix>,
    bytes: usize,
    budget: usize,
    round: u64,
}

#[derive(Debug, Default)]
struct Prefix {
    /// Asked for before.
    wanted: bool,
    last_used: u64,
    table: Option<ClassTable>,
}

impl<'a> Supports<'a> {
    /// No table yet; at most `budget` bytes of them.
    pub(super) fn new(cells: &'a Cells, budget: usize) -> Self {
        let mut order: Vec<usize> = (0..cells.quasi_identifiers.len()).collect();
        order.sort_by_key(|&attribute| {
            let nodes = cells.quasi_identifiers[attribute].from_bottom[0].len();
            (std::cmp::Reverse(nodes), attribute)
        });
        Self {
            cells,
            order,
            prefixes: FxHashMap::default(),
            bytes: 0,
            budget,
            round: 0,
        }
    }

    /// Makes the prefixes that the given policies share among themselves or with earlier ones.
    pub(super) fn prepare(&mut self, policies: &[Policy]) {
        self.round += 1;
        for length in 1..self.order.len() {
            let mut due: Vec<Policy> = Vec::new();
            for policy in policies {
                let Some(prefix) = self.prefix(policy, length) else {
                    continue;
                };
                let entry = self.prefixes.entry(prefix.clone()).or_default();
                entry.last_used = self.round;
                if entry.table.is_none() && entry.wanted && !due.contains(&prefix) {
                    due.push(prefix);
                } else {
                    entry.wanted = true;
                }
            }
            let start = Scratch::default;
            let made: Vec<ClassTable> = due
                .par_iter()
                .map_init(start, |scratch, prefix| {
                    let finer = self.finest(prefix);
                    finer.roll_up(self.cells, prefix.levels(), scratch)
                })
                .collect();
            for (prefix, table) in due.into_iter().zip(made) {
                self.bytes += table.bytes();
                if let Some(entry) = self.prefixes.get_mut(&prefix) {
                    entry.table = Some(table);
                }
            }
        }
        self.shrink();
    }

    /// The table with fewest classes at hand from which the policy's classes can be merged.
    pub(super) fn finest(&self, policy: &Policy) -> &ClassTable {
        let longest = (1..self.order.len()).rev().find_map(|length| {
            let prefix = self.prefix(policy, length)?;
            self.prefixes.get(&prefix)?.table.as_ref()
        });
        longest.unwrap_or(&self.cells.bottom)
    }

    /// The prefix of a length; `None` if it is the same as a shorter one.
    fn prefix(&self, policy: &Policy, length: usize) -> Option<Policy> {
        let last = self.order[length - 1];
        if policy.levels()[last] == 0 {
            return None;
        }
        let mut levels = vec![0; self.order.len()];
        for &attribute in &self.order[..length] {
            levels[attribute] = policy.levels()[attribute];
        }
        Some(Policy::new(levels))
    }

    /// Drops the least recently used tables beyond the budget.
    fn shrink(&mut self) {
        if self.bytes <= self.budget {
            return;
        }
        let mut held: Vec<(u64, Policy)> = self
            .prefixes
            .iter()
            .filter(|(_, entry)| entry.table.is_some())
            .map(|(prefix, entry)| (entry.last_used, prefix.clone()))
            .collect();
        held.sort_unstable();
        for (_, prefix) in held {
            if self.bytes <= self.budget / 2 {
                break;
            }
            if let Some(table) = self.prefixes.remove(&prefix).and_then(|entry| entry.table) {
                self.bytes -= table.bytes();
            }
        }
    }
}
