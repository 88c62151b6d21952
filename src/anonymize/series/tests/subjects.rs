//! Subjects with rows in several updates: an attacker who knows all of them, and that a diagnosis stays the same.
//!
//! Rows of one subject that stand in the same classes throughout count as one for it: how many rows a subject has in a
//! class is no part of its history, here as in any release.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::{CutSet, RowId, SeriesRow, Settings, Subject};
use super::story::{Story, Told, finest, id, k_and_l, row, settings};
use crate::declaration::Fraction;

/// A row of a subject.
fn of(subject: u8, id: RowId, letter: &str, diagnosis: &str) -> SeriesRow {
    SeriesRow {
        subject: Some([subject; 16]),
        ..row(id, letter, "F", diagnosis)
    }
}

fn story(k: u64, l: u64, guards_subjects: bool) -> Story {
    let settings = Settings {
        guards_subjects,
        ..settings()
    };
    Story::new(k_and_l(k, l), &settings, finest())
}

/// A record that the attacker holds, and a row that may be it: the row is there when the record is, under its labels.
fn explains(story: &Story, record: &Told, row: &Told) -> bool {
    let shown = record.shown.iter().zip(&story.releases);
    shown
        .filter_map(|(class, update)| Some((class.as_ref()?, *update)))
        .all(|(class, update)| {
            let is_there = row.arrived <= update && row.erased.is_none_or(|gone| gone > update);
            let attributes = story.rules.hierarchies.iter().zip(row.row.quasi.iter());
            let mut attributes = attributes.zip(class.0.iter());
            is_there
                && attributes.all(|((hierarchy, value), node)| {
                    let path = hierarchy.path(value.as_deref()).unwrap();
                    path.contains(&node.label())
                })
        })
}

/// Whether every record can be given to a row of its own that it explains and whose subject has its diagnosis.
fn fits(may_be: &[Vec<usize>], rows: usize) -> bool {
    fn place(
        record: usize,
        may_be: &[Vec<usize>],
        holder: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for &row in &may_be[record] {
            if std::mem::replace(&mut seen[row], true) {
                continue;
            }
            let is_free = match holder[row] {
                None => true,
                Some(other) => place(other, may_be, holder, seen),
            };
            if is_free {
                holder[row] = Some(record);
                return true;
            }
        }
        false
    }
    let mut holder = vec![None; rows];
    (0..may_be.len()).all(|record| place(record, may_be, &mut holder, &mut vec![false; rows]))
}

/// By subject, the diagnoses that it has in some way to explain all records; only subjects of whom a row was shown.
fn possible(story: &Story) -> BTreeMap<Subject, BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    let rows: Vec<&Told> = story
        .rows
        .values()
        .filter(|told| {
            let is_shown = told.shown.iter().any(Option::is_some);
            !is_shown || seen.insert((told.row.subject, &told.shown))
        })
        .collect();
    let records: Vec<&Told> = rows
        .iter()
        .filter(|told| told.shown.iter().any(Option::is_some))
        .copied()
        .collect();
    let subject = |told: &Told| told.row.subject.unwrap();
    let diagnosis = |told: &Told| told.row.carried[1].as_deref().unwrap().to_owned();
    let subjects: Vec<Subject> = rows
        .iter()
        .map(|told| subject(told))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let values: Vec<String> = rows
        .iter()
        .map(|told| diagnosis(told))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let of_record: Vec<Vec<usize>> = records
        .iter()
        .map(|record| {
            let places = (0..rows.len()).filter(|&row| explains(story, record, rows[row]));
            places.collect()
        })
        .collect();
    let shown: BTreeSet<Subject> = records.iter().map(|told| subject(told)).collect();
    let mut possible: BTreeMap<Subject, BTreeSet<String>> = BTreeMap::new();
    for way in 0..values.len().pow(u32::try_from(subjects.len()).unwrap()) {
        let value = |told: &Told| {
            let place = subjects
                .iter()
                .position(|one| *one == subject(told))
                .unwrap();
            &values[way / values.len().pow(u32::try_from(place).unwrap()) % values.len()]
        };
        let may_be: Vec<Vec<usize>> = of_record
            .iter()
            .zip(&records)
            .map(|(places, record)| {
                let places = places
                    .iter()
                    .filter(|&&row| *value(rows[row]) == diagnosis(record));
                places.copied().collect()
            })
            .collect();
        if fits(&may_be, rows.len()) {
            for told in rows.iter().filter(|told| shown.contains(&subject(told))) {
                let found = possible.entry(subject(told)).or_default();
                found.insert(value(told).clone());
            }
        }
    }
    possible
}

fn exposed(story: &Story, l: usize) -> Vec<Subject> {
    let found = possible(story).into_iter();
    let bad = found.filter(|(_, values)| values.len() < l);
    bad.map(|(subject, _)| subject).collect()
}

/// The first of two batches, then one with another row of the first subject and one of a newcomer.
fn two_groups(story: &mut Story) {
    let first = vec![of(1, id(1, 0), "a", "flu"), of(2, id(1, 1), "a", "asthma")];
    story.update(first, &[]);
    let second = vec![of(1, id(2, 0), "b", "flu"), of(3, id(2, 1), "b", "hiv")];
    story.update(second, &[]);
}

#[test]
fn two_groups_of_one_person_are_intersected_where_only_rows_are_guarded() {
    let mut open = story(2, 2, false);
    two_groups(&mut open);
    assert_eq!(open.shown_rows().len(), 4);
    assert!(open.audit().is_ok(), "each row is in a group of two");
    assert_eq!(exposed(&open, 2), vec![[1; 16], [2; 16], [3; 16]]);
    assert!(open.audit_subjects().is_err());

    let mut guarded = story(2, 2, true);
    two_groups(&mut guarded);
    assert_eq!(guarded.shown_rows(), vec![id(1, 0), id(1, 1)]);
    assert_eq!(exposed(&guarded, 2), Vec::<Subject>::new());
    assert_eq!(guarded.audit_subjects().unwrap().subjects, 2);
    guarded.check_figures();
}

#[test]
fn those_who_come_again_together_are_published_together() {
    let mut story = story(2, 2, true);
    let of_batch = |batch: u32, letter: &str, people: &[(u8, &str)]| -> Vec<SeriesRow> {
        let people = (0..).zip(people);
        let rows =
            people.map(|(row, (person, diagnosis))| of(*person, id(batch, row), letter, diagnosis));
        rows.collect()
    };
    let four = [(1, "flu"), (2, "asthma"), (3, "flu"), (4, "hiv")];
    story.update(of_batch(1, "a", &four), &[]);
    // Two of the four come again: they and the other two are groups of their own from now on.
    let step = story.update(of_batch(2, "b", &four[..2]), &[]);
    assert_eq!(step.added.len(), 2);
    assert_eq!(story.shown_rows().len(), 6);
    // One of each pair would part both pairs.
    let step = story.update(of_batch(3, "c", &[(1, "flu"), (3, "asthma")]), &[]);
    assert!(!step.is_release);
    // Both of a pair part none.
    let step = story.update(of_batch(4, "d", &four[2..]), &[]);
    assert_eq!(step.added.len(), 2);
    let audit = story.audit_subjects().unwrap();
    assert_eq!((audit.subject_histories, audit.subjects), (2, 2));
    assert_eq!(exposed(&story, 2), Vec::<Subject>::new());
    story.check_figures();
}

#[test]
fn three_of_four_do_not_leave_one_behind() {
    let mut story = story(2, 1, true);
    let people = |batch: u32, letter: &str, people: &[u8]| -> Vec<SeriesRow> {
        let people = (0..).zip(people);
        people
            .map(|(row, one)| of(*one, id(batch, row), letter, "flu"))
            .collect()
    };
    story.update(people(1, "a", &[1, 2, 3, 4]), &[]);
    let step = story.update(people(2, "b", &[1, 2, 3]), &[]);
    assert!(!step.is_release, "the fourth would be told by its absence");
    // A newcomer's company does not help: who is new and who is not is known.
    let step = story.update(people(3, "b", &[5]), &[]);
    assert!(!step.is_release);
    let step = story.update(people(4, "b", &[4]), &[]);
    assert_eq!(step.added.len(), 4, "now all four came again");
    assert_eq!(story.state.counts.pending, 1);
    story.check_figures();
}

#[test]
fn who_was_erased_and_comes_back_is_not_published() {
    let mut story = story(2, 1, true);
    let people = |batch: u32, people: &[u8]| -> Vec<SeriesRow> {
        let people = (0..).zip(people);
        people
            .map(|(row, one)| of(*one, id(batch, row), "a", "flu"))
            .collect()
    };
    story.update(people(1, &[1, 2, 3, 4]), &[]);
    // Two leave: both parts are large enough.
    let step = story.update(Vec::new(), &[id(1, 0), id(1, 1)]);
    assert_eq!(step.withdrawn.len(), 2);
    // One of them is back, with newcomers: the three would be a group, but the attacker knows who was there before.
    let step = story.update(people(3, &[1, 5, 6]), &[]);
    assert_eq!(step.added.len(), 2);
    assert_eq!(story.state.counts.pending, 1);
    story.check_figures();
}

#[test]
fn several_rows_of_one_batch_are_published_where_most_company_is() {
    let mut story = story(2, 1, true);
    let rows = vec![
        of(1, id(1, 0), "a", "flu"),
        of(1, id(1, 1), "b", "flu"),
        of(2, id(1, 2), "a", "flu"),
        of(3, id(1, 3), "a", "flu"),
        of(4, id(1, 4), "b", "flu"),
    ];
    let step = story.update(rows, &[]);
    let added: Vec<RowId> = step.added.iter().map(|shown| shown.row.id).collect();
    assert_eq!(added, vec![id(1, 0), id(1, 2), id(1, 3)]);
    // A second one with rows in both classes, and both are published everywhere.
    let mut both = self::story(2, 1, true);
    let rows = vec![
        of(1, id(1, 0), "a", "flu"),
        of(1, id(1, 1), "b", "flu"),
        of(2, id(1, 2), "a", "flu"),
        of(2, id(1, 3), "b", "flu"),
    ];
    assert_eq!(both.update(rows, &[]).added.len(), 4);
    assert_eq!(both.audit_subjects().unwrap().subjects, 2);
}

/// Per subject: its diagnosis; by update, the letter of its row, or none; the update at which all its rows are erased.
type Life = (usize, [Option<usize>; 3], usize);

fn tell(lives: &[Life], k: u64, l: u64, settings: &Settings, fine: bool) -> Story {
    let cuts = if fine { finest() } else { CutSet::default() };
    let mut story = Story::new(k_and_l(k, l), settings, cuts);
    for update in 0..4_u32 {
        let mut added = Vec::new();
        let mut erased = Vec::new();
        for (number, (diagnosis, letters, gone)) in (0_u8..).zip(lives) {
            let row_of = |update: u32| id(update + 1, u32::from(number));
            let letter = letters.get(update as usize).copied().flatten();
            if let Some(letter) = letter {
                let letter = ["a", "b", "d"][letter];
                let diagnosis = ["flu", "asthma", "hiv"][*diagnosis];
                added.push(of(number, row_of(update), letter, diagnosis));
            }
            if *gone == update as usize {
                let rows = (0..update).map(row_of);
                erased.extend(rows.filter(|id| story.rows.contains_key(id)));
            }
        }
        story.update(added, &erased);
    }
    story
}

fn lives() -> impl Strategy<Value = Vec<Life>> {
    let letter = prop::option::weighted(0.7, 0_usize..3);
    let life = (
        0_usize..3,
        [letter.clone(), letter.clone(), letter],
        1_usize..9,
    );
    prop::collection::vec(life, 2..7)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nobody_is_exposed_who_has_several_rows(
        lives in lives(),
        (k, l) in prop::sample::select(vec![(2, 1), (2, 2), (3, 2)]),
        max_pending in 0_u32..3,
        specialize_factor in 1_u32..3,
        limit in prop::sample::select(vec![0.0, 0.2, 1.0]),
        fine in any::<bool>(),
    ) {
        let settings = Settings {
            max_pending,
            specialize_factor,
            suppression_limit: Fraction::new(limit).unwrap(),
            ..settings()
        };
        let story = tell(&lives, k, l, &settings, fine);
        prop_assert!(story.audit().is_ok(), "{:?}", story.audit());
        prop_assert!(story.audit_subjects().is_ok(), "{:?}", story.audit_subjects());
        prop_assert_eq!(exposed(&story, usize::try_from(l).unwrap()), Vec::<Subject>::new());
        for checked in &story.checked {
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }
        story.check_figures();
    }
}
