//! A series as a test tells it, with everything that a bystander could have written down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::super::rules::Broken;
use super::super::{
    ClassKey, CohortId, CutSet, Events, MemoryIndex, NodeKey, RowId, Rules, Score, SeriesRow,
    Settings, Shown, Standing, State, Step, Value, update,
};
use crate::anonymize::table::Schema;
use crate::anonymize::verify::VerificationFailure;
use crate::anonymize::verify::series::{Audit, History, Labels, audit, audit_subjects, check_step};
use crate::declaration::{DatasetDeclaration, Fraction, PrivacyModel};

/// Two attributes of small trees, a third with two levels, one sensitive attribute.
pub(super) fn schema() -> Schema {
    let rows = [
        ["a", "ab", "abc", "*"],
        ["b", "ab", "abc", "*"],
        ["c", "c", "abc", "*"],
        ["d", "de", "def", "*"],
        ["e", "de", "def", "*"],
        ["f", "f", "def", "*"],
    ];
    let body = json!({ "name": "test", "attributes": [
        { "name": "person", "role": "identifying", "subject": true },
        { "name": "letter", "role": "quasi_identifying", "hierarchy": { "kind": "table", "rows": rows } },
        { "name": "sex", "role": "quasi_identifying" },
        { "name": "note", "role": "insensitive" },
        { "name": "diagnosis", "role": "sensitive" },
    ]});
    let declaration = DatasetDeclaration::parse(&body).unwrap();
    Schema::compile(&declaration).unwrap()
}

pub(super) fn models(models: &Json) -> Vec<PrivacyModel> {
    serde_json::from_value(models.clone()).unwrap()
}

pub(super) fn k_and_l(k: u64, l: u64) -> Vec<PrivacyModel> {
    models(&json!([
        { "model": "k_anonymity", "k": k },
        { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": l },
    ]))
}

pub(super) fn settings() -> Settings {
    Settings {
        suppression_limit: Fraction::ONE,
        specialize_factor: 1000,
        max_pending: 1000,
        score: Score::Loss,
        target: None,
        guards_subjects: true,
    }
}

fn value(text: &str) -> Value {
    (!text.is_empty()).then(|| Arc::from(text))
}

pub(super) fn id(batch: u32, row: u32) -> RowId {
    RowId { batch, row }
}

/// A row of the schema above.
pub(super) fn row(id: RowId, letter: &str, sex: &str, diagnosis: &str) -> SeriesRow {
    SeriesRow {
        id,
        subject: None,
        quasi: [value(letter), value(sex)].into(),
        carried: [None, value(diagnosis)].into(),
    }
}

pub(super) fn key(labels: &[&str]) -> NodeKey {
    let labels: Vec<_> = labels
        .iter()
        .map(|label| Some((*label).to_owned()))
        .collect();
    NodeKey::of(&labels)
}

/// The cut at the values of both attributes.
pub(super) fn finest() -> CutSet {
    let letters = [
        key(&["*"]),
        key(&["abc", "*"]),
        key(&["def", "*"]),
        key(&["ab", "abc", "*"]),
        key(&["c", "abc", "*"]),
        key(&["de", "def", "*"]),
        key(&["f", "def", "*"]),
    ];
    CutSet {
        specialised: vec![letters.into(), [key(&["*"])].into()],
    }
}

/// What is known of a row.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) row: SeriesRow,
    /// Update that brought it, and update that erased it.
    pub(super) arrived: usize,
    pub(super) erased: Option<usize>,
    /// By release, its class.
    pub(super) shown: Vec<Option<ClassKey>>,
}

pub(super) struct Story {
    pub(super) schema: Schema,
    pub(super) models: Vec<PrivacyModel>,
    pub(super) rules: Rules,
    pub(super) index: MemoryIndex,
    pub(super) state: State,
    pub(super) rows: BTreeMap<RowId, Told>,
    pub(super) shown: BTreeMap<RowId, (ClassKey, CohortId)>,
    /// Update of each release.
    pub(super) releases: Vec<usize>,
    pub(super) updates: usize,
    pub(super) checked: Vec<Result<Vec<String>, VerificationFailure>>,
}

impl Story {
    pub(super) fn new(models: Vec<PrivacyModel>, settings: &Settings, cuts: CutSet) -> Self {
        let schema = schema();
        Self {
            rules: Rules::new(&schema, &models, settings),
            state: State {
                cuts,
                ..State::default()
            },
            schema,
            models,
            index: MemoryIndex::default(),
            rows: BTreeMap::new(),
            shown: BTreeMap::new(),
            releases: Vec::new(),
            updates: 0,
            checked: Vec::new(),
        }
    }

    pub(super) fn broken(mut self, broken: Broken) -> Self {
        self.rules.broken = Some(broken);
        self
    }

    pub(super) fn update(&mut self, added: Vec<SeriesRow>, erased: &[RowId]) -> Step {
        let known = added.iter().map(|row| (row.id, row.clone()));
        let known: BTreeMap<RowId, SeriesRow> = known.collect();
        let quasi = |id: &RowId| {
            let row = self.rows.get(id).map(|told| &told.row);
            Arc::clone(&row.or_else(|| known.get(id)).unwrap().quasi)
        };
        let events = Events {
            erased: erased.iter().map(|id| (*id, quasi(id))).collect(),
            added,
        };
        let before = self.state.counts;
        let (state, step) = update(&mut self.index, &self.state, &self.rules, events).unwrap();
        self.state = state;
        self.checked.push(check_step(
            &self.schema,
            &self.models,
            &step,
            &before,
            &self.state.counts,
        ));
        for row in known.into_values() {
            let told = Told {
                arrived: self.updates,
                erased: None,
                shown: vec![None; self.releases.len()],
                row,
            };
            self.rows.insert(told.row.id, told);
        }
        for id in erased {
            self.rows
                .get_mut(id)
                .unwrap()
                .erased
                .get_or_insert(self.updates);
        }
        self.note(&step);
        self.updates += 1;
        step
    }

    fn note(&mut self, step: &Step) {
        for id in &step.withdrawn {
            assert!(self.shown.remove(id).is_some(), "{id:?} was not shown");
        }
        for (from, now) in &step.moved {
            let Shown { row, class, cohort } = now;
            let before = self.shown.insert(row.id, (class.clone(), *cohort));
            assert_eq!(&before.unwrap().0, from);
        }
        for Shown { row, class, cohort } in &step.added {
            let before = self.shown.insert(row.id, (class.clone(), *cohort));
            assert!(before.is_none(), "{:?} was shown before", row.id);
        }
        if step.is_release {
            self.releases.push(self.updates);
            for (id, told) in &mut self.rows {
                told.shown
                    .push(self.shown.get(id).map(|(class, _)| class.clone()));
            }
        }
        assert_eq!(self.state.version as usize, self.releases.len());
    }

    /// The texts of every release.
    pub(super) fn histories(&self) -> Vec<History<'_>> {
        let texts = |class: &ClassKey| -> Labels { class.0.iter().map(NodeKey::label).collect() };
        let told = self.rows.values().map(|told| History {
            row: &told.row,
            shown: told
                .shown
                .iter()
                .map(|class| class.as_ref().map(texts))
                .collect(),
        });
        told.collect()
    }

    pub(super) fn audit(&self) -> Result<Audit, VerificationFailure> {
        audit(&self.schema, &self.models, &self.histories())
    }

    pub(super) fn audit_subjects(&self) -> Result<Audit, VerificationFailure> {
        audit_subjects(&self.schema, &self.models, &self.histories())
    }

    /// Rows shown now, by number within their batch.
    pub(super) fn shown_rows(&self) -> Vec<RowId> {
        self.shown.keys().copied().collect()
    }

    /// Every figure that the series keeps, counted anew from what the index holds.
    pub(super) fn check_figures(&self) {
        let mut nodes = vec![BTreeMap::<NodeKey, (u64, u64)>::new(); self.rules.hierarchies.len()];
        let mut of_class = BTreeMap::new();
        let (mut waiting, mut withheld) = (BTreeMap::<u32, u64>::new(), 0);
        let horizon = self.rules.overdue(self.state.updates);
        // A step does not tell of rows that stay where they are, and cohorts of subjects come apart under them.
        let told = |cohort: CohortId| (!self.rules.guards_subjects).then_some(cohort);
        let mut shown = BTreeSet::new();
        for cell in self.index.all_cells() {
            let figures: &mut (u64, u64, Option<u32>) = of_class.entry(cell.class).or_default();
            let rows = cell.rows.len() as u64;
            assert!(rows > 0 && cell.rows.is_sorted_by_key(|row| row.id));
            match cell.standing {
                Standing::Published(cohort) => {
                    figures.0 += rows;
                    shown.extend(
                        cell.rows
                            .iter()
                            .map(|row| (row.id, cell.class, told(cohort))),
                    );
                }
                Standing::Waiting { since } => {
                    figures.1 += rows;
                    figures.2 = Some(figures.2.map_or(since, |least| least.min(since)));
                    let slot = if since <= horizon { 0 } else { since };
                    *waiting.entry(slot).or_default() += rows;
                }
                Standing::Withheld(_) => withheld += rows,
            }
        }
        let mut numbers = BTreeMap::new();
        for class in self.index.all_classes() {
            let found = of_class.remove(&class.id).expect("a class has a cell");
            assert_eq!((class.rows, class.waiting, class.waiting_since), found);
            numbers.insert(class.key.clone(), class.id);
            if class.rows > 0 {
                for (nodes, node) in nodes.iter_mut().zip(class.key.0.iter()) {
                    let figures = nodes.entry(node.clone()).or_default();
                    figures.0 += 1;
                    figures.1 += u64::from(class.rows < self.rules.ample);
                }
            }
        }
        assert!(of_class.is_empty(), "cells without a class");
        let expected = self
            .shown
            .iter()
            .map(|(id, (key, cohort))| (*id, numbers[key], told(*cohort)));
        assert_eq!(shown, expected.collect());
        for (nodes, kept) in nodes.iter().zip(&self.state.nodes) {
            let held = kept.iter().filter(|(_, state)| state.classes > 0);
            let held =
                held.map(|(node, state)| (node.clone(), (state.classes, state.small_classes)));
            assert_eq!(*nodes, held.collect());
        }
        assert_eq!(self.state.waiting, waiting);
        let overdue = waiting.remove(&0).unwrap_or(0);
        let counts = self.state.counts;
        assert_eq!(
            counts.received,
            self.rows
                .values()
                .filter(|told| told.erased.is_none())
                .count() as u64
        );
        assert_eq!(counts.released, self.shown.len() as u64);
        assert_eq!(counts.pending, waiting.values().sum::<u64>());
        assert_eq!(counts.suppressed, overdue + withheld);
        let classes: BTreeSet<_> = self.shown.values().map(|(key, _)| key).collect();
        assert_eq!(counts.classes, classes.len() as u64);
    }
}
