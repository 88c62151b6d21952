//! The index of a series in Postgres, for one update within one transaction.
//!
//! An update is pure and synchronous: it runs on a thread that may block, and every question is a statement driven by
//! the runtime's handle. Writes are kept back and sent together before whatever depends on them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlx::PgConnection;
use tokio::runtime::Handle;

use super::Error;
use super::series_codec::{encode_cell, encode_key};
use super::series_sealed::{CellRow, ClassRow, SeriesKeys, stored_standing};
use super::statement::{Statement, count, small_stored, statement, stored};
use crate::anonymize::series::{
    Cell, Class, ClassId, ClassKey, CohortId, Index, Member, NodeKey, SeriesRow, Subject, Value,
};
use crate::vault::SeriesPart;

const FIND_SERIES_CLASSES: Statement = statement!("find_series_classes");
const FIND_SERIES_CLASSES_HOLDING: Statement = statement!("find_series_classes_holding");
const FIND_SERIES_CLASSES_WAITING: Statement = statement!("find_series_classes_waiting");
const PUT_SERIES_CLASSES: Statement = statement!("put_series_classes");
const REMOVE_SERIES_CLASSES: Statement = statement!("remove_series_classes");
const FIND_SERIES_CELLS_OF: Statement = statement!("find_series_cells_of");
const FIND_SERIES_CELLS_AT: Statement = statement!("find_series_cells_at");
const FIND_SERIES_CELLS_IN: Statement = statement!("find_series_cells_in");
const PUT_SERIES_CELLS: Statement = statement!("put_series_cells");
const REMOVE_SERIES_CELLS: Statement = statement!("remove_series_cells");
const MOVE_SERIES_CELLS: Statement = statement!("move_series_cells");

const FIND_SERIES_MEMBERS: Statement = statement!("find_series_members");
const PUT_SERIES_MEMBERS: Statement = statement!("put_series_members");

/// Rows sent to the database, or ids asked for, at once.
const AT_ONCE: usize = 20_000;

/// Where a cell stands: token of its tuple, kind and number of its standing.
type CellKey = ([u8; 16], i16, i64);

/// The index.
pub struct PgIndex<'c> {
    connection: &'c mut PgConnection,
    runtime: Handle,
    keys: SeriesKeys,
    classes: BTreeMap<ClassId, Class>,
    cells: BTreeMap<CellKey, Cell>,
}

impl<'c> PgIndex<'c> {
    /// On a connection within a transaction, for a thread that may block.
    pub(super) fn new(connection: &'c mut PgConnection, runtime: Handle, keys: SeriesKeys) -> Self {
        Self {
            connection,
            runtime,
            keys,
            classes: BTreeMap::new(),
            cells: BTreeMap::new(),
        }
    }

    /// Sends what was kept back.
    pub(super) fn flush(&mut self) -> Result<(), Error> {
        self.flush_classes()?;
        self.flush_cells()
    }

    fn flush_classes(&mut self) -> Result<(), Error> {
        let classes: Vec<Class> = std::mem::take(&mut self.classes).into_values().collect();
        for some in classes.chunks(AT_ONCE) {
            let mut sealed = Vec::with_capacity(some.len());
            let mut nodes = Vec::with_capacity(some.len());
            let mut tokens = Vec::with_capacity(some.len());
            for class in some {
                let class_id = class.id.0;
                let part = SeriesPart::Class { class_id };
                sealed.push(self.keys.seal(part, &encode_key(&class.key))?);
                tokens.push(self.keys.class(&class.key).to_vec());
                let of_class = class.key.0.iter().enumerate();
                let of_class = of_class.map(|(attribute, node)| self.keys.node(attribute, node));
                nodes.push(of_class.flatten().collect::<Vec<u8>>());
            }
            let of = |figure: fn(&Class) -> u64| -> Vec<i64> {
                some.iter().map(|class| stored(figure(class))).collect()
            };
            let since = some
                .iter()
                .map(|class| class.waiting_since.map(small_stored));
            let query = sqlx::query(PUT_SERIES_CLASSES.text)
                .bind(self.keys.series_id)
                .bind(of(|class| class.id.0))
                .bind(tokens)
                .bind(nodes)
                .bind(of(|class| class.rows))
                .bind(of(|class| class.waiting))
                .bind(since.collect::<Vec<Option<i32>>>())
                .bind(sealed)
                .execute(&mut *self.connection);
            self.runtime
                .block_on(query)
                .map_err(PUT_SERIES_CLASSES.failed())?;
        }
        Ok(())
    }

    fn flush_cells(&mut self) -> Result<(), Error> {
        let cells = std::mem::take(&mut self.cells);
        let (gone, kept): (Vec<_>, Vec<_>) = cells
            .into_iter()
            .partition(|(_, cell)| cell.rows.is_empty());
        for some in gone.chunks(AT_ONCE) {
            let query = sqlx::query(REMOVE_SERIES_CELLS.text)
                .bind(self.keys.series_id)
                .bind(tuples(some))
                .bind(some.iter().map(|(key, _)| key.1).collect::<Vec<i16>>())
                .bind(some.iter().map(|(key, _)| key.2).collect::<Vec<i64>>())
                .execute(&mut *self.connection);
            self.runtime
                .block_on(query)
                .map_err(REMOVE_SERIES_CELLS.failed())?;
        }
        for some in kept.chunks(AT_ONCE) {
            let sealed = some.iter().map(|((tuple, _, _), cell)| {
                let (standing, number) = stored_standing(cell.standing);
                let part = SeriesPart::Cell {
                    tuple: *tuple,
                    standing,
                    number,
                };
                self.keys.seal(part, &encode_cell(&cell.quasi, &cell.rows))
            });
            let sealed = sealed.collect::<Result<Vec<_>, _>>()?;
            let classes = some.iter().map(|(_, cell)| stored(cell.class.0));
            let query = sqlx::query(PUT_SERIES_CELLS.text)
                .bind(self.keys.series_id)
                .bind(classes.collect::<Vec<i64>>())
                .bind(tuples(some))
                .bind(some.iter().map(|(key, _)| key.1).collect::<Vec<i16>>())
                .bind(some.iter().map(|(key, _)| key.2).collect::<Vec<i64>>())
                .bind(sealed)
                .execute(&mut *self.connection);
            self.runtime
                .block_on(query)
                .map_err(PUT_SERIES_CELLS.failed())?;
        }
        Ok(())
    }

    /// Cells of whatever a statement takes an array of, in their order.
    fn find_cells<T>(
        &mut self,
        statement: Statement,
        wanted: &[T],
        bind_more: Option<bool>,
    ) -> Result<Vec<Cell>, Error>
    where
        T: Clone + Send + Sync + 'static,
        Vec<T>: for<'q> sqlx::Encode<'q, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
    {
        self.flush_cells()?;
        let mut cells = Vec::new();
        for some in wanted.chunks(AT_ONCE) {
            let mut query = sqlx::query_as::<_, CellRow>(statement.text)
                .bind(self.keys.series_id)
                .bind(some.to_vec());
            if let Some(flag) = bind_more {
                query = query.bind(flag);
            }
            let rows = self
                .runtime
                .block_on(query.fetch_all(&mut *self.connection));
            for row in rows.map_err(statement.failed())? {
                cells.push(row.open(&self.keys)?);
            }
        }
        cells.sort_by(|one, other| {
            (one.class, &one.quasi, one.standing).cmp(&(other.class, &other.quasi, other.standing))
        });
        cells.dedup_by(|one, other| one.standing == other.standing && one.quasi == other.quasi);
        Ok(cells)
    }

    fn open_classes(&self, rows: Vec<ClassRow>) -> Result<Vec<Class>, Error> {
        let opened = rows.into_iter().map(|row| row.open(&self.keys));
        opened.collect()
    }

    /// All rows of the tuples that these tokens stand for.
    pub(super) fn rows_at(&mut self, mut tokens: Vec<Vec<u8>>) -> Result<Vec<SeriesRow>, Error> {
        tokens.sort_unstable();
        tokens.dedup();
        let cells = self.find_cells(FIND_SERIES_CELLS_AT, &tokens, None)?;
        Ok(cells.into_iter().flat_map(|cell| cell.rows).collect())
    }
}

fn tuples(cells: &[(CellKey, Cell)]) -> Vec<Vec<u8>> {
    cells.iter().map(|(key, _)| key.0.to_vec()).collect()
}

fn stored_ids(classes: &[ClassId]) -> Vec<i64> {
    classes.iter().map(|class| stored(class.0)).collect()
}

impl Index for PgIndex<'_> {
    type Error = Error;

    fn classes(&mut self, keys: &[ClassKey]) -> Result<Vec<Option<Class>>, Error> {
        self.flush_classes()?;
        let tokens: Vec<Vec<u8>> = keys
            .iter()
            .map(|key| self.keys.class(key).to_vec())
            .collect();
        let mut found = BTreeMap::new();
        for some in tokens.chunks(AT_ONCE) {
            let query = sqlx::query_as::<_, ClassRow>(FIND_SERIES_CLASSES.text)
                .bind(self.keys.series_id)
                .bind(some.to_vec())
                .fetch_all(&mut *self.connection);
            let rows = self.runtime.block_on(query);
            for row in rows.map_err(FIND_SERIES_CLASSES.failed())? {
                found.insert(row.token.clone(), row.open(&self.keys)?);
            }
        }
        Ok(tokens
            .iter()
            .map(|token| found.get(token).cloned())
            .collect())
    }

    fn holding(&mut self, attribute: usize, nodes: &[NodeKey]) -> Result<Vec<Class>, Error> {
        self.flush_classes()?;
        let tokens = nodes
            .iter()
            .map(|node| self.keys.node(attribute, node).to_vec());
        let query = sqlx::query_as(FIND_SERIES_CLASSES_HOLDING.text)
            .bind(self.keys.series_id)
            .bind(tokens.collect::<Vec<Vec<u8>>>())
            .fetch_all(&mut *self.connection);
        let rows = self.runtime.block_on(query);
        self.open_classes(rows.map_err(FIND_SERIES_CLASSES_HOLDING.failed())?)
    }

    fn waiting(&mut self, oldest: u32, newest: u32) -> Result<Vec<Class>, Error> {
        self.flush_classes()?;
        let query = sqlx::query_as(FIND_SERIES_CLASSES_WAITING.text)
            .bind(self.keys.series_id)
            .bind(small_stored(oldest))
            .bind(small_stored(newest))
            .fetch_all(&mut *self.connection);
        let rows = self.runtime.block_on(query);
        self.open_classes(rows.map_err(FIND_SERIES_CLASSES_WAITING.failed())?)
    }

    fn cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Error> {
        self.find_cells(FIND_SERIES_CELLS_OF, &stored_ids(classes), Some(true))
    }

    fn waiting_cells_of(&mut self, classes: &[ClassId]) -> Result<Vec<Cell>, Error> {
        self.find_cells(FIND_SERIES_CELLS_OF, &stored_ids(classes), Some(false))
    }

    fn cells_at(&mut self, tuples: &[Arc<[Value]>]) -> Result<Vec<Cell>, Error> {
        let tokens = tuples.iter().map(|tuple| self.keys.tuple(tuple).to_vec());
        let tokens: Vec<Vec<u8>> = tokens.collect();
        self.find_cells(FIND_SERIES_CELLS_AT, &tokens, None)
    }

    fn cells_in(&mut self, cohorts: &[CohortId]) -> Result<Vec<Cell>, Error> {
        let numbers: Vec<i64> = cohorts.iter().map(|cohort| stored(cohort.0)).collect();
        self.find_cells(FIND_SERIES_CELLS_IN, &numbers, None)
    }

    fn put_classes(&mut self, classes: &[Class]) -> Result<(), Error> {
        let put = classes.iter().map(|class| (class.id, class.clone()));
        self.classes.extend(put);
        Ok(())
    }

    fn remove_classes(&mut self, classes: &[ClassId]) -> Result<(), Error> {
        for class in classes {
            self.classes.remove(class);
        }
        let query = sqlx::query(REMOVE_SERIES_CLASSES.text)
            .bind(self.keys.series_id)
            .bind(stored_ids(classes))
            .execute(&mut *self.connection);
        let removed = self.runtime.block_on(query);
        removed.map(|_| ()).map_err(REMOVE_SERIES_CLASSES.failed())
    }

    fn put_cells(&mut self, cells: &[Cell]) -> Result<(), Error> {
        for cell in cells {
            let (kind, number) = stored_standing(cell.standing);
            let key = (
                self.keys.tuple(&cell.quasi),
                i16::from(kind),
                stored(number),
            );
            self.cells.insert(key, cell.clone());
        }
        Ok(())
    }

    fn members(&mut self, subjects: &[Subject]) -> Result<Vec<Option<Member>>, Error> {
        let tokens: Vec<Vec<u8>> = subjects
            .iter()
            .map(|subject| self.keys.member(subject).to_vec())
            .collect();
        let mut found = BTreeMap::new();
        for some in tokens.chunks(AT_ONCE) {
            let query =
                sqlx::query_as::<_, (Vec<u8>, Vec<i64>, bool, bool)>(FIND_SERIES_MEMBERS.text)
                    .bind(self.keys.series_id)
                    .bind(some.to_vec())
                    .fetch_all(&mut *self.connection);
            let rows = self.runtime.block_on(query);
            for (token, cohorts, closed, misses_someone) in
                rows.map_err(FIND_SERIES_MEMBERS.failed())?
            {
                let cohorts = cohorts.into_iter().map(|one| CohortId(count(one)));
                let cohorts = cohorts.collect();
                let member = Member {
                    cohorts,
                    closed,
                    misses_someone,
                };
                found.insert(token, member);
            }
        }
        Ok(tokens
            .iter()
            .map(|token| found.get(token).cloned())
            .collect())
    }

    fn put_members(&mut self, members: &[(Subject, Member)]) -> Result<(), Error> {
        for some in members.chunks(AT_ONCE) {
            let tokens = some.iter().map(|(one, _)| self.keys.member(one).to_vec());
            // Arrays of arrays must be rectangular: lists go as texts that Postgres reads.
            let cohorts = some.iter().map(|(_, member)| {
                let numbers = member.cohorts.iter().map(|one| stored(one.0).to_string());
                format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
            });
            let closed = some.iter().map(|(_, member)| member.closed);
            let missing = some.iter().map(|(_, member)| member.misses_someone);
            let query = sqlx::query(PUT_SERIES_MEMBERS.text)
                .bind(self.keys.series_id)
                .bind(tokens.collect::<Vec<Vec<u8>>>())
                .bind(cohorts.collect::<Vec<String>>())
                .bind(closed.collect::<Vec<bool>>())
                .bind(missing.collect::<Vec<bool>>())
                .execute(&mut *self.connection);
            let put = self.runtime.block_on(query);
            put.map_err(PUT_SERIES_MEMBERS.failed())?;
        }
        Ok(())
    }

    fn move_cells(&mut self, from: &[ClassId], to: ClassId) -> Result<(), Error> {
        self.flush_cells()?;
        let query = sqlx::query(MOVE_SERIES_CELLS.text)
            .bind(self.keys.series_id)
            .bind(stored_ids(from))
            .bind(stored(to.0))
            .execute(&mut *self.connection);
        let moved = self.runtime.block_on(query);
        moved.map(|_| ()).map_err(MOVE_SERIES_CELLS.failed())
    }
}
