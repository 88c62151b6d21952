//! The privacy models of a demand as a condition on any set of cells, judged by the criteria that judge every other class.

use super::partition::Member;
use super::points::Points;
use crate::anonymize::cells::Needs;
use crate::anonymize::classes::histograms::Histograms;
use crate::anonymize::classes::sets::CappedSets;
use crate::anonymize::classes::{ClassTable, Diversity};
use crate::anonymize::order::Ranks;
use crate::anonymize::privacy::{Criteria, Judging};
use crate::anonymize::rows::Rows;
use crate::anonymize::table::MISSING;
use crate::declaration::{PrivacyModel, Reference};

/// One sensitive attribute, by cell.
struct Sensitive {
    /// Value code.
    codes: Vec<u32>,
    /// Place of the value in the attribute's order; missing is the last.
    ranks: Vec<u32>,
    /// Number of values.
    values: usize,
    missing: u32,
}

/// Judges sets of cells; a cell's rows agree in all quasi-identifiers, sensitive values and, where declared, the subject.
pub(crate) struct ClassJudge {
    criteria: Criteria,
    needs: Needs,
    subjects: Option<Vec<u32>>,
    sensitive: Vec<Sensitive>,
    is_size_only: bool,
}

impl ClassJudge {
    /// Of the rows of the points' cells. What models ask of whole tables is asked of every class: closeness to what is
    /// released as closeness to the input, which is the same where nothing is suppressed, and a mean risk as a risk.
    pub(crate) fn new(
        privacy: &[PrivacyModel],
        rows: &Rows<'_>,
        points: &Points,
        cell_of_row: &[u32],
    ) -> Self {
        let of_classes: Vec<PrivacyModel> = privacy.iter().cloned().map(of_classes).collect();
        let (criteria, needs) = Criteria::new(&of_classes, rows);
        let by_cell = |of_row: &dyn Fn(usize) -> u32| -> Vec<u32> {
            let mut found = vec![0; points.len()];
            for (row, &cell) in cell_of_row.iter().enumerate() {
                found[cell as usize] = of_row(row);
            }
            found
        };
        let sensitive = rows.sensitive.iter().map(|attribute| {
            let ranks = Ranks::of(attribute);
            let codes = by_cell(&|row| attribute.column.codes[row]);
            Sensitive {
                ranks: codes
                    .iter()
                    .map(|&code| ranks.rank_of[code as usize])
                    .collect(),
                values: attribute.column.dictionary.len(),
                missing: ranks.missing(),
                codes,
            }
        });
        Self {
            subjects: rows.subjects.map(|subjects| by_cell(&|row| subjects[row])),
            sensitive: sensitive.collect(),
            is_size_only: criteria.least_size().is_some() && rows.subjects.is_none(),
            criteria,
            needs,
        }
    }

    /// Whether nothing but the number of rows is asked for.
    pub(crate) fn is_size_only(&self) -> bool {
        self.is_size_only
    }

    /// Whether a class of these rows meets every model. Cost: a sort of the members.
    pub(crate) fn ok(&self, members: &[Member]) -> bool {
        let table = self.table(members);
        self.criteria.ok(&table.view(0), &mut Judging::default())
    }

    /// Whether a class of these rows meets the models that no merge breaks.
    pub(crate) fn core_ok(&self, members: &[Member]) -> bool {
        let table = self.table(members);
        self.criteria
            .core_ok(&table.view(0), &mut Judging::default())
    }

    fn table(&self, members: &[Member]) -> ClassTable {
        let rows: u64 = members.iter().map(|&(_, rows)| u64::from(rows)).sum();
        let cells = || members.iter().map(|&(cell, _)| cell as usize);
        let subjects = self.subjects.as_ref().filter(|_| self.needs.subjects > 0);
        let subjects = subjects.map(|subjects| {
            let elements = cells().map(|cell| subjects[cell]);
            one_set(self.needs.subjects, elements)
        });
        let attributes = || self.sensitive.iter().enumerate();
        let diversity = attributes().map(|(slot, attribute)| {
            let cap = self.needs.values.get(slot).copied().unwrap_or(0);
            let codes = cells().map(|cell| attribute.codes[cell]);
            match cap {
                0 => Diversity::Unknown,
                _ if attribute.values <= 64 => {
                    let bits = codes.map(|code| code.checked_sub(1).map_or(0, |bit| 1_u64 << bit));
                    Diversity::Mask(vec![bits.fold(0, |mask, bit| mask | bit)])
                }
                _ => Diversity::Sets(one_set(cap, codes.filter(|&code| code != MISSING))),
            }
        });
        let histograms = attributes().map(|(slot, attribute)| {
            let is_wanted = self.needs.histograms.get(slot).copied().unwrap_or(false);
            is_wanted.then(|| self.histogram(attribute, members))
        });
        ClassTable::single(
            u32::try_from(rows).unwrap_or(u32::MAX),
            subjects,
            diversity.collect(),
            histograms.collect(),
        )
    }

    fn histogram(&self, attribute: &Sensitive, members: &[Member]) -> Histograms {
        let ranks = members
            .iter()
            .map(|&(cell, rows)| (attribute.ranks[cell as usize], rows));
        let Some(subjects) = &self.subjects else {
            let mut counts = vec![0; attribute.missing as usize + 1];
            for (rank, rows) in ranks {
                counts[rank as usize] += rows;
            }
            return Histograms::single(counts);
        };
        let of_members: Vec<u32> = members
            .iter()
            .map(|&(cell, _)| subjects[cell as usize])
            .collect();
        Histograms::from_rows(1, ranks.map(|(rank, _)| (0, rank)), Some(&of_members))
    }
}

fn one_set(cap: u64, elements: impl Iterator<Item = u32>) -> CappedSets {
    let mut pairs: Vec<(u32, u32)> = elements.map(|element| (0, element)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    CappedSets::from_pairs(cap, 1, &pairs, |_| false)
}

fn of_classes(model: PrivacyModel) -> PrivacyModel {
    match model {
        PrivacyModel::TCloseness {
            attribute,
            t,
            distance,
            ..
        } => PrivacyModel::TCloseness {
            attribute,
            t,
            distance,
            reference: Reference::Input,
        },
        PrivacyModel::AverageRisk { max } => PrivacyModel::MaximumRisk { max },
        model => model,
    }
}
