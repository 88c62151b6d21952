//! Reads demands on releases out of request bodies.

use serde_json::Value;

use super::parse::uuid;
use super::{Identifiers, ReleaseDemand, RowOrder, SuppressedRows};
use crate::declaration::cursor::Cursor;
use crate::declaration::words::Words;
use crate::fault::{Fault, FaultCode, Faults};

/// Most characters of a recipient's name.
const RECIPIENT_CHARACTERS: usize = 200;

const IDENTIFIERS: Words<Identifiers> = Words {
    noun: "treatment of identifiers",
    legal: &[("omit", Identifiers::Omit), ("token", Identifiers::Token)],
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
        "identifiers",
        "recipient",
        "linkage",
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
    let identifiers = object
        .optional("identifiers")
        .map_or(Some(Identifiers::default()), |cursor| {
            cursor.word(&IDENTIFIERS, faults)
        });
    let named = object.optional("recipient");
    let recipient = named.map(|cursor| recipient_of(&cursor, faults));
    let wanted = object.optional("linkage");
    let linkage = wanted
        .as_ref()
        .map_or(Some(false), |cursor| cursor.boolean(faults));
    if let (Some(true), Some(cursor)) = (linkage, &wanted) {
        if identifiers == Some(Identifiers::Omit) {
            let detail =
                "only tokens link releases: ask for `identifiers`: `token`, or leave the field out";
            faults.push(cursor.fault(FaultCode::NotSupported, detail));
        }
        if recipient.is_none() {
            let detail = "linked releases are those of one recipient: name it";
            faults.push(Fault::at("/recipient", FaultCode::MissingField, detail));
        }
    }
    Some(ReleaseDemand {
        job_id: job_id?,
        solution_id: u32::try_from(solution_id?).ok()?,
        row_order: row_order?,
        columns: columns.map_or(Some(None), |columns| columns.map(Some))?,
        suppressed_rows: suppressed_rows?,
        identifiers: identifiers?,
        recipient: recipient.map_or(Some(None), |recipient| recipient.map(Some))?,
        linkage: linkage?,
    })
}

/// Who gets a release.
fn recipient_of(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<String> {
    let name = cursor.text(faults)?;
    if !(1..=RECIPIENT_CHARACTERS).contains(&name.chars().count()) || name.trim() != name {
        let detail = format!(
            "a recipient has 1 to {RECIPIENT_CHARACTERS} characters, without white space around them"
        );
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    Some(name.to_owned())
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
