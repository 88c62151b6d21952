//! A release of a series, put together from the log when it is first read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use super::{invariant, seed};
use crate::anonymize::measure::measure;
use crate::anonymize::release::{self, Recipe, Rendered};
use crate::anonymize::report::{Measurement, RecodingReport};
use crate::anonymize::series::NodeKey;
use crate::anonymize::subtree::Recoded;
use crate::anonymize::table::{Block, BlockBuilder, MISSING, Schema, Table};
use crate::anonymize::verify::{self, Verification, VerificationFailure};
use crate::declaration::{
    AttributeDeclaration, CLASS_ID, DatasetDeclaration, Fraction, Levels, MeasureDemand,
    PrivacyModel, ROW_TOKEN, Role, RowOrder, SeriesMode, SuppressedRows, ValueType,
};
use crate::fault::{Fault, FaultCode};
use crate::job::ReleaseRecord;
use crate::pool::CpuPool;
use crate::publish;
use crate::store::{self, SeriesVersion, Store};

/// The record of a release, complete; one of a series is put together and verified if nobody has read it before.
///
/// # Errors
/// [`publish::Error::Verification`] if it fails the check of the whole; the store's.
pub async fn rendered(
    store: &Store,
    pool: &CpuPool,
    release_id: Uuid,
) -> Result<ReleaseRecord, publish::Error> {
    let version = store.series_version(release_id).await;
    let Some(version) = version.map_err(publish::Error::Store)? else {
        return store
            .release(release_id)
            .await
            .map_err(publish::Error::Store);
    };
    if !version.is_rendered {
        render(store, pool, &version).await?;
    }
    let record = store.release(release_id).await;
    let cuts = store.series_cuts(&version).await;
    let (mut record, cuts) = match (record, cuts) {
        (Ok(record), Ok(cuts)) => (record, cuts),
        (Err(error), _) | (_, Err(error)) => return Err(publish::Error::Store(error)),
    };
    record.recoding = RecodingReport::Subtree {
        cuts: labels(&version.declaration, &cuts),
        specialized: BTreeMap::new(),
    };
    Ok(record)
}

/// Labels of cut nodes by the name of their attribute, sorted; missing has none.
#[must_use]
pub fn labels(
    declaration: &DatasetDeclaration,
    cuts: &[Vec<NodeKey>],
) -> BTreeMap<String, Vec<String>> {
    let attributes = declaration.attributes.iter();
    let quasi = attributes.filter(|attribute| attribute.role == Role::QuasiIdentifying);
    let cuts = quasi.zip(cuts).map(|(attribute, nodes)| {
        let mut labels: Vec<String> = nodes.iter().filter_map(NodeKey::label).collect();
        labels.sort();
        labels.dedup();
        (attribute.name.clone(), labels)
    });
    cuts.collect()
}

/// The rows that are new in a release of a series, shuffled; `None` if it is of none.
///
/// # Errors
/// As [`rendered`].
pub async fn added(
    store: &Store,
    pool: &CpuPool,
    release_id: Uuid,
) -> Result<Option<Vec<Block>>, publish::Error> {
    let version = store.series_version(release_id).await;
    let Some(version) = version.map_err(publish::Error::Store)? else {
        return Ok(None);
    };
    if version.demand.mode == SeriesMode::MInvariance {
        let detail = "which rows of an m-invariant release are new would tell them from counterfeits: take all";
        let fault = Fault::at("/query/rows", FaultCode::NotSupported, detail);
        return Err(publish::Error::Faults(vec![fault]));
    }
    let schema = flat(&version)?;
    let table = store.series_added(&version, &schema).await;
    let table = table.map_err(publish::Error::Store)?;
    let work = move || {
        let rendered = shuffled(&table, &schema, &version, &[])?;
        let starts = (0..rendered.order.len()).step_by(BlockBuilder::ROWS);
        let blocks = starts.map(|from| rendered.block(from, BlockBuilder::ROWS));
        Ok(Some(blocks.collect()))
    };
    pool.run(work).await?
}

/// Puts a release together, verifies it as a whole and stores it.
async fn render(
    store: &Store,
    pool: &CpuPool,
    version: &SeriesVersion,
) -> Result<(), publish::Error> {
    let record = store.release(version.release_id).await;
    let mut record = record.map_err(publish::Error::Store)?;
    let schema = flat(version)?;
    // A release of an m-invariant series is logged whole.
    let table = match version.demand.mode {
        SeriesMode::Refinement => store.series_table(version, &schema).await,
        SeriesMode::MInvariance => store.series_added(version, &schema).await,
    };
    let table = table.map_err(publish::Error::Store)?;
    let counterfeits = record
        .invariance
        .as_ref()
        .map_or(0, |found| found.counterfeits);
    let expected = (record.released_rows + counterfeits, record.classes);
    let work = {
        let version = version.clone();
        move || verified(&table, &schema, &version, expected)
    };
    let (rendered, verification, measured) = pool.run(work).await??;
    let rendered = Arc::new(rendered);
    let (draft, csv) = publish::stage(store, pool, version.dataset_id, &rendered).await?;
    let (csv_sha256, csv_bytes) = csv.finish();
    record.privacy = Some(measured.privacy);
    record.risk = Some(measured.risk);
    record.verification = Some(Verification {
        suppressed_rows: record.suppressed_rows,
        ..verification
    });
    record.csv_sha256 = Some(csv_sha256);
    record.csv_bytes = Some(csv_bytes);
    let done = store.render_release(draft, &record).await;
    done.map_err(publish::Error::Store)
}

/// The declaration of released rows: a label is a value that nothing stands above but `*`; tokens of rows are one more
/// column.
fn flat(version: &SeriesVersion) -> Result<Schema, publish::Error> {
    let mut flat = version.declaration.clone();
    if version.demand.mode == SeriesMode::MInvariance {
        invariant::keep_released(&mut flat, &version.demand);
    }
    if version.demand.row_linkage {
        flat.attributes.push(added_column(ROW_TOKEN));
    }
    for attribute in &mut flat.attributes {
        // Whoever reads the release tells its classes apart by their number.
        if attribute.name == CLASS_ID && version.demand.mode == SeriesMode::MInvariance {
            attribute.role = Role::QuasiIdentifying;
        }
        if attribute.role == Role::QuasiIdentifying {
            attribute.hierarchy = None;
            attribute.value_type = ValueType::Text;
            attribute.format = None;
        }
    }
    Schema::compile(&flat).map_err(|_| {
        let form = "a declaration that does not compile".to_owned();
        publish::Error::Store(store::Error::Form(form))
    })
}

/// A column that a series adds to those of the dataset.
pub(super) fn added_column(name: &str) -> AttributeDeclaration {
    AttributeDeclaration {
        name: name.to_owned(),
        role: Role::Insensitive,
        subject: false,
        value_type: ValueType::Text,
        format: None,
        missing: Vec::new(),
        trim: false,
        order: None,
        hierarchy: None,
    }
}

/// Every row has a token of its own.
fn check_row_tokens(table: &Table, schema: &Schema) -> Result<(), VerificationFailure> {
    let Some(position) = schema.position(ROW_TOKEN) else {
        return Ok(());
    };
    let column = table.columns[position].as_ref();
    let distinct = column.map_or(0, |column| {
        let codes: BTreeSet<u32> = column.codes.iter().copied().collect();
        codes.len() - usize::from(codes.contains(&MISSING))
    });
    if distinct == table.rows {
        return Ok(());
    }
    let failures = vec![format!("{} rows have {distinct} tokens", table.rows)];
    Err(VerificationFailure { failures })
}

/// The rows in their released order.
fn shuffled(
    table: &Table,
    schema: &Schema,
    version: &SeriesVersion,
    privacy: &[PrivacyModel],
) -> Result<Rendered, publish::Error> {
    let levels = levels(schema);
    let recipe = recipe(&levels, version, privacy);
    release::render(table, schema, &recipe).map_err(publish::Error::Render)
}

fn levels(schema: &Schema) -> Levels {
    let quasi = schema.with_role(Role::QuasiIdentifying);
    let name = |position: usize| schema.attributes()[position].declaration.name.clone();
    quasi.map(|position| (name(position), 0)).collect()
}

fn recipe<'a>(
    levels: &'a Levels,
    version: &SeriesVersion,
    privacy: &'a [PrivacyModel],
) -> Recipe<'a> {
    Recipe {
        recoding: Recoded::FullDomain(levels),
        privacy,
        row_order: RowOrder::Shuffled,
        seed: seed(&version.demand, version.version),
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    }
}

/// Renders, and checks that every class satisfies the models: a class that does not would be suppressed, and none may.
fn verified(
    table: &Table,
    schema: &Schema,
    version: &SeriesVersion,
    (rows, classes): (u64, u64),
) -> Result<(Rendered, Verification, Measurement), publish::Error> {
    let privacy = &version.demand.privacy;
    if version.demand.row_linkage {
        check_row_tokens(table, schema)?;
    }
    if let (Some(m), Some(attribute)) = (version.demand.m, &version.demand.attribute) {
        verify::invariance::check_published(table, schema, CLASS_ID, attribute, m)?;
    }
    let rendered = shuffled(table, schema, version, privacy)?;
    let levels = levels(schema);
    let recipe = recipe(&levels, version, privacy);
    let verification = if table.rows == 0 {
        Verification {
            passed: true,
            checks: Vec::new(),
            released_rows: 0,
            suppressed_rows: 0,
            classes: 0,
            k: 0,
        }
    } else {
        verify::verify(table, schema, &recipe, Fraction::ZERO, &rendered)?
    };
    // Nodes of one label are one class to a reader.
    if verification.released_rows != rows || verification.classes > classes {
        let failures = vec![format!(
            "the update counted {rows} rows in {classes} classes, the release has {} in {}",
            verification.released_rows, verification.classes
        )];
        return Err(VerificationFailure { failures }.into());
    }
    let demand = MeasureDemand {
        measures: Vec::new(),
        privacy: privacy.clone(),
        levels,
        risk: None,
        year_of_data: None,
    };
    let measured = measure(table, schema, &demand).map_err(publish::Error::Render)?;
    if !measured.satisfied {
        let failures = vec!["a class does not satisfy the models".to_owned()];
        return Err(VerificationFailure { failures }.into());
    }
    Ok((rendered, verification, measured))
}
