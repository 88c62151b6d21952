//! Uploads to blocks: adult.csv eight times (241,296 rows, 9 columns, 20 MB as CSV), as CSV and as NDJSON, read whole
//! and validated against the declared hierarchies. One thread; blocks are dropped as they come.
#![expect(clippy::expect_used, reason = "a benchmark may stop")]

mod adult;

use std::fmt::Write;
use std::hint::black_box;

use divan::counter::{BytesCount, ItemsCount};
use kindred::ingest::{Format, Options, ingest};

const TIMES: usize = 8;
const ROWS: usize = 30_162 * TIMES;

fn main() {
    divan::main();
}

fn read(bencher: divan::Bencher<'_, '_>, upload: &str, format: Format) {
    let schema = adult::schema();
    let options = Options {
        format,
        charset: None,
        schema: &schema,
        default_role: None,
    };
    bencher
        .counter(BytesCount::of_str(upload))
        .counter(ItemsCount::new(ROWS))
        .bench(|| {
            let mut take = |block| {
                black_box(block);
                true
            };
            let summary = ingest(upload.as_bytes(), &options, &mut take).expect("a valid upload");
            assert_eq!(summary.rows, ROWS as u64);
        });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn csv(bencher: divan::Bencher<'_, '_>) {
    read(bencher, &adult::csv(TIMES), Format::Csv { delimiter: b';' });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn ndjson(bencher: divan::Bencher<'_, '_>) {
    let csv = adult::csv(TIMES);
    let mut upload = String::new();
    for line in csv.lines().skip(1) {
        let cells: serde_json::Map<_, _> = adult::COLUMNS
            .iter()
            .map(|name| (*name).to_owned())
            .zip(line.split(';').map(serde_json::Value::from))
            .collect();
        writeln!(upload, "{}", serde_json::Value::Object(cells)).expect("memory");
    }
    read(bencher, &upload, Format::Ndjson);
}
