//! Which columns a release has, and what its tokens make of it.

use super::Plan;
use crate::anonymize::identifiers;
use crate::anonymize::release::Rendered;
use crate::anonymize::table::Schema;
use crate::declaration::{Identifiers, ReleaseDemand, Role, RowOrder};
use crate::fault::{Fault, FaultCode};
use crate::ingest::Warning;

impl Plan {
    /// What whoever decides on the release must know of its tokens.
    pub(super) fn warnings(&self, rendered: &Rendered) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.identifiers.is_empty() {
            return warnings;
        }
        let mut warn = |code: &str, detail: String, column: Option<String>| {
            warnings.push(Warning {
                code: code.to_owned(),
                detail,
                column,
            });
        };
        if self.release.linkage {
            let detail = "the recipient can join every linked release by the tokens: they count as successive releases, and \
                          whatever is combined of them is not compared with the models; a series keeps that promise";
            warn("releases_linkable", detail.to_owned(), None);
        }
        if self.release.row_order == RowOrder::Input {
            let detail = "rows stand in the order of the input: two such releases of the same rows can be joined line by line, \
                          whatever their tokens";
            warn("releases_linkable", detail.to_owned(), None);
        }
        for (position, linked) in identifiers::linked(rendered, &self.schema) {
            if linked.repeated > 0 {
                let counted = if self.schema.subject().is_some() {
                    "the models count subjects in each class by itself"
                } else {
                    "the models count rows, because no attribute is declared the subject"
                };
                let detail = format!(
                    "{} tokens stand in several rows, which the recipient can tie together: the fewest persons that stand in the \
                     same classes are {}; {counted}",
                    linked.repeated, linked.least
                );
                let name = self.schema.attributes()[position].declaration.name.clone();
                warn("rows_linkable", detail, Some(name));
            }
        }
        warnings
    }
}

/// The wanted columns in declared order.
pub(super) fn chosen_columns(
    schema: &Schema,
    demand: &ReleaseDemand,
) -> Result<Option<Vec<String>>, Vec<Fault>> {
    let has_tokens = demand.identifiers == Identifiers::Token;
    let mut faults = Vec::new();
    if has_tokens && schema.with_role(Role::Identifying).next().is_none() {
        let detail =
            "no attribute of the dataset is identifying: there is nothing to put tokens for";
        faults.push(Fault::at("/identifiers", FaultCode::AttributeRole, detail));
    }
    let Some(wanted) = &demand.columns else {
        return if faults.is_empty() {
            Ok(None)
        } else {
            Err(faults)
        };
    };
    if wanted.is_empty() {
        let detail = "name at least one column, or leave the field out to release all";
        faults.push(Fault::at("/columns", FaultCode::OutOfRange, detail));
    }
    for (index, name) in wanted.iter().enumerate() {
        let (code, detail) = match schema.position(name) {
            None => (
                FaultCode::UnknownAttribute,
                "the dataset has no such attribute",
            ),
            Some(position) if !has_tokens && !schema.releasable()[position] => (
                FaultCode::AttributeRole,
                "identifying attributes are never released; `identifiers`: `token` puts tokens in their place",
            ),
            Some(_) if wanted[..index].contains(name) => (
                FaultCode::DuplicateColumn,
                "the column is named more than once",
            ),
            Some(_) => continue,
        };
        faults.push(Fault::at(format!("/columns/{index}"), code, detail).column(name));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let names = schema.attributes().iter();
    let names = names
        .filter(|attribute| has_tokens || attribute.declaration.role != Role::Identifying)
        .map(|attribute| attribute.declaration.name.clone())
        .filter(|name| wanted.contains(name));
    Ok(Some(names.collect()))
}
