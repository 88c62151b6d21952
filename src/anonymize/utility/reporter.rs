//! The measures of single policies, for reports: the same figures of every solution, whatever it was searched for.

use super::query_error::QueryError;
use super::sum_of_squares::SumOfSquares;
use super::{
    Measure, ambiguity, average_class_size, discernibility, divergence, information_gain, loss,
    non_uniform_entropy, precision,
};
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Wanted};
use crate::anonymize::report::Utility;
use crate::anonymize::rows::QuasiIdentifier;
use crate::declaration::{LossDemand, ReportedMeasure};

/// The measures over the given cells, unweighted.
#[derive(Debug)]
pub(crate) struct Reporter<'a> {
    cells: &'a Cells,
    loss: loss::Loss,
    discernibility: discernibility::Discernibility,
    average_class_size: average_class_size::AverageClassSize,
    non_uniform_entropy: non_uniform_entropy::NonUniformEntropy,
    precision: precision::Precision,
    ambiguity: ambiguity::Ambiguity,
    query_error: Option<QueryError<'a>>,
    sum_of_squares: Option<SumOfSquares<'a>>,
    information_gain: Option<information_gain::InformationGain>,
}

impl<'a> Reporter<'a> {
    /// With what is asked for besides; `seed` decides the queries of [`ReportedMeasure::QueryError`].
    pub(crate) fn new(cells: &'a Cells, more: &[ReportedMeasure], seed: u64) -> Self {
        let has = |measure: ReportedMeasure| more.contains(&measure);
        let attributes = cells.quasi_identifiers.iter();
        let heights: Vec<usize> = attributes.map(QuasiIdentifier::height).collect();
        let weights = vec![1.0; heights.len()];
        Self {
            cells,
            loss: loss::Loss::new(LossDemand::default(), &weights, cells),
            discernibility: discernibility::Discernibility::new(cells),
            average_class_size: average_class_size::AverageClassSize::new(cells),
            non_uniform_entropy: non_uniform_entropy::NonUniformEntropy::new(cells),
            precision: precision::Precision::new(&heights, &weights, cells.rows),
            ambiguity: ambiguity::Ambiguity::new(cells),
            query_error: has(ReportedMeasure::QueryError).then(|| QueryError::new(cells, seed)),
            sum_of_squares: has(ReportedMeasure::SumOfSquares).then(|| SumOfSquares::new(cells)),
            information_gain: cells
                .bottom
                .labels
                .as_ref()
                .map(|_| information_gain::InformationGain::new(cells)),
        }
    }

    /// The measures of one policy, of whose classes those given are released; `class_of` is the class of each cell. Cost:
    /// two passes over the classes, and what is asked for besides.
    pub(crate) fn report(
        &self,
        table: &ClassTable,
        released: &[bool],
        class_of: &[u32],
    ) -> Utility {
        let wanted = Wanted {
            leaves: true,
            nodes: true,
            volumes: true,
            sizes: true,
            labels: false,
            information: self.information_gain.is_some(),
        };
        let evaluation = table.total(self.cells, wanted, |class| released[class]);
        let value = |measure: &dyn Measure| measure.cost(&evaluation).value;
        let names = self.cells.quasi_identifiers.iter();
        let names = names.map(|attribute| attribute.name.clone());
        let losses = self.loss.by_attribute(&evaluation);
        Utility {
            granularity: names
                .zip(losses.into_iter().map(|loss| 1.0 - loss))
                .collect(),
            discernibility: value(&self.discernibility),
            discernibility_without_suppression: discernibility::without_suppression(&evaluation)
                as f64,
            average_class_size: value(&self.average_class_size),
            non_uniform_entropy: value(&self.non_uniform_entropy),
            precision: value(&self.precision),
            ambiguity: value(&self.ambiguity),
            information_gain: self.information_gain.as_ref().map(|measure| value(measure)),
            kl_divergence: divergence::kl_divergence(self.cells, table, released),
            query_error: self
                .query_error
                .as_ref()
                .and_then(|queries| queries.median(table, released)),
            sum_of_squares: self
                .sum_of_squares
                .as_ref()
                .map(|squares| squares.by_attribute(table, released, class_of)),
        }
    }
}
