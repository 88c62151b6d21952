//! Laws of every search, against a checker written from the definitions: rows, texts and ordered maps.

use std::collections::{BTreeMap, BTreeSet};

use kindred::anonymize::classes::suppress;
use kindred::anonymize::report::Front;
use kindred::anonymize::{Limits, Outcome, Task, Unobserved, anonymize};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::{Data, data, plain};

/// Six values in three levels below the top.
const LINES: [[&str; 4]; 6] = [
    ["a", "ab", "abc", "*"],
    ["b", "ab", "abc", "*"],
    ["c", "c", "abc", "*"],
    ["d", "de", "def", "*"],
    ["e", "de", "def", "*"],
    ["f", "f", "def", "*"],
];

/// Patient, two generalised attributes, a third with two levels, a sensitive one; the empty text is missing.
type Row = (u8, usize, usize, usize, usize);

#[derive(Debug, Clone)]
pub(super) struct Case {
    rows: Vec<Row>,
    by_subject: bool,
    k: u64,
    l: u64,
    exempt: bool,
    limit: f64,
}

fn value(number: usize) -> &'static str {
    ["a", "b", "c", "d", "e", "f", ""][number]
}

pub(super) fn case() -> impl Strategy<Value = Case> {
    let row = (0_u8..12, 0_usize..7, 0_usize..7, 0_usize..2, 0_usize..4);
    let limit = prop::sample::select(vec![0.0, 0.1, 0.3, 0.5, 1.0]);
    (
        prop::collection::vec(row, 1..40),
        any::<bool>(),
        1_u64..5,
        1_u64..4,
        any::<bool>(),
        limit,
    )
        .prop_map(|(rows, by_subject, k, l, exempt, limit)| Case {
            rows,
            by_subject,
            k,
            l,
            exempt,
            limit,
        })
}

fn texts(row: &Row) -> [String; 5] {
    let dx = ["x", "y", "z", ""][row.4];
    [
        format!("p{}", row.0),
        value(row.1).to_owned(),
        value(row.2).to_owned(),
        ["m", "n"][row.3].to_owned(),
        dx.to_owned(),
    ]
}

fn attributes(by_subject: bool) -> Vec<Value> {
    let lines = LINES.map(|line| line.join(";")).join("\n");
    let generalised = |name: &str| json!({ "name": name, "role": "quasi_identifying", "hierarchy": { "kind": "table", "text": lines } });
    vec![
        json!({ "name": "patient", "role": "identifying", "subject": by_subject }),
        generalised("first"),
        generalised("second"),
        plain("quasi_identifying", "third"),
        plain("sensitive", "dx"),
    ]
}

impl Case {
    pub(super) fn data(&self) -> Data {
        let lines: Vec<String> = self.rows.iter().map(|row| texts(row).join(",")).collect();
        data(json!(attributes(self.by_subject)), &lines)
    }

    fn models(&self) -> Value {
        let missing = if self.exempt { "exempt" } else { "fails" };
        json!([
            { "model": "k_anonymity", "k": self.k },
            { "model": "distinct_l_diversity", "attribute": "dx", "l": self.l, "missing": missing },
        ])
    }

    pub(super) fn demand(&self, search: &Value, objectives: &[&str]) -> Value {
        json!({
            "privacy": self.models(), "suppression_limit": self.limit, "search": search, "objectives": objectives,
        })
    }

    /// Rows that a policy suppresses, by the definitions, and the released classes.
    fn naive(&self, levels: [usize; 3]) -> (Vec<bool>, u64) {
        let generalise = |text: &str, level: usize| {
            let line = LINES.iter().find(|line| line[0] == text);
            line.map_or(if level == 3 { "*" } else { "" }, |line| line[level])
                .to_owned()
        };
        let mut classes: BTreeMap<[String; 3], Vec<usize>> = BTreeMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            let [_, first, second, third, _] = texts(row);
            let third = if levels[2] == 1 {
                "*".to_owned()
            } else {
                third
            };
            let key = [
                generalise(&first, levels[0]),
                generalise(&second, levels[1]),
                third,
            ];
            classes.entry(key).or_default().push(number);
        }
        let mut suppressed = vec![true; self.rows.len()];
        let mut released = 0;
        for members in classes.values() {
            let rows = || members.iter().map(|&number| &self.rows[number]);
            let people: BTreeSet<u8> = rows().map(|row| row.0).collect();
            let size = if self.by_subject {
                people.len()
            } else {
                members.len()
            };
            let values: BTreeSet<usize> = rows().map(|row| row.4).filter(|&dx| dx < 3).collect();
            let diverse = values.len() as u64 >= self.l || (self.exempt && values.is_empty());
            if size as u64 >= self.k && diverse {
                released += 1;
                for &number in members {
                    suppressed[number] = false;
                }
            }
        }
        (suppressed, released)
    }

    /// The front by the definitions: levels, depth in ninths, suppressed rows.
    fn naive_front(&self) -> BTreeSet<([usize; 3], usize, usize)> {
        let mut feasible = Vec::new();
        for levels in policies() {
            let (suppressed, released) = self.naive(levels);
            let suppressed = suppressed.iter().filter(|&&suppressed| suppressed).count();
            if released > 0 && suppressed as f64 <= self.limit * self.rows.len() as f64 + 1e-9 {
                // Heights 3, 3, 1: a level adds 1, 1, 3 ninths.
                feasible.push((levels, levels[0] + levels[1] + 3 * levels[2], suppressed));
            }
        }
        let beats = |left: &([usize; 3], usize, usize), right: &([usize; 3], usize, usize)| {
            let no_worse = left.1 <= right.1 && left.2 <= right.2;
            no_worse && (left.1 < right.1 || left.2 < right.2)
        };
        let best = feasible
            .iter()
            .filter(|own| !feasible.iter().any(|other| beats(other, own)));
        best.copied().collect()
    }
}

fn policies() -> impl Iterator<Item = [usize; 3]> {
    (0..4).flat_map(|first| {
        (0..4).flat_map(move |second| (0..2).map(move |third| [first, second, third]))
    })
}

fn by_name(levels: [usize; 3]) -> kindred::declaration::Levels {
    let names = ["first", "second", "third"].map(str::to_owned);
    names.into_iter().zip(levels).collect()
}

pub(super) fn run(data: &Data, body: &Value, threads: usize) -> Outcome {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool");
    let demand = data.demand(body);
    let limits = Limits {
        exact_search_space: 1000,
        cache_bytes: 1 << 20,
    };
    let task = Task {
        table: &data.table,
        schema: &data.schema,
        demand: &demand,
        limits,
    };
    pool.install(|| anonymize(&task, &Unobserved).expect("it runs"))
}

pub(super) fn front_of(outcome: Outcome) -> Front {
    match outcome {
        Outcome::Front(front) | Outcome::Infeasible(_, front) | Outcome::Stopped(front) => front,
        Outcome::Cancelled => panic!("nobody cancelled"),
    }
}

fn points(front: &Front) -> BTreeSet<([usize; 3], usize, usize)> {
    let solutions = front.solutions.iter().map(|solution| {
        let levels = solution.recoding.levels().expect("a policy of levels");
        let levels = ["first", "second", "third"].map(|name| levels[name]);
        let suppressed = usize::try_from(solution.suppressed_rows).expect("few rows");
        (levels, levels[0] + levels[1] + 3 * levels[2], suppressed)
    });
    solutions.collect()
}

pub(super) const BOTH: [&str; 2] = ["generalization_depth", "suppression"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn classes_suppression_k_and_l_are_those_of_the_definitions(case in case(), number in 0_usize..32) {
        let data = case.data();
        let levels = policies().nth(number).unwrap();
        let models = data.demand(&case.demand(&json!({ "method": "exact" }), &BOTH)).privacy;
        let found = suppress(&data.table, &data.schema, &by_name(levels), &models).unwrap();
        let (suppressed, classes) = case.naive(levels);
        prop_assert_eq!((found.suppressed, found.classes), (suppressed, classes));
        let measured = data.measure(&json!({ "privacy": case.models(), "levels": by_name(levels) }));
        prop_assert_eq!(measured.satisfied, case.naive(levels).0.iter().all(|&suppressed| !suppressed));
    }

    #[test]
    fn the_exact_front_is_that_of_the_definitions(case in case()) {
        let exact = front_of(run(&case.data(), &case.demand(&json!({ "method": "exact" }), &BOTH), 2));
        prop_assert_eq!(points(&exact), case.naive_front());
        for solution in &exact.solutions {
            prop_assert!(solution.privacy.k >= case.k);
            let dx = &solution.privacy.sensitive["dx"];
            prop_assert!(dx.distinct_l >= case.l || (case.exempt && dx.classes_without_value > 0));
        }
    }

    #[test]
    fn the_exact_front_bounds_every_heuristic(case in case(), seed in 0_u64..1000) {
        let exact = case.naive_front();
        let data = case.data();
        let searches = [
            json!({ "method": "nsga2", "population": 6, "generations": 3, "seed": seed }),
            json!({ "method": "random", "max_evaluations": 12, "seed": seed }),
        ];
        for search in searches {
            let found = front_of(run(&data, &case.demand(&search, &BOTH), 2));
            for point in points(&found) {
                prop_assert_eq!(case.naive(point.0).0.iter().filter(|&&out| out).count(), point.2);
                prop_assert!(exact.iter().any(|best| best.1 <= point.1 && best.2 <= point.2));
            }
        }
    }

    #[test]
    fn row_order_and_thread_count_change_nothing(case in case(), seed in 0_u64..1000) {
        let searches = [
            json!({ "method": "exact" }),
            json!({ "method": "nsga2", "population": 6, "generations": 3, "seed": seed }),
            json!({ "method": "random", "max_evaluations": 12, "seed": seed }),
            json!({ "method": "nsga2", "population": 6, "generations": 3, "seed": seed, "epsilon": 0.2 }),
        ];
        let mut reversed = case.clone();
        reversed.rows.reverse();
        for search in searches {
            let body = case.demand(&search, &["loss", "suppression", "generalization_depth"]);
            let front = serde_json::to_string(&front_of(run(&case.data(), &body, 1))).unwrap();
            let threads = serde_json::to_string(&front_of(run(&case.data(), &body, 4))).unwrap();
            let order = serde_json::to_string(&front_of(run(&reversed.data(), &body, 3))).unwrap();
            prop_assert_eq!(&front, &threads);
            prop_assert_eq!(&front, &order);
        }
    }

    #[test]
    fn constant_and_duplicate_columns_change_nothing(case in case(), number in 0_usize..32) {
        let levels = policies().nth(number).unwrap();
        let (suppressed, classes) = case.naive(levels);
        let mut wider = attributes(case.by_subject);
        wider.push(plain("quasi_identifying", "constant"));
        let mut copy = wider[1].clone();
        copy["name"] = json!("copy");
        wider.push(copy);
        let lines: Vec<String> = case
            .rows
            .iter()
            .map(|row| format!("{},same,{}", texts(row).join(","), value(row.1)))
            .collect();
        let data = data(json!(wider), &lines);
        let models = data.demand(&case.demand(&json!({ "method": "exact" }), &BOTH)).privacy;
        let mut all = by_name(levels);
        all.insert("copy".to_owned(), levels[0]);
        for constant in 0..2 {
            all.insert("constant".to_owned(), constant);
            let found = suppress(&data.table, &data.schema, &all, &models).unwrap();
            prop_assert_eq!((&found.suppressed, found.classes), (&suppressed, classes));
        }
    }

    #[test]
    fn permuted_labels_change_nothing(case in case(), shift in 1_usize..3) {
        // The two halves of the tree have one shape, so swapping them renames every label.
        let swapped = |number: usize| if number < 6 { (number + 3) % 6 } else { number };
        let mut other = case.clone();
        for row in &mut other.rows {
            *row = (row.0 + 20, swapped(row.1), swapped(row.2), row.3 ^ (shift & 1), row.4);
        }
        let body = case.demand(&json!({ "method": "exact" }), &["loss", "suppression"]);
        let front = serde_json::to_string(&front_of(run(&case.data(), &body, 2))).unwrap();
        let renamed = serde_json::to_string(&front_of(run(&other.data(), &body, 2))).unwrap();
        prop_assert_eq!(front, renamed);
    }
}

/// Keys of 64, 128 and more bits group alike.
#[test]
fn wide_and_long_keys_group_like_narrow_ones() {
    // 3 rows per group, 30 groups by the first two columns; copies widen the key without changing the classes.
    let rows = |copies: usize| -> Vec<String> {
        let row = |row: usize| {
            let cells = [row % 30, (row % 30) * 7 % 11];
            let copied = (0..copies).map(|copy| (cells[0] + copy) % 30);
            cells
                .into_iter()
                .chain(copied)
                .map(|cell| cell.to_string())
                .collect::<Vec<_>>()
                .join(",")
        };
        (0..90).map(row).collect()
    };
    for copies in [0, 18, 40] {
        let names: Vec<String> = (0..copies + 2).map(|column| format!("c{column}")).collect();
        let attributes: Vec<Value> = names
            .iter()
            .map(|name| plain("quasi_identifying", name))
            .collect();
        let data = data(json!(attributes), &rows(copies));
        let measured = data.measure(&json!({ "privacy": [{ "model": "k_anonymity", "k": 3 }] }));
        assert_eq!(
            (measured.classes, measured.privacy.k, measured.satisfied),
            (30, 3, true)
        );
        // Without the first column and its copies, classes are those of the second.
        let up: BTreeMap<_, _> = names
            .iter()
            .filter(|name| *name != "c1")
            .map(|name| (name.clone(), 1))
            .collect();
        let measured = data.measure(&json!({ "privacy": [], "levels": up }));
        assert_eq!(measured.classes, 11);
        let body = json!({
            "privacy": [{ "model": "k_anonymity", "k": 4 }], "suppression_limit": 0.5,
            "search": { "method": "nsga2", "population": 8, "generations": 4, "seed": 5 },
            "objectives": ["loss", "suppression"],
        });
        let front = data.front(&body);
        assert!(
            front
                .solutions
                .iter()
                .all(|solution| solution.privacy.k >= 4)
        );
    }
}
