//! Laws over random histories.

use proptest::prelude::*;
use serde_json::json;

use super::super::{CutSet, Index, MemoryIndex, RowId, Score, SeriesRow, Settings, Standing};
use super::rebuild::Rebuild;
use super::story::{Story, finest, id, k_and_l, models, row, settings};
use crate::declaration::{Fraction, PrivacyModel};

/// Letters, sexes, diagnoses of the rows that come, and which of the rows so far go.
type Batch = (Vec<(usize, usize, usize)>, Vec<usize>);

#[derive(Debug, Clone)]
struct Case {
    batches: Vec<Batch>,
    k: usize,
    l: usize,
    settings: Settings,
    fine: bool,
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    let row = (0_usize..7, 0_usize..8, 0_usize..4);
    let batch = (
        prop::collection::vec(row, 0..14),
        prop::collection::vec(0_usize..60, 0..4),
    );
    prop::collection::vec(batch, 1..7)
}

fn case() -> impl Strategy<Value = Case> {
    let demand = (
        0_u32..3,
        1_u32..4,
        prop::sample::select(vec![0.0, 0.1, 0.5, 1.0]),
        prop::sample::select(vec![Score::Information, Score::Loss]),
    );
    (batches(), 1_usize..4, 1_usize..3, demand, any::<bool>()).prop_map(
        |(batches, k, l, (max_pending, specialize_factor, limit, score), fine)| Case {
            batches,
            k,
            l,
            settings: Settings {
                max_pending,
                specialize_factor,
                suppression_limit: Fraction::new(limit).unwrap(),
                score,
                target: None,
                guards_subjects: false,
            },
            fine,
        },
    )
}

/// The batches as rows, and the rows that go.
fn events(batches: &[Batch]) -> Vec<(Vec<SeriesRow>, Vec<RowId>)> {
    let mut all: Vec<RowId> = Vec::new();
    let mut found = Vec::new();
    for ((cells, gone), batch) in batches.iter().zip(1..) {
        let rows = cells
            .iter()
            .zip(0..)
            .map(|(&(letter, sex, diagnosis), place)| {
                let letter = ["a", "b", "c", "d", "e", "f", ""][letter];
                let sex = ["M", "", "F", "F", "F", "F", "F", "F"][sex];
                row(
                    id(batch, place),
                    letter,
                    sex,
                    ["flu", "asthma", "hiv", ""][diagnosis],
                )
            });
        let rows: Vec<SeriesRow> = rows.collect();
        all.extend(rows.iter().map(|row| row.id));
        let mut gone: Vec<RowId> = gone
            .iter()
            .filter_map(|&place| all.get(place).copied())
            .collect();
        gone.sort_unstable();
        gone.dedup();
        all.retain(|id| !gone.contains(id));
        found.push((rows, gone));
    }
    found
}

fn begin(case: &Case, models: Vec<PrivacyModel>) -> Story {
    let cuts = if case.fine {
        finest()
    } else {
        CutSet::default()
    };
    Story::new(models, &case.settings, cuts)
}

fn demand(case: &Case) -> Vec<PrivacyModel> {
    k_and_l(case.k as u64, case.l as u64)
}

/// An index that was written anew from what another holds.
fn cold(warm: &MemoryIndex) -> MemoryIndex {
    let mut index = MemoryIndex::default();
    let classes: Vec<_> = warm.all_classes().cloned().collect();
    index.put_classes(&classes).unwrap();
    let cells: Vec<_> = warm.all_cells().cloned().collect();
    index.put_cells(&cells).unwrap();
    index
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_update_gives_what_a_rebuild_gives(case in case()) {
        let mut story = begin(&case, demand(&case));
        let mut cuts = story.state.cuts.clone();
        cuts.specialised.resize_with(2, Default::default);
        let mut rebuild = Rebuild::new(case.k, case.l, cuts);
        for (rows, gone) in events(&case.batches) {
            let step = story.update(rows.clone(), &gone);
            rebuild.update(&story, &rows, &gone, &step);
            rebuild.compare(&story);
            story.check_figures();
        }
        for checked in &story.checked {
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }
        let audit = story.audit();
        prop_assert!(audit.is_ok(), "{:?}", audit);
    }

    #[test]
    fn neither_the_order_of_events_nor_a_cold_index_changes_anything(case in case()) {
        let mut story = begin(&case, demand(&case));
        let mut other = begin(&case, demand(&case));
        for (rows, mut gone) in events(&case.batches) {
            let step = story.update(rows.clone(), &gone);
            gone.reverse();
            let mut turned = rows;
            turned.reverse();
            other.index = cold(&other.index);
            prop_assert_eq!(step, other.update(turned, &gone));
            prop_assert_eq!(&story.state, &other.state);
            prop_assert!(story.index.all_cells().eq(other.index.all_cells()));
            prop_assert!(story.index.all_classes().eq(other.index.all_classes()));
        }
    }

    #[test]
    fn models_that_are_not_absorbing_hold_of_all_releases_together(case in case(), which in 0_usize..3) {
        let list = [
            json!([{ "model": "entropy_l_diversity", "attribute": "diagnosis", "l": 1.7, "missing": "exempt" }]),
            json!([{ "model": "recursive_cl_diversity", "attribute": "diagnosis", "c": 2, "l": 2 }]),
            json!([{ "model": "alpha_k", "attribute": "diagnosis", "alpha": 0.5, "k": 2 }]),
        ];
        let mut story = begin(&case, models(&list[which]));
        for (rows, gone) in events(&case.batches) {
            story.update(rows, &gone);
            story.check_figures();
        }
        for checked in &story.checked {
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }
        let audit = story.audit();
        prop_assert!(audit.is_ok(), "{:?}", audit);
    }

    #[test]
    fn subjects_are_counted_where_they_are_declared(case in case()) {
        let mut story = begin(&case, demand(&case));
        for (mut rows, gone) in events(&case.batches) {
            for row in &mut rows {
                // Five persons, with several rows each.
                row.subject = Some([u8::try_from(row.id.row % 5).unwrap(); 16]);
            }
            story.update(rows, &gone);
            story.check_figures();
        }
        for checked in &story.checked {
            prop_assert!(checked.is_ok(), "{:?}", checked);
        }
        let audit = story.audit();
        prop_assert!(audit.is_ok(), "{:?}", audit);
    }

    #[test]
    fn a_blocked_node_cannot_be_split(case in case()) {
        let mut story = begin(&case, demand(&case));
        for (rows, gone) in events(&case.batches) {
            story.update(rows, &gone);
        }
        for (attribute, nodes) in story.state.nodes.iter().enumerate() {
            for (node, _) in nodes.iter().filter(|(_, state)| state.blocked) {
                let mut parts = std::collections::BTreeMap::<_, Vec<&SeriesRow>>::new();
                for class in story.index.all_classes().filter(|class| class.key.0[attribute] == *node) {
                    for cell in story.index.all_cells().filter(|cell| cell.class == class.id) {
                        if let Standing::Published(cohort) = cell.standing {
                            let value = cell.quasi[attribute].clone();
                            parts.entry((cohort, child(&story, attribute, &value, node))).or_default().extend(&cell.rows);
                        }
                    }
                }
                let parts: Vec<_> = parts.into_values().collect();
                prop_assert!(!story.rules.judge.holds(&parts).into_iter().all(|holds| holds));
            }
        }
    }
}

/// Two long histories, from a fine and from a coarse cut, in which everything happens: the laws are about something.
#[test]
fn long_histories_merge_split_withhold_and_wait() {
    let mut seed = 7_usize;
    let mut draw = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let (mut merged, mut split, mut moved, mut withheld, mut unchanged) = (0, 0, 0, 0, 0);
    for fine in [true, false] {
        let case = Case {
            batches: Vec::new(),
            k: 2,
            l: 2,
            settings: Settings {
                max_pending: 1,
                specialize_factor: 2,
                suppression_limit: Fraction::new(0.1).unwrap(),
                score: Score::Information,
                target: None,
                guards_subjects: false,
            },
            fine,
        };
        let batches = (0..40).map(|batch| -> Batch {
            let rows = if batch == 0 { 60 } else { draw(12) };
            let rows = (0..rows).map(|_| (draw(7), draw(8), draw(4))).collect();
            let gone = if draw(4) == 0 {
                vec![draw(60)]
            } else {
                Vec::new()
            };
            (rows, gone)
        });
        let batches: Vec<Batch> = batches.collect();
        let mut story = begin(&case, demand(&case));
        let mut cuts = story.state.cuts.clone();
        cuts.specialised.resize_with(2, Default::default);
        let mut rebuild = Rebuild::new(2, 2, cuts);
        for (rows, gone) in events(&batches) {
            let step = story.update(rows.clone(), &gone);
            rebuild.update(&story, &rows, &gone, &step);
            rebuild.compare(&story);
            story.check_figures();
            merged += step.generalised.len();
            split += step.specialised.len();
            moved += step.moved.len();
            withheld += usize::from(step.withdrawn.len() > gone.len());
            unchanged += usize::from(!step.is_release);
        }
        assert!(story.checked.iter().all(Result::is_ok));
        let audit = story.audit().unwrap();
        assert!(audit.k >= 2 && audit.releases > 10, "{audit:?}");
    }
    let counts = [merged, split, moved, withheld, unchanged];
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

/// The label, on the level below a node, of a value under it.
fn child(
    story: &Story,
    attribute: usize,
    value: &super::super::Value,
    node: &super::super::NodeKey,
) -> Option<String> {
    let path = story.rules.hierarchies[attribute]
        .path(value.as_deref())
        .unwrap();
    path[path.len() - node.labels().len() - 1].clone()
}

/// What a fixed batch reads and writes beside so many classes.
fn cost(classes: usize) -> super::super::Calls {
    let mut story = Story::new(k_and_l(2, 1), &settings(), finest());
    let sexes = (0..classes).flat_map(|number| [number, number, number]);
    let rows = sexes.zip(0..).map(|(number, place)| {
        row(
            id(1, place),
            ["a", "b", "c", "d", "e", "f"][number % 6],
            &format!("s{number}"),
            "flu",
        )
    });
    story.update(rows.collect(), &[]);
    let before = story.index.calls();
    let rows = (0..20).map(|place| row(id(2, place), "a", &format!("s{}", place / 2 * 6), "flu"));
    let rows: Vec<SeriesRow> = rows.chain([row(id(2, 20), "a", "new", "flu")]).collect();
    let step = story.update(rows, &[id(1, 0), id(1, 1), id(1, 2)]);
    assert_eq!((step.added.len(), step.withdrawn.len()), (20, 3));
    let after = story.index.calls();
    super::super::Calls {
        calls: after.calls - before.calls,
        classes_read: after.classes_read - before.classes_read,
        rows_read: after.rows_read - before.rows_read,
        classes_written: after.classes_written - before.classes_written,
        cells_written: after.cells_written - before.cells_written,
        rows_written: after.rows_written - before.rows_written,
    }
}

#[test]
fn the_cost_of_an_update_does_not_depend_on_the_table() {
    let small = cost(100);
    assert_eq!(small, cost(5000));
    assert!(small.rows_read < 100 && small.calls < 30, "{small:?}");
}
