//! The pilot's data, demands and runs.

use serde_json::{Value, json};

use super::Error;
use super::mersenne::MersenneTwister;
use crate::anonymize::release::{Recipe, render};
use crate::anonymize::report::{Front, Solution};
use crate::anonymize::table::{BlockBuilder, Schema, Table};
use crate::anonymize::verify::verify;
use crate::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use crate::declaration::{DatasetDeclaration, Demand, RowOrder, SuppressedRows};
use crate::fault::Fault;

const SIZES: [usize; 3] = [160, 240, 480];
const RUNS: u32 = 20;
const FIRST_DATA_SEED: u32 = 2026;
const FIRST_SEARCH_SEED: u64 = 7;
const PREFIXES: [u32; 6] = [100, 101, 200, 201, 300, 301];
const SEXES: [&str; 2] = ["F", "M"];
const DIAGNOSES: [&str; 4] = ["A", "B", "C", "D"];

/// A generated row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// 18 to 89.
    pub age: u32,
    /// Five digits.
    pub location: u32,
    /// `F` or `M`.
    pub sex: &'static str,
    /// One of four labels.
    pub diagnosis: &'static str,
}

/// The first `count` rows of the article's generator; fewer rows of one seed are a prefix of more.
#[must_use]
pub fn rows(data_seed: u32, count: usize) -> Vec<Row> {
    let mut random = MersenneTwister::new(data_seed);
    let mut choose = |bound: usize| random.below(u32::try_from(bound).unwrap_or(1));
    (0..count)
        .map(|_| {
            let age = 18 + choose(72);
            let prefix = PREFIXES[choose(PREFIXES.len()) as usize];
            let location = prefix * 100 + choose(100);
            let sex = SEXES[choose(SEXES.len()) as usize];
            let diagnosis = DIAGNOSES[choose(DIAGNOSES.len()) as usize];
            Row {
                age,
                location,
                sex,
                diagnosis,
            }
        })
        .collect()
}

/// What one table gave.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotRun {
    /// Seed of the data.
    pub data_seed: u32,
    /// Seed of both searches.
    pub search_seed: u64,
    /// The exact front.
    pub exact: Vec<Solution>,
    /// The genetic search's front.
    pub genetic: Vec<Solution>,
    /// Distinct policies that it evaluated.
    pub evaluations: u64,
    /// The front of a random search with as many evaluations.
    pub random: Vec<Solution>,
}

impl PilotRun {
    /// Whether the genetic search found exactly the policies of the exact front.
    #[must_use]
    pub fn matches(&self) -> bool {
        same_policies(&self.exact, &self.genetic)
    }

    /// Whether the random search did.
    #[must_use]
    pub fn random_matches(&self) -> bool {
        same_policies(&self.exact, &self.random)
    }

    /// The selected policy: least depth, then least suppression. Fronts are sorted so.
    fn selected(&self) -> Option<&Solution> {
        self.exact.first()
    }

    fn objective(&self, name: &str) -> f64 {
        let selected = self.selected();
        selected.map_or(f64::NAN, |solution| solution.objectives[name])
    }
}

fn same_policies(left: &[Solution], right: &[Solution]) -> bool {
    left.len() == right.len()
        && left
            .iter()
            .all(|one| right.iter().any(|other| one.recoding == other.recoding))
}

/// The runs of one size.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotSize {
    /// Rows of each table.
    pub rows: usize,
    /// By seed.
    pub runs: Vec<PilotRun>,
}

impl PilotSize {
    /// Runs in which the genetic search found the exact front.
    #[must_use]
    pub fn matches(&self) -> usize {
        self.runs.iter().filter(|run| run.matches()).count()
    }

    /// Runs in which the random search did.
    #[must_use]
    pub fn random_matches(&self) -> usize {
        self.runs.iter().filter(|run| run.random_matches()).count()
    }

    /// Median of the policies that the genetic search evaluated.
    #[must_use]
    pub fn median_evaluations(&self) -> f64 {
        median(self.runs.iter().map(|run| run.evaluations as f64))
    }

    /// Least and greatest of them.
    #[must_use]
    pub fn evaluation_range(&self) -> [u64; 2] {
        let evaluations = || self.runs.iter().map(|run| run.evaluations);
        [
            evaluations().min().unwrap_or(0),
            evaluations().max().unwrap_or(0),
        ]
    }

    /// Median generalization depth of the selected policies.
    #[must_use]
    pub fn median_depth(&self) -> f64 {
        median(
            self.runs
                .iter()
                .map(|run| run.objective("generalization_depth")),
        )
    }

    /// Median suppressed share of the selected policies.
    #[must_use]
    pub fn median_suppression(&self) -> f64 {
        median(self.runs.iter().map(|run| run.objective("suppression")))
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// All runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PilotReport {
    /// By size.
    pub sizes: Vec<PilotSize>,
}

impl PilotReport {
    /// How many runs there are.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.sizes.iter().map(|size| size.runs.len()).sum()
    }

    /// Runs in which the genetic search found the exact front.
    #[must_use]
    pub fn matches(&self) -> usize {
        self.sizes.iter().map(PilotSize::matches).sum()
    }

    /// Runs in which the random search did.
    #[must_use]
    pub fn random_matches(&self) -> usize {
        self.sizes.iter().map(PilotSize::random_matches).sum()
    }
}

/// Runs all searches on all tables, and renders and verifies the selected policy of each.
///
/// # Errors
/// See [`Error`].
pub fn run() -> Result<PilotReport, Error> {
    let declaration = DatasetDeclaration::parse(&declaration()).map_err(refused)?;
    let schema = Schema::compile(&declaration).map_err(refused)?;
    let pilot = Pilot {
        declaration,
        schema,
    };
    let sizes = SIZES.map(|rows| {
        let runs = (0..RUNS).map(|run| pilot.run(rows, run));
        Ok(PilotSize {
            rows,
            runs: runs.collect::<Result<_, Error>>()?,
        })
    });
    Ok(PilotReport {
        sizes: sizes.into_iter().collect::<Result<_, Error>>()?,
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the shape that `map_err` takes"
)]
fn refused(faults: Vec<Fault>) -> Error {
    Error::Declaration {
        faults: faults.len(),
    }
}

fn declaration() -> Value {
    json!({
        "name": "pilot",
        "attributes": [
            { "name": "age", "role": "quasi_identifying", "type": "integer",
              "hierarchy": { "kind": "intervals", "origin": 0, "widths": [10, 20], "lower": 0, "upper": 100 } },
            { "name": "location", "role": "quasi_identifying", "hierarchy": { "kind": "prefix", "keep": [5, 3, 1] } },
            { "name": "sex", "role": "quasi_identifying" },
            { "name": "diagnosis", "role": "sensitive" },
        ],
    })
}

fn demand(search: &Value) -> Value {
    json!({
        "privacy": [
            { "model": "k_anonymity", "k": 5 },
            { "model": "distinct_l_diversity", "attribute": "diagnosis", "l": 2 },
        ],
        "suppression_limit": 0.30,
        "objectives": ["generalization_depth", "suppression"],
        "search": search,
    })
}

struct Pilot {
    declaration: DatasetDeclaration,
    schema: Schema,
}

impl Pilot {
    fn run(&self, rows: usize, run: u32) -> Result<PilotRun, Error> {
        let data_seed = FIRST_DATA_SEED + run;
        let search_seed = FIRST_SEARCH_SEED + u64::from(run);
        let table = self.table(&self::rows(data_seed, rows));
        let search = |settings: Value| self.search(&table, data_seed, &settings);
        let (exact, demand) = search(json!({ "method": "exact" }))?;
        let (genetic, _) = search(json!({
            "method": "nsga2", "population": 12, "generations": 12, "mutation_probability": 0.25, "seed": search_seed,
        }))?;
        let evaluations = genetic.search.evaluations;
        let (random, _) = search(json!({
            "method": "random", "seed": search_seed, "max_evaluations": evaluations,
        }))?;
        if let Some(selected) = exact.solutions.first() {
            self.release(&table, data_seed, &demand, selected)?;
        }
        Ok(PilotRun {
            data_seed,
            search_seed,
            exact: exact.solutions,
            genetic: genetic.solutions,
            evaluations,
            random: random.solutions,
        })
    }

    fn table(&self, rows: &[Row]) -> Table {
        let mut builder = BlockBuilder::new(4);
        for row in rows {
            builder.push(0, Some(&row.age.to_string()));
            builder.push(1, Some(&row.location.to_string()));
            builder.push(2, Some(row.sex));
            builder.push(3, Some(row.diagnosis));
        }
        let block = builder.finish();
        let mut table = Table::with_columns(&self.schema.releasable(), false);
        table.rows = block.rows;
        for (column, block) in table.columns.iter_mut().zip(&block.columns) {
            if let Some(column) = column {
                column.append(block);
            }
        }
        table
    }

    /// A random search may find no feasible policy: its front is empty then.
    fn search(
        &self,
        table: &Table,
        data_seed: u32,
        settings: &Value,
    ) -> Result<(Front, Demand), Error> {
        let demand = Demand::parse(&demand(settings), &self.declaration).map_err(refused)?;
        let task = Task {
            table,
            schema: &self.schema,
            demand: &demand,
            limits: Limits {
                exact_search_space: 32,
                cache_bytes: 1 << 20,
            },
        };
        let outcome = anonymize(&task, &Unobserved)?;
        match outcome {
            Outcome::Front(front) | Outcome::Stopped(front) | Outcome::Infeasible(_, front) => {
                Ok((front, demand))
            }
            Outcome::Cancelled => Err(Error::NoFront { data_seed }),
        }
    }

    fn release(
        &self,
        table: &Table,
        data_seed: u32,
        demand: &Demand,
        selected: &Solution,
    ) -> Result<(), Error> {
        let recipe = Recipe {
            recoding: selected.recoding.recoded(),
            privacy: &demand.privacy,
            row_order: RowOrder::Shuffled,
            seed: demand.search.seed,
            columns: None,
            suppressed_rows: SuppressedRows::Omit,
        };
        let rendered = render(table, &self.schema, &recipe)?;
        verify(
            table,
            &self.schema,
            &recipe,
            demand.suppression_limit,
            &rendered,
        )
        .map(drop)
        .map_err(|source| Error::Verification { data_seed, source })
    }
}
