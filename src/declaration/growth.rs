//! How to grow the hierarchy of a numeric column from its values.

use serde_json::Value;

use super::cursor::Cursor;
use super::{AttributeDeclaration, DatasetDeclaration, Role, ValueType};
use crate::anonymize::hierarchy::grown::{Growth, LEAST_SUBJECTS};
use crate::fault::{Fault, FaultCode, Faults};

/// Most splits below one another.
const MOST_DEPTH: u64 = 10;
/// Splits below one another where the caller does not say.
const USUAL_DEPTH: u32 = 4;
/// People on either side where the caller does not say.
const USUAL_LEAST: u64 = 20;

/// Demand to grow the hierarchy of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowthDemand {
    /// Position of the attribute whose value the splits should tell; absent: splits halve the people.
    pub target: Option<usize>,
    /// How far to split.
    pub growth: Growth,
}

impl GrowthDemand {
    /// Parses a request body for the column at `position` of a dataset.
    ///
    /// # Errors
    /// All faults found.
    pub fn parse(
        body: &Value,
        dataset: &DatasetDeclaration,
        position: usize,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults::default();
        let demand = demand(body, dataset, position, &mut faults);
        faults.finish(demand)
    }
}

fn demand(
    body: &Value,
    dataset: &DatasetDeclaration,
    position: usize,
    faults: &mut Faults,
) -> Option<GrowthDemand> {
    let column = dataset.attributes.get(position)?;
    let unfit = if column.role == Role::Identifying {
        let detail = "an identifying column is never released, so it has no hierarchy";
        Some((FaultCode::AttributeRole, detail))
    } else if matches!(column.value_type, ValueType::Integer | ValueType::Decimal) {
        None
    } else {
        let detail = "splits need numbers: declare `type`: `integer` or `decimal`";
        Some((FaultCode::TypeConflict, detail))
    };
    if let Some((code, detail)) = unfit {
        faults.push(Fault::at("", code, detail).column(&column.name));
    }
    let object = Cursor::root(body).object(faults)?;
    object.only(&["target", "depth", "least_subjects"], faults);
    let target = match object.optional("target") {
        None => Some(None),
        Some(cursor) => target(&cursor, &dataset.attributes, position, faults).map(Some),
    };
    let depth = match object.optional("depth") {
        None => Some(USUAL_DEPTH),
        Some(cursor) => cursor
            .whole(&(1..=MOST_DEPTH), faults)
            .and_then(|depth| u32::try_from(depth).ok()),
    };
    let least = match object.optional("least_subjects") {
        None => Some(USUAL_LEAST),
        Some(cursor) => cursor.whole(&(LEAST_SUBJECTS..=u64::from(u32::MAX)), faults),
    };
    Some(GrowthDemand {
        target: target?,
        growth: Growth {
            depth: depth?,
            least_subjects: least?,
        },
    })
}

fn target(
    cursor: &Cursor<'_>,
    attributes: &[AttributeDeclaration],
    column: usize,
    faults: &mut Faults,
) -> Option<usize> {
    let name = cursor.text(faults)?;
    let found = attributes.iter().position(|found| found.name == name);
    let (code, detail) = match found {
        Some(position) if position != column && attributes[position].role != Role::Identifying => {
            return Some(position);
        }
        Some(_) => (
            FaultCode::AttributeRole,
            "the target must be another column that does not identify",
        ),
        None => (
            FaultCode::UnknownAttribute,
            "the dataset has no such attribute",
        ),
    };
    faults.push(cursor.fault(code, detail));
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_demand_has_defaults_and_every_fault_is_told() {
        let dataset = DatasetDeclaration::parse(&json!({"name": "d", "attributes": [
            {"name": "id", "role": "identifying"},
            {"name": "age", "role": "quasi_identifying", "type": "integer"},
            {"name": "sex", "role": "quasi_identifying"},
            {"name": "dx", "role": "sensitive"}]}))
        .unwrap();
        let demand = GrowthDemand::parse(&json!({"target": "dx"}), &dataset, 1).unwrap();
        let growth = Growth {
            depth: 4,
            least_subjects: 20,
        };
        let target = Some(3);
        assert_eq!(demand, GrowthDemand { target, growth });
        let told = |body: Value, position: usize| {
            let faults = GrowthDemand::parse(&body, &dataset, position).unwrap_err();
            let told = faults.into_iter().map(|fault| (fault.pointer, fault.code));
            let mut told: Vec<_> = told.collect();
            told.sort();
            told
        };
        let body = json!({"target": "id", "depth": 0, "least_subjects": 4, "label": "dx"});
        assert_eq!(
            told(body, 1),
            [
                ("/depth".to_owned(), FaultCode::OutOfRange),
                ("/label".to_owned(), FaultCode::UnknownField),
                ("/least_subjects".to_owned(), FaultCode::OutOfRange),
                ("/target".to_owned(), FaultCode::AttributeRole),
            ]
        );
        let told = told(json!({"target": "nobody"}), 2);
        let both = [FaultCode::TypeConflict, FaultCode::UnknownAttribute];
        assert_eq!(told.iter().map(|(_, code)| *code).collect::<Vec<_>>(), both);
    }
}
