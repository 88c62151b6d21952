//! A table that another is compared with: who could be in it, by the same quasi-identifiers.

use uuid::Uuid;

use super::{Column, Schema, Table};

/// The quasi-identifiers of a population, and who its members are.
#[derive(Debug, Clone)]
pub struct Population {
    /// The dataset that it was loaded from.
    pub dataset_id: Uuid,
    /// Number of rows.
    pub rows: usize,
    /// By position of the attribute in the schema of the table that it is compared with; quasi-identifiers only.
    pub columns: Vec<Option<Column>>,
    /// Subject of each row, where the population declares one: members are distinct subjects then, else rows.
    pub subjects: Option<Column>,
}

impl Population {
    /// The columns of `table` that bear the names of the quasi-identifiers of `schema`.
    ///
    /// `own` is the schema of `table`. A column that it lacks, or that was not loaded, is given by name.
    ///
    /// # Errors
    /// The first quasi-identifier without a column.
    pub fn new(
        dataset_id: Uuid,
        mut table: Table,
        own: &Schema,
        schema: &Schema,
    ) -> Result<Self, String> {
        let mut columns = vec![None; schema.attributes().len()];
        for position in schema.quasi_identifiers() {
            let name = &schema.attributes()[position].declaration.name;
            let source = own.position(name);
            let column = source.and_then(|source| table.columns.get_mut(source)?.take());
            columns[position] = Some(column.ok_or_else(|| name.clone())?);
        }
        Ok(Self {
            dataset_id,
            rows: table.rows,
            columns,
            subjects: table.subjects,
        })
    }

    /// Number of members: distinct subjects where they are declared, else rows.
    #[must_use]
    pub fn members(&self) -> usize {
        self.subjects
            .as_ref()
            .map_or(self.rows, |column| column.dictionary.len())
    }
}
