//! Partitions as solutions of a front: what they release, and what that costs and keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::by_class;
use super::centroid;
use super::decode::everyone;
use super::distance::{LossKind, Space};
use super::extent::{Extent, Widths};
use super::methods::Candidate as Raw;
use super::partition::{Member, Members, Part, Partition};
use super::privacy_term::{Entropies, EntropyKind};
use super::published::join_alike;
use super::reading::Reading;
use super::record_linkage::distance_linkage;
use crate::anonymize::cells::Cells;
use crate::anonymize::classes::{ClassTable, Scratch};
use crate::anonymize::figures::Figures;
use crate::anonymize::policy::Policy;
use crate::anonymize::privacy::Criteria;
use crate::anonymize::report::{
    BothLosses, ClassesReport, DistanceLinkageReport, RecodingReport, Solution,
};
use crate::anonymize::rows::Rows;
use crate::anonymize::search::describing::{Describing, Member as Described};
use crate::anonymize::search::front::Candidate;
use crate::anonymize::utility::MOST_OBJECTIVES;
use crate::anonymize::{Error, Task, attack};
use crate::declaration::{Objective, Preset, Recoding, Representation};

/// What solutions of one task are described by.
pub(super) struct Describer<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) rows: &'a Rows<'a>,
    pub(super) reading: &'a Reading,
    pub(super) space: &'a Space<'a>,
    pub(super) subjects: u64,
    pub(super) k: u64,
}

/// A solution with the class of every row.
pub(super) struct Finished {
    pub(super) solution: Solution,
    pub(super) class_of: Arc<[u32]>,
    /// What is minimised, objective by objective.
    pub(super) costs: Vec<f64>,
    /// Whether something is released, no more rows are suppressed than may be, and a preset accepts it.
    pub(super) is_feasible: bool,
}

impl Describer<'_> {
    /// Describes a partition, its classes that bear the same texts joined.
    pub(super) fn finish(&self, raw: &Raw) -> Result<Finished, Error> {
        let Task {
            table,
            schema,
            demand,
            ..
        } = *self.task;
        let cell_of_row = &self.reading.cell_of_row;
        let class_of = raw.partition.class_of_rows(cell_of_row, demand.search.seed);
        let class_of = join_alike(table, schema, class_of, demand.representation())?;
        let (partition, class_of) = renumbered(cell_of_row, &class_of);
        let codes = by_class::codes(&class_of);
        let rows = by_class::rows(self.rows, &codes);
        let (criteria, needs) = Criteria::new(&demand.privacy, &rows);
        let (cells, cell_of_row) = Cells::build(&rows, &needs);
        let mut scratch = Scratch::default();
        let classes = ClassTable::group(&cells, &[0], &mut scratch);
        let released = classes.release(&cells, &criteria).released;
        let figures = Figures::new(&rows, &cell_of_row, &demand.privacy, demand.risk);
        let measured = self.measure(&partition, &released);
        let sizes = figures.sizes(&classes, &scratch);
        let kept = sizes.classes.iter().zip(&released);
        let kept = kept.filter(|&(_, &released)| released).map(|(&one, _)| one);
        let (records, squares) = kept.fold((0_u64, 0_u128), |(records, squares), (rows, size)| {
            (records + size, squares + u128::from(rows).pow(2))
        });
        let class_count = released.iter().filter(|&&released| released).count() as u64;
        let all = self.rows.rows as u64;
        let suppressed = all - measured.released_rows;
        let value = |&objective: &Objective| match objective {
            Objective::InformationLoss => {
                measured.loss(demand.search.clusters.loss.unwrap_or_default().into())
            }
            Objective::SensitiveEntropy => measured.entropy,
            Objective::Suppression => suppressed as f64 / all.max(1) as f64,
            Objective::Discernibility => squares as f64 + suppressed as f64 * all as f64,
            Objective::AverageClassSize => {
                let classes = class_count + u64::from(suppressed > 0);
                all as f64 / classes.max(1) as f64
            }
            Objective::AverageRisk if records > 0 => class_count as f64 / records as f64,
            Objective::AverageRisk => 1.0,
            // The others are refused for classes: no hierarchy and no level describes them.
            _ => measured.penalty,
        };
        let mut values = [0.0; MOST_OBJECTIVES];
        for (place, objective) in values.iter_mut().zip(&demand.objectives) {
            *place = value(objective);
        }
        let candidate = Candidate {
            policy: Policy::new([0]),
            keys: [0; MOST_OBJECTIVES],
            values,
            suppressed_rows: suppressed,
            core_suppressed_rows: 0,
            violation: 0,
        };
        let describing = Describing {
            demand,
            figures: &figures,
            population: demand.risk.and_then(|known| known.members(self.subjects)),
        };
        let report = self.report(&measured, raw, &partition, &released);
        let solution = describing.solution(Described {
            number: 0,
            candidate: &candidate,
            cells: &cells,
            table: &classes,
            scratch: &scratch,
            released: &released,
            recoding: match demand.recoding {
                Recoding::Microaggregation => RecodingReport::Microaggregation(report),
                _ => RecodingReport::Local(report),
            },
            utility: None,
        });
        let accepted = demand.preset.map_or(1.0, Preset::most_homogeneity);
        let costs = demand.objectives.iter().zip(values);
        let costs = costs.map(|(objective, value)| match objective {
            Objective::SensitiveEntropy => -value,
            _ => value,
        });
        Ok(Finished {
            costs: costs.collect(),
            is_feasible: measured.homogeneity.iter().all(|share| *share <= accepted)
                && class_count > 0
                && suppressed <= demand.suppression_limit.floor_of(all),
            solution,
            class_of: class_of.into(),
        })
    }

    fn report(
        &self,
        measured: &Measured,
        raw: &Raw,
        partition: &Partition,
        released: &[bool],
    ) -> ClassesReport {
        let representation = self.task.demand.representation();
        let named = |values: &[f64]| -> BTreeMap<String, f64> {
            let names = self.reading.sensitive.iter().cloned();
            names.zip(values.iter().copied()).collect()
        };
        let all_released = released.iter().all(|&released| released);
        // Whoever knows a row looks for the nearest of what was released; only centroids can be measured from.
        let linkage = (representation == Representation::Centroids && all_released).then(|| {
            let centers = centroid::centers(self.space, &partition.members(), None);
            let found = distance_linkage(self.space, partition, &centers, self.k);
            DistanceLinkageReport {
                below_k: found.below_k,
                own_class: found.own_class,
                success: found.success,
            }
        });
        ClassesReport {
            truthful: representation.is_truthful(),
            representation,
            information_loss: BothLosses {
                balanced: measured.loss(LossKind::Balanced),
                ratio: measured.loss(LossKind::Ratio),
            },
            certainty_penalty: measured.penalty,
            least_entropy: named(&measured.least_bits),
            homogeneity: named(&measured.homogeneity),
            skewness: named(&measured.skewness),
            lambdas: raw.lambdas.as_deref().map(named),
            distance_linkage: linkage,
        }
    }

    fn measure(&self, partition: &Partition, released: &[bool]) -> Measured {
        let (space, points) = (self.space, self.space.points);
        let members = partition.members();
        let sizes = members.sizes();
        let widths = Widths::of(points);
        let features = points.features.len();
        let whole = centroid::center(space, &everyone(points), None);
        let mut deviations = vec![0.0; features];
        let (mut penalty, mut rows) = (0.0, 0);
        let mut kept: Vec<&[Member]> = Vec::new();
        for ((members, &is_released), &size) in members.iter().zip(released).zip(&sizes) {
            // A suppressed row loses all: it is measured from the centre of all rows.
            let own = if is_released {
                kept.push(members);
                rows += size;
                let center = centroid::center(space, members, None);
                let penalties = Extent::of(points, members);
                penalty += size as f64 * penalties.penalties(points, &widths).sum::<f64>();
                space.deviations(members, center.site(0))
            } else {
                penalty += size as f64 * features as f64;
                space.deviations(members, whole.site(0))
            };
            for (sum, own) in deviations.iter_mut().zip(own) {
                *sum += own;
            }
        }
        let kept = Partition::of_members(kept).members();
        let (shares, bits) = (
            Entropies::of(points, &kept, true),
            Entropies::of(points, &kept, false),
        );
        let settings = &self.task.demand.search.clusters;
        let kind: EntropyKind = settings.entropy.unwrap_or_default().into();
        let ones = vec![1.0; points.sensitive.len()];
        let least_bits = if kept.is_empty() {
            vec![0.0; points.sensitive.len()]
        } else {
            bits.least()
        };
        Measured {
            losses: [LossKind::Balanced, LossKind::Ratio].map(|kind| space.loss(&deviations, kind)),
            penalty: penalty / (points.rows().max(1) as f64 * features.max(1) as f64),
            entropy: shares.term(&ones, kind),
            least_bits,
            homogeneity: bits.homogeneity(),
            skewness: skewness(self.space, &kept),
            released_rows: rows,
        }
    }
}

/// Share of rows above which a value of its own is told of a row's class.
const SKEWED: f64 = 0.5;

/// By sensitive attribute: share of rows whose own value makes up more than half of their class.
fn skewness(space: &Space<'_>, members: &Members) -> Vec<f64> {
    let attributes = space.points.sensitive.iter();
    attributes
        .map(|attribute| {
            let classes = (0..).zip(members.iter());
            let rows = classes.flat_map(|(class, members)| {
                let row = move |&(cell, rows): &Member| {
                    (class, attribute.codes[cell as usize], u64::from(rows))
                };
                members.iter().map(row)
            });
            attack::inference::Values::count(rows).skewness(SKEWED)
        })
        .collect()
}

/// Figures of released classes.
struct Measured {
    /// Balanced, then by ratio.
    losses: [f64; 2],
    /// Mean certainty penalty.
    penalty: f64,
    entropy: f64,
    least_bits: Vec<f64>,
    homogeneity: Vec<f64>,
    skewness: Vec<f64>,
    released_rows: u64,
}

impl Measured {
    fn loss(&self, kind: LossKind) -> f64 {
        match kind {
            LossKind::Balanced => self.losses[0],
            LossKind::Ratio => self.losses[1],
        }
    }
}

/// The partition of cells by the class of each row, and those classes by the numbers that it gives them.
fn renumbered(cell_of_row: &[u32], class_of: &[u32]) -> (Partition, Vec<u32>) {
    let rows = cell_of_row.iter().zip(class_of);
    let parts = rows.map(|(&cell, &class)| Part {
        cell,
        class,
        rows: 1,
    });
    let (partition, before) = Partition::renumbered(parts.collect());
    let last = before.iter().max().map_or(0, |&last| last as usize + 1);
    let mut number_of = vec![0; last];
    for (&before, number) in before.iter().zip(0..) {
        number_of[before as usize] = number;
    }
    let class_of = class_of.iter().map(|&class| number_of[class as usize]);
    (partition, class_of.collect())
}
