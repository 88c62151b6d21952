//! One column of an upload: what its texts are, each judged once per block.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::Warning;
use super::log::Problem;
use super::value::{Checked, Reading};
use crate::anonymize::hierarchy::{Hierarchy, Uncovered};
use crate::anonymize::table::{Attribute, BlockColumn};
use crate::declaration::{AttributeDeclaration, Role, ValueType};

/// A quasi-identifier is found unique from this many rows on.
const UNIQUE_FROM: u64 = 20;
/// Uniqueness is followed over this many rows; what is unique so far is not generalised by chance.
const UNIQUE_UP_TO: usize = 1 << 17;

/// See the module.
pub(super) struct CellColumn<'a> {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) subject: bool,
    trim: bool,
    missing_texts: Vec<String>,
    reading: Reading<'a>,
    not_of_type: Problem,
    pub(super) about: String,
    hierarchy: Option<&'a Hierarchy>,
    canonical: bool,
    pub(super) verdicts: FxHashMap<Box<str>, Verdict>,
    values: Vec<Box<str>>,
    pub(super) codes: Vec<u32>,
    pub(super) trimmed: u64,
    pub(super) normalized: u64,
    pub(super) missing: u64,
    /// The values so far while no two rows share one.
    unique: Option<HashSet<Box<str>>>,
}

/// What a text is in its column.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Verdict {
    /// [`MISSING`](crate::anonymize::table::MISSING) if it is missing or cannot be taken.
    pub(super) code: u32,
    pub(super) trimmed: bool,
    pub(super) normalized: bool,
    pub(super) problem: Option<Problem>,
}

impl<'a> CellColumn<'a> {
    /// A declared column.
    pub(super) fn declared(attribute: &'a Attribute) -> Self {
        let declaration = &attribute.declaration;
        let canonical = declaration.subject
            || matches!(declaration.role, Role::QuasiIdentifying | Role::Sensitive);
        let (not_of_type, about) = match declaration.value_type {
            ValueType::Integer | ValueType::Text => (Problem::NotAnInteger, ""),
            ValueType::Decimal => (Problem::NotADecimal, ""),
            ValueType::Date => (
                Problem::NotADate,
                declaration
                    .format
                    .as_deref()
                    .unwrap_or(Reading::DATE_FORMAT),
            ),
        };
        Self {
            subject: declaration.subject,
            trim: declaration.trim,
            missing_texts: declaration.missing.clone(),
            reading: Reading::new(declaration),
            not_of_type,
            about: about.to_owned(),
            hierarchy: attribute.hierarchy.as_deref(),
            canonical,
            ..Self::added(&declaration.name, declaration.role)
        }
    }

    /// A column of texts that is not declared.
    pub(super) fn added(name: &str, role: Role) -> Self {
        Self {
            name: name.to_owned(),
            role,
            subject: false,
            trim: false,
            missing_texts: AttributeDeclaration::only_empty(),
            reading: Reading::Text,
            not_of_type: Problem::NotAnInteger,
            about: String::new(),
            hierarchy: None,
            canonical: false,
            verdicts: FxHashMap::default(),
            values: Vec::new(),
            codes: Vec::new(),
            trimmed: 0,
            normalized: 0,
            missing: 0,
            unique: (role == Role::QuasiIdentifying).then(HashSet::new),
        }
    }

    /// Judges a text that this block has not met in this column.
    #[cold]
    pub(super) fn judge(&mut self, raw: &str, bytes: &mut usize) -> Verdict {
        let text = if self.trim { raw.trim() } else { raw };
        let mut verdict = if self.is_missing(text) {
            Verdict::default()
        } else {
            match self.reading.check(text) {
                Checked::Invalid => Verdict {
                    problem: Some(self.not_of_type),
                    ..Verdict::default()
                },
                // A hierarchy that lists `1.50` and not `1.5` means the former.
                Checked::Becomes(canonical)
                    if self.canonical && (self.covers(&canonical) || !self.covers(text)) =>
                {
                    Verdict {
                        normalized: true,
                        ..self.place(&canonical, bytes)
                    }
                }
                Checked::Canonical | Checked::Becomes(_) => self.place(text, bytes),
            }
        };
        verdict.trimmed = text.len() != raw.len();
        *bytes += raw.len();
        self.verdicts.insert(raw.into(), verdict);
        verdict
    }

    fn covers(&self, text: &str) -> bool {
        self.hierarchy
            .is_none_or(|hierarchy| hierarchy.covers(text).is_ok())
    }

    fn is_missing(&self, text: &str) -> bool {
        // Outer white space of an identifier does not matter: nothing would be left of it.
        let is_blank = self.role == Role::Identifying && text.trim().is_empty();
        is_blank || self.missing_texts.iter().any(|missing| missing == text)
    }

    /// Verdict on a text in its final form.
    fn place(&mut self, text: &str, bytes: &mut usize) -> Verdict {
        if let Some(&known) = self.verdicts.get(text) {
            return known;
        }
        if self.is_missing(text) {
            return Verdict::default();
        }
        let problem = match self
            .hierarchy
            .map_or(Ok(()), |hierarchy| hierarchy.covers(text))
        {
            Ok(()) => None,
            Err(Uncovered::Missing) => Some(Problem::NotInHierarchy),
            Err(Uncovered::OutOfRange) => Some(Problem::OutOfRange),
            Err(Uncovered::Invalid) => Some(Problem::NotPlaceable),
        };
        let mut verdict = Verdict {
            problem,
            ..Verdict::default()
        };
        if problem.is_none() {
            self.values.push(text.into());
            verdict.code = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        }
        *bytes += text.len();
        self.verdicts.insert(text.into(), verdict);
        verdict
    }

    /// The column as it is declared for later uploads.
    pub(super) fn declaration(&self) -> AttributeDeclaration {
        AttributeDeclaration {
            name: self.name.clone(),
            role: self.role,
            subject: false,
            value_type: ValueType::Text,
            format: None,
            missing: AttributeDeclaration::only_empty(),
            trim: false,
            order: None,
            hierarchy: None,
        }
    }

    /// The block so far; every text is judged anew afterwards.
    pub(super) fn take_block(&mut self, rows: usize) -> BlockColumn {
        self.verdicts.clear();
        let column = BlockColumn {
            values: std::mem::take(&mut self.values),
            codes: std::mem::replace(&mut self.codes, Vec::with_capacity(rows)),
        };
        if let Some(unique) = &mut self.unique
            && unique.len() < UNIQUE_UP_TO
            && (column.values.len() < rows
                || !column
                    .values
                    .iter()
                    .all(|value| unique.insert(value.clone())))
        {
            self.unique = None;
        }
        column
    }

    /// What is legal and probably not meant.
    pub(super) fn warnings(&self, rows: u64) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |code: &str, detail: String| {
            warnings.push(Warning {
                code: code.to_owned(),
                detail,
                column: Some(self.name.clone()),
            });
        };
        if self.normalized > 0 {
            let cells = self.normalized;
            warn(
                "normalized_cells",
                format!(
                    "{cells} cells were written in another way than the one that equal values share, and were changed to it"
                ),
            );
        }
        if rows >= UNIQUE_FROM && self.unique.is_some() {
            let checked = rows.min(self.unique.as_ref().map_or(0, HashSet::len) as u64);
            warn(
                "unique_values",
                format!(
                    "{checked} distinct values in {checked} rows: only `*` can protect them; a record number or the like has the role `identifying`"
                ),
            );
        }
        if self.role == Role::Sensitive && self.missing > 0 {
            let missing = self.missing;
            warn(
                "missing_sensitive",
                format!(
                    "{missing} of {rows} cells are missing: a class without any value fails l-diversity unless the model says `\"missing\": \"exempt\"`"
                ),
            );
        }
        warnings
    }
}
