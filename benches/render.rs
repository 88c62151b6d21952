//! A table to a release: adult.csv eight times (241,296 rows, 9 columns) recoded at one policy (k = 5), verified, and
//! written as CSV. One thread each.
#![expect(clippy::expect_used, reason = "a benchmark may stop")]

mod adult;

use divan::counter::ItemsCount;
use kindred::anonymize::release::{Recipe, Rendered, render};
use kindred::anonymize::subtree::Recoded;
use kindred::anonymize::table::{Schema, Table};
use kindred::anonymize::verify::verify;
use kindred::declaration::{Fraction, Levels, PrivacyModel, RowOrder, SuppressedRows};
use kindred::form::{Form, Writer};
use kindred::ingest::{Format, Options, ingest};

const TIMES: usize = 8;
const ROWS: usize = 30_162 * TIMES;
const PRIVACY: &[PrivacyModel] = &[PrivacyModel::KAnonymity { k: 5 }];

fn main() {
    divan::main();
}

/// Sex, race, country and occupation at `*`, age and education in wide groups, salary class as it is.
fn levels() -> Levels {
    let levels = [1, 3, 1, 1, 2, 2, 1, 2, 0];
    let names = adult::COLUMNS.iter().map(|name| (*name).to_owned());
    names.zip(levels).collect()
}

fn recipe(levels: &Levels) -> Recipe<'_> {
    Recipe {
        recoding: Recoded::FullDomain(levels),
        privacy: PRIVACY,
        row_order: RowOrder::Shuffled,
        seed: 7,
        columns: None,
        suppressed_rows: SuppressedRows::Omit,
    }
}

fn table(schema: &Schema) -> Table {
    let options = Options {
        format: Format::Csv { delimiter: b';' },
        charset: None,
        schema,
        default_role: None,
    };
    let mut table = Table::with_columns(&schema.releasable(), false);
    ingest(adult::csv(TIMES).as_bytes(), &options, &mut |block| {
        table.rows += block.rows;
        for (column, added) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(added);
            }
        }
        true
    })
    .expect("a valid upload");
    table
}

fn with_release(measure: impl FnOnce(&Table, &Schema, &Recipe<'_>, &Rendered)) {
    let schema = adult::schema();
    let table = table(&schema);
    let levels = levels();
    let recipe = recipe(&levels);
    let rendered = render(&table, &schema, &recipe).expect("a covered table");
    measure(&table, &schema, &recipe, &rendered);
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn recode(bencher: divan::Bencher<'_, '_>) {
    with_release(|table, schema, recipe, _| {
        bencher
            .counter(ItemsCount::new(ROWS))
            .bench(|| render(table, schema, recipe));
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn check(bencher: divan::Bencher<'_, '_>) {
    with_release(|table, schema, recipe, rendered| {
        bencher
            .counter(ItemsCount::new(ROWS))
            .bench(|| verify(table, schema, recipe, Fraction::ONE, rendered));
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn write_csv(bencher: divan::Bencher<'_, '_>) {
    with_release(|_, _, _, rendered| {
        let names: Vec<String> = rendered
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let rows = rendered.order.len();
        bencher.counter(ItemsCount::new(rows)).bench(|| {
            let mut out = Vec::new();
            let plain = vec![false; names.len()];
            let mut writer = Writer::new(Form::Csv, names.clone(), plain);
            writer.begin(&mut out);
            for from in (0..rows).step_by(1 << 15) {
                let block = rendered.block(from, (rows - from).min(1 << 15));
                writer.write(&block, &mut out);
                out.clear();
            }
            writer.end(&mut out);
            out
        });
    });
}
