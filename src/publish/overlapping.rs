//! Earlier releases of the same rows: they and this one are successive releases of one table.

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use super::{Error, Plan};
use crate::anonymize::overlap::overlap;
use crate::anonymize::release::{self, Recipe, Rendered};
use crate::anonymize::report::RecodingReport;
use crate::anonymize::table::Table;
use crate::declaration::{PrivacyModel, RowOrder, SuppressedRows};
use crate::ingest::Warning;
use crate::job::{PageRequest, ReleaseConfiguration, ReleaseRecord};
use crate::store::Store;

/// Releases that one is combined with, newest first; beyond that nothing is compared.
const MOST: usize = 8;
/// Records that are looked through for them.
const RECORDS: u32 = 200;

/// An earlier release of the same rows: how they were recoded, and the models that decided what was left out.
pub(super) struct Earlier {
    recoding: RecodingReport,
    class_of: Arc<[u32]>,
    privacy: Vec<PrivacyModel>,
}

/// What else was released of a dataset.
pub(super) struct Others {
    /// Releases of the same rows that this one is combined with.
    releases: Vec<Earlier>,
    /// Releases that it cannot be combined with.
    apart: usize,
    /// Series.
    series: usize,
}

/// What else was released of the dataset.
///
/// Releases of other batches, of rows that were erased since, under a model that compares with another dataset, and those
/// beyond a number are only counted.
pub(super) async fn others(
    store: &Store,
    plan: &Plan,
    job_id: Uuid,
    through_batch: u32,
) -> Result<Others, crate::store::Error> {
    let page = PageRequest {
        limit: RECORDS,
        cursor: None,
    };
    let records = store.list_releases(Some(plan.dataset_id), &page).await?;
    let series = store.list_series(Some(plan.dataset_id), &page).await?;
    let mut seen = BTreeSet::from([recoded(job_id, &plan.solution.recoding)]);
    let mut others = Others {
        releases: Vec::new(),
        apart: 0,
        series: series.items.len(),
    };
    let rows = plan.solution.released_rows + plan.solution.suppressed_rows;
    for record in records.items {
        if record.series.is_some() {
            continue;
        }
        let last = record.batches.iter().map(|batch| batch.sequence).max();
        let is_of_same_rows = last == Some(through_batch) && record.rows_in == rows;
        let is_of_same_rows = is_of_same_rows && plan.sees_rows_of(&record);
        if is_of_same_rows && !seen.insert(recoded(record.job_id, &record.recoding)) {
            continue;
        }
        let privacy = models(&record).filter(|_| is_of_same_rows && others.releases.len() < MOST);
        let class_of = match &privacy {
            Some(_) => classes_again(store, &record).await?,
            None => None,
        };
        match privacy.zip(class_of) {
            Some((privacy, class_of)) => others.releases.push(Earlier {
                recoding: record.recoding,
                class_of,
                privacy,
            }),
            None => others.apart += 1,
        }
    }
    Ok(others)
}

/// The class of every row of an earlier release of classes, empty of a policy; `None` where it is forgotten.
async fn classes_again(
    store: &Store,
    record: &ReleaseRecord,
) -> Result<Option<Arc<[u32]>>, crate::store::Error> {
    let (Some(_), Some(solution_id)) = (record.recoding.classes(), record.solution_id) else {
        return Ok(Some(Arc::default()));
    };
    let stored = store.partition(record.dataset_id, record.job_id, solution_id);
    match stored.await {
        Ok(class_of) => Ok(Some(class_of.into())),
        Err(crate::store::Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The models of a release that can be rendered again from its record.
fn models(record: &ReleaseRecord) -> Option<Vec<PrivacyModel>> {
    let ReleaseConfiguration::Solution { demand, .. } = &record.configuration else {
        return None;
    };
    let compares = |model: &PrivacyModel| {
        matches!(
            model,
            PrivacyModel::KMap { .. } | PrivacyModel::DeltaPresence { .. }
        )
    };
    let is_complete = !demand.privacy.iter().any(compares);
    is_complete.then(|| demand.privacy.clone())
}

/// What tells how rows are recoded: the policy, or whose classes they are.
fn recoded(job_id: Uuid, recoding: &RecodingReport) -> String {
    let policy = serde_json::to_string(recoding).unwrap_or_default();
    match recoding.classes() {
        Some(_) => format!("{job_id} {policy}"),
        None => policy,
    }
}

/// The fewest subjects that a class which satisfies the model can have.
fn least(model: &PrivacyModel) -> u64 {
    let values = match model {
        PrivacyModel::DistinctLDiversity { l, .. }
        | PrivacyModel::RecursiveClDiversity { l, .. } => *l,
        _ => 1,
    };
    model.least_size().unwrap_or(values)
}

impl Plan {
    /// Whether a release was made of the same cells: perturbed ones are those of one job alone.
    fn sees_rows_of(&self, record: &ReleaseRecord) -> bool {
        let ReleaseConfiguration::Solution { demand, .. } = &record.configuration else {
            return false;
        };
        match (&self.demand.perturbation, &demand.perturbation) {
            (None, None) => true,
            (Some(_), Some(_)) => record.job_id == self.release.job_id,
            _ => false,
        }
    }

    /// Combines this release with earlier ones; warns where groups can be told apart that are smaller than asked.
    pub(super) fn overlap(
        &self,
        table: &Table,
        rendered: &Rendered,
        others: &Others,
    ) -> Result<Option<Warning>, Error> {
        if others.releases.is_empty() {
            return Ok(None);
        }
        // Below two there is nobody to hide among.
        let k = self.demand.privacy.iter().map(least).max().unwrap_or(1);
        let k = k.max(2);
        let mut releases = vec![rendered.clone()];
        for one in &others.releases {
            let recipe = Recipe {
                recoding: one.recoding.recoded_by(&one.class_of),
                privacy: &one.privacy,
                row_order: RowOrder::Input,
                seed: 0,
                columns: None,
                suppressed_rows: SuppressedRows::Omit,
            };
            releases.push(release::render(table, &self.schema, &recipe).map_err(Error::Render)?);
        }
        let found = overlap(table, &self.schema.quasi_identifiers(), &releases, k);
        if found.small_groups == 0 {
            return Ok(None);
        }
        let who = if table.subjects.is_some() {
            "subjects"
        } else {
            "rows"
        };
        let detail = format!(
            "combined with {} earlier releases of the same rows, {} of {} groups that can be told \
             apart have fewer than {k} {who}, the smallest {}: whoever holds several of them knows more than each tells",
            others.releases.len(),
            found.small_groups,
            found.groups,
            found.least,
        );
        Ok(Some(warning(detail)))
    }
}

impl Others {
    /// What this release is not compared with.
    pub(super) fn warnings(&self) -> impl Iterator<Item = Warning> + use<> {
        let (apart, series) = (self.apart, self.series);
        let apart = (apart > 0).then(|| {
            warning(format!(
                "{apart} earlier releases hold rows of this dataset as it was at another time, or cannot be made again: what \
                 they and this one tell together is not measured. Releases of data that grow are safe against each other \
                 as those of a series"
            ))
        });
        let series = (series > 0).then(|| {
            warning(format!(
                "{series} series release rows of this dataset over and over: this release is not compared with theirs, and \
                 what a series promises is promised of its own releases only"
            ))
        });
        apart.into_iter().chain(series)
    }
}

fn warning(detail: String) -> Warning {
    Warning {
        code: "releases_overlap".to_owned(),
        detail,
        column: None,
    }
}
