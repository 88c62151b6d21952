//! Reads a dataset's declaration out of a request body; every fault with its pointer and column.

use serde_json::Value;

use super::{AttributeDeclaration, DatasetDeclaration, PrivacyLoss, Role, ValueType, hierarchy};
use crate::anonymize::hierarchy::Hierarchy;
use crate::declaration::Amount;
use crate::declaration::amount::AmountRange;
use crate::declaration::cursor::Cursor;
use crate::declaration::date_format;
use crate::declaration::object::Object;
use crate::declaration::words::Words;
use crate::fault::{Fault, FaultCode, Faults};

const ROLES: Words<Role> = Words {
    noun: "role",
    legal: &[
        ("identifying", Role::Identifying),
        ("quasi_identifying", Role::QuasiIdentifying),
        ("sensitive", Role::Sensitive),
        ("insensitive", Role::Insensitive),
    ],
    planned: &[],
};

const TYPES: Words<ValueType> = Words {
    noun: "type",
    legal: &[
        ("text", ValueType::Text),
        ("integer", ValueType::Integer),
        ("decimal", ValueType::Decimal),
        ("date", ValueType::Date),
    ],
    planned: &[],
};

const DATASET_FIELDS: &[&str] = &["name", "attributes", "default_role", "privacy_budget"];

const ATTRIBUTE_FIELDS: &[&str] = &[
    "name",
    "role",
    "subject",
    "type",
    "format",
    "missing",
    "trim",
    "order",
    "hierarchy",
];

/// The longest name of a dataset, in characters.
const NAME_LENGTH: usize = 200;

/// What [`DatasetDeclaration::parse`] does.
pub(super) fn dataset(body: &Value) -> Result<DatasetDeclaration, Vec<Fault>> {
    let mut faults = Faults::default();
    let Some(object) = Cursor::root(body).object(&mut faults) else {
        return faults.finish(None);
    };
    object.only(DATASET_FIELDS, &mut faults);
    let name = object
        .required("name", &mut faults)
        .and_then(|cursor| name(&cursor, &mut faults));
    let default_role = object.optional("default_role");
    let has_default = default_role.is_some();
    let default_role = default_role.and_then(|cursor| cursor.word(&ROLES, &mut faults));
    let defaults = Defaults {
        role: default_role,
        is_declared: has_default,
    };
    let attributes = attributes(&object, defaults, &mut faults);
    let privacy_budget = object
        .optional("privacy_budget")
        .and_then(|cursor| privacy_budget(&cursor, &mut faults));
    let declaration = name
        .zip(attributes)
        .map(|(name, attributes)| DatasetDeclaration {
            name,
            attributes,
            default_role,
            privacy_budget,
        });
    faults.finish(declaration)
}

fn privacy_budget(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<PrivacyLoss> {
    let object = cursor.object(faults)?;
    object.only(&["epsilon", "delta"], faults);
    let epsilon = object
        .required("epsilon", faults)
        .and_then(|cursor| AmountRange::BUDGET_EPSILON.read(&cursor, faults));
    let delta = object
        .optional("delta")
        .map_or(Some(Amount::ZERO), |cursor| {
            AmountRange::BUDGET_DELTA.read(&cursor, faults)
        });
    Some(PrivacyLoss {
        epsilon: epsilon?,
        delta: delta?,
    })
}

fn name(cursor: &Cursor<'_>, faults: &mut Faults) -> Option<String> {
    let text = cursor.text(faults)?;
    if text.trim().is_empty() || text.chars().count() > NAME_LENGTH {
        let detail = format!("a name has 1 to {NAME_LENGTH} characters, not only white space");
        faults.push(cursor.fault(FaultCode::OutOfRange, detail));
        return None;
    }
    Some(text.to_owned())
}

/// The role of attributes that name none.
#[derive(Clone, Copy)]
struct Defaults {
    role: Option<Role>,
    /// Declared, though perhaps faulty: then nothing else is missing.
    is_declared: bool,
}

/// What is known of an attribute even if something else about it is wrong.
struct Outline<'v> {
    name: Option<&'v str>,
    role: Option<Role>,
    is_subject: bool,
    cursor: Cursor<'v>,
}

fn attributes(
    object: &Object<'_>,
    defaults: Defaults,
    faults: &mut Faults,
) -> Option<Vec<AttributeDeclaration>> {
    let list = object.required("attributes", faults)?;
    let elements = list.list(faults)?;
    let mut outlines = Vec::with_capacity(elements.len());
    let mut attributes = Vec::with_capacity(elements.len());
    for element in elements {
        let first = faults.count();
        let (outline, attribute) = attribute(element, defaults, faults);
        if let Some(name) = outline.name {
            faults.name_column(first, name);
        }
        outlines.push(outline);
        attributes.push(attribute);
    }
    check_names(&outlines, faults);
    check_subjects(&outlines, faults);
    let may_be_quasi_identifying =
        |outline: &Outline<'_>| matches!(outline.role, Some(Role::QuasiIdentifying) | None);
    let is_none_faulty = outlines.iter().all(|outline| outline.role.is_some());
    if is_none_faulty && !outlines.iter().any(may_be_quasi_identifying) {
        let detail = "at least one attribute must be `quasi_identifying`";
        faults.push(list.fault(FaultCode::NoQuasiIdentifiers, detail));
    }
    attributes.into_iter().collect()
}

/// A name stands once; twice with two roles is a conflict of its own (user-cases UC-47, UC-52).
fn check_names(outlines: &[Outline<'_>], faults: &mut Faults) {
    let mut seen: rustc_hash::FxHashMap<&str, &Outline<'_>> = rustc_hash::FxHashMap::default();
    for outline in outlines {
        let Some(name) = outline.name else { continue };
        let Some(earlier) = seen.get(name) else {
            seen.insert(name, outline);
            continue;
        };
        let place = earlier.cursor.pointer();
        let (code, detail) = if earlier.role == outline.role {
            let detail = format!("the column is already declared at `{place}`");
            (FaultCode::DuplicateColumn, detail)
        } else {
            let detail = format!("the column has another role at `{place}`; it has exactly one");
            (FaultCode::ColumnRoleConflict, detail)
        };
        faults.push(outline.cursor.fault(code, detail).column(name));
    }
}

fn check_subjects(outlines: &[Outline<'_>], faults: &mut Faults) {
    let mut earlier: Option<&Outline<'_>> = None;
    for outline in outlines.iter().filter(|outline| outline.is_subject) {
        let fault = |detail: String| {
            let pointer = format!("{}/subject", outline.cursor.pointer());
            let fault = Fault::at(pointer, FaultCode::SubjectConflict, detail);
            match outline.name {
                Some(name) => fault.column(name),
                None => fault,
            }
        };
        if let Some(earlier) = earlier {
            let place = earlier.cursor.pointer();
            faults.push(fault(format!(
                "at most one attribute is the subject; `{place}` already is"
            )));
        }
        if outline.role.is_some_and(|role| role != Role::Identifying) {
            faults.push(fault(
                "the subject names a person, so its `role` must be `identifying`: it is never released or generalised"
                    .into(),
            ));
        }
        earlier = earlier.or(Some(outline));
    }
}

fn attribute<'v>(
    cursor: Cursor<'v>,
    defaults: Defaults,
    faults: &mut Faults,
) -> (Outline<'v>, Option<AttributeDeclaration>) {
    let Some(object) = cursor.object(faults) else {
        let outline = Outline {
            name: None,
            role: None,
            is_subject: false,
            cursor,
        };
        return (outline, None);
    };
    object.only(ATTRIBUTE_FIELDS, faults);
    let name = object
        .required("name", faults)
        .and_then(|cursor| column_name(&cursor, faults));
    let role = role(&object, defaults, faults);
    let subject = flag(&object, "subject", faults);
    let attribute = Parts {
        name,
        role,
        subject,
    };
    let attribute = attribute.read(&object, faults);
    let outline = Outline {
        name,
        role,
        is_subject: subject == Some(true),
        cursor,
    };
    (outline, attribute)
}

fn column_name<'v>(cursor: &Cursor<'v>, faults: &mut Faults) -> Option<&'v str> {
    let name = cursor.text(faults)?;
    if name.is_empty() {
        faults.push(cursor.fault(FaultCode::OutOfRange, "a column name is not empty"));
        return None;
    }
    Some(name)
}

fn role(object: &Object<'_>, defaults: Defaults, faults: &mut Faults) -> Option<Role> {
    if let Some(cursor) = object.optional("role") {
        return cursor.word(&ROLES, faults);
    }
    if !defaults.is_declared {
        let detail = "`role` is required where the dataset declares no `default_role`";
        faults.push(object.fault_in("role", FaultCode::MissingField, detail));
    }
    defaults.role
}

/// A boolean that is `false` if absent; `None` if faulty.
fn flag(object: &Object<'_>, name: &str, faults: &mut Faults) -> Option<bool> {
    object
        .optional(name)
        .map_or(Some(false), |cursor| cursor.boolean(faults))
}

/// The parts of an attribute that were read first.
struct Parts<'v> {
    name: Option<&'v str>,
    role: Option<Role>,
    subject: Option<bool>,
}

impl Parts<'_> {
    /// Reads the rest, and the hierarchy as a tree as far as the other parts allow.
    fn read(self, object: &Object<'_>, faults: &mut Faults) -> Option<AttributeDeclaration> {
        let before = faults.count();
        let value_type = object
            .optional("type")
            .map_or(Some(ValueType::Text), |cursor| cursor.word(&TYPES, faults));
        let format = object
            .optional("format")
            .and_then(|cursor| format(&cursor, value_type, faults));
        let missing = object.optional("missing").map_or_else(
            || Some(AttributeDeclaration::only_empty()),
            |cursor| cursor.texts(faults),
        );
        let trim = flag(object, "trim", faults);
        let order = object
            .optional("order")
            .and_then(|cursor| order(&cursor, value_type, trim, faults));
        let hierarchy = object.optional("hierarchy");
        if let (Some(cursor), Some(Role::Identifying)) = (&hierarchy, self.role) {
            let detail = "an identifying column is never released, so it takes no hierarchy";
            faults.push(cursor.fault(FaultCode::AttributeRole, detail));
        }
        let declared = match &hierarchy {
            None => None,
            Some(cursor) => Some(hierarchy::declaration(cursor, faults)?),
        };
        let is_readable = faults.count() == before;
        let attribute = AttributeDeclaration {
            name: self.name.unwrap_or_default().to_owned(),
            role: self.role.unwrap_or(Role::QuasiIdentifying),
            subject: self.subject.unwrap_or(false),
            value_type: value_type?,
            format,
            missing: missing?,
            trim: trim?,
            order,
            hierarchy: declared,
        };
        if let (Some(cursor), true) = (&hierarchy, is_readable)
            && let Err(found) = Hierarchy::compile(&attribute, cursor.pointer())
        {
            faults.extend(found);
        }
        (self.name.is_some() && self.role.is_some()).then_some(attribute)
    }
}

fn format(
    cursor: &Cursor<'_>,
    value_type: Option<ValueType>,
    faults: &mut Faults,
) -> Option<String> {
    let text = cursor.text(faults)?;
    if value_type.is_some_and(|value_type| value_type != ValueType::Date) {
        let detail = "only a column of `type`: `date` has a format";
        faults.push(cursor.fault(FaultCode::TypeConflict, detail));
    } else if let Some(detail) = date_format::fault_of(text) {
        faults.push(cursor.fault(FaultCode::UnknownValue, detail));
    }
    Some(text.to_owned())
}

fn order(
    cursor: &Cursor<'_>,
    value_type: Option<ValueType>,
    trim: Option<bool>,
    faults: &mut Faults,
) -> Option<Vec<String>> {
    if value_type.is_some_and(|value_type| value_type != ValueType::Text) {
        let detail = "numbers and dates have their own order: `order` is for `type`: `text`";
        faults.push(cursor.fault(FaultCode::TypeConflict, detail));
    }
    let mut values = cursor.texts(faults)?;
    if trim == Some(true) {
        for value in &mut values {
            *value = value.trim().to_owned();
        }
    }
    let mut seen = rustc_hash::FxHashMap::default();
    for (position, value) in values.iter().enumerate() {
        if let Some(earlier) = seen.insert(value.as_str(), position) {
            let detail = format!("the value already stands at position {}", earlier + 1);
            let pointer = format!("{}/{position}", cursor.pointer());
            faults.push(Fault::at(pointer, FaultCode::DuplicateValue, detail).sample([value]));
        }
    }
    Some(values)
}
