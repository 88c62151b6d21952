//! What a step changes, as blocks of the log.

use std::collections::BTreeMap;

use crate::anonymize::series::{self, Shown, Step};
use crate::anonymize::table::{Block, BlockBuilder, Schema};
use crate::declaration::Role;

/// Releasable cells in declared order, the subject's token if one is declared, the row's id.
pub(super) fn rows_of<'a>(schema: &Schema, shown: impl Iterator<Item = &'a Shown>) -> Vec<Block> {
    let roles: Vec<Role> = schema
        .attributes()
        .iter()
        .map(|attribute| attribute.declaration.role)
        .filter(|role| *role != Role::Identifying)
        .collect();
    let has_subject = schema.subject().is_some();
    let columns = roles.len() + usize::from(has_subject) + 1;
    let mut builder = BlockBuilder::new(columns);
    let mut blocks = Vec::new();
    let mut labels: BTreeMap<series::NodeKey, Option<String>> = BTreeMap::new();
    for shown in shown {
        let (mut nodes, mut carried) = (shown.class.0.iter(), shown.row.carried.iter());
        for (column, role) in roles.iter().enumerate() {
            if *role == Role::QuasiIdentifying {
                let label = nodes.next().and_then(|node| {
                    let known = labels.entry(node.clone());
                    known.or_insert_with(|| node.label()).as_deref()
                });
                builder.push(column, label);
            } else {
                builder.push(column, carried.next().and_then(Option::as_deref));
            }
        }
        if has_subject {
            let token = shown.row.subject.map(hex::encode);
            builder.push(columns - 2, token.as_deref());
        }
        builder.push(columns - 1, Some(&id_of(shown.row.id)));
        if builder.rows() == BlockBuilder::ROWS {
            blocks.push(builder.finish());
        }
    }
    blocks.push(builder.finish());
    blocks
}

fn id_of(id: series::RowId) -> String {
    format!("{}:{}", id.batch, id.row)
}

/// Ids of rows that stand there no more, or elsewhere.
pub(super) fn retired(step: &Step) -> Vec<Block> {
    let moved = step.moved.iter().map(|(_, shown)| shown.row.id);
    let ids: Vec<String> = moved
        .chain(step.withdrawn.iter().copied())
        .map(id_of)
        .collect();
    let blocks = ids.chunks(BlockBuilder::ROWS).map(|some| {
        let mut builder = BlockBuilder::new(1);
        for id in some {
            builder.push(0, Some(id));
        }
        builder.finish()
    });
    blocks.collect()
}
