//! An attacker who knows every subject's quasi-identifiers and when it came and went, keeps all releases and can follow
//! every record from one to the next. All ways to assign the records to subjects are counted; what is left as possible
//! for a subject must satisfy the models.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::super::rules::Broken;
use super::super::{CutSet, RowId, SeriesRow, Settings};
use super::story::{Story, Told, finest, id, k_and_l, key, models, row, settings};
use crate::declaration::{Fraction, PrivacyModel};

/// By subject, the records that it may be in some assignment which explains everything.
fn candidates(story: &Story) -> Vec<(RowId, Vec<&SeriesRow>)> {
    let subjects: Vec<&Told> = story.rows.values().collect();
    let is_record = |told: &&&Told| told.shown.iter().any(Option::is_some);
    let records: Vec<&Told> = subjects.iter().filter(is_record).copied().collect();
    assert!(subjects.len() <= 12, "the sets of subjects are bit masks");
    let explains = |record: &Told, subject: &Told| {
        let shown = record.shown.iter().zip(&story.releases);
        shown
            .filter_map(|(class, update)| Some((class.as_ref()?, *update)))
            .all(|(class, update)| {
                let is_there =
                    subject.arrived <= update && subject.erased.is_none_or(|gone| gone > update);
                let attributes = story.rules.hierarchies.iter().zip(subject.row.quasi.iter());
                is_there
                    && attributes
                        .zip(class.0.iter())
                        .all(|((hierarchy, value), node)| {
                            hierarchy
                                .path(value.as_deref())
                                .unwrap()
                                .contains(&node.label())
                        })
            })
    };
    // Sets of subjects to whom the first so many records can be given, and the last so many.
    let reach = |order: &mut dyn Iterator<Item = usize>| {
        let mut sets = vec![BTreeSet::from([0_u32])];
        for record in order {
            let mut next = BTreeSet::new();
            for &used in &sets[sets.len() - 1] {
                for (place, subject) in subjects.iter().enumerate() {
                    if used & (1 << place) == 0 && explains(records[record], subject) {
                        next.insert(used | (1 << place));
                    }
                }
            }
            sets.push(next);
        }
        sets
    };
    let before = reach(&mut (0..records.len()));
    let after = reach(&mut (0..records.len()).rev());
    let is_possible = |place: usize, record: usize| {
        let rest = &after[records.len() - 1 - record];
        explains(records[record], subjects[place])
            && before[record].iter().any(|used| {
                used & (1 << place) == 0
                    && rest
                        .iter()
                        .any(|others| others & (used | (1 << place)) == 0)
            })
    };
    let of_subject = |(place, subject): (usize, &&Told)| {
        let possible = (0..records.len()).filter(|&record| is_possible(place, record));
        (
            subject.row.id,
            possible.map(|record| &records[record].row).collect(),
        )
    };
    subjects.iter().enumerate().map(of_subject).collect()
}

/// Subjects about whom the attacker learns more than the models allow.
fn exposed(story: &Story) -> Vec<RowId> {
    let found = candidates(story);
    for (subject, records) in &found {
        let is_shown = story.rows[subject].shown.iter().any(Option::is_some);
        let own = records.iter().any(|record| record.id == *subject);
        assert!(own || !is_shown, "the truth is one of the ways");
    }
    let (subjects, groups): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let verdicts = story.rules.judge.holds(&groups);
    let bad = subjects
        .into_iter()
        .zip(verdicts)
        .filter(|(_, holds)| !holds);
    bad.map(|(subject, _)| subject).collect()
}

/// When a subject comes, how many updates later it goes, letter, sex, diagnosis.
type Subject = (usize, usize, usize, usize, usize);

#[derive(Debug, Clone)]
struct Case {
    subjects: Vec<Subject>,
    models: Vec<PrivacyModel>,
    settings: Settings,
    fine: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let subject = (0_usize..3, 1_usize..6, 0_usize..4, 0_usize..8, 0_usize..3);
    let models = prop::sample::select(vec![
        k_and_l(2, 1),
        k_and_l(2, 2),
        k_and_l(3, 2),
        models(&json!([{ "model": "entropy_l_diversity", "attribute": "diagnosis", "l": 1.8 }])),
        models(&json!([{ "model": "alpha_k", "attribute": "diagnosis", "alpha": 0.6, "k": 2 }])),
    ]);
    let limit = prop::sample::select(vec![0.0, 0.2, 1.0]);
    (
        prop::collection::vec(subject, 2..9),
        models,
        0_u32..3,
        1_u32..3,
        limit,
        any::<bool>(),
    )
        .prop_map(
            |(subjects, models, max_pending, specialize_factor, limit, fine)| Case {
                subjects,
                models,
                settings: Settings {
                    max_pending,
                    specialize_factor,
                    suppression_limit: Fraction::new(limit).unwrap(),
                    ..settings()
                },
                fine,
            },
        )
}

fn tell(case: &Case, broken: Option<Broken>) -> Story {
    let cuts = if case.fine {
        finest()
    } else {
        CutSet::default()
    };
    let mut story = Story::new(case.models.clone(), &case.settings, cuts);
    if let Some(broken) = broken {
        story = story.broken(broken);
    }
    for update in 0..3 {
        let subjects = (0..).zip(&case.subjects);
        let coming = subjects.clone().filter(|(_, subject)| subject.0 == update);
        let added = coming.map(|(place, &(_, _, letter, sex, diagnosis))| {
            let letter = ["a", "b", "d", ""][letter];
            // Mostly one sex: eight subjects make few classes.
            let sex = if sex == 0 { "M" } else { "F" };
            row(
                id(1, place),
                letter,
                sex,
                ["flu", "asthma", "hiv"][diagnosis],
            )
        });
        let going = subjects.filter(|(_, subject)| subject.0 + subject.1 == update);
        let going: Vec<RowId> = going.map(|(place, _)| id(1, place)).collect();
        story.update(added.collect(), &going);
    }
    story
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn nobody_is_exposed_by_all_releases_together(case in case()) {
        let story = tell(&case, None);
        prop_assert_eq!(exposed(&story), Vec::<RowId>::new());
        prop_assert!(story.audit().is_ok());
        for checked in &story.checked {
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }
    }
}

/// All that would notice: the attacker, the audit, the check of the steps.
fn noticed(story: &Story) -> (bool, bool, bool) {
    let step = story.checked.iter().any(Result::is_err);
    (!exposed(story).is_empty(), story.audit().is_err(), step)
}

/// A case over `a` (0) and `b` (1), all of one sex.
fn broken_case(subjects: &[(usize, usize, usize, usize)], fine: bool) -> Case {
    let subject = |&(from, stay, letter, diagnosis)| (from, stay, letter, 1, diagnosis);
    Case {
        subjects: subjects.iter().map(subject).collect(),
        models: k_and_l(2, 2),
        settings: Settings {
            specialize_factor: 1,
            ..settings()
        },
        fine,
    }
}

#[test]
fn a_cohort_that_is_too_small_is_noticed() {
    let case = broken_case(&[(0, 9, 0, 0), (0, 9, 0, 1), (1, 9, 0, 2)], true);
    assert_eq!(noticed(&tell(&case, None)), (false, false, false));
    assert_eq!(
        noticed(&tell(&case, Some(Broken::Publish))),
        (true, true, true)
    );
}

#[test]
fn a_split_that_tears_a_cohort_is_noticed() {
    // Old: two of `a`, two of `b`; new: one of each. The classes after a split have three rows.
    let subjects = [
        (0, 9, 0, 0),
        (0, 9, 0, 1),
        (0, 9, 1, 0),
        (0, 9, 1, 2),
        (1, 9, 0, 2),
        (1, 9, 1, 1),
    ];
    let mut case = broken_case(&subjects, false);
    // Not in the first release: its classes are not ample yet.
    case.settings.specialize_factor = 3;
    let sound = tell(&case, None);
    assert_eq!(noticed(&sound), (false, false, false));
    let ab = key(&["ab", "abc", "*"]);
    assert!(!sound.state.cuts.specialised[0].contains(&ab));
    let torn = tell(&case, Some(Broken::Split));
    assert!(torn.state.cuts.specialised[0].contains(&ab));
    assert_eq!(noticed(&torn), (true, true, true));
}

#[test]
fn an_erasure_that_leaves_one_alone_is_noticed() {
    let case = broken_case(&[(0, 9, 0, 0), (0, 9, 0, 1), (0, 1, 0, 2)], true);
    assert_eq!(noticed(&tell(&case, None)), (false, false, false));
    assert_eq!(
        noticed(&tell(&case, Some(Broken::Erase))),
        (true, true, true)
    );
}
