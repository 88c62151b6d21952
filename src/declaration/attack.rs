//! Which attacks to try on a release.

use serde_json::Value;

use super::cursor::Cursor;
use super::object::Object;
use crate::anonymize::attack::linkage::THRESHOLDS;
use crate::fault::{Fault, FaultCode, Faults};

/// Largest sets of known quasi-identifiers that are tried beside the set of all.
const MOST_KNOWN: u64 = 3;
/// Most thresholds of linkage.
const MOST_TAUS: usize = 20;
/// Most columns asked about.
const MOST_COLUMNS: usize = 1_000;

/// What to try on a release; the people to look for come separately.
#[derive(Debug, Clone, PartialEq)]
pub struct AttackDemand {
    /// Thresholds of linkage, each above 0 and at most 1.
    pub taus: Vec<f64>,
    /// Sets of known quasi-identifiers up to this size are tried, and all; 1 to 3.
    pub subsets_up_to: usize,
    /// Whether to try numbers known up to an error of 1.
    pub noise: bool,
    /// Which other columns to look at.
    pub undeclared: Option<UndeclaredDemand>,
}

/// Columns that could single people out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UndeclaredDemand {
    /// By name; absent: all released ones that are no quasi-identifiers.
    pub columns: Option<Vec<String>>,
    /// Share of rows singled out above which a column is flagged, 0 to 1.
    pub limit: Option<f64>,
}

impl Default for AttackDemand {
    fn default() -> Self {
        Self {
            taus: THRESHOLDS.to_vec(),
            subsets_up_to: 3,
            noise: false,
            undeclared: None,
        }
    }
}

impl AttackDemand {
    /// Parses a request body; also gives its auxiliary records, unread.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(body: &Value) -> Result<(Self, Option<Value>), Vec<Fault>> {
        let mut faults = Faults::default();
        let demand = demand(body, &mut faults);
        faults.finish(demand)
    }
}

fn demand(body: &Value, faults: &mut Faults) -> Option<(AttackDemand, Option<Value>)> {
    let object = Cursor::root(body).object(faults)?;
    let known = ["taus", "subsets_up_to", "noise", "undeclared", "auxiliary"];
    object.only(&known, faults);
    let default = AttackDemand::default();
    let taus = match object.optional("taus") {
        None => Some(default.taus),
        Some(cursor) => taus(&cursor, faults),
    };
    let subsets = match object.optional("subsets_up_to") {
        None => Some(default.subsets_up_to),
        Some(cursor) => cursor
            .whole(&(1..=MOST_KNOWN), faults)
            .and_then(|most| usize::try_from(most).ok()),
    };
    let noise = match object.optional("noise") {
        None => Some(false),
        Some(cursor) => cursor.boolean(faults),
    };
    let undeclared = match object.optional("undeclared") {
        None => Some(None),
        Some(cursor) => undeclared(&cursor, faults).map(Some),
    };
    let auxiliary = match object.optional("auxiliary") {
        None => Some(None),
        Some(cursor) => auxiliary(&cursor, faults).map(Some),
    };
    let demand = AttackDemand {
        taus: taus?,
        subsets_up_to: subsets?,
        noise: noise?,
        undeclared: undeclared?,
    };
    Some((demand, auxiliary?))
}

fn taus(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Vec<f64>> {
    let elements = cursor.list(faults)?;
    if !(1..=MOST_TAUS).contains(&elements.len()) {
        let detail = format!("1 to {MOST_TAUS} thresholds are wanted here");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    let legal = |tau: f64| tau > 0.0 && tau <= 1.0;
    let found: Vec<Option<f64>> = elements
        .iter()
        .map(|element| element.number("a number above 0 and at most 1", legal, faults))
        .collect();
    found.into_iter().collect()
}

fn undeclared(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<UndeclaredDemand> {
    let object = cursor.object(faults)?;
    object.only(&["columns", "limit"], faults);
    let columns = match object.optional("columns") {
        None => Some(None),
        Some(cursor) => match cursor.texts(faults) {
            Some(names) if names.is_empty() || names.len() > MOST_COLUMNS => {
                let detail = format!("1 to {MOST_COLUMNS} columns are wanted here");
                faults.push(cursor.fault(FaultCode::OutOfRange, detail));
                None
            }
            names => names.map(Some),
        },
    };
    let limit = match object.optional("limit") {
        None => Some(None),
        Some(cursor) => cursor.fraction(faults).map(|limit| Some(limit.to_f64())),
    };
    Some(UndeclaredDemand {
        columns: columns?,
        limit: limit?,
    })
}

/// The list of records.
fn auxiliary(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<Value> {
    let object: Object<'_> = cursor.object(faults)?;
    object.only(&["rows"], faults);
    let rows = object.required("rows", faults)?;
    rows.list(faults)?;
    Some(rows.value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_fault_of_a_demand_is_told() {
        let body = json!({"taus": [0, 0.5, "x"], "subsets_up_to": 4, "noise": 1, "tau": 0.1,
            "undeclared": {"columns": [], "limit": 5}, "auxiliary": {}});
        let faults = AttackDemand::parse(&body).unwrap_err();
        let mut pointers: Vec<&str> = faults.iter().map(|fault| fault.pointer.as_str()).collect();
        pointers.sort_unstable();
        assert_eq!(
            pointers,
            [
                "/auxiliary/rows",
                "/noise",
                "/subsets_up_to",
                "/tau",
                "/taus/0",
                "/taus/2",
                "/undeclared/columns",
                "/undeclared/limit"
            ]
        );
        let (demand, rows) = AttackDemand::parse(&json!({})).unwrap();
        assert_eq!((demand, rows), (AttackDemand::default(), None));
    }
}
