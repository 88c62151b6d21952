//! Information loss against entropy, and what models still learn: methods side by side at the same k (algorithms.md B.9,
//! G.3).
//!
//! Every method's classes are measured by the same code: information loss at the classes' centres (withheld rows as the
//! centre of all), homogeneity and least entropy of the sensitive attribute. For models a method runs again on the training rows
//! of every split; held-out rows are seen raw, or mapped through the policy where the method has one.

mod data;
mod learn;
mod methods;

use std::io::{self, Write};
use std::path::Path;

pub use data::Source;
use methods::Fitted;
pub use methods::Method;

use super::Error;
use crate::anonymize::clusters::centroid::center;
use crate::anonymize::clusters::decode::everyone;
use crate::anonymize::clusters::distance::{LossKind, Space};
use crate::anonymize::clusters::partition::Member;
use crate::anonymize::clusters::privacy_term::{entropy, value_counts};
use crate::anonymize::clusters::reading::{Choice, Reading, read};
use crate::anonymize::downstream::evaluate::{Figures, Settings};
use crate::anonymize::downstream::models::Kind;
use crate::fault::Fault;

/// The least class sizes compared.
pub const KS: [u64; 2] = [5, 10];
/// Splits into training and test rows.
const SPLITS: u32 = 5;

/// What a method's classes are.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodLine {
    /// The method.
    pub method: Method,
    /// Rows of the smallest class.
    pub smallest: u64,
    /// Classes.
    pub classes: usize,
    /// Share of rows that are not withheld.
    pub kept: f64,
    /// Information loss, balanced, 0 to 1.
    pub loss: f64,
    /// Share of kept rows in classes of one sensitive value.
    pub homogeneity: f64,
    /// Least entropy of a class, in bits.
    pub entropy: f64,
    /// By kind of model.
    pub learnt: Vec<Figures>,
}

/// All methods at one k.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What was compared on.
    pub title: String,
    /// The least class size.
    pub k: u64,
    /// By method.
    pub lines: Vec<MethodLine>,
    /// Of predicting the target's shares.
    pub majority: Figures,
}

fn refused(faults: &[Fault]) -> Error {
    Error::Declaration {
        faults: faults.len(),
    }
}

/// Compares on the bundled sample, or on the public files of a folder, and writes a table for each and each k.
///
/// # Errors
/// See [`Error`].
pub fn tradeoff(folder: Option<&Path>, out: &mut dyn Write) -> Result<Vec<Comparison>, Error> {
    const INTRODUCTION: [&str; 9] = [
        "Classes of at least k rows by every method; levels and cuts may withhold 5 % of the rows, Datafly up to k rows.",
        "loss: information loss at the classes' centres, balanced over attributes, 0 to 1. homog.: share of rows in classes of",
        "one sensitive value. entropy: of the sensitive values of the worst class, bits. Models predict the sensitive attribute",
        "from the quasi-identifiers alone: F1 of the rarer of two values (the mean over classes where there are more) and AUC,",
        "of logistic regression and of a random forest, means over 5 splits (30 % held out, at most 6,000 rows trained on).",
        "Classes are made of the training rows alone; held-out rows are raw, or mapped through the policy of levels or cuts.",
        "MO-OBAM: 300 assignments from the partitions of Mondrian and MDAV; the number is lambda, the weight of the entropy.",
        "The attribute predicted is the sensitive one: what models learn of people, attackers learn too.",
        "",
    ];
    for line in INTRODUCTION {
        writeln!(out, "{line}")?;
    }
    let sources = match folder {
        None => vec![data::bundled(usize::MAX)?],
        Some(folder) => data::of_folder(folder)?,
    };
    let mut found = Vec::new();
    for source in &sources {
        for k in KS {
            let comparison = compare(source, k, SPLITS)?;
            write_table(&comparison, out)?;
            found.push(comparison);
        }
    }
    Ok(found)
}

/// The first rows of the bundled sample.
///
/// # Errors
/// It does not read.
pub fn sample(rows: usize) -> Result<Source, Error> {
    data::bundled(rows)
}

/// Runs every method on a table.
///
/// # Errors
/// See [`Error`]; [`Error::TooSmall`] if a method made a class of fewer than k rows.
pub fn compare(source: &Source, k: u64, splits: u32) -> Result<Comparison, Error> {
    let reading = read(&source.table, &source.schema, &Choice::default())?;
    let settings = Settings {
        kinds: vec![Kind::LogisticRegression, Kind::RandomForest],
        splits,
        test_share: 0.3,
        seed: 0,
        least_people: 1,
    };
    let (learnt, majority) = learn::learn(source, k, &settings)?;
    let lines: Result<Vec<MethodLine>, Error> = Method::ALL
        .into_iter()
        .zip(learnt)
        .map(|(method, learnt)| {
            let fitted = methods::fit(method, source, &source.table, k)?;
            let line = measured(method, &reading, &fitted, learnt);
            if method != Method::Raw && line.smallest < k {
                return Err(Error::TooSmall {
                    method: method.name(),
                });
            }
            Ok(line)
        })
        .collect();
    Ok(Comparison {
        title: source.title.clone(),
        k,
        lines: lines?,
        majority,
    })
}

/// Measures classes from the rows themselves, whatever method made them.
fn measured(
    method: Method,
    reading: &Reading,
    fitted: &Fitted,
    learnt: Vec<Figures>,
) -> MethodLine {
    let space = Space::new(&reading.points, LossKind::Balanced);
    let classes = fitted.class_of.iter().flatten().max();
    let classes = classes.map_or(0, |&most| most as usize + 1);
    // Withheld rows come last.
    let mut members: Vec<Vec<Member>> = vec![Vec::new(); classes + 1];
    let mut rows: Vec<(usize, u32)> = fitted
        .class_of
        .iter()
        .zip(&reading.cell_of_row)
        .map(|(class, &cell)| (class.map_or(classes, |class| class as usize), cell))
        .collect();
    rows.sort_unstable();
    for run in rows.chunk_by(|left, right| left == right) {
        let (class, cell) = run[0];
        members[class].push((cell, u32::try_from(run.len()).unwrap_or(u32::MAX)));
    }
    let withheld = members.pop().unwrap_or_default();
    let mut sums = vec![0.0; reading.points.features.len()];
    let mut add = |deviations: Vec<f64>| {
        for (sum, deviation) in sums.iter_mut().zip(deviations) {
            *sum += deviation;
        }
    };
    let all = center(&space, &everyone(&reading.points), None);
    add(space.deviations(&withheld, all.site(0)));
    let size = |members: &[Member]| {
        members
            .iter()
            .map(|&(_, rows)| u64::from(rows))
            .sum::<u64>()
    };
    let (mut alike, mut least) = (0, f64::INFINITY);
    for members in &members {
        let own = center(&space, members, None);
        add(space.deviations(members, own.site(0)));
        let counts = value_counts(&reading.points.sensitive[0].codes, members);
        let counts: Vec<u64> = counts.into_iter().map(|(_, rows)| rows).collect();
        let bits = entropy(&counts);
        least = least.min(bits);
        if bits <= 0.0 {
            alike += size(members);
        }
    }
    let kept: u64 = members.iter().map(|members| size(members)).sum();
    MethodLine {
        method,
        smallest: members
            .iter()
            .map(|members| size(members))
            .min()
            .unwrap_or(0),
        classes,
        kept: kept as f64 / reading.points.rows().max(1) as f64,
        loss: space.loss(&sums, LossKind::Balanced),
        homogeneity: alike as f64 / kept.max(1) as f64,
        entropy: least,
        learnt,
    }
}

fn write_table(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}, k = {}", comparison.title, comparison.k)?;
    let titles = ["least", "classes", "kept", "loss", "homog.", "entropy"];
    write!(out, "{:<14}", "")?;
    for title in titles {
        write!(out, " {title:>8}")?;
    }
    writeln!(out, "   LR F1   LR AUC    RF F1   RF AUC")?;
    for line in &comparison.lines {
        write!(
            out,
            "{:<14} {:>8} {:>8} {:>8.4} {:>8.4} {:>8.4} {:>8.4}",
            line.method.name(),
            line.smallest,
            line.classes,
            line.kept,
            line.loss,
            line.homogeneity,
            line.entropy,
        )?;
        for figures in &line.learnt {
            write_figures(figures, out)?;
        }
        writeln!(out)?;
    }
    write!(out, "{:<14}{:54}", "majority", "")?;
    write_figures(&comparison.majority, out)?;
    writeln!(out, "\n")
}

fn write_figures(figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    let f1 = figures.f1_positive.unwrap_or(figures.f1_macro);
    write!(out, " {:>7.4}", f1.mean)?;
    match figures.auc {
        Some(auc) => write!(out, "  {:>7.4}", auc.mean),
        None => write!(out, "  {:>7}", "-"),
    }
}
