//! Tables and demands for tests of the core, declared like a caller declares them.

use kindred::anonymize::report::{Front, Solution};
use kindred::anonymize::table::{BlockBuilder, Schema, Table};
use kindred::anonymize::{self, Limits, Outcome, Task, Unobserved};
use kindred::declaration::{DatasetDeclaration, Demand, MeasureDemand};
use serde_json::{Value, json};

/// A table with its declaration.
pub(crate) struct Data {
    pub(crate) declaration: DatasetDeclaration,
    pub(crate) schema: Schema,
    pub(crate) table: Table,
}

/// A table of the given attributes; a line per row, cells by comma, the empty cell is missing.
#[expect(clippy::needless_pass_by_value, reason = "callers write a literal")]
pub(crate) fn data<S: AsRef<str>>(attributes: Value, lines: &[S]) -> Data {
    let rows = lines
        .iter()
        .map(|line| line.as_ref().split(',').collect::<Vec<_>>());
    table(&attributes, rows)
}

pub(crate) fn table<'a>(attributes: &Value, rows: impl Iterator<Item = Vec<&'a str>>) -> Data {
    let body = json!({ "name": "test", "attributes": attributes });
    let declaration = DatasetDeclaration::parse(&body).expect("a valid declaration");
    let schema = Schema::compile(&declaration).expect("valid hierarchies");
    let mut builder = BlockBuilder::new(declaration.attributes.len());
    for row in rows {
        assert_eq!(row.len(), declaration.attributes.len());
        for (column, cell) in row.into_iter().enumerate() {
            builder.push(column, (!cell.is_empty()).then_some(cell));
        }
    }
    let block = builder.finish();
    let subject = schema.subject();
    let mut table = Table::with_columns(&schema.releasable(), subject.is_some());
    table.rows = block.rows;
    for (column, cells) in table.columns.iter_mut().zip(&block.columns) {
        if let Some(column) = column {
            column.append(cells);
        }
    }
    if let (Some(subjects), Some(position)) = (&mut table.subjects, subject) {
        subjects.append(&block.columns[position]);
    }
    Data {
        declaration,
        schema,
        table,
    }
}

/// Attributes of a role without hierarchies.
pub(crate) fn plain(role: &str, name: &str) -> Value {
    json!({ "name": name, "role": role })
}

impl Data {
    pub(crate) fn demand(&self, body: &Value) -> Demand {
        Demand::parse(body, &self.declaration).expect("a valid demand")
    }

    pub(crate) fn search(&self, body: &Value) -> Outcome {
        let limits = Limits {
            exact_search_space: 1 << 20,
            cache_bytes: 1 << 28,
        };
        let demand = self.demand(body);
        let task = Task {
            table: &self.table,
            schema: &self.schema,
            demand: &demand,
            limits,
        };
        anonymize::anonymize(&task, &Unobserved).expect("the task can be run")
    }

    pub(crate) fn front(&self, body: &Value) -> Front {
        match self.search(body) {
            Outcome::Front(front) => front,
            other => panic!("no front but {other:?}"),
        }
    }

    pub(crate) fn measure(&self, body: &Value) -> anonymize::report::Measurement {
        let demand = MeasureDemand::parse(body, &self.declaration).expect("a valid demand");
        anonymize::measure::measure(&self.table, &self.schema, &demand).expect("it can be measured")
    }
}

/// The levels of a solution, in the order of the given names.
pub(crate) fn levels(solution: &Solution, names: &[&str]) -> Vec<usize> {
    let levels = solution.recoding.levels().expect("a policy of levels");
    names.iter().map(|name| levels[*name]).collect()
}

pub(crate) const ADULT: [&str; 9] = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
];

/// The adult table with its hierarchies; the first `quasi_identifiers` columns are, one is sensitive.
pub(crate) fn adult(quasi_identifiers: &[&str], sensitive: Option<&str>) -> Data {
    let read = |name: &str| {
        let path = format!("{}/data/adult/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the bundled file")
    };
    let attribute = |name: &&str| {
        if quasi_identifiers.contains(name) {
            let text = read(&format!("adult_hierarchy_{name}.csv"));
            let hierarchy = json!({ "kind": "table", "text": text });
            json!({ "name": name, "role": "quasi_identifying", "hierarchy": hierarchy })
        } else if sensitive == Some(*name) {
            plain("sensitive", name)
        } else {
            plain("insensitive", name)
        }
    };
    let text = read("adult.csv");
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().expect("a header").split(';').collect();
    let places = ADULT.map(|name| {
        header
            .iter()
            .position(|other| *other == name)
            .expect("a column")
    });
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split(';').collect();
        places.iter().map(|&place| cells[place]).collect()
    });
    table(&ADULT.iter().map(attribute).collect(), rows)
}

/// The model k-anonymity.
pub(crate) fn k(k: u64) -> Value {
    json!({ "model": "k_anonymity", "k": k })
}

/// The model distinct l-diversity.
pub(crate) fn l(attribute: &str, l: u64) -> Value {
    json!({ "model": "distinct_l_diversity", "attribute": attribute, "l": l })
}

/// Quasi-identifiers without hierarchies.
pub(crate) fn two_levels(names: &[&str]) -> Vec<Value> {
    names
        .iter()
        .map(|name| plain("quasi_identifying", name))
        .collect()
}

/// A table of one quasi-identifier and one sensitive attribute.
pub(crate) fn age_and_dx(rows: &[&str]) -> Data {
    data(
        json!([plain("quasi_identifying", "age"), plain("sensitive", "dx")]),
        rows,
    )
}

/// The demand of an exact search.
pub(crate) fn exact(models: &[Value], limit: f64, objectives: &[&str]) -> Value {
    json!({
        "privacy": models,
        "suppression_limit": limit,
        "search": { "method": "exact" },
        "objectives": objectives,
    })
}
