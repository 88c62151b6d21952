//! The methods compared: each puts rows into classes of at least k, or withholds them.

use rustc_hash::FxHashMap;
use serde_json::json;

use super::super::Error;
use super::data::Source;
use crate::anonymize::cells::{Cells, Needs};
use crate::anonymize::clusters::baselines::datafly::datafly;
use crate::anonymize::clusters::baselines::mdav::{USUAL_BLOCK, mdav};
use crate::anonymize::clusters::baselines::mondrian::{Variant, mondrian};
use crate::anonymize::clusters::decode::{Aim, Decoder};
use crate::anonymize::clusters::distance::{LossKind, Space};
use crate::anonymize::clusters::partition::Partition;
use crate::anonymize::clusters::privacy_term::EntropyKind;
use crate::anonymize::clusters::reading::{Choice, read};
use crate::anonymize::clusters::swarm::{self, Settings};
use crate::anonymize::measure::levels_by_name;
use crate::anonymize::release::{Recipe, Rendered, render};
use crate::anonymize::report::RecodingReport;
use crate::anonymize::rows::Rows;
use crate::anonymize::table::Table;
use crate::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use crate::declaration::{Demand, PrivacyModel, RowOrder, SuppressedRows};

/// Share of rows that levels and cuts may suppress.
const SUPPRESSION: f64 = 0.05;
/// Most centroids of a swarm.
const MOST_CENTROIDS: usize = 400;
/// Assignments of a swarm.
const ASSIGNMENTS: u64 = 300;

/// A method.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// Every distinct row a class of its own: nothing is done.
    Raw,
    /// Strict Mondrian.
    Mondrian,
    /// MDAV.
    Mdav,
    /// Datafly.
    Datafly,
    /// Of all policies of levels, the one of least loss.
    FullDomain,
    /// Top-down specialisation of cuts, by loss.
    Tds,
    /// MO-OBAM, with the weight of the entropy.
    MoObam(f64),
}

impl Method {
    /// All, in order.
    pub const ALL: [Self; 11] = [
        Self::Raw,
        Self::Mondrian,
        Self::Mdav,
        Self::Datafly,
        Self::FullDomain,
        Self::Tds,
        Self::MoObam(0.1),
        Self::MoObam(0.5),
        Self::MoObam(1.0),
        Self::MoObam(2.0),
        Self::MoObam(5.0),
    ];

    /// Its name in the table.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Raw => "raw".to_owned(),
            Self::Mondrian => "Mondrian".to_owned(),
            Self::Mdav => "MDAV".to_owned(),
            Self::Datafly => "Datafly".to_owned(),
            Self::FullDomain => "levels, exact".to_owned(),
            Self::Tds => "TDS".to_owned(),
            Self::MoObam(lambda) => format!("MO-OBAM {lambda}"),
        }
    }
}

/// What a method made of rows.
#[derive(Debug, Clone)]
pub(super) struct Fitted {
    /// Class of each row; `None`: withheld.
    pub(super) class_of: Vec<Option<u32>>,
    /// The policy, of methods that choose one.
    pub(super) recoding: Option<RecodingReport>,
}

/// Runs a method on rows of the source.
///
/// # Errors
/// The rows cannot be searched.
pub(super) fn fit(method: Method, source: &Source, table: &Table, k: u64) -> Result<Fitted, Error> {
    match method {
        Method::Raw => Ok(Fitted {
            class_of: distinct(source, table),
            recoding: None,
        }),
        Method::Datafly => {
            let rows = Rows::of(table, &source.schema)?;
            let (cells, _) = Cells::build(&rows, &Needs::default());
            let found = datafly(&cells, k);
            let levels = levels_by_name(&cells, &found.policy);
            recoded(RecodingReport::FullDomain { levels }, source, table, k)
        }
        Method::FullDomain => searched(
            &json!("full_domain"),
            &json!({"method": "exact"}),
            source,
            table,
            k,
        ),
        Method::Tds => {
            let search = json!({"method": "tds", "score": "loss"});
            searched(&json!("subtree"), &search, source, table, k)
        }
        Method::Mondrian | Method::Mdav | Method::MoObam(_) => clustered(method, source, table, k),
    }
}

/// Rows of equal quasi-identifiers.
fn distinct(source: &Source, table: &Table) -> Vec<Option<u32>> {
    let quasi = source.schema.quasi_identifiers();
    let columns: Vec<&[u32]> = quasi
        .iter()
        .filter_map(|&position| Some(&table.columns[position].as_ref()?.codes[..]))
        .collect();
    numbered((0..table.rows).map(|row| Some(columns.iter().map(|codes| codes[row]).collect())))
}

fn numbered(keys: impl Iterator<Item = Option<Vec<u32>>>) -> Vec<Option<u32>> {
    let mut number: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    keys.map(|key| {
        let next = u32::try_from(number.len()).unwrap_or(u32::MAX);
        Some(*number.entry(key?).or_insert(next))
    })
    .collect()
}

/// The policy of least loss that a search finds.
fn searched(
    recoding: &serde_json::Value,
    search: &serde_json::Value,
    source: &Source,
    table: &Table,
    k: u64,
) -> Result<Fitted, Error> {
    let body = json!({
        "privacy": [{ "model": "k_anonymity", "k": k }], "suppression_limit": SUPPRESSION,
        "recoding": recoding, "search": search, "objectives": ["loss", "suppression"],
    });
    let demand =
        Demand::parse(&body, &source.declaration).map_err(|faults| super::refused(&faults))?;
    let task = Task {
        table,
        schema: &source.schema,
        demand: &demand,
        limits: Limits {
            exact_search_space: 1 << 20,
            cache_bytes: 64 << 20,
        },
    };
    let (Outcome::Front(front) | Outcome::Stopped(front) | Outcome::Infeasible(_, front)) =
        anonymize(&task, &Unobserved)?
    else {
        return Err(Error::Data("a search was stopped".to_owned()));
    };
    let best = front.solutions.into_iter().min_by(|left, right| {
        let loss = |objectives: &std::collections::BTreeMap<String, f64>| objectives["loss"];
        loss(&left.objectives).total_cmp(&loss(&right.objectives))
    });
    let best = best.ok_or_else(|| Error::Data("no policy meets the demand".to_owned()))?;
    recoded(best.recoding, source, table, k)
}

/// The rows as a policy releases them.
///
/// # Errors
/// They cannot be recoded.
pub(super) fn rendered(
    recoding: &RecodingReport,
    source: &Source,
    table: &Table,
    k: u64,
) -> Result<Rendered, Error> {
    let recipe = Recipe {
        recoding: recoding.recoded(),
        privacy: &[PrivacyModel::KAnonymity { k }],
        row_order: RowOrder::Input,
        seed: 0,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    Ok(render(table, &source.schema, &recipe)?)
}

fn recoded(
    recoding: RecodingReport,
    source: &Source,
    table: &Table,
    k: u64,
) -> Result<Fitted, Error> {
    let rendered = rendered(&recoding, source, table, k)?;
    let quasi = source.schema.quasi_identifiers();
    let columns: Vec<&[u32]> = rendered
        .columns
        .iter()
        .filter(|column| quasi.contains(&column.position))
        .map(|column| &column.codes[..])
        .collect();
    let keys = rendered
        .suppressed
        .iter()
        .enumerate()
        .map(|(row, &is_suppressed)| {
            (!is_suppressed).then(|| columns.iter().map(|codes| codes[row]).collect())
        });
    Ok(Fitted {
        class_of: numbered(keys),
        recoding: Some(recoding),
    })
}

fn clustered(method: Method, source: &Source, table: &Table, k: u64) -> Result<Fitted, Error> {
    let reading = read(table, &source.schema, &Choice::default())?;
    let points = &reading.points;
    let space = Space::new(points, LossKind::Balanced);
    let boxes = || mondrian(points, k, Variant::Strict, None);
    let near = || mdav(&space, k, USUAL_BLOCK);
    let found: Option<Partition> = match method {
        Method::Mondrian => boxes(),
        Method::Mdav => near(),
        Method::MoObam(lambda) => {
            let lambdas = vec![lambda; points.sensitive.len()];
            let aim = Aim {
                k,
                guard: None,
                lambdas: &lambdas,
                entropy: EntropyKind::SumOfMin,
                normalised: true,
                loss: LossKind::Balanced,
                polish: false,
            };
            let starts: Vec<Partition> = [boxes(), near()].into_iter().flatten().collect();
            let most = table.rows / usize::try_from(k).unwrap_or(1).max(1);
            let settings = Settings {
                clusters: most.clamp(1, MOST_CENTROIDS),
                particles: 16,
                evaluations: ASSIGNMENTS,
                ..Settings::default()
            };
            Decoder::new(&space, aim).and_then(|decoder| {
                let found = swarm::search(&decoder, &settings, &starts, &Unobserved);
                found.best.map(|best| best.partition)
            })
        }
        Method::Raw | Method::Datafly | Method::FullDomain | Method::Tds => None,
    };
    let found = found.ok_or_else(|| Error::Data("there are fewer than k rows".to_owned()))?;
    let class_of = found.class_of_rows(&reading.cell_of_row, 0);
    Ok(Fitted {
        class_of: class_of.into_iter().map(Some).collect(),
        recoding: None,
    })
}
