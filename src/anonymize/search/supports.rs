//! Class tables kept to start from: the prefixes of policies.
//!
//! Attributes stand in a fixed order, those with most levels first, of those the ones with most values. The prefix of
//! length d of a policy keeps its levels of the first d attributes and generalises the others not at all, so its classes
//! are finer than the policy's, and it is shared by all policies that begin alike. A prefix is worth its own table when it is asked for often enough; it
//! is merged from the longest shorter one at hand. Tables count against a budget of bytes; the least recently used go
//! first. Which tables are at hand changes the cost of a policy, never its classes.

use std::cmp::Reverse;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::sizes::{SizeColumns, SizeScratch, SizeTable};
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::policy::Policy;

/// A prefix gets a table when it is asked for so often: earlier, tables cost more than they save (measured on adult,
/// fars and diabetes130).
const ASKED: u32 = 4;

/// Something of each thread of the pool, kept between its tasks. A task that holds its own must start no other.
#[derive(Debug)]
pub(super) struct PerThread<T>(Vec<Mutex<T>>);

impl<T> PerThread<T> {
    pub(super) fn new(make: impl Fn() -> T) -> Self {
        let threads = rayon::current_num_threads().max(1);
        Self((0..threads).map(|_| Mutex::new(make())).collect())
    }

    pub(super) fn get(&self) -> MutexGuard<'_, T> {
        let thread = rayon::current_thread_index().unwrap_or(0);
        let own = self.0[thread % self.0.len()].lock();
        own.unwrap_or_else(PoisonError::into_inner)
    }
}

/// How tables are merged from finer ones.
pub(super) trait Merging: Sync {
    /// The classes of a policy.
    type Table: Send + Sync;
    /// Buffers of one thread.
    type Scratch: Default + Send;
    /// The cells.
    fn bottom(&self) -> &Self::Table;
    /// The classes of a policy merged from finer ones; `None` if they cannot be held in this form.
    fn merge(
        &self,
        finer: &Self::Table,
        levels: &[u32],
        scratch: &mut Self::Scratch,
    ) -> Option<Self::Table>;
    /// Number of classes and bytes held.
    fn extent(table: &Self::Table) -> (usize, usize);
}

impl Merging for &Cells {
    type Table = ClassTable;
    type Scratch = Scratch;
    fn bottom(&self) -> &ClassTable {
        &self.bottom
    }
    fn merge(
        &self,
        finer: &ClassTable,
        levels: &[u32],
        scratch: &mut Scratch,
    ) -> Option<ClassTable> {
        Some(finer.roll_up(self, levels, scratch))
    }
    fn extent(table: &ClassTable) -> (usize, usize) {
        (table.len(), table.bytes())
    }
}

impl Merging for SizeColumns<'_> {
    type Table = SizeTable;
    type Scratch = SizeScratch;
    fn bottom(&self) -> &SizeTable {
        self.bottom()
    }
    fn merge(
        &self,
        finer: &SizeTable,
        levels: &[u32],
        scratch: &mut SizeScratch,
    ) -> Option<SizeTable> {
        self.merge(finer, levels, scratch)
    }
    fn extent(table: &SizeTable) -> (usize, usize) {
        (table.len(), table.bytes())
    }
}

/// The tables of prefixes.
#[derive(Debug)]
pub(super) struct Supports<M: Merging> {
    pub(super) merging: M,
    /// Attributes, those with most levels first.
    order: Vec<usize>,
    prefixes: FxHashMap<Policy, Prefix<M::Table>>,
    bytes: usize,
    budget: usize,
    round: u64,
    scratches: PerThread<M::Scratch>,
    /// Classes read to make tables.
    pub(super) visits: u64,
    /// Most bytes of tables kept from one round to the next.
    pub(super) most_bytes: usize,
}

#[derive(Debug)]
struct Prefix<T> {
    /// How often it was asked for.
    asked: u32,
    last_used: u64,
    table: Option<T>,
}

impl<T> Default for Prefix<T> {
    fn default() -> Self {
        Self {
            asked: 0,
            last_used: 0,
            table: None,
        }
    }
}

impl<M: Merging> Supports<M> {
    /// No table yet; at most `budget` bytes of them.
    pub(super) fn new(merging: M, cells: &Cells, budget: usize) -> Self {
        let mut order: Vec<usize> = (0..cells.quasi_identifiers.len()).collect();
        order.sort_by_key(|&attribute| {
            let attribute_of = &cells.quasi_identifiers[attribute];
            let nodes = attribute_of.from_bottom[0].len();
            (Reverse((attribute_of.height(), nodes)), attribute)
        });
        Self {
            merging,
            order,
            prefixes: FxHashMap::default(),
            bytes: 0,
            budget,
            round: 0,
            scratches: PerThread::new(M::Scratch::default),
            visits: 0,
            most_bytes: 0,
        }
    }

    /// Makes the prefixes that the given policies share among themselves or with earlier ones.
    pub(super) fn prepare(&mut self, policies: &[Policy]) {
        if self.budget == 0 {
            return;
        }
        self.round += 1;
        for length in 1..self.order.len() {
            let mut due: Vec<Policy> = Vec::new();
            for policy in policies {
                let Some(prefix) = self.prefix(policy, length) else {
                    continue;
                };
                let entry = self.prefixes.entry(prefix.clone()).or_default();
                entry.last_used = self.round;
                entry.asked += 1;
                if entry.table.is_none() && entry.asked >= ASKED && !due.contains(&prefix) {
                    due.push(prefix);
                }
            }
            // No table has more classes than there are cells: what is made at a time fits by itself.
            due.truncate(self.budget / M::extent(self.merging.bottom()).1.max(1));
            let made: Vec<(usize, Option<M::Table>)> = due
                .par_iter()
                .map(|prefix| {
                    let finer = self.finest(prefix);
                    let mut scratch = self.scratches.get();
                    let table = self.merging.merge(finer, prefix.levels(), &mut scratch);
                    (M::extent(finer).0, table)
                })
                .collect();
            for (prefix, (visits, table)) in due.into_iter().zip(made) {
                self.visits += visits as u64;
                self.bytes += table.as_ref().map_or(0, |table| M::extent(table).1);
                if let Some(entry) = self.prefixes.get_mut(&prefix) {
                    entry.table = table;
                }
            }
            self.shrink();
        }
    }

    /// The table with fewest classes at hand from which the policy's classes can be merged.
    pub(super) fn finest(&self, policy: &Policy) -> &M::Table {
        let longest = (1..self.order.len()).rev().find_map(|length| {
            let prefix = self.prefix(policy, length)?;
            self.prefixes.get(&prefix)?.table.as_ref()
        });
        longest.unwrap_or_else(|| self.merging.bottom())
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
            self.most_bytes = self.most_bytes.max(self.bytes);
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
                self.bytes -= M::extent(&table).1;
            }
        }
        self.most_bytes = self.most_bytes.max(self.bytes);
    }
}
