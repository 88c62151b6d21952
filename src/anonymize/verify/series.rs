//! The independent check of a series: of one step before it is published, and of all releases together.
//!
//! Shares nothing with the series but the types of its step: groups are formed from texts, and the models are judged from
//! their definitions. A step shows what it adds, moves and withdraws; that a row stands in no smaller group after all
//! releases together can only be seen from the whole history, which [`audit`] reads.

use std::collections::{BTreeMap, BTreeSet};

use super::VerificationFailure;
use super::models;
use crate::anonymize::series::{ClassKey, Counts, RowId, SeriesRow, Shown, Step, Value};
use crate::anonymize::table::Schema;
use crate::declaration::{MissingSensitive, PrivacyModel, Role};

/// A row's texts of the quasi-identifiers in one release, in declared order; missing is `None`.
pub type Labels = Vec<Option<String>>;

/// A row and what every release showed of it.
#[derive(Debug, Clone)]
pub struct History<'a> {
    /// The row.
    pub row: &'a SeriesRow,
    /// By release, oldest first, its texts; `None` where it is not in the release.
    pub shown: Vec<Option<Labels>>,
}

/// What an audit saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Audit {
    /// Releases.
    pub releases: u64,
    /// Classes of all releases.
    pub classes: u64,
    /// Groups of rows of one history.
    pub histories: u64,
    /// The smallest of them, in subjects where declared; 0 if there is none.
    pub k: u64,
    /// Groups of subjects whose rows have the same histories; 0 where no row has a subject.
    pub subject_histories: u64,
    /// The smallest of them; 0 if there is none.
    pub subjects: u64,
}

/// Collects what failed.
struct Checks<'a> {
    schema: &'a Schema,
    privacy: &'a [PrivacyModel],
    names: Vec<String>,
    failures: Vec<String>,
}

impl<'a> Checks<'a> {
    fn new(schema: &'a Schema, privacy: &'a [PrivacyModel]) -> Self {
        Self {
            schema,
            privacy,
            names: Vec::new(),
            failures: Vec::new(),
        }
    }

    fn check(&mut self, name: &str, failing: usize, what: &str) {
        self.names.push(name.to_owned());
        if failing > 0 {
            self.failures.push(format!("{name}: {failing} {what}"));
        }
    }

    fn finish(self) -> Result<Vec<String>, VerificationFailure> {
        if self.failures.is_empty() {
            Ok(self.names)
        } else {
            Err(VerificationFailure {
                failures: self.failures,
            })
        }
    }

    /// Groups rows by key and counts the groups that fail a model.
    fn check_groups<'r, K: Ord>(
        &mut self,
        name: &str,
        rows: impl Iterator<Item = (K, &'r SeriesRow)>,
    ) {
        let mut groups: BTreeMap<K, Vec<&SeriesRow>> = BTreeMap::new();
        for (key, row) in rows {
            groups.entry(key).or_default().push(row);
        }
        let failing = groups.values().filter(|group| !self.holds(group)).count();
        self.check(name, failing, "groups do not meet the models");
    }

    fn holds(&self, group: &[&SeriesRow]) -> bool {
        self.privacy.iter().all(|model| self.meets(model, group))
    }

    fn meets(&self, model: &PrivacyModel, group: &[&SeriesRow]) -> bool {
        let size = subjects(group);
        let counts = || self.counts(model.attribute(), group);
        let diverse = |missing: MissingSensitive, meets: &dyn Fn(&[u64]) -> bool| {
            counts().is_some_and(|counts| {
                let held = counts.iter().filter(|(value, _)| value.is_some());
                let held: Vec<u64> = held.map(|(_, &count)| count).collect();
                let exempt = missing == MissingSensitive::Exempt && held.is_empty();
                exempt || meets(&held)
            })
        };
        match model {
            PrivacyModel::KAnonymity { k } => size >= *k,
            PrivacyModel::MaximumRisk { max } => models::within(1.0 / max.to_f64(), size as f64),
            PrivacyModel::DistinctLDiversity { l, missing, .. } => {
                diverse(*missing, &|counts| counts.len() as u64 >= *l)
            }
            PrivacyModel::EntropyLDiversity { l, missing, .. } => diverse(*missing, &|counts| {
                !counts.is_empty() && models::within(l.log2(), models::entropy(counts))
            }),
            PrivacyModel::RecursiveClDiversity { c, l, missing, .. } => {
                diverse(*missing, &|counts| {
                    models::is_recursively_diverse(counts, *c, *l)
                })
            }
            PrivacyModel::AlphaK {
                alpha, k, values, ..
            } => counts().is_some_and(|counts| {
                let is_protected = |value: Option<&str>| {
                    value.is_some_and(|value| {
                        let named = values.as_ref();
                        named.is_none_or(|named| named.iter().any(|one| one == value))
                    })
                };
                let bearers = counts.iter().filter(|(value, _)| is_protected(**value));
                let most = bearers.map(|(_, &count)| count).max().unwrap_or(0);
                size >= *k && models::within(most as f64 / size as f64, *alpha)
            }),
            // No model of a series: nothing meets it.
            PrivacyModel::TCloseness { .. }
            | PrivacyModel::DeltaDisclosure { .. }
            | PrivacyModel::BetaLikeness { .. }
            | PrivacyModel::KMap { .. }
            | PrivacyModel::DeltaPresence { .. }
            | PrivacyModel::AverageRisk { .. } => false,
        }
    }

    /// By value of a sensitive attribute, the subjects that bear it.
    fn counts<'r>(
        &self,
        attribute: Option<&str>,
        group: &[&'r SeriesRow],
    ) -> Option<BTreeMap<Option<&'r str>, u64>> {
        let attribute = attribute?;
        let carried = self
            .schema
            .attributes()
            .iter()
            .filter(|one| matches!(one.declaration.role, Role::Sensitive | Role::Insensitive));
        let place = carried
            .map(|one| one.declaration.name.as_str())
            .position(|name| name == attribute)?;
        let value = |row: &&'r SeriesRow| row.carried[place].as_deref();
        let pairs: BTreeSet<_> = group.iter().map(|row| (value(row), bearer(row))).collect();
        let mut counts = BTreeMap::new();
        for (value, _) in pairs {
            *counts.entry(value).or_insert(0) += 1;
        }
        Some(counts)
    }

    /// Whether the labels of a class are, attribute by attribute, the end of the way from a row's value to the top.
    fn is_ancestor(&self, row: &SeriesRow, class: &ClassKey) -> bool {
        let positions = self.schema.quasi_identifiers();
        let attributes = positions
            .iter()
            .map(|&place| &self.schema.attributes()[place]);
        class.0.len() == positions.len()
            && row.quasi.len() == positions.len()
            && attributes.zip(class.0.iter()).zip(row.quasi.iter()).all(
                |((attribute, node), value): (_, &Value)| {
                    let path = attribute.hierarchy.as_ref();
                    let path = path.and_then(|one| one.path(value.as_deref()).ok());
                    let labels = serde_json::from_str::<Labels>(&node.0).ok();
                    match (path, labels) {
                        (Some(path), Some(labels)) => !labels.is_empty() && path.ends_with(&labels),
                        _ => false,
                    }
                },
            )
    }
}

/// Who a row counts as: its subject, or itself.
fn bearer(row: &SeriesRow) -> (Option<[u8; 16]>, Option<RowId>) {
    (row.subject, row.subject.is_none().then_some(row.id))
}

fn subjects(group: &[&SeriesRow]) -> u64 {
    let bearers: BTreeSet<_> = group.iter().map(|row| bearer(row)).collect();
    bearers.len() as u64
}

/// What a release shows of a class: the first label of each node.
fn texts(class: &ClassKey) -> Labels {
    let label = |text: &str| {
        let labels = serde_json::from_str::<Labels>(text).unwrap_or_default();
        labels.into_iter().next().flatten()
    };
    class.0.iter().map(|node| label(&node.0)).collect()
}

/// Checks a step before it is published; gives the names of the checks. Cost: that of sorting the step's rows.
///
/// Groups of added rows, of moved rows (by texts before and after), of rows that left and of what stays of their cohorts
/// meet the models, by text and by cohort; labels are ancestors of their inputs; the counts add up.
///
/// # Errors
/// Every check that failed; names checks and counts only.
pub fn check_step(
    schema: &Schema,
    privacy: &[PrivacyModel],
    step: &Step,
    before: &Counts,
    after: &Counts,
) -> Result<Vec<String>, VerificationFailure> {
    let mut checks = Checks::new(schema, privacy);
    let moved = || step.moved.iter().map(|(_, shown)| shown);
    let shown: Vec<&Shown> = step.added.iter().chain(moved()).collect();
    let wrong = shown
        .iter()
        .filter(|one| !checks.is_ancestor(&one.row, &one.class));
    let wrong = wrong.count();
    checks.check(
        "labels",
        wrong,
        "rows stand under a node that is not theirs",
    );
    let by_text = |one: &'_ Shown| texts(&one.class);
    let added = step.added.iter();
    checks.check_groups(
        "added rows by texts",
        added.map(|one| (by_text(one), &one.row)),
    );
    let moves = step.moved.iter();
    checks.check_groups(
        "moved rows by texts",
        moves.map(|(from, one)| ((texts(from), by_text(one)), &one.row)),
    );
    let left = step.left.iter();
    checks.check_groups(
        "rows that left by texts",
        left.map(|one| (by_text(one), &one.row)),
    );
    let lists = [
        ("added rows by cohort", step.added.iter().collect()),
        ("moved rows by cohort", moved().collect()),
        ("rows that left by cohort", step.left.iter().collect()),
        (
            "rows that stay of their cohorts",
            step.stayed.iter().collect::<Vec<_>>(),
        ),
    ];
    for (name, rows) in lists {
        let rows = rows.into_iter();
        checks.check_groups(name, rows.map(|one| ((one.cohort, &one.class), &one.row)));
    }
    let ids = shown
        .iter()
        .map(|one| one.row.id)
        .chain(step.withdrawn.iter().copied());
    let distinct: BTreeSet<RowId> = ids.clone().collect();
    checks.check(
        "each row once",
        ids.count() - distinct.len(),
        "rows stand twice in the step",
    );
    let left = step.left.iter().map(|one| one.row.id);
    let unknown = usize::from(!left.eq(step.withdrawn.iter().copied()));
    checks.check("withdrawn rows", unknown, "lists of withdrawn rows differ");
    let adds_up = after.received == after.released + after.pending + after.suppressed
        && after.released + step.withdrawn.len() as u64
            == before.released + step.added.len() as u64;
    checks.check(
        "counts",
        usize::from(!adds_up),
        "sums of rows do not add up",
    );
    let has_change = !(shown.is_empty() && step.withdrawn.is_empty());
    let wrong = usize::from(has_change != step.is_release);
    checks.check("a release if anything changed", wrong, "flags are wrong");
    checks.finish()
}

/// Checks all releases of a series together: every class of every release, and every group of rows that all releases
/// show in the same classes, meets the models. Cost: that of sorting all rows once per release.
///
/// # Errors
/// Every check that failed; names checks and counts only.
pub fn audit(
    schema: &Schema,
    privacy: &[PrivacyModel],
    rows: &[History<'_>],
) -> Result<Audit, VerificationFailure> {
    let mut checks = Checks::new(schema, privacy);
    let releases = rows.iter().map(|one| one.shown.len()).max().unwrap_or(0);
    let short = rows
        .iter()
        .filter(|one| one.shown.len() != releases)
        .count();
    checks.check("histories", short, "rows do not tell of every release");
    let mut audit = Audit {
        releases: releases as u64,
        ..Audit::default()
    };
    for release in 0..releases {
        let in_it = rows.iter().filter_map(|one| {
            let texts = one.shown.get(release)?.as_ref()?;
            Some((texts, one.row))
        });
        let classes: BTreeSet<&Labels> = in_it.clone().map(|(texts, _)| texts).collect();
        audit.classes += classes.len() as u64;
        checks.check_groups(&format!("release {}", release + 1), in_it);
    }
    let ever = rows
        .iter()
        .filter(|one| one.shown.iter().any(Option::is_some));
    let mut groups: BTreeMap<&[Option<Labels>], Vec<&SeriesRow>> = BTreeMap::new();
    for one in ever.clone() {
        groups.entry(&one.shown).or_default().push(one.row);
    }
    audit.histories = groups.len() as u64;
    audit.k = groups
        .values()
        .map(|group| subjects(group))
        .min()
        .unwrap_or(0);
    checks.check_groups(
        "all releases together",
        ever.clone().map(|one| (one.shown.as_slice(), one.row)),
    );
    checks.finish().map(|_| audit)
}

/// Checks the releases of a series by subject: subjects all of whose rows have the same histories are one group, and
/// the rows of a group with one history meet the models. A row without a subject is a subject by itself. Cost: that of
/// sorting all rows twice.
///
/// # Errors
/// As [`audit`].
pub fn audit_subjects(
    schema: &Schema,
    privacy: &[PrivacyModel],
    rows: &[History<'_>],
) -> Result<Audit, VerificationFailure> {
    let mut checks = Checks::new(schema, privacy);
    let mut of_subject: BTreeMap<_, BTreeSet<&[Option<Labels>]>> = BTreeMap::new();
    let ever = rows
        .iter()
        .filter(|one| one.shown.iter().any(Option::is_some));
    for one in ever.clone() {
        let histories = of_subject.entry(bearer(one.row)).or_default();
        histories.insert(&one.shown);
    }
    let groups = ever.map(|one| ((&of_subject[&bearer(one.row)], &one.shown), one.row));
    checks.check_groups("all releases together by subject", groups);
    let mut sizes: BTreeMap<&BTreeSet<&[Option<Labels>]>, u64> = BTreeMap::new();
    for histories in of_subject.values() {
        *sizes.entry(histories).or_insert(0) += 1;
    }
    let audit = Audit {
        subject_histories: sizes.len() as u64,
        subjects: sizes.values().copied().min().unwrap_or(0),
        ..Audit::default()
    };
    checks.finish().map(|_| audit)
}
