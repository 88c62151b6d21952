//! Series: one policy of subtree generalization kept up to date over a growing table (algorithms.md C.7).
//!
//! **The refinement rule.** Every row has a history: the class in which it stood in each release, or none. All rows of
//! one history that was ever published form a *cohort*, and every cohort satisfies the privacy models by its own rows.
//! Whatever releases an observer combines, the candidates for a subject are then a union of cohorts, and the models
//! that a series takes are closed under union. So:
//!
//! - rows that arrive in a class are published together as one new cohort, or wait;
//! - classes may always be merged (the cohorts stay what they are);
//! - a class is split only if every cohort of it falls into parts that are empty or satisfy the models;
//! - if rows leave, what leaves and what stays of their cohort must each be empty or satisfy the models; otherwise the
//!   whole cohort is withheld from then on.
//!
//! Where subjects are guarded ([`Settings::guards_subjects`]), all rows of a subject have one history: the cohorts in
//! which they stand. All subjects of a cohort have the same one. New rows of some of them part them into those that got
//! one and those that did not, an erasure into those that lost one and the rest, and every part must satisfy the models
//! in every cohort of its history. Whoever knows all rows of a subject, and that its sensitive value never changes, then
//! still has a group that satisfies the models to choose from.
//!
//! An update reads and writes only what its rows touch, through an [`Index`]. The index holds *classes* (published rows,
//! waiting rows), the *postings* (attribute, cut node) to classes, and the *cells*: rows of one tuple of
//! quasi-identifying values within one cohort.

mod admit;
mod cohorts;
mod erase;
mod generalise;
mod journal;
mod judge;
pub mod m_invariance;
mod memory;
mod nodes;
mod rules;
mod score;
mod specialise;
#[cfg(test)]
mod tests;
mod update;

pub use judge::unsuitable;
pub use memory::{Calls, MemoryIndex};
pub use nodes::class_key;
pub use rules::{Rules, Score, Settings};
pub use update::update;

use std::collections::BTreeSet;
use std::sync::Arc;

/// A cell's text; `None` is missing.
pub type Value = Option<Arc<str>>;

/// Keyed token of a subject.
pub type Subject = [u8; 16];

/// A row's place in its dataset: stable whatever is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// Sequence of the batch, from 1.
    pub batch: u32,
    /// Row within the batch, from 0.
    pub row: u32,
}

/// A row as a series keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesRow {
    /// Where it came from.
    pub id: RowId,
    /// Keyed token of its subject, where one is declared.
    pub subject: Option<Subject>,
    /// Its quasi-identifying values, raw, in declared order.
    pub quasi: Arc<[Value]>,
    /// Its other releasable cells (sensitive and insensitive), in declared order.
    pub carried: Arc<[Value]>,
}

/// A node of a quasi-identifier's hierarchy: a JSON array of the labels from the node up to the top (`null` for
/// missing). It stays the same when later rows bring new values, and tells two nodes of one label apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeKey(pub Arc<str>);

/// The cut node of each quasi-identifier, in declared order: what all rows of a class share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassKey(pub Arc<[NodeKey]>);

/// Per quasi-identifier, the nodes whose children (or theirs) stand in the cut. A specialised node's parent is
/// specialised. Nodes that no row has reached yet are not: a value that is new below an unspecialised node belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CutSet {
    /// By quasi-identifier in declared order.
    pub specialised: Vec<BTreeSet<NodeKey>>,
}

/// Number of a class, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u64);

/// Number of a cohort, never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CohortId(pub u64);

/// What a series keeps of a subject of which it has published rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The cohorts in which it has rows, ascending: its history.
    pub cohorts: Vec<CohortId>,
    /// A published row of it was erased: nothing more is published of it.
    pub closed: bool,
    /// Somebody of the same history was erased, and the cohort withheld for it: whoever does not come back with the
    /// others would be told by that, and is not there any more to be judged.
    pub misses_someone: bool,
}

/// Where the rows of a cell stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// Published in the class, as part of a cohort.
    Published(CohortId),
    /// Never published; waits since it arrived.
    Waiting {
        /// The update that it arrived with, by the clock [`State::updates`].
        since: u32,
    },
    /// Published once and withheld for good: part of its cohort left.
    Withheld(CohortId),
}

/// A class of the series: rows of one [`ClassKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// Its number.
    pub id: ClassId,
    /// Its cut nodes.
    pub key: ClassKey,
    /// Published rows.
    pub rows: u64,
    /// Rows that wait.
    pub waiting: u64,
    /// Least `since` of those; `None` if none waits.
    pub waiting_since: Option<u32>,
}

/// Rows of one tuple of quasi-identifying values and one standing, within one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The class whose cut nodes cover the tuple.
    pub class: ClassId,
    /// Where its rows stand.
    pub standing: Standing,
    /// The tuple.
    pub quasi: Arc<[Value]>,
    /// The rows, in order of id; never empty in an index.
    pub rows: Vec<SeriesRow>,
}

/// What an update reads and writes. All calls come from one thread and see the writes before them. An implementation
/// may cache; with a cold cache every answer is the same.
pub trait Index {
    /// Why an answer cannot be had.
    type Error;

    /// Classes by key, in the order of the keys.
    ///
    /// # Errors
    /// The index's.
    fn classes(&mut self, keys: &[ClassKey]) -> Result<Vec<Option<Class>>, Self::Error>;

    /// Posting list: the classes whose cut node of a quasi-identifier is any of these, ascending by number.
    ///
    /// # Errors
    /// The index's.
    fn holding(&mut self, attribute: usize, nodes: &[NodeKey]) -> Result<Vec<Class>, Self::Error>;

    /// Classes whose [`Class::waiting_since`] lies in `oldest..=newest`, ascending by number.
    ///
    /// # Errors
    /// The index's.
    fn waiting(&mut self, oldest: u32, newest: u32) -> Result<Vec<Class>, Self::Error>;

    /// All cells of these classes, ascending by class, tuple and standing.
    ///
    /// # Errors
    /// The index's.
    fn cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Self::Error>;

    /// The waiting cells of these classes only, in the same order.
    ///
    /// # Errors
    /// The index's.
    fn waiting_cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Self::Error>;

    /// All cells of these tuples, in the same order.
    ///
    /// # Errors
    /// The index's.
    fn cells_at(&mut self, tuples: &[Arc<[Value]>]) -> Result<Vec<Cell>, Self::Error>;

    /// All cells of these cohorts, in the same order.
    ///
    /// # Errors
    /// The index's.
    fn cells_in(&mut self, cohorts: &[CohortId]) -> Result<Vec<Cell>, Self::Error>;

    /// Writes classes (with their postings), new or changed; a key belongs to one class at a time.
    ///
    /// # Errors
    /// The index's.
    fn put_classes(&mut self, classes: &[Class]) -> Result<(), Self::Error>;

    /// Removes classes and their postings; their cells must be gone or moved first.
    ///
    /// # Errors
    /// The index's.
    fn remove_classes(&mut self, classes: &[ClassId]) -> Result<(), Self::Error>;

    /// Writes cells; a cell without rows is removed. A cell is known by (tuple, standing).
    ///
    /// # Errors
    /// The index's.
    fn put_cells(&mut self, cells: &[Cell]) -> Result<(), Self::Error>;

    /// What is kept of subjects, in their order.
    ///
    /// # Errors
    /// The index's.
    fn members(&mut self, subjects: &[Subject]) -> Result<Vec<Option<Member>>, Self::Error>;

    /// Keeps it; it stays when all rows of a subject are erased.
    ///
    /// # Errors
    /// The index's.
    fn put_members(&mut self, members: &[(Subject, Member)]) -> Result<(), Self::Error>;

    /// Puts all cells of some classes into another, as they are: a merge costs no rewriting of rows.
    ///
    /// # Errors
    /// The index's.
    fn move_cells(&mut self, from: &[ClassId], to: ClassId) -> Result<(), Self::Error>;
}

/// Rows of a series, each in one of these: `received = released + pending + suppressed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Not erased.
    pub received: u64,
    /// In the last release.
    pub released: u64,
    /// Waiting, and not yet missing from more than the allowed number of releases.
    pub pending: u64,
    /// Waiting for longer (they are still released when that becomes safe), or withheld for good.
    pub suppressed: u64,
    /// Classes with released rows.
    pub classes: u64,
}

/// What is known of a cut node, so that an update need not visit all its classes. A node that a row has once reached
/// stays listed, with zeros, until the cut no longer goes through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeState {
    /// Classes that hold it and have released rows.
    pub classes: u64,
    /// Those of them that have fewer rows than `specialize_factor` times the least class size.
    pub small_classes: u64,
    /// A cohort stands in the way of specialising it. Cohorts never grow, so only a merge or an erasure ends that.
    pub blocked: bool,
}

/// What a series keeps between updates beside its index. Its size depends on the hierarchies, not on the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct State {
    /// Version of the last release; 0 before the first.
    pub version: u32,
    /// The cuts in force.
    pub cuts: CutSet,
    /// By quasi-identifier, the cut nodes that classes hold.
    pub nodes: Vec<std::collections::BTreeMap<NodeKey, NodeState>>,
    /// Number of the next class.
    pub next_class: u64,
    /// Number of the next cohort.
    pub next_cohort: u64,
    /// Updates that brought rows, with a release or without: the clock of waiting rows. Nothing can be published by an
    /// update that brings none, so no row has waited for it.
    pub updates: u32,
    /// Rows that wait, by the update that they arrived with; those that wait for longer than allowed under 0.
    pub waiting: std::collections::BTreeMap<u32, u64>,
    /// Figures after the last update.
    pub counts: Counts,
}

impl State {
    /// Rows that were published and are withheld for good.
    #[must_use]
    pub fn withheld(&self) -> u64 {
        let overdue = self.waiting.get(&0).copied().unwrap_or(0);
        self.counts.suppressed.saturating_sub(overdue)
    }

    /// The nodes of the cuts that released rows bear, by quasi-identifier: what only waiting rows bear, is told nowhere.
    #[must_use]
    pub fn released_nodes(&self) -> Vec<Vec<NodeKey>> {
        let released = |known: &std::collections::BTreeMap<NodeKey, NodeState>| {
            let held = known.iter().filter(|(_, node)| node.classes > 0);
            held.map(|(node, _)| node.clone()).collect()
        };
        self.nodes.iter().map(released).collect()
    }
}

/// What came since the last update.
#[derive(Debug, Clone, Default)]
pub struct Events {
    /// New rows.
    pub added: Vec<SeriesRow>,
    /// Rows that are erased, with their tuples.
    pub erased: Vec<(RowId, Arc<[Value]>)>,
}

/// A row that a release shows in a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The row.
    pub row: SeriesRow,
    /// Its class.
    pub class: ClassKey,
    /// Its cohort.
    pub cohort: CohortId,
}

/// What an update changes for whoever reads the releases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// Whether there is a new release (its version is the state's); otherwise nothing could be added or had to go.
    pub is_release: bool,
    /// Rows that are new in the release.
    pub added: Vec<Shown>,
    /// Rows that were there and stand in another class now, with the class before.
    pub moved: Vec<(ClassKey, Shown)>,
    /// Rows that were there and are there no more: erased or withheld.
    pub withdrawn: Vec<RowId>,
    /// The same rows as they were shown before the update, for the independent check.
    pub left: Vec<Shown>,
    /// Of the cohorts of those rows, the rows that stay shown, as they were before the update, for the same check.
    pub stayed: Vec<Shown>,
    /// Nodes put in the place of what stood below them, and nodes replaced by their children, by quasi-identifier, in
    /// the order of the steps: first all of these, then all of the others.
    pub generalised: Vec<(usize, NodeKey)>,
    /// See `generalised`.
    pub specialised: Vec<(usize, NodeKey)>,
}
