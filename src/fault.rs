//! What is wrong with an input: one [`Fault`] per thing, all of them at once.
//!
//! A fault travels from wherever it is found (a request field, a hierarchy line, an uploaded cell) to the caller's
//! problem document and nowhere else. `detail` and the fields that point hold column names, counts and positions only;
//! cell values of the caller stand in `sample` alone, so a log or a stored error can drop them by dropping that field.

use serde::Serialize;
use utoipa::ToSchema;

/// The stable slug of a fault, the same in every answer; clients branch on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(
    missing_docs,
    reason = "the slug is the name; docs/errors.md says what to do about each"
)]
pub enum FaultCode {
    // The shape of a request.
    UnknownField,
    MissingField,
    WrongType,
    OutOfRange,
    UnknownValue,
    NotSupported,
    DuplicateValue,
    // Datasets.
    DuplicateColumn,
    ColumnRoleConflict,
    NoQuasiIdentifiers,
    SubjectConflict,
    TypeConflict,
    HierarchyMissingValues,
    HierarchyAmbiguous,
    HierarchyRagged,
    HierarchyNotNested,
    HierarchyInvalid,
    NoSplit,
    // Uploads.
    DatasetEmpty,
    UndeclaredColumns,
    MissingColumns,
    DuplicateHeader,
    FieldCount,
    UnterminatedQuote,
    InvalidEncoding,
    MalformedJson,
    InvalidValue,
    ValueOutOfRange,
    // Demands.
    UnknownAttribute,
    AttributeRole,
    DistanceUndefined,
    LevelOutOfRange,
    ClassSizeUnbounded,
    SearchSpaceTooLarge,
    UnknownPopulation,
    PopulationMismatch,
    TooFewRecords,
    DomainUndeclared,
    PrivacyBudgetExceeded,
    // Any list of faults.
    MoreFaults,
}

impl FaultCode {
    /// The slug, as it stands in JSON.
    #[must_use]
    pub fn slug(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(slug)) => slug,
            _ => unreachable!("a fieldless enum serializes as a string"),
        }
    }
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Fault {
    /// Stable slug.
    pub code: FaultCode,
    /// JSON Pointer (RFC 6901) into the request body; empty for the body as a whole, or for an upload.
    pub pointer: String,
    /// What is wrong and what would be right, without any cell value.
    pub detail: String,
    /// Column (attribute) concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// Record concerned, counted from 1 without the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// Line of the upload or of the hierarchy text concerned, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// At most [`Fault::SAMPLE`] of the caller's own values, for the caller only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sample: Vec<String>,
}

impl Fault {
    /// The most values that a fault quotes.
    pub const SAMPLE: usize = 5;
    /// The most faults that one answer lists; a last one then says how many more there are.
    pub const MOST: usize = 200;

    /// A fault at a place of the request body.
    #[must_use]
    pub fn at(pointer: impl Into<String>, code: FaultCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            pointer: pointer.into(),
            detail: detail.into(),
            column: None,
            row: None,
            line: None,
            sample: Vec::new(),
        }
    }

    /// Names the column.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// Names the record, from 1.
    #[must_use]
    pub fn row(mut self, row: u64) -> Self {
        self.row = Some(row);
        self
    }

    /// Names the line, from 1.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// Quotes values of the caller, cut to [`Fault::SAMPLE`] values of at most 80 characters.
    #[must_use]
    pub fn sample<S: AsRef<str>>(mut self, values: impl IntoIterator<Item = S>) -> Self {
        self.sample = values
            .into_iter()
            .take(Self::SAMPLE)
            .map(|value| value.as_ref().chars().take(80).collect())
            .collect();
        self
    }
}

/// Collects faults, keeping at most a given number: one wrong column must not answer with a line per cell.
#[derive(Debug)]
pub struct Faults {
    kept: Vec<Fault>,
    most: usize,
    /// Faults beyond `most`, and where the last of them was.
    dropped: u64,
    pointer: String,
}

impl Default for Faults {
    fn default() -> Self {
        Self::at_most(Fault::MOST)
    }
}

impl Faults {
    /// A collector that keeps `most` faults; [`Faults::finish`] adds one that counts the others.
    #[must_use]
    pub fn at_most(most: usize) -> Self {
        Self {
            kept: Vec::new(),
            most,
            dropped: 0,
            pointer: String::new(),
        }
    }

    /// Takes a fault.
    pub fn push(&mut self, fault: Fault) {
        if self.kept.len() < self.most {
            self.kept.push(fault);
        } else {
            self.dropped += 1;
            self.pointer = fault.pointer;
        }
    }

    /// Takes faults in order.
    pub fn extend(&mut self, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            self.push(fault);
        }
    }

    /// Faults taken so far, also those that are only counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.kept.len() as u64 + self.dropped
    }

    /// Names the column in every kept fault from the `first`-th on that names none.
    pub fn name_column(&mut self, first: u64, column: &str) {
        let first = usize::try_from(first).unwrap_or(usize::MAX);
        for fault in self.kept.iter_mut().skip(first) {
            fault.column.get_or_insert_with(|| column.to_owned());
        }
    }

    /// The value, if there was no fault.
    ///
    /// # Errors
    /// The faults in the order taken; the last one counts those that are not listed.
    pub fn finish<T>(mut self, value: Option<T>) -> Result<T, Vec<Fault>> {
        if self.dropped > 0 {
            let detail = format!("{} more faults are not listed", self.dropped);
            self.kept
                .push(Fault::at(self.pointer, FaultCode::MoreFaults, detail));
        }
        match value {
            Some(value) if self.kept.is_empty() => Ok(value),
            _ => Err(self.kept),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_snake_case() {
        assert_eq!(FaultCode::HierarchyNotNested.slug(), "hierarchy_not_nested");
    }

    #[test]
    fn faults_beyond_the_most_are_counted_in_one_last_fault() {
        let mut faults = Faults::at_most(2);
        for place in ["/a", "/b", "/c", "/d"] {
            faults.push(Fault::at(place, FaultCode::WrongType, "wrong"));
        }
        let found = faults.finish(Some(())).unwrap_err();
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].code, FaultCode::MoreFaults);
        assert_eq!(found[2].detail, "2 more faults are not listed");
    }

    #[test]
    fn a_sample_is_bounded_in_number_and_length() {
        let long = "x".repeat(100);
        let fault = Fault::at("", FaultCode::InvalidValue, "bad").sample(vec![long; 9]);
        assert_eq!(fault.sample.len(), Fault::SAMPLE);
        assert!(fault.sample.iter().all(|value| value.len() == 80));
    }
}
