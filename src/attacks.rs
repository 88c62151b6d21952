//! Puts an attack on a release together: its rows, the rows that it was made of, and the people who are known.

use std::sync::Arc;

use futures::StreamExt;
use uuid::Uuid;

use crate::anonymize::attack::report::AttackReport;
use crate::anonymize::attack::{People, Scene, assess};
use crate::anonymize::release::{self, Recipe, Rendered};
use crate::anonymize::table::{Block, Column, MISSING, Schema, Table};
use crate::declaration::{
    AttackDemand, DatasetDeclaration, PrivacyModel, Role, RowOrder, SeriesMode, SuppressedRows,
};
use crate::fault::{Fault, FaultCode};
use crate::ingest::{self, Format, Options, Rejected};
use crate::job::{JobSpec, ReleaseConfiguration, ReleaseRecord};
use crate::pool::CpuPool;
use crate::store::Store;
use crate::{publish, series, store};

/// Most records of an auxiliary file.
pub const MOST_RECORDS: usize = 50_000;
/// Fewest people that a figure is over, where no model of the release names a k.
const USUAL_K: u64 = 5;
/// What stands in every cell of a masked row.
const MASK: &str = "*";

/// An auxiliary file.
#[derive(Debug, Clone)]
pub struct Known {
    /// As sent.
    pub bytes: Arc<[u8]>,
    /// How it is written.
    pub format: Format,
    /// Its encoding; UTF-8 if absent.
    pub charset: Option<&'static encoding_rs::Encoding>,
    /// Where it stands in the request: prefix of the pointers of its faults.
    pub pointer: &'static str,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request has faults.
    #[error("the attack cannot be tried as asked")]
    Faults(Vec<Fault>),
    /// The auxiliary file holds more than [`MOST_RECORDS`].
    #[error("the auxiliary file is too large")]
    TooManyRecords,
    /// The release could not be read.
    #[error(transparent)]
    Release(#[from] publish::Error),
    /// The store.
    #[error("the rows could not be read")]
    Store(#[from] store::Error),
    /// The work panicked.
    #[error(transparent)]
    Panicked(#[from] crate::pool::Panicked),
}

/// Attacks a release; also gives its dataset.
///
/// Memory: the released and the raw rows, one number per row and column, and the distinct values.
///
/// # Errors
/// See [`Error`].
pub async fn attack(
    store: &Store,
    pool: &CpuPool,
    release_id: Uuid,
    demand: AttackDemand,
    known: Option<Known>,
) -> Result<(Uuid, AttackReport), Error> {
    let record = series::rendered(store, pool, release_id).await?;
    let dataset_id = record.dataset_id;
    if let Some(detail) = untold(&record.configuration) {
        let fault = Fault::at("", FaultCode::NotSupported, detail);
        return Err(Error::Faults(vec![fault]));
    }
    let (declaration, class_of) = origin(store, &record).await?;
    let schema = compiled(&declaration)?;
    let k = fewest_people(models(&record));
    let people = match known {
        None => None,
        Some(known) => Some(people(store, dataset_id, &declaration, known).await?),
    };
    let released = released(store, &record, &schema).await?;
    let batches = record.batches.iter().map(|batch| batch.sequence);
    let through = batches.max().unwrap_or(0);
    let raw = store.load_table(dataset_id, &schema, through).await?;
    let distance_linkage = record
        .recoding
        .classes()
        .and_then(|one| one.distance_linkage);
    let work = move || {
        // A row too many (a series has rows that wait) leaves unknown how many are gone.
        let erased_rows = record.rows_in.checked_sub(raw.rows as u64);
        let recoded = recoded(&record, &schema, &raw, class_of.as_deref());
        let models = models(&record).iter();
        let scene = Scene {
            schema: &schema,
            released: &released,
            raw: &raw,
            people: people.as_ref(),
            k,
            representation: record.recoding.classes().map(|one| one.representation),
            recoded: recoded.as_ref(),
            least_size: models
                .filter_map(PrivacyModel::least_size)
                .max()
                .unwrap_or(1),
            erased_rows,
        };
        assess(&scene, &demand)
    };
    let mut report = pool.run(work).await?.map_err(Error::Faults)?;
    report.distance_linkage = distance_linkage;
    Ok((dataset_id, report))
}

/// Why attacks on a release would tell something else than what its readers can do, if they would.
fn untold(configuration: &ReleaseConfiguration) -> Option<&'static str> {
    match configuration {
        ReleaseConfiguration::Solution { demand, .. } => demand.perturbation.as_ref().map(|_| {
            "attacks find people by their own rows, and the rows of this release were perturbed by chance"
        }),
        ReleaseConfiguration::Series { series } => (series.mode == SeriesMode::MInvariance).then_some(
            "attacks do not know the numbered classes and the counterfeits of an m-invariant series; the record tells \
             the chance of a right guess",
        ),
    }
}

/// The declaration that was in force when the release was made, and the class of every row where it has classes and no row
/// was erased since.
async fn origin(
    store: &Store,
    record: &ReleaseRecord,
) -> Result<(DatasetDeclaration, Option<Arc<[u32]>>), Error> {
    if let Some(version) = store.series_version(record.release_id).await? {
        return Ok((version.declaration, None));
    }
    let Some(solution_id) = record.solution_id else {
        return Err(store::Error::FrontNotReady.into());
    };
    let (front, solution) = store.solution(record.job_id, solution_id).await?;
    let class_of = match publish::class_of(store, &front, &solution).await {
        Err(store::Error::DatasetChanged) => None,
        class_of => class_of?,
    };
    match front.spec {
        JobSpec::Search { declaration, .. } => Ok((declaration, class_of)),
        JobSpec::SeriesUpdate { .. } | JobSpec::Utility { .. } | JobSpec::Compare { .. } => {
            Err(store::Error::FrontNotReady.into())
        }
    }
}

/// The raw rows recoded once more as a release was: where each row went, also where several labels would fit it.
///
/// `None` of a series, whose rows are recoded by several policies, and after an erasure.
fn recoded(
    record: &ReleaseRecord,
    schema: &Schema,
    raw: &Table,
    class_of: Option<&[u32]>,
) -> Option<Rendered> {
    let ReleaseConfiguration::Solution { demand, .. } = &record.configuration else {
        return None;
    };
    if record.rows_in != raw.rows as u64 {
        return None;
    }
    // Models that compare with another dataset would need its rows; without any, the labels alone tell who was left out.
    let compares = demand
        .privacy
        .iter()
        .any(|model| model.population().is_some());
    let privacy = if compares { &[][..] } else { &demand.privacy };
    let recipe = Recipe {
        recoding: record.recoding.recoded_by(class_of.unwrap_or_default()),
        privacy,
        row_order: RowOrder::Input,
        seed: 0,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    release::render(raw, schema, &recipe).ok()
}

fn compiled(declaration: &DatasetDeclaration) -> Result<Schema, Error> {
    Schema::compile(declaration).map_err(|_| {
        let form = "a declaration that does not compile".to_owned();
        Error::Store(store::Error::Form(form))
    })
}

/// The models that the release was made with.
fn models(record: &ReleaseRecord) -> &[PrivacyModel] {
    match &record.configuration {
        ReleaseConfiguration::Solution { demand, .. } => &demand.privacy,
        ReleaseConfiguration::Series { series } => &series.privacy,
    }
}

/// The greatest size that models ask of classes, of the population's or of the mean; at least 2.
fn fewest_people(models: &[PrivacyModel]) -> u64 {
    let named = models.iter().filter_map(PrivacyModel::named_size);
    named.max().unwrap_or(USUAL_K).max(2)
}

/// The released rows by attribute, masked ones left out.
async fn released(store: &Store, record: &ReleaseRecord, schema: &Schema) -> Result<Table, Error> {
    let positions: Vec<Option<usize>> = record
        .columns
        .iter()
        .map(|name| schema.position(name))
        .collect();
    let present = (0..schema.attributes().len()).map(|at| positions.contains(&Some(at)));
    let mut table = Table::with_columns(&present.collect::<Vec<bool>>(), false);
    let is_masked = match &record.configuration {
        ReleaseConfiguration::Solution { release, .. } => {
            release.suppressed_rows == SuppressedRows::Mask
        }
        ReleaseConfiguration::Series { .. } => false,
    };
    let mut masked = if is_masked { record.suppressed_rows } else { 0 };
    let mut blocks = store.release_blocks(record.release_id);
    while let Some(block) = blocks.next().await {
        let block = without_masked(block?, &mut masked);
        for (column, position) in block.columns.iter().zip(&positions) {
            let own = position.and_then(|position| table.columns[position].as_mut());
            if let Some(own) = own {
                own.append(column);
            }
        }
        table.rows += block.rows;
    }
    Ok(table)
}

/// Drops rows of `*` alone, at most so many as are masked: one of the class of `*` looks the same.
fn without_masked(mut block: Block, masked: &mut u64) -> Block {
    let mut kept = Vec::with_capacity(block.rows);
    for row in 0..block.rows {
        let mut cells = block.columns.iter().map(|column| column.cell(row));
        let is_masked = *masked > 0 && cells.all(|cell| cell == Some(MASK));
        if is_masked {
            *masked -= 1;
        } else {
            kept.push(row);
        }
    }
    for column in &mut block.columns {
        column.codes = kept.iter().map(|&row| column.codes[row]).collect();
    }
    block.rows = kept.len();
    block
}

/// Reads an auxiliary file: quasi-identifiers, sensitive values and the subject, as far as it has them.
async fn people(
    store: &Store,
    dataset_id: Uuid,
    declaration: &DatasetDeclaration,
    known: Known,
) -> Result<People, Error> {
    let attributes = declaration.attributes.iter().enumerate();
    let wanted: Vec<(usize, bool)> = attributes
        .filter(|(_, attribute)| {
            attribute.subject || matches!(attribute.role, Role::QuasiIdentifying | Role::Sensitive)
        })
        .map(|(position, attribute)| (position, attribute.subject))
        .collect();
    let mut narrow = declaration.clone();
    narrow.default_role = None;
    narrow.attributes = wanted
        .iter()
        .map(|&(position, _)| {
            let mut attribute = declaration.attributes[position].clone();
            // A value that the hierarchy lacks is an attacker's knowledge all the same.
            attribute.hierarchy = None;
            if attribute.subject {
                // A name may be unknown; as a sensitive column it still takes its canonical text.
                attribute.subject = false;
                attribute.role = Role::Sensitive;
            }
            attribute
        })
        .collect();
    let schema = compiled(&narrow)?;
    let parsing = tokio::task::spawn_blocking(move || parse(&known, &schema));
    let (columns, rows, absent) = parsing.await.map_err(|_| crate::pool::Panicked)??;
    let mut table = Table::with_columns(&vec![false; declaration.attributes.len()], false);
    table.rows = rows;
    let mut subjects = None;
    let mut has_quasi = false;
    for ((position, is_subject), column) in wanted.into_iter().zip(columns) {
        let attribute = &declaration.attributes[position];
        if absent.contains(&attribute.name) {
            continue;
        }
        if is_subject {
            subjects = Some(tokens(store, dataset_id, &column).await?);
        } else {
            has_quasi |= attribute.role == Role::QuasiIdentifying;
            table.columns[position] = Some(column);
        }
    }
    if !has_quasi {
        let detail = "the auxiliary file has no quasi-identifier of the dataset";
        let fault = Fault::at("", FaultCode::MissingColumns, detail);
        return Err(Error::Faults(vec![fault]));
    }
    Ok(People { table, subjects })
}

type Parsed = (Vec<Column>, usize, Vec<String>);

fn parse(known: &Known, schema: &Schema) -> Result<Parsed, Error> {
    let options = Options {
        format: known.format,
        charset: known.charset,
        schema,
        default_role: None,
    };
    let mut columns = vec![Column::default(); schema.attributes().len()];
    let mut rows = 0;
    let mut take = |block: Block| {
        for (own, column) in columns.iter_mut().zip(&block.columns) {
            own.append(column);
        }
        rows += block.rows;
        rows <= MOST_RECORDS
    };
    let absent = ingest::ingest_some(&known.bytes[..], &options, &mut take);
    let absent = absent.map_err(|rejected| match rejected {
        Rejected::Faults(faults) => {
            let below = |fault: Fault| Fault {
                pointer: format!("{}{}", known.pointer, fault.pointer),
                ..fault
            };
            Error::Faults(faults.into_iter().map(below).collect())
        }
        Rejected::Abandoned | Rejected::Read(_) => Error::TooManyRecords,
    })?;
    if rows > MOST_RECORDS {
        return Err(Error::TooManyRecords);
    }
    Ok((columns, rows, absent))
}

/// The subjects in the form of the raw rows' subjects.
async fn tokens(store: &Store, dataset_id: Uuid, column: &Column) -> Result<Column, Error> {
    let values = column.dictionary.iter();
    let tokens = store.subject_tokens(dataset_id, values).await?;
    let mut found = Column::default();
    let mut code_of = vec![MISSING];
    code_of.extend(tokens.iter().map(|token| found.dictionary.insert(token)));
    found.codes = column
        .codes
        .iter()
        .map(|&code| code_of[code as usize])
        .collect();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declaration::Fraction;

    #[test]
    fn a_greatest_or_mean_risk_names_a_k() {
        let max = |share: f64| Fraction::new(share).unwrap();
        let maximum = PrivacyModel::MaximumRisk { max: max(0.09) };
        let average = PrivacyModel::AverageRisk { max: max(0.05) };
        let k = PrivacyModel::KAnonymity { k: 3 };
        assert_eq!(fewest_people(std::slice::from_ref(&maximum)), 12);
        assert_eq!(fewest_people(&[k.clone(), maximum.clone()]), 12);
        assert_eq!(fewest_people(&[maximum, average]), 20);
        assert_eq!(fewest_people(&[k]), 3);
        assert_eq!(fewest_people(&[]), USUAL_K);
    }
}
