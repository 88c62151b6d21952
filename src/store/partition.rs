//! Which column goes into which partition, and blocks cut accordingly.

use std::collections::HashMap;

use super::{Error, chunk};
use crate::anonymize::table::{Block, BlockColumn, MISSING};
use crate::declaration::{AttributeDeclaration, Role};
use crate::vault::{DataKey, Place, Purpose};

/// Attribute positions by partition, ascending. The quasi partition has one column more where a subject is declared:
/// the subjects' tokens, last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) identity: Vec<usize>,
    pub(super) quasi: Vec<usize>,
    pub(super) auxiliary: Vec<usize>,
    pub(super) subject: Option<usize>,
}

impl Layout {
    /// The layout of declared attributes.
    pub(super) fn of<'a>(attributes: impl IntoIterator<Item = &'a AttributeDeclaration>) -> Self {
        let attributes = attributes.into_iter();
        Self::of_roles(attributes.map(|attribute| (attribute.role, attribute.subject)))
    }

    /// The layout of columns with these roles, each with whether it is the subject.
    pub(super) fn of_roles(columns: impl IntoIterator<Item = (Role, bool)>) -> Self {
        let mut layout = Self {
            identity: Vec::new(),
            quasi: Vec::new(),
            auxiliary: Vec::new(),
            subject: None,
        };
        for (position, (role, subject)) in columns.into_iter().enumerate() {
            match role {
                Role::Identifying => layout.identity.push(position),
                Role::QuasiIdentifying => layout.quasi.push(position),
                Role::Sensitive | Role::Insensitive => layout.auxiliary.push(position),
            }
            if subject {
                layout.subject = Some(position);
            }
        }
        layout
    }

    /// Number of columns over all partitions, the tokens not counted.
    pub(super) fn columns(&self) -> usize {
        self.identity.len() + self.quasi.len() + self.auxiliary.len()
    }
}

/// Cuts a block into partitions. `tokens` is the key of the subjects' tokens.
pub(super) fn cut(
    mut block: Block,
    layout: &Layout,
    tokens: &DataKey,
) -> Result<[(Purpose, Block); 3], Error> {
    let is_whole = block.columns.len() == layout.columns()
        && block
            .columns
            .iter()
            .all(|column| column.codes.len() == block.rows);
    if !is_whole {
        return Err(Error::Form("a block lacks cells".to_owned()));
    }
    let rows = block.rows;
    let subjects = layout
        .subject
        .map(|position| tokenize(&block.columns[position], tokens));
    let mut take = |positions: &[usize], more: Option<BlockColumn>| {
        let columns = positions
            .iter()
            .map(|&position| std::mem::take(&mut block.columns[position]));
        let columns = columns.chain(more).collect();
        Block { rows, columns }
    };
    Ok([
        (Purpose::Identity, take(&layout.identity, None)),
        (Purpose::Quasi, take(&layout.quasi, subjects)),
        (Purpose::Auxiliary, take(&layout.auxiliary, None)),
    ])
}

/// Replaces raw subjects by the hexadecimal form of their tokens; two spellings of one subject become one value.
fn tokenize(column: &BlockColumn, tokens: &DataKey) -> BlockColumn {
    let mut values: Vec<Box<str>> = Vec::with_capacity(column.values.len());
    let mut code_of: HashMap<[u8; 16], u32> = HashMap::with_capacity(column.values.len());
    let mut map = vec![MISSING];
    for value in &column.values {
        let token = tokens.subject_token(value);
        let code = *code_of.entry(token).or_insert_with(|| {
            values.push(hex::encode(token).into());
            u32::try_from(values.len()).unwrap_or(u32::MAX)
        });
        map.push(code);
    }
    let codes = column.codes.iter().map(|&code| map[code as usize]);
    BlockColumn {
        codes: codes.collect(),
        values,
    }
}

/// Encodes and seals a block as one or more chunks that follow `first` in their partition; a block without columns is
/// no chunk.
pub(super) fn seal(block: Block, key: &DataKey, first: Place) -> Result<Vec<Vec<u8>>, Error> {
    if block.columns.is_empty() {
        return Ok(Vec::new());
    }
    let mut place = first;
    let parts = chunk::split(block).into_iter().map(|part| {
        let sealed = key
            .seal(&place, &chunk::encode(&part))
            .map_err(Error::Sealed);
        place.sequence += 1;
        sealed
    });
    parts.collect()
}

/// Opens and decodes a chunk.
pub(super) fn open(sealed: &[u8], key: &DataKey, place: &Place) -> Result<Block, Error> {
    let plain = key.open(place, sealed).map_err(Error::Sealed)?;
    chunk::decode(&plain)
}
