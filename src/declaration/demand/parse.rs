//! Reads demands out of request bodies; every fault with its pointer.

use std::collections::BTreeMap;

use serde_json::Value;
use uuid::Uuid;

use super::privacy::{binding_models, models, quasi_identifier};
use super::{
    Aggregate, Demand, LossDemand, MeasureDemand, Objective, Recoding, ReleaseChoice,
    ReleaseDemand, RowOrder, SuppressedRows, search,
};
use crate::declaration::cursor::Cursor;
use crate::declaration::words::Words;
use crate::declaration::{DatasetDeclaration, Fraction};
use crate::fault::{Fault, FaultCode, Faults};

const DEMAND_FIELDS: &[&str] = &[
    "privacy",
    "suppression_limit",
    "recoding",
    "search",
    "objectives",
    "loss",
    "weights",
    "release",
];

/// The most objectives of one search.
const MOST_OBJECTIVES: usize = 4;

const RECODINGS: Words<Recoding> = Words {
    noun: "recoding",
    legal: &[("full_domain", Recoding::FullDomain)],
    planned: &["subtree", "local", "microaggregation"],
};

const OBJECTIVES: Words<Objective> = Words {
    noun: "objective",
    legal: &[
        ("generalization_depth", Objective::GeneralizationDepth),
        ("suppression", Objective::Suppression),
        ("loss", Objective::Loss),
    ],
    planned: &[
        "discernibility",
        "average_class_size",
        "non_uniform_entropy",
        "classification",
        "information_loss",
        "sensitive_entropy",
        "average_risk",
    ],
};

const AGGREGATES: Words<Aggregate> = Words {
    noun: "aggregate",
    legal: &[
        ("arithmetic", Aggregate::Arithmetic),
        ("geometric", Aggregate::Geometric),
        ("maximum", Aggregate::Maximum),
        ("sum", Aggregate::Sum),
    ],
    planned: &[],
};

const RELEASE_CHOICES: Words<ReleaseChoice> = Words {
    noun: "choice of a solution",
    legal: &[("recommended", ReleaseChoice::Recommended)],
    planned: &[],
};

const ROW_ORDERS: Words<RowOrder> = Words {
    noun: "row order",
    legal: &[("shuffled", RowOrder::Shuffled), ("input", RowOrder::Input)],
    planned: &[],
};

const SUPPRESSED_ROWS: Words<SuppressedRows> = Words {
    noun: "treatment of suppressed rows",
    legal: &[
        ("omit", SuppressedRows::Omit),
        ("mask", SuppressedRows::Mask),
    ],
    planned: &[],
};

/// What [`Demand::parse`] does.
pub(super) fn demand(body: &Value, dataset: &DatasetDeclaration) -> Result<Demand, Vec<Fault>> {
    let mut faults = Faults::default();
    let demand = demand_of(body, dataset, &mut faults);
    faults.finish(demand)
}

fn demand_of(body: &Value, dataset: &DatasetDeclaration, faults: &mut Faults) -> Option<Demand> {
    let object = Cursor::root(body).object(faults)?;
    object.only(DEMAND_FIELDS, faults);
    let privacy = object
        .required("privacy", faults)
        .and_then(|cursor| binding_models(&cursor, dataset, faults));
    let suppression_limit = object
        .optional("suppression_limit")
        .map_or(Some(Fraction::ZERO), |cursor| cursor.fraction(faults));
    let recoding = object
        .optional("recoding")
        .map_or(Some(Recoding::default()), |cursor| {
            cursor.word(&RECODINGS, faults)
        });
    let search = search::search(&object, dataset, faults);
    let objectives = object.optional("objectives").map_or_else(
        || Some(vec![Objective::GeneralizationDepth, Objective::Suppression]),
        |cursor| objectives(&cursor, faults),
    );
    let loss = object
        .optional("loss")
        .map_or(Some(LossDemand::default()), |cursor| loss(&cursor, faults));
    let weights = object
        .optional("weights")
        .map_or(Some(BTreeMap::new()), |cursor| {
            weights(&cursor, dataset, faults)
        });
    let release = object.optional("release");
    let release = release.map(|cursor| cursor.word(&RELEASE_CHOICES, faults));
    Some(Demand {
        privacy: privacy?,
        suppression_limit: suppression_limit?,
        recoding: recoding?,
        search: search?,
        objectives: objectives?,
        loss: loss?,
        weights: weights?,
        release: release.map_or(Some(None), |choice| choice.map(Some))?,
    })
}

/// What [`MeasureDemand::parse`] does.
pub(super) fn measure(
    body: &Value,
    dataset: &DatasetDeclaration,
) -> Result<MeasureDemand, Vec<Fault>> {
    let mut faults = Faults::default();
    let demand = measure_of(body, dataset, &mut faults);
    faults.finish(demand)
}

fn measure_of(
    body: &Value,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<MeasureDemand> {
    let object = Cursor::root(body).object(faults)?;
    object.only(&["privacy", "levels"], faults);
    let privacy = object
        .optional("privacy")
        .map_or(Some(Vec::new()), |cursor| models(&cursor, dataset, faults));
    let levels = object
        .optional("levels")
        .map_or(Some(BTreeMap::new()), |cursor| {
            search::levels(&cursor, dataset, faults)
        });
    Some(MeasureDemand {
        privacy: privacy?,
        levels: levels?,
    })
}

/// What [`ReleaseDemand::parse`] does.
pub(super) fn release(body: &Value) -> Result<ReleaseDemand, Vec<Fault>> {
    let mut faults = Faults::default();
    let demand = release_of(body, &mut faults);
    faults.finish(demand)
}

fn release_of(body: &Value, faults: &mut Faults) -> Option<ReleaseDemand> {
    let object = Cursor::root(body).object(faults)?;
    let fields = [
        "job_id",
        "solution_id",
        "row_order",
        "columns",
        "suppressed_rows",
    ];
    object.only(&fields, faults);
    let job_id = object
        .required("job_id", faults)
        .and_then(|cursor| uuid(&cursor, faults));
    let solution_id = object
        .required("solution_id", faults)
        .and_then(|cursor| cursor.whole(&(0..=u64::from(u32::MAX)), faults));
    let row_order = object
        .optional("row_order")
        .map_or(Some(RowOrder::default()), |cursor| {
            cursor.word(&ROW_ORDERS, faults)
        });
    let columns = object.optional("columns");
    let columns = columns.map(|cursor| columns_of(&cursor, faults));
    let suppressed_rows = object
        .optional("suppressed_rows")
        .map_or(Some(SuppressedRows::default()), |cursor| {
            cursor.word(&SUPPRESSED_ROWS, faults)
        });
    Some(ReleaseDemand {
        job_id: job_id?,
        solution_id: u32::try_from(solution_id?).ok()?,
        row_order: row_order?,
        columns: columns.map_or(Some(None), |columns| columns.map(Some))?,
        suppressed_rows: suppressed_rows?,
    })
}

fn uuid(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Uuid> {
    let text = cursor.text(faults)?;
    let id = Uuid::parse_str(text).ok();
    if id.is_none() {
        let fault = cursor.fault(FaultCode::WrongType, "a UUID is wanted here");
        faults.push(fault.sample([text]));
    }
    id
}

fn columns_of(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Vec<String>> {
    let columns = cursor.texts(faults)?;
    if columns.is_empty() {
        let detail = "at least one column is wanted here; leave the field out for all";
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    }
    let mut seen = rustc_hash::FxHashSet::default();
    for (position, column) in columns.iter().enumerate() {
        if !seen.insert(column) {
            let pointer = format!("{}/{position}", cursor.pointer());
            let detail = "the column is already named";
            faults.push(Fault::at(pointer, FaultCode::DuplicateColumn, detail).column(column));
        }
    }
    Some(columns)
}

fn objectives(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Vec<Objective>> {
    let elements = cursor.list(faults)?;
    if !(1..=MOST_OBJECTIVES).contains(&elements.len()) {
        let detail = format!("1 to {MOST_OBJECTIVES} objectives are wanted here");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    }
    let mut objectives: Vec<Option<Objective>> = Vec::with_capacity(elements.len());
    for element in &elements {
        let objective = element.word(&OBJECTIVES, faults);
        if objective.is_some() && objectives.contains(&objective) {
            let detail = "the objective is already named";
            faults.push(element.fault(FaultCode::DuplicateValue, detail));
        }
        objectives.push(objective);
    }
    objectives.into_iter().collect()
}

fn loss(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<LossDemand> {
    let object = cursor.object(faults)?;
    object.only(&["aggregate", "factor"], faults);
    let neutral = LossDemand::default();
    let aggregate = object
        .optional("aggregate")
        .map_or(Some(neutral.aggregate), |cursor| {
            cursor.word(&AGGREGATES, faults)
        });
    let factor = object
        .optional("factor")
        .map_or(Some(neutral.factor), |cursor| {
            let wanted = "a number from 0 to 1";
            cursor.number(wanted, |value| (0.0..=1.0).contains(&value), faults)
        });
    Some(LossDemand {
        aggregate: aggregate?,
        factor: factor?,
    })
}

fn weights(
    cursor: &Cursor<'_>,
    dataset: &DatasetDeclaration,
    faults: &mut Faults,
) -> Option<BTreeMap<String, f64>> {
    let object = cursor.object(faults)?;
    let mut weights = BTreeMap::new();
    for (name, cursor) in object.entries() {
        quasi_identifier(name, &cursor, dataset, faults);
        // Bounded so that sums of weights stay finite.
        let is_legal = |value| value > 0.0 && value <= 1e9;
        let wanted = "a number above 0, at most 1000000000";
        if let Some(weight) = cursor.number(wanted, is_legal, faults) {
            weights.insert(name.to_owned(), weight);
        }
    }
    Some(weights)
}
