//! m-invariance: another way to keep releases apart, which publishes every balanced row at once and never waits for a
//! cohort, at the price of counterfeits.
//!
//! Every class holds at least m rows, no two with the same sensitive value. The *signature* of a subject is the set of
//! values of its class; it is the same in all releases from the first that shows the subject to the last. Whoever
//! intersects the classes of a subject then learns nothing beyond its signature. Where a value of a signature has no
//! bearer left, a counterfeit row bears it, and the class says how many it has.
//!
//! Source: X. Xiao and Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", 2007,
//! section 5: division of survivors by signature, balancing, assignment of newcomers, split.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The sensitive values of a class.
pub type Signature = BTreeSet<Arc<str>>;

/// One subject with its one row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Rows are put together in this order: the place of their quasi-identifiers, those near each other first.
    pub place: Vec<u64>,
    /// Who.
    pub id: u64,
    /// Its sensitive value.
    pub value: Arc<str>,
}

/// A class of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantClass {
    /// Subjects, each with another value.
    pub subjects: Vec<Subject>,
    /// Values of the signature that no subject of the class bears: its counterfeit rows.
    pub counterfeits: Vec<Arc<str>>,
}

impl InvariantClass {
    /// All its values.
    #[must_use]
    pub fn signature(&self) -> Signature {
        let values = self.subjects.iter().map(|subject| &subject.value);
        values.chain(&self.counterfeits).cloned().collect()
    }
}

/// A release, and who is left out of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvariantRelease {
    /// Its classes.
    pub classes: Vec<InvariantClass>,
    /// Newcomers that cannot be placed yet: one value is too frequent among them, or they are fewer than m.
    pub waiting: Vec<Subject>,
}

/// The next release: survivors with their signatures, and newcomers (those that waited with them).
///
/// A survivor's signature must hold its value. Newcomers first take the places of counterfeits; the others go to new
/// classes of m values as long as no value exceeds a share of 1/m of them, and the rest waits. Nothing depends on the
/// order of the input. Cost: one sort, and newcomers times the logarithm of the number of values.
#[must_use]
pub fn republish(
    m: usize,
    survivors: &[(Subject, Signature)],
    newcomers: &[Subject],
) -> InvariantRelease {
    let m = m.max(1);
    let mut buckets: BTreeMap<&Signature, BTreeMap<&Arc<str>, Vec<Subject>>> = BTreeMap::new();
    for (subject, signature) in survivors {
        let bucket = buckets.entry(signature).or_default();
        let value = signature.get(&subject.value).unwrap_or(&subject.value);
        bucket.entry(value).or_default().push(subject.clone());
    }
    let mut fresh = Newcomers::new(newcomers);
    let mut release = InvariantRelease::default();
    for (signature, mut bucket) in buckets {
        let classes = bucket.values().map(Vec::len).max().unwrap_or(0);
        for value in signature {
            let bearers = bucket.entry(value).or_default();
            while bearers.len() < classes {
                match fresh.take_for(value, m) {
                    Some(newcomer) => bearers.push(newcomer),
                    None => break,
                }
            }
            bearers.sort();
        }
        release.classes.extend(split(classes, bucket));
    }
    let mut classes = Vec::new();
    while let Some(class) = fresh.class_of(m) {
        classes.push(class);
    }
    // What is left has fewer than m values: each goes to a new class that lacks its value.
    for newcomer in fresh.rest() {
        let lacks = |class: &&mut Vec<Subject>| class.iter().all(|one| one.value != newcomer.value);
        match classes.iter_mut().find(lacks) {
            Some(class) => class.push(newcomer),
            None => release.waiting.push(newcomer),
        }
    }
    release
        .classes
        .extend(classes.into_iter().map(|subjects| InvariantClass {
            subjects,
            counterfeits: Vec::new(),
        }));
    release
}

/// Classes of one bearer of each value, near ones together; a counterfeit where there are too few.
fn split(
    classes: usize,
    bucket: BTreeMap<&Arc<str>, Vec<Subject>>,
) -> impl Iterator<Item = InvariantClass> {
    let empty = InvariantClass {
        subjects: Vec::new(),
        counterfeits: Vec::new(),
    };
    let mut found = vec![empty; classes];
    for (value, bearers) in bucket {
        let mut bearers = bearers.into_iter();
        for class in &mut found {
            match bearers.next() {
                Some(subject) => class.subjects.push(subject),
                None => class.counterfeits.push(Arc::clone(value)),
            }
        }
    }
    found.into_iter()
}

/// Newcomers by value, the next one of each last.
struct Newcomers {
    by_value: BTreeMap<Arc<str>, Vec<Subject>>,
    rows: usize,
}

impl Newcomers {
    fn new(newcomers: &[Subject]) -> Self {
        let mut by_value: BTreeMap<Arc<str>, Vec<Subject>> = BTreeMap::new();
        for subject in newcomers {
            let bearers = by_value.entry(Arc::clone(&subject.value)).or_default();
            bearers.push(subject.clone());
        }
        for bearers in by_value.values_mut() {
            bearers.sort_by(|left, right| right.cmp(left));
        }
        Self {
            by_value,
            rows: newcomers.len(),
        }
    }

    fn most(&self) -> usize {
        self.by_value.values().map(Vec::len).max().unwrap_or(0)
    }

    fn pop(&mut self, value: &Arc<str>) -> Option<Subject> {
        let bearers = self.by_value.get_mut(value)?;
        let subject = bearers.pop();
        if bearers.is_empty() {
            self.by_value.remove(value);
        }
        self.rows -= usize::from(subject.is_some());
        subject
    }

    /// A newcomer of a value in the place of a counterfeit, unless the others could then no longer be placed though
    /// they could before.
    fn take_for(&mut self, value: &Arc<str>, m: usize) -> Option<Subject> {
        let bearers = self.by_value.get(value)?.len();
        let could = self.most() * m <= self.rows;
        let others = self.by_value.iter().filter(|(other, _)| *other != value);
        let most = others.map(|(_, bearers)| bearers.len()).max().unwrap_or(0);
        let can = most.max(bearers - 1) * m < self.rows;
        if could && !can {
            return None;
        }
        self.pop(value)
    }

    /// One newcomer of each of the m most frequent values; ties go to the lower value.
    fn class_of(&mut self, m: usize) -> Option<Vec<Subject>> {
        let mut values: Vec<(usize, Arc<str>)> = self
            .by_value
            .iter()
            .map(|(value, bearers)| (bearers.len(), Arc::clone(value)))
            .collect();
        if values.len() < m {
            return None;
        }
        values.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
        let class = values[..m].iter().filter_map(|(_, value)| self.pop(value));
        Some(class.collect())
    }

    fn rest(self) -> Vec<Subject> {
        let mut rest: Vec<Subject> = self.by_value.into_values().flatten().collect();
        rest.sort();
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn subject(id: u64, value: usize) -> Subject {
        Subject {
            place: vec![id % 5],
            id,
            value: Arc::from(["flu", "asthma", "hiv", "copd", "gastritis"][value]),
        }
    }

    fn check(m: usize, release: &InvariantRelease, known: &BTreeMap<u64, Signature>) {
        for class in &release.classes {
            let rows = class.subjects.len() + class.counterfeits.len();
            let signature = class.signature();
            assert!(rows >= m && signature.len() == rows, "{class:?}");
            assert!(!class.subjects.is_empty());
            for subject in &class.subjects {
                assert!(
                    known
                        .get(&subject.id)
                        .is_none_or(|before| *before == signature)
                );
            }
        }
    }

    #[test]
    fn a_place_that_becomes_free_is_taken_by_a_newcomer_else_by_a_counterfeit() {
        let first = republish(2, &[], &[subject(1, 0), subject(2, 1), subject(3, 0)]);
        assert_eq!(first.classes.len(), 1);
        assert_eq!(first.waiting, [subject(3, 0)]);
        let signature = first.classes[0].signature();
        // The one with asthma leaves; nobody else has it.
        let survivors = [(subject(1, 0), signature.clone())];
        let second = republish(2, &survivors, &[subject(3, 0)]);
        assert_eq!(second.classes[0].counterfeits, [Arc::from("asthma")]);
        assert_eq!(second.waiting, [subject(3, 0)]);
        let third = republish(2, &survivors, &[subject(3, 0), subject(4, 1)]);
        assert_eq!(
            third.classes.len(),
            1 + usize::from(third.waiting.is_empty())
        );
        let shown: usize = third.classes.iter().map(|class| class.subjects.len()).sum();
        assert_eq!(shown + third.waiting.len(), 3);
    }

    proptest! {
        // Subjects come in one of four releases and stay for some.
        #[test]
        fn a_signature_never_changes_and_all_values_of_a_class_differ(
            m in 1_usize..4,
            subjects in prop::collection::vec((0_usize..4, 1_usize..5, 0_usize..5), 0..30),
        ) {
            let mut known: BTreeMap<u64, Signature> = BTreeMap::new();
            for release in 0..4 {
                let there = (0_u64..).zip(&subjects);
                let there = there.filter(|(_, (from, stay, _))| (*from..from + stay).contains(&release));
                let there: Vec<Subject> = there.map(|(id, (_, _, value))| subject(id, *value)).collect();
                let (old, new): (Vec<Subject>, Vec<Subject>) =
                    there.iter().cloned().partition(|subject| known.contains_key(&subject.id));
                let old: Vec<_> = old.into_iter().map(|one| (one.clone(), known[&one.id].clone())).collect();
                let found = republish(m, &old, &new);
                let turned: Vec<_> = old.iter().rev().cloned().collect();
                let reversed: Vec<_> = new.iter().rev().cloned().collect();
                prop_assert_eq!(&found, &republish(m, &turned, &reversed));
                check(m, &found, &known);
                let shown: Vec<&Subject> = found.classes.iter().flat_map(|class| &class.subjects).collect();
                let mut all: Vec<u64> = shown.iter().map(|subject| subject.id).collect();
                prop_assert!(old.iter().all(|(subject, _)| all.contains(&subject.id)));
                all.extend(found.waiting.iter().map(|subject| subject.id));
                all.sort_unstable();
                prop_assert_eq!(all, there.iter().map(|subject| subject.id).collect::<Vec<_>>());
                for class in &found.classes {
                    for subject in &class.subjects {
                        known.insert(subject.id, class.signature());
                    }
                }
            }
        }

        // Xiao and Tao's condition: newcomers can all be placed if no value exceeds 1/m of them.
        #[test]
        fn newcomers_without_too_frequent_a_value_are_all_placed(
            m in 1_usize..4,
            values in prop::collection::vec(0_usize..5, 0..40),
        ) {
            let newcomers: Vec<Subject> =
                (0..).zip(&values).map(|(id, value)| subject(id, *value)).collect();
            let most = (0..5).map(|value| values.iter().filter(|&&one| one == value).count()).max();
            let found = republish(m, &[], &newcomers);
            if most.unwrap_or(0) * m <= values.len() {
                prop_assert!(found.waiting.is_empty(), "{:?}", found.waiting);
            }
        }
    }
}
