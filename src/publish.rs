//! Makes a release: loads the rows, renders, verifies, stages. Whoever asked commits it in a transaction of its own.
//!
//! A release passes two checks. The verifier regroups the rendered texts by code of its own; and what it counts must be
//! what the search promised for the solution, or one of the two is wrong and nothing leaves. The CSV form is hashed
//! block by block while the blocks are staged, by the writer that later serves it.

mod chosen;
mod classes;
mod digests;
mod overlapping;
mod perturbed;
mod staged;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::anonymize::identifiers::{self, Tokens};
use crate::anonymize::perturbation;
use crate::anonymize::release::{self, Recipe, Rendered};
use crate::anonymize::report::Solution;
use crate::anonymize::table::{Schema, Table};
use crate::anonymize::verify::{self, Verification, VerificationFailure};
use crate::declaration::{Demand, Identifiers, Perturbation, ReleaseDemand};
use crate::fault::Fault;
use crate::ingest::Warning;
use crate::job::{BatchRecord, JobSpec, ReleaseConfiguration, ReleaseRecord};
use crate::pool::CpuPool;
use crate::store::{ReleaseDraft, SearchedRows, Store, StoredFront};
use crate::vault::{IdentifierKey, TokenScope};

use chosen::chosen_columns;
pub(crate) use classes::class_of;
pub(crate) use digests::{configuration_digest, hierarchy_digests};
use overlapping::Others;
pub(crate) use staged::{CsvDigest, column_names, give_up, stage};

/// Why there is no release.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The verifier refused it; nothing is stored.
    #[error(transparent)]
    Verification(#[from] VerificationFailure),
    /// A column that cannot be released, or is not there, was asked for.
    #[error("the release cannot be made as asked")]
    Faults(Vec<Fault>),
    /// The rows could not be recoded.
    #[error("the release could not be rendered")]
    Render(#[source] crate::anonymize::Error),
    /// The store.
    #[error("the release could not be stored")]
    Store(#[source] crate::store::Error),
    /// The work panicked.
    #[error(transparent)]
    Panicked(#[from] crate::pool::Panicked),
}

/// What is released of what, put together once and shared with the CPU threads.
struct Plan {
    schema: Schema,
    dataset_id: Uuid,
    dataset_name: String,
    demand: Demand,
    release: ReleaseDemand,
    solution: Solution,
    /// The class of every row, of a solution of classes.
    class_of: Arc<[u32]>,
    columns: Option<Vec<String>>,
    /// Positions of identifiers that tokens stand for.
    identifiers: Vec<usize>,
}

/// A release that passed its checks and is staged.
struct Staged {
    draft: ReleaseDraft,
    rendered: Arc<Rendered>,
    verification: Verification,
    warnings: Vec<Warning>,
    csv: CsvDigest,
}

/// Renders, verifies and stages a release of one solution of a front.
///
/// # Errors
/// See [`Error`]; nothing stays staged then.
pub async fn publish(
    store: &Store,
    pool: &CpuPool,
    front: &StoredFront,
    solution: &Solution,
    demand: &ReleaseDemand,
) -> Result<(ReleaseDraft, ReleaseRecord), Error> {
    let JobSpec::Search {
        demand: asked,
        through_batch,
        declaration,
        populations,
    } = &front.spec
    else {
        return Err(Error::Store(crate::store::Error::FrontNotReady));
    };
    let schema = Schema::compile(declaration).map_err(|_| {
        Error::Store(crate::store::Error::Form(
            "a declaration that does not compile".to_owned(),
        ))
    })?;
    let mut faults = perturbed::refuse_beside_sample(asked, demand);
    let columns = chosen_columns(&schema, demand).unwrap_or_else(|found| {
        faults.extend(found);
        None
    });
    if !faults.is_empty() {
        return Err(Error::Faults(faults));
    }
    let identifiers = match demand.identifiers {
        Identifiers::Omit => Vec::new(),
        Identifiers::Token => identifiers::wanted(&schema, columns.as_deref()),
    };
    let (dataset_id, through) = (front.dataset_id, *through_batch);
    let class_of = class_of(store, front, solution)
        .await
        .map_err(Error::Store)?;
    let table = store
        .load_searched(&SearchedRows {
            job_id: front.job_id,
            dataset_id,
            schema: &schema,
            demand: asked,
            through_batch: through,
            populations,
            identifiers: &identifiers,
        })
        .await
        .map_err(Error::Store)?;
    let is_changed = table.rows as u64 != solution.released_rows + solution.suppressed_rows;
    if is_changed || class_of.as_ref().is_some_and(|of| of.len() != table.rows) {
        // Rows were erased since the search: its figures are not those of what is left.
        return Err(Error::Store(crate::store::Error::DatasetChanged));
    }
    let plan = Arc::new(Plan {
        schema,
        dataset_id,
        dataset_name: declaration.name.clone(),
        demand: asked.clone(),
        release: demand.clone(),
        solution: solution.clone(),
        class_of: class_of.unwrap_or_default(),
        columns,
        identifiers,
    });
    // The id first: tokens are bound to it.
    let draft = store.begin_release(dataset_id).await;
    let draft = draft.map_err(Error::Store)?;
    let others = overlapping::others(store, &plan, front.job_id, through).await;
    let made = match others {
        Ok(others) => {
            let apart = others.warnings();
            let made = rendered(store, pool, &plan, (table, others), draft.release_id()).await;
            made.map(|(rendered, verification, overlap)| {
                let overlap = overlap.into_iter().chain(apart);
                (rendered, verification, overlap.collect::<Vec<Warning>>())
            })
        }
        Err(error) => Err(Error::Store(error)),
    };
    let (rendered, verification, overlap) = match made {
        Ok(made) => made,
        Err(error) => return Err(give_up(store, draft, error).await),
    };
    let mut warnings = plan.warnings(&rendered);
    warnings.extend(overlap);
    let rendered = Arc::new(rendered);
    let (draft, csv) = staged::fill(store, pool, draft, &rendered).await?;
    let batches = store.batches(front.dataset_id, *through_batch).await;
    let (batches, created_at) = match (batches, store.now().await) {
        (Ok(batches), Ok(now)) => (batches, now),
        (Err(error), _) | (_, Err(error)) => {
            return Err(give_up(store, draft, Error::Store(error)).await);
        }
    };
    let staged = Staged {
        draft,
        rendered,
        verification,
        warnings,
        csv,
    };
    Ok(plan.record(front, staged, batches, created_at))
}

/// Renders and verifies on a CPU thread, with the tokens of the release of this id.
async fn rendered(
    store: &Store,
    pool: &CpuPool,
    plan: &Arc<Plan>,
    (table, others): (Table, Others),
    release_id: Uuid,
) -> Result<(Rendered, Verification, Option<Warning>), Error> {
    let scope = TokenScope {
        dataset_id: plan.dataset_id,
        recipient: plan.release.recipient.as_deref(),
        release_id: (!plan.release.linkage).then_some(release_id),
    };
    let key = store.identifier_key(&scope).await.map_err(Error::Store)?;
    let plan = Arc::clone(plan);
    let work = move || {
        let (rendered, verification) = plan.render(&table, &key)?;
        let overlap = plan.overlap(&table, &rendered, &others)?;
        Ok((rendered, verification, overlap))
    };
    pool.run(work).await?
}

impl Plan {
    fn render(
        &self,
        table: &Table,
        key: &IdentifierKey,
    ) -> Result<(Rendered, Verification), Error> {
        let tokens = Tokens::of(table, &self.schema, &self.identifiers, |column, value| {
            key.token(column, value)
        });
        let recipe = Recipe {
            recoding: self.solution.recoding.recoded_by(&self.class_of),
            privacy: &self.demand.privacy,
            row_order: self.release.row_order,
            seed: self.demand.search.seed,
            columns: self.columns.as_deref(),
            suppressed_rows: self.release.suppressed_rows,
        };
        let rendered = release::render_with_tokens(table, &self.schema, &recipe, &tokens);
        let rendered = rendered.map_err(Error::Render)?;
        let limit = self.demand.suppression_limit;
        let schema = &self.schema;
        let verification =
            verify::verify_with_tokens(table, schema, &recipe, limit, &rendered, &tokens)?;
        let is_whole = self.schema.quasi_identifiers().iter().all(|position| {
            rendered
                .columns
                .iter()
                .any(|column| column.position == *position)
        });
        let is_same = is_whole && self.labels_are_nodes(table);
        self.compare(table.rows as u64, is_same, &verification)?;
        Ok((rendered, verification))
    }

    /// Whether no two nodes that are released bear one label: then classes of nodes are classes of labels.
    fn labels_are_nodes(&self, table: &Table) -> bool {
        // Classes that bear the same texts were joined when they were found.
        if self.solution.recoding.classes().is_some() {
            return true;
        }
        let recoding = self.solution.recoding.recoded();
        self.schema.quasi_identifiers().iter().all(|&position| {
            let attribute = &self.schema.attributes()[position];
            let (Some(hierarchy), Some(column)) = (&attribute.hierarchy, &table.columns[position])
            else {
                return false;
            };
            let Ok(generalization) = hierarchy.encode(&column.dictionary) else {
                return false;
            };
            let level = recoding.level(&attribute.declaration.name, &generalization);
            level.is_some_and(|level| {
                let labels: BTreeSet<_> = level.labels.iter().collect();
                labels.len() == level.labels.len()
            })
        })
    }

    /// The search and the verifier count by different code: they must agree.
    ///
    /// Left-out quasi-identifiers, and nodes that share a label, join classes: then there are as many at most, and each
    /// is as large at least.
    fn compare(
        &self,
        rows_in: u64,
        is_same: bool,
        verification: &Verification,
    ) -> Result<(), VerificationFailure> {
        let solution = &self.solution;
        let rows = solution.released_rows + solution.suppressed_rows;
        let (found, promised) = (verification, solution);
        let figures = [
            ("input rows", rows_in, rows, rows_in == rows),
            (
                "released rows",
                found.released_rows,
                promised.released_rows,
                found.released_rows == promised.released_rows,
            ),
            (
                "suppressed rows",
                found.suppressed_rows,
                promised.suppressed_rows,
                found.suppressed_rows == promised.suppressed_rows,
            ),
            (
                "classes",
                found.classes,
                promised.classes,
                found.classes == promised.classes
                    || (!is_same && found.classes <= promised.classes),
            ),
            (
                "k",
                found.k,
                promised.privacy.k,
                found.k == promised.privacy.k || (!is_same && found.k >= promised.privacy.k),
            ),
        ];
        let failures: Vec<String> = figures
            .iter()
            .filter(|(_, _, _, agrees)| !agrees)
            .map(|(name, measured, promised, _)| {
                format!("{name}: the search found {promised}, the release has {measured}")
            })
            .collect();
        if failures.is_empty() {
            Ok(())
        } else {
            Err(VerificationFailure { failures })
        }
    }

    /// The record of what was made.
    fn record(
        &self,
        front: &StoredFront,
        staged: Staged,
        batches: Vec<BatchRecord>,
        created_at: DateTime<Utc>,
    ) -> (ReleaseDraft, ReleaseRecord) {
        let Staged {
            draft,
            rendered,
            verification,
            warnings,
            csv,
        } = staged;
        let (csv_sha256, csv_bytes) = csv.finish();
        let seed = self.demand.search.seed;
        let solution = &self.solution;
        let configuration = ReleaseConfiguration::Solution {
            demand: self.demand.clone(),
            release: self.release.clone(),
        };
        let record = ReleaseRecord {
            release_id: draft.release_id(),
            dataset_id: front.dataset_id,
            dataset_name: self.dataset_name.clone(),
            job_id: front.job_id,
            solution_id: Some(solution.solution_id),
            series: None,
            batches,
            configuration_sha256: configuration_digest(&configuration),
            configuration,
            hierarchy_digests: hierarchy_digests(&self.schema),
            recoding: solution.recoding.clone(),
            seeds: BTreeMap::from([("search".to_owned(), seed), ("row_order".to_owned(), seed)]),
            privacy: Some(solution.privacy.clone()),
            risk: Some(solution.risk.clone()),
            rows_in: rendered.released_rows + rendered.suppressed_rows,
            released_rows: rendered.released_rows,
            suppressed_rows: rendered.suppressed_rows,
            pending_rows: 0,
            classes: verification.classes,
            columns: column_names(&rendered),
            identifiers: self.release.identifiers,
            recipient: self.release.recipient.clone(),
            linkage: self.release.linkage,
            differential_privacy: perturbation::guarantee(&self.demand, &self.schema),
            truthful: is_truthful(&self.demand, solution),
            invariance: None,
            warnings,
            verification: Some(verification),
            csv_sha256: Some(csv_sha256),
            csv_bytes: Some(csv_bytes),
            software_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at,
        };
        (draft, record)
    }
}

/// Whether every row bears what its input row says, if less of it.
fn is_truthful(demand: &Demand, solution: &Solution) -> bool {
    let classes = solution.recoding.classes();
    let perturbation = demand.perturbation.as_ref();
    classes.is_none_or(|classes| classes.truthful)
        && perturbation.is_none_or(Perturbation::is_truthful)
}
