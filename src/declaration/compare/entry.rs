//! The methods of a comparison as callers write them.

use serde_json::{Map, Value, json};

use super::shared::Shared;
use super::{ComparedMethod, MOST_METHODS, SHARED};
use crate::declaration::cursor::Cursor;
use crate::declaration::object::Object;
use crate::declaration::{DatasetDeclaration, Demand};
use crate::fault::{Fault, FaultCode, Faults};

/// Most characters of a label.
const MOST_CHARACTERS: usize = 40;

/// The recoding that a method of this name belongs to. Classes bear value sets: what a row bears is true of it then, as
/// it is of levels and cuts.
fn recoding_of(method: &str) -> &'static str {
    match method {
        "tds" | "bug" | "hybrid" | "genetic_cuts" => "subtree",
        "mondrian" | "mdav" | "k_member" | "oka" | "mo_obam" => "local",
        _ => "full_domain",
    }
}

/// One element of `methods`.
pub(super) struct Entry<'v> {
    position: usize,
    cursor: Cursor<'v>,
    /// Its fields, where it is no plain name.
    object: Option<Object<'v>>,
    label: Option<String>,
    evaluations_of: Option<usize>,
}

/// The elements of `methods`, those that are none left out.
pub(super) fn entries<'v>(object: &Object<'v>, faults: &mut Faults) -> Option<Vec<Entry<'v>>> {
    let cursor = object.required("methods", faults)?;
    let elements = cursor.list(faults)?;
    if !(1..=MOST_METHODS).contains(&elements.len()) {
        let detail = format!("1 to {MOST_METHODS} methods are wanted here");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    }
    let mut labels: Vec<&str> = Vec::new();
    let mut entries = Vec::new();
    for (position, cursor) in elements.into_iter().enumerate() {
        let mut entry = Entry {
            position,
            object: None,
            label: None,
            evaluations_of: None,
            cursor,
        };
        if entry.cursor.is_object() {
            let object = entry.cursor.object(faults)?;
            if let Some(cursor) = object.optional("label")
                && let Some(label) = label(&cursor, faults)
            {
                if labels.contains(&label) {
                    let detail = "the label is already given to another method";
                    faults.push(cursor.fault(FaultCode::DuplicateValue, detail));
                }
                labels.push(label);
                entry.label = Some(label.to_owned());
            }
            if let Some(cursor) = object.optional("evaluations_of") {
                entry.evaluations_of = earlier(&cursor, position, faults);
            }
            for name in SHARED {
                if let Some(cursor) = object.optional(name) {
                    let detail =
                        format!("`{name}` stands beside `methods`: it is the same for all of them");
                    faults.push(cursor.fault(FaultCode::UnknownField, detail));
                }
            }
            object.required("method", faults);
            entry.object = Some(object);
        } else if entry.cursor.text(faults).is_none() {
            continue;
        }
        entries.push(entry);
    }
    Some(entries)
}

fn label<'v>(cursor: &Cursor<'v>, faults: &mut Faults) -> Option<&'v str> {
    let label = cursor.text(faults)?;
    let characters = label.chars().count();
    if (1..=MOST_CHARACTERS).contains(&characters) && !label.chars().any(char::is_control) {
        return Some(label);
    }
    let detail =
        format!("1 to {MOST_CHARACTERS} characters without control characters are wanted here");
    faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    None
}

/// The position of an earlier method.
fn earlier(cursor: &Cursor<'_>, position: usize, faults: &mut Faults) -> Option<usize> {
    let wanted = cursor.whole(&(0..=MOST_METHODS as u64), faults)?;
    let wanted = usize::try_from(wanted).ok()?;
    if wanted < position {
        return Some(wanted);
    }
    let detail = "the position of an earlier method is wanted here, counted from 0";
    faults.push(cursor.fault(FaultCode::OutOfRange, detail));
    None
}

impl Entry<'_> {
    /// The method as a search of its own.
    pub(super) fn parsed(
        &self,
        shared: &Shared,
        dataset: &DatasetDeclaration,
        faults: &mut Faults,
    ) -> Option<ComparedMethod> {
        let mut search = match &self.object {
            None => Map::from_iter([("method".to_owned(), self.cursor.value.clone())]),
            Some(object) => {
                let own = object.entries().filter(|(name, _)| {
                    !SHARED.contains(name) && !["label", "evaluations_of"].contains(name)
                });
                own.map(|(name, cursor)| (name.to_owned(), cursor.value.clone()))
                    .collect()
            }
        };
        search.extend(shared.search.clone());
        // Without a method it was told already.
        let name = search
            .get("method")?
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let recoding = recoding_of(&name);
        let mut body = shared.fields.clone();
        if recoding == "local" {
            // Classes are not searched by these; what they release is measured by them all the same.
            body.retain(|name, _| !["loss", "weights"].contains(&name.as_str()));
        }
        body.insert("recoding".to_owned(), json!(recoding));
        body.insert("search".to_owned(), Value::Object(search));
        match Demand::parse(&Value::Object(body), dataset) {
            Ok(demand) => Some(ComparedMethod {
                label: self.label.clone().unwrap_or(name),
                evaluations_of: self.evaluations_of,
                demand,
            }),
            Err(found) => {
                for fault in found {
                    self.tell(fault, shared, faults);
                }
                None
            }
        }
    }

    /// Tells a fault of one method at its place, unless it is one of all.
    fn tell(&self, mut fault: Fault, shared: &Shared, faults: &mut Faults) {
        let of_all = |pointer: &str| {
            let mut told = shared.told.iter();
            told.any(|(known, code)| known == pointer && *code == fault.code)
        };
        let position = self.position;
        match fault.pointer.strip_prefix("/search") {
            Some(below) if of_all(below) => return,
            // A plain name has no fields.
            Some(_) if self.object.is_none() => fault.pointer = format!("/methods/{position}"),
            Some(below) => fault.pointer = format!("/methods/{position}{below}"),
            None if of_all(&fault.pointer) => return,
            None => {
                fault.detail = format!("`{}`: {}", fault.pointer, fault.detail);
                fault.pointer = format!("/methods/{position}");
            }
        }
        faults.push(fault);
    }
}
