//! Whether groups of rows satisfy the privacy models: asked of the one place that decides it for every release.

use std::collections::HashMap;

use super::SeriesRow;
use crate::anonymize::cells::Cells;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::rows::Rows;
use crate::anonymize::table::{Column, MISSING, Schema, Table};
use crate::declaration::{
    AttributeDeclaration, DatasetDeclaration, MissingSensitive, PrivacyModel, Role, ValueType,
};

/// The models that a series cannot promise, by position, and why.
///
/// The refinement rule needs of every model that it judges a group by itself and that the union of two groups that
/// satisfy it does. With a subject column a subject may have several rows, and then only bounds from below on numbers
/// of subjects and of values keep that.
#[must_use]
pub fn unsuitable(models: &[PrivacyModel], has_subject: bool) -> Vec<(usize, &'static str)> {
    let why = |model: &PrivacyModel| {
        match model {
        PrivacyModel::KAnonymity { .. }
        | PrivacyModel::MaximumRisk { .. }
        | PrivacyModel::DistinctLDiversity { .. } => None,
        PrivacyModel::EntropyLDiversity { .. }
        | PrivacyModel::RecursiveClDiversity { .. }
        | PrivacyModel::AlphaK { .. } => has_subject.then_some(
            "with a subject column, two groups that satisfy this model may fail it together, because a subject of \
             both counts once: a series cannot promise it for combinations of releases",
        ),
        PrivacyModel::TCloseness { .. }
        | PrivacyModel::BetaLikeness { .. }
        | PrivacyModel::DeltaDisclosure { .. } => Some(
            "this model compares with the distribution of the whole table, which every batch changes: a series cannot \
             promise it for releases that are already out",
        ),
        PrivacyModel::KMap { .. } | PrivacyModel::DeltaPresence { .. } => Some(
            "this model compares with another dataset, which may change: a series cannot promise it for releases that \
             are already out",
        ),
        PrivacyModel::AverageRisk { .. } => Some(
            "this model is a mean over all classes of one release: it says nothing of the difference between two",
        ),
    }
    };
    let faults = models.iter().enumerate();
    faults
        .filter_map(|(place, model)| Some((place, why(model)?)))
        .collect()
}

/// The models over the columns of a series.
#[derive(Debug)]
pub(super) struct Judge {
    models: Vec<PrivacyModel>,
    /// The number of a group as its only quasi-identifier, then the sensitive attributes.
    schema: Schema,
    /// Place of each sensitive attribute among the carried cells.
    carried: Vec<usize>,
}

impl Judge {
    /// Reads the sensitive attributes of a schema.
    pub(super) fn new(schema: &Schema, models: &[PrivacyModel]) -> Self {
        let mut group = AttributeDeclaration {
            name: "group".to_owned(),
            role: Role::QuasiIdentifying,
            subject: false,
            value_type: ValueType::Text,
            format: None,
            missing: Vec::new(),
            trim: false,
            order: None,
            hierarchy: None,
        };
        let attributes = schema.attributes();
        while attributes
            .iter()
            .any(|one| one.declaration.name == group.name)
        {
            group.name.push('\'');
        }
        let mut declared = vec![group];
        let mut carried = Vec::new();
        for (place, position) in carried_positions(schema).into_iter().enumerate() {
            let attribute = &attributes[position].declaration;
            if attribute.role == Role::Sensitive {
                declared.push(attribute.clone());
                carried.push(place);
            }
        }
        let declaration = DatasetDeclaration {
            name: "groups".to_owned(),
            attributes: declared,
            default_role: None,
            privacy_budget: None,
        };
        let schema = Schema::compile(&declaration)
            .expect("hierarchies that compiled once compile again, and the group has none");
        Self {
            models: models.to_vec(),
            schema,
            carried,
        }
    }

    /// Whether each group satisfies all models; one without rows does. Cost: that of grouping their rows once.
    pub(super) fn holds(&self, groups: &[Vec<&SeriesRow>]) -> Vec<bool> {
        if groups.iter().all(Vec::is_empty) {
            return vec![true; groups.len()];
        }
        let table = self.table(groups);
        let rows = Rows::of(&table, &self.schema).expect("the group has no hierarchy to miss");
        let (criteria, needs) = Criteria::new(&self.models, &rows);
        let (cells, cell_of_row) = Cells::build(&rows, &needs);
        let released = cells.bottom().release(&cells, &criteria).released;
        let mut next = 0;
        let verdicts = groups.iter().map(|group| {
            let first = cell_of_row.get(next);
            next += group.len();
            group.is_empty() || first.is_some_and(|&cell| released[cell as usize])
        });
        verdicts.collect()
    }

    fn table(&self, groups: &[Vec<&SeriesRow>]) -> Table {
        let has_subject = groups.iter().flatten().any(|row| row.subject.is_some());
        let present = vec![true; self.carried.len() + 1];
        let mut table = Table::with_columns(&present, has_subject);
        let mut columns: Vec<Column> = vec![Column::default(); present.len()];
        let mut subjects = Column::default();
        let mut numbers = HashMap::new();
        for (number, group) in groups.iter().enumerate() {
            let (first, others) = columns.split_at_mut(1);
            let code = first[0].dictionary.insert(&number.to_string());
            for row in group {
                first[0].codes.push(code);
                for (column, &place) in others.iter_mut().zip(&self.carried) {
                    let cell = row.carried.get(place).and_then(Option::as_deref);
                    let code = cell.map_or(MISSING, |cell| column.dictionary.insert(cell));
                    column.codes.push(code);
                }
                // A row without a subject among rows with one is a subject by itself.
                let subject = (row.subject, row.subject.is_none().then_some(row.id));
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                subjects.codes.push(*numbers.entry(subject).or_insert(next));
                table.rows += 1;
            }
        }
        if has_subject {
            for number in 0..numbers.len() {
                subjects.dictionary.insert(&number.to_string());
            }
            table.subjects = Some(subjects);
        }
        table.columns = columns.into_iter().map(Some).collect();
        table
    }

    /// The least number of subjects that a group which satisfies the models has; 1 if they imply none.
    pub(super) fn least_subjects(&self) -> u64 {
        let sizes = self.models.iter().filter_map(PrivacyModel::least_size);
        sizes.max().unwrap_or(1).max(1)
    }

    /// The least number of rows that a group which satisfies the models has; 1 if they imply none.
    pub(super) fn least_rows(&self) -> u64 {
        let least = |model: &PrivacyModel| match model {
            PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => *k,
            PrivacyModel::MaximumRisk { max } => max.least_inverse().unwrap_or(1),
            PrivacyModel::DistinctLDiversity { l, missing, .. }
            | PrivacyModel::RecursiveClDiversity { l, missing, .. } => match missing {
                MissingSensitive::Fails => *l,
                MissingSensitive::Exempt => 1,
            },
            PrivacyModel::EntropyLDiversity { l, missing, .. } => match missing {
                MissingSensitive::Fails => crate::anonymize::privacy::least_distinct(*l),
                MissingSensitive::Exempt => 1,
            },
            PrivacyModel::TCloseness { .. }
            | PrivacyModel::BetaLikeness { .. }
            | PrivacyModel::DeltaDisclosure { .. }
            | PrivacyModel::KMap { .. }
            | PrivacyModel::DeltaPresence { .. }
            | PrivacyModel::AverageRisk { .. } => 1,
        };
        self.models.iter().map(least).max().unwrap_or(1).max(1)
    }
}

/// Positions of the attributes whose cells a row carries, in order: sensitive and insensitive ones.
pub(super) fn carried_positions(schema: &Schema) -> Vec<usize> {
    let attributes = schema.attributes().iter().enumerate();
    let is_carried = |role: Role| matches!(role, Role::Sensitive | Role::Insensitive);
    attributes
        .filter(|(_, attribute)| is_carried(attribute.declaration.role))
        .map(|(position, _)| position)
        .collect()
}
