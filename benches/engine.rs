//! The engine on the bundled adult table (30,162 rows, nine quasi-identifiers, 12,960 policies).

use divan::{Bencher, black_box};
use kindred::anonymize::cells::{Cells, Needs};
use kindred::anonymize::classes::{ClassTable, Scratch};
use kindred::anonymize::rows::Rows;
use kindred::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use serde_json::json;

#[path = "../tests/it/tables.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod tables;

use tables::{ADULT, adult};

fn main() {
    divan::main();
}

/// 30,162 rows to 19,502 cells.
#[divan::bench]
fn rows_to_cells_at_the_bottom_of_adult(bencher: Bencher<'_, '_>) {
    let data = adult(&ADULT, None);
    let rows = Rows::of(&data.table, &data.schema).expect("covered");
    let (cells, _) = Cells::build(&rows, &Needs::default());
    assert_eq!(cells.len(), 19_502);
    bencher.bench_local(|| Cells::build(black_box(&rows), &Needs::default()));
}

/// 19,502 cells to the classes of one level of one attribute.
#[divan::bench]
fn classes_one_level_above_the_bottom_of_adult(bencher: Bencher<'_, '_>) {
    let data = adult(&ADULT, None);
    let rows = Rows::of(&data.table, &data.schema).expect("covered");
    let (cells, _) = Cells::build(&rows, &Needs::default());
    let mut scratch = Scratch::default();
    let mut classes = ClassTable::empty(&cells);
    bencher.bench_local(|| {
        cells.bottom().roll_up_into(
            &cells,
            &[0, 1, 0, 0, 0, 0, 0, 0, 0],
            &mut scratch,
            &mut classes,
        );
        black_box(classes.len())
    });
}

/// A7 of the golden results: seven quasi-identifiers, k = 5, l = 2, 2,160 policies, 26 points; from rows to the report.
/// A population as large as the space is plain enumeration.
#[divan::bench(sample_count = 10)]
fn full_enumeration_of_a7(bencher: Bencher<'_, '_>) {
    bench_a7(
        bencher,
        &json!({ "method": "nsga2", "population": 2160, "generations": 1 }),
    );
}

/// The same by bounds, with a certificate.
#[divan::bench(sample_count = 10)]
fn certified_front_of_a7(bencher: Bencher<'_, '_>) {
    bench_a7(bencher, &json!({ "method": "exact" }));
}

fn bench_a7(bencher: Bencher<'_, '_>, search: &serde_json::Value) {
    let data = adult(&ADULT[..7], Some("occupation"));
    let body = json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "distinct_l_diversity", "attribute": "occupation", "l": 2 },
        ],
        "suppression_limit": 0.3,
        "search": search,
        "objectives": ["generalization_depth", "suppression"],
    });
    bench_search(bencher, &data, &body);
}

/// All nine quasi-identifiers, k = 5, least arithmetic loss, 12,960 policies; from rows to the report.
#[divan::bench(sample_count = 5)]
fn certified_least_loss_of_a9(bencher: Bencher<'_, '_>) {
    let data = adult(&ADULT, None);
    let body = json!({
        "privacy": [{ "model": "k_anonymity", "k": 5 }],
        "suppression_limit": 1.0,
        "search": { "method": "exact" },
        "objectives": ["loss"],
    });
    bench_search(bencher, &data, &body);
}

fn bench_search(bencher: Bencher<'_, '_>, data: &tables::Data, body: &serde_json::Value) {
    let demand = data.demand(body);
    let limits = Limits {
        exact_search_space: 1 << 20,
        cache_bytes: 1 << 28,
    };
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits,
    };
    bencher.bench_local(|| {
        let outcome = anonymize(black_box(&task), &Unobserved).expect("it runs");
        assert!(matches!(outcome, Outcome::Front(_)));
    });
}
