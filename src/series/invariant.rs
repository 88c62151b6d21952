//! The update of an m-invariant series: every release is made anew of all rows, with the signatures of the last one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::rendered::added_column;
use super::seed;
use super::update::{Error, note};
use crate::anonymize::Observer;
use crate::anonymize::invariance::{self, InvariantStep, ReleasedClass};
use crate::anonymize::perturbation::DifferentialPrivacy;
use crate::anonymize::report::{Reason, RecodingReport};
use crate::anonymize::series::{Counts, NodeKey, SeriesRow, State};
use crate::anonymize::table::{Block, BlockBuilder, Schema};
use crate::anonymize::verify::invariance::check_invariance;
use crate::declaration::{CLASS_ID, DatasetDeclaration, Identifiers, Role, SeriesDemand};
use crate::job::{
    Invariance, Job, JobOutcome, JobSpec, Lease, ReleaseConfiguration, ReleaseRecord, Series,
    SeriesPlace,
};
use crate::publish;
use crate::store::{self, InvariantAnswer, InvariantInput, SeriesAnswer, SeriesRelease, Store};

/// Cuts a declaration down to the columns that such a series releases: quasi-identifiers, its sensitive attribute, the
/// number of the class. A counterfeit has no other cells, and so no row may have any.
pub(super) fn keep_released(declaration: &mut DatasetDeclaration, demand: &SeriesDemand) {
    declaration.attributes.retain(|attribute| {
        attribute.role == Role::QuasiIdentifying
            || demand.attribute.as_deref() == Some(attribute.name.as_str())
    });
    declaration.attributes.push(added_column(CLASS_ID));
}

/// Runs the update of a leased job, in one transaction with the end of the job.
///
/// # Errors
/// See [`Error`]; nothing has changed then.
pub(super) async fn update(
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
    let job_id = lease.job_id;
    let decide = move |input: InvariantInput| decide(&input, job_id, &*observer);
    let through = (through_batch, through_deletion);
    store
        .update_invariant_series(lease, (series_id, through), decide)
        .await
}

fn decide(
    input: &InvariantInput,
    job_id: Uuid,
    observer: &dyn Observer,
) -> Result<InvariantAnswer, Error> {
    let note = |fraction, phase| note(observer, fraction, phase);
    note(0.2, "updating")?;
    let (series, schema, rows) = (&input.series, &input.schema, &input.rows);
    let form = || store::Error::Form("an m-invariant series without its demand".to_owned());
    let demand = &series.demand;
    let (Some(m), Some(attribute)) = (demand.m, &demand.attribute) else {
        return Err(form().into());
    };
    let sensitive = carried_place(schema, attribute).ok_or_else(form)?;
    one_row_each(rows)?;
    let size = usize::try_from(m).unwrap_or(usize::MAX);
    let step = invariance::step(schema, size, sensitive, &input.signatures, rows);
    let step = step.ok_or_else(form)?;
    note(0.7, "verifying")?;
    check_invariance(schema, size, sensitive, &input.signatures, rows, &step)?;
    note(0.9, "storing")?;
    let has_change = step.added + step.left > 0;
    let counts = Counts {
        received: rows.len() as u64,
        released: step.released(),
        pending: step.waiting,
        suppressed: step.without_value,
        classes: step.classes.len() as u64,
    };
    let state = State {
        version: series.version + u32::from(has_change),
        counts,
        ..State::default()
    };
    if !has_change {
        let answer = without_release(state);
        return Ok(InvariantAnswer {
            answer,
            signatures: step.signatures,
        });
    }
    let found = Invariance {
        m,
        attribute: attribute.clone(),
        counterfeits: step.counterfeits(),
        classes: counterfeits(&step),
    };
    let release = SeriesRelease {
        record: record(input, &state, &step, (job_id, found)),
        version: state.version,
        added: blocks(schema, sensitive, attribute, &step),
        moved: Vec::new(),
        retired: Vec::new(),
        cuts: nodes(&step),
    };
    Ok(InvariantAnswer {
        answer: SeriesAnswer {
            state,
            outcome: JobOutcome::Released,
            reason: None,
            release: Some(release),
            warnings: Vec::new(),
        },
        signatures: step.signatures,
    })
}

fn without_release(state: State) -> SeriesAnswer {
    let detail = format!(
        "no class of different sensitive values can be made of the {} rows; they wait for later batches",
        state.counts.received
    );
    let code = "no_safe_release".to_owned();
    let is_first = state.version == 0;
    SeriesAnswer {
        state,
        outcome: if is_first {
            JobOutcome::Infeasible
        } else {
            JobOutcome::Unchanged
        },
        reason: is_first.then_some(Reason { code, detail }),
        release: None,
        warnings: Vec::new(),
    }
}

/// Place of the sensitive attribute among a row's carried cells.
fn carried_place(schema: &Schema, attribute: &str) -> Option<usize> {
    let mut carried = schema
        .attributes()
        .iter()
        .filter(|one| matches!(one.declaration.role, Role::Sensitive | Role::Insensitive));
    carried.position(|one| one.declaration.name == attribute)
}

fn one_row_each(rows: &[SeriesRow]) -> Result<(), Error> {
    let mut of_subject: BTreeMap<[u8; 16], usize> = BTreeMap::new();
    for subject in rows.iter().filter_map(|row| row.subject) {
        *of_subject.entry(subject).or_default() += 1;
    }
    let subjects = of_subject.values().filter(|&&rows| rows > 1).count();
    if subjects > 0 {
        return Err(Error::SeveralRows { subjects });
    }
    Ok(())
}

/// Counterfeits by class number, from 1; classes without any left out.
fn counterfeits(step: &InvariantStep) -> BTreeMap<u64, u64> {
    let classes = (1..).zip(&step.classes);
    classes
        .map(|(number, class)| (number, class.counterfeits.len() as u64))
        .filter(|(_, counterfeits)| *counterfeits > 0)
        .collect()
}

/// The nodes that classes bear, by quasi-identifier.
fn nodes(step: &InvariantStep) -> Vec<Vec<NodeKey>> {
    let attributes = step.classes.first().map_or(0, |class| class.nodes.len());
    let of_attribute = |place: usize| {
        let nodes = step
            .classes
            .iter()
            .map(|class| NodeKey::of(&class.nodes[place]));
        let nodes: BTreeSet<NodeKey> = nodes.collect();
        nodes.into_iter().collect()
    };
    (0..attributes).map(of_attribute).collect()
}

/// All rows and counterfeits: released cells in declared order, the number of the class, the row's place in the log.
fn blocks(schema: &Schema, sensitive: usize, attribute: &str, step: &InvariantStep) -> Vec<Block> {
    let columns: Vec<bool> = schema
        .attributes()
        .iter()
        .map(|one| &one.declaration)
        .filter(|one| one.role == Role::QuasiIdentifying || one.name == attribute)
        .map(|one| one.role == Role::QuasiIdentifying)
        .collect();
    let mut builder = BlockBuilder::new(columns.len() + 2);
    let mut blocks = Vec::new();
    let mut place = 0_u64;
    let mut push = |number: u64, class: &ReleasedClass, value: Option<&str>| {
        let mut labels = class.nodes.iter();
        for (column, is_quasi) in columns.iter().enumerate() {
            let cell = if *is_quasi {
                labels
                    .next()
                    .and_then(|labels| labels.first())
                    .and_then(Option::as_deref)
            } else {
                value
            };
            builder.push(column, cell);
        }
        builder.push(columns.len(), Some(&number.to_string()));
        builder.push(columns.len() + 1, Some(&place.to_string()));
        place += 1;
        if builder.rows() == BlockBuilder::ROWS {
            blocks.push(builder.finish());
        }
    };
    for (number, class) in (1..).zip(&step.classes) {
        for row in &class.rows {
            push(number, class, row.carried[sensitive].as_deref());
        }
        for value in &class.counterfeits {
            push(number, class, Some(value));
        }
    }
    blocks.push(builder.finish());
    blocks
}

/// The record of a release, as far as it is known before its rows are put together.
fn record(
    input: &InvariantInput,
    state: &State,
    step: &InvariantStep,
    (job_id, invariance): (Uuid, Invariance),
) -> ReleaseRecord {
    let series: &Series = &input.series;
    let configuration = ReleaseConfiguration::Series {
        series: series.demand.clone(),
    };
    let mut released = series.declaration.clone();
    keep_released(&mut released, &series.demand);
    let columns = released
        .attributes
        .into_iter()
        .map(|attribute| attribute.name);
    ReleaseRecord {
        release_id: Uuid::now_v7(),
        dataset_id: series.dataset_id,
        dataset_name: series.declaration.name.clone(),
        job_id,
        solution_id: None,
        series: Some(SeriesPlace {
            series_id: series.series_id,
            version: state.version,
            parent_release_id: input.parent,
            added_rows: step.added,
        }),
        batches: input.batches.clone(),
        configuration_sha256: publish::configuration_digest(&configuration),
        configuration,
        hierarchy_digests: publish::hierarchy_digests(&input.schema),
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
        linkage: false,
        differential_privacy: DifferentialPrivacy::default(),
        truthful: false,
        invariance: Some(invariance),
        warnings: Vec::new(),
        verification: None,
        csv_sha256: None,
        csv_bytes: None,
        software_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_at: input.now,
    }
}
