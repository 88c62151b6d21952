//! The worked examples: a newcomer alone, a split that a cohort forbids, an erasure.

use serde_json::json;

use super::super::CutSet;
use super::super::unsuitable;
use super::story::{Story, finest, id, k_and_l, key, models, row, schema, settings};
use crate::anonymize::cells::Cells;
use crate::anonymize::privacy::{Criteria, Rule};
use crate::anonymize::rows::Rows;
use crate::anonymize::table::{BlockBuilder, Table};

// algorithms.md F 31.
#[test]
fn a_newcomer_alone_waits_for_another() {
    let mut story = Story::new(k_and_l(2, 2), &settings(), finest());
    let first = ["flu", "flu", "asthma"];
    let rows = first
        .iter()
        .zip(0..)
        .map(|(value, place)| row(id(1, place), "a", "F", value));
    assert!(story.update(rows.collect(), &[]).is_release);
    let step = story.update(vec![row(id(2, 0), "a", "F", "cancer")], &[]);
    assert!(!step.is_release && step.added.is_empty());
    assert_eq!((story.state.counts.pending, story.state.version), (1, 1));
    // Its own diagnosis again: two rows, but one value.
    let step = story.update(vec![row(id(3, 0), "a", "F", "cancer")], &[]);
    assert!(!step.is_release);
    let step = story.update(vec![row(id(4, 0), "a", "F", "flu")], &[]);
    assert_eq!(step.added.len(), 3);
    assert_eq!((story.state.counts.pending, story.state.version), (0, 2));
    assert_eq!(story.audit().unwrap().k, 3);
    story.check_figures();
}

// user-cases.md, appendix 12.
#[test]
fn uc_62_a_row_is_held_until_the_difference_satisfies_the_models() {
    let models = models(&json!([{ "model": "k_anonymity", "k": 2 }]));
    let mut story = Story::new(models, &settings(), finest());
    let rows = vec![
        row(id(1, 0), "d", "F", "flu"),
        row(id(1, 1), "d", "F", "asthma"),
    ];
    story.update(rows, &[]);
    let step = story.update(vec![row(id(2, 0), "d", "F", "hiv")], &[]);
    assert!(!step.is_release);
    assert_eq!(story.state.counts.pending, 1);
    assert_eq!(story.shown_rows(), [id(1, 0), id(1, 1)]);
    let step = story.update(vec![row(id(3, 0), "d", "F", "copd")], &[]);
    let added: Vec<_> = step.added.iter().map(|shown| shown.row.id).collect();
    assert_eq!(added, [id(2, 0), id(3, 0)]);
    assert_eq!(
        (story.state.counts.released, story.state.counts.pending),
        (4, 0)
    );
    assert_eq!(story.state.counts.classes, 1);
    let audit = story.audit().unwrap();
    assert_eq!((audit.releases, audit.k), (2, 2));
}

// algorithms.md F 32.
#[test]
fn a_split_that_leaves_one_row_of_a_cohort_alone_is_refused() {
    let ab = key(&["ab", "abc", "*"]);
    let cuts = CutSet {
        specialised: vec![
            [key(&["*"]), key(&["abc", "*"])].into(),
            [key(&["*"])].into(),
        ],
    };
    // Six rows are not ample yet, ten are.
    let mut demand = settings();
    demand.specialize_factor = 4;
    let tell = |old: [&str; 6], new: [&str; 4]| {
        let models = models(&json!([{ "model": "k_anonymity", "k": 2 }]));
        let mut story = Story::new(models, &demand, cuts.clone());
        for (letters, batch) in [(old.as_slice(), 1), (&new, 2)] {
            let rows = letters.iter().zip(0..);
            let rows = rows.map(|(letter, place)| row(id(batch, place), letter, "F", "flu"));
            story.update(rows.collect(), &[]);
        }
        assert_eq!(story.state.counts.released, 10);
        story.check_figures();
        story.audit().unwrap();
        let is_split = story.state.cuts.specialised[0].contains(&ab);
        let blocked = story.state.nodes[0].get(&ab).map(|node| node.blocked);
        assert_eq!(blocked, (!is_split).then_some(true));
        is_split
    };
    let a5 = ["a", "a", "a", "a", "a", "b"];
    assert!(!tell(a5, ["a", "b", "b", "b"]));
    // The old ones could be told apart; the new one of `a` could not.
    let a4 = ["a", "a", "a", "a", "b", "b"];
    assert!(!tell(a4, ["a", "b", "b", "b"]));
    assert!(tell(a4, ["a", "a", "b", "b"]));
    assert!(tell(a4, ["b", "b", "b", "b"]));
}

// algorithms.md F 33.
#[test]
fn of_four_rows_one_cannot_leave_by_itself() {
    let models = models(&json!([{ "model": "k_anonymity", "k": 2 }]));
    let mut story = Story::new(models, &settings(), finest());
    let rows = (0..4).map(|place| row(id(1, place), "a", "F", "flu"));
    story.update(rows.collect(), &[]);
    let step = story.update(Vec::new(), &[id(1, 2)]);
    assert!(step.is_release);
    assert_eq!(step.withdrawn.len(), 4);
    assert_eq!(story.state.counts.suppressed, 3);
    story.check_figures();
    story.audit().unwrap();
    // The rest never comes back, and another erasure harms nobody.
    let rows = (0..4).map(|place| row(id(2, place), "a", "F", "flu"));
    let step = story.update(rows.collect(), &[id(1, 0)]);
    assert_eq!((step.added.len(), step.withdrawn.len()), (4, 0));
    assert_eq!(story.state.counts.suppressed, 2);
    // Two of four may leave.
    let step = story.update(Vec::new(), &[id(2, 0), id(2, 1)]);
    assert_eq!((step.withdrawn.len(), step.stayed.len()), (2, 2));
    assert_eq!(story.state.counts.released, 2);
    // All of a class, waiting ones with it: it is gone.
    story.update(Vec::new(), &[id(2, 2), id(2, 3), id(1, 1), id(1, 3)]);
    assert_eq!(story.index.all_classes().count(), 0);
    story.check_figures();
    story.audit().unwrap();
}

#[test]
fn rows_that_wait_for_long_are_suppressed_or_make_the_cut_coarser() {
    let models = models(&json!([{ "model": "k_anonymity", "k": 2 }]));
    let mut demand = settings();
    demand.max_pending = 1;
    let tell = |demand: &super::super::Settings| {
        let mut story = Story::new(models.clone(), demand, finest());
        let mut rows: Vec<_> = (0..6)
            .map(|place| row(id(1, place), "d", "F", "flu"))
            .collect();
        rows.push(row(id(1, 6), "a", "F", "flu"));
        rows.push(row(id(1, 7), "b", "F", "flu"));
        story.update(rows, &[]);
        assert_eq!(
            (story.state.counts.pending, story.state.counts.suppressed),
            (2, 0)
        );
        let step = story.update(vec![row(id(2, 0), "f", "M", "flu")], &[]);
        story.check_figures();
        story.audit().unwrap();
        (story, step)
    };
    // Uniting `a` and `b` costs nothing that is released and publishes both.
    let (story, step) = tell(&demand);
    assert_eq!(step.generalised, [(0, key(&["ab", "abc", "*"]))]);
    assert_eq!((step.added.len(), story.state.counts.suppressed), (2, 0));
    // Patience: nothing happens.
    demand.max_pending = 2;
    let (story, step) = tell(&demand);
    assert!(step.generalised.is_empty());
    assert_eq!(story.state.counts.pending, 3);
}

#[test]
fn too_many_suppressed_rows_make_the_cut_coarser_whatever_it_costs() {
    let models = models(&json!([{ "model": "k_anonymity", "k": 2 }]));
    let tell = |limit: f64| {
        let mut demand = settings();
        demand.max_pending = 0;
        demand.suppression_limit = crate::declaration::Fraction::new(limit).unwrap();
        let mut story = Story::new(models.clone(), &demand, finest());
        let mut rows: Vec<_> = (0..20)
            .map(|place| row(id(1, place), "a", "F", "flu"))
            .collect();
        rows.extend((20..40).map(|place| row(id(1, place), "e", "F", "flu")));
        rows.push(row(id(1, 40), "b", "F", "flu"));
        rows.push(row(id(1, 41), "d", "M", "flu"));
        let step = story.update(rows, &[]);
        story.check_figures();
        story.audit().unwrap();
        (story.state.counts, step)
    };
    // 2 of 42 rows are below 5 %; to unite half the table for them is dearer.
    let (counts, step) = tell(0.05);
    assert_eq!((counts.suppressed, counts.released), (2, 40));
    assert!(step.generalised.is_empty());
    let (counts, step) = tell(0.02);
    assert_eq!((counts.suppressed, counts.released), (0, 42));
    assert!(!step.generalised.is_empty());
}

#[test]
fn models_that_a_series_cannot_promise_are_named() {
    let list = json!([
        { "model": "k_anonymity", "k": 2 },
        { "model": "maximum_risk", "max": 0.2 },
        { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 },
        { "model": "entropy_l_diversity", "attribute": "diagnosis", "l": 2 },
        { "model": "recursive_cl_diversity", "attribute": "diagnosis", "c": 2, "l": 2 },
        { "model": "alpha_k", "attribute": "diagnosis", "alpha": 0.5, "k": 2 },
        { "model": "t_closeness", "attribute": "diagnosis", "t": 0.2, "distance": "equal" },
        { "model": "beta_likeness", "attribute": "diagnosis", "beta": 1 },
        { "model": "delta_disclosure", "attribute": "diagnosis", "delta": 1 },
        { "model": "average_risk", "max": 0.2 },
    ]);
    let models = models(&list);
    let places = |has_subject| -> Vec<usize> {
        unsuitable(&models, has_subject)
            .iter()
            .map(|(place, _)| *place)
            .collect()
    };
    assert_eq!(places(false), [6, 7, 8, 9]);
    assert_eq!(places(true), [3, 4, 5, 6, 7, 8, 9]);
    // What is left is closed under union by what the criteria say of themselves.
    for has_subject in [false, true] {
        let schema = schema();
        let mut table = Table::with_columns(&schema.releasable(), has_subject);
        let mut builder = BlockBuilder::new(5);
        for column in 0..5 {
            builder.push(column, Some("a"));
        }
        let block = builder.finish();
        table.rows = 1;
        for (column, cells) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(cells);
            }
        }
        if let Some(subjects) = &mut table.subjects {
            subjects.append(&block.columns[0]);
        }
        let rows = Rows::of(&table, &schema).unwrap();
        let refused = places(has_subject);
        let (criteria, needs) = Criteria::new(&models, &rows);
        let _ = Cells::build(&rows, &needs);
        for (place, rule) in criteria.rules().iter().enumerate() {
            if !refused.contains(&place) {
                assert!(matches!(rule, Rule::Class(criterion) if criterion.merge_closed()));
            }
        }
    }
}
