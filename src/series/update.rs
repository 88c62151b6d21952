//! One update: what came is applied, what changes is checked, and the release is made ready for the log.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::first::first_cuts;
use super::invariant;
use super::logged::{retired, rows_of};
use super::seed;
use crate::anonymize::perturbation::DifferentialPrivacy;
use crate::anonymize::report::{Reason, RecodingReport};
use crate::anonymize::series::{self, Rules, Settings, State, Step};
use crate::anonymize::table::Schema;
use crate::anonymize::verify::{self, VerificationFailure};
use crate::anonymize::{Observer, Progress};
use crate::declaration::{
    Identifiers, ROW_TOKEN, Role, Score, SeriesDemand, SeriesGuard, SeriesMode,
};
use crate::ingest::Warning;
use crate::job::{
    Job, JobOutcome, JobSpec, Lease, ReleaseConfiguration, ReleaseRecord, SeriesPlace,
};
use crate::publish;
use crate::store::{self, PgIndex, SeriesAnswer, SeriesInput, SeriesRelease, Store};

/// Why an update has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store.
    #[error("the series could not be read or stored")]
    Store(#[from] store::Error),
    /// Nobody wants the answer any more.
    #[error("the update was told to stop")]
    Stopped,
    /// Persons of an m-invariant series have one row each.
    #[error(
        "{subjects} subjects have several rows, and an m-invariant series takes one row per person"
    )]
    SeveralRows {
        /// How many.
        subjects: usize,
    },
    /// The step failed its check.
    #[error(transparent)]
    Verification(#[from] VerificationFailure),
}

/// Runs the update of a leased job, in one transaction with the end of the job.
///
/// # Errors
/// See [`Error`]; nothing has changed then.
pub async fn update(
    store: &Store,
    lease: &Lease,
    observer: Arc<dyn Observer + Send + Sync>,
) -> Result<Job, Error> {
    let JobSpec::SeriesUpdate {
        series_id,
        through_batch,
        through_deletion,
    } = lease.spec
    else {
        return Err(store::Error::Form("a job of another kind".to_owned()).into());
    };
    let (series, _) = store.series(series_id).await?;
    if series.demand.mode == SeriesMode::MInvariance {
        return invariant::update(store, lease, observer).await;
    }
    let job_id = lease.job_id;
    let decide =
        move |index: &mut PgIndex<'_>, input: SeriesInput| decide(index, input, job_id, &*observer);
    let through = (through_batch, through_deletion);
    store
        .update_series(lease, (series_id, through), decide)
        .await
}

/// Reports how far an update is.
///
/// # Errors
/// [`Error::Stopped`] if nobody wants it any more.
pub(super) fn note(observer: &dyn Observer, fraction: f64, phase: &str) -> Result<(), Error> {
    observer.report(Progress {
        evaluations: 0,
        fraction,
        phase: phase.to_owned(),
    });
    match observer.must_stop() {
        None => Ok(()),
        Some(_) => Err(Error::Stopped),
    }
}

fn decide(
    index: &mut PgIndex<'_>,
    input: SeriesInput,
    job_id: Uuid,
    observer: &dyn Observer,
) -> Result<SeriesAnswer, Error> {
    let note = |fraction, phase| note(observer, fraction, phase);
    note(0.2, "updating")?;
    let SeriesInput {
        series,
        schema,
        state,
        events,
        batches,
        parent,
        now,
    } = input;
    let demand = &series.demand;
    let before = state.unwrap_or_else(|| State {
        cuts: first_cuts(
            &schema,
            &series.declaration,
            demand,
            &events.added,
            observer,
        ),
        ..State::default()
    });
    note(0.5, "updating")?;
    let rules = Rules::new(&schema, &demand.privacy, &settings(demand));
    let (state, step) = series::update(index, &before, &rules, events)?;
    note(0.7, "verifying")?;
    let checked = verify::series::check_step(
        &schema,
        &demand.privacy,
        &step,
        &before.counts,
        &state.counts,
    );
    checked?;
    note(0.9, "storing")?;
    let warnings = warnings(&before, &state);
    if !step.is_release {
        return Ok(without_release(state, warnings));
    }
    let cuts = state.released_nodes();
    let record = record(&series, &schema, &state, &step, parent);
    let release = SeriesRelease {
        record: ReleaseRecord {
            job_id,
            batches,
            created_at: now,
            ..record
        },
        version: state.version,
        added: rows_of(&schema, step.added.iter()),
        moved: rows_of(&schema, step.moved.iter().map(|(_, shown)| shown)),
        retired: retired(&step),
        cuts,
    };
    Ok(SeriesAnswer {
        state,
        outcome: JobOutcome::Released,
        reason: None,
        release: Some(release),
        warnings,
    })
}

fn settings(demand: &SeriesDemand) -> Settings {
    Settings {
        suppression_limit: demand.suppression_limit,
        specialize_factor: demand.specialize_factor,
        max_pending: demand.max_pending_releases,
        score: match demand.score {
            Score::Information => series::Score::Information,
            Score::Loss => series::Score::Loss,
        },
        target: None,
        guards_subjects: demand.guard == SeriesGuard::Subjects,
    }
}

/// Says how many rows are withheld that nobody asked to erase.
fn warnings(before: &State, after: &State) -> Vec<Warning> {
    let rows = after.withheld().saturating_sub(before.withheld());
    if rows == 0 {
        return Vec::new();
    }
    let detail = format!(
        "{rows} rows that were not erased are withheld from all later releases: what left or what stayed of their groups \
         would have been too small"
    );
    vec![Warning {
        code: "rows_withheld".to_owned(),
        detail,
        column: None,
    }]
}

fn without_release(state: State, warnings: Vec<Warning>) -> SeriesAnswer {
    let counts = state.counts;
    let (outcome, reason) = if state.version == 0 {
        let detail = format!(
            "no class of the {} rows satisfies the models; they wait for later batches",
            counts.received
        );
        let code = "no_safe_release".to_owned();
        (JobOutcome::Infeasible, Some(Reason { code, detail }))
    } else {
        (JobOutcome::Unchanged, None)
    };
    SeriesAnswer {
        state,
        outcome,
        reason,
        release: None,
        warnings,
    }
}

/// The record of a release, as far as it is known before its rows are put together.
fn record(
    series: &crate::job::Series,
    schema: &Schema,
    state: &State,
    step: &Step,
    parent: Option<Uuid>,
) -> ReleaseRecord {
    let configuration = ReleaseConfiguration::Series {
        series: series.demand.clone(),
    };
    let columns = schema.attributes().iter();
    let columns = columns
        .map(|attribute| &attribute.declaration)
        .filter(|declaration| declaration.role != Role::Identifying)
        .map(|declaration| declaration.name.clone());
    let token = series.demand.row_linkage.then(|| ROW_TOKEN.to_owned());
    let columns = columns.chain(token);
    ReleaseRecord {
        release_id: Uuid::now_v7(),
        dataset_id: series.dataset_id,
        dataset_name: series.declaration.name.clone(),
        job_id: Uuid::nil(),
        solution_id: None,
        series: Some(SeriesPlace {
            series_id: series.series_id,
            version: state.version,
            parent_release_id: parent,
            added_rows: step.added.len() as u64,
        }),
        batches: Vec::new(),
        configuration_sha256: publish::configuration_digest(&configuration),
        configuration,
        hierarchy_digests: publish::hierarchy_digests(schema),
        // Labels can be values: they are kept sealed in the log and shown when the record is read.
        recoding: RecodingReport::Subtree {
            cuts: BTreeMap::new(),
            specialized: BTreeMap::new(),
        },
        seeds: BTreeMap::from([("row_order".to_owned(), seed(&series.demand, state.version))]),
        privacy: None,
        risk: None,
        rows_in: state.counts.received,
        released_rows: state.counts.released,
        suppressed_rows: state.counts.suppressed,
        pending_rows: state.counts.pending,
        classes: state.counts.classes,
        columns: columns.collect(),
        identifiers: Identifiers::Omit,
        recipient: None,
        linkage: series.demand.row_linkage,
        differential_privacy: DifferentialPrivacy::default(),
        truthful: true,
        invariance: None,
        warnings: Vec::new(),
        verification: None,
        csv_sha256: None,
        csv_bytes: None,
        software_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: series.created_at,
    }
}
