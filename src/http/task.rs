//! The `task` part of a one-call request: a declaration and demands in one object, and how the rows are written.

use serde_json::{Map, Value};

use super::body;
use super::compare::Kind;
use super::problem::Problem;
use super::receive::{Written, delimiter};
use super::submission::faults_of_shape;
use crate::declaration::{DatasetDeclaration, Demand};
use crate::fault::{Fault, FaultCode};

/// What the `task` part says.
pub(super) struct Task {
    pub(super) declaration: DatasetDeclaration,
    pub(super) demand: Demand,
    data: DataDescription,
}

#[derive(Debug, Default)]
struct DataDescription {
    format: Option<String>,
    delimiter: Option<u8>,
    charset: Option<String>,
}

impl Task {
    /// Splits the fields and parses both halves; all faults of both.
    pub(super) fn parse(body: Value) -> Result<Self, Problem> {
        let Value::Object(mut demands) = body else {
            let detail = "the part `task` must be an object";
            return Err(Problem::fault(Fault::at("", FaultCode::WrongType, detail)));
        };
        let mut dataset = Map::new();
        for field in ["name", "attributes", "default_role", "privacy_budget"] {
            dataset.extend(
                demands
                    .shift_remove(field)
                    .map(|value| (field.to_owned(), value)),
            );
        }
        let mut faults = Vec::new();
        let data = DataDescription::parse(demands.shift_remove("data"), &mut faults);
        match DatasetDeclaration::parse(&Value::Object(dataset)) {
            Err(found) => {
                faults.extend(found);
                faults.extend(faults_of_shape(&demands, Kind::Search));
            }
            Ok(declaration) => match Demand::parse(&Value::Object(demands), &declaration) {
                Err(found) => faults.extend(found),
                Ok(demand) if faults.is_empty() => {
                    return Ok(Self {
                        declaration,
                        demand,
                        data,
                    });
                }
                Ok(_) => {}
            },
        }
        Err(Problem::faults(faults))
    }

    /// The task's word wins over the part's `Content-Type`: clients label parts carelessly.
    pub(super) fn written(&self, content_type: &str) -> Result<Written, Problem> {
        let data = &self.data;
        let charset = data.charset.clone();
        let charset = charset.or_else(|| body::parameter(content_type, "charset"));
        let form = data.format.as_deref().unwrap_or(content_type);
        Written::of(form, data.delimiter, charset.as_deref())
    }
}

impl DataDescription {
    fn parse(body: Option<Value>, faults: &mut Vec<Fault>) -> Self {
        let mut fields = match body {
            None | Some(Value::Null) => return Self::default(),
            Some(Value::Object(fields)) => fields,
            Some(_) => {
                faults.push(Fault::at(
                    "/data",
                    FaultCode::WrongType,
                    "`data` must be an object",
                ));
                return Self::default();
            }
        };
        let mut text = |name: &str| match fields.shift_remove(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                let detail = format!("`{name}` must be a text");
                faults.push(Fault::at(
                    format!("/data/{name}"),
                    FaultCode::WrongType,
                    detail,
                ));
                None
            }
        };
        let (format, separator, charset) = (text("format"), text("delimiter"), text("charset"));
        let separator = separator.map(|separator| delimiter(&separator));
        if separator == Some(None) {
            let detail = "`delimiter` must be one ASCII character that is no quote, or `tab`";
            faults.push(Fault::at("/data/delimiter", FaultCode::WrongType, detail));
        }
        for name in fields.keys() {
            let detail = "there is no such field; known: `format`, `delimiter`, `charset`";
            let name: String = name.chars().take(80).collect();
            faults.push(Fault::at(
                format!("/data/{name}"),
                FaultCode::UnknownField,
                detail,
            ));
        }
        Self {
            format,
            delimiter: separator.flatten(),
            charset,
        }
    }
}
