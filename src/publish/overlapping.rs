//! Earlier releases of the same rows under other policies: they and this one are successive releases of one table.

use std::collections::BTreeSet;

use super::{Error, Plan};
use crate::anonymize::overlap::overlap;
use crate::anonymize::release::{self, Recipe, Rendered};
use crate::anonymize::report::RecodingReport;
use crate::anonymize::table::Table;
use crate::declaration::{PrivacyModel, RowOrder, SuppressedRows};
use crate::ingest::Warning;
use crate::job::{PageRequest, ReleaseConfiguration, ReleaseRecord};
use crate::store::Store;

/// Policies that a release is combined with, newest first; beyond that nothing is compared.
const MOST: usize = 8;
/// Records that are looked through for them.
const RECORDS: u32 = 200;

/// A policy that the same rows were released under, and the models that decided what was left out.
pub(super) struct Earlier {
    recoding: RecodingReport,
    privacy: Vec<PrivacyModel>,
}

/// The policies of earlier releases of the same rows, and how many series the dataset has.
///
/// A release of other batches, of a series, of classes without a policy or under a model that compares with another
/// dataset is not among them.
pub(super) async fn earlier(
    store: &Store,
    plan: &Plan,
    through_batch: u32,
) -> Result<(Vec<Earlier>, usize), crate::store::Error> {
    let page = PageRequest {
        limit: RECORDS,
        cursor: None,
    };
    let records = store.list_releases(Some(plan.dataset_id), &page).await?;
    let series = store.list_series(Some(plan.dataset_id), &page).await?;
    let mut seen = BTreeSet::from([policy(&plan.solution.recoding)]);
    let mut found = Vec::new();
    for record in records.items {
        let rows = plan.solution.released_rows + plan.solution.suppressed_rows;
        let last = record.batches.iter().map(|batch| batch.sequence).max();
        let is_of_same_rows = last == Some(through_batch) && record.rows_in == rows;
        let Some(privacy) = models(&record).filter(|_| is_of_same_rows) else {
            continue;
        };
        if found.len() < MOST && seen.insert(policy(&record.recoding)) {
            found.push(Earlier {
                recoding: record.recoding,
                privacy,
            });
        }
    }
    Ok((found, series.items.len()))
}

/// The models of a release that can be rendered again from its record.
fn models(record: &ReleaseRecord) -> Option<Vec<PrivacyModel>> {
    let ReleaseConfiguration::Solution { demand, .. } = &record.configuration else {
        return None;
    };
    let is_policy = matches!(
        record.recoding,
        RecodingReport::FullDomain { .. } | RecodingReport::Subtree { .. }
    );
    let compares = |model: &PrivacyModel| {
        matches!(
            model,
            PrivacyModel::KMap { .. } | PrivacyModel::DeltaPresence { .. }
        )
    };
    let is_complete = is_policy && !demand.privacy.iter().any(compares);
    is_complete.then(|| demand.privacy.clone())
}

fn policy(recoding: &RecodingReport) -> String {
    serde_json::to_string(recoding).unwrap_or_default()
}

impl Plan {
    /// Combines this release with earlier ones; warns where groups can be told apart that are smaller than asked.
    pub(super) fn overlap(
        &self,
        table: &Table,
        rendered: &Rendered,
        earlier: &[Earlier],
    ) -> Result<Option<Warning>, Error> {
        let k = self.demand.privacy.iter().filter_map(|model| match model {
            PrivacyModel::KAnonymity { k } | PrivacyModel::AlphaK { k, .. } => Some(*k),
            PrivacyModel::MaximumRisk { max } => max.least_inverse(),
            _ => None,
        });
        let Some(k) = k.max().filter(|_| !earlier.is_empty()) else {
            return Ok(None);
        };
        let mut releases = vec![rendered.clone()];
        for one in earlier {
            let recipe = Recipe {
                recoding: one.recoding.recoded(),
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
            "combined with {} earlier releases of the same rows under other policies, {} of {} groups that can be told \
             apart have fewer than {k} {who}, the smallest {}: whoever holds several of them knows more than each tells",
            earlier.len(),
            found.small_groups,
            found.groups,
            found.least,
        );
        Ok(Some(warning(detail)))
    }
}

/// Of a dataset with series: what these release is not compared.
pub(super) fn beside_series(series: usize) -> Option<Warning> {
    let detail = format!(
        "{series} series release rows of this dataset over and over: this release is not compared with theirs, and what a \
         series promises is promised of its own releases only"
    );
    (series > 0).then(|| warning(detail))
}

fn warning(detail: String) -> Warning {
    Warning {
        code: "releases_overlap".to_owned(),
        detail,
        column: None,
    }
}
