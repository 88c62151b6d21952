//! Rendered releases: what they hold, and that the verifier refuses every one that was tampered with.

#![expect(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod rendered;
mod tampered;
mod tokens;

use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::subtree::Recoded;
use kindred::anonymize::table::{BlockBuilder, Schema, Table};
use kindred::anonymize::verify::{Verification, VerificationFailure, verify};
use kindred::declaration::{
    DatasetDeclaration, Fraction, Levels, MissingSensitive, PrivacyModel, RowOrder, SuppressedRows,
};
use serde_json::{Value, json};

struct Case {
    schema: Schema,
    table: Table,
    levels: Levels,
    privacy: Vec<PrivacyModel>,
    limit: Fraction,
    row_order: RowOrder,
    suppressed_rows: SuppressedRows,
    columns: Option<Vec<String>>,
}

impl Case {
    /// A table of all columns that may be released; the subject, if any, comes from its own column.
    fn new(attributes: &Value, rows: &[&[&str]], levels: &[(&str, usize)]) -> Self {
        let body = json!({ "name": "releases", "attributes": attributes });
        let schema = Schema::compile(&DatasetDeclaration::parse(&body).unwrap()).unwrap();
        let mut builder = BlockBuilder::new(schema.attributes().len());
        for row in rows {
            for (column, cell) in row.iter().enumerate() {
                builder.push(column, (!cell.is_empty()).then_some(*cell));
            }
        }
        let block = builder.finish();
        let mut table = Table::with_columns(&schema.releasable(), schema.subject().is_some());
        table.rows = block.rows;
        for (column, block) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(block);
            }
        }
        if let (Some(subjects), Some(position)) = (&mut table.subjects, schema.subject()) {
            subjects.append(&block.columns[position]);
            // Codes of subjects are dense from 0.
            subjects.codes.iter_mut().for_each(|code| *code -= 1);
        }
        Self {
            schema,
            table,
            levels: levels
                .iter()
                .map(|&(name, level)| (name.to_owned(), level))
                .collect(),
            privacy: vec![PrivacyModel::KAnonymity { k: 2 }],
            limit: Fraction::ONE,
            row_order: RowOrder::Input,
            suppressed_rows: SuppressedRows::Omit,
            columns: None,
        }
    }

    fn recipe(&self) -> Recipe<'_> {
        Recipe {
            recoding: Recoded::FullDomain(&self.levels),
            privacy: &self.privacy,
            row_order: self.row_order,
            seed: 7,
            columns: self.columns.as_deref(),
            suppressed_rows: self.suppressed_rows,
        }
    }

    fn render(&self) -> Rendered {
        render(&self.table, &self.schema, &self.recipe()).unwrap()
    }

    fn verify(&self, rendered: &Rendered) -> Result<Verification, VerificationFailure> {
        verify(
            &self.table,
            &self.schema,
            &self.recipe(),
            self.limit,
            rendered,
        )
    }

    /// The only failure of a release that was changed by `tamper`.
    fn refused(&self, tamper: impl FnOnce(&mut Rendered)) -> Vec<String> {
        let mut rendered = self.render();
        self.verify(&rendered).unwrap();
        tamper(&mut rendered);
        self.verify(&rendered).unwrap_err().failures
    }
}

/// Six rows; ages 21, 25 and 34, 38 fall together in decades, 55 and 61 stand alone: two of six are suppressed.
fn six() -> Case {
    let mut case = Case::new(
        &json!([
            { "name": "id", "role": "identifying" },
            { "name": "age", "role": "quasi_identifying", "type": "integer",
              "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10], "lower": 0, "upper": 100 } },
            { "name": "sex", "role": "quasi_identifying" },
            { "name": "dx", "role": "sensitive" },
            { "name": "note", "role": "insensitive" },
        ]),
        &[
            &["1", "21", "F", "flu", "a"],
            &["2", "25", "F", "cold", ""],
            &["3", "34", "M", "flu", "b"],
            &["4", "55", "M", "gout", "c"],
            &["5", "38", "M", "cold", "d"],
            &["6", "61", "F", "flu", "e"],
        ],
        &[("age", 1), ("sex", 0)],
    );
    case.privacy.push(PrivacyModel::DistinctLDiversity {
        attribute: "dx".to_owned(),
        l: 2,
        missing: MissingSensitive::Fails,
    });
    case.limit = Fraction::new(0.34).unwrap();
    case
}

fn cells(rendered: &Rendered) -> Vec<Vec<Option<&str>>> {
    let columns = rendered.columns.len();
    (0..rendered.order.len())
        .map(|row| {
            (0..columns)
                .map(|column| rendered.cell(row, column))
                .collect()
        })
        .collect()
}

/// Changes the label of one source row in one column.
fn relabel(rendered: &mut Rendered, column: usize, row: usize, label: &str) {
    let column = &mut rendered.columns[column];
    column.labels.push(Some(label.into()));
    column.codes[row] = u32::try_from(column.labels.len() - 1).unwrap();
}
