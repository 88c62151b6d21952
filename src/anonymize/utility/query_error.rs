//! Error of counting queries that are answered from a release (algorithms.md D.7). For reports only.
//!
//! A query counts the rows whose values of two or three quasi-identifiers lie in given ranges. Its answer from a release
//! spreads every class evenly over the values of the input under each of its labels; suppressed rows are not there to be
//! counted. The error of a query is relative to the right count, or to a thousandth of all rows if that is more.
//!
//! Queries are drawn by a seed: the attributes, and of each a run of its values in their order (numbers by value, others
//! by text; missing is in no range). Those that count less than a hundredth of all rows are dropped. Values are known by
//! their places in that order, so the same rows in another order have the same queries.
//!
//! Source: algorithms.md D.7, which leaves the kind of predicate open.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha20Rng;
use rayon::prelude::*;
use rust_decimal::Decimal;
use sha2::{Digest, Sha256};

use crate::anonymize::cells::Cells;
use crate::anonymize::classes::ClassTable;

/// Queries asked.
const QUERIES: usize = 1000;
/// Queries drawn at most, and how many at a time.
const MOST_DRAWN: usize = 20 * QUERIES;
/// One over the least share of all rows that a query counts.
const SELECTIVITY: u64 = 100;
/// One over the share of all rows that errors are relative to at least.
const FLOOR: f64 = 1000.0;

/// Values of one attribute that a query asks for: by level-0 node.
#[derive(Debug)]
struct Predicate {
    attribute: usize,
    wanted: Vec<bool>,
}

#[derive(Debug)]
struct Query {
    predicates: Vec<Predicate>,
    /// Rows that it counts.
    rows: u64,
}

/// The queries over some cells.
#[derive(Debug)]
pub(super) struct QueryError<'a> {
    cells: &'a Cells,
    queries: Vec<Query>,
    /// By attribute: level-0 nodes that rows have, those of values in order and then that of missing.
    occurring: Vec<Vec<u32>>,
}

impl<'a> QueryError<'a> {
    /// Draws the queries. Cost: a pass over the cells per query drawn, 20,000 at most.
    pub(super) fn new(cells: &'a Cells, seed: u64) -> Self {
        let attributes = 0..cells.quasi_identifiers.len();
        let values: Vec<Vec<u32>> = attributes
            .map(|attribute| in_order(cells, attribute))
            .collect();
        let key: [u8; 32] = Sha256::new()
            .chain_update(b"kindred counting queries")
            .chain_update(seed.to_le_bytes())
            .finalize()
            .into();
        let mut random = ChaCha20Rng::from_seed(key);
        let mut queries = Vec::new();
        let mut drawn = 0;
        while queries.len() < QUERIES && drawn < MOST_DRAWN {
            let drafts: Vec<Vec<Predicate>> = (0..QUERIES)
                .map(|_| draw(cells, &values, &mut random))
                .collect();
            drawn += drafts.len();
            let counted: Vec<Query> = drafts
                .into_par_iter()
                .map(|predicates| Query {
                    rows: count(cells, &predicates),
                    predicates,
                })
                .collect();
            let selective =
                |query: &Query| query.rows > 0 && query.rows * SELECTIVITY >= cells.rows;
            queries.extend(counted.into_iter().filter(selective));
        }
        queries.truncate(QUERIES);
        let occurring = values
            .into_iter()
            .enumerate()
            .map(|(attribute, mut values)| {
                values.extend(has_missing(cells, attribute).then_some(0));
                values
            });
        Self {
            cells,
            queries,
            occurring: occurring.collect(),
        }
    }

    /// Median error on the released classes; `None` without a query. Cost: a pass over the classes per query.
    pub(super) fn median(&self, table: &ClassTable, released: &[bool]) -> Option<f64> {
        let floor = self.cells.rows as f64 / FLOOR;
        let mut errors: Vec<f64> = self
            .queries
            .par_iter()
            .map(|query| {
                let right = query.rows as f64;
                (self.estimate(query, table, released) - right).abs() / right.max(floor)
            })
            .collect();
        errors.sort_unstable_by(f64::total_cmp);
        let upper = *errors.get(errors.len() / 2)?;
        let lower = errors[(errors.len() - 1) / 2];
        Some(f64::midpoint(lower, upper))
    }

    /// The count that a reader of the release gets.
    fn estimate(&self, query: &Query, table: &ClassTable, released: &[bool]) -> f64 {
        const UNITS: f64 = (1_u64 << 32) as f64;
        let shares: Vec<(usize, Vec<f64>)> = query
            .predicates
            .iter()
            .map(|predicate| (predicate.attribute, self.shares(predicate, table)))
            .collect();
        let classes = table.rows.iter().zip(released).enumerate();
        let kept = classes.filter(|&(_, (_, &released))| released);
        // As integers: the sum does not depend on the order of classes.
        let sum: i128 = kept
            .map(|(class, (&rows, _))| {
                let share = shares.iter().map(|(attribute, shares)| {
                    shares[table.node(self.cells, class, *attribute) as usize]
                });
                units(f64::from(rows) * share.product::<f64>() * UNITS)
            })
            .sum();
        sum as f64 / UNITS
    }

    /// By node of the table's level: share of its values that are wanted.
    fn shares(&self, predicate: &Predicate, table: &ClassTable) -> Vec<f64> {
        let attribute = &self.cells.quasi_identifiers[predicate.attribute];
        let level = table.levels[predicate.attribute] as usize;
        let nodes = &attribute.from_bottom[level];
        let mut counts = vec![(0_u32, 0_u32); attribute.generalization.levels[level].leaves.len()];
        for &bottom in &self.occurring[predicate.attribute] {
            let (all, wanted) = &mut counts[nodes[bottom as usize] as usize];
            *all += 1;
            *wanted += u32::from(predicate.wanted[bottom as usize]);
        }
        let share = |(all, wanted): (u32, u32)| f64::from(wanted) / f64::from(all.max(1));
        counts.into_iter().map(share).collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "at most 2^32 rows in units of 2^-32"
)]
fn units(value: f64) -> i128 {
    value.round() as i128
}

/// Level-0 nodes of the values of an attribute in their order, missing left out.
fn in_order(cells: &Cells, attribute: usize) -> Vec<u32> {
    let labels = &cells.quasi_identifiers[attribute].generalization.levels[0].labels;
    let values = labels.iter().zip(0_u32..).skip(1);
    let mut keyed: Vec<(Option<Decimal>, &str, u32)> = values
        .filter_map(|(label, node)| {
            let label = label.as_deref()?;
            Some((label.parse().ok(), label, node))
        })
        .collect();
    if keyed.iter().any(|(number, ..)| number.is_none()) {
        for (number, ..) in &mut keyed {
            *number = None;
        }
    }
    keyed.sort_unstable();
    keyed.into_iter().map(|(.., node)| node).collect()
}

fn has_missing(cells: &Cells, attribute: usize) -> bool {
    (0..cells.len()).any(|cell| cells.bottom.node(cells, cell, attribute) == 0)
}

/// Two or three attributes, as far as there are, and a run of the values of each.
fn draw(cells: &Cells, values: &[Vec<u32>], random: &mut ChaCha20Rng) -> Vec<Predicate> {
    let mut attributes: Vec<usize> = (0..values.len()).collect();
    let wanted = random.random_range(2..=3_usize).min(attributes.len());
    for place in 0..wanted {
        let other = random.random_range(place..attributes.len());
        attributes.swap(place, other);
    }
    attributes.truncate(wanted);
    let predicates = attributes.into_iter().map(|attribute| {
        let values = &values[attribute];
        let nodes = cells.quasi_identifiers[attribute].generalization.levels[0]
            .leaves
            .len();
        let mut wanted = vec![false; nodes];
        if !values.is_empty() {
            let one = random.random_range(0..values.len());
            let other = random.random_range(0..values.len());
            for &node in &values[one.min(other)..=one.max(other)] {
                wanted[node as usize] = true;
            }
        }
        Predicate { attribute, wanted }
    });
    predicates.collect()
}

/// Rows of the input that meet all predicates.
fn count(cells: &Cells, predicates: &[Predicate]) -> u64 {
    let meets = |cell: usize| {
        predicates.iter().all(|predicate| {
            let node = cells.bottom.node(cells, cell, predicate.attribute);
            predicate.wanted[node as usize]
        })
    };
    let rows = cells.bottom.rows.iter().enumerate();
    let met = rows.filter(|&(cell, _)| meets(cell));
    met.map(|(_, &rows)| u64::from(rows)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::classes::Scratch;
    use crate::anonymize::privacy::Criteria;
    use crate::anonymize::rows::Rows;
    use crate::anonymize::table::{BlockBuilder, Schema, Table};
    use crate::declaration::DatasetDeclaration;
    use serde_json::json;

    /// Rows of age, place and sex; the empty text is missing.
    fn table(rows: &[[&str; 3]]) -> (Table, Schema) {
        let body = json!({ "name": "t", "attributes": [
            { "name": "age", "role": "quasi_identifying", "type": "integer",
              "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10] } },
            { "name": "place", "role": "quasi_identifying",
              "hierarchy": { "kind": "prefix", "keep": [2, 1] } },
            { "name": "sex", "role": "quasi_identifying" },
        ]});
        let declaration = DatasetDeclaration::parse(&body).unwrap();
        let schema = Schema::compile(&declaration).unwrap();
        let mut builder = BlockBuilder::new(3);
        for row in rows {
            for (column, cell) in row.iter().enumerate() {
                builder.push(column, (!cell.is_empty()).then_some(cell));
            }
        }
        let block = builder.finish();
        let mut table = Table::with_columns(&schema.releasable(), false);
        table.rows = block.rows;
        for (column, cells) in table.columns.iter_mut().zip(&block.columns) {
            column.as_mut().unwrap().append(cells);
        }
        (table, schema)
    }

    const ROWS: [[&str; 3]; 9] = [
        ["9", "aa", "f"],
        ["12", "aa", "m"],
        ["12", "ab", "f"],
        ["18", "ab", ""],
        ["25", "ba", "f"],
        ["25", "ba", "f"],
        ["27", "bb", "m"],
        ["", "bb", "m"],
        ["100", "ca", "f"],
    ];

    /// The estimate from rows and texts: every released row is any combination of the input's values that share its
    /// labels, each as likely.
    fn by_rows(
        rows: &[[&str; 3]],
        schema: &Schema,
        levels: &[u32],
        kept: impl Fn(&[Option<String>]) -> bool,
        wants: impl Fn(usize, &str) -> bool,
    ) -> f64 {
        let label = |column: usize, cell: &str| {
            let hierarchy = schema.attributes()[column].hierarchy.as_ref().unwrap();
            let cell = (!cell.is_empty()).then_some(cell);
            hierarchy.path(cell).unwrap()[levels[column] as usize].clone()
        };
        let mut sum = 0.0;
        for row in rows {
            let labels: Vec<_> = (0..3).map(|column| label(column, row[column])).collect();
            if !kept(&labels) {
                continue;
            }
            let mut share = 1.0;
            for (column, own) in labels.iter().enumerate() {
                let mut values: Vec<&str> = rows.iter().map(|row| row[column]).collect();
                values.sort_unstable();
                values.dedup();
                values.retain(|value| label(column, value) == *own);
                let wanted = values.iter().filter(|value| wants(column, value)).count();
                share *= wanted as f64 / values.len() as f64;
            }
            sum += share;
        }
        sum
    }

    #[test]
    fn estimates_are_those_of_rows_that_could_be_any_value_under_their_labels() {
        let (table, schema) = table(&ROWS);
        let rows = Rows::of(&table, &schema).unwrap();
        let (_, needs) = Criteria::new(&[], &rows);
        let (cells, _) = Cells::build(&rows, &needs);
        let queries = QueryError::new(&cells, 7);
        assert_eq!(queries.queries.len(), QUERIES);
        let mut compared = 0;
        for levels in [[0, 0, 0], [1, 0, 0], [1, 2, 0], [2, 1, 1], [0, 2, 1]] {
            let mut scratch = Scratch::default();
            let classes = ClassTable::group(&cells, &levels, &mut scratch);
            // Classes of one row are suppressed.
            let released: Vec<bool> = classes.rows.iter().map(|&rows| rows > 1).collect();
            let all = vec![true; classes.len()];
            let size = |wanted: &[Option<String>]| {
                let label = |column: usize, cell: &str| {
                    let hierarchy = schema.attributes()[column].hierarchy.as_ref().unwrap();
                    let cell = (!cell.is_empty()).then_some(cell);
                    hierarchy.path(cell).unwrap()[levels[column] as usize].clone()
                };
                let same = |row: &&[&str; 3]| {
                    (0..3).all(|column| label(column, row[column]) == wanted[column])
                };
                ROWS.iter().filter(same).count()
            };
            for query in queries.queries.iter().take(60) {
                let wants = |column: usize, value: &str| {
                    let mut predicates = query.predicates.iter();
                    let predicate = predicates.find(|one| one.attribute == column);
                    let code = rows.quasi_identifiers[column].0.generalization.levels[0]
                        .labels
                        .iter()
                        .position(|label| label.as_deref() == (!value.is_empty()).then_some(value));
                    predicate.is_none_or(|one| one.wanted[code.unwrap()])
                };
                let right = ROWS
                    .iter()
                    .filter(|row| (0..3).all(|column| wants(column, row[column])));
                assert_eq!(right.count() as u64, query.rows);
                for (released, least) in [(&all, 1), (&released, 2)] {
                    let kept = |labels: &[Option<String>]| size(labels) >= least;
                    let expected = by_rows(&ROWS, &schema, &levels, kept, wants);
                    let found = queries.estimate(query, &classes, released);
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{levels:?} {found} {expected}"
                    );
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 600);
    }

    #[test]
    fn unchanged_data_answer_without_error_and_withheld_ones_with_all_of_it() {
        let (data, schema) = table(&ROWS);
        let mut turned = ROWS;
        turned.reverse();
        let (other, _) = table(&turned);
        let mut found = Vec::new();
        for table in [&data, &other] {
            let rows = Rows::of(table, &schema).unwrap();
            let (_, needs) = Criteria::new(&[], &rows);
            let (cells, _) = Cells::build(&rows, &needs);
            let queries = QueryError::new(&cells, 7);
            let mut scratch = Scratch::default();
            let median = |classes: &ClassTable, released: bool| {
                let released = vec![released; classes.len()];
                queries.median(classes, &released).unwrap()
            };
            let bottom = ClassTable::group(&cells, &[0, 0, 0], &mut scratch);
            assert!(median(&bottom, true).abs() < 1e-9);
            assert!((median(&bottom, false) - 1.0).abs() < 1e-9);
            let top = ClassTable::group(&cells, &[2, 2, 1], &mut scratch);
            found.push(median(&top, true));
        }
        assert!(found[0] > 0.05);
        assert!((found[0] - found[1]).abs() < 1e-12, "{found:?}");
    }
}
