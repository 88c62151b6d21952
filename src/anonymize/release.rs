//! Renders a release: applies a policy to rows, suppresses classes that fail, orders the rest.
//!
//! Nothing is written out here: a rendered column is a small dictionary of labels and the source rows' codes, and the
//! output is those rows in an order. Which rows stay is decided by [`classes::suppress`]; that the result keeps its
//! promises is checked by [`super::verify`], which believes nothing said here.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::slice::ParallelSliceMut;
use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use super::classes::{self, Suppression};
use super::clusters::published::{self, Published};
use super::identifiers::Tokens;
use super::subtree::Recoded;
use super::table::{Block, BlockColumn, Column, MISSING, Schema, Table};
use super::{Error, hierarchy::Level};
use crate::declaration::{PrivacyModel, Representation, Role, RowOrder, SuppressedRows};

/// What stands in every cell of a masked row.
const MASK: &str = "*";

/// What to render.
#[derive(Debug, Clone, Copy)]
pub struct Recipe<'a> {
    /// What becomes of the quasi-identifiers' values.
    pub recoding: Recoded<'a>,
    /// Models that decide which classes are released.
    pub privacy: &'a [PrivacyModel],
    /// Order of the rows.
    pub row_order: RowOrder,
    /// Seed of the shuffle.
    pub seed: u64,
    /// Columns wanted, in declared order; all releasable ones if absent.
    pub columns: Option<&'a [String]>,
    /// What becomes of suppressed rows.
    pub suppressed_rows: SuppressedRows,
}

/// A rendered release: small dictionaries of labels and one code per source row and column.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// Columns in declared order.
    pub columns: Vec<RenderedColumn>,
    /// Source row of each output row, in output order. Never leaves the process.
    pub order: Vec<u32>,
    /// Source rows that are suppressed (left out, or masked).
    pub suppressed: Vec<bool>,
    /// Released rows (masked ones not counted).
    pub released_rows: u64,
    /// Suppressed rows.
    pub suppressed_rows: u64,
    /// Released classes.
    pub classes: u64,
}

/// One rendered column.
#[derive(Debug, Clone)]
pub struct RenderedColumn {
    /// Attribute position in the schema.
    pub position: usize,
    /// Name.
    pub name: String,
    /// Label of each code; `None` is missing.
    pub labels: Vec<Option<Box<str>>>,
    /// Code of each source row.
    pub codes: Vec<u32>,
}

impl Rendered {
    /// The cell of an output row.
    #[must_use]
    pub fn cell(&self, row: usize, column: usize) -> Option<&str> {
        let column = &self.columns[column];
        let code = column.codes[self.order[row] as usize];
        column.labels[code as usize].as_deref()
    }

    /// Output rows `from..from + rows` as a block, columns in order.
    #[must_use]
    pub fn block(&self, from: usize, rows: usize) -> Block {
        let until = self.order.len().min(from.saturating_add(rows));
        let order = &self.order[from.min(until)..until];
        Block {
            rows: order.len(),
            columns: self
                .columns
                .iter()
                .map(|column| column.block(order))
                .collect(),
        }
    }
}

impl RenderedColumn {
    fn block(&self, order: &[u32]) -> BlockColumn {
        const UNSEEN: u32 = u32::MAX;
        let mut code_of_label = vec![UNSEEN; self.labels.len()];
        let mut values = Vec::new();
        let codes = order.iter().map(|&row| {
            let label = self.codes[row as usize] as usize;
            if code_of_label[label] == UNSEEN {
                code_of_label[label] = match &self.labels[label] {
                    None => MISSING,
                    Some(text) => {
                        values.push(text.clone());
                        u32::try_from(values.len()).unwrap_or(UNSEEN)
                    }
                };
            }
            code_of_label[label]
        });
        let codes = codes.collect();
        BlockColumn { values, codes }
    }
}

/// Renders. Cost: one pass over the codes of each column, whatever the length of the labels.
///
/// # Errors
/// A stored value has no place in its hierarchy.
pub fn render(table: &Table, schema: &Schema, recipe: &Recipe<'_>) -> Result<Rendered, Error> {
    render_with_tokens(table, schema, recipe, &Tokens::default())
}

/// Renders with tokens in the place of the identifiers that have any; the table must hold their columns.
///
/// # Errors
/// As [`render`].
pub fn render_with_tokens(
    table: &Table,
    schema: &Schema,
    recipe: &Recipe<'_>,
    tokens: &Tokens,
) -> Result<Rendered, Error> {
    let suppression = classes::suppress_recoded(table, schema, recipe.recoding, recipe.privacy)?;
    render_with(table, schema, recipe, tokens, suppression)
}

/// Renders with suppression already decided.
fn render_with(
    table: &Table,
    schema: &Schema,
    recipe: &Recipe<'_>,
    tokens: &Tokens,
    suppression: Suppression,
) -> Result<Rendered, Error> {
    let Suppression {
        suppressed,
        classes,
    } = suppression;
    let mask = recipe.suppressed_rows == SuppressedRows::Mask;
    let mut by_class = match recipe.recoding {
        Recoded::Classes {
            class_of,
            representation,
        } => ByClass::new(table, schema, class_of, representation)?,
        Recoded::FullDomain(_) | Recoded::Subtree { .. } => ByClass::default(),
    };
    let mut columns = Vec::new();
    for (position, attribute) in schema.attributes().iter().enumerate() {
        let name = &attribute.declaration.name;
        let wanted = recipe.columns.is_none_or(|names| names.contains(name));
        let (true, Some(column)) = (wanted, &table.columns[position]) else {
            continue;
        };
        let (labels, codes) = match attribute.declaration.role {
            Role::Identifying => match tokens.labels(position) {
                None => continue,
                Some((labels, label_of)) => {
                    let codes = column.codes.iter().map(|&code| label_of[code as usize]);
                    (labels, codes.collect())
                }
            },
            Role::QuasiIdentifying => match by_class.take(position) {
                Some(texts) => texts,
                None => generalised(table, schema, recipe.recoding, position)?,
            },
            Role::Sensitive | Role::Insensitive => as_they_are(column),
        };
        let mut rendered = RenderedColumn {
            position,
            name: name.clone(),
            labels,
            codes,
        };
        if mask {
            rendered.mask(&suppressed);
        }
        columns.push(rendered);
    }
    let suppressed_rows = suppressed.iter().filter(|&&is| is).count() as u64;
    // Tokens first: two releases of the same rows with other tokens then stand in another order each.
    let has_tokens = |column: &&RenderedColumn| tokens.has(column.position);
    let others = columns.iter().filter(|column| !has_tokens(column));
    let by: Vec<&RenderedColumn> = columns.iter().filter(has_tokens).chain(others).collect();
    let order = order(&suppressed, mask, recipe, &by);
    Ok(Rendered {
        columns,
        order,
        released_rows: suppressed.len() as u64 - suppressed_rows,
        suppressed_rows,
        classes,
        suppressed,
    })
}

type Labels = Vec<Option<Box<str>>>;

/// Quasi-identifiers that are recoded class by class.
#[derive(Default)]
struct ByClass<'a> {
    class_of: &'a [u32],
    published: Vec<Published>,
}

impl<'a> ByClass<'a> {
    fn new(
        table: &Table,
        schema: &Schema,
        class_of: &'a [u32],
        representation: Representation,
    ) -> Result<Self, Error> {
        let published = published::publish(table, schema, class_of, representation)?;
        Ok(Self {
            class_of,
            published,
        })
    }

    /// Labels of an attribute, and the label of each row.
    fn take(&mut self, position: usize) -> Option<(Labels, Vec<u32>)> {
        let place = self
            .published
            .iter()
            .position(|one| one.position == position)?;
        let Published {
            labels, of_class, ..
        } = self.published.swap_remove(place);
        let classes = self.class_of.iter();
        let codes = classes.map(|&class| of_class[class as usize]).collect();
        Some((labels, codes))
    }
}

fn as_they_are(column: &Column) -> (Labels, Vec<u32>) {
    let values = column.dictionary.iter().map(|value| Some(value.into()));
    let labels = std::iter::once(None).chain(values).collect();
    (labels, column.codes.clone())
}

/// Labels of a quasi-identifier as it is recoded. Nodes that bear one label share one code: the output is text.
fn generalised(
    table: &Table,
    schema: &Schema,
    recoding: Recoded<'_>,
    position: usize,
) -> Result<(Labels, Vec<u32>), Error> {
    let attribute = &schema.attributes()[position];
    let name = &attribute.declaration.name;
    let uncovered = || Error::Uncovered {
        column: name.clone(),
        values: 1,
    };
    let column = table.columns[position].as_ref().ok_or_else(uncovered)?;
    let hierarchy = attribute.hierarchy.as_ref().ok_or_else(uncovered)?;
    let generalization = hierarchy
        .encode(&column.dictionary)
        .map_err(|_| uncovered())?;
    let level = recoding
        .level(name, &generalization)
        .ok_or_else(uncovered)?;
    let (labels, label_of) = distinct_labels(&level);
    let codes = column.codes.iter().map(|&code| label_of[code as usize]);
    let codes = codes.collect();
    Ok((labels, codes))
}

/// Distinct labels of a level, and the label of each value code.
fn distinct_labels(level: &Level) -> (Labels, Vec<u32>) {
    let mut labels = Labels::new();
    let mut known: FxHashMap<Option<&str>, u32> = FxHashMap::default();
    let label_of_node: Vec<u32> = level
        .labels
        .iter()
        .map(|label| {
            *known.entry(label.as_deref()).or_insert_with(|| {
                labels.push(label.clone());
                u32::try_from(labels.len() - 1).unwrap_or(u32::MAX)
            })
        })
        .collect();
    let label_of_value = level
        .node_of
        .iter()
        .map(|&node| label_of_node[node as usize]);
    let label_of_value = label_of_value.collect();
    (labels, label_of_value)
}

impl RenderedColumn {
    /// Place of each code's label among all labels, whatever order the codes were given in.
    fn ranks(&self) -> Vec<u32> {
        let mut labels: Vec<Option<&str>> = self.labels.iter().map(Option::as_deref).collect();
        labels.sort_unstable();
        labels.dedup();
        let rank =
            |label: &Option<Box<str>>| labels.partition_point(|other| *other < label.as_deref());
        let ranks = self.labels.iter().map(rank);
        ranks
            .map(|rank| u32::try_from(rank).unwrap_or(u32::MAX))
            .collect()
    }

    fn mask(&mut self, suppressed: &[bool]) {
        let known = self
            .labels
            .iter()
            .position(|label| label.as_deref() == Some(MASK));
        let code = known.unwrap_or_else(|| {
            self.labels.push(Some(MASK.into()));
            self.labels.len() - 1
        });
        let code = u32::try_from(code).unwrap_or(u32::MAX);
        for (cell, &is_suppressed) in self.codes.iter_mut().zip(suppressed) {
            if is_suppressed {
                *cell = code;
            }
        }
    }
}

fn order(
    suppressed: &[bool],
    mask: bool,
    recipe: &Recipe<'_>,
    columns: &[&RenderedColumn],
) -> Vec<u32> {
    let mut order: Vec<u32> = (0u32..)
        .zip(suppressed)
        .filter(|&(_, &is_suppressed)| mask || !is_suppressed)
        .map(|(row, _)| row)
        .collect();
    if recipe.row_order == RowOrder::Shuffled {
        by_content(&mut order, columns);
        shuffle(&mut order, recipe.seed);
    }
    order
}

/// Sorts rows by what is released of them. The seed of a shuffle can be known: whoever undoes it must find the sorted
/// content, not the order of the input, and two releases of the same rows must not fit together line by line.
fn by_content(order: &mut [u32], columns: &[&RenderedColumn]) {
    let ranks: Vec<Vec<u32>> = columns.iter().map(|column| column.ranks()).collect();
    let content = |row: u32| {
        let cells = columns.iter().zip(&ranks);
        cells.map(move |(column, ranks)| ranks[column.codes[row as usize] as usize])
    };
    order.par_sort_unstable_by(|&left, &right| content(left).cmp(content(right)));
}

/// Fisher and Yates's shuffle by a stream of its own: a search with the same seed draws other numbers.
fn shuffle(order: &mut [u32], seed: u64) {
    let key: [u8; 32] = Sha256::new()
        .chain_update(b"kindred release row order")
        .chain_update(seed.to_le_bytes())
        .finalize()
        .into();
    let mut random = ChaCha20Rng::from_seed(key);
    for last in (1..order.len()).rev() {
        order.swap(last, below(&mut random, last as u64 + 1));
    }
}

/// A number below `bound`, each equally likely (Lemire 2019, multiplication with rejection).
fn below(random: &mut ChaCha20Rng, bound: u64) -> usize {
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        let [low, high] = [product & u128::from(u64::MAX), product >> 64];
        // 2^64 mod bound of the low parts would favour some results.
        if low >= u128::from(bound.wrapping_neg() % bound) {
            return usize::try_from(high).unwrap_or(0);
        }
    }
}
