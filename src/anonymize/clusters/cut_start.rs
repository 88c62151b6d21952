//! Classes of the cut that top-down specialisation finds, for a search to start from (algorithms.md B.5).

use rustc_hash::FxHashMap;

use super::distance::Space;
use super::partition::{Guard, Partition};
use super::reading::Reading;
use super::repair::repair;
use crate::anonymize::release::{Recipe, render};
use crate::anonymize::{Error, Observer, Outcome, Task, anonymize};
use crate::declaration::{
    Demand, Fraction, Objective, Recoding, RowOrder, Search, SearchMethod, SuppressedRows,
};

/// The cells by what the rows would bear under the cut of least loss that suppresses nothing; `None` if there is none, or
/// in time.
///
/// Without hierarchies a cut has the values and `*` to choose from. Cost: that of `tds`, and a pass over the rows.
pub(super) fn cut_start(
    task: &Task<'_>,
    reading: &Reading,
    space: &Space<'_>,
    (k, guard): (u64, Option<&Guard<'_>>),
    observer: &dyn Observer,
) -> Result<Option<Partition>, Error> {
    let demand = Demand {
        suppression_limit: Fraction::ZERO,
        recoding: Recoding::Subtree,
        search: Search {
            method: SearchMethod::Tds,
            seed: task.demand.search.seed,
            ..Search::default()
        },
        objectives: vec![Objective::Loss, Objective::Suppression],
        measures: Vec::new(),
        risk: None,
        release: None,
        representation: None,
        preset: None,
        ..task.demand.clone()
    };
    let task = Task {
        demand: &demand,
        ..*task
    };
    let Outcome::Front(front) = anonymize(&task, observer)? else {
        return Ok(None);
    };
    let Some(found) = front.solutions.first() else {
        return Ok(None);
    };
    let recipe = Recipe {
        recoding: found.recoding.recoded(),
        privacy: &demand.privacy,
        row_order: RowOrder::Input,
        seed: 0,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    };
    let rendered = render(task.table, task.schema, &recipe)?;
    let columns = rendered.columns.iter();
    let columns: Vec<&[u32]> = columns
        .filter(|column| reading.positions.contains(&column.position))
        .map(|column| &column.codes[..])
        .collect();
    let mut numbers: FxHashMap<Vec<u32>, u32> = FxHashMap::default();
    let mut class_of = vec![0; space.points.len()];
    for (row, &cell) in reading.cell_of_row.iter().enumerate() {
        let key = columns.iter().map(|codes| codes[row]).collect();
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        class_of[cell as usize] = *numbers.entry(key).or_insert(next);
    }
    let partition = Partition::of_cells(space.points, &class_of);
    Ok(Some(match guard {
        None => partition,
        Some(guard) => repair(space, partition, k, guard),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anonymize::clusters::distance::LossKind;
    use crate::anonymize::clusters::reading::{Choice, read};
    use crate::anonymize::table::{BlockBuilder, Schema, Table};
    use crate::anonymize::{Limits, Unobserved};
    use crate::declaration::DatasetDeclaration;
    use serde_json::json;

    #[test]
    fn the_classes_of_the_cut_are_whole_cells() {
        let leaf = |label: &str| json!({ "label": label });
        let body = json!({ "name": "t", "attributes": [
            { "name": "city", "role": "quasi_identifying", "hierarchy": { "kind": "taxonomy", "label": "*", "children": [
                { "label": "north", "children": [leaf("Kiel"), leaf("Bonn")] },
                { "label": "south", "children": [leaf("Ulm"), leaf("Jena")] },
            ] } },
            { "name": "dx", "role": "sensitive" },
        ] });
        let declaration = DatasetDeclaration::parse(&body).unwrap();
        let schema = Schema::compile(&declaration).unwrap();
        let rows = [
            ["Kiel", "a"],
            ["Ulm", "a"],
            ["Kiel", "b"],
            ["Bonn", "a"],
            ["Jena", "b"],
            ["Bonn", "a"],
        ];
        let mut table = Table::with_columns(&schema.releasable(), false);
        table.rows = rows.len();
        for (position, column) in table.columns.iter_mut().enumerate() {
            let mut block = BlockBuilder::new(1);
            for row in rows {
                block.push(0, Some(row[position]));
            }
            column.as_mut().unwrap().append(&block.finish().columns[0]);
        }
        let reading = read(&table, &schema, &Choice::default()).unwrap();
        let space = Space::new(&reading.points, LossKind::Balanced);
        let start = |k: u64| {
            let demand = json!({ "recoding": "microaggregation", "privacy": [{ "model": "k_anonymity", "k": k }] });
            let demand = Demand::parse(&demand, &declaration).unwrap();
            let task = Task {
                table: &table,
                schema: &schema,
                demand: &demand,
                limits: Limits {
                    exact_search_space: 1,
                    cache_bytes: 1 << 20,
                },
            };
            cut_start(&task, &reading, &space, (k, None), &Unobserved).unwrap()
        };
        // Kiel, Bonn, and the south: a row of Kiel and one of Ulm are never together.
        let partition = start(2).unwrap();
        let class_of = partition.class_of_rows(&reading.cell_of_row, 0);
        assert_eq!(partition.classes(), 3);
        let pairs = [
            (0, 2, true),
            (1, 4, true),
            (3, 5, true),
            (0, 3, false),
            (0, 1, false),
        ];
        for (one, other, together) in pairs {
            assert_eq!(
                class_of[one] == class_of[other],
                together,
                "{one} and {other}"
            );
        }
        assert_eq!(start(6).unwrap().classes(), 1);
        assert_eq!(start(7), None);
    }
}
