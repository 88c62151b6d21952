//! Objects of a request body: known, required and optional fields.

use serde_json::{Map, Value};

use super::cursor::Cursor;
use super::words::{nearest, quoted};
use crate::fault::{Fault, FaultCode, Faults};

/// An object of the request body and where it stands.
#[derive(Debug, Clone)]
pub struct Object<'v> {
    pub(super) fields: &'v Map<String, Value>,
    pub(super) pointer: String,
}

impl<'v> Object<'v> {
    /// A fault at the object.
    #[must_use]
    pub fn fault(&self, code: FaultCode, detail: impl Into<String>) -> Fault {
        Fault::at(self.pointer.clone(), code, detail)
    }

    /// A fault at a field of the object, present or not.
    #[must_use]
    pub fn fault_in(&self, name: &str, code: FaultCode, detail: impl Into<String>) -> Fault {
        Fault::at(below(&self.pointer, name), code, detail)
    }

    /// Refuses every field that is not `known`, naming the one that is probably meant.
    pub fn only(&self, known: &[&str], faults: &mut Faults) {
        for name in self.fields.keys() {
            if known.contains(&name.as_str()) {
                continue;
            }
            let shown: String = name.chars().take(80).collect();
            let detail = match nearest(name, known.iter().copied()) {
                Some(near) => {
                    format!("unknown field `{shown}`; probably `{near}` is meant")
                }
                None => format!("unknown field `{shown}`; there is {}", quoted(known)),
            };
            faults.push(self.fault_in(name, FaultCode::UnknownField, detail));
        }
    }

    /// A field, unless it is absent or `null`.
    #[must_use]
    pub fn optional(&self, name: &str) -> Option<Cursor<'v>> {
        let value = self.fields.get(name).filter(|value| !value.is_null())?;
        Some(Cursor {
            value,
            pointer: below(&self.pointer, name),
        })
    }

    /// A field; its absence is a fault.
    pub fn required(&self, name: &str, faults: &mut Faults) -> Option<Cursor<'v>> {
        let found = self.optional(name);
        if found.is_none() {
            let detail = format!("`{name}` is required");
            faults.push(self.fault_in(name, FaultCode::MissingField, detail));
        }
        found
    }

    /// Every field with its name, in the order of the body; `null` too.
    pub fn entries(&self) -> impl Iterator<Item = (&'v str, Cursor<'v>)> {
        self.fields.iter().map(|(name, value)| {
            let pointer = below(&self.pointer, name);
            (name.as_str(), Cursor { value, pointer })
        })
    }
}

/// The pointer of a field (RFC 6901: `~` and `/` of a name are written `~0` and `~1`).
pub(super) fn below(pointer: &str, name: &str) -> String {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{escaped}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_misspelt_field_is_refused_with_the_probable_one() {
        let body = json!({ "suppresion_limit": 0.3, "a/b~c": 1 });
        let mut faults = Faults::default();
        let object = Cursor::root(&body).object(&mut faults).unwrap();
        object.only(&["suppression_limit", "recoding"], &mut faults);
        let found = faults.finish(Some(())).unwrap_err();
        assert_eq!(found[0].pointer, "/suppresion_limit");
        assert!(found[0].detail.contains("`suppression_limit` is meant"));
        assert_eq!(found[1].pointer, "/a~1b~0c");
    }
}
