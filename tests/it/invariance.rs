//! m-invariant releases against an attacker who tries every world.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use std::collections::BTreeSet;
use std::sync::Arc;

use kindred::anonymize::invariance::{InvariantStep, Signatures, step};
use kindred::anonymize::series::{RowId, SeriesRow};
use kindred::anonymize::table::Schema;
use kindred::anonymize::verify::invariance::check_invariance;
use kindred::declaration::DatasetDeclaration;
use serde_json::json;

const VALUES: [&str; 4] = ["flu", "asthma", "hiv", "copd"];
const PERSONS: usize = 8;
const RELEASES: u64 = 3;

fn schema() -> Schema {
    let body = json!({"name": "t", "attributes": [
        {"name": "age", "role": "quasi_identifying", "type": "integer",
         "hierarchy": {"kind": "intervals", "origin": 0, "widths": [10, 20], "lower": 0, "upper": 120}},
        {"name": "sex", "role": "quasi_identifying"},
        {"name": "note", "role": "insensitive"},
        {"name": "dx", "role": "sensitive"},
    ]});
    Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap()
}

fn row(person: usize, age: u64, sex: &str, value: Option<&str>) -> SeriesRow {
    SeriesRow {
        id: RowId {
            batch: 1,
            row: u32::try_from(person).unwrap(),
        },
        subject: None,
        quasi: [Some(Arc::from(age.to_string())), Some(Arc::from(sex))].into(),
        carried: [None, value.map(Arc::from)].into(),
    }
}

/// A change of a release.
type Tamper<'a> = &'a dyn Fn(&mut InvariantStep);

/// Numbers that look random (Knuth's multiplier).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Who is there in each release; persons come and go once.
fn story(seed: u64) -> Vec<Vec<SeriesRow>> {
    let mut numbers = Numbers(seed);
    let persons: Vec<(SeriesRow, u64, u64)> = (0..PERSONS)
        .map(|person| {
            let age = 20 + numbers.below(60);
            let sex = ["F", "M"][usize::try_from(numbers.below(2)).unwrap()];
            let value = VALUES[usize::try_from(numbers.below(4)).unwrap()];
            let from = numbers.below(RELEASES);
            let until = from + 1 + numbers.below(RELEASES);
            (row(person, age, sex, Some(value)), from, until)
        })
        .collect();
    let there = |release: u64| {
        let there = persons
            .iter()
            .filter(|(_, from, until)| (*from..*until).contains(&release));
        there.map(|(row, _, _)| row.clone()).collect()
    };
    (0..RELEASES).map(there).collect()
}

fn releases(
    schema: &Schema,
    m: usize,
    story: &[Vec<SeriesRow>],
    forgets: bool,
) -> Vec<InvariantStep> {
    let mut before = Signatures::default();
    let mut found = Vec::new();
    for rows in story {
        let step = step(schema, m, 1, &before, rows).unwrap();
        check_invariance(schema, m, 1, &before, rows, &step).unwrap();
        if !forgets {
            before = step.signatures.clone();
        }
        found.push(step);
    }
    found
}

/// A class as the attacker sees it at worst: who is in it, and all values that stand in it.
type Seen = Vec<(Vec<usize>, BTreeSet<usize>)>;

fn seen(releases: &[InvariantStep]) -> Seen {
    let place = |value: &str| VALUES.iter().position(|one| *one == value).unwrap();
    let classes = releases.iter().flat_map(|step| &step.classes);
    let classes = classes.map(|class| {
        let persons = class.rows.iter().map(|row| row.id.row as usize).collect();
        let own = class
            .rows
            .iter()
            .map(|row| place(row.carried[1].as_deref().unwrap()));
        let values = own.chain(class.counterfeits.iter().map(|value| place(value)));
        (persons, values.collect())
    });
    classes.collect()
}

/// The fewest values that a released person can have in any world that fits what was seen: every assignment of values to
/// persons in which those of each class are pairwise different and among the class's.
fn fewest(seen: &Seen) -> usize {
    let mut possible = vec![BTreeSet::new(); PERSONS];
    for world in 0..VALUES.len().pow(u32::try_from(PERSONS).unwrap()) {
        let value =
            |person: usize| world / VALUES.len().pow(u32::try_from(person).unwrap()) % VALUES.len();
        let fits = seen.iter().all(|(persons, values)| {
            let own: BTreeSet<usize> = persons.iter().map(|&person| value(person)).collect();
            own.len() == persons.len() && own.is_subset(values)
        });
        if fits {
            for (person, possible) in possible.iter_mut().enumerate() {
                possible.insert(value(person));
            }
        }
    }
    let released: BTreeSet<usize> = seen
        .iter()
        .flat_map(|(persons, _)| persons.clone())
        .collect();
    released
        .into_iter()
        .map(|person| possible[person].len())
        .min()
        .unwrap_or(usize::MAX)
}

#[test]
fn no_combination_of_releases_narrows_a_person_below_m_values() {
    let schema = schema();
    let (mut counterfeits, mut narrowed) = (0, 0);
    for seed in 0..24 {
        for m in [2, 3] {
            let story = story(seed);
            let made = releases(&schema, m, &story, false);
            counterfeits += made.iter().map(InvariantStep::counterfeits).sum::<u64>();
            let least = fewest(&seen(&made));
            assert!(least >= m, "seed {seed}, m {m}: {least}");
            // Releases that are each m-diverse and forget the ones before are what the attacker waits for.
            let forgetful = releases(&schema, m, &story, true);
            narrowed += usize::from(fewest(&seen(&forgetful)) < m);
        }
    }
    assert!(
        counterfeits > 0 && narrowed > 0,
        "{counterfeits} {narrowed}"
    );
}

#[test]
fn a_class_gets_the_smallest_nodes_that_cover_it() {
    let schema = schema();
    let rows = [
        row(0, 41, "F", Some("flu")),
        row(1, 47, "F", Some("hiv")),
        row(2, 90, "M", None),
    ];
    let made = step(&schema, 2, 1, &Signatures::default(), &rows).unwrap();
    assert_eq!(
        (made.classes.len(), made.without_value, made.waiting),
        (1, 1, 0)
    );
    let labels: Vec<_> = made.classes[0]
        .nodes
        .iter()
        .map(|node| node[0].as_deref())
        .collect();
    assert_eq!(labels, [Some("[40, 50)"), Some("F")]);
    // Nobody bears asthma any more: a counterfeit does.
    let next = step(&schema, 2, 1, &made.signatures, &rows[..1]).unwrap();
    assert_eq!((next.left, next.counterfeits()), (1, 1));
    assert_eq!(next.classes[0].counterfeits, [Arc::from("hiv")]);
    let turned: Vec<SeriesRow> = rows.iter().rev().cloned().collect();
    assert_eq!(
        step(&schema, 2, 1, &Signatures::default(), &turned).unwrap(),
        made
    );
}

#[test]
fn the_check_refuses_a_tampered_release() {
    let schema = schema();
    let rows: Vec<SeriesRow> = [("F", "flu"), ("F", "hiv"), ("M", "copd"), ("M", "asthma")]
        .iter()
        .enumerate()
        .map(|(person, (sex, value))| row(person, 40 + person as u64, sex, Some(value)))
        .collect();
    let first = step(&schema, 2, 1, &Signatures::default(), &rows).unwrap();
    let second = step(&schema, 2, 1, &first.signatures, &rows[..3]).unwrap();
    let failed = |tamper: &dyn Fn(&mut InvariantStep)| {
        let mut step = second.clone();
        tamper(&mut step);
        let checked = check_invariance(&schema, 2, 1, &first.signatures, &rows[..3], &step);
        checked.map_or_else(|failure| failure.failures, |_| Vec::new())
    };
    assert!(failed(&|_| ()).is_empty());
    let class = second
        .classes
        .iter()
        .position(|class| !class.counterfeits.is_empty())
        .unwrap();
    let cases: [(&str, Tamper<'_>); 6] = [
        ("classes of m rows", &|step| {
            step.classes[class].counterfeits.clear();
        }),
        ("signatures persist", &|step| {
            step.classes[class].counterfeits[0] = Arc::from("gout");
        }),
        ("different sensitive values", &|step| {
            let own = step.classes[class].rows[0].carried[1].clone().unwrap();
            step.classes[class].counterfeits[0] = own;
        }),
        ("labels", &|step| {
            step.classes[class].nodes[1][0] = Some("X".to_owned());
        }),
        ("released rows stay", &|step| {
            drop(step.classes[class].rows.pop());
        }),
        ("kept signatures", &|step| step.signatures.rows.clear()),
    ];
    for (name, tamper) in cases {
        let found = failed(tamper);
        assert!(
            found.iter().any(|failure| failure.starts_with(name)),
            "{name}: {found:?}"
        );
        assert!(
            found
                .iter()
                .all(|failure| !failure.contains("flu") && !failure.contains("gout"))
        );
    }
}
