//! What all methods of a comparison have in common.

use serde_json::{Map, Value, json};

use super::SHARED;
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::{DatasetDeclaration, Demand, LossDemand};
use crate::fault::{FaultCode, Faults};

/// What all methods share, and what is wrong with it.
pub(super) struct Shared {
    pub(super) fields: Map<String, Value>,
    pub(super) search: Map<String, Value>,
    pub(super) loss: Option<LossDemand>,
    pub(super) weights: Option<std::collections::BTreeMap<String, f64>>,
    pub(super) told: Vec<(String, FaultCode)>,
}

impl Shared {
    /// Tells the faults of the common fields by themselves, once.
    pub(super) fn new(
        object: &Object<'_>,
        dataset: &DatasetDeclaration,
        faults: &mut Faults,
    ) -> Self {
        let taken = |names: &[&str]| -> Map<String, Value> {
            let present = object
                .entries()
                .filter(|(name, cursor)| names.contains(name) && !cursor.is_null());
            present
                .map(|(name, cursor)| (name.to_owned(), cursor.value.clone()))
                .collect()
        };
        let mut fields = taken(&[
            "privacy",
            "suppression_limit",
            "objectives",
            "loss",
            "weights",
        ]);
        let usual = json!(["loss", "suppression"]);
        fields.entry("objectives").or_insert(usual);
        let search = taken(&SHARED);
        objectives(object, faults);
        let mut alone = fields.clone();
        // Which objectives make sense depends on the methods, and is told at each.
        let unfit = !is_of_levels(&fields["objectives"]);
        if unfit {
            alone.insert("objectives".to_owned(), json!(["loss", "suppression"]));
        }
        alone.insert("search".to_owned(), Value::Object(search.clone()));
        let mut told = Vec::new();
        let parsed = Demand::parse(&Value::Object(alone), dataset);
        let (loss, weights) = match parsed {
            Ok(demand) => (Some(demand.loss), Some(demand.weights)),
            Err(found) => {
                for mut fault in found {
                    if fault.pointer.starts_with("/search") {
                        fault.pointer.drain(.."/search".len());
                    }
                    told.push((fault.pointer.clone(), fault.code));
                    // Their number was told above.
                    if (&*fault.pointer, fault.code) != ("/objectives", FaultCode::OutOfRange) {
                        faults.push(fault);
                    }
                }
                (None, None)
            }
        };
        Self {
            fields,
            search,
            loss,
            weights,
            told,
        }
    }
}

/// Exactly two objectives, neither of which reads a target.
fn objectives(object: &Object<'_>, faults: &mut Faults) {
    let Some(cursor) = object.optional("objectives").filter(Cursor::is_list) else {
        return;
    };
    let elements = cursor.list(faults).unwrap_or_default();
    if elements.len() != 2 {
        let detail =
            "two objectives are wanted here: fronts are compared by the area that they cover";
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    }
    for element in elements {
        if element.is(&json!("classification")) || element.is(&json!("information_gain")) {
            let detail = "the objective reads a target, which a comparison has not";
            faults.push(element.fault(FaultCode::NotSupported, detail));
        }
    }
}

/// Whether no objective is one of classes only. A list that is none, or of another length, is refused in any case.
fn is_of_levels(objectives: &Value) -> bool {
    let of_classes = [json!("information_loss"), json!("sensitive_entropy")];
    let elements = objectives.as_array();
    !elements.is_some_and(|elements| elements.iter().any(|one| of_classes.contains(one)))
}
