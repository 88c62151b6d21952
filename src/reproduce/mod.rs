//! Published experiments, run again, and a comparison that nobody has published.
//!
//! The pilot: 60 generated tables, an exact search, a genetic one and a random one on each. Its data are those of the
//! article (its generator was found, and gives all its data-side figures); its genetic search states too little to be
//! rebuilt, so ours runs by its own fixed rules and stands beside the published counts as ours. Random search gets as many
//! evaluations as the genetic search used in the same run: the comparison that the article lacks.
//!
//! The trade-off: information loss, entropy and downstream models of microaggregation beside levels, cuts and baselines.

mod mersenne;
mod pilot;
mod tradeoff;

use std::io::{self, Write};

pub use tradeoff::{Comparison, KS, Method, MethodLine, Source, compare, sample, tradeoff};

pub use pilot::{PilotReport, PilotRun, PilotSize, Row, rows, run};

/// What the article's Table 1 says of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// Rows.
    pub rows: usize,
    /// Runs of 20 in which the genetic search found the exact front.
    pub matches: usize,
    /// Median of distinct policies evaluated.
    pub evaluations: f64,
    /// Least and greatest of them.
    pub range: [u64; 2],
    /// Median generalization depth of the selected policy.
    pub depth: f64,
    /// Median share of suppressed rows of the selected policy.
    pub suppression: f64,
}

/// Table 1 of the article.
pub const PUBLISHED: [Published; 3] = [
    Published {
        rows: 160,
        matches: 19,
        evaluations: 29.0,
        range: [25, 31],
        depth: 0.4444,
        suppression: 0.0,
    },
    Published {
        rows: 240,
        matches: 20,
        evaluations: 29.0,
        range: [26, 31],
        depth: 0.3333,
        suppression: 0.2125,
    },
    Published {
        rows: 480,
        matches: 20,
        evaluations: 28.0,
        range: [26, 30],
        depth: 0.2222,
        suppression: 0.2094,
    },
];

/// Why the pilot did not come to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The pilot's own declaration was refused.
    #[error("the pilot's declaration was refused with {faults} faults")]
    Declaration {
        /// How many.
        faults: usize,
    },
    /// A search could not run.
    #[error("a search of the pilot could not run")]
    Search(#[from] crate::anonymize::Error),
    /// A search ended without a front.
    #[error("a search of the pilot ended without a front (data seed {data_seed})")]
    NoFront {
        /// Of which table.
        data_seed: u32,
    },
    /// A release of a selected policy was refused.
    #[error("a release of the pilot failed verification (data seed {data_seed})")]
    Verification {
        /// Of which table.
        data_seed: u32,
        /// What failed.
        #[source]
        source: crate::anonymize::verify::VerificationFailure,
    },
    /// Data to compare on could not be read or used.
    #[error("the data could not be used: {0}")]
    Data(String),
    /// A method made a class of fewer than k rows.
    #[error("{method} made a class of fewer than k rows")]
    TooSmall {
        /// Which.
        method: String,
    },
    /// The report could not be written.
    #[error("the report could not be written")]
    Write(#[from] io::Error),
}

/// Runs the pilot and writes Table 1 beside ours.
///
/// # Errors
/// See [`Error`].
pub fn pilot(out: &mut dyn Write) -> Result<PilotReport, Error> {
    let report = run()?;
    write_table(&report, out)?;
    Ok(report)
}

/// One line of the table, as texts.
type Line = [String; 9];

fn write_table(report: &PilotReport, out: &mut dyn Write) -> io::Result<()> {
    const INTRODUCTION: [&str; 4] = [
        "Pilot: 20 generated tables of each size, k = 5, l = 2, suppression at most 0.30, 32 policies.",
        "Exact, NSGA-II (12 policies, 12 generations, mutation 0.25) and random search with as many evaluations.",
        "A match is the whole exact front, policy by policy. H and S: least H, then least S, of the exact front.",
        "",
    ];
    for line in INTRODUCTION {
        writeln!(out, "{line}")?;
    }
    let titles = [
        "rows", "", "matches", "median", "range", "H", "S", "verified", "random",
    ];
    write_line(out, &titles.map(ToOwned::to_owned))?;
    for (published, ours) in PUBLISHED.iter().zip(&report.sizes) {
        write_line(out, &published.line())?;
        write_line(out, &our_line(ours))?;
    }
    let (runs, matches) = (report.runs(), report.matches());
    let random = report.random_matches();
    writeln!(out)?;
    writeln!(
        out,
        "All: published 59/60; ours {matches}/{runs}; random search {random}/{runs}."
    )
}

fn write_line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    let [
        rows,
        whose,
        matches,
        median,
        range,
        depth,
        suppression,
        verified,
        random,
    ] = line;
    let text = format!(
        "{rows:>5}  {whose:<9}  {matches:>7}  {median:>6}  {range:>6}  {depth:>7}  {suppression:>7}  {verified:>8}  {random:>7}"
    );
    writeln!(out, "{}", text.trim_end())
}

impl Published {
    fn line(&self) -> Line {
        let [least, most] = self.range;
        [
            self.rows.to_string(),
            "published".to_owned(),
            format!("{}/20", self.matches),
            format!("{:.1}", self.evaluations),
            format!("{least}-{most}"),
            format!("{:.4}", self.depth),
            format!("{:.4}", self.suppression),
            String::new(),
            String::new(),
        ]
    }
}

/// Every run's selected policy was released and verified, or there would be no report.
fn our_line(ours: &PilotSize) -> Line {
    let runs = ours.runs.len();
    let [least, most] = ours.evaluation_range();
    [
        String::new(),
        "ours".to_owned(),
        format!("{}/{runs}", ours.matches()),
        format!("{:.1}", ours.median_evaluations()),
        format!("{least}-{most}"),
        format!("{:.4}", ours.median_depth()),
        format!("{:.4}", ours.median_suppression()),
        format!("{runs}/{runs}"),
        format!("{}/{runs}", ours.random_matches()),
    ]
}
