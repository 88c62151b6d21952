//! Query parameters, read like bodies: all faults at once, unknown names refused.

use axum::extract::FromRequestParts;
use axum::http::Uri;
use axum::http::request::Parts;
use uuid::Uuid;

use super::problem::Problem;
use crate::fault::{Fault, FaultCode};
use crate::job::PageRequest;

/// Items of a page where `?limit=` says nothing.
const DEFAULT_LIMIT: u32 = 50;
/// Most items of a page.
const GREATEST_LIMIT: u32 = 500;

/// Query parameters, taken one by one; what is left over is refused by name.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pairs: Vec<(String, String)>,
    faults: Vec<Fault>,
}

impl Parameters {
    fn of(uri: &Uri) -> Result<Self, Problem> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
        let axum::extract::Query(pairs) = pairs.map_err(|_| {
            let detail = "the query is not of the form `name=value&name=value`";
            Problem::fault(Fault::at("/query", FaultCode::WrongType, detail))
        })?;
        Ok(Self {
            pairs,
            faults: Vec::new(),
        })
    }

    /// Notes faults of a body that parameters stand for.
    pub(super) fn refuse_fields(&mut self, faults: Vec<Fault>) {
        let below = |fault: Fault| Fault {
            pointer: format!("/query{}", fault.pointer),
            ..fault
        };
        self.faults.extend(faults.into_iter().map(below));
    }

    /// Notes a fault of a parameter.
    pub(super) fn refuse(&mut self, name: &str, code: FaultCode, detail: impl Into<String>) {
        let pointer = format!("/query/{name}");
        self.faults.push(Fault::at(pointer, code, detail));
    }

    /// The text of a parameter that may stand once.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        let first = self.pairs.iter().position(|(found, _)| found == name)?;
        let (_, value) = self.pairs.remove(first);
        if self.pairs.iter().any(|(found, _)| found == name) {
            self.pairs.retain(|(found, _)| found != name);
            let detail = format!("`{name}` stands more than once");
            self.refuse(name, FaultCode::DuplicateValue, detail);
        }
        Some(value)
    }

    /// The texts of a parameter that may stand many times.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let taken = self.pairs.extract_if(.., |(found, _)| found == name);
        taken.map(|(_, value)| value).collect()
    }

    /// `true` or `false`; absent: false.
    pub(super) fn flag(&mut self, name: &str) -> bool {
        match self.text(name).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                let detail = format!("`{name}` must be `true` or `false`");
                self.refuse(name, FaultCode::WrongType, detail);
                false
            }
        }
    }

    /// A whole number within bounds.
    pub(super) fn number(&mut self, name: &str, least: u64, greatest: u64) -> Option<u64> {
        let text = self.text(name)?;
        match text.parse::<u64>() {
            Ok(number) if (least..=greatest).contains(&number) => return Some(number),
            Ok(_) => {
                let detail = format!("`{name}` must lie between {least} and {greatest}");
                self.refuse(name, FaultCode::OutOfRange, detail);
            }
            Err(_) => {
                let detail = format!("`{name}` must be a whole number from {least} to {greatest}");
                self.refuse(name, FaultCode::WrongType, detail);
            }
        }
        None
    }

    /// A UUID.
    pub(super) fn id(&mut self, name: &str) -> Option<Uuid> {
        let text = self.text(name)?;
        let id = Uuid::try_parse(&text).ok();
        if id.is_none() {
            self.refuse(
                name,
                FaultCode::WrongType,
                format!("`{name}` must be a UUID"),
            );
        }
        id
    }

    /// `limit` and `cursor`.
    pub(super) fn page(&mut self) -> PageRequest {
        let limit = self.number("limit", 1, u64::from(GREATEST_LIMIT));
        PageRequest {
            limit: limit
                .and_then(|limit| u32::try_from(limit).ok())
                .unwrap_or(DEFAULT_LIMIT),
            cursor: self.text("cursor"),
        }
    }

    fn finish(mut self, known: &[&str]) -> Result<(), Problem> {
        for (name, _) in std::mem::take(&mut self.pairs) {
            let detail = match known {
                [] => "this request takes no query parameters".to_owned(),
                known => format!(
                    "there is no such parameter; known: `{}`",
                    known.join("`, `")
                ),
            };
            let name: String = name.chars().take(80).collect();
            self.refuse(&name, FaultCode::UnknownField, detail);
        }
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(Problem::faults(self.faults))
        }
    }
}

/// A set of query parameters.
pub(super) trait FromQuery: Sized {
    /// Every name.
    const NAMES: &'static [&'static str];
    /// Takes the parameters it knows.
    fn take(parameters: &mut Parameters) -> Self;
}

/// No parameter at all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nothing;

impl FromQuery for Nothing {
    const NAMES: &'static [&'static str] = &[];
    fn take(_: &mut Parameters) -> Self {
        Self
    }
}

/// The parameters of a plain list.
#[derive(Debug, Clone)]
pub(super) struct PageQuery(pub(super) PageRequest);

impl FromQuery for PageQuery {
    const NAMES: &'static [&'static str] = &["limit", "cursor"];
    fn take(parameters: &mut Parameters) -> Self {
        Self(parameters.page())
    }
}

/// Query parameters of a request, checked.
#[derive(Debug)]
pub(super) struct Query<T>(pub(super) T);

impl<T: FromQuery> Query<T> {
    /// Reads and checks them.
    pub(super) fn of(uri: &Uri) -> Result<Self, Problem> {
        let mut parameters = Parameters::of(uri)?;
        let taken = T::take(&mut parameters);
        parameters.finish(T::NAMES)?;
        Ok(Self(taken))
    }
}

impl<T: FromQuery, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::of(&parts.uri)
    }
}
